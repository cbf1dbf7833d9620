/* The explorer: on random programs all strategies meet the same executions, and on small programs its results are the
 * known ones. */
#include "sim/explore/access.h"
#include "sim/explore/explore.h"
#include "sim/kernel/random.h"
#include "tests/sim/support/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- random programs: straight lines of operations on a few variables */

enum { THREADS = 4, OPERATIONS = 5, VARIABLES = 3 };

struct line {
    enum { LOADS, STORES, ADDS, EXCHANGES_IF, FENCES, CHOOSES } what;
    uint32_t variable, value;
    int order;
};
struct shared {
    _Atomic uint32_t x[VARIABLES];
};

static struct line text[THREADS][OPERATIONS];
static uint32_t length[THREADS];

static int draw_order(struct sim_random *r, const int *orders, uint32_t count)
{
    return orders[sim_random_below(r, count)];
}

static void draw_line(struct sim_random *r, struct line *l)
{
    static const int loads[] = {memory_order_relaxed, memory_order_acquire, memory_order_seq_cst};
    static const int stores[] = {memory_order_relaxed, memory_order_release, memory_order_seq_cst};
    static const int both[] = {memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel,
                               memory_order_seq_cst};
    static const uint32_t often[] = {LOADS, LOADS, LOADS, STORES, STORES, STORES, ADDS, EXCHANGES_IF, FENCES, CHOOSES};
    l->what = often[sim_random_below(r, sizeof often / sizeof *often)];
    l->variable = (uint32_t)sim_random_below(r, VARIABLES);
    l->value = 1 + (uint32_t)sim_random_below(r, 2);
    if (l->what == LOADS)
        l->order = draw_order(r, loads, 3);
    else if (l->what == STORES)
        l->order = draw_order(r, stores, 3);
    else
        l->order = draw_order(r, both + (l->what == FENCES), 5 - (l->what == FENCES));
}

static void act(struct shared *s, uint32_t thread)
{
    struct explore_site here = {NULL, "here"};
    for (uint32_t i = 0; i < length[thread]; i++) {
        const struct line *l = &text[thread][i];
        _Atomic uint32_t *x = &s->x[l->variable];
        uint64_t expected = l->value - 1;
        switch (l->what) {
        case LOADS: explore_load(x, 4, l->order, here); break;
        case STORES: explore_store(x, 4, l->value, l->order, here); break;
        case ADDS: explore_fetch(x, 4, EXPLORE_ADD, 1, l->order, here); break;
        case EXCHANGES_IF:
            explore_compare_exchange(x, 4, &expected, l->value, false, l->order, memory_order_relaxed, here);
            break;
        case FENCES: explore_fence(l->order, here); break;
        case CHOOSES:
            if (explore_choose(2))
                return;
            break;
        }
    }
}

static void play0(void *s)
{
    act(s, 0);
}
static void play1(void *s)
{
    act(s, 1);
}
static void play2(void *s)
{
    act(s, 2);
}
static void play3(void *s)
{
    act(s, 3);
}

static struct explore_program draw_program(uint64_t seed)
{
    struct sim_random r = sim_random_seed(seed, 1);
    struct explore_program p = {.name = "random",
                                .thread_count = 2 + (uint32_t)sim_random_below(&r, THREADS - 1),
                                .state_bytes = sizeof(struct shared),
                                .thread = {play0, play1, play2, play3}};
    uint32_t most = p.thread_count == 2 ? OPERATIONS : p.thread_count == 3 ? 3 : 2;
    for (uint32_t t = 0; t < p.thread_count; t++) {
        length[t] = 1 + (uint32_t)sim_random_below(&r, most);
        for (uint32_t i = 0; i < length[t]; i++)
            draw_line(&r, &text[t][i]);
    }
    return p;
}

static uint64_t executions(const struct explore_program *p, enum explore_memory memory, enum explore_strategy strategy)
{
    struct explore_options o = {.memory = memory, .strategy = strategy, .preemptions = 1000};
    struct explore_result r;
    assert_int_equal(explore_run(p, &o, &r), STROBE_OK);
    assert_int_equal(r.failure.fault, EXPLORE_FINE);
    assert_true(r.complete);
    assert_int_equal(r.blocked, 0);
    uint64_t count = r.executions;
    explore_result_free(&r);
    return count;
}

static void each_execution_of_a_random_program_is_met_once_and_none_is_left_out(void **state)
{
    (void)state;
    uint64_t seed = 1;
    uint32_t rounds = stage_rounds(1500);
    for (uint32_t i = 0; i < rounds; i++) {
        struct explore_program p = draw_program(seed + i);
        uint64_t of_model[EXPLORE_MEMORIES];
        for (int m = 0; m < EXPLORE_MEMORIES; m++) {
            of_model[m] = executions(&p, m, EXPLORE_EXHAUSTIVE);
            uint64_t other = executions(&p, m, EXPLORE_BOUNDED);
            if (of_model[m] != other)
                fail_msg("seed %llu, model %d: %llu executions, by bounded search %llu", (unsigned long long)(seed + i),
                         m, (unsigned long long)of_model[m], (unsigned long long)other);
        }
        assert_true(of_model[EXPLORE_SC] <= of_model[EXPLORE_TSO]);
        assert_true(of_model[EXPLORE_TSO] <= of_model[EXPLORE_C11]);
    }
}

/* ---- message passing, with a store between the two loads: it stays in the store buffer, and the loads keep their
 * order
 */

static void passes(void *state)
{
    struct shared *s = state;
    struct explore_site here = {NULL, "here"};
    explore_store(&s->x[0], 4, 1, memory_order_relaxed, here);
    explore_store(&s->x[1], 4, 1, memory_order_relaxed, here);
}

static void receives(void *state)
{
    struct shared *s = state;
    struct explore_site here = {NULL, "here"};
    uint64_t flag = explore_load(&s->x[1], 4, memory_order_relaxed, here);
    explore_store(&s->x[2], 4, 1, memory_order_relaxed, here);
    explore_require(!flag || explore_load(&s->x[0], 4, memory_order_relaxed, here));
}

static void under_tso_loads_stay_in_order_also_with_a_store_between_them(void **state)
{
    (void)state;
    struct explore_program p = {
        .name = "mp", .thread_count = 2, .state_bytes = sizeof(struct shared), .thread = {passes, receives}};
    for (int m = 0; m < EXPLORE_MEMORIES; m++) {
        struct explore_options o = {.memory = m};
        struct explore_result r;
        assert_int_equal(explore_run(&p, &o, &r), STROBE_OK);
        assert_int_equal(r.failure.fault, m == EXPLORE_C11 ? EXPLORE_REQUIRE : EXPLORE_FINE);
        explore_result_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_execution_of_a_random_program_is_met_once_and_none_is_left_out),
        cmocka_unit_test(under_tso_loads_stay_in_order_also_with_a_store_between_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
