/* The finding of a flight recorder's dump: its trigger, the blocked thread, the holder of the lock. */
#include "engine/trace/session/reader.h"
#include "engine/watch/finding.h"
#include "engine/watch/watch_timeline.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000, MAIN_TID = 40, HOLDER_TID = 41 };

static struct strobe_findings *findings;

/* Writes a running session of a main thread in a mutex since 1 s, and a holder in a sleep, with this cause, and finds
 * its problems. Times of the cause count from the session's begin. */
static void find_problems(struct strobe_dump_cause cause)
{
    struct strobe_build b;
    struct strobe_config c = strobe_build_config();
    struct strobe_findings_options options = {.refresh_hz = 0};
    struct strobe_error error = {""};
    const uint64_t here[] = {0x1000, 0x2000}, there[] = {0x1000, 0x3000};
    strobe_build_begin(&b, temp_dir_path("dump.strobe"), &c);
    strobe_build_thread(&b, MAIN_TID, "main");
    strobe_build_thread(&b, HOLDER_TID, "holder");
    uint32_t waits = strobe_build_stack(&b, here, 2), holds = strobe_build_stack(&b, there, 2);
    strobe_build_record(&b, (struct strobe_record){.ticks = 1000 * (uint64_t)MS, .stack = waits}, NULL);
    strobe_build_record(&b, (struct strobe_record){.ticks = 1001 * (uint64_t)MS, .stack = holds, .thread = 1}, NULL);
    struct strobe_thread_entry *t = b.session.threads;
    strobe_store_relaxed(&t[0].scope_kind, STROBE_KIND_MUTEX);
    strobe_store_relaxed(&t[0].scope_begin_ticks, STROBE_BUILD_BEGIN_NS + 1000 * (uint64_t)MS);
    strobe_store_relaxed(&t[1].scope_kind, STROBE_KIND_SLEEP);
    strobe_store_relaxed(&t[1].scope_begin_ticks, STROBE_BUILD_BEGIN_NS + 1001 * (uint64_t)MS);
    cause.ticks += STROBE_BUILD_BEGIN_NS;
    cause.begin_ticks += cause.begin_ticks ? STROBE_BUILD_BEGIN_NS : 0;
    b.session.header->cause = cause;
    strobe_build_kill(&b);
    strobe_watch_defaults(&options.watch);
    if (strobe_findings_of_session(temp_dir_path("dump.strobe"), &options, &findings, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

static const struct strobe_finding *find_cause(void)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->at[i].kind == STROBE_FINDING_DUMP)
            return &findings->at[i];
    return NULL;
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void a_stall_names_its_call_and_the_holder(void **state)
{
    (void)state;
    find_problems((struct strobe_dump_cause){.trigger = STROBE_TRIGGER_STALL,
                                             .thread = 1,
                                             .holder = 2,
                                             .what = 0x99,
                                             .begin_ticks = 1000 * (uint64_t)MS,
                                             .ticks = 3500 * (uint64_t)MS});
    const struct strobe_finding *f = find_cause();
    assert_non_null(f);
    expect_text(f->blame, "stall: thread main in [mutex wait] of ");
    expect_text(f->blame, ", lock held by thread holder (41) in [sleep] of ");
    assert_int_equal(f->thread, 0);
    assert_int_equal(f->begin_ns, STROBE_BUILD_BEGIN_NS + 1000 * (uint64_t)MS);
    assert_int_equal(f->end_ns, STROBE_BUILD_BEGIN_NS + 3500 * (uint64_t)MS);
    assert_true(strobe_finding_value(f, "holder_tid") == HOLDER_TID);
    expect_text(f->stack, "0,");
    expect_text(f->stack, "\n1,");
    strobe_findings_close(findings);
}

/* The wait has no end in the records: the timeline lasts until the trigger. */
static void a_dump_lasts_until_its_trigger(void **state)
{
    (void)state;
    find_problems(
        (struct strobe_dump_cause){.trigger = STROBE_TRIGGER_CALL, .thread = 1, .ticks = 3500 * (uint64_t)MS});
    assert_int_equal(findings->seen.end_ns, STROBE_BUILD_BEGIN_NS + 3500 * (uint64_t)MS);
    strobe_findings_close(findings);
}

static void a_crash_names_its_thread_and_its_signal(void **state)
{
    (void)state;
    find_problems((struct strobe_dump_cause){
        .trigger = STROBE_TRIGGER_CRASH, .thread = 2, .number = 11, .ticks = 3500 * (uint64_t)MS});
    const struct strobe_finding *f = find_cause();
    assert_non_null(f);
    expect_text(f->blame, "crash: signal 11: thread holder in [sleep]");
    assert_null(strstr(f->blame, "lock held"));
    assert_int_equal(f->thread, HOLDER_TID);
    assert_true(strobe_finding_value(f, "signal") == 11);
    assert_int_equal(f->begin_ns, f->end_ns);
    strobe_findings_close(findings);
}

static void threads_that_are_not_there_are_left_out(void **state)
{
    (void)state;
    find_problems((struct strobe_dump_cause){
        .trigger = STROBE_TRIGGER_ANR, .thread = 3, .holder = UINT32_MAX, .ticks = 3500 * (uint64_t)MS});
    const struct strobe_finding *f = find_cause();
    assert_non_null(f);
    assert_string_equal(f->blame, "anr");
    strobe_findings_close(findings);
}

static void other_sessions_and_unknown_triggers_have_no_such_finding(void **state)
{
    (void)state;
    for (uint32_t trigger = STROBE_TRIGGER_NONE; trigger <= STROBE_TRIGGER_COUNT; trigger += STROBE_TRIGGER_COUNT) {
        find_problems((struct strobe_dump_cause){.trigger = trigger});
        assert_null(find_cause());
        strobe_findings_close(findings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_names_its_call_and_the_holder),
        cmocka_unit_test(a_dump_lasts_until_its_trigger),
        cmocka_unit_test(a_crash_names_its_thread_and_its_signal),
        cmocka_unit_test(threads_that_are_not_there_are_left_out),
        cmocka_unit_test(other_sessions_and_unknown_triggers_have_no_such_finding),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
