/* Calls and messages become the events that watchers receive: from a feed, and from a session's timeline. */
#include "engine/trace/build/timeline.h"
#include "engine/watch/findings_marks.h"
#include "engine/watch/watch_names.h"
#include "engine/watch/watch_timeline.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS(n) ((uint64_t)(n)*1000000u)
#define PATH  temp_dir_path("session")

/* ---- a watcher that writes down the events it receives */

static char written[8192];
static size_t written_bytes;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(written + written_bytes, sizeof written - written_bytes, format, args);
    va_end(args);
    written_bytes += bytes > 0 ? (size_t)bytes : 0;
    assert_true(written_bytes < sizeof written);
}

static uint64_t last_ns, origin_ns;

static void write_event(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    static const char *const words[] = {[STROBE_WATCH_PROCESS] = "process",   [STROBE_WATCH_MESSAGE_BEGIN] = "begin",
                                        [STROBE_WATCH_MESSAGE_END] = "end",   [STROBE_WATCH_CALL_BEGIN] = "(",
                                        [STROBE_WATCH_CALL_END] = ")",        [STROBE_WATCH_FRAME] = "frame",
                                        [STROBE_WATCH_APP_BEGIN] = "app",     [STROBE_WATCH_COMPONENT] = "component",
                                        [STROBE_WATCH_ACTIVITY] = "activity", [STROBE_WATCH_SAMPLE] = "sample",
                                        [STROBE_WATCH_LOOP] = "loop",         [STROBE_WATCH_END] = "last"};
    (void)w;
    assert_true(e->time_ns >= last_ns);
    last_ns = e->time_ns;
    note("%" PRIu64 " %s", (e->time_ns - origin_ns) / 1000000, words[e->what]);
    if (e->text[0])
        note(" %s", e->text);
    if (e->what == STROBE_WATCH_COMPONENT || e->what == STROBE_WATCH_ACTIVITY || e->what == STROBE_WATCH_LOOP)
        note(" %" PRIu32, e->code);
    if (e->frame)
        note(" %" PRIu64 "+%" PRIu64 "+%" PRIu64, e->frame->input_ns / 1000000, e->frame->animation_ns / 1000000,
             e->frame->traversal_ns / 1000000);
    if (e->stack)
        note(" %" PRIu32 " %s", e->stack->count, e->stack->names[0]);
    note("\n");
}

static enum strobe_status end(struct strobe_watcher *w)
{
    (void)w;
    return STROBE_OK;
}

static struct strobe_watcher writer = {.take_event = write_event, .close = end};
static struct strobe_watch_feed *feed;

static int start(void **state)
{
    (void)state;
    written_bytes = 0;
    written[0] = 0;
    last_ns = origin_ns = 0;
    return 0;
}

static void open_feed(bool has_messages)
{
    char name[] = "app";
    struct strobe_watch_feed_options options = {.has_messages = has_messages, .process = name, .pid = 7};
    feed = strobe_watch_feed_open(&options, &writer);
    assert_non_null(feed);
    memset(name, '-', sizeof name - 1); /* the feed keeps its own copy */
}

static void call(uint64_t ms, uint32_t name, const char *text)
{
    strobe_watch_feed_call(feed, MS(ms), name, text, STROBE_WATCH_METHOD, 0);
}

static void ret(uint64_t ms)
{
    strobe_watch_feed_return(feed, MS(ms));
}

static struct strobe_watch_seen close_feed(uint64_t ms)
{
    struct strobe_watch_seen seen;
    assert_int_equal(strobe_watch_feed_close(feed, MS(ms), &seen), STROBE_OK);
    return seen;
}

/* ---- the feed */

