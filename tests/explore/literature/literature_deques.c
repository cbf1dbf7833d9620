/* Chase and Lev's work-stealing deque (SPAA 2005) with the memory orders of Le, Pop, Cohen, Zappa Nardelli, Correct and
 * efficient work-stealing for weak memory models (PPoPP 2013), figure 1; the same without its fences; and its growth as
 * printed there, in which CDSChecker found a fault (Norris, Demsky, OOPSLA 2013, section 6). */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

enum { ITEMS = 4, STEALS = 2 };

struct array {
    _Atomic uint32_t mask;
    _Atomic uint32_t item[ITEMS]; /* number of a task, from 1 */
};

struct deque {
    _Atomic uint32_t top, bottom, use; /* use: index of the array */
    struct array array[2];
    uint32_t task[ITEMS + 1]; /* plain data, written before the task is pushed */
    uint32_t taken[EXPLORE_THREADS_MAX][ITEMS];
};

static _Atomic uint32_t *item_at(struct array *a, uint32_t index)
{
    return &a->item[index & atomic_load_explicit(&a->mask, memory_order_relaxed)];
}

enum { NO_FENCE = 1, GROWS_RELAXED = 2 };
enum { EMPTY = 0 };

static void push(struct deque *d, uint32_t task, uint32_t faults)
{
    uint32_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);
    uint32_t top = atomic_load_explicit(&d->top, memory_order_acquire);
    struct array *a = &d->array[atomic_load_explicit(&d->use, memory_order_relaxed)];
    d->task[task] = task;
    if (bottom - top > atomic_load_explicit(&a->mask, memory_order_relaxed)) {
        struct array *larger = &d->array[1];
        atomic_store_explicit(&larger->mask, ITEMS - 1, memory_order_relaxed);
        for (uint32_t i = top; i != bottom; i++)
            atomic_store_explicit(item_at(larger, i), atomic_load_explicit(item_at(a, i), memory_order_relaxed),
                                  memory_order_relaxed);
        atomic_store_explicit(&d->use, 1, faults & GROWS_RELAXED ? memory_order_relaxed : memory_order_release);
        a = larger;
    }
    atomic_store_explicit(item_at(a, bottom), task, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
}

static uint32_t take(struct deque *d, uint32_t faults)
{
    uint32_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1;
    struct array *a = &d->array[atomic_load_explicit(&d->use, memory_order_relaxed)];
    atomic_store_explicit(&d->bottom, bottom, memory_order_relaxed);
    if (!(faults & NO_FENCE))
        atomic_thread_fence(memory_order_seq_cst);
    uint32_t top = atomic_load_explicit(&d->top, memory_order_relaxed), task = EMPTY;
    if ((int32_t)(bottom - top) < 0) {
        atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
        return EMPTY;
    }
    task = atomic_load_explicit(item_at(a, bottom), memory_order_relaxed);
    if (top != bottom)
        return task;
    if (!atomic_compare_exchange_strong_explicit(&d->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed))
        task = EMPTY;
    atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
    return task;
}

static uint32_t steal(struct deque *d, uint32_t faults)
{
    uint32_t top = atomic_load_explicit(&d->top, memory_order_acquire);
    if (!(faults & NO_FENCE))
        atomic_thread_fence(memory_order_seq_cst);
    uint32_t bottom = atomic_load_explicit(&d->bottom, memory_order_acquire);
    if ((int32_t)(bottom - top) <= 0)
        return EMPTY;
    struct array *a =
        &d->array[atomic_load_explicit(&d->use, faults & GROWS_RELAXED ? memory_order_relaxed : memory_order_acquire)];
    uint32_t task = atomic_load_explicit(item_at(a, top), memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&d->top, &top, top + 1, memory_order_seq_cst, memory_order_relaxed))
        return EMPTY;
    explore_require(task != EMPTY);
    return task;
}

/* ---- the owner pushes all its tasks, then takes them; thieves steal */

static void deque_setup(void *state)
{
    struct deque *d = state;
    d->array[0].mask = d->array[1].mask = ITEMS - 1;
}

static void small_setup(void *state)
{
    struct deque *d = state;
    d->array[0].mask = 0;
}

static void run(struct deque *d, uint32_t task, uint32_t nth)
{
    explore_require(!task || d->task[task] == task);
    d->taken[explore_self()][nth] = task;
}

