/* Faults that the explorer detects in each program, and its reports of them: small programs with one fault each, and
 * for each a program without the fault. */
#include "sim/explore/access.h"
#include "sim/explore/explore.h"
#include "tests/sim/support/stage.h"

#include <stdatomic.h>

static const struct explore_site here = {NULL, "here"};

struct shared {
    _Atomic uint32_t x, y, lock;
    uint32_t data;
    _Atomic uint64_t block;
};

static uint32_t load(const _Atomic uint32_t *x, int order)
{
    return (uint32_t)explore_load(x, 4, order, here);
}

static void store(_Atomic uint32_t *x, uint32_t value, int order)
{
    explore_store(x, 4, value, order, here);
}

static struct explore_result result;
static uint32_t outcomes; /* a program sets bit i when an execution ends with outcome i */

static void explore_with(const struct explore_program *p, struct explore_options o)
{
    explore_result_free(&result);
    outcomes = 0;
    assert_int_equal(explore_run(p, &o, &result), STROBE_OK);
}

static void explore(const struct explore_program *p)
{
    explore_with(p, (struct explore_options){.memory = EXPLORE_C11});
}

#define SHARED struct shared *s = state

/* ---- races */

static void writes_data(void *state)
{
    SHARED;
    explore_plain(&s->data, 4, true, here);
    s->data = 1;
}
static void publishes(void *state)
{
    writes_data(state);
    SHARED;
    store(&s->x, 1, memory_order_release);
}
static void publishes_relaxed(void *state)
{
    writes_data(state);
    SHARED;
    store(&s->x, 1, memory_order_relaxed);
}

static void reads_data(void *state)
{
    SHARED;
    if (!load(&s->x, memory_order_acquire))
        return;
    explore_plain(&s->data, 4, false, here);
    explore_require(s->data == 1);
}

static const struct explore_program handed_over = {
    .name = "handed over", .thread_count = 2, .state_bytes = sizeof(struct shared), .thread = {publishes, reads_data}};
static const struct explore_program raced = {.name = "raced",
                                             .thread_count = 2,
                                             .state_bytes = sizeof(struct shared),
                                             .thread = {publishes_relaxed, reads_data}};

static void reads_then_hands_over(void *state)
{
    SHARED;
    explore_plain(&s->data, 4, false, here);
    store(&s->x, 1, memory_order_relaxed);
}

static void writes_when_it_is_handed_over(void *state)
{
    SHARED;
    if (load(&s->x, memory_order_relaxed))
        writes_data(state);
}

/* In each execution with both accesses the load is the first. */
static const struct explore_program read_first = {.name = "read first",
                                                  .thread_count = 2,
                                                  .state_bytes = sizeof(struct shared),
                                                  .thread = {reads_then_hands_over, writes_when_it_is_handed_over}};

static void plain_accesses_race_unless_one_happens_before_the_other(void **state)
{
    (void)state;
    explore(&handed_over);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
    assert_int_equal(result.executions, 2);
    explore(&read_first);
    assert_int_equal(result.failure.fault, EXPLORE_RACE);
    explore(&raced);
    assert_int_equal(result.failure.fault, EXPLORE_RACE);
    assert_int_equal(result.failure.step[result.failure.step_count - 1].operation, EXPLORE_PLAIN_LOAD);
}

static void stores_at_once(void *state)
{
    SHARED;
    store(&s->x, 1, memory_order_relaxed);
}
static void stores_plainly(void *state)
{
    SHARED;
    explore_plain(&s->x, 4, true, here);
    atomic_init(&s->x, 2);
}

static void an_atomic_and_a_plain_access_race_as_well(void **state)
{
    (void)state;
    const struct explore_program p = {.name = "mixed",
                                      .thread_count = 2,
                                      .state_bytes = sizeof(struct shared),
                                      .thread = {stores_at_once, stores_plainly}};
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_RACE);
}

/* ---- waits */