static void a_message_is_called_after_the_first_call_in_it(void **state)
{
    (void)state;
    open_feed(true);
    call(1, 0, "main");
    strobe_watch_feed_message(feed, MS(2), 0);
    call(3, 1, "a.H.run");
    ret(4);
    strobe_watch_feed_message_end(feed, MS(5));
    strobe_watch_feed_message(feed, MS(6), 0);
    strobe_watch_feed_message(feed, MS(7), 0);
    struct strobe_watch_seen seen = close_feed(9);
    assert_string_equal(written, "1 process app\n1 app\n1 ( main\n2 begin a.H.run\n3 ( a.H.run\n4 ) a.H.run\n5 end\n"
                                 "6 begin\n7 end\n7 begin\n9 ) main\n9 end\n9 last\n");
    assert_int_equal(seen.messages, 3);
    assert_int_equal(seen.calls, 2);
}

static void unreported_messages_are_known_by_name(void **state)
{
    (void)state;
    open_feed(false);
    call(1, 0, "android.os.Looper.loop");
    call(2, 1, "android.os.MessageQueue.next");
    ret(3);
    call(4, 2, "android.os.Handler.dispatchMessage");
    call(4, 3, "a.H.run");
    ret(5);
    ret(6);
    call(7, 4, "a.Direct.run");
    ret(8);
    close_feed(9);
    assert_string_equal(written,
                        "1 process app\n1 app\n1 ( android.os.Looper.loop\n2 ( android.os.MessageQueue.next\n"
                        "3 ) android.os.MessageQueue.next\n4 begin android.os.Handler.dispatchMessage\n"
                        "4 ( android.os.Handler.dispatchMessage\n4 ( a.H.run\n5 ) a.H.run\n"
                        "6 ) android.os.Handler.dispatchMessage\n6 end\n7 begin a.Direct.run\n7 ( a.Direct.run\n"
                        "8 ) a.Direct.run\n8 end\n9 ) android.os.Looper.loop\n9 last\n");
}

static void a_frame_has_its_outermost_phases(void **state)
{
    (void)state;
    open_feed(true);
    call(10, 0, "android.view.Choreographer.doFrame");
    call(11, 1, "InputEventReceiver.dispatch");
    call(11, 2, "a.Input.more");
    ret(12);
    ret(13);
    call(13, 3, "a.Callback.run");
    call(13, 4, "ValueAnimator.doAnimationFrame");
    ret(17);
    ret(17);
    call(17, 5, "ViewRootImpl.performTraversals");
    ret(20);
    call(20, 5, "ViewRootImpl.performTraversals");
    ret(25);
    ret(26);
    assert_int_equal(close_feed(26).frames, 1);
    assert_non_null(strstr(written, "26 ) android.view.Choreographer.doFrame\n26 frame 2+4+8\n"));
}

static void an_activity_gains_the_focus_with_its_first_frame(void **state)
{
    (void)state;
    open_feed(true);
    call(1, 0, "ActivityThread.main");
    call(5, 1, "a.MainActivity.onCreate");
    call(6, 2, "android.app.Activity.onCreate");
    ret(7);
    ret(20);
    call(30, 3, "Choreographer.doFrame");
    ret(40);
    call(50, 4, "void a.MainActivity.onWindowFocusChanged(boolean)");
    ret(51);
    call(60, 5, "a.MainActivity.onDestroy");
    ret(61);
    assert_int_equal(close_feed(99).activities, 1);
    assert_non_null(strstr(written, "5 component 100\n5 activity a.MainActivity 0\n5 ( a.MainActivity.onCreate\n"
                                    "6 ( android.app.Activity.onCreate\n"));
    assert_non_null(strstr(written, "40 frame 0+0+0\n40 activity a.MainActivity 1\n"));
    assert_non_null(strstr(written, "50 activity a.MainActivity 1\n"));
    assert_non_null(strstr(written, "60 activity a.MainActivity 3\n"));
}

