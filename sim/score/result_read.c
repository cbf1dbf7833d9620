#include "engine/base/error.h"
#include "sim/score/result.h"

#include "engine/util/array.h"
#include "sim/score/fields.h"
#include "sim/score/json_read.h"

#include <stdio.h>
#include <string.h>

/* Members of the object that are not scores. */
enum { SCENARIO, POLICY, SEED, INTERVAL, VIOLATION, METHODS, THREADS, OTHERS };
static const char *const other[OTHERS] = {"scenario",  "policy",  "seed",   "interval_ns",
                                          "violation", "methods", "threads"};

struct reading {
    struct sim_result *r;
    size_t method_room, thread_room;
    uint64_t seen; /* one bit per number: scores, then the others */
};

/* Fails when a key of an object is unknown or occurs twice. */
static bool result_key_once(struct sim_json *j, uint64_t *seen, unsigned number)
{
    if (*seen >> number & 1)
        return sim_json_fail(j, j->p, "each member once");
    *seen |= (uint64_t)1 << number;
    return true;
}

static bool all_seen(struct sim_json *j, uint64_t seen, unsigned number, const char *name)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a member \"%s\"", name);
    return seen >> number & 1 || sim_json_fail(j, j->p, expected);
}

static bool result_unknown_key(struct sim_json *j, const char *key)
{
    char expected[96];
    snprintf(expected, sizeof expected, "a member of a result, not \"%s\"", key);
    return sim_json_fail(j, j->p, expected);
}

/* A number of an object inside the result. */
struct number {
    const char *name;
    size_t offset;
    bool real;
};

struct object {
    char *item;
    char **name;
    const struct number *numbers;
    unsigned count;
    uint64_t seen; /* one bit per number, then the name */
};

static bool result_read_number(struct sim_json *j, char *to, bool real)
{
    double d;
    uint64_t u;
    if (real ? !sim_json_real(j, &d) : !sim_json_uint(j, &u))
        return false;
    if (real)
        memcpy(to, &d, sizeof d);
    else
        memcpy(to, &u, sizeof u);
    return true;
}

static bool object_member(struct sim_json *j, const char *key, void *ctx)
{
    struct object *o = ctx;
    if (!strcmp(key, "name"))
        return result_key_once(j, &o->seen, o->count) && sim_json_text(j, o->name);
    for (unsigned i = 0; i < o->count; i++)
        if (!strcmp(key, o->numbers[i].name))
            return result_key_once(j, &o->seen, i) &&
                   result_read_number(j, o->item + o->numbers[i].offset, o->numbers[i].real);
    return result_unknown_key(j, key);
}

static bool read_object(struct sim_json *j, struct object *o)
{
    if (!sim_json_object(j, object_member, o) || !all_seen(j, o->seen, o->count, "name"))
        return false;
    for (unsigned i = 0; i < o->count; i++)
        if (!all_seen(j, o->seen, i, o->numbers[i].name))
            return false;
    return true;
}

static bool result_out_of_memory(struct sim_json *j)
{
    j->no_memory = j->failed = true;
    return false;
}

static bool result_read_method(struct sim_json *j, void *ctx)
{
#define NUMBER(field)                                                                                                  \
    {                                                                                                                  \
#field, offsetof(struct sim_result_method, field), false                                                       \
    }
    static const struct number numbers[] = {NUMBER(calls), NUMBER(true_self_ns), NUMBER(claimed_self_ns),
                                            NUMBER(true_total_ns), NUMBER(claimed_total_ns)};
#undef NUMBER
    struct reading *reading = ctx;
    struct sim_result *r = reading->r;
    if (!strobe_array_reserve(&r->methods, &reading->method_room, r->method_count + 1))
        return result_out_of_memory(j);
    struct sim_result_method *m = &r->methods[r->method_count++];
    *m = (struct sim_result_method){0};
    struct object o = {(char *)m, &m->name, numbers, sizeof numbers / sizeof *numbers, 0};
    return read_object(j, &o);
}

static bool result_read_thread(struct sim_json *j, void *ctx)
{
#define NUMBER(field, real)                                                                                            \
    {                                                                                                                  \
#field, offsetof(struct sim_result_thread, field), real                                                        \
    }
    static const struct number numbers[] = {
        NUMBER(tid, false),      NUMBER(thread_ns, false),         NUMBER(running_ns, false),
        NUMBER(agreement, true), NUMBER(agreement_resolved, true), NUMBER(agreement_running, true)};
#undef NUMBER
    struct reading *reading = ctx;
    struct sim_result *r = reading->r;
    if (!strobe_array_reserve(&r->threads, &reading->thread_room, r->thread_count + 1))
        return result_out_of_memory(j);
    struct sim_result_thread *t = &r->threads[r->thread_count++];
    *t = (struct sim_result_thread){0};
    struct object o = {(char *)t, &t->name, numbers, sizeof numbers / sizeof *numbers, 0};
    return read_object(j, &o);
}

static bool read_other(struct sim_json *j, struct reading *reading, unsigned which)
{
    struct sim_result *r = reading->r;
    switch (which) {
    case SCENARIO: return sim_json_text(j, &r->scenario);
    case POLICY: return sim_json_text(j, &r->policy);
    case SEED: return sim_json_uint(j, &r->seed);
    case INTERVAL: return sim_json_uint(j, &r->interval_ns);
    case VIOLATION: return sim_json_text(j, &r->violation);
    case METHODS: return sim_json_array(j, result_read_method, reading);
    default: return sim_json_array(j, result_read_thread, reading);
    }
}

static bool member(struct sim_json *j, const char *key, void *ctx)
{
    struct reading *reading = ctx;
    for (unsigned i = 0; i < SIM_FIELD_COUNT_ALL; i++)
        if (!strcmp(key, sim_fields[i].name))
            return result_key_once(j, &reading->seen, i) &&
                   result_read_number(j, (char *)&reading->r->score + sim_fields[i].offset, sim_fields[i].real);
    for (unsigned i = 0; i < OTHERS; i++)
        if (!strcmp(key, other[i]))
            return result_key_once(j, &reading->seen, SIM_FIELD_COUNT_ALL + i) && read_other(j, reading, i);
    return result_unknown_key(j, key);
}

/* Recomputes the ratios, which are written with few digits, from the sums, which are exact. */
static void result_restore_ratios(struct sim_result *r)
{
    sim_score_ratios(&r->score);
    for (size_t i = 0; r->score.thread_ns && i < r->method_count; i++) {
        struct sim_result_method *m = &r->methods[i];
        m->true_self = (double)m->true_self_ns / (double)r->score.thread_ns;
        m->claimed_self = (double)m->claimed_self_ns / (double)r->score.thread_ns;
    }
}

enum strobe_status sim_result_read_line(const char *line, struct sim_result *out, struct strobe_error *error)
{
    struct sim_json j = {.line = line, .p = line, .error = error};
    struct reading reading = {.r = out};
    *out = (struct sim_result){0};
    bool ok = sim_json_object(&j, member, &reading) && sim_json_end(&j);
    for (unsigned i = 0; ok && i < SIM_FIELD_COUNT_ALL; i++)
        ok = all_seen(&j, reading.seen, i, sim_fields[i].name);
    for (unsigned i = 0; ok && i < OTHERS; i++)
        ok = all_seen(&j, reading.seen, SIM_FIELD_COUNT_ALL + i, other[i]);
    if (ok) {
        result_restore_ratios(out);
        return STROBE_OK;
    }
    sim_result_free(out);
    return j.no_memory ? STROBE_IO : STROBE_BAD_INPUT;
}
