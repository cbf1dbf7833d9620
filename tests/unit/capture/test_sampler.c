/* The sampler over a simulated host: which threads it stops, what it does while a thread is suspended, and that it ends
 * each stop with a resume. */
#include "engine/capture/guard.h"
#include "tests/unit/support/sampled.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 4096 };

static struct strobe_ring_item items[ITEMS];

static void a_running_thread_is_sampled_in_every_interval(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++)
        pass(1, 900);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 50);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1); /* one stack all the time: merged */
    assert_int_equal(items[0].record.count, 50);
}

static void what_the_samplers_own_records_overwrite_is_counted(void **state)
{
    (void)state;
    const int passes = 10000; /* more than the ring has slots */
    for (int i = 0; i < passes; i++) {
        strobe_store_relaxed(&rig.thread->entry->message, (uint32_t)i + 1); /* a record of its own */
        pass(1, 900);
    }
    uint64_t overwrote = strobe_load_relaxed(&rig.engine.session.header->async_overwrote_samples);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, passes);
    assert_int_equal(rig_records(&rig, items, ITEMS) + overwrote, passes);
}

static void samples_of_a_thread_that_was_off_its_processor_between_are_not_merged(void **state)
{
    (void)state;
    pass(1, 900);
    pass(2, 1800); /* 200 us: as long as a stop may be late */
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    rig.cpu_cost = 100;
    pass(3, 2799 - 1000);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 3);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
}

/* The CPU time between the first and the last sample of a record has 32 bits of ns: 4.3 s. */
static void a_merged_record_of_too_much_cpu_time_stores_the_maximum_S54(void **state)
{
    (void)state;
    for (int i = 0; i < 2400; i++)
        pass(2, 1900);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.count, 2400);
    assert_int_equal(items[0].record.cpu_span_ns, UINT32_MAX);
}

static void what_a_thread_sampled_itself_meanwhile_or_a_gap_parts_two_records_S51_S53(void **state)
{
    (void)state;
    pass(2, 1900);
    strobe_store_relaxed(&rig.thread->points_yield_until, 0);
    rig_stack(&rig, 5, 0x6000);
    rig_point(&rig, STROBE_KIND_ALLOC); /* the thread was elsewhere between the two samples */
    rig_stack(&rig, 5, 0x5000);
    pass(2, 1900);
    pass(2, 1900);
    pass(5, 4900); /* more than the merge gap */
    uint32_t async = 0, n = rig_records(&rig, items, ITEMS);
    for (uint32_t i = 0; i < n; i++)
        async += items[i].record.kind == STROBE_KIND_ASYNC;
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 4);
    assert_int_equal(async, 3);
}

/* A thread without hooks; all threads share the rig's stack and clock. */
static struct strobe_thread *another(uint32_t tid)
{
    struct strobe_stack_bounds bounds = {rig.thread->stack_low, rig.thread->stack_high, 0};
    struct strobe_thread *t = strobe_thread_attach(&rig.engine, tid, true, "other", &bounds);
    assert_non_null(t);
    strobe_local = (struct strobe_local){.thread = rig.thread};
    return t;
}

static void two_threads_in_one_place_are_two_records_S45(void **state)
{
    (void)state;
    struct strobe_thread *second = another(5678);
    pass(2, 1900);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
    assert_int_equal(items[0].record.thread, rig.thread->index);
    assert_int_equal(items[1].record.thread, second->index);
}

static void a_cut_stack_is_marked_S3(void **state)
{
    (void)state;
    rig_stack(&rig, 129, 0x5000);
    pass(2, 1900);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_true(items[0].record.flags & STROBE_FLAG_CUT);
}

static void a_pass_visits_a_bounded_number_of_threads_and_the_next_continues_there_S8(void **state)
{
    enum { THREADS = STROBE_SAMPLER_PASS_THREADS + 44 };
    static struct strobe_thread *threads[THREADS];
    struct strobe_config c = rig_config();
    uint32_t looked = 0;
    (void)state;
    rig_stop(&rig);
    c.threads_max = THREADS;
    rig_start(&rig, &c);
    threads[0] = rig.thread;
    for (uint32_t i = 1; i < THREADS; i++)
        threads[i] = another(3000 + i);
    pass(2, 0);
    for (uint32_t i = 0; i < THREADS; i++)
        looked += threads[i]->sampled.polled_ticks != 0;
    assert_int_equal(looked, STROBE_SAMPLER_PASS_THREADS);
    pass(2, 0);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_true(threads[i]->sampled.polled_ticks != 0);
}