static void a_visible_component_is_reported_once(void **state)
{
    (void)state;
    open_feed(true);
    call(1, 0, "ActivityThread.main");
    call(3, 1, "android.app.ActivityThread.handleCreateService");
    ret(4);
    call(5, 2, "a.MainActivity.onCreate");
    close_feed(9);
    assert_non_null(strstr(written, "3 component 114\n"));
    assert_null(strstr(written, "component 100"));
}

static void an_ios_app_has_turns_and_samples(void **state)
{
    (void)state;
    open_feed(true);
    call(0, 0, "main");
    strobe_watch_feed_message(feed, MS(10), 0);
    call(10, 1, "-[A slow]");
    strobe_watch_feed_message_end(feed, MS(130));
    ret(130);
    close_feed(500);
    assert_string_equal(written, "0 process app\n0 app\n0 ( main\n10 loop 1\n10 begin -[A slow]\n10 ( -[A slow]\n"
                                 "50 sample 2 -[A slow]\n100 sample 2 -[A slow]\n130 end\n130 loop 3\n130 ) -[A slow]\n"
                                 "500 ) main\n500 last\n");
}

static size_t sampled;

static void count(struct strobe_watcher *w, const struct strobe_watch_event *e)
{
    (void)w;
    sampled += e->what == STROBE_WATCH_SAMPLE;
}

static void a_turn_of_years_is_sampled_at_its_ends_only(void **state)
{
    struct strobe_watcher counter = {.take_event = count, .close = end};
    struct strobe_watch_feed_options options = {.has_messages = true};
    (void)state;
    sampled = 0;
    feed = strobe_watch_feed_open(&options, &counter);
    strobe_watch_feed_message(feed, MS(1), 0);
    call(1, 0, "-[A b]");
    close_feed(MS(60000));
    assert_in_range(sampled, 100, 200);
}

static void times_that_go_back_stand_still(void **state)
{
    (void)state;
    open_feed(true);
    call(10, 0, "main");
    call(5, 1, "a");
    ret(3);
    close_feed(1);
    assert_string_equal(written, "10 process app\n10 app\n10 ( main\n10 ( a\n10 ) a\n10 ) main\n10 last\n");
}

static void names_say_what_they_are_of(void **state)
{
    (void)state;
    assert_true(strobe_name_roles("android.view.Choreographer.doFrame", NULL) & STROBE_ROLE_FRAME);
    assert_false(strobe_name_roles("MyChoreographer.doFrame", NULL) & STROBE_ROLE_FRAME);
    assert_true(strobe_name_roles("-[CADisplayLink fire]", NULL) & STROBE_ROLE_FRAME);
    assert_true(strobe_name_roles("void draw(Canvas)", "tick;draw") & STROBE_ROLE_FRAME);
    assert_true(strobe_name_roles("tick", ";tick") & STROBE_ROLE_FRAME);
    assert_false(strobe_name_roles("", ";;") & STROBE_ROLE_FRAME);
    assert_false(strobe_name_roles("a.Main.onCreate", NULL) & STROBE_ROLE_ACTIVITY);
    assert_false(strobe_name_roles("onCreate", NULL) & STROBE_ROLE_ACTIVITY);
    assert_true(strobe_name_roles("a.MainActivity.onPause", NULL) & STROBE_ROLE_PAUSE);
}

/* ---- sessions */

enum { MAIN = 0x1000, LOOP = 0x2000, HANDLER = 0x3000, SLOW = 0x4000, STEPS = 900 };

static size_t by_page(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    static const char *const names[] = {"?", "main", "loop", "a.H.run", "a.H.slow"};
    (void)ctx;
    (void)max;
    uint64_t page = (return_address - 1) >> 12;
    *out = (struct strobe_symbol){.function = names[page < 5 ? page : 0],
                                  .image = "",
                                  .file = "",
                                  .function_id = page,
                                  .function_address = page << 12};
    return 1;
}

static uint32_t stack_of(struct strobe_build *b, unsigned depth)
{
    static const uint64_t path[] = {MAIN + 1, LOOP + 1, HANDLER + 1, SLOW + 1};
    return strobe_build_stack(b, path, depth);
}

