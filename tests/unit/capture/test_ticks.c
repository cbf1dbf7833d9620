/* Ticks of CPU clocks: the records of a thread that its clock interrupted, the sampler's requests to the host that
 * drives the clocks, and points while a clock ticks. */
#include "engine/capture/blocking.h"
#include "tests/unit/support/ticking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ITEMS = 512, MAIN_TID_PASSES = 40 };

static struct strobe_ring_item items[ITEMS];

/* ---- the records of a tick */

static uint32_t cpu_reads;
static uint64_t (*read_cpu)(void *ctx);

static uint64_t count_cpu_read(void *ctx)
{
    cpu_reads++;
    return read_cpu(ctx);
}

/* Each read is a system call, which takes as long as all other work of a tick. */
static void a_tick_reads_its_cpu_time_once(void **state)
{
    (void)state;
    ticking.engine.config.metrics = STROBE_METRIC_CPU;
    cpu_reads = 0;
    read_cpu = ticking.host.self_cpu_ns;
    ticking.host.self_cpu_ns = count_cpu_read;
    tick(1000, 1000);
    assert_int_equal(cpu_reads, 1);
    assert_int_equal(rig_records(&ticking, items, ITEMS), 1);
    assert_int_equal(items[0].record.cpu_ns, ticking.cpu_ns);
}

static void ticks_of_one_stack_are_one_record_that_knows_their_cpu_time(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        tick(1000, 1000);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_CPU).sampled, 20);
    assert_int_equal(rig_records(&ticking, items, ITEMS), 1);
    assert_int_equal(items[0].record.count, 20);
    assert_int_equal(items[0].record.cpu_span_ns, 19 * MS);
    assert_int_equal(items[0].record.duration, 19 * MS);
}

static void ticks_are_not_merged_over_time_off_the_processor(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    tick(1000, 1000);
    tick(1000, 1000);
    tick(1300, 1000); /* 300 us off */
    assert_int_equal(rig_records(&ticking, items, ITEMS), 2);
    assert_int_equal(items[0].record.count, 2);
    assert_int_equal(items[1].record.count, 1);
    assert_false(items[1].record.flags & STROBE_FLAG_GAVE_WAY);
}

static void a_tick_says_when_the_thread_gave_its_processor_away_where_no_hook_saw_it(void **state)
{
    (void)state;
    tick(1000, 1000);
    ticking.usage.voluntary_switches++;
    tick(5000, 1000);
    assert_int_equal(rig_records(&ticking, items, ITEMS), 2);
    assert_true(items[1].record.flags & STROBE_FLAG_GAVE_WAY);
}

static void switches_in_calls_that_hooks_saw_do_not_count_as_unseen(void **state)
{
    (void)state;
    tick(1000, 1000);
    uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_READ, 0, here());
    ticking.usage.voluntary_switches++;
    ticking.now += 50 * US;
    strobe_scope_end(ticking.thread, token, here());
    tick(5000, 1000);
    uint32_t count = rig_records(&ticking, items, ITEMS);
    assert_int_equal(items[count - 1].record.kind, STROBE_KIND_CPU);
    assert_false(items[count - 1].record.flags & STROBE_FLAG_GAVE_WAY);
}

static void a_tick_in_the_engine_takes_nothing_and_is_counted(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->inside, 1);
    tick(1000, 1000);
    strobe_store_relaxed(&ticking.thread->inside, 0);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_CPU).reentrant, 1);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_CPU).sampled, 0);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->ticks_taken), 1);
}

static void ticks_that_were_asked_for_say_that_the_thread_stood(void **state)
{
    (void)state;
    tick(1000, 1000);
    strobe_store_relaxed(&ticking.thread->rung_cpu_ns, ticking.cpu_ns);
    tick(8000, 10);
    tick(1000, 1000);
    assert_int_equal(rig_records(&ticking, items, ITEMS), 3);
    assert_false(items[0].record.flags & STROBE_FLAG_STOOD);
    assert_true(items[1].record.flags & STROBE_FLAG_STOOD);
    assert_false(items[2].record.flags & STROBE_FLAG_STOOD);
}

