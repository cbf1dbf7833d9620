/* Scopes and releases of hooked calls (engine/backend/common/hook_scope.h): what becomes of them when the call outlasts
 * its capture or its thread's registration. One thread plays all threads. */
#include "engine/backend/common/hook_scope.h"
#include "tests/unit/support/waits.h"

/* The requests of a kind, over all threads. */
static uint64_t requests_of(enum strobe_kind kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        sum += strobe_account_requests(&thread[i]->entry->account[kind]);
    return sum;
}

static uint32_t record_count(void)
{
    return rig_records(&rig, items, ITEMS);
}

static struct strobe_hook_scope open_wait(uint32_t t)
{
    struct strobe_hook_scope s = strobe_hook_open(thread[t], STROBE_KIND_MUTEX, LOCK, site_of(t));
    strobe_hook_waits(&s, LOCK);
    time_passes(MS);
    return s;
}

static void close_wait(const struct strobe_hook_scope *s)
{
    strobe_hook_woken(s, LOCK, STROBE_WAKE_RELEASED, false);
    strobe_hook_close(s);
}

static void begin_another_capture(void)
{
    strobe_add_relaxed(&strobe_capture_number, 1);
}

/* ---- scopes */

static void a_call_within_its_capture_is_recorded_with_its_waker(void **state)
{
    (void)state;
    struct strobe_hook_scope s = open_wait(0);
    assert_true(strobe_hook_is_open(&s));
    struct strobe_hook_release r = strobe_hook_release_begin(thread[1], LOCK, STROBE_RELEASE_LOCK, site_of(1));
    strobe_hook_release_end(&r);
    close_wait(&s);
    assert_int_equal(waker(0, 0, NULL), 1);
    assert_int_equal(requests_of(STROBE_KIND_MUTEX), 1);
}

static void a_call_without_a_thread_records_nothing(void **state)
{
    (void)state;
    struct strobe_hook_scope s = strobe_hook_open(NULL, STROBE_KIND_MUTEX, LOCK, site_of(0));
    assert_false(strobe_hook_is_open(&s));
    strobe_hook_waits(&s, LOCK);
    close_wait(&s);
    struct strobe_hook_release r = strobe_hook_release_begin(NULL, LOCK, STROBE_RELEASE_LOCK, site_of(0));
    strobe_hook_release_end(&r);
    assert_int_equal(record_count(), 0);
}

static void a_call_that_outlasts_its_capture_leaves_the_next_capture_alone(void **state)
{
    (void)state;
    struct strobe_hook_scope s = open_wait(0);
    begin_another_capture();
    assert_false(strobe_hook_is_open(&s));
    close_wait(&s);
    assert_int_equal(thread[0]->scope_count, 1);
    assert_int_equal(requests_of(STROBE_KIND_MUTEX), 0);
    s.capture++; /* for the teardown, which demands that no thread waits */
    close_wait(&s);
}

/* The sampler reads the stack memory of a call that is in progress when the capture ends. */
static void the_stack_of_a_call_that_returns_after_the_end_is_not_read_any_more(void **state)
{
    (void)state;
    struct strobe_hook_scope s = open_wait(0);
    assert_true(strobe_load_relaxed(&thread[0]->scope_frame));
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    assert_false(strobe_hook_is_open(&s));
    strobe_hook_close(&s);
    assert_false(strobe_load_relaxed(&thread[0]->scope_frame));
    assert_int_equal(requests_of(STROBE_KIND_MUTEX), 0);
    strobe_store_relaxed(strobe_switch, STROBE_ON);
    close_wait(&s);
}

/* A signal handler, or a call that restricts the thread, may sign the thread off inside the hooked call. */
static void a_call_in_which_the_thread_was_signed_off_records_nothing(void **state)
{
    (void)state;
    struct strobe_local local = strobe_local;
    struct strobe_hook_scope s = open_wait(1);
    strobe_thread_detach(thread[1]);
    strobe_local = local;
    uint32_t before = record_count();
    close_wait(&s);
    assert_int_equal(record_count(), before);
    assert_int_equal(requests_of(STROBE_KIND_MUTEX), 0);
}

/* ---- releases */

static void a_release_for_which_a_thread_waits_is_recorded_before_the_hooked_call(void **state)
{
    (void)state;
    struct strobe_hook_scope s = open_wait(0);
    struct strobe_hook_release r = strobe_hook_release_begin(thread[1], LOCK, STROBE_RELEASE_LOCK, site_of(1));
    assert_int_equal(requests_of(STROBE_KIND_UNLOCK), 1);
    strobe_hook_release_end(&r);
    assert_int_equal(requests_of(STROBE_KIND_UNLOCK), 1);
    close_wait(&s);
}

static void a_release_for_which_no_thread_waits_is_a_point_after_the_hooked_call(void **state)
{
    (void)state;
    struct strobe_hook_release r = strobe_hook_release_begin(thread[1], LOCK, STROBE_RELEASE_LOCK, site_of(1));
    assert_int_equal(requests_of(STROBE_KIND_UNLOCK), 0);
    strobe_hook_release_end(&r);
    assert_int_equal(requests_of(STROBE_KIND_UNLOCK), 1);
}

static void a_release_that_outlasts_its_capture_is_no_event_of_the_next(void **state)
{
    (void)state;
    struct strobe_hook_release r = strobe_hook_release_begin(thread[1], LOCK, STROBE_RELEASE_LOCK, site_of(1));
    begin_another_capture();
    strobe_hook_release_end(&r);
    r = strobe_hook_release_begin(thread[1], LOCK, STROBE_RELEASE_LOCK, site_of(1));
    strobe_store_relaxed(strobe_switch, STROBE_OFF);
    strobe_hook_release_end(&r);
    strobe_store_relaxed(strobe_switch, STROBE_ON);
    assert_int_equal(requests_of(STROBE_KIND_UNLOCK), 0);
}