static void waits_marked(void *state)
{
    SHARED;
    while (!load(&s->x, memory_order_acquire))
        explore_spin();
}

static void waits_unmarked(void *state)
{
    SHARED;
    while (!load(&s->x, memory_order_acquire))
        load(&s->y, memory_order_relaxed);
}

static void looks(void *state)
{
    SHARED;
    load(&s->x, memory_order_relaxed);
}

static void endless_waits_are_deadlocks_marked_or_not(void **state)
{
    (void)state;
    void (*const waits[])(void *) = {waits_marked, waits_unmarked};
    for (uint32_t i = 0; i < 2; i++) {
        struct explore_program ends = {.name = "ends",
                                       .thread_count = 2,
                                       .state_bytes = sizeof(struct shared),
                                       .thread = {waits[i], stores_at_once}};
        struct explore_program never = ends;
        never.thread[1] = looks;
        for (uint32_t strategy = 0; strategy < EXPLORE_STRATEGIES; strategy++) {
            struct explore_options o = {.memory = EXPLORE_C11,
                                        .strategy = strategy,
                                        .preemptions = 3,
                                        .depth = 2,
                                        .executions_max = 200,
                                        .seed = 3};
            explore_with(&ends, o);
            assert_int_equal(result.failure.fault, EXPLORE_FINE);
            assert_true(result.executions > 0);
            explore_with(&never, o);
            assert_int_equal(result.failure.fault, EXPLORE_DEADLOCK);
        }
    }
}

static void counts_for_ever(void *state)
{
    SHARED;
    for (;;)
        store(&s->y, load(&s->y, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void an_endless_thread_is_reported(void **state)
{
    (void)state;
    const struct explore_program p = {
        .name = "endless", .thread_count = 1, .state_bytes = sizeof(struct shared), .thread = {counts_for_ever}};
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_ENDLESS);
}

static _Atomic uint32_t *word_of(struct shared *s)
{
    return &s->x;
}
static void sleeps_while_zero(void *state)
{
    SHARED;
    explore_futex_wait(word_of(s), 0, false);
}
static void sleeps_if_it_was_zero(void *state)
{
    SHARED;
    uint32_t was = load(&s->x, memory_order_relaxed);
    if (!was)
        explore_futex_wait(&s->y, 0, false); /* waits for another word, so the wait does not re-check x */
}
static void sets_and_wakes(void *state)
{
    SHARED;
    store(&s->x, 1, memory_order_release);
    explore_futex_wake(&s->x);
}
static void sets_and_wakes_other(void *state)
{
    SHARED;
    store(&s->x, 1, memory_order_release);
    explore_futex_wake(&s->y);
}

static void a_lost_wake_up_is_a_deadlock_and_a_futex_that_checks_again_loses_none(void **state)
{
    (void)state;
    const struct explore_program kept = {.name = "kept",
                                         .thread_count = 2,
                                         .state_bytes = sizeof(struct shared),
                                         .thread = {sleeps_while_zero, sets_and_wakes}};
    const struct explore_program lost = {.name = "lost",
                                         .thread_count = 2,
                                         .state_bytes = sizeof(struct shared),
                                         .thread = {sleeps_if_it_was_zero, sets_and_wakes_other}};
    explore(&kept);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
    assert_true(result.complete);
    explore(&lost);
    assert_int_equal(result.failure.fault, EXPLORE_DEADLOCK);
}

/* ---- freed memory */

static void sets_up_block(void *state)
{
    SHARED;
    atomic_init(&s->block, (uint64_t)(uintptr_t)explore_alloc(16));
}

static void frees_block(void *state)
{
    SHARED;
    void *block = (void *)(uintptr_t)explore_fetch(&s->block, 8, EXPLORE_EXCHANGE, 0, memory_order_acq_rel, here);
    if (block)
        explore_free(block);
}

static void uses_block(void *state)
{
    SHARED;
    _Atomic uint32_t *block = (void *)(uintptr_t)explore_load(&s->block, 8, memory_order_acquire, here);
    if (block)
        load(block, memory_order_relaxed);
}

static void an_access_to_memory_that_another_thread_frees_is_found(void **state)
{
    (void)state;
    struct explore_program p = {.name = "freed",
                                .thread_count = 2,
                                .state_bytes = sizeof(struct shared),
                                .setup = sets_up_block,
                                .thread = {frees_block, uses_block}};
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_RECLAIMED);
    p.thread[1] = frees_block; /* the thread that takes the block frees it, once */
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
}

/* ---- frozen and interrupted threads */

static void locks(void *state)
{
    SHARED;
    while (explore_fetch(&s->lock, 4, EXPLORE_EXCHANGE, 1, memory_order_acquire, here))
        explore_spin();
    store(&s->y, load(&s->y, memory_order_relaxed) + 1, memory_order_relaxed);
    store(&s->lock, 0, memory_order_release);
}

static void adds(void *state)
{
    SHARED;
    explore_fetch(&s->y, 4, EXPLORE_ADD, 1, memory_order_relaxed, here);
}

static void both_added(void *state)
{
    SHARED;
    uint32_t missing = explore_frozen() ? 1 : 0;
    explore_require(atomic_load(&s->y) + missing >= 2);
}

static void a_lock_is_held_up_by_a_frozen_thread_and_what_is_lock_free_is_not(void **state)
{
    (void)state;
    struct explore_program p = {.name = "lock",
                                .thread_count = 2,
                                .state_bytes = sizeof(struct shared),
                                .thread = {locks, locks},
                                .check = both_added};
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
    p.frozen = 1;
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_DEADLOCK);
    assert_int_equal(result.failure.frozen.thread, 1);
    p.thread[0] = p.thread[1] = adds;
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
    assert_true(result.variants >= 3); /* not frozen, frozen before its only operation, and frozen one step later */
}