static void a_tick_long_after_it_was_asked_for_says_nothing_of_where_the_thread_stood(void **state)
{
    (void)state;
    tick(1000, 1000);
    strobe_store_relaxed(&ticking.thread->rung_cpu_ns, ticking.cpu_ns);
    tick(8000, 900);
    assert_int_equal(rig_records(&ticking, items, ITEMS), 2);
    assert_false(items[1].record.flags & STROBE_FLAG_STOOD);
}

/* The signal interrupts the pause in which the thread waits for it, not the sleep of the call. */
static uint32_t pauses;

static void pause_until_interrupted(void *ctx, uint64_t deadline)
{
    (void)ctx;
    ticking.now = deadline;
    if (++pauses == 3)
        strobe_sample_interrupted(ticking.thread, &ticking.regs, true);
}

static void a_call_that_may_block_begins_after_the_tick_that_was_asked_for(void **state)
{
    (void)state;
    pauses = 0;
    ticking.host.sleep_until = pause_until_interrupted;
    strobe_store_relaxed(&ticking.thread->rung_cpu_ns, MS);
    uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_POLL, 0, here());
    assert_int_equal(pauses, 3);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->rung_cpu_ns), 0);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_CPU).reentrant, 1);
    strobe_scope_end(ticking.thread, token, here());
}

static void a_thread_that_is_about_to_block_is_not_asked_for_a_tick(void **state)
{
    (void)state;
    pass(1, 1000);
    strobe_bump(&ticking.thread->ticks_taken, 1);
    pass(1, 1000);
    ring_says = STROBE_OK;
    asked.rings = 0;
    uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_POLL, 0, here());
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked.rings, 0);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->rung_cpu_ns), 0);
    strobe_scope_end(ticking.thread, token, here());
}

/* ---- points and calls meanwhile */

static void points_give_way_to_ticks_within_a_message_and_no_longer(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    tick(1000, 1000);
    ticking.now += MS;
    rig_point(&ticking, STROBE_KIND_ALLOC);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_ALLOC).gated, 1);
    strobe_store_relaxed(&ticking.thread->entry->message, 7);
    ticking.now += MS; /* two intervals after the tick; points are held back for four */
    rig_point(&ticking, STROBE_KIND_ALLOC);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_ALLOC).sampled, 1);
}

static void points_of_a_thread_that_has_not_ticked_yet_are_taken(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    ticking.now += 2 * MS;
    rig_point(&ticking, STROBE_KIND_ALLOC);
    assert_int_equal(rig_account(&ticking, STROBE_KIND_ALLOC).sampled, 1);
}

/* The calls last 9 us, which is too short for single records. The gate takes none of them in this time. */
static void short_calls_are_sampled_by_the_time_that_they_add_up_to(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    for (int i = 0; i < 500; i++) {
        uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_WRITE, 0, here());
        ticking.now += 9 * US;
        strobe_scope_end(ticking.thread, token, here());
    }
    uint32_t count = rig_records(&ticking, items, ITEMS), stand = 0;
    for (uint32_t i = 0; i < count; i++)
        stand += (items[i].record.flags & STROBE_FLAG_ASKED) != 0;
    assert_int_equal(stand, 4); /* 4.5 ms in all, at an interval of 1 ms */
}

static void waits_for_locks_add_up_to_no_sample(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    for (int i = 0; i < 500; i++) {
        uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_MUTEX, 0, here());
        ticking.now += 10 * US;
        strobe_scope_end(ticking.thread, token, here());
    }
    uint32_t count = rig_records(&ticking, items, ITEMS);
    for (uint32_t i = 0; i < count; i++)
        assert_false(items[i].record.flags & STROBE_FLAG_ASKED);
}

/* A release of `what` that takes `us` microseconds. */
static void release(uint64_t what, uint64_t us)
{
    uint64_t begin = strobe_hand_over(ticking.thread, what, STROBE_RELEASE_LOCK, here());
    ticking.now += us * US;
    if (begin)
        strobe_release_end(ticking.thread, what, begin, here());
}

/* Returns the number of records of kind UNLOCK with the flag SCOPE, and the duration of the last one. */
static uint32_t releases_recorded(uint64_t *duration_ns)
{
    uint32_t count = rig_records(&ticking, items, ITEMS), found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_record *r = &items[i].record;
        if (r->kind != STROBE_KIND_UNLOCK || !(r->flags & STROBE_FLAG_SCOPE))
            continue;
        assert_true(r->flags & STROBE_FLAG_ASKED);
        *duration_ns = r->duration;
        found++;
    }
    return found;
}

