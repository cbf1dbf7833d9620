#include "sim/policy/instrument.h"
#include "engine/base/error_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- input of the plugin ---- */

struct body {
    uint32_t ops, calls, throws;
};

static void scan_method_body(const struct sim_scenario *s, uint32_t block, struct body *out)
{
    const struct sim_block *b = &s->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct sim_op *op = &s->ops[i];
        out->ops++;
        switch (op->kind) {
        case SIM_OP_COMPUTE: break;
        case SIM_OP_THROW: out->throws++; break;
        case SIM_OP_REPEAT:
        case SIM_OP_FOREVER: scan_method_body(s, op->block, out); break;
        case SIM_OP_CATCH:
            scan_method_body(s, op->block, out);
            scan_method_body(s, op->other_block, out);
            break;
        case SIM_OP_CHOOSE:
            for (uint32_t arm = op->first; arm < op->first + op->count; arm++)
                scan_method_body(s, s->arms[arm].block, out);
            break;
        case SIM_OP_LOCK:
        case SIM_OP_READ_LOCK:
        case SIM_OP_WRITE_LOCK:
        case SIM_OP_SPIN:
            out->calls++;
            scan_method_body(s, op->block, out);
            break;
        case SIM_OP_MONITOR: scan_method_body(s, op->block, out); break; /* it is an instruction */
        default: out->calls++;
        }
    }
}

/* "Class.method" belongs to that class; other names belong to a class named after the image. `text` holds the names. */
static void describe_candidate(const struct sim_scenario *s, const struct sim_method *m,
                               struct strobe_matrix_candidate *out, char *text, size_t bytes)
{
    const char *image = s->images[m->image].name, *dot = strrchr(m->name, '.');
    int class_bytes = dot ? (int)(dot - m->name) : (int)strlen(image);
    snprintf(text, bytes, "%s%.*s", strncmp(image, "boot", 4) ? "" : "android.", class_bytes, dot ? m->name : image);
    struct body body = {0};
    scan_method_body(s, m->block, &body);
    *out = (struct strobe_matrix_candidate){.class_name = text,
                                            .method = dot ? dot + 1 : m->name,
                                            .access = m->managed ? 1 : STROBE_ACCESS_NATIVE | 1,
                                            .ops = body.ops,
                                            .calls = body.calls};
}

/* ---- the pass ---- */

struct pass {
    struct strobe_matrix_candidate *candidates;
    char (*texts)[256];
    struct strobe_matrix_map *map;
    struct strobe_matrix_blacklist *list;
};

static bool run_pass(struct pass *p, struct sim_instrument *out, const struct sim_scenario *s,
                     const struct sim_instrument_options *options)
{
    struct strobe_error error;
    for (uint32_t i = 0; i < s->method_count; i++) {
        describe_candidate(s, &s->methods[i], &p->candidates[i], p->texts[i], sizeof p->texts[i]);
        out->verdicts[strobe_matrix_judge(p->list, &p->candidates[i])]++;
    }
    if (strobe_matrix_assign(p->map, p->list, p->candidates, s->method_count, out->id, &error) != STROBE_OK)
        return false;
    for (uint32_t i = 0; i < s->method_count; i++) {
        if (!out->id[i])
            continue;
        struct body body = {0};
        scan_method_body(s, s->methods[i].block, &body);
        out->method[out->id[i]] = i;
        out->count++;
        out->code_bytes += (2 + (options->throws ? (uint64_t)body.throws : 0)) * options->probe_bytes;
        if (options->names)
            out->code_bytes += strlen(s->methods[i].name) + 2;
    }
    return true;
}

/* Close both in any case. */
static bool open_pass(struct pass *p, struct sim_instrument *out, const struct sim_scenario *s,
                      const struct sim_instrument_options *options)
{
    *p = (struct pass){.candidates = calloc((size_t)s->method_count + 1, sizeof *p->candidates),
                       .texts = calloc((size_t)s->method_count + 1, sizeof *p->texts),
                       .map = strobe_matrix_map_open(),
                       .list = strobe_matrix_blacklist_open()};
    *out = (struct sim_instrument){0};
    out->id = calloc((size_t)s->method_count + 1, sizeof *out->id);
    out->method = calloc((size_t)s->method_count + 1, sizeof *out->method);
    return p->candidates && p->texts && p->map && p->list && out->id && out->method && run_pass(p, out, s, options);
}

static void close_pass(struct pass *p)
{
    strobe_matrix_map_close(p->map);
    strobe_matrix_blacklist_close(p->list);
    free(p->candidates);
    free(p->texts);
}

bool sim_instrument_open(struct sim_instrument *out, const struct sim_scenario *s,
                         const struct sim_instrument_options *options)
{
    struct pass p;
    bool fits = open_pass(&p, out, s, options);
    close_pass(&p);
    return fits;
}

enum strobe_status sim_instrument_save(const struct sim_scenario *s, const char *folder, bool replace,
                                       struct strobe_error *error)
{
    struct pass p;
    struct sim_instrument i;
    char path[4096];
    enum strobe_status status = open_pass(&p, &i, s, &(struct sim_instrument_options){0}) ? STROBE_OK : STROBE_IO;
    snprintf(path, sizeof path, "%s/methodMapping.txt", folder);
    if (status == STROBE_OK)
        status = strobe_matrix_map_write(p.map, path, replace);
    if (status == STROBE_OK) {
        snprintf(path, sizeof path, "%s/ignoreMethodMapping.txt", folder);
        status = strobe_matrix_ignored_write(p.candidates, s->method_count, i.id, path, replace);
    }
    if (status != STROBE_OK)
        strobe_error_set(error, "%.1000s: %s", path, strobe_status_text(status));
    close_pass(&p);
    sim_instrument_close(&i);
    return status;
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
    for (uint32_t m = 0; m < s->method_count; m++) {
        uint32_t name = sim_tracks_name(truth, s->methods[m].name);
        if (i->id[m] && name < out->recorded_count)
            out->recorded[name] = true;
    }
    return true;
}