static void adds_twice(void *state)
{
    adds(state);
    adds(state);
}

static void sees(void *state)
{
    SHARED;
    outcomes |= 1u << load(&s->y, memory_order_relaxed);
}

static void an_interrupt_comes_before_each_operation(void **state)
{
    (void)state;
    const struct explore_program p = {.name = "interrupt",
                                      .thread_count = 1,
                                      .state_bytes = sizeof(struct shared),
                                      .thread = {adds_twice},
                                      .interrupted = 1,
                                      .interrupt = sees};
    explore(&p);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
    assert_int_equal(outcomes, 1 << 0 | 1 << 1);
}

/* ---- strategies */

/* Fails when thread 1 runs between two operations of thread 0, and thread 0 then runs between two of thread 1. */
static void first(void *state)
{
    SHARED;
    store(&s->x, 1, memory_order_seq_cst);
    store(&s->x, 2, memory_order_seq_cst);
}
static void second(void *state)
{
    SHARED;
    uint32_t a = load(&s->x, memory_order_seq_cst), b = load(&s->x, memory_order_seq_cst);
    explore_require(!(a == 1 && b == 2));
}

static const struct explore_program two_deep = {
    .name = "two deep", .thread_count = 2, .state_bytes = sizeof(struct shared), .thread = {first, second}};

static void a_bound_of_preemptions_leaves_out_what_needs_more(void **state)
{
    (void)state;
    struct explore_options o = {.memory = EXPLORE_SC, .strategy = EXPLORE_BOUNDED, .preemptions = 1};
    explore_with(&two_deep, o);
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
    o.preemptions = 2;
    explore_with(&two_deep, o);
    assert_int_equal(result.failure.fault, EXPLORE_REQUIRE);
}