static void wait_for(struct strobe_thread *waiter, uint64_t what)
{
    struct strobe_site site = {ticking.thread->stack_low + (1 << 19), 0};
    strobe_scope_begin(waiter, STROBE_KIND_MUTEX, what, site);
    strobe_wait_begin(waiter, what);
}

static struct strobe_thread *add_waiter(uint64_t what)
{
    struct strobe_stack_bounds bounds = {ticking.thread->stack_low, ticking.thread->stack_high, 0};
    struct strobe_thread *waiter = strobe_thread_attach(&ticking.engine, 2001, false, "waiter", &bounds);
    assert_non_null(waiter);
    wait_for(waiter, what);
    return waiter;
}

/* The waiter stays registered, so each release finds it. */
static void releases_that_wake_somebody_are_sampled_by_the_time_that_they_add_up_to(void **state)
{
    (void)state;
    uint64_t duration_ns = 0;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    struct strobe_thread *waiter = add_waiter(0x1230);
    for (int i = 0; i < 500; i++)
        release(0x1230, 10);
    assert_int_equal(releases_recorded(&duration_ns), 5); /* 5 ms in all, at an interval of 1 ms */
    assert_int_equal(duration_ns, 10 * US);
    strobe_wait_drop_all(waiter);
}

static void releases_without_a_waiter_are_not_timed(void **state)
{
    (void)state;
    uint64_t duration_ns;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    uint64_t reads = ticking.clock_reads;
    for (int i = 0; i < 500; i++)
        release(0x1230, 10);
    assert_int_equal(ticking.clock_reads, reads);
    assert_int_equal(releases_recorded(&duration_ns), 0);
}

/* For example, the waiter has taken the releaser's processor. */
static void a_release_that_takes_long_says_nothing_of_time_in_the_system(void **state)
{
    (void)state;
    uint64_t duration_ns;
    strobe_store_relaxed(&ticking.thread->ticking, 1);
    struct strobe_thread *waiter = add_waiter(0x1230);
    for (int i = 0; i < 20; i++)
        release(0x1230, 500);
    assert_int_equal(releases_recorded(&duration_ns), 0);
    strobe_wait_drop_all(waiter);
}

static void releases_of_a_thread_without_ticks_are_not_recorded_as_calls(void **state)
{
    (void)state;
    uint64_t duration_ns;
    struct strobe_thread *waiter = add_waiter(0x1230);
    for (int i = 0; i < 500; i++)
        release(0x1230, 10);
    assert_int_equal(releases_recorded(&duration_ns), 0);
    strobe_wait_drop_all(waiter);
}

static void a_requested_tick_is_distinguished_from_one_of_the_clock(void **state)
{
    (void)state;
    tick(1000, 1000);
    strobe_store_relaxed(&ticking.thread->rung_cpu_ns, 1 * MS);
    tick(1000, 500);
    tick(1000, 500);
    assert_int_equal(rig_records(&ticking, items, ITEMS), 3);
    assert_false(items[0].record.flags & STROBE_FLAG_ASKED);
    assert_true(items[1].record.flags & STROBE_FLAG_ASKED);
    assert_false(items[2].record.flags & STROBE_FLAG_ASKED);
}

/* ---- the sampler */

static void a_thread_that_ticks_is_stopped_once_when_new_and_never_again(void **state)
{
    (void)state;
    for (int i = 0; i < MAIN_TID_PASSES; i++) {
        pass(1, 1000);
        strobe_bump(&ticking.thread->ticks_taken, 1);
    }
    assert_int_equal(asked.keeps, MAIN_TID_PASSES);
    assert_int_equal(ticking.suspends, 1);
}

static void a_thread_that_uses_its_processor_and_does_not_tick_is_stopped(void **state)
{
    (void)state;
    for (int i = 0; i < MAIN_TID_PASSES; i++)
        pass(1, 1000);
    assert_in_range(ticking.suspends, MAIN_TID_PASSES / 4, MAIN_TID_PASSES / 2); /* a look in every second pass */
}

