/* Calls stored as a session read back: its accounting is consistent, and traces made from it contain the calls. */
#include "engine/base/error.h"
#include "engine/trace/import/calls_store.h"

#include "engine/trace/export/calls_convert.h"
#include "engine/trace/session/reader.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed;
static struct strobe_calls calls;

/* Threads that call and return; each call takes time, so that paths have weights. */
static void make_calls(uint32_t threads, uint32_t events)
{
    uint32_t stack[8][16], depth[8] = {0}, open = 0;
    uint64_t now = 5000000;
    strobe_calls_open(&calls);
    calls.pid = 4000000;
    snprintf(calls.process, sizeof calls.process, "com.app");
    for (uint32_t i = 0; i < events || open; i++) {
        uint32_t t = strobe_trial_below(&seed, threads), thread = strobe_calls_thread(&calls, 4000000 + t);
        char name[32];
        now += 1000 + strobe_trial_below(&seed, 100000);
        if (i < events && depth[t] < 16 && strobe_trial_below(&seed, 2)) {
            snprintf(name, sizeof name, "com.app.f|%u", strobe_trial_below(&seed, 9));
            uint32_t number = strobe_calls_name(&calls, name, strlen(name));
            stack[t][depth[t]++] = number;
            open++;
            strobe_calls_add(&calls, thread, STROBE_CALL_BEGIN, now, number);
        } else if (depth[t]) {
            open--;
            strobe_calls_add(&calls, thread, STROBE_CALL_END, now, stack[t][--depth[t]]);
        }
    }
}

static const char *store(void)
{
    const char *path = temp_dir_path("calls.strobe");
    struct strobe_outfile out;
    assert_int_equal(strobe_outfile_open(&out, path, 1), STROBE_OK);
    assert_int_equal(strobe_calls_store(&calls, &out), STROBE_OK);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    return path;
}

static void a_stored_session_has_the_same_calls(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < strobe_trial_rounds(20); round++) {
        const struct strobe_calls_convert_options direct = {.trace = STROBE_FORMAT_FOLDED, .replace = 1};
        const struct strobe_convert_options converted = {.format = STROBE_FORMAT_FOLDED, .replace = 1};
        struct strobe_calls_convert_stats stats;
        struct strobe_error error;
        make_calls(1 + strobe_trial_below(&seed, 8), strobe_trial_below(&seed, round ? 400 : 9000));
        const char *session = store();
        assert_int_equal(strobe_calls_convert(&calls, temp_dir_path("a.folded"), &direct, &stats, &error), STROBE_OK);
        assert_int_equal(strobe_convert(session, temp_dir_path("b.folded"), &converted, NULL, &error), STROBE_OK);
        char *a = temp_dir_read("a.folded", &(size_t){0}), *b = temp_dir_read("b.folded", &(size_t){0});
        assert_string_equal(a, b);
        free(a);
        free(b);
        strobe_calls_close(&calls);
    }
}

static void a_stored_session_keeps_its_books(void **state)
{
    (void)state;
    struct strobe_reader *reader;
    struct strobe_error error;
    make_calls(3, 5000);
    size_t events = 0;
    for (size_t i = 0; i < calls.thread_count; i++)
        events += calls.threads[i].call_count;
    assert_int_equal(strobe_reader_open(store(), &reader, &error), STROBE_OK);
    assert_true(reader->closed);
    assert_int_equal(reader->thread_count, calls.thread_count);
    assert_int_equal(reader->session.header->pid, calls.pid);
    assert_string_equal(reader->session.header->exe, "com.app");
    assert_int_equal(reader->calls.recorded, events);
    assert_int_equal(reader->calls.present, events);
    assert_true(strobe_reader_check(reader, &error));
    assert_int_equal(strobe_reader_ns(reader, 0), calls.begin_ns);
    strobe_reader_close(reader);
    strobe_calls_close(&calls);
}

static void more_than_a_session_holds_is_refused(void **state)
{
    (void)state;
    struct strobe_outfile out;
    strobe_calls_open(&calls);
    for (uint32_t i = 0; i <= STROBE_THREADS_MAX_DEFAULT; i++)
        strobe_calls_thread(&calls, i);
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("full.strobe"), 1), STROBE_OK);
    assert_int_equal(strobe_calls_store(&calls, &out), STROBE_FULL);
    assert_int_equal(strobe_outfile_finish(&out, 1), STROBE_OK);
    strobe_calls_close(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_session_has_the_same_calls),
        cmocka_unit_test(a_stored_session_keeps_its_books),
        cmocka_unit_test(more_than_a_session_holds_is_refused),
    };
    seed = strobe_trial_seed("test_calls_store");
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