/* A program may start thousands of short threads. */
static void threads_that_have_ended_are_looked_at_no_more_and_those_behind_them_still_are(void **state)
{
    enum { ENDED = 40 };
    static const uint32_t tid = 3000;
    (void)state;
    for (uint32_t i = 0; i < ENDED; i++)
        strobe_store_relaxed(&another(tid + i)->entry->state, STROBE_THREAD_ENDED);
    struct strobe_thread *behind = another(tid + ENDED);
    pass(2, 1900);
    assert_int_equal(sampler.living, 2);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
    struct strobe_thread *later = another(tid + ENDED + 1);
    pass(2, 1900);
    assert_int_equal(sampler.living, 3);
    assert_true(rig.thread->sampled.polled_ticks == rig.now && behind->sampled.polled_ticks == rig.now &&
                later->sampled.polled_ticks == rig.now);
}

static void threads_other_than_main_are_sampled_in_every_interval_where_no_clock_ticks(void **state)
{
    (void)state;
    rig.thread->entry->is_main = 0;
    for (int i = 0; i < 50; i++)
        pass(1, 900);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 50);
}

static void an_idle_thread_is_not_disturbed(void **state)
{
    (void)state;
    pass(1, 900);
    for (int i = 0; i < 1000; i++)
        pass(1, 0);
    assert_int_equal(rig.suspends, 1);
}

static void a_thread_that_wakes_up_is_seen_at_once_S5(void **state)
{
    (void)state;
    for (int i = 0; i < 310; i++)
        pass(1, 0);
    rig.cpu_cost = 100; /* on a processor: its clock moves */
    for (int i = 0; i < 10; i++)
        pass(1, 700);
    assert_in_range(rig.suspends, 9, 10);
}

static void a_thread_that_was_taken_off_its_processor_is_not_sampled_where_it_was_taken_off(void **state)
{
    (void)state;
    pass(1, 900); /* seen for the first time */
    for (int i = 0; i < 100; i++)
        pass(1, 500); /* half of the time, and off the processor now: its clock stands */
    assert_int_equal(rig.suspends, 1);
    for (int i = 0; i < 10; i++)
        pass(1, 990); /* all of the time until now: the sampler itself took the processor from it */
    assert_int_equal(rig.suspends, 11);
}

static void a_thread_that_does_little_is_seen_at_the_refresh(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) /* 2 us a ms: under the activity threshold */
        pass(1, 2);
    assert_in_range(rig.suspends, 3000 / 30 - 2, 3000 / 30 + 2); /* the main thread is refreshed every 30 ms */
}

/* Otherwise a thread whose hooks came densely, and have become rare, would continue to skip them. */
static void a_pass_makes_a_thread_that_passes_hooks_by_look_at_the_clock_again(void **state)
{
    (void)state;
    strobe_store_relaxed(&rig.thread->gate.skip, 15);
    pass(1, 900);
    assert_false(strobe_gate_skips(&rig.thread->gate));
}

static void a_thread_in_a_blocking_call_is_left_alone(void **state)
{
    (void)state;
    strobe_store_relaxed(&rig.thread->entry->scope_kind, STROBE_KIND_POLL);
    for (int i = 0; i < 100; i++)
        pass(1, 900);
    assert_int_equal(rig.suspends, 0);
}

static void a_thread_that_runs_in_short_calls_takes_its_own_stack_when_the_call_ends(void **state)
{
    (void)state;
    uint32_t sampled = 0;
    rig.cpu_cost = 100;            /* the thread runs: its CPU clock moves between two looks */
    for (int i = 0; i < 50; i++) { /* each pass meets the thread in another short read */
        struct strobe_site here = {(uint64_t)(uintptr_t)&sampled, 0};
        rig.now += 990 * US;
        uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, here);
        pass(0, 900);
        rig.now += 10 * US;
        rig.thread->scope[0].begin_ticks = rig.now - 5 * US;
        strobe_scope_end(rig.thread, token, here);
    }
    assert_int_equal(rig.suspends, 0);
    uint32_t n = rig_records(&rig, items, ITEMS);
    for (uint32_t i = 0; i < n; i++)
        sampled += (items[i].record.flags & STROBE_FLAG_ASKED) != 0;
    assert_in_range(sampled, 49, 50);
}