static void pct_finds_a_bug_of_its_depth_as_often_as_its_bound_says(void **state)
{
    (void)state;
    struct explore_options o = {.memory = EXPLORE_SC, .strategy = EXPLORE_PCT, .depth = 3, .executions_max = 1};
    uint32_t found = 0, rounds = 400;
    double bound = 0;
    for (o.seed = 1; o.seed <= rounds; o.seed++) {
        o.executions_max = 20; /* from the first executions the strategy learns the length of one */
        explore_with(&two_deep, o);
        found += result.failure.fault == EXPLORE_REQUIRE;
        bound = result.probability;
    }
    assert_true(bound > 0 && bound <= 1.0 / (2 * 4 * 4));
    double in_one = 1;
    for (uint32_t i = 0; i < 19; i++)
        in_one *= 1 - bound;
    assert_true(found >= 0.8 * rounds * (1 - in_one));
}

static void first_of_many(void *state)
{
    SHARED;
    for (uint32_t i = 1; i < explore_size(); i++)
        store(&s->y, i, memory_order_relaxed);
    first(state);
}

static void a_failure_is_sought_at_smaller_sizes(void **state)
{
    (void)state;
    struct explore_program p = two_deep;
    p.thread[0] = first_of_many;
    p.quick = p.nightly = 6;
    explore_with(&p, (struct explore_options){.memory = EXPLORE_SC});
    assert_int_equal(result.failure.size, 6);
    uint32_t before = result.failure.step_count;
    struct explore_options o = {.memory = EXPLORE_SC, .size = 6};
    assert_true(explore_minimise(&p, &o, 1, &result));
    assert_int_equal(result.failure.fault, EXPLORE_REQUIRE);
    assert_int_equal(result.failure.size, 1);
    assert_true(result.failure.step_count < before);
}

static void a_failure_is_minimised_and_stays_the_same_fault(void **state)
{
    (void)state;
    struct explore_options o = {.memory = EXPLORE_SC, .strategy = EXPLORE_WALK, .seed = 5};
    explore_with(&two_deep, o);
    assert_int_equal(result.failure.fault, EXPLORE_REQUIRE);
    uint32_t before = result.failure.step_count;
    explore_minimise(&two_deep, &o, 1, &result);
    assert_int_equal(result.failure.fault, EXPLORE_REQUIRE);
    assert_true(result.failure.step_count <= before);
}

static void no_size_is_larger_than_a_program_has_room_for(void **state)
{
    (void)state;
    struct explore_program p = handed_over;
    p.quick = 2;
    p.nightly = 3;
    for (uint32_t asked = 0; asked < 6; asked++)
        assert_int_equal(explore_size_for(&p, asked), asked ? (asked < 3 ? asked : 3) : 2);
    explore_with(&p, (struct explore_options){.memory = EXPLORE_C11, .size = 9});
    assert_int_equal(result.failure.fault, EXPLORE_FINE);
}

static void operations_and_pairs_are_counted(void **state)
{
    (void)state;
    explore(&handed_over);
    assert_true(result.operations >= 4 && result.pairs == 2 && result.steps == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_accesses_race_unless_one_happens_before_the_other),
        cmocka_unit_test(an_atomic_and_a_plain_access_race_as_well),
        cmocka_unit_test(endless_waits_are_deadlocks_marked_or_not),
        cmocka_unit_test(an_endless_thread_is_reported),
        cmocka_unit_test(a_lost_wake_up_is_a_deadlock_and_a_futex_that_checks_again_loses_none),
        cmocka_unit_test(an_access_to_memory_that_another_thread_frees_is_found),
        cmocka_unit_test(a_lock_is_held_up_by_a_frozen_thread_and_what_is_lock_free_is_not),
        cmocka_unit_test(an_interrupt_comes_before_each_operation),
        cmocka_unit_test(a_bound_of_preemptions_leaves_out_what_needs_more),
        cmocka_unit_test(pct_finds_a_bug_of_its_depth_as_often_as_its_bound_says),
        cmocka_unit_test(a_failure_is_sought_at_smaller_sizes),
        cmocka_unit_test(a_failure_is_minimised_and_stays_the_same_fault),
        cmocka_unit_test(no_size_is_larger_than_a_program_has_room_for),
        cmocka_unit_test(operations_and_pairs_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
