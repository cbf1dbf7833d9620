/* Explores every execution with at most `preemptions` preemptions (iterative context bounding: Musuvathi, Qadeer, PLDI
 * 2007), depth first over all decisions: which thread runs, which store a load reads, where a store is placed. A state
 * is a graph and the thread that ran last. A state that was met before at no greater cost is not explored again.
 *
 * A switch costs one when the thread that ran could have continued. Under SC a load returns the latest store, and a
 * store becomes the latest: all other cases appear in another schedule. Under the weaker models reading an old store
 * costs nothing. */
#include "engine/util/array.h"
#include "sim/explore/strategy.h"

#include "engine/base/mix.h"
#include "sim/explore/seen.h"

#include <stdlib.h>

struct decision {
    uint32_t chosen, count;
};

struct explore_strategy_state {
    struct explore_chooser chooser;
    struct decision *decision; /* decisions of the current execution; for the next one, up to the last decision with
                                  another alternative */
    uint32_t count, room, at;
    uint32_t preemptions, spent;
    bool latest_only;
    struct explore_seen *states, *executions;
    bool begun, starved;
};

static uint32_t bounded_decide(struct explore_strategy_state *s, uint32_t count)
{
    if (s->at < s->count)
        return s->decision[s->at++].chosen;
    if (!strobe_array_reserve(&s->decision, &s->room, s->count + 1)) {
        s->starved = true;
        return EXPLORE_GIVE_UP;
    }
    s->decision[s->count++] = (struct decision){0, count};
    s->at++;
    return 0;
}

/* Returns true when continuing from here cannot lead to anything new. */
static bool was_here(struct explore_strategy_state *s, uint32_t runnable, uint32_t last)
{
    if (s->at < s->count)
        return false;
    uint64_t hash = strobe_mix_pair(explore_graph_hash(explore_machine_graph()), (uint64_t)runnable << 8 | last);
    enum explore_sight sight = explore_seen_add(s->states, hash, s->spent);
    s->starved |= sight == EXPLORE_SEEN_NO_ROOM;
    return sight == EXPLORE_SEEN_BEFORE;
}

static uint32_t bounded_choose_thread(void *ctx, uint32_t runnable, uint32_t last)
{
    struct explore_strategy_state *s = ctx;
    bool goes_on = last < EXPLORE_THREADS_MAX && runnable >> last & 1;
    if (was_here(s, runnable, last))
        return EXPLORE_GIVE_UP;
    if (goes_on && s->spent == s->preemptions)
        return last;
    /* Alternative 0 is the thread that ran; the others follow by their number. */
    uint32_t choice = bounded_decide(s, (uint32_t)__builtin_popcount(runnable));
    if (choice == EXPLORE_GIVE_UP || (goes_on && choice == 0))
        return choice ? choice : last;
    if (goes_on) {
        s->spent++;
        runnable &= ~(1u << last);
        choice--;
    }
    for (; choice; choice--)
        runnable &= runnable - 1;
    return (uint32_t)__builtin_ctz(runnable);
}

static uint32_t bounded_choose_load(void *ctx, uint16_t event, const uint16_t *from, uint32_t count)
{
    struct explore_strategy_state *s = ctx;
    (void)event, (void)from;
    return bounded_decide(s, s->latest_only ? 1 : count);
}

static uint32_t bounded_choose_store(void *ctx, uint16_t event, const uint16_t *before, uint32_t count)
{
    struct explore_strategy_state *s = ctx;
    (void)event, (void)before;
    return count ? bounded_decide(s, s->latest_only ? 1 : count) : EXPLORE_GIVE_UP;
}

static uint32_t bounded_choose_other(void *ctx, uint16_t event, uint32_t count)
{
    (void)event;
    return bounded_decide(ctx, count);
}

static void bounded_close(struct explore_strategy_state *s)
{
    explore_seen_close(s->states);
    explore_seen_close(s->executions);
    free(s->decision);
    free(s);
}

static struct explore_strategy_state *bounded_open(const struct explore_program *program,
                                                   const struct explore_options *options)
{
    (void)program;
    struct explore_strategy_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->chooser = (struct explore_chooser){.ctx = s,
                                          .thread = bounded_choose_thread,
                                          .load = bounded_choose_load,
                                          .store = bounded_choose_store,
                                          .choice = bounded_choose_other,
                                          .resumes = true};
    s->preemptions = options->preemptions;
    s->latest_only = options->memory == EXPLORE_SC;
    s->states = explore_seen_open();
    s->executions = explore_seen_open();
    if (s->states && s->executions)
        return s;
    bounded_close(s);
    return NULL;
}

/* The last decision that has another alternative takes it. Later decisions are dropped. */
static bool bounded_next_run(struct explore_strategy_state *s)
{
    if (s->begun)
        while (s->count && s->decision[s->count - 1].chosen + 1 == s->decision[s->count - 1].count)
            s->count--;
    if (s->begun && !s->count)
        return false;
    if (s->begun)
        s->decision[s->count - 1].chosen++;
    s->begun = true;
    s->at = 0;
    s->spent = 0;
    explore_graph_clear(explore_machine_graph());
    return true;
}

static const struct explore_chooser *bounded_chooser(struct explore_strategy_state *s)
{
    return &s->chooser;
}

static bool bounded_take_end(struct explore_strategy_state *s, enum explore_end end)
{
    if (end == EXPLORE_LEFT || end == EXPLORE_TOO_LARGE)
        return true;
    enum explore_sight sight = explore_seen_add(s->executions, explore_graph_hash(explore_machine_graph()), 0);
    s->starved |= sight == EXPLORE_SEEN_NO_ROOM;
    return sight != EXPLORE_SEEN_BEFORE;
}

static double bounded_share_done(const struct explore_strategy_state *s)
{
    double share = 1, sum = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        share /= s->decision[i].count;
        sum += share * s->decision[i].chosen;
    }
    return sum;
}

static bool bounded_is_starved(const struct explore_strategy_state *s)
{
    return s->starved;
}

const struct explore_tactics explore_bounded = {bounded_open,      bounded_close,    bounded_next_run,
                                                bounded_chooser,   bounded_take_end, bounded_share_done,
                                                bounded_is_starved};
