/* Events as text: each word is the event it stands for. */
#include "engine/base/error.h"
#include "engine/watch/watch_text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char written[2048];
static size_t written_bytes;

static void write_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    (void)w;
    written_bytes += (size_t)snprintf(written + written_bytes, sizeof written - written_bytes,
                                      "%" PRIu64 " %d %" PRIu32 " %" PRId64 " %" PRIu64 " %s\n", e->time_ns,
                                      (int)e->what, e->code, e->value, e->when_ns, e->text);
    for (uint32_t i = 0; e->stack && i < e->stack->count; i++)
        written_bytes += (size_t)snprintf(written + written_bytes, sizeof written - written_bytes, " %s=%" PRIu64,
                                          e->stack->names[i], e->stack->frames[i]);
    if (e->frame)
        written_bytes += (size_t)snprintf(written + written_bytes, sizeof written - written_bytes,
                                          " %" PRIu64 " %" PRIu64 " %" PRIu64, e->frame->begin_ns, e->frame->end_ns,
                                          e->frame->traversal_ns);
}

static struct strobe_watch_seen seen;

/* The events of the text's lines after the first, and the number of the word of each. */
static void is(const char *lines, enum strobe_watch_what what, const char *format)
{
    struct strobe_watcher watcher = {.take_event = write_event};
    struct strobe_error error = {""};
    char text[1000], expected[1000];
    snprintf(text, sizeof text, "strobe-watch 1\n%s", lines);
    written_bytes = 0;
    assert_int_equal(strobe_watch_text_read(text, &watcher, &seen, &error), STROBE_OK);
    int bytes = snprintf(expected, sizeof expected, format, (int)what);
    assert_true(bytes > 0);
    assert_memory_equal(written, expected, (size_t)bytes);
}

static void words_are_their_events(void **state)
{
    (void)state;
    is("1.5 process 7 my app\n", STROBE_WATCH_PROCESS, "1500000 %d 0 7 0 my app\n");
    is("2 begin 1.25 a b c", STROBE_WATCH_MESSAGE_BEGIN, "2000000 %d 0 0 1250000 a b c\n");
    is("2 begin - x\r\n", STROBE_WATCH_MESSAGE_BEGIN, "2000000 %d 0 0 0 x\n");
    is("2 end\n", STROBE_WATCH_MESSAGE_END, "2000000 %d 0 0 0 \n");
    is("3 touch 9 64\n", STROBE_WATCH_TOUCH_BEGIN, "3000000 %d 64 9 0 \n");
    is("3 touched 9\n", STROBE_WATCH_TOUCH_END, "3000000 %d 0 9 0 \n");
    is("3 component 159 a.LaunchActivityItem\n", STROBE_WATCH_COMPONENT, "3000000 %d 159 159 0 a.LaunchActivityItem\n");
    is("3 destroyed a.Main\n", STROBE_WATCH_ACTIVITY, "3000000 %d 3 0 0 a.Main\n");
    is("3 background\n", STROBE_WATCH_FOREGROUND, "3000000 %d 0 0 0 \n");
    is("4 signal 3 1000\n", STROBE_WATCH_SIGNAL, "4000000 %d 3 1000 0 \n");
    is("4 nice -10\n", STROBE_WATCH_PRIORITY, "4000000 %d 0 -10 0 \n");
    is("4 slack 50001\n", STROBE_WATCH_PRIORITY, "4000000 %d 1 50001 0 \n");
    is("4 loop exit\n", STROBE_WATCH_LOOP, "4000000 %d 5 0 0 \n");
    is("5 sample main;a.b;c\n", STROBE_WATCH_SAMPLE, "5000000 %d 0 0 0 \n c=1 a.b=2 main=3");
    is("5 frame 4 0 0 0 0.5\n", STROBE_WATCH_FRAME, "5000000 %d 0 0 0 \n 4000000 5000000 500000");
    is("6 threads\n\"main\" tid=1\n x\n.\n7 tick\n", STROBE_WATCH_THREADS_TEXT,
       "6000000 %d 0 0 0 \"main\" tid=1\n x\n\n");
}

static void the_cpu_time_of_two_lines_is_a_use(void **state)
{
    (void)state;
    is("1000 sched\nse.sum_exec_runtime : 100.0\n.\n\n3000 sched\nse.sum_exec_runtime : 600.0\n.\n", STROBE_WATCH_CPU,
       "3000000000 %d 0 250 0 \n");
}

static void every_received_event_is_counted(void **state)
{
    (void)state;
    is("1 app\n# nothing\n  \n2 begin - x\n2 call a\n3 return\n4 created a.B\n5 frame 4 0 0 0 0\n",
       STROBE_WATCH_APP_BEGIN, "1000000 %d");
    assert_int_equal(seen.begin_ns, 1000000);
    assert_int_equal(seen.end_ns, 5000000);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.messages, 1);
    assert_int_equal(seen.frames, 1);
    assert_int_equal(seen.activities, 1);
}

static void the_first_line_is_the_view(void **state)
{
    struct strobe_watch_view v;
    struct strobe_error error;
    (void)state;
    assert_int_equal(strobe_watch_text_view("strobe-watch 1 due refresh=90 within=5000\n1 app", &v, &error), STROBE_OK);
    assert_true(v.knows_due);
    assert_int_equal(v.refresh_hz, 90);
    assert_int_equal(v.resolution_ns, 5000);
    assert_int_equal(strobe_watch_text_view("strobe-watch 2\n", &v, &error), STROBE_NO_ENTRY);
    assert_int_equal(strobe_watch_text_view("", &v, &error), STROBE_NO_ENTRY);
    assert_int_equal(strobe_watch_text_view("strobe-watch 1 refresh=0", &v, &error), STROBE_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_their_events),
        cmocka_unit_test(the_cpu_time_of_two_lines_is_a_use),
        cmocka_unit_test(every_received_event_is_counted),
        cmocka_unit_test(the_first_line_is_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
