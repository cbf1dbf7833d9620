/* Samples that a thread takes of itself: which ones are recorded or merged, and that each event is counted. */
#include "tests/unit/support/capture_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000000, ITEMS = 8192 };

static struct rig rig;
static struct strobe_ring_item items[ITEMS];

/* The site of the caller's own frame, so that deeper calls lie lower on the stack whichever functions are inlined. */
static inline __attribute__((always_inline)) struct strobe_site site_at(uint64_t below)
{
    return (struct strobe_site){(uint64_t)(uintptr_t)__builtin_frame_address(0) - below, 0};
}

static int stop(void **state)
{
    (void)state;
    rig_assert_balanced(&rig);
    rig_stop(&rig);
    return 0;
}

static int start(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_start(&rig, &c);
    return 0;
}

static __attribute__((noinline)) void scope(enum strobe_kind kind, uint64_t lasts)
{
    uint32_t token = strobe_scope_begin(rig.thread, kind, 7, site_at(0));
    rig.now += lasts;
    strobe_scope_end(rig.thread, token, site_at(0));
}

/* ---- points */

static void events_that_the_gate_rejects_are_counted_S1(void **state)
{
    (void)state;
    for (int i = 0; i < 3334; i++) {
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += 300 * US;
    }
    struct rig_account a = rig_account(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(a.requests, 3334);
    assert_in_range(a.sampled, 1000, 1001);
    assert_int_equal(a.gated, a.requests - a.sampled);
}

static void equal_samples_are_merged_and_first_and_last_kept_S30(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += MS;
    }
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.count, 100);
    assert_int_equal(items[0].record.ticks, 1000000000);
    assert_int_equal(items[0].record.duration, 99 * MS);
    assert_int_equal(strobe_stack_node_count(&rig.engine.session.stacks), 5);
}

static void samples_of_other_stacks_kinds_or_messages_or_far_apart_are_not_merged(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    rig.now += MS;
    rig_stack(&rig, 5, 0x6000);
    rig_point(&rig, STROBE_KIND_ALLOC);
    rig.now += MS;
    rig_point(&rig, STROBE_KIND_FREE);
    rig.now += MS;
    strobe_bump(&rig.thread->entry->message, 1);
    rig_point(&rig, STROBE_KIND_FREE);
    rig.now += 4 * MS + 1;
    rig_point(&rig, STROBE_KIND_FREE);
    rig.now += MS;
    strobe_point(rig.thread, STROBE_ON, STROBE_KIND_FREE, 8, site_at(0)); /* with another argument */
    assert_int_equal(rig_records(&rig, items, ITEMS), 6);
}

/* Samples are merged as long as each follows the last one closely, however long the run is. */
static void a_long_run_of_equal_samples_is_one_record(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += 3 * MS;
    }
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
}

static void a_merged_record_knows_the_cpu_time_from_its_first_sample_to_its_last_S54(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.metrics = STROBE_METRIC_CPU;
    rig_start(&rig, &c);
    for (int i = 0; i < 3; i++) {
        rig.cpu_ns += 800 * US;
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += MS;
    }
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.cpu_ns, 2400 * US);
    assert_true(items[0].record.flags & STROBE_FLAG_BEGIN_CPU);
    assert_int_equal(items[0].record.cpu_span_ns, 1600 * US);
    rig.cpu_ns += 799 * US; /* off the processor for more than 200 us: merged, it would show the thread computing */
    rig_point(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
}

