#include "sim/explore/explore.h"

#include "sim/explore/pairs.h"
#include "sim/explore/strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANDOM_EXECUTIONS = 10000 };

static const struct explore_tactics *const tactics_of[EXPLORE_STRATEGIES] = {
    [EXPLORE_EXHAUSTIVE] = &explore_exhaustive,
    [EXPLORE_WALK] = &explore_walk,
    [EXPLORE_PCT] = &explore_pct,
    [EXPLORE_BOUNDED] = &explore_bounded,
};

struct run {
    const struct explore_program *program;
    struct explore_options options;
    const struct explore_tactics *tactics;
    struct explore_result *out;
    struct explore_pairs *pairs;
    double began, reported;
    char variant[64];
    bool stopped; /* ended by a limit, the caller, or a failure */
    enum strobe_status status;
};

static double explore_now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reports progress from time to time, and checks whether to go on. */
static void explore_take_stock(struct run *r, const struct explore_strategy_state *s)
{
    const struct explore_options *o = &r->options;
    double now = explore_now_seconds();
    if (o->seconds_max > 0 && now - r->began >= o->seconds_max)
        r->stopped = true;
    if (now - r->reported < 0.1)
        return;
    r->reported = now;
    struct explore_progress p = {r->out->executions, explore_machine_operations(), now - r->began, r->tactics->done(s),
                                 r->variant};
    if (o->progress)
        o->progress(o->ctx, &p);
    if (o->stop && o->stop(o->ctx))
        r->stopped = true;
}

static void note_failure(struct run *r)
{
    struct explore_result *out = r->out;
    if (out->failures++ == 0) {
        if (!explore_machine_failure(&out->failure))
            r->status = STROBE_FULL;
        out->failure.size = r->options.size;
    }
    if (!r->options.all_failures)
        r->stopped = true;
}

static void note_size(struct explore_result *out, const struct explore_graph *g)
{
    if (out->steps < g->event_count)
        out->steps = g->event_count;
}

static void note_end(struct run *r, enum explore_end end)
{
    struct explore_result *out = r->out;
    const struct explore_graph *g = explore_machine_graph();
    if (end == EXPLORE_TOO_LARGE) {
        snprintf(out->failure.message, sizeof out->failure.message, "an execution has more than %u operations",
                 EXPLORE_EVENTS_MAX);
        r->status = STROBE_FULL;
    }
    if (end == EXPLORE_ENDED || end == EXPLORE_FAILED)
        out->executions++;
    if (end == EXPLORE_STUCK)
        out->blocked++;
    if (end == EXPLORE_FAILED)
        note_failure(r);
    if (end == EXPLORE_LEFT || end == EXPLORE_TOO_LARGE)
        return;
    note_size(out, g);
    explore_pairs_add(r->pairs, g);
}

/* Explores all executions with the thread frozen or interrupted there. Returns true when it got there in one of
 * them. */
static bool explore_variant(struct run *r, const struct explore_at *frozen, const struct explore_at *interrupted)
{
    bool disturbed = false;
    struct explore_strategy_state *s = r->tactics->open(r->program, &r->options);
    if (!s) {
        r->status = STROBE_FULL;
        return false;
    }
    explore_machine_disturb(frozen, interrupted);
    r->out->variants++;
    uint64_t limit = r->options.executions_max, first = r->out->executions;
    while (!r->stopped && r->status == STROBE_OK && r->tactics->next(s)) {
        enum explore_end end = explore_machine_run(r->tactics->chooser(s));
        disturbed |= explore_machine_disturbed();
        if (r->tactics->ended(s, end))
            note_end(r, end);
        else
            r->out->duplicates++;
        if (r->tactics->starved(s))
            r->status = STROBE_FULL;
        if (limit && r->out->executions - first >= limit)
            break;
        explore_take_stock(r, s);
    }
    if (!r->stopped && r->status == STROBE_OK && r->tactics->next(s))
        r->out->complete = false;
    r->tactics->close(s);
    return disturbed;
}

/* Does the same with the thread disturbed before each of its steps in turn, as long as the thread reaches the step. */
static void explore_disturbed(struct run *r, uint32_t thread, bool frozen)
{
    bool got_there = true;
    for (uint32_t step = 0; got_there && !r->stopped && r->status == STROBE_OK; step++) {
        struct explore_at at = {thread + 1, step};
        snprintf(r->variant, sizeof r->variant, "thread %u %s before its step %u", thread,
                 frozen ? "frozen" : "interrupted", step);
        got_there = explore_variant(r, frozen ? &at : NULL, frozen ? NULL : &at);
    }
}

/* Returns the minimum probability that one execution shows a bug of that depth. */
static double pct_bound(const struct explore_result *out, uint32_t depth)
{
    double bound = 1.0 / out->threads;
    for (uint32_t i = 1; i < depth; i++)
        bound /= out->steps ? out->steps : 1;
    return bound;
}

enum strobe_status explore_run(const struct explore_program *program, const struct explore_options *options,
                               struct explore_result *out)
{
    struct run r = {.program = program, .options = *options, .tactics = tactics_of[options->strategy], .out = out};
    struct explore_options *o = &r.options;
    memset(out, 0, sizeof *out);
    o->size = explore_size_for(program, o->size);
    if (!o->steps_max)
        o->steps_max = EXPLORE_STEPS_DEFAULT;
    bool at_random = o->strategy == EXPLORE_WALK || o->strategy == EXPLORE_PCT;
    if (at_random && !o->executions_max)
        o->executions_max = RANDOM_EXECUTIONS;
    out->complete = !at_random;
    out->threads = program->thread_count;
    r.pairs = explore_pairs_open();
    r.began = r.reported = explore_now_seconds();
    if (!r.pairs || !explore_machine_open(program, o))
        r.status = STROBE_FULL;
    if (r.status == STROBE_OK && !program->interrupted)
        explore_variant(&r, NULL, NULL);
    if (program->interrupted)
        explore_disturbed(&r, program->interrupted - 1, false);
    for (uint32_t i = 0; i < program->thread_count; i++)
        if (program->frozen >> i & 1)
            explore_disturbed(&r, i, true);
    out->operations = explore_machine_operations();
    out->pairs = r.pairs ? explore_pairs_count(r.pairs) : 0;
    out->seconds = explore_now_seconds() - r.began;
    if (r.stopped || r.status != STROBE_OK)
        out->complete = false;
    if (o->strategy == EXPLORE_PCT)
        out->probability = pct_bound(out, o->depth);
    explore_pairs_close(r.pairs);
    explore_machine_close();
    return r.status;
}

void explore_result_free(struct explore_result *result)
{
    free(result->failure.step);
    result->failure.step = NULL;
}
