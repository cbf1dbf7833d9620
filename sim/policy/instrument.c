#include "sim/policy/instrument.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a body does ---- */

struct body { bool calls; uint32_t throws; };

static void look_at(const struct sim_scenario *s, uint32_t block, struct body *out)
{
    const struct sim_block *b = &s->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct sim_op *op = &s->ops[i];
        switch (op->kind) {
        case SIM_OP_COMPUTE: break;
        case SIM_OP_THROW: out->throws++; break;
        case SIM_OP_REPEAT: case SIM_OP_FOREVER: look_at(s, op->block, out); break;
        case SIM_OP_CATCH:
            look_at(s, op->block, out);
            look_at(s, op->other_block, out);
            break;
        case SIM_OP_CHOOSE:
            for (uint32_t arm = op->first; arm < op->first + op->count; arm++)
                look_at(s, s->arms[arm].block, out);
            break;
        case SIM_OP_LOCK: case SIM_OP_READ_LOCK: case SIM_OP_WRITE_LOCK: case SIM_OP_SPIN:
            out->calls = true;
            look_at(s, op->block, out);
            break;
        case SIM_OP_MONITOR: look_at(s, op->block, out); break;   /* an instruction of its own */
        default: out->calls = true;
        }
    }
}

static enum sim_skipped why_not(const struct sim_scenario *s, const struct sim_method *m, struct body *body)
{
    *body = (struct body){0};
    look_at(s, m->block, body);
    if (!m->managed)
        return SIM_SKIPPED_NATIVE;
    if (!strncmp(s->images[m->image].name, "boot", 4))
        return SIM_SKIPPED_SYSTEM;
    if (!s->blocks[m->block].count)
        return SIM_SKIPPED_EMPTY;
    return body->calls ? SIM_SKIPPED_KINDS : SIM_SKIPPED_SMALL;
}

bool sim_instrument_open(struct sim_instrument *out, const struct sim_scenario *s,
                         const struct sim_instrument_options *options)
{
    *out = (struct sim_instrument){0};
    out->id = calloc((size_t)s->method_count + 1, sizeof *out->id);
    out->method = calloc((size_t)s->method_count + 1, sizeof *out->method);
    if (!out->id || !out->method)
        return false;
    for (uint32_t i = 0; i < s->method_count; i++) {
        struct body body;
        enum sim_skipped why = why_not(s, &s->methods[i], &body);
        if (why != SIM_SKIPPED_KINDS) {
            out->skipped[why]++;
            continue;
        }
        out->id[i] = ++out->count;
        out->method[out->count] = i;
        uint32_t probes = 2 + (options->throws ? body.throws : 0);
        out->code_bytes += (uint64_t)probes * options->probe_bytes;
        if (options->names)
            out->code_bytes += strlen(s->methods[i].name) + 2;
    }
    return true;
}

void sim_instrument_close(struct sim_instrument *i)
{
    free(i->id);
    free(i->method);
    *i = (struct sim_instrument){0};
}

bool sim_instrument_view(const struct sim_instrument *i, const struct sim_scenario *s, struct sim_tracks *truth,
                         bool main_only, struct sim_view *out)
{
    if (!sim_view_open(out, truth))
        return false;
    out->main_only = main_only;
    out->code_bytes = i->code_bytes;
    out->methods_in = i->count;
    out->methods_out = s->method_count - i->count;
    for (uint32_t id = 1; id <= i->count; id++) {
        uint32_t name = sim_tracks_name(truth, s->methods[i->method[id]].name);
        if (name < out->told_count)
            out->told[name] = true;
    }
    return true;
}