static void a_thread_whose_clock_cannot_tick_is_not_asked_again_and_is_stopped(void **state)
{
    (void)state;
    keep_says = STROBE_UNSUPPORTED;
    for (int i = 0; i < MAIN_TID_PASSES; i++)
        pass(1, 1000);
    assert_int_equal(asked.keeps, 1);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->ticking), 0);
    assert_int_equal(ticking.suspends, MAIN_TID_PASSES);
}

static void
beside_threads_that_tick_one_other_than_main_without_a_clock_is_stopped_in_every_second_interval(void **state)
{
    (void)state;
    keep_says = STROBE_UNSUPPORTED;
    ticking.thread->entry->is_main = 0;
    for (int i = 0; i < MAIN_TID_PASSES; i++)
        pass(1, 1000);
    assert_in_range(ticking.suspends, MAIN_TID_PASSES / 2, MAIN_TID_PASSES / 2 + 1);
}

/* A program may have thousands of short threads. Each would get a clock that never ticks. */
static void a_thread_gets_its_clock_once_it_has_used_half_of_a_tick(void **state)
{
    (void)state;
    ticking.thread_cpu_ns = 0;
    for (int i = 0; i < 4; i++)
        pass(2, 100);
    assert_int_equal(asked.keeps, 0);
    assert_true(ticking.suspends >= 1);
    pass(2, 100);
    assert_int_equal(asked.keeps, 1);
    pass(2, 0);
    assert_int_equal(asked.keeps, 2);
}

/* The scope records the CPU time at the end of the call, and a stop would disturb the thread. */
static void the_cpu_clock_of_a_thread_in_a_call_is_not_read_for_that(void **state)
{
    (void)state;
    ticking.thread_cpu_ns = 0;
    pass(2, 100);
    strobe_store_relaxed(&ticking.thread->entry->scope_kind, STROBE_KIND_POLL);
    pass(0, 1000);
    assert_int_equal(asked.keeps, 0);
    strobe_store_relaxed(&ticking.thread->entry->scope_kind, STROBE_KIND_NONE);
    pass(0, 0);
    assert_int_equal(asked.keeps, 1);
}

static void periods_change_and_their_mean_is_the_interval(void **state)
{
    (void)state;
    pass(1, 1000);
    for (int i = 0; i < 33 * 64; i++) {
        pass(1, 0);
        strobe_bump(&ticking.thread->ticks_taken, 1);
    }
    assert_in_range(asked.periods, 60, 66);
    assert_true(asked.least_ns >= MS - MS / 8 && asked.least_ns < MS - MS / 16);
    assert_true(asked.most_ns <= MS + MS / 8 && asked.most_ns > MS + MS / 16);
    assert_in_range(asked.sum_ns / asked.periods, MS - MS / 400, MS + MS / 400);
}

/* ---- sparse ticks */

/* Intervals of 1 ms of CPU time in which the thread gives up its processor `waits` times each. Its clock ticks. With
 * `hooks`, it also has a record of a hook in each. */
static void run_with_waits(uint32_t intervals, uint32_t waits, bool hooks)
{
    static uint64_t used_ns;
    for (uint32_t i = 0; i < intervals; i++) {
        ticking.usage.voluntary_switches += waits;
        used_ns += MS;
        if (used_ns + MS / 8 >= asked.period_ns) {
            tick(3000, used_ns / US);
            used_ns = 0;
        }
        if (hooks)
            strobe_store_relaxed(&ticking.thread->entry->last_sample_ticks, ticking.now);
        pass(1, 1000);
    }
}

static void a_thread_that_waits_often_ticks_seldom(void **state)
{
    (void)state;
    run_with_waits(70, 12, false);
    assert_in_range(asked.period_ns, 7 * MS, 9 * MS);
    uint32_t count = rig_records(&ticking, items, ITEMS), sparse = 0;
    for (uint32_t i = 0; i < count; i++)
        sparse += items[i].record.kind == STROBE_KIND_CPU && items[i].record.flags & STROBE_FLAG_SPARSE;
    assert_in_range(sparse, 5, 7);
}

static void a_thread_that_waits_less_often_ticks_in_each_interval(void **state)
{
    (void)state;
    run_with_waits(200, 7, false);
    assert_in_range(asked.most_ns, MS, MS + MS / 8);
}