static void a_sample_after_a_call_is_not_merged_over_the_calls_record_S53(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    scope(STROBE_KIND_READ, MS);
    rig.now += MS;
    rig_point(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(rig_records(&rig, items, ITEMS), 3);
    assert_int_equal(items[1].record.kind, STROBE_KIND_READ);
}

static void a_stack_that_a_full_table_refuses_is_flagged_S31(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.stack_nodes = 5;
    rig_start(&rig, &c);
    rig_point(&rig, STROBE_KIND_ALLOC);
    rig.now += MS;
    rig_stack(&rig, 9, 0x9000);
    rig_point(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
    assert_false(items[0].record.flags & STROBE_FLAG_TABLE_FULL);
    assert_true(items[1].record.flags & STROBE_FLAG_TABLE_FULL);
}

static void a_stack_too_deep_is_cut_flagged_and_kept_S3(void **state)
{
    (void)state;
    rig_stack(&rig, 129, 0x5000);
    rig_point(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_true(items[0].record.flags & STROBE_FLAG_CUT);
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    strobe_stack_frames(&rig.engine.session.stacks, items[0].record.stack, frames, STROBE_STACK_DEPTH_MAX, &count);
    assert_int_equal(count, 128);
    assert_int_equal(frames[127], 0x5000);
}

static struct strobe_window walked;

static enum strobe_walk_end note_window(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                        uint64_t *end, uint32_t max, uint32_t *count)
{
    (void)frame, (void)caller, (void)max;
    walked = *stack;
    end[-1] = 0x1000;
    *count = 1;
    return STROBE_WALK_ROOT;
}

/* Walks end at the root that the thread reported. Beyond it is start code, which keeps no frame records. */
static void a_walk_has_the_begin_of_the_stack_and_of_its_outermost_code(void **state)
{
    static const struct strobe_unwinder noting = {.self = note_window};
    (void)state;
    uint64_t here = site_at(0).frame;
    struct strobe_thread *t = strobe_thread_attach(&rig.engine, 77, false, "other",
                                                   &(struct strobe_stack_bounds){here - MS, here + MS, here + MS / 2});
    rig.engine.unwinder = &noting;
    strobe_point(t, strobe_switched(), STROBE_KIND_ALLOC, 0, site_at(0));
    assert_int_equal(walked.high, here + MS);
    assert_int_equal(walked.root, here + MS / 2);
}

static void a_thread_is_known_to_its_own_hooks_from_its_begin_to_its_end(void **state)
{
    (void)state;
    uint64_t here = site_at(0).frame;
    const struct strobe_stack_bounds bounds = {here - MS, here + MS, 0};
    struct strobe_thread *t = strobe_thread_attach(&rig.engine, 77, false, "other", &bounds);
    assert_ptr_equal(strobe_local.thread, t);
    assert_int_equal(t->entry->start_ticks, rig.now);
    assert_int_equal(t->entry->end_ticks, 0);
    rig.now += 5 * MS;
    strobe_thread_detach(t);
    assert_null(strobe_local.thread);
    assert_int_equal(t->entry->end_ticks, rig.now);
    assert_int_equal(strobe_load_relaxed(&t->entry->state), STROBE_THREAD_ENDED);
    assert_true(strobe_engine_quiet(&rig.engine)); /* no thread that stops it waits for this thread */
}

static void a_walk_without_frames_is_counted_not_recorded(void **state)
{
    (void)state;
    rig_stack(&rig, 0, 0);
    rig_point(&rig, STROBE_KIND_ALLOC);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).unwind_failed, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static void a_hook_inside_the_engine_is_not_taken_and_counted_S7(void **state)
{
    (void)state;
    strobe_store_relaxed(&rig.thread->inside, 1);
    rig_point(&rig, STROBE_KIND_ALLOC);
    strobe_point_forced(rig.thread, STROBE_KIND_THREAD, 0, site_at(0));
    assert_int_equal(strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, site_at(0)), 0);
    strobe_store_relaxed(&rig.thread->inside, 0);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).reentrant, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_THREAD).reentrant, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_READ).reentrant, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static void a_paused_capture_counts_and_records_nothing(void **state)
{
    (void)state;
    strobe_store_relaxed(strobe_switch, STROBE_PAUSED);
    rig_point(&rig, STROBE_KIND_ALLOC);
    strobe_point_forced(rig.thread, STROBE_KIND_LOAD, 0, site_at(0));
    scope(STROBE_KIND_READ, 10 * MS);
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).paused, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_LOAD).paused, 1);
    assert_int_equal(rig_account(&rig, STROBE_KIND_READ).paused, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static void an_event_that_a_pause_overtakes_is_not_taken(void **state)
{
    (void)state;
    strobe_store_relaxed(strobe_switch, STROBE_PAUSED);
    strobe_point(rig.thread, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0)); /* hook read it before the pause */
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).paused, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 0);
}

static void forced_points_pass_a_closed_gate(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    rig.now += US;
    strobe_point_forced(rig.thread, STROBE_KIND_LOAD, 0, site_at(0));
    assert_int_equal(rig_account(&rig, STROBE_KIND_LOAD).sampled, 1);
}

static void errno_is_as_it_was(void **state)
{
    (void)state;
    errno = 77;
    rig_point(&rig, STROBE_KIND_ALLOC);
    scope(STROBE_KIND_READ, MS);
    assert_int_equal(errno, 77);
}

static void allocations_are_counted_whatever_the_gate_says(void **state)
{
    (void)state;
    strobe_store_relaxed(&rig.thread->gate.skip, 500);
    for (int i = 0; i < 1000; i++)
        strobe_point_alloc(rig.thread, STROBE_ON, 24, site_at(0));
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->alloc_count), 1000);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->alloc_bytes), 24000);
}