static void a_thread_that_waits_in_one_call_is_not_even_looked_at(void **state)
{
    (void)state;
    struct strobe_site here = {(uint64_t)(uintptr_t)&here, 0};
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, here);
    rig.cpu_cost = 100;
    pass(0, 900);
    for (int i = 0; i < 50; i++)
        pass(1, 900);
    assert_int_equal(strobe_load_relaxed(&rig.thread->asked), 1); /* by the first pass only */
    strobe_store_relaxed(&rig.thread->asked, 0);
    for (int i = 0; i < 100; i++) /* longer than the refresh time */
        pass(1, 900);
    assert_int_equal(strobe_load_relaxed(&rig.thread->asked), 0);
    strobe_scope_end(rig.thread, token, here);
}

static void an_exiting_thread_is_left_alone(void **state)
{
    (void)state;
    strobe_store_relaxed(&rig.thread->entry->state, STROBE_THREAD_EXITING);
    pass(1, 900);
    assert_int_equal(rig.suspends, 0);
}

static void begin_blocking(struct rig *r)
{
    strobe_store_relaxed(&r->thread->entry->scope_kind, STROBE_KIND_READ);
}

static void begin_exiting(struct rig *r)
{
    strobe_store_relaxed(&r->thread->entry->state, STROBE_THREAD_EXITING);
}

static void the_state_is_checked_again_once_the_thread_is_stopped_S41_S42(void **state)
{
    static void (*const changes[])(struct rig *) = {begin_blocking, begin_exiting};
    (void)state;
    for (int i = 0; i < 2; i++) {
        strobe_store_relaxed(&rig.thread->entry->scope_kind, 0);
        rig.on_suspend = changes[i];
        uint32_t reads = rig.reads;
        pass(2, 1990);
        assert_int_equal(rig.reads, reads);                                /* its stack was not touched */
        assert_int_equal(strobe_load_relaxed(&rig.thread->asked), i == 0); /* the next call samples at its end */
        strobe_store_relaxed(&rig.thread->asked, 0);
    }
    assert_int_equal(rig.suspends, 2);
    assert_int_equal(strobe_load_relaxed(&rig.engine.session.header->suspend_moved), 2);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 0);
}

static void go_on_running(struct rig *r)
{
    r->thread_cpu_ns += 3 * MS;
}

static void a_thread_that_did_not_get_to_run_is_tried_again_at_the_next_pass(void **state)
{
    (void)state;
    rig.suspend_says = STROBE_LATE;
    for (int i = 0; i < 100; i++)
        pass(1, 900);
    assert_int_equal(strobe_load_relaxed(&rig.engine.session.header->suspend_late), 100);
}

static uint64_t patience_ns;

static enum strobe_status patient_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                          struct strobe_regs *out)
{
    (void)ctx, (void)tid, (void)blocked, (void)out;
    patience_ns = timeout_ns;
    return STROBE_LATE;
}

/* The pass reads the clock twice before it stops the thread. Each read takes half of the time that has gone by then. */
static void a_pass_waits_for_a_thread_for_its_remaining_time_and_at_least_an_eighth(void **state)
{
    const uint64_t gone_us[] = {0, 1, 1000, 3000, 3499, 3501, 9000};
    (void)state;
    rig.host.suspend = patient_suspend;
    rig.host.ticks_per_second = 500000000; /* a tick is 2 ns */
    rig.engine.config.suspend_timeout_ns = 4 * MS;
    for (size_t i = 0; i < sizeof gone_us / sizeof *gone_us; i++) {
        rig.tick_cost = gone_us[i] * US / 2 / 2;
        patience_ns = 0;
        pass(20, 39900);
        assert_int_equal(patience_ns, gone_us[i] < 3500 ? 4 * MS - gone_us[i] * US : MS / 2);
    }
}

static void points_do_not_wait_for_ever_for_a_sampler_that_never_gets_there(void **state)
{
    (void)state;
    pass(2, 900);
    uint64_t seen = rig.now;
    assert_in_range(strobe_load_relaxed(&rig.thread->points_yield_until), seen + 1, seen + 64 * MS);
    rig.suspend_says = STROBE_LATE;
    for (int i = 0; i < 500; i++)
        pass(1, 900);
    assert_in_range(strobe_load_relaxed(&rig.thread->points_yield_until), seen + 32 * MS, seen + 64 * MS);
}

