/* Random executions: walks, and PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010). A load reads the newest
 * store in half of the cases, else any store that it may read. A store is placed last in half of the cases. */
#include "sim/explore/strategy.h"

#include "sim/explore/seen.h"
#include "sim/kernel/random.h"

#include <stdlib.h>

enum { CHANGES_MAX = 64 };

struct explore_strategy_state {
    struct explore_chooser chooser;
    struct sim_random random;
    struct explore_seen *seen;
    uint64_t left;
    bool starved;
    /* PCT */
    uint32_t depth, thread_count;
    uint64_t steps, longest; /* of this execution, and of the longest execution so far */
    uint32_t priority[EXPLORE_THREADS_MAX];
    uint64_t change[CHANGES_MAX]; /* steps at which the running thread gets priority 0 .. depth - 2 */
};

static uint32_t random_below(struct explore_strategy_state *s, uint32_t n)
{
    return (uint32_t)sim_random_below(&s->random, n);
}

static uint32_t any_thread(void *ctx, uint32_t runnable, uint32_t last)
{
    struct explore_strategy_state *s = ctx;
    (void)last;
    for (uint32_t n = random_below(s, (uint32_t)__builtin_popcount(runnable)); n; n--)
        runnable &= runnable - 1;
    return (uint32_t)__builtin_ctz(runnable);
}

static uint32_t highest_priority(const struct explore_strategy_state *s, uint32_t runnable)
{
    uint32_t best = (uint32_t)__builtin_ctz(runnable);
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (runnable >> i & 1 && s->priority[i] > s->priority[best])
            best = i;
    return best;
}

static uint32_t by_priority(void *ctx, uint32_t runnable, uint32_t last)
{
    struct explore_strategy_state *s = ctx;
    (void)last;
    s->steps++;
    for (uint32_t i = 0; i + 1 < s->depth; i++)
        if (s->change[i] == s->steps)
            s->priority[highest_priority(s, runnable)] = i;
    return highest_priority(s, runnable);
}

static uint32_t pick_random_thread(struct explore_strategy_state *s, uint32_t count)
{
    return count < 2 || random_below(s, 2) ? 0 : random_below(s, count);
}

static uint32_t random_choose_load(void *ctx, uint16_t event, const uint16_t *from, uint32_t count)
{
    (void)event, (void)from;
    return pick_random_thread(ctx, count);
}

static uint32_t random_choose_store(void *ctx, uint16_t event, const uint16_t *before, uint32_t count)
{
    (void)event, (void)before;
    return count ? pick_random_thread(ctx, count) : EXPLORE_GIVE_UP;
}

static uint32_t random_choose_other(void *ctx, uint16_t event, uint32_t count)
{
    (void)event;
    return random_below(ctx, count);
}

static void random_close(struct explore_strategy_state *s)
{
    explore_seen_close(s->seen);
    free(s);
}

static struct explore_strategy_state *random_open(const struct explore_program *program,
                                                  const struct explore_options *options)
{
    struct explore_strategy_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->chooser = (struct explore_chooser){.ctx = s,
                                          .thread = any_thread,
                                          .load = random_choose_load,
                                          .store = random_choose_store,
                                          .choice = random_choose_other,
                                          .resumes = true};
    if (options->strategy == EXPLORE_PCT) {
        s->chooser.thread = by_priority;
        s->depth = options->depth ? options->depth : 1;
        if (s->depth > CHANGES_MAX)
            s->depth = CHANGES_MAX;
    }
    s->thread_count = program->thread_count;
    s->longest = 1;
    s->left = options->executions_max;
    s->random = sim_random_seed(options->seed, 0);
    s->seen = explore_seen_open();
    if (s->seen)
        return s;
    random_close(s);
    return NULL;
}

/* Draws new priorities, above those that changes give, and new steps for the changes. */
static void draw_priorities(struct explore_strategy_state *s)
{
    for (uint32_t i = 0; i < s->thread_count; i++) {
        uint32_t other = random_below(s, i + 1);
        s->priority[i] = s->priority[other];
        s->priority[other] = s->depth + i;
    }
    for (uint32_t i = 0; i + 1 < s->depth; i++)
        s->change[i] = 1 + sim_random_below(&s->random, s->longest);
    s->steps = 0;
}

static bool random_next_run(struct explore_strategy_state *s)
{
    if (!s->left)
        return false;
    s->left--;
    explore_graph_clear(explore_machine_graph());
    draw_priorities(s);
    return true;
}

static const struct explore_chooser *random_chooser(struct explore_strategy_state *s)
{
    return &s->chooser;
}

static bool random_take_end(struct explore_strategy_state *s, enum explore_end end)
{
    if (s->longest < s->steps)
        s->longest = s->steps;
    if (end == EXPLORE_LEFT || end == EXPLORE_TOO_LARGE)
        return true;
    enum explore_sight sight = explore_seen_add(s->seen, explore_graph_hash(explore_machine_graph()), 0);
    s->starved |= sight == EXPLORE_SEEN_NO_ROOM;
    return sight != EXPLORE_SEEN_BEFORE;
}

static double random_share_done(const struct explore_strategy_state *s)
{
    (void)s;
    return -1;
}

static bool random_is_starved(const struct explore_strategy_state *s)
{
    return s->starved;
}

const struct explore_tactics explore_walk = {random_open,     random_close,      random_next_run,  random_chooser,
                                             random_take_end, random_share_done, random_is_starved};
const struct explore_tactics explore_pct = {random_open,     random_close,      random_next_run,  random_chooser,
                                            random_take_end, random_share_done, random_is_starved};