static void points_give_way_while_the_sampler_sees_to_the_thread_S6(void **state)
{
    (void)state;
    strobe_store_relaxed(&rig.thread->points_yield_until, rig.now + 10 * MS);
    for (int i = 0; i < 100; i++) {
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += 100 * US;
    }
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).sampled, 0);
    for (int i = 0; i < 100; i++) { /* the sampler has not returned: the hooks' own gate applies again */
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += 100 * US;
    }
    assert_in_range(rig_account(&rig, STROBE_KIND_ALLOC).sampled, 9, 11);
}

/* ---- scopes */

static void a_block_right_after_a_sample_is_recorded_S2(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    scope(STROBE_KIND_READ, 900 * US);
    assert_int_equal(rig_account(&rig, STROBE_KIND_READ).sampled, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 2);
    assert_true(items[1].record.flags & STROBE_FLAG_SCOPE);
    assert_int_equal(items[1].record.duration, 900 * US);
    assert_int_equal(items[1].record.arg, 7);
}

static void a_scope_too_short_to_matter_goes_through_the_gate(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    for (int i = 0; i < 10; i++)
        scope(STROBE_KIND_READ, 5 * US);
    assert_int_equal(rig_account(&rig, STROBE_KIND_READ).gated, 10);
}

/* One call in each 50 us, over 20 intervals. */
static void brief_calls_are_recorded_at_a_rate_of_their_own_and_no_faster(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    uint64_t interval = rig.thread->gate.interval_ticks, calls = 20 * interval / (50 * US);
    for (uint64_t i = 0; i < calls; i++) {
        scope(STROBE_KIND_READ, 20 * US);
        rig.now += 30 * US;
    }
    uint64_t due = 20 * STROBE_BRIEF_PER_INTERVAL + STROBE_BRIEF_BURST;
    assert_in_range(rig_account(&rig, STROBE_KIND_READ).sampled, due - 1, due + 1);
}

/* The sampler has requested a sample at the end of each call. */
static void a_requested_sample_of_a_call_that_is_shown_exactly_stands_for_no_other_time(void **state)
{
    static const uint64_t lasts[] = {5 * US, 20 * US, 900 * US};
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    for (uint32_t i = 0; i < 3; i++) {
        strobe_store_relaxed(&rig.thread->asked, 1);
        scope(STROBE_KIND_READ, lasts[i]);
        assert_int_equal(strobe_load_relaxed(&rig.thread->asked), 0);
    }
    assert_int_equal(rig_records(&rig, items, ITEMS), 4);
    assert_true(items[1].record.flags & STROBE_FLAG_ASKED); /* it is recorded because of the request */
    assert_false(items[2].record.flags & STROBE_FLAG_ASKED);
    assert_false(items[3].record.flags & STROBE_FLAG_ASKED);
}

static void a_loop_of_brief_calls_is_recorded_call_by_call_with_its_CPU_time(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.metrics = STROBE_METRIC_CPU;
    rig_start(&rig, &c);
    rig_point(&rig, STROBE_KIND_ALLOC);
    uint64_t apart = rig.thread->gate.interval_ticks / STROBE_BRIEF_PER_INTERVAL;
    for (int i = 0; i < 50; i++) {
        scope(STROBE_KIND_READ, 20 * US);
        rig.now += apart - 20 * US;
    }
    assert_int_equal(rig_account(&rig, STROBE_KIND_READ).sampled, 50);
    uint32_t n = rig_records(&rig, items, ITEMS);
    assert_int_equal(n, 51);
    for (uint32_t i = 2; i < n; i++)
        assert_true(items[i].record.flags & STROBE_FLAG_BEGIN_CPU);
}

static void waits_that_are_not_recorded_are_known_in_sum(void **state)
{
    (void)state;
    rig_point(&rig, STROBE_KIND_ALLOC);
    for (int i = 0; i < 10; i++)
        scope(STROBE_KIND_READ, 5 * US);
    scope(STROBE_KIND_READ, US / 2); /* too short to be a wait */
    scope(STROBE_KIND_READ, MS);     /* recorded */
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->short_waits), 10);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->short_wait_ticks), 10 * 5 * US);
}