static void a_thread_that_cannot_be_stopped_is_counted_and_left_alone_for_longer_and_longer(void **state)
{
    (void)state;
    rig.suspend_says = STROBE_LATE;
    rig.on_suspend = go_on_running;
    for (int i = 0; i < 1000; i++)
        pass(1, 900);
    uint64_t late = strobe_load_relaxed(&rig.engine.session.header->suspend_late);
    assert_in_range(late, 8, 12); /* after 1, 2, 4, ... ms */
    rig.suspend_says = STROBE_OK;
    rig.on_suspend = NULL;
    for (int i = 0; i < 1100; i++)
        pass(1, 900);
    assert_in_range(rig.suspends, 50, 1100);
}

static void a_thread_that_is_gone_is_retired_and_its_chunk_taken_back_S16(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    uint32_t chunk = strobe_load_relaxed(&rig.thread->writer.chunk);
    assert_true(chunk != 0);
    assert_true(strobe_load_relaxed(&rig.engine.session.ring.chunks[chunk - 1]) & 1);
    rig.suspend_says = STROBE_GONE;
    pass(2, 900);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->state), STROBE_THREAD_ENDED);
    assert_false(strobe_load_relaxed(&rig.engine.session.ring.chunks[chunk - 1]) & 1);
    assert_int_equal(strobe_load_relaxed(&rig.engine.session.header->suspend_gone), 1);
}

static void a_thread_whose_clock_is_refused_keeps_its_chunk_and_stays_live(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    uint32_t chunk = strobe_load_relaxed(&rig.thread->writer.chunk);
    rig.clock_says = STROBE_UNSUPPORTED;
    pass(2, 900);
    assert_int_equal(rig.suspends, 0);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->state), STROBE_THREAD_LIVE);
    assert_true(strobe_load_relaxed(&rig.engine.session.ring.chunks[chunk - 1]) & 1);
}

static void a_copy_of_a_thread_that_the_watchdog_resumed_is_not_used_S46(void **state)
{
    (void)state;
    rig.resume_says = STROBE_LATE; /* the watchdog has resumed the thread */
    pass(2, 900);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).unwind_failed, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static bool runs;

static bool host_says(void *ctx, uint32_t tid)
{
    assert_ptr_equal(ctx, &rig);
    assert_int_equal(tid, 1234);
    return runs;
}

/* Some hosts update a thread's CPU time only now and then. */
static void a_host_that_knows_which_threads_run_is_asked_S5(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    pass(1, 990);
    assert_int_equal(rig.suspends, 1);
    for (int i = 0; i < 10; i++) {
        runs = i % 2;
        pass(2, 500);
    }
    assert_int_equal(rig.suspends, 6);
}

static uint64_t cpu_reads;
static enum strobe_status (*read_clock)(void *ctx, uint32_t tid, uint64_t *out);

static enum strobe_status counting_clock(void *ctx, uint32_t tid, uint64_t *out)
{
    cpu_reads++;
    return read_clock(ctx, tid, out);
}

static void a_thread_that_waits_for_a_processor_is_sampled_once_and_marked(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    runs = true;
    pass(1, 990);
    pass(2, 500); /* its clock stands, and the host says that it wants to run */
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
    assert_false(items[0].record.flags & STROBE_FLAG_READY);
    assert_true(items[1].record.flags & STROBE_FLAG_READY);
    assert_int_equal(rig.suspends, 2);
}

static void a_thread_that_is_preempted_after_its_sample_is_recorded_there_without_a_stop(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    runs = true;
    pass(1, 990);
    pass(1, 9);
    pass(1, 0);
    pass(1, 0);
    assert_int_equal(rig.suspends, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 2);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
    assert_true(items[1].record.flags & STROBE_FLAG_READY);
    assert_int_equal(items[1].record.stack, items[0].record.stack);
    assert_int_equal(items[1].record.ticks, items[0].record.ticks + MS);
}

static void a_thread_that_waits_or_has_moved_since_its_sample_is_not_recorded_there(void **state)
{
    (void)state;
    rig.host.thread_runs = host_says;
    runs = false;
    pass(1, 990);
    pass(1, 9); /* it waits in an unknown call */
    runs = true;
    pass(1, 0); /* asked once only: it may have waited before */
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 1);
    pass(1, 990);
    strobe_store_relaxed(&rig.thread->points_yield_until, 0);
    rig_point(&rig, STROBE_KIND_ALLOC);
    pass(1, 9);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ASYNC).sampled, 2);
}