static void poll(struct strobe_build *b, uint64_t begin_ms, uint64_t end_ms, uint32_t message)
{
    struct strobe_record r = {.ticks = MS(begin_ms),
                              .duration = MS(end_ms - begin_ms),
                              .kind = STROBE_KIND_POLL,
                              .flags = STROBE_FLAG_SCOPE,
                              .message = message,
                              .stack = stack_of(b, 2)};
    assert_int_equal(strobe_build_record(b, r, NULL), STROBE_OK);
}

static void samples(struct strobe_build *b, uint64_t begin_ms, uint64_t end_ms, uint32_t message, unsigned depth)
{
    for (uint64_t ms = begin_ms; ms < end_ms; ms++) {
        struct strobe_record r = {
            .ticks = MS(ms), .kind = STROBE_KIND_ASYNC, .message = message, .stack = stack_of(b, depth)};
        assert_int_equal(strobe_build_record(b, r, NULL), STROBE_OK);
    }
}

/* Makes a session of a loop that polls, runs a message of 20 ms, polls, runs a message of 900 ms, and polls. With
 * `between` 0 the polls have message 0, as with backends that report when no message runs. */
static void build_session(int between)
{
    struct strobe_config config = strobe_build_config();
    struct strobe_build b;
    config.async_interval_ns = MS(1);
    strobe_build_begin(&b, PATH, &config);
    strobe_build_thread(&b, 11, "main");
    poll(&b, 1, 10, 0);
    samples(&b, 11, 30, 1, 3);
    poll(&b, 30, 50, between ? 1 : 0);
    samples(&b, 51, 50 + STEPS, 2, 4);
    poll(&b, 50 + STEPS, 1000, between ? 2 : 0);
    strobe_build_end(&b, MS(1000));
}

static struct strobe_watch_seen watch_session(struct strobe_watcher *w)
{
    struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    struct strobe_watch_seen seen;
    assert_int_equal(strobe_reader_open(PATH, &reader, NULL), STROBE_OK);
    assert_int_equal(strobe_function_tree_open(&reader->session.stacks,
                                               (struct strobe_resolver){.resolve = by_page, .ctx = NULL}, &tree),
                     STROBE_OK);
    origin_ns = strobe_reader_ns(reader, reader->first_ticks);
    assert_int_equal(strobe_timeline_build(reader, tree, &(struct strobe_timeline_options){0},
                                           strobe_watch_sink(w, NULL, &seen), NULL),
                     STROBE_OK);
    strobe_function_tree_close(tree);
    strobe_reader_close(reader);
    remove(PATH);
    return seen;
}

static void messages_of_a_session_run_from_poll_to_poll(void **state)
{
    (void)state;
    for (int between = 0; between < 2; between++) {
        start(NULL);
        build_session(between);
        assert_int_equal(watch_session(&writer).messages, 2);
        const char *first = strstr(written, "10 begin a.H.run\n"), *first_end = strstr(written, "30 end\n");
        const char *second = strstr(written, "50 begin a.H.run\n"), *second_end = strstr(written, "950 end\n");
        assert_true(first && first_end && second && second_end);
        assert_true(first < first_end && first_end < second && second < second_end);
        assert_non_null(strstr(written, "1000 last\n"));
    }
}

static void a_long_message_of_a_session_is_found_and_says_what_is_unseen(void **state)
{
    struct strobe_findings_options options = {0};
    struct strobe_findings *f;
    (void)state;
    strobe_watch_defaults(&options.watch);
    build_session(0);
    assert_int_equal(strobe_findings_of_session(PATH, &options, &f, NULL), STROBE_OK);
    remove(PATH);
    assert_true(f->view.sampled);
    assert_int_equal(f->view.resolution_ns, MS(5));
    size_t evil = 0;
    while (evil < f->count && f->at[evil].kind != STROBE_FINDING_EVIL)
        evil++;
    assert_true(evil < f->count);
    assert_int_equal(strobe_finding_cost_ns(&f->at[evil]), MS(STEPS));
    assert_int_equal(f->at[evil].begin_ns - f->origin_ns, MS(50));
    assert_non_null(strstr(f->at[evil].unseen, "5 ms"));
    assert_string_equal(f->at[evil].scene, "");
    strobe_findings_close(f);
}