static void an_outer_scope_keeps_its_record_whatever_its_inside_sampled_S2b(void **state)
{
    (void)state;
    uint32_t outer = strobe_scope_begin(rig.thread, STROBE_KIND_LOAD, 0, site_at(0));
    rig.now += 199500 * US;
    rig_point(&rig, STROBE_KIND_ALLOC);
    scope(STROBE_KIND_READ, 200 * US);
    rig.now += 300 * US;
    strobe_scope_end(rig.thread, outer, site_at(0));
    assert_int_equal(rig_account(&rig, STROBE_KIND_LOAD).sampled, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 3);
    assert_int_equal(items[2].record.kind, STROBE_KIND_LOAD);
    assert_int_equal(items[2].record.duration, 200 * MS);
}

static void a_scope_left_by_a_jump_is_dropped_counted_and_no_longer_shown(void **state)
{
    (void)state;
    assert_int_equal(strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, site_at(4096)), 1);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), STROBE_KIND_READ);
    rig.now += 5 * MS;
    rig_point(&rig, STROBE_KIND_ALLOC); /* from a frame above: the call was left by a jump */
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), 0);
    struct rig_account a = rig_account(&rig, STROBE_KIND_READ);
    assert_int_equal(a.requests, 1);
    assert_int_equal(a.unwind_failed, 1);
}

/* A condition's wait does so: it first releases its mutex. */
static void a_point_from_the_frame_of_an_open_scope_leaves_it_open(void **state)
{
    (void)state;
    assert_int_equal(strobe_scope_begin(rig.thread, STROBE_KIND_COND, 0, site_at(4096)), 1);
    rig.now += 5 * MS;
    strobe_point(rig.thread, STROBE_ON, STROBE_KIND_UNLOCK, 0, site_at(4096));
    assert_int_equal(rig_account(&rig, STROBE_KIND_UNLOCK).sampled, 1);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), STROBE_KIND_COND);
    strobe_scope_end(rig.thread, 1, site_at(4096));
    assert_int_equal(rig_account(&rig, STROBE_KIND_COND).sampled, 1);
}

static void a_scope_that_ends_closes_those_left_inside_it(void **state)
{
    (void)state;
    uint32_t outer = strobe_scope_begin(rig.thread, STROBE_KIND_LOAD, 0, site_at(0));
    strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, site_at(4096));
    rig.now += MS;
    strobe_scope_end(rig.thread, outer, site_at(0));
    assert_int_equal(rig.thread->scope_count, 0);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), 0);
    assert_int_equal(rig_account(&rig, STROBE_KIND_READ).unwind_failed, 1);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.kind, STROBE_KIND_LOAD);
}

static void an_event_of_a_handler_inside_a_scope_leaves_the_scope_open(void **state)
{
    (void)state;
    uint32_t outer = strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, site_at(0));
    rig.now += 2 * MS;
    rig_point(&rig, STROBE_KIND_ALLOC);
    uint32_t inner = strobe_scope_begin(rig.thread, STROBE_KIND_WRITE, 0, site_at(4096));
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), STROBE_KIND_WRITE);
    strobe_scope_end(rig.thread, inner, site_at(4096));
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), STROBE_KIND_POLL);
    strobe_scope_end(rig.thread, outer, site_at(0));
    assert_int_equal(rig_account(&rig, STROBE_KIND_POLL).sampled, 1);
}

/* The engine copies at most 2 kB of that stack; the chain of frames continues behind the copy. */
static void an_event_on_another_stack_is_taken_with_the_frames_that_can_be_seen_there(void **state)
{
    (void)state;
    uint64_t at = (uint64_t)(uintptr_t)rig.stack, frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count = 0;
    for (uint64_t i = 0; i < 4; i++) {
        rig.stack[4 * i] = at + (i < 3 ? 32 * (i + 1) : 2048);
        rig.stack[4 * i + 1] = 0x7000 + 16 * i;
    }
    strobe_point(rig.thread, STROBE_ON, STROBE_KIND_ALLOC, 0, (struct strobe_site){at, 0});
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_true(items[0].record.flags & STROBE_FLAG_DOUBTFUL);
    assert_int_equal(
        strobe_stack_frames(&rig.engine.session.stacks, items[0].record.stack, frames, STROBE_STACK_DEPTH_MAX, &count),
        STROBE_OK);
    assert_int_equal(count, 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(frames[3 - i], 0x7000 + 16 * i);
}

/* The address of a signal stack does not show which calls were left. */
static void an_event_on_another_stack_leaves_the_scope_open(void **state)
{
    (void)state;
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, site_at(0));
    rig.now += 2 * MS;
    strobe_point(rig.thread, STROBE_ON, STROBE_KIND_ALLOC, 0, (struct strobe_site){rig.thread->stack_high + 4096, 0});
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->scope_kind), STROBE_KIND_POLL);
    strobe_scope_end(rig.thread, token, site_at(0));
    assert_int_equal(rig_account(&rig, STROBE_KIND_POLL).sampled, 1);
}