static void a_thread_in_a_call_that_will_be_shown_is_not_polled(void **state)
{
    (void)state;
    read_clock = rig.host.thread_cpu_ns;
    rig.host.thread_cpu_ns = counting_clock;
    pass(1, 990);
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, (struct strobe_site){0});
    uint64_t before = cpu_reads;
    assert_true(before > 0);
    for (int call = 0; call < 3; call++) { /* a new call in each pass */
        strobe_scope_end(rig.thread, token, (struct strobe_site){0});
        token = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, (struct strobe_site){0});
        pass(1, 90);
    }
    assert_int_equal(cpu_reads, before);
    for (int ms = 0; ms < 30; ms++) {
        strobe_scope_end(rig.thread, token, (struct strobe_site){0});
        token = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, (struct strobe_site){0});
        pass(1, 90);
    }
    assert_int_equal(cpu_reads, before + 2); /* it may be gone; then, whether it runs */
    strobe_scope_end(rig.thread, token, (struct strobe_site){0});
}

/* Each of ten passes meets the thread in another call of that kind, which has just begun. Returns how often its CPU
 * clock was read. */
static uint64_t cpu_reads_in_new_calls(enum strobe_kind kind)
{
    uint64_t before = cpu_reads;
    for (int i = 0; i < 10; i++) {
        rig.now += 1 * MS;
        uint32_t token = strobe_scope_begin(rig.thread, kind, 0, (struct strobe_site){0});
        pass(0, 90);
        strobe_scope_end(rig.thread, token, (struct strobe_site){0});
    }
    return cpu_reads - before;
}

/* A read can work for the thread, so a thread that is often met in short ones is asked for its stack. */
static void a_thread_that_has_just_begun_to_wait_is_not_polled(void **state)
{
    (void)state;
    read_clock = rig.host.thread_cpu_ns;
    rig.host.thread_cpu_ns = counting_clock;
    pass(1, 990);
    assert_int_equal(cpu_reads_in_new_calls(STROBE_KIND_MUTEX), 0);
    assert_true(cpu_reads_in_new_calls(STROBE_KIND_READ) >= 10);
}

/* Its next read is taken for a wait, too. It is recorded if it lasts long. */
static void a_thread_that_has_slept_in_its_last_calls_of_a_kind_is_not_polled_in_the_next(void **state)
{
    (void)state;
    read_clock = rig.host.thread_cpu_ns;
    rig.host.thread_cpu_ns = counting_clock;
    pass(1, 990);
    strobe_store_relaxed(&rig.thread->call_cpu.resting_kinds, 1u << STROBE_KIND_READ);
    assert_int_equal(cpu_reads_in_new_calls(STROBE_KIND_READ), 0);
    assert_true(cpu_reads_in_new_calls(STROBE_KIND_WRITE) >= 10);
}

static void stand_for_a_while(struct rig *r)
{
    r->now += 300 * US;
}

static void each_stop_is_counted_with_its_duration(void **state)
{
    (void)state;
    const struct strobe_stops *stops = &rig.engine.session.header->stops;
    rig.on_suspend = stand_for_a_while;
    for (int i = 0; i < 9; i++)
        pass(2, 2300);
    struct strobe_stop_times t = strobe_stops_read(stops);
    assert_int_equal(t.count, 9);
    assert_int_equal(t.longest, 300 * US);
    rig.suspend_says = STROBE_LATE; /* a request that came too late is not a stop */
    pass(2, 2300);
    assert_int_equal(strobe_stops_read(stops).count, 9);
    assert_int_equal(strobe_load_relaxed(&rig.engine.session.header->suspends), 9);
}

static bool window_seen, window_left;

static enum strobe_status watching_read(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx, (void)address, (void)out, (void)bytes;
    window_seen |= strobe_guard_forbids();
    *copied = 64;
    return STROBE_OK;
}

static enum strobe_walk_end watching_walk(const struct strobe_host *host, const struct strobe_regs *regs,
                                          const struct strobe_window *stack, uint64_t *end, uint32_t max,
                                          uint32_t *count)
{
    (void)host, (void)regs, (void)stack, (void)max;
    window_left = !strobe_guard_forbids() && rig.suspends == rig.resumes;
    end[-1] = 0x1000;
    *count = 1;
    return STROBE_WALK_ROOT;
}