/* ---- the list, and its marks */

static void add(struct strobe_findings *l, uint64_t begin, uint64_t end_ns, const char *blame)
{
    struct strobe_finding f = {.kind = STROBE_FINDING_LAG,
                               .begin_ns = begin,
                               .end_ns = end_ns,
                               .scene = "",
                               .blame = blame,
                               .stack = "",
                               .key = "",
                               .unseen = "u"};
    struct strobe_finding_sink sink = strobe_findings_sink(l);
    sink.found(sink.ctx, &f);
}

static void a_list_is_by_begin_and_longer_ones_first(void **state)
{
    struct strobe_findings l = {0};
    (void)state;
    add(&l, 30, 40, "d");
    add(&l, 10, 20, "b");
    add(&l, 10, 50, "a");
    add(&l, 10, 20, "c");
    strobe_findings_sort(&l);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(l.at[i].blame[0], "abcd"[i]);
    strobe_findings_free(&l);
}

static void marks_that_overlap_are_in_lanes_of_their_own(void **state)
{
    struct strobe_findings l = {0};
    struct strobe_findings_marks m;
    (void)state;
    for (unsigned i = 0; i < 40; i++)
        add(&l, i * 10, i * 10 + 1 + i * 37 % 300, "x");
    add(&l, 5, 5, "instant");
    strobe_findings_sort(&l);
    assert_int_equal(strobe_findings_marks(&l, &m), STROBE_OK);
    assert_int_equal(m.count, 41);
    for (size_t i = 1; i < m.count; i++) {
        assert_true(m.marks[i].track >= m.marks[i - 1].track);
        if (m.marks[i].track == m.marks[i - 1].track)
            assert_true(m.marks[i].begin_ns >= m.marks[i - 1].end_ns);
    }
    assert_string_equal(m.marks[0].name, "lag: x");
    assert_string_equal(m.marks[0].lane, "findings");
    assert_int_equal(m.marks[0].note_count, 1);
    assert_string_equal(m.marks[0].notes[0].key, "unseen");
    strobe_findings_marks_free(&m);
    strobe_findings_free(&l);
}

static void the_empty_list_has_no_marks(void **state)
{
    struct strobe_findings l = {0};
    struct strobe_findings_marks m;
    (void)state;
    strobe_findings_sort(&l);
    assert_int_equal(strobe_findings_marks(&l, &m), STROBE_OK);
    assert_int_equal(m.count, 0);
    strobe_findings_marks_free(&m);
    strobe_findings_free(&l);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        TEST(a_message_is_called_after_the_first_call_in_it),
        TEST(unreported_messages_are_known_by_name),
        TEST(a_frame_has_its_outermost_phases),
        TEST(an_activity_gains_the_focus_with_its_first_frame),
        TEST(a_visible_component_is_reported_once),
        TEST(an_ios_app_has_turns_and_samples),
        TEST(a_turn_of_years_is_sampled_at_its_ends_only),
        TEST(times_that_go_back_stand_still),
        TEST(names_say_what_they_are_of),
        TEST(messages_of_a_session_run_from_poll_to_poll),
        TEST(a_long_message_of_a_session_is_found_and_says_what_is_unseen),
        TEST(a_list_is_by_begin_and_longer_ones_first),
        TEST(marks_that_overlap_are_in_lanes_of_their_own),
        TEST(the_empty_list_has_no_marks),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