static void owns(struct deque *d, uint32_t faults)
{
    for (uint32_t i = 1; i <= explore_size(); i++)
        push(d, i, faults);
    for (uint32_t i = 0; i < explore_size(); i++)
        run(d, take(d, faults), i);
}

static void steals(struct deque *d, uint32_t faults)
{
    for (uint32_t i = 0; i < STEALS; i++)
        run(d, steal(d, faults), i);
}

static void owner(void *state)
{
    owns(state, 0);
}
static void thief(void *state)
{
    steals(state, 0);
}
static void owner_unfenced(void *state)
{
    owns(state, NO_FENCE);
}
static void thief_unfenced(void *state)
{
    steals(state, NO_FENCE);
}

static void owner_grows(void *state)
{
    push(state, 1, 0);
    push(state, 2, 0);
}

static void owner_grows_relaxed(void *state)
{
    push(state, 1, GROWS_RELAXED);
    push(state, 2, GROWS_RELAXED);
}

static void thief_once(void *state)
{
    run(state, steal(state, 0), 0);
}
static void thief_once_relaxed(void *state)
{
    run(state, steal(state, GROWS_RELAXED), 0);
}

/* Each task was taken once, or is still in the deque. */
static void adds_up(struct deque *d, uint32_t pushed)
{
    uint32_t times[ITEMS + 1] = {0};
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++)
        for (uint32_t k = 0; k < ITEMS; k++)
            times[d->taken[i][k]]++;
    struct array *a = &d->array[d->use];
    for (uint32_t at = d->top; (int32_t)(d->bottom - at) > 0; at++)
        times[*item_at(a, at)]++;
    for (uint32_t i = 1; i <= pushed; i++)
        explore_require(times[i] == 1);
}

static void all_add_up(void *state)
{
    adds_up(state, explore_size());
}
static void two_add_up(void *state)
{
    adds_up(state, 2);
}

#define DEQUE .state_bytes = sizeof(struct deque), .fenced = true

static const struct explore_program chase_lev = {
    .name = "deques/chase-lev",
    .what = "an owner and a thief: each task is taken once",
    .source = "Le, Pop, Cohen, Zappa Nardelli (PPoPP 2013), figure 1: right",
    DEQUE,
    .setup = deque_setup,
    .thread_count = 2,
    .thread = {owner, thief},
    .check = all_add_up,
    .quick = 2,
    .nightly = 3,
};

static const struct explore_program chase_lev_thieves = {
    .name = "deques/chase-lev-thieves",
    .what = "an owner and two thieves: each task is taken once",
    .source = "Le, Pop, Cohen, Zappa Nardelli (PPoPP 2013), figure 1: right",
    DEQUE,
    .setup = deque_setup,
    .thread_count = 3,
    .thread = {owner, thief_once, thief_once},
    .check = all_add_up,
    .quick = 2,
    .nightly = 3,
};

static const struct explore_program chase_lev_unfenced = {
    .name = "deques/chase-lev-unfenced",
    .what = "without its seq_cst fences a task is taken twice",
    .source = "Le, Pop, Cohen, Zappa Nardelli (PPoPP 2013), section 4: the store of bottom may pass the load of top",
    DEQUE,
    .setup = deque_setup,
    .thread_count = 2,
    .thread = {owner_unfenced, thief_unfenced},
    .check = all_add_up,
    .quick = 2,
    .nightly = 3,
    .faults = IN_TSO_AND_C11(REQUIRE),
};

static const struct explore_program chase_lev_grows = {
    .name = "deques/chase-lev-grows",
    .what = "a larger array published by release is stolen from as it was filled",
    .source = "Norris, Demsky, CDSChecker (OOPSLA 2013), section 6: corrected",
    DEQUE,
    .setup = small_setup,
    .thread_count = 2,
    .thread = {owner_grows, thief_once},
    .check = two_add_up,
};

static const struct explore_program chase_lev_grows_bad = {
    .name = "deques/chase-lev-grows-relaxed",
    .what = "a larger array published relaxed is stolen from unfilled",
    .source = "Norris, Demsky, CDSChecker (OOPSLA 2013), section 6: the published resize is wrong",
    DEQUE,
    .setup = small_setup,
    .thread_count = 2,
    .thread = {owner_grows_relaxed, thief_once_relaxed},
    .check = two_add_up,
    .faults = IN_C11(REQUIRE),
};

const struct explore_program *const literature_deques[] = {
    &chase_lev, &chase_lev_thieves, &chase_lev_unfenced, &chase_lev_grows, &chase_lev_grows_bad, NULL,
};