static void only_the_copy_is_made_while_the_thread_is_stopped_S40(void **state)
{
    (void)state;
    struct strobe_unwinder watching = {.copied = watching_walk};
    rig.engine.unwinder = &watching;
    rig.host.read = watching_read;
    pass(2, 900);
    assert_true(window_seen);
    assert_true(window_left);
}

#if defined(__GLIBC__)
static enum strobe_status (*real_suspend)(void *, uint32_t, const strobe_a32 *, uint64_t, struct strobe_regs *);
static enum strobe_status (*real_resume)(void *, uint32_t);
static size_t heap_begun, heap_ended;

static enum strobe_status measured_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                           struct strobe_regs *out)
{
    enum strobe_status status = real_suspend(ctx, tid, blocked, timeout_ns, out);
    heap_begun = mallinfo2().uordblks;
    return status;
}

static enum strobe_status measured_resume(void *ctx, uint32_t tid)
{
    heap_ended = mallinfo2().uordblks;
    return real_resume(ctx, tid);
}

/* The suspended thread may hold the allocator's lock. */
static void nothing_is_allocated_while_the_thread_is_stopped_S40(void **state)
{
    (void)state;
    real_suspend = rig.host.suspend;
    real_resume = rig.host.resume;
    rig.host.suspend = measured_suspend;
    rig.host.resume = measured_resume;
    for (int i = 0; i < 10; i++) {
        pass(2, 1900);
        assert_int_equal(heap_ended, heap_begun);
    }
    assert_int_equal(rig.resumes, 10);
}
#endif

/* The switch at each wake-up. */
static uint32_t switched[32], switch_wakes;

static void noting_sleep(void *ctx, uint64_t deadline)
{
    struct rig *r = ctx;
    r->now = deadline;
    switched[switch_wakes++] = strobe_switched();
    if (switch_wakes == 32)
        strobe_store_relaxed(&r->engine.sampler_stop, 1);
}

static void capture_begins_when_the_delay_is_over_and_not_before(void **state)
{
    (void)state;
    rig.engine.config.delay_ns = 10 * MS;
    strobe_sampler_init(&sampler, &rig.engine, 99);
    strobe_store_relaxed(strobe_switch, STROBE_PAUSED);
    rig.host.sleep_until = noting_sleep;
    strobe_sampler_run(&sampler);
    for (uint32_t i = 0; i < 32; i++)
        if (i < 9 || i > 12)
            assert_int_equal(switched[i], i < 9 ? STROBE_PAUSED : STROBE_ON);
}

static void pausing_sleep(void *ctx, uint64_t deadline)
{
    struct rig *r = ctx;
    r->now = deadline;
    switched[switch_wakes++] = strobe_switched();
    if (switch_wakes == 16)
        strobe_store_relaxed(strobe_switch, STROBE_PAUSED); /* as strobe_pause does */
    if (switch_wakes == 32)
        strobe_store_relaxed(&r->engine.sampler_stop, 1);
}

static void a_pause_by_the_program_lasts_with_or_without_a_start_delay(void **state)
{
    (void)state;
    for (unsigned delay_ms = 0; delay_ms <= 10; delay_ms += 10) {
        switch_wakes = 0;
        rig.engine.config.delay_ns = delay_ms * MS;
        strobe_store_relaxed(&rig.engine.sampler_stop, 0);
        strobe_sampler_init(&sampler, &rig.engine, 99);
        strobe_store_relaxed(strobe_switch, delay_ms ? STROBE_PAUSED : STROBE_ON);
        rig.host.sleep_until = pausing_sleep;
        strobe_sampler_run(&sampler);
        for (uint32_t i = 16; i < 32; i++)
            assert_int_equal(switched[i], STROBE_PAUSED);
    }
}

static uint32_t sleeps, quiet_sleeps, quiet_works;

static void sleep_of_three(void *ctx, uint64_t deadline)
{
    struct rig *r = ctx;
    r->now = deadline;
    quiet_sleeps += strobe_engine_quiet(&r->engine);
    if (++sleeps == 3)
        strobe_store_relaxed(&r->engine.sampler_stop, 1);
}

static void work_between_passes(void *ctx)
{
    quiet_works += strobe_engine_quiet(&((struct rig *)ctx)->engine);
}