static void ticks_stay_sparse_down_to_half_of_the_rate_of_waits(void **state)
{
    (void)state;
    run_with_waits(70, 12, false);
    run_with_waits(200, 6, false);
    assert_in_range(asked.period_ns, 7 * MS, 9 * MS);
    run_with_waits(60, 3, false);
    assert_in_range(asked.period_ns, MS - MS / 8, MS + MS / 8);
}

static void an_interval_longer_than_half_of_a_sparse_period_stays(void **state)
{
    (void)state;
    ticking.engine.config.async_interval_ns = 5 * MS;
    for (int i = 0; i < 40; i++) {
        ticking.usage.voluntary_switches += 60;
        tick(15000, 5000);
        pass(5, 5000);
    }
    assert_in_range(asked.most_ns, 5 * MS, 5 * MS + 5 * MS / 8);
}

/* Nothing else shows what the thread does while it computes. */
static void a_thread_that_waits_often_but_sometimes_computes_for_an_interval_ticks_in_each(void **state)
{
    (void)state;
    for (int i = 0; i < 70; i++)
        run_with_waits(1, i % 3 ? 30 : 0, false);
    assert_in_range(asked.most_ns, MS, MS + MS / 8);
}

/* It is then never off its processor, so its switches are not counted anew. */
static void a_thread_that_waits_no_more_ticks_in_each_interval_again(void **state)
{
    (void)state;
    run_with_waits(70, 12, false);
    for (int i = 0; i < 8; i++) {
        tick(8000, 8000);
        pass(0, 8000);
    }
    assert_in_range(asked.period_ns, MS - MS / 8, MS + MS / 8);
}

/* A new period begins at each change, and the CPU time of the period before has no tick. */
static void a_sparse_period_lasts_32_ticks_although_the_rate_is_checked_more_often(void **state)
{
    (void)state;
    run_with_waits(30, 12, false);
    uint32_t periods = asked.periods;
    run_with_waits(200, 12, false);
    assert_int_equal(asked.periods, periods);
    run_with_waits(100, 12, false);
    assert_int_equal(asked.periods, periods + 1);
}

static enum strobe_status (*keep_clock)(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken);
static uint32_t unmarked;

static enum strobe_status keep_marked(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    bool was_long = asked.period_ns > 2 * MS, is_long = period_ns > 2 * MS;
    unmarked += (was_long || is_long) && !strobe_load_relaxed(&ticking.thread->sparse);
    return keep_clock(ctx, index, tid, period_ns, taken);
}

/* The thread may tick at any time while the sampler changes its clock. */
static void a_clock_with_a_long_period_never_ticks_without_the_mark(void **state)
{
    (void)state;
    unmarked = 0;
    keep_clock = ticking.host.clock_keep;
    ticking.host.clock_keep = keep_marked;
    run_with_waits(70, 12, false);
    run_with_waits(70, 2, false);
    assert_int_equal(unmarked, 0);
    assert_in_range(asked.period_ns, MS - MS / 8, MS + MS / 8);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->sparse), 0);
}

static void between_sparse_ticks_a_thread_that_no_hook_shows_is_stopped(void **state)
{
    (void)state;
    run_with_waits(70, 12, false);
    uint32_t suspends = ticking.suspends;
    run_with_waits(64, 12, false);
    assert_in_range(ticking.suspends - suspends, 7, 16);
}

static void between_sparse_ticks_a_thread_that_hooks_show_is_not_stopped(void **state)
{
    (void)state;
    run_with_waits(70, 12, true);
    uint32_t suspends = ticking.suspends;
    run_with_waits(64, 12, true);
    assert_int_equal(ticking.suspends, suspends);
}

static void a_thread_that_waits_for_a_processor_is_asked_for_one_tick(void **state)
{
    (void)state;
    pass(1, 1000);
    strobe_bump(&ticking.thread->ticks_taken, 1);
    pass(1, 1000);
    ring_says = STROBE_OK;
    asked.rings = 0;
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked.rings, 1);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->rung_cpu_ns), ticking.thread_cpu_ns);
}

static void a_thread_without_a_tick_for_an_interval_is_looked_at_in_the_next_pass(void **state)
{
    (void)state;
    pass(1, 1000);
    strobe_bump(&ticking.thread->ticks_taken, 1);
    pass(1, 1000);
    ring_says = STROBE_OK;
    asked.rings = 0;
    pass(1, 0);
    assert_int_equal(asked.rings, 1);
}