static void a_clock_that_is_set_back_in_a_call_takes_no_time_from_anybody_S53(void **state)
{
    (void)state;
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_POLL, 0, site_at(0));
    rig.now -= 5 * MS;
    strobe_scope_end(rig.thread, token, site_at(0));
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.duration, 0);
}

static void a_return_from_a_poll_begins_a_message_if_so_wanted_S50(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.message_per_poll = 1;
    rig_start(&rig, &c);
    scope(STROBE_KIND_SLEEP, MS);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->message), 0);
    scope(STROBE_KIND_POLL, MS);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->message), 1);
    rig_stop(&rig);
    c.message_per_poll = 0;
    rig_start(&rig, &c);
    scope(STROBE_KIND_POLL, MS);
    assert_int_equal(strobe_load_relaxed(&rig.thread->entry->message), 0);
}

static void scopes_nested_deeper_than_there_is_room_are_counted(void **state)
{
    uint32_t tokens[STROBE_SCOPES_MAX + 3];
    (void)state;
    for (uint32_t i = 0; i < STROBE_SCOPES_MAX + 3; i++)
        tokens[i] = strobe_scope_begin(rig.thread, STROBE_KIND_READ, 0, site_at(4096 + 64 * i));
    rig.now += MS;
    for (uint32_t i = STROBE_SCOPES_MAX + 3; i-- > 0;)
        strobe_scope_end(rig.thread, tokens[i], site_at(4096 + 64 * i));
    struct rig_account a = rig_account(&rig, STROBE_KIND_READ);
    assert_int_equal(a.requests, STROBE_SCOPES_MAX + 3);
    assert_int_equal(a.sampled, STROBE_SCOPES_MAX);
    assert_int_equal(a.gated, 3);
}

static void a_scope_settles_requests_to_stop_it_before_the_call(void **state)
{
    (void)state;
    scope(STROBE_KIND_READ, 0);
    assert_int_equal(rig.settles, 1);
}

/* ---- threads */

static struct strobe_thread *worker(void)
{
    struct strobe_stack_bounds bounds = {rig.thread->stack_low, rig.thread->stack_high, 0};
    return strobe_thread_attach(&rig.engine, 4711, false, "a worker of many", &bounds);
}

static void a_thread_that_ends_gives_its_chunk_back_S16(void **state)
{
    (void)state;
    struct strobe_thread *t = worker();
    strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0));
    uint32_t chunk = strobe_load_relaxed(&t->writer.chunk);
    assert_int_not_equal(chunk, 0);
    assert_true(strobe_load_relaxed(&rig.engine.session.ring.chunks[chunk - 1]) & 1);
    strobe_thread_detach(t);
    assert_false(strobe_load_relaxed(&rig.engine.session.ring.chunks[chunk - 1]) & 1);
    strobe_local = (struct strobe_local){.thread = rig.thread};
}

/* A block of buffers is larger than all else that a thread has. */
static void an_ended_threads_buffers_serve_the_next_thread(void **state)
{
    (void)state;
    struct strobe_thread *t = worker();
    assert_null(t->buffers);
    strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0));
    const struct strobe_buffers *first = t->buffers;
    assert_non_null(first);
    strobe_thread_detach(t);
    assert_null(t->buffers);
    t = worker();
    rig.now += MS;
    strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0));
    assert_ptr_equal(t->buffers, first);
    strobe_local = (struct strobe_local){.thread = rig.thread};
}

static void buffers_of_a_thread_cut_short_inside_the_engine_are_not_used_again(void **state)
{
    (void)state;
    struct strobe_thread *t = worker();
    strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0));
    const struct strobe_buffers *first = t->buffers;
    strobe_store_relaxed(&t->inside, 1);
    strobe_thread_detach(t);
    t = worker();
    rig.now += MS;
    strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0));
    assert_non_null(t->buffers);
    assert_ptr_not_equal(t->buffers, first);
    strobe_local = (struct strobe_local){.thread = rig.thread};
}

static uint32_t state_at_the_end;

static uint64_t ticks_at_the_end(void *ctx)
{
    struct rig *r = ctx;
    state_at_the_end = strobe_load_relaxed(&strobe_local.thread->entry->state);
    return r->now;
}

