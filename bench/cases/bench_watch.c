/* Sends all watchers a stream of an app that scrolls: messages of frames with their calls, ten deep, a dropped frame
 * now and then, an evil message in a thousand. The reference only reads the same events. */
#include "bench/bench.h"

#include "engine/base/mix.h"
#include "engine/watch/watch.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 2000, CALLS = 50, EVENTS = MESSAGES * (2 * CALLS + 3) + 1, METHODS = 400, LOOPER_DEPTH = 10 };

static struct {
    struct strobe_watch_event events[EVENTS];
    struct strobe_watch_frame frames[MESSAGES];
    char methods[METHODS][64];
    uint64_t span_ns;
    size_t count;
} stream;

static void add(enum strobe_watch_what what, uint64_t time_ns, const char *text)
{
    stream.events[stream.count++] = (struct strobe_watch_event){.what = what, .time_ns = time_ns, .text = text};
}

static void make_stream(void)
{
    static const char message[] = ">>>>> Dispatching to Handler (android.view.Choreographer$FrameHandler) {1f2e3d}: 0";
    uint64_t now = 0, state = 7;
    for (unsigned i = 0; i < METHODS; i++)
        snprintf(stream.methods[i], sizeof stream.methods[i], "com.example.feed.Adapter$Holder.method%u", i);
    for (unsigned m = 0; m < MESSAGES; m++) {
        uint64_t begin = now, step = m % 1000 == 999 ? 16000000 : m % 40 == 39 ? 1200000 : 90000;
        const char *open[LOOPER_DEPTH];
        unsigned depth = 0, left = CALLS;
        add(STROBE_WATCH_MESSAGE_BEGIN, now, message);
        while (left || depth) {
            uint64_t r = strobe_mix64(state++);
            now += r % step;
            if (left && depth < LOOPER_DEPTH && (!depth || r >> 32 & 1)) {
                left--;
                open[depth] = stream.methods[(r >> 40) % METHODS];
                add(STROBE_WATCH_CALL_BEGIN, now, open[depth++]);
            } else {
                add(STROBE_WATCH_CALL_END, now, open[--depth]);
            }
        }
        stream.frames[m] = (struct strobe_watch_frame){
            .intended_ns = begin, .begin_ns = begin, .end_ns = now, .animation_ns = now - begin, .is_vsync = true};
        add(STROBE_WATCH_FRAME, now, "");
        stream.events[stream.count - 1].frame = &stream.frames[m];
        add(STROBE_WATCH_MESSAGE_END, now, message);
        now += 3000000;
    }
    add(STROBE_WATCH_END, now, "");
    stream.span_ns = now;
}

static void count_finding(void *ctx, const struct strobe_finding *f)
{
    (void)f;
    ++*(uint64_t *)ctx;
}

static void all(struct gbench_state *s, const void *arg)
{
    struct strobe_watch_options options;
    struct strobe_watch_view view = {.resolution_ns = 1, .knows_due = true};
    uint64_t found = 0;
    (void)arg;
    strobe_watch_defaults(&options);
    while (gbench_loop(s)) {
        struct strobe_finding_sink sink = {count_finding, &found};
        struct strobe_watcher *w = strobe_watch_all(&options, &view, sink);
        found = 0;
        for (size_t i = 0; w && i < stream.count; i++)
            w->take_event(w, &stream.events[i]);
        if (!w || w->close(w) != STROBE_OK)
            abort();
    }
    gbench_counter(s, "found", (double)found);
}

static void pass(struct gbench_state *s, const void *arg)
{
    uint64_t sum = 0;
    (void)arg;
    while (gbench_loop(s)) {
        for (size_t i = 0; i < stream.count; i++) {
            const struct strobe_watch_event *e = &stream.events[i];
            sum += e->time_ns + e->thread + (uint64_t)e->what + (unsigned char)*e->text;
        }
        bench_keep(&sum);
    }
}

void bench_watch_add(void)
{
    make_stream();
    gbench_add(&(struct gbench_spec){.name = "watch/all", .run = all, .batch = EVENTS});
    gbench_add(&(struct gbench_spec){.name = "watch/pass", .run = pass, .batch = EVENTS});
}

void bench_watch_rows(void)
{
    double all_ns = gbench_median_ns("watch/all");
    bench_row_ratio("watchers, an event", "CPU ns", all_ns, "reading it", gbench_median_ns("watch/pass"), 25);
    bench_row_note("  events a CPU second", "million", 1e3 / all_ns);
    bench_row_note("  findings made of them", "", gbench_counter_of("watch/all", "found"));
}