/* Its first turn on a processor may be its only one for a long time. */
static void a_thread_that_waits_for_a_processor_before_it_has_a_clock_is_asked_for_a_tick(void **state)
{
    (void)state;
    ticking.thread_cpu_ns = 0;
    ring_says = STROBE_OK;
    pass(2, 100);
    for (int i = 0; i < 20; i++)
        pass(1, 0);
    assert_int_equal(asked.keeps, 0);
    assert_int_equal(asked.rings, 1);
    assert_int_equal(ticking.suspends, 0);
}

static void a_thread_without_a_clock_that_waits_in_a_call_is_not_asked_for_a_tick(void **state)
{
    (void)state;
    ticking.thread_cpu_ns = 0;
    ring_says = STROBE_OK;
    strobe_store_relaxed(&ticking.thread->entry->scope_kind, STROBE_KIND_POLL);
    pass(2, 100);
    assert_int_equal(asked.rings, 0);
    strobe_store_relaxed(&ticking.thread->entry->scope_kind, STROBE_KIND_NONE);
}

static void a_thread_that_runs_and_does_not_answer_is_not_asked_again_but_stopped(void **state)
{
    (void)state;
    pass(1, 1000);
    strobe_bump(&ticking.thread->ticks_taken, 1);
    pass(1, 1000);
    ring_says = STROBE_OK;
    asked.rings = 0;
    uint32_t suspends = ticking.suspends;
    for (int i = 0; i < 20; i++)
        pass(2, 2000);
    assert_int_equal(asked.rings, 1);
    assert_true(ticking.suspends > suspends);
    /* The thread takes the tick at last. */
    strobe_bump(&ticking.thread->ticks_taken, 1);
    for (int i = 0; i < 20; i++)
        pass(2, 2000);
    assert_int_equal(asked.rings, 2);
}

static void missing_ticks_are_counted_over_many_looks(void **state)
{
    (void)state;
    pass(1, 1000);
    strobe_bump(&ticking.thread->ticks_taken, 1);
    pass(1, 1000);
    uint32_t suspends = ticking.suspends;
    ticking.cpu_cost = 100; /* it runs: its CPU clock moves between two reads */
    for (int i = 0; i < 20; i++)
        pass(2, 1000); /* it has half of a processor, so between two looks it never uses a whole period */
    assert_in_range(ticking.suspends - suspends, 8, 16);
}

static void a_thread_that_blocks_the_signal_waits_for_it_once(void **state)
{
    (void)state;
    strobe_store_relaxed(&ticking.thread->rung_cpu_ns, 1);
    uint32_t token = strobe_scope_begin(ticking.thread, STROBE_KIND_READ, 0, here());
    assert_int_equal(strobe_load_relaxed(&ticking.thread->rung_cpu_ns), 0);
    strobe_scope_end(ticking.thread, token, here());
}

/* With 2,000 threads that take turns, these polls are a fifth of the CPU time of the process. */
static void a_look_at_a_thread_without_a_clock_reads_its_cpu_time_once(void **state)
{
    (void)state;
    pass(1, 0);
    ticking.cpu_cost = 1; /* the clock moves at each read */
    for (int i = 1; i <= 4; i++) {
        pass(2, 0);
        assert_int_equal(ticking.thread_cpu_ns, i);
    }
}

static void the_clock_of_a_thread_that_has_ended_is_given_back_once(void **state)
{
    (void)state;
    pass(1, 1000);
    strobe_store_relaxed(&ticking.thread->entry->state, STROBE_THREAD_ENDED);
    pass(1, 0);
    pass(1, 0);
    assert_int_equal(asked.ends, 1);
    assert_int_equal(asked.keeps, 1);
}