/* From then on no thread may stop it: its chunk is returned, and its stack may be unmapped. */
static void a_thread_on_its_way_out_is_marked_before_its_end_is_noted(void **state)
{
    (void)state;
    uint64_t (*ticks)(void *) = rig.host.ticks;
    struct strobe_thread *t = worker();
    rig.host.ticks = ticks_at_the_end;
    strobe_thread_detach(t);
    rig.host.ticks = ticks;
    assert_int_equal(state_at_the_end, STROBE_THREAD_EXITING);
    strobe_local = (struct strobe_local){.thread = rig.thread};
}

/* The C library may run code of the thread after its end, and this code may call hooks. */
static void a_thread_that_has_signed_off_is_not_to_be_registered_again(void **state)
{
    (void)state;
    assert_int_equal(strobe_local.busy, 0);
    strobe_thread_detach(rig.thread);
    assert_int_equal(strobe_local.busy, 1);
}

static void a_shorter_name_takes_the_place_of_a_longer_one(void **state)
{
    (void)state;
    struct strobe_thread *t = worker();
    assert_string_equal(t->entry->name, "a worker of many");
    strobe_thread_rename(t, "idle");
    assert_string_equal(t->entry->name, "idle");
    strobe_local = (struct strobe_local){.thread = rig.thread};
}

static void main_and_other_threads_have_intervals_of_their_own_S1(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.interval_other_ns = 3 * MS;
    rig_start(&rig, &c);
    struct strobe_thread *t = worker();
    strobe_local = (struct strobe_local){.thread = rig.thread};
    for (int i = 0; i < 300; i++) {
        rig_point(&rig, STROBE_KIND_ALLOC);
        strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, site_at(0));
        rig.now += 100 * US;
    }
    assert_int_equal(rig_account(&rig, STROBE_KIND_ALLOC).sampled, 30);
    assert_int_equal(strobe_load_relaxed(&t->entry->account[STROBE_KIND_ALLOC].sampled), 10);
}

/* ---- metrics */

static void what_a_wait_used_is_separate_from_what_came_before_and_after_S54(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.metrics = STROBE_METRIC_CPU | STROBE_METRIC_SWITCHES | STROBE_METRIC_FAULTS | STROBE_METRIC_ALLOC;
    rig_start(&rig, &c);
    rig.usage = (struct strobe_usage){100, 2, 50, 60};
    rig.cpu_ns = 5 * MS;
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_COND, 0, site_at(0));
    rig.now += 20 * MS;
    rig.cpu_ns += 3 * US;
    rig.usage = (struct strobe_usage){101, 2, 60, 61};
    strobe_scope_end(rig.thread, token, site_at(0));
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    const struct strobe_metrics *m = &items[0].metrics;
    assert_int_equal(m->voluntary_switches_span, 10);
    assert_int_equal(m->involuntary_switches_span, 1);
    assert_int_equal(m->minor_faults_span, 1);
    assert_int_equal(m->major_faults_span, 0);
    assert_int_equal(m->voluntary_switches, 60);
    assert_int_equal(items[0].record.cpu_span_ns, 3 * US);
    assert_int_equal(items[0].record.cpu_ns, 5 * MS + 3 * US);
}

/* A wait of 20 ms that begins `after_us` later; the thread uses `between_us` before it and `inside_us` in it. Returns
 * the CPU time that its record has. */
static uint64_t cpu_of_wait_us(enum strobe_kind kind, uint64_t after_us, uint64_t between_us, uint64_t inside_us)
{
    rig.now += after_us * US;
    rig.cpu_ns += between_us * US;
    uint32_t token = strobe_scope_begin(rig.thread, kind, 0, site_at(0));
    rig.now += 20 * MS;
    rig.cpu_ns += inside_us * US;
    strobe_scope_end(rig.thread, token, site_at(0));
    return items[rig_records(&rig, items, ITEMS) - 1].record.cpu_span_ns / US;
}

static void the_cpu_time_of_a_wait_right_after_another_one_follows_from_that_one(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.metrics = STROBE_METRIC_CPU;
    rig_start(&rig, &c);
    rig.cpu_ns = 5 * MS;
    assert_int_equal(cpu_of_wait_us(STROBE_KIND_COND, MS / US, 100, 3), 3);
    assert_int_equal(cpu_of_wait_us(STROBE_KIND_COND, 100, 100, 9), 3); /* not read: as much as the one before */
    assert_int_equal(cpu_of_wait_us(STROBE_KIND_SLEEP, MS / US, 0, 4), 4);
    assert_int_equal(cpu_of_wait_us(STROBE_KIND_PARK, 100, 60, 90),
                     50);                                              /* its begin is not read: 100 us after 100 us */
    assert_int_equal(cpu_of_wait_us(STROBE_KIND_PARK, 190, 60, 3), 0); /* its end is read: less than that */
}

