/* Watchers without memory: whichever allocation fails, no watcher crashes, findings stay well-formed, and the status
 * reports the failure. Linked so that calls of the allocator come here first. */
#include "engine/watch/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS(n) ((uint64_t)(n)*1000000u)

static uint64_t until_failure; /* allocations that still succeed; 0 = all do */
static bool failed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);

static bool fails(void)
{
    if (!until_failure || --until_failure)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
    return fails() ? NULL : __real_realloc(at, bytes);
}

static size_t found_count;

static void found(void *ctx, const struct strobe_finding *f)
{
    (void)ctx;
    found_count++;
    assert_true(f->begin_ns <= f->end_ns);
    assert_true(f->scene && f->blame && f->stack && f->key && f->unseen);
}

static struct strobe_watcher *watcher;

static void notify_event(enum strobe_watch_what what, uint64_t ms, uint32_t code, const char *text)
{
    struct strobe_watch_frame frame = {.begin_ns = MS(ms) - MS(ms) / 8, .end_ns = MS(ms), .is_vsync = true};
    uint64_t addresses[] = {3, 2, 1};
    struct strobe_watch_stack stack = {.frames = addresses, .count = 3};
    struct strobe_watch_event e = {
        .what = what, .time_ns = MS(ms), .code = code, .text = text, .frame = &frame, .stack = &stack};
    watcher->take_event(watcher, &e);
}

static const char threads[] =
    "\"main\" prio=5 tid=1 Blocked\n  at a.b.c(D.java:1)\n  - waiting to lock <0x01> (a X) held by thread 7\n\n"
    "\"other\" prio=5 tid=7 Blocked\n  at a.b.d(D.java:2)\n  - waiting to lock <0x02> (a X) held by thread 1\n\n";

/* An event of every kind, twice, with calls that differ and nest. */
static void notify_all_events(void)
{
    char name[32] = "method 00";
    notify_event(STROBE_WATCH_PROCESS, 1, 0, "app");
    notify_event(STROBE_WATCH_APP_BEGIN, 1, 0, "");
    for (uint64_t round = 0, ms = 10; round < 2; round++, ms += 100000) {
        notify_event(STROBE_WATCH_FOREGROUND, ms, 1, "");
        notify_event(STROBE_WATCH_MESSAGE_BEGIN, ms, 0, "message");
        notify_event(STROBE_WATCH_COMPONENT, ms, 100, "");
        notify_event(STROBE_WATCH_ACTIVITY, ms, STROBE_ACTIVITY_CREATED, round ? "B" : "A");
        for (unsigned i = 0; i < 100; i++) {
            name[7] = (char)('0' + i / 10), name[8] = (char)('0' + i % 10);
            notify_event(STROBE_WATCH_CALL_BEGIN, ms + 120 * i, 0, name);
        }
        for (unsigned i = 0; i < 100; i++)
            notify_event(STROBE_WATCH_CALL_END, ms + 12000 + i, 0, "");
        notify_event(STROBE_WATCH_TICK, ms + 12100, 0, "");
        notify_event(STROBE_WATCH_ACTIVITY, ms + 12200, STROBE_ACTIVITY_FOCUSED, round ? "B" : "A");
        notify_event(STROBE_WATCH_FRAME, ms + 12300, 0, "");
        notify_event(STROBE_WATCH_MESSAGE_END, ms + 12400, 0, "");
        notify_event(STROBE_WATCH_IDLE_BEGIN, ms + 12500, 0, "handler");
        notify_event(STROBE_WATCH_IDLE_END, ms + 15000, 0, "handler");
        notify_event(STROBE_WATCH_TOUCH_BEGIN, ms + 15000, 0, "");
        notify_event(STROBE_WATCH_TOUCH_END, ms + 18000, 0, "");
        notify_event(STROBE_WATCH_SIGNAL, ms + 18000, 3, "");
        notify_event(STROBE_WATCH_THREADS_TEXT, ms + 18100, 0, threads);
        notify_event(STROBE_WATCH_PRIORITY, ms + 18200, 0, "");
        notify_event(STROBE_WATCH_CPU, ms + 18200, 0, "");
        notify_event(STROBE_WATCH_LOOP, ms + 20000, STROBE_LOOP_AFTER_WAITING, "");
        for (unsigned i = 0; i < 60; i++)
            notify_event(STROBE_WATCH_SAMPLE, ms + 20000 + 50 * i, 0, "");
        notify_event(STROBE_WATCH_LOOP, ms + 24000, STROBE_LOOP_BEFORE_WAITING, "");
        notify_event(STROBE_WATCH_ACTIVITY, ms + 24000, STROBE_ACTIVITY_DESTROYED, round ? "B" : "A");
    }
    notify_event(STROBE_WATCH_END, 300000, 0, "");
}

static void each_failed_allocation_is_reported_and_nothing_crashes(void **state)
{
    struct strobe_watch_options options;
    struct strobe_watch_view view = {.resolution_ns = 1};
    size_t all = 0;
    uint64_t n = 0;
    (void)state;
    strobe_watch_defaults(&options);
    do {
        found_count = 0;
        failed = false;
        until_failure = n;
        watcher = strobe_watch_all(&options, &view, (struct strobe_finding_sink){found, NULL});
        enum strobe_status status = STROBE_IO;
        if (watcher) {
            notify_all_events();
            status = watcher->close(watcher);
        }
        until_failure = 0;
        if (!n)
            all = found_count;
        if ((status == STROBE_OK) == failed)
            fail_msg("allocation %d failed %d, and the outcome is %d", (int)n, failed, (int)status);
    } while (n++ == 0 || failed);
    assert_true(n > 20 && all > 10 && found_count == all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failed_allocation_is_reported_and_nothing_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