/* The thread has ended unnoticed. Another thread, which has used less CPU time, has its id. */
static void a_cpu_clock_that_goes_back_is_that_of_another_thread_S45(void **state)
{
    (void)state;
    keep_says = STROBE_UNSUPPORTED;
    pass(1, 5000);
    ticking.thread_cpu_ns = 10 * US;
    uint32_t suspends = ticking.suspends;
    pass(5, 100);
    assert_int_equal(ticking.suspends, suspends);
    assert_int_equal(strobe_load_relaxed(&ticking.thread->entry->state), STROBE_THREAD_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TICKING(a_tick_reads_its_cpu_time_once),
        TICKING(ticks_of_one_stack_are_one_record_that_knows_their_cpu_time),
        TICKING(ticks_are_not_merged_over_time_off_the_processor),
        TICKING(a_tick_says_when_the_thread_gave_its_processor_away_where_no_hook_saw_it),
        TICKING(switches_in_calls_that_hooks_saw_do_not_count_as_unseen),
        TICKING(a_tick_in_the_engine_takes_nothing_and_is_counted),
        TICKING(ticks_that_were_asked_for_say_that_the_thread_stood),
        TICKING(a_tick_long_after_it_was_asked_for_says_nothing_of_where_the_thread_stood),
        TICKING(a_call_that_may_block_begins_after_the_tick_that_was_asked_for),
        TICKING(a_thread_that_is_about_to_block_is_not_asked_for_a_tick),
        TICKING(points_give_way_to_ticks_within_a_message_and_no_longer),
        TICKING(points_of_a_thread_that_has_not_ticked_yet_are_taken),
        TICKING(short_calls_are_sampled_by_the_time_that_they_add_up_to),
        TICKING(waits_for_locks_add_up_to_no_sample),
        TICKING(releases_that_wake_somebody_are_sampled_by_the_time_that_they_add_up_to),
        TICKING(releases_without_a_waiter_are_not_timed),
        TICKING(a_release_that_takes_long_says_nothing_of_time_in_the_system),
        TICKING(releases_of_a_thread_without_ticks_are_not_recorded_as_calls),
        TICKING(a_requested_tick_is_distinguished_from_one_of_the_clock),
        TICKING(a_thread_that_ticks_is_stopped_once_when_new_and_never_again),
        TICKING(a_thread_that_uses_its_processor_and_does_not_tick_is_stopped),
        TICKING(a_thread_whose_clock_cannot_tick_is_not_asked_again_and_is_stopped),
        TICKING(beside_threads_that_tick_one_other_than_main_without_a_clock_is_stopped_in_every_second_interval),
        TICKING(a_thread_gets_its_clock_once_it_has_used_half_of_a_tick),
        TICKING(the_cpu_clock_of_a_thread_in_a_call_is_not_read_for_that),
        TICKING(periods_change_and_their_mean_is_the_interval),
        TICKING(a_thread_that_waits_often_ticks_seldom),
        TICKING(a_thread_that_waits_less_often_ticks_in_each_interval),
        TICKING(ticks_stay_sparse_down_to_half_of_the_rate_of_waits),
        TICKING(an_interval_longer_than_half_of_a_sparse_period_stays),
        TICKING(a_thread_that_waits_often_but_sometimes_computes_for_an_interval_ticks_in_each),
        TICKING(a_thread_that_waits_no_more_ticks_in_each_interval_again),
        TICKING(a_sparse_period_lasts_32_ticks_although_the_rate_is_checked_more_often),
        TICKING(a_clock_with_a_long_period_never_ticks_without_the_mark),
        TICKING(between_sparse_ticks_a_thread_that_no_hook_shows_is_stopped),
        TICKING(between_sparse_ticks_a_thread_that_hooks_show_is_not_stopped),
        TICKING(a_thread_that_waits_for_a_processor_is_asked_for_one_tick),
        TICKING(a_thread_without_a_tick_for_an_interval_is_looked_at_in_the_next_pass),
        TICKING(a_thread_that_waits_for_a_processor_before_it_has_a_clock_is_asked_for_a_tick),
        TICKING(a_thread_without_a_clock_that_waits_in_a_call_is_not_asked_for_a_tick),
        TICKING(a_thread_that_runs_and_does_not_answer_is_not_asked_again_but_stopped),
        TICKING(missing_ticks_are_counted_over_many_looks),
        TICKING(a_thread_that_blocks_the_signal_waits_for_it_once),
        TICKING(a_look_at_a_thread_without_a_clock_reads_its_cpu_time_once),
        TICKING(the_clock_of_a_thread_that_has_ended_is_given_back_once),
        TICKING(a_cpu_clock_that_goes_back_is_that_of_another_thread_S45),
    };
    return cmocka_run_group_tests_name("ticks", tests, NULL, NULL);
}
