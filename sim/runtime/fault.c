#include "sim/runtime/fault.h"

#include <stdlib.h>

enum { STREAM = 0x6661756c }; /* stream of the first fault, seeded by ~seed; threads use seed itself */

struct state {
    bool armed;
    uint32_t struck;
    struct sim_random random;
};

struct sim_faults {
    const struct sim_scenario *scenario;
    uint64_t counts[SIM_FAULT_KINDS];
    struct state states[];
};

struct sim_faults *sim_faults_open(const struct sim_scenario *s, uint64_t seed)
{
    struct sim_faults *f = calloc(1, sizeof *f + s->fault_count * sizeof f->states[0]);
    if (!f)
        return NULL;
    f->scenario = s;
    for (uint32_t i = 0; i < s->fault_count; i++)
        f->states[i] = (struct state){.armed = true, .random = sim_random_seed(~seed, STREAM + i)};
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == SIM_OP_FAULT)
            f->states[s->ops[i].object].armed = false;
    return f;
}

void sim_faults_close(struct sim_faults *f)
{
    free(f);
}

void sim_faults_arm(struct sim_faults *f, uint32_t fault)
{
    f->states[fault].armed = true;
}

static bool applies(const struct sim_fault *about, const struct state *state, enum sim_fault_kind kind, uint32_t spec,
                    uint64_t now_ns)
{
    return about->kind == kind && state->armed && now_ns >= about->at_ns &&
           (about->times == 0 || state->struck < about->times) && (about->thread == 0 || about->thread == spec + 1);
}

bool sim_fault_strikes(struct sim_faults *f, enum sim_fault_kind kind, uint32_t spec, uint64_t now_ns, uint64_t *amount)
{
    for (uint32_t i = 0; i < f->scenario->fault_count; i++) {
        const struct sim_fault *about = &f->scenario->faults[i];
        struct state *state = &f->states[i];
        if (!applies(about, state, kind, spec, now_ns) || sim_random_unit(&state->random) >= about->chance)
            continue;
        state->struck++;
        f->counts[kind]++;
        *amount = about->amount;
        return true;
    }
    return false;
}

const uint64_t *sim_fault_counts(const struct sim_faults *f)
{
    return f->counts;
}