/* ---- calls that release and do not wait themselves */

/* Thread 1 passes something to whoever waits for `what`, in a call of `ns`. Returns the flags of the call's record. */
static unsigned flags_of_passing(uint64_t what, uint64_t ns)
{
    struct strobe_hook_scope s = strobe_hook_open(thread[1], STROBE_KIND_WRITE, 7, site_of(1));
    strobe_hook_passes(&s, what, STROBE_RELEASE_TARGET);
    time_passes(ns);
    strobe_hook_close(&s);
    for (uint32_t i = record_count(); i--;)
        if (items[i].record.kind == STROBE_KIND_WRITE)
            return items[i].record.flags;
    fail_msg("the call has no record");
    return 0;
}

static void a_call_that_passes_something_to_a_waiting_thread_is_marked_as_one_that_released(void **state)
{
    (void)state;
    struct strobe_hook_scope s = open_wait(0);
    assert_true(flags_of_passing(LOCK, MS) & STROBE_FLAG_NO_WAIT);
    close_wait(&s);
    assert_int_equal(waker(0, 0, NULL), 1);
}

static void a_call_that_passes_something_to_no_thread_is_not_marked(void **state)
{
    (void)state;
    struct strobe_hook_scope s = open_wait(0);
    assert_false(flags_of_passing(OTHER, MS) & STROBE_FLAG_NO_WAIT);
    close_wait(&s);
    assert_false(flags_of_passing(LOCK, MS) & STROBE_FLAG_NO_WAIT);
}

/* The outer call has parts before and after the inner one, in which it may wait. */
static void an_outer_call_is_not_marked_by_the_inner_one(void **state)
{
    (void)state;
    struct strobe_hook_scope waiting = open_wait(0);
    struct strobe_site inner = site_of(1);
    inner.frame -= 64;
    struct strobe_hook_scope s = strobe_hook_open(thread[1], STROBE_KIND_WRITE, 7, site_of(1));
    struct strobe_hook_scope part = strobe_hook_open_outermost(thread[1], STROBE_KIND_WRITE, 7, inner);
    strobe_hook_passes(&part, LOCK, STROBE_RELEASE_TARGET);
    strobe_hook_close(&part);
    assert_false(thread[1]->scope[0].released);
    strobe_hook_close(&s);
    close_wait(&waiting);
}

/* Thread 1 makes a call of 1 ms in which it gives up its processor `times` times. Returns the flags of its record. */
static unsigned flags_of_call(enum strobe_kind kind, uint64_t times)
{
    struct strobe_hook_scope s = strobe_hook_open(thread[1], kind, 7, site_of(1));
    time_passes(MS);
    rig.usage.voluntary_switches += times;
    strobe_hook_close(&s);
    for (uint32_t i = record_count(); i--;)
        if (items[i].record.kind == kind)
            return items[i].record.flags;
    fail_msg("the call has no record");
    return 0;
}

static void a_collection_waits_when_its_thread_gives_up_the_processor_in_it(void **state)
{
    (void)state;
    assert_true(flags_of_call(STROBE_KIND_GC, 0) & STROBE_FLAG_NO_WAIT);
    assert_false(flags_of_call(STROBE_KIND_GC, 1) & STROBE_FLAG_NO_WAIT);
    assert_false(flags_of_call(STROBE_KIND_READ, 0) & STROBE_FLAG_NO_WAIT);
}

/* A short call that lost its processor did not wait, so its time is not that of short waits. */
static void a_short_call_that_released_is_no_short_wait(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        waits(0, LOCK, STROBE_KIND_POLL);
        struct strobe_hook_scope s = strobe_hook_open(thread[1], STROBE_KIND_WRITE, 7, site_of(1));
        strobe_hook_passes(&s, i < 10 ? LOCK : OTHER, STROBE_RELEASE_TARGET);
        time_passes(STROBE_SHORT_WAIT_NS);
        strobe_hook_close(&s);
        gets(0, LOCK);
        if (i == 9)
            assert_int_equal(strobe_load_relaxed(&thread[1]->entry->short_waits), 0);
    }
    assert_int_equal(strobe_load_relaxed(&thread[1]->entry->short_waits), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_call_within_its_capture_is_recorded_with_its_waker),
        CASE(a_call_without_a_thread_records_nothing),
        CASE(a_call_that_outlasts_its_capture_leaves_the_next_capture_alone),
        CASE(the_stack_of_a_call_that_returns_after_the_end_is_not_read_any_more),
        CASE(a_call_in_which_the_thread_was_signed_off_records_nothing),
        CASE(a_release_for_which_a_thread_waits_is_recorded_before_the_hooked_call),
        CASE(a_release_for_which_no_thread_waits_is_a_point_after_the_hooked_call),
        CASE(a_release_that_outlasts_its_capture_is_no_event_of_the_next),
        CASE(a_call_that_passes_something_to_a_waiting_thread_is_marked_as_one_that_released),
        CASE(a_call_that_passes_something_to_no_thread_is_not_marked),
        CASE(an_outer_call_is_not_marked_by_the_inner_one),
        CASE(a_collection_waits_when_its_thread_gives_up_the_processor_in_it),
        CASE(a_short_call_that_released_is_no_short_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