static void what_was_allocated_in_a_wait_is_separate_from_what_was_before_S54(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.metrics = STROBE_METRIC_ALLOC;
    rig_start(&rig, &c);
    for (int i = 0; i < 3; i++)
        strobe_point_alloc(rig.thread, STROBE_ON, 1000, site_at(0));
    uint32_t token = strobe_scope_begin(rig.thread, STROBE_KIND_COND, 0, site_at(0));
    for (int i = 0; i < 2; i++)
        strobe_point_alloc(rig.thread, STROBE_ON, 24, site_at(4096));
    rig.now += 20 * MS;
    strobe_scope_end(rig.thread, token, site_at(0));
    uint32_t n = rig_records(&rig, items, ITEMS);
    assert_int_equal(n, 2); /* the first allocation and the wait */
    const struct strobe_metrics *m = &items[n - 1].metrics;
    assert_int_equal(items[n - 1].record.kind, STROBE_KIND_COND);
    assert_int_equal(m->alloc_count, 5);
    assert_int_equal(m->alloc_bytes, 3048);
    assert_int_equal(m->alloc_count_span, 2);
    assert_int_equal(m->alloc_bytes_span, 48);
}

static void slow_usage(void *ctx, struct strobe_usage *out)
{
    (void)ctx;
    *out = (struct strobe_usage){0};
    rig.now += 30 * US;
}

/* The time that the hook takes counts as time in the call, not in its caller. */
static void a_call_lasts_from_its_hooks_entry_until_it_returns(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.metrics = STROBE_METRIC_SWITCHES;
    rig_start(&rig, &c);
    rig.host.self_usage = slow_usage;
    scope(STROBE_KIND_COND, 20 * MS);
    assert_int_equal(rig_records(&rig, items, ITEMS), 1);
    assert_int_equal(items[0].record.duration, 20 * MS + 2 * 30 * US);
}

static void costly_metrics_are_read_at_their_own_rate(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    rig_stop(&rig);
    c.interval_main_ns = 0;
    c.metrics = STROBE_METRIC_CPU;
    rig_start(&rig, &c);
    for (int i = 0; i < 1000; i++) {
        rig_stack(&rig, 5, 0x5000 + (uint64_t)i);
        rig_point(&rig, STROBE_KIND_ALLOC);
        rig.now += 10 * US;
    }
    uint32_t with_cpu = 0, n = rig_records(&rig, items, ITEMS);
    assert_int_equal(n, 1000);
    for (uint32_t i = 0; i < n; i++)
        with_cpu += (items[i].record.flags & STROBE_FLAG_CPU) != 0;
    assert_in_range(with_cpu, 10, 11);
}

/* ---- everything at once */