/* The end of a capture may release its memory as soon as the engine is quiet. */
static void the_engine_is_not_quiet_while_a_thread_registers(void **state)
{
    (void)state;
    strobe_a32 *counted = strobe_registration_begin(), *other = strobe_registration_begin();
    assert_non_null(counted);
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    assert_false(strobe_engine_quiet(&rig.engine));
    assert_null(strobe_registration_begin()); /* no thread begins to register now */
    strobe_registration_end(&counted);
    assert_false(strobe_engine_quiet(&rig.engine));
    strobe_registration_end(&other);
    assert_true(strobe_engine_quiet(&rig.engine));
    strobe_store_seq_cst(strobe_switch, STROBE_ON);
}

/* Otherwise a thread that waits for quiet before it closes the session waits for ever, or closes it while the sampler
 * works. */
static void the_engine_is_quiet_while_the_sampler_sleeps_and_not_while_it_works(void **state)
{
    (void)state;
    rig.host.sleep_until = sleep_of_three;
    rig.host.between_passes = work_between_passes;
    strobe_sampler_run(&sampler);
    assert_int_equal(quiet_sleeps, 3);
    assert_int_equal(quiet_works, 0);
    assert_true(strobe_engine_quiet(&rig.engine));
}

static uint64_t deadlines[200], wakes;

/* Notes the deadline, and wakes up late: once by 3.5 ms, else by 30 us. */
static void late_sleep(void *ctx, uint64_t deadline)
{
    struct rig *r = ctx;
    deadlines[wakes++] = deadline;
    r->now = deadline + (wakes == 100 ? 3500 * US : 30 * US);
    if (wakes == 200)
        strobe_store_relaxed(&r->engine.sampler_stop, 1);
}

static void deadlines_do_not_drift_and_lag_is_counted_S8(void **state)
{
    (void)state;
    struct strobe_session_header *h = rig.engine.session.header;
    uint64_t begin = rig.now;
    rig.host.sleep_until = late_sleep;
    strobe_sampler_run(&sampler);
    for (int i = 1; i < 200; i++) {
        uint64_t grid = begin + (uint64_t)(i < 100 ? i : i + 3) * MS; /* the three missed ones are not sampled later */
        assert_in_range(deadlines[i], grid, grid + MS);
        if (i != 100)
            assert_in_range(deadlines[i] - deadlines[i - 1], 875 * US, 1125 * US);
    }
    assert_int_equal(strobe_load_relaxed(&h->async_passes), 200);
    assert_int_equal(strobe_load_relaxed(&h->async_late_passes), 1);
    assert_int_equal(strobe_load_relaxed(&h->async_lag_ticks), 199 * 30 * US + 3500 * US);
}

/* Counts in which sixteenth of the period each of a million deadlines falls: no sixteenth stands out. */
static void assert_all_phases_are_met(uint64_t seed, uint64_t period)
{
    enum { ROUNDS = 1000000, PARTS = 16 };
    uint64_t met[PARTS] = {0}, first;
    rig.engine.config.seed = seed;
    strobe_sampler_init(&sampler, &rig.engine, 99);
    first = strobe_sampler_deadline(&sampler);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t deadline = strobe_sampler_deadline(&sampler);
        assert_in_range(deadline, rig.now + i * MS, rig.now + (i + 1) * MS); /* the mean rate is exact */
        met[deadline % period * PARTS / period]++;
        strobe_sampler_go_on(&sampler, deadline);
    }
    assert_true(first != rig.now);
    for (int i = 0; i < PARTS; i++)
        assert_in_range(met[i], ROUNDS / PARTS * 9 / 10, ROUNDS / PARTS * 11 / 10);
}

static void the_sampler_locks_to_no_rhythm_of_the_program(void **state)
{
    (void)state;
    const uint64_t periods[] = {MS, MS / 2, 2 * MS, MS / 3, 16666667, 8333333, MS + 1};
    for (uint64_t i = 0; i < sizeof periods / sizeof *periods; i++)
        assert_all_phases_are_met(i + 1, periods[i]);
}