static void any_mix_of_events_is_accounted_for(void **state)
{
    struct strobe_config c = rig_config();
    (void)state;
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)atol(given) : (unsigned)time(NULL);
    print_message("SEED=%u\n", seed);
    srand(seed);
    rig_stop(&rig);
    c.ring_slots = 256;
    c.ring_mode = rand() % 2 ? STROBE_KEEP_OLDEST : STROBE_KEEP_NEWEST;
    c.stack_nodes = 1024;
    c.metrics = (uint32_t)rand() & 15;
    c.skip_max = (uint32_t)(rand() % 16);
    rig_start(&rig, &c);
    uint64_t events = 0;
    for (int i = 0; i < 20000; i++) {
        rig.now += (uint64_t)(rand() % (400 * US));
        rig_stack(&rig, (uint32_t)(rand() % 9), 0x5000 + (uint64_t)(rand() % 300));
        strobe_store_relaxed(strobe_switch, rand() % 50 ? STROBE_ON : STROBE_PAUSED);
        strobe_store_relaxed(&rig.thread->inside, rand() % 40 == 0);
        enum strobe_kind kind = (enum strobe_kind)(2 + rand() % (STROBE_KIND_COUNT - 2));
        switch (rand() % 4) {
        case 0: strobe_point_forced(rig.thread, kind, 0, site_at(0)); break;
        case 1: scope(kind, (uint64_t)(rand() % (200 * US))); break;
        default: rig_point(&rig, kind);
        }
        strobe_store_relaxed(&rig.thread->inside, 0);
        events++;
    }
    rig_assert_balanced(&rig);
    uint64_t requests = 0, sampled = 0, present = 0;
    for (unsigned k = 0; k < STROBE_KIND_COUNT; k++) {
        requests += rig_account(&rig, k).requests;
        sampled += rig_account(&rig, k).sampled;
    }
    uint32_t n = rig_records(&rig, items, ITEMS);
    for (uint32_t i = 0; i < n; i++)
        present += items[i].record.count;
    assert_int_equal(requests, events);
    assert_int_equal(sampled, present + strobe_load_relaxed(&rig.thread->entry->overwrote_samples));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(events_that_the_gate_rejects_are_counted_S1),
        TEST(equal_samples_are_merged_and_first_and_last_kept_S30),
        TEST(samples_of_other_stacks_kinds_or_messages_or_far_apart_are_not_merged),
        TEST(a_long_run_of_equal_samples_is_one_record),
        TEST(a_merged_record_knows_the_cpu_time_from_its_first_sample_to_its_last_S54),
        TEST(a_sample_after_a_call_is_not_merged_over_the_calls_record_S53),
        TEST(a_stack_that_a_full_table_refuses_is_flagged_S31),
        TEST(a_stack_too_deep_is_cut_flagged_and_kept_S3),
        TEST(a_walk_has_the_begin_of_the_stack_and_of_its_outermost_code),
        TEST(a_thread_is_known_to_its_own_hooks_from_its_begin_to_its_end),
        TEST(a_walk_without_frames_is_counted_not_recorded),
        TEST(a_hook_inside_the_engine_is_not_taken_and_counted_S7),
        TEST(a_paused_capture_counts_and_records_nothing),
        TEST(an_event_that_a_pause_overtakes_is_not_taken),
        TEST(forced_points_pass_a_closed_gate),
        TEST(errno_is_as_it_was),
        TEST(allocations_are_counted_whatever_the_gate_says),
        TEST(points_give_way_while_the_sampler_sees_to_the_thread_S6),
        TEST(a_block_right_after_a_sample_is_recorded_S2),
        TEST(a_scope_too_short_to_matter_goes_through_the_gate),
        TEST(brief_calls_are_recorded_at_a_rate_of_their_own_and_no_faster),
        TEST(a_requested_sample_of_a_call_that_is_shown_exactly_stands_for_no_other_time),
        TEST(a_loop_of_brief_calls_is_recorded_call_by_call_with_its_CPU_time),
        TEST(waits_that_are_not_recorded_are_known_in_sum),
        TEST(an_outer_scope_keeps_its_record_whatever_its_inside_sampled_S2b),
        TEST(a_scope_left_by_a_jump_is_dropped_counted_and_no_longer_shown),
        TEST(a_point_from_the_frame_of_an_open_scope_leaves_it_open),
        TEST(a_scope_that_ends_closes_those_left_inside_it),
        TEST(an_event_of_a_handler_inside_a_scope_leaves_the_scope_open),
        TEST(an_event_on_another_stack_is_taken_with_the_frames_that_can_be_seen_there),
        TEST(an_event_on_another_stack_leaves_the_scope_open),
        TEST(a_clock_that_is_set_back_in_a_call_takes_no_time_from_anybody_S53),
        TEST(a_return_from_a_poll_begins_a_message_if_so_wanted_S50),
        TEST(scopes_nested_deeper_than_there_is_room_are_counted),
        TEST(a_scope_settles_requests_to_stop_it_before_the_call),
        TEST(a_thread_that_ends_gives_its_chunk_back_S16),
        TEST(an_ended_threads_buffers_serve_the_next_thread),
        TEST(buffers_of_a_thread_cut_short_inside_the_engine_are_not_used_again),
        TEST(a_thread_on_its_way_out_is_marked_before_its_end_is_noted),
        TEST(a_thread_that_has_signed_off_is_not_to_be_registered_again),
        TEST(a_shorter_name_takes_the_place_of_a_longer_one),
        TEST(main_and_other_threads_have_intervals_of_their_own_S1),
        TEST(what_a_wait_used_is_separate_from_what_came_before_and_after_S54),
        TEST(the_cpu_time_of_a_wait_right_after_another_one_follows_from_that_one),
        TEST(what_was_allocated_in_a_wait_is_separate_from_what_was_before_S54),
        TEST(a_call_lasts_from_its_hooks_entry_until_it_returns),
        TEST(costly_metrics_are_read_at_their_own_rate),
        TEST(any_mix_of_events_is_accounted_for),
    };
    return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