static void a_seed_decides_the_deadlines_and_another_seed_others(void **state)
{
    (void)state;
    uint64_t first[3][100], equal = 0;
    for (int run = 0; run < 3; run++) {
        rig.engine.config.seed = run < 2 ? 7 : 8;
        strobe_sampler_init(&sampler, &rig.engine, 99);
        for (int i = 0; i < 100; i++) {
            first[run][i] = strobe_sampler_deadline(&sampler);
            strobe_sampler_go_on(&sampler, first[run][i]);
        }
    }
    assert_memory_equal(first[0], first[1], sizeof first[0]);
    for (int i = 0; i < 100; i++)
        equal += first[0][i] == first[2][i];
    assert_in_range(equal, 0, 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start_sampled, stop_sampled)
    const struct CMUnitTest tests[] = {
        TEST(a_running_thread_is_sampled_in_every_interval),
        TEST(what_the_samplers_own_records_overwrite_is_counted),
        TEST(samples_of_a_thread_that_was_off_its_processor_between_are_not_merged),
        TEST(a_merged_record_of_too_much_cpu_time_stores_the_maximum_S54),
        TEST(what_a_thread_sampled_itself_meanwhile_or_a_gap_parts_two_records_S51_S53),
        TEST(two_threads_in_one_place_are_two_records_S45),
        TEST(a_cut_stack_is_marked_S3),
        TEST(a_pass_visits_a_bounded_number_of_threads_and_the_next_continues_there_S8),
        TEST(threads_that_have_ended_are_looked_at_no_more_and_those_behind_them_still_are),
        TEST(threads_other_than_main_are_sampled_in_every_interval_where_no_clock_ticks),
        TEST(an_idle_thread_is_not_disturbed),
        TEST(a_thread_that_wakes_up_is_seen_at_once_S5),
        TEST(a_thread_that_was_taken_off_its_processor_is_not_sampled_where_it_was_taken_off),
        TEST(a_thread_that_does_little_is_seen_at_the_refresh),
        TEST(a_pass_makes_a_thread_that_passes_hooks_by_look_at_the_clock_again),
        TEST(a_thread_in_a_blocking_call_is_left_alone),
        TEST(a_thread_that_runs_in_short_calls_takes_its_own_stack_when_the_call_ends),
        TEST(a_thread_that_waits_in_one_call_is_not_even_looked_at),
        TEST(an_exiting_thread_is_left_alone),
        TEST(the_state_is_checked_again_once_the_thread_is_stopped_S41_S42),
        TEST(a_pass_waits_for_a_thread_for_its_remaining_time_and_at_least_an_eighth),
        TEST(points_do_not_wait_for_ever_for_a_sampler_that_never_gets_there),
        TEST(a_thread_that_did_not_get_to_run_is_tried_again_at_the_next_pass),
        TEST(a_thread_that_cannot_be_stopped_is_counted_and_left_alone_for_longer_and_longer),
        TEST(a_thread_that_is_gone_is_retired_and_its_chunk_taken_back_S16),
        TEST(a_thread_whose_clock_is_refused_keeps_its_chunk_and_stays_live),
        TEST(a_host_that_knows_which_threads_run_is_asked_S5),
        TEST(a_thread_that_waits_for_a_processor_is_sampled_once_and_marked),
        TEST(a_thread_that_is_preempted_after_its_sample_is_recorded_there_without_a_stop),
        TEST(a_thread_that_waits_or_has_moved_since_its_sample_is_not_recorded_there),
        TEST(a_thread_in_a_call_that_will_be_shown_is_not_polled),
        TEST(a_thread_that_has_just_begun_to_wait_is_not_polled),
        TEST(a_thread_that_has_slept_in_its_last_calls_of_a_kind_is_not_polled_in_the_next),
        TEST(each_stop_is_counted_with_its_duration),
        TEST(a_copy_of_a_thread_that_the_watchdog_resumed_is_not_used_S46),
        TEST(only_the_copy_is_made_while_the_thread_is_stopped_S40),
#if defined(__GLIBC__)
        TEST(nothing_is_allocated_while_the_thread_is_stopped_S40),
#endif
        TEST(capture_begins_when_the_delay_is_over_and_not_before),
        TEST(a_pause_by_the_program_lasts_with_or_without_a_start_delay),
        TEST(the_engine_is_not_quiet_while_a_thread_registers),
        TEST(the_engine_is_quiet_while_the_sampler_sleeps_and_not_while_it_works),
        TEST(deadlines_do_not_drift_and_lag_is_counted_S8),
        TEST(the_sampler_locks_to_no_rhythm_of_the_program),
        TEST(a_seed_decides_the_deadlines_and_another_seed_others),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
