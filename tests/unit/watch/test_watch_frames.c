/* Frames: levels, rates by both formulas at any refresh rate, spans, and a plain oracle of random streams.
 * The regressions R-5. */
#include "engine/base/mix.h"
#include "engine/watch/frames.h"
#include "tests/unit/support/watch_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FRAMES STROBE_FINDING_FRAMES
#define DROP   STROBE_FINDING_DROP
#define MS(n)  ((uint64_t)(n)*1000000u)

enum { I60 = STROBE_FRAME_INTERVAL_60 };
static const uint32_t levels[] = {3, 9, 24, 42};

static void notify_frame(struct strobe_watch_frame f)
{
    struct strobe_watch_event e = {.what = STROBE_WATCH_FRAME, .time_ns = f.end_ns, .text = "", .frame = &f};
    watch_notify(&rig, &e);
}

static void frame(uint64_t intended_ns, uint64_t cost_ns)
{
    notify_frame((struct strobe_watch_frame){
        .intended_ns = intended_ns, .begin_ns = intended_ns, .end_ns = intended_ns + cost_ns, .is_vsync = true});
}

/* Makes `count` frames from vsync `from` on, each with the same work. */
static uint64_t frames(uint64_t from, unsigned count, uint64_t cost_ns, uint64_t interval_ns)
{
    for (unsigned i = 0; i < count; i++, from += cost_ns / interval_ns + 1)
        frame(from * interval_ns, cost_ns);
    return from;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

static void the_interval_is_the_rates_to_the_nearest_ns(void **state)
{
    (void)state;
    assert_int_equal(strobe_frame_interval(60), STROBE_FRAME_INTERVAL_60);
    assert_int_equal(strobe_frame_interval(90), 11111111);
    assert_int_equal(strobe_frame_interval(120), 8333333);
    assert_int_equal(strobe_frame_interval(1), 1000000000);
}

static void dropped_frames_are_whole_intervals_of_the_cost(void **state)
{
    (void)state;
    assert_int_equal(strobe_frame_dropped(I60 - 1, I60), 0);
    assert_int_equal(strobe_frame_dropped(I60, I60), 1);
    assert_int_equal(strobe_frame_dropped(3 * (uint64_t)I60 - 1, I60), 2);
}

static void fifty_ms_are_2_dropped_frames_by_one_constant_and_3_by_the_other(void **state)
{
    (void)state;
    assert_int_equal(strobe_frame_dropped(MS(50), STROBE_FRAME_INTERVAL_60), 2);
    assert_int_equal(strobe_frame_dropped(MS(50), STROBE_FRAME_INTERVAL_60_CUT), 3);
    frame(MS(100), MS(50));
    assert_int_equal(watch_count(&rig, DROP), 0);
    watch_rig_again(&rig);
    rig.options.frame_interval_ns = STROBE_FRAME_INTERVAL_60_CUT;
    frame(MS(100), MS(50));
    assert_int_equal(watch_count(&rig, DROP), 1);
}

static void latency_is_rounded_and_never_below_zero(void **state)
{
    (void)state;
    assert_int_equal(strobe_frame_dropped_by_latency(0, 10), 0);
    assert_int_equal(strobe_frame_dropped_by_latency(14, 10), 0);
    assert_int_equal(strobe_frame_dropped_by_latency(15, 10), 1);
    assert_int_equal(strobe_frame_dropped_by_latency(24, 10), 1);
    assert_int_equal(strobe_frame_dropped_by_latency(25, 10), 2);
}

static void levels_begin_at_3_9_24_and_42(void **state)
{
    static const struct {
        uint64_t dropped;
        enum strobe_frame_level level;
    } rows[] = {{0, STROBE_FRAME_BEST},     {2, STROBE_FRAME_BEST},   {3, STROBE_FRAME_NORMAL},
                {8, STROBE_FRAME_NORMAL},   {9, STROBE_FRAME_MIDDLE}, {23, STROBE_FRAME_MIDDLE},
                {24, STROBE_FRAME_HIGH},    {41, STROBE_FRAME_HIGH},  {42, STROBE_FRAME_FROZEN},
                {4200, STROBE_FRAME_FROZEN}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(strobe_frame_level(rows[i].dropped, levels), rows[i].level);
}

static void both_rates_of_the_same_frames_at_60_90_and_120(void **state)
{
    static const uint32_t rates[] = {60, 90, 120};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t hz = rates[i];
        uint64_t interval = strobe_frame_interval(hz);
        rig.view.refresh_hz = hz;
        uint64_t next = frames(100, hz / 2, interval / 2, interval);
        frames(next, hz / 4, interval + interval / 2, interval);
        watch_end(&rig, 5000);
        assert_int_equal(watch_count(&rig, FRAMES), 1);
        const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
        double n = watch_value(f, "frames"), dropped = watch_value(f, "dropped");
        assert_int_equal((int)watch_value(f, "refresh_hz"), (int)hz);
        assert_true(n == hz / 2 + hz / 4 && dropped == hz / 4);
        assert_true(near(watch_value(f, "fps"), hz * n / (n + dropped)));
        assert_true(near(watch_value(f, "fps_latency"),
                         1e9 * n / ((double)interval * (n - dropped) + (double)(interval + interval / 2) * dropped)));
        watch_rig_again(&rig);
    }
}

/* Issue 593: the end of any message counted as the end of a frame, so many short messages raised the rate. */
static void upstream_took_ends_of_messages_for_frames_593(void **state)
{
    (void)state;
    uint64_t now = MS(1000);
    for (unsigned i = 0; i < 40; i++, now += 3 * (uint64_t)I60) {
        frame(now, 2 * (uint64_t)I60 + MS(1));
        for (unsigned m = 1; m <= 10; m++)
            notify_frame((struct strobe_watch_frame){.begin_ns = now + MS(36), .end_ns = now + MS(36) + m * 10000});
    }
    watch_end(&rig, 60000);
    const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
    assert_true(watch_value(f, "frames") == 40);
    assert_true(near(watch_value(f, "fps"), 20));
}

/* Issue 588: a report is made also of a smooth span. Here it states that no frame was dropped. */
static void a_smooth_span_is_reported_without_dropped_frames_588(void **state)
{
    (void)state;
    frames(100, 600, MS(8), I60);
    assert_int_equal(watch_count(&rig, DROP), 0);
    assert_int_equal(watch_count(&rig, FRAMES), 1);
    const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
    assert_true(watch_value(f, "dropped") == 0 && watch_value(f, "fps") == 60 && watch_value(f, "partial") == 0);
    assert_true(watch_value(f, "drop_best") == 600);
    assert_true(f->begin_ns == 100 * (uint64_t)I60 && f->end_ns == 699 * (uint64_t)I60 + MS(8));
}

/* Issue 764, "inaccurate" without details: the figures of a span show how its rate is computed. */
static void a_rate_can_be_computed_anew_from_the_values_beside_it_764(void **state)
{
    (void)state;
    uint64_t next = frames(10, 30, MS(5), I60);
    next = frames(next, 7, MS(70), I60);
    frames(next, 2, MS(900), I60);
    watch_end(&rig, 60000);
    const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
    double n = watch_value(f, "frames"), dropped = watch_value(f, "dropped");
    assert_true(n == 39 && dropped == 7 * 4 + 2 * 53 + 0);
    assert_true(near(watch_value(f, "fps"), 60 * n / (n + dropped)));
    assert_true(watch_value(f, "drop_best") + watch_value(f, "drop_normal") + watch_value(f, "drop_middle") +
                    watch_value(f, "drop_high") + watch_value(f, "drop_frozen") ==
                n);
    assert_true(watch_value(f, "drop_normal") == 7 && watch_value(f, "drop_frozen") == 2);
}

/* Issue 847: one app, two versions. By latency: levels BEST 593, NORMAL 3; sums 258, 11; 39.2125 fps; mean total
 * 25069426 ns. Frames that give these sums: 3 that dropped 3, 4 and 4; 258 that dropped 1; 335 that dropped none, of
 * which 55 are so much shorter than an interval as the two means differ: 596 x (1e9 / 39.2125 - 25069426) ns together.
 * Their work on the main thread fits an interval, and so 60 fps were shown, as the version before had said. */
static void upstream_takes_latency_for_pace_847(void **state)
{
    struct strobe_frame_sum sum = {0};
    uint64_t totals[596], count = 0, dropped[2] = {0}, by_level[2] = {0};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        totals[count++] = (i ? 5 : 4) * (uint64_t)I60;
    while (count < 3 + 55)
        totals[count++] = I60 - 4688600;
    while (count < 3 + 55 + 280)
        totals[count++] = MS(20);
    while (count < 596)
        totals[count++] = 32749620;
    for (unsigned i = 0; i < 596; i++) {
        uint64_t vsync = (i + 1) * (uint64_t)I60;
        struct strobe_watch_frame f = {
            .intended_ns = vsync, .begin_ns = vsync, .end_ns = vsync + MS(9), .total_ns = totals[i], .is_vsync = true};
        uint64_t late = strobe_frame_dropped_by_latency(strobe_frame_total(&f), I60);
        enum strobe_frame_level level = strobe_frame_level(late, levels);
        assert_true(level <= STROBE_FRAME_NORMAL);
        by_level[level]++;
        dropped[level] += late;
        strobe_frame_count(&sum, &f, I60, levels);
        notify_frame(f);
    }
    assert_true(by_level[0] == 593 && by_level[1] == 3 && dropped[0] == 258 && dropped[1] == 11);
    double mean = sum.total_ns / 596;
    assert_true(fabs(mean - 25069426) < 1000);
    assert_true(fabs(strobe_frame_fps_by_latency(&sum) - 39.2125) < 0.005);
    assert_true(strobe_frame_fps_by_latency(&sum) <= 1e9 / mean && strobe_frame_fps_by_latency(&sum) <= 60);
    assert_true(fabs(1e9 / mean - 39.8892) < 0.005);
    assert_true(strobe_frame_fps(&sum, 60) == 60);

    watch_end(&rig, 11000);
    const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
    assert_true(watch_value(f, "fps") == 60 && fabs(watch_value(f, "fps_latency") - 39.2125) < 0.005);
    assert_true(fabs(watch_value(f, "latency_ms") - 25.069426) < 0.001);
    assert_true(watch_value(f, "dropped") == 0 && watch_value(f, "dropped_latency") == 258 + 11);
    assert_int_equal(watch_count(&rig, DROP), 0);
}

/* The other half of issue 847: by work, 743 frames of which one dropped 3, and 4 were dropped by the others. Upstream
 * summed whole ms, so that 60 came out; of the same sums the rate is 59.44. */
static void upstream_cuts_the_frames_time_to_whole_ms(void **state)
{
    struct strobe_frame_sum sum = {0};
    uint64_t cut_ms = 0;
    (void)state;
    for (unsigned i = 0; i < 743; i++) {
        uint64_t drops = i == 0 ? 3 : i < 5 ? 1 : 0;
        struct strobe_watch_frame f = {.intended_ns = 1, .begin_ns = 1, .end_ns = 1 + drops * I60 + MS(3)};
        strobe_frame_count(&sum, &f, I60, levels);
        cut_ms = (uint64_t)((double)cut_ms + (double)(drops + 1) * I60 / 1e6);
    }
    assert_true(sum.levels[STROBE_FRAME_NORMAL] == 1 && sum.levels[STROBE_FRAME_BEST] == 742 && sum.dropped == 7);
    assert_true(1000.0 * 743 / (double)cut_ms > 60);
    assert_true(near(strobe_frame_fps(&sum, 60), 60 * 743.0 / 750));
}

static void a_rate_by_latency_wants_21_frames(void **state)
{
    (void)state;
    frames(10, 20, MS(5), I60);
    watch_end(&rig, 1000);
    const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
    assert_true(isnan(strobe_finding_value(f, "fps_latency")) && watch_value(f, "fps") == 60);
    assert_string_equal(f->unseen, "a rate by latency wants more than 20 frames");
    watch_rig_again(&rig);
    frames(10, 21, MS(5), I60);
    watch_end(&rig, 1000);
    f = watch_found(&rig, FRAMES, 0);
    assert_true(watch_value(f, "fps_latency") <= 60 && watch_value(f, "fps_latency") > 59.9);
    assert_string_equal(f->unseen, "");
}

static void frames_that_no_clock_can_have_measured_are_counted_and_left_out(void **state)
{
    const struct strobe_watch_frame good = {
        .intended_ns = MS(100), .begin_ns = MS(101), .end_ns = MS(110), .is_vsync = true};
    struct strobe_watch_frame bad[7];
    (void)state;
    for (unsigned i = 0; i < 7; i++)
        bad[i] = good;
    bad[0].total_ns = (uint64_t)INT64_MAX / 2;
    bad[1].input_ns = (uint64_t)-100; /* upstream writes this for a phase that never ended */
    bad[2].animation_ns = (uint64_t)INT64_MAX;
    bad[3].traversal_ns = (uint64_t)INT64_MIN;
    bad[4].begin_ns = MS(111);
    bad[5].intended_ns = MS(111);
    bad[6].intended_ns = 0, bad[6].begin_ns = 0, bad[6].end_ns = (uint64_t)INT64_MAX;
    assert_true(strobe_frame_valid(&good));
    for (unsigned i = 0; i < 7; i++) {
        struct strobe_watch_event e = {.what = STROBE_WATCH_FRAME, .time_ns = MS(110), .text = "", .frame = &bad[i]};
        assert_false(strobe_frame_valid(&bad[i]));
        watch_notify(&rig, &e);
    }
    notify_frame(good);
    struct strobe_watch_event early = {
        .what = STROBE_WATCH_FRAME,
        .time_ns = MS(111),
        .text = "",
        .frame = &(struct strobe_watch_frame){.begin_ns = MS(100), .end_ns = MS(112), .is_vsync = true}};
    watch_notify(&rig, &early);
    watch_end(&rig, 200);
    const struct strobe_finding *f = watch_found(&rig, FRAMES, 0);
    assert_true(watch_value(f, "rejected") == 8 && watch_value(f, "frames") == 1);
}

static void a_change_of_scene_ends_the_span_in_its_middle(void **state)
{
    (void)state;
    watch_focus(&rig, 1, "List");
    uint64_t next = frames(10, 200, MS(5), I60);
    watch_focus(&rig, (double)(next * I60) / 1e6, "Detail");
    frames(next, 100, MS(20), I60);
    watch_end(&rig, 60000);
    assert_int_equal(watch_count(&rig, FRAMES), 2);
    const struct strobe_finding *list = watch_found(&rig, FRAMES, 0), *detail = watch_found(&rig, FRAMES, 1);
    assert_string_equal(list->scene, "List");
    assert_string_equal(detail->scene, "Detail");
    assert_true(watch_value(list, "frames") == 200 && watch_value(list, "fps") == 60);
    assert_true(watch_value(detail, "frames") == 100 && watch_value(detail, "fps") == 30);
    assert_true(watch_value(list, "partial") == 1 && watch_value(detail, "partial") == 1);
    assert_true(list->end_ns <= detail->begin_ns);
}

static void frames_before_any_scene_do_not_get_the_next_ones_name(void **state)
{
    (void)state;
    frames(10, 30, MS(5), I60);
    watch_focus(&rig, 5000, "Main");
    assert_string_equal(watch_found(&rig, FRAMES, 0)->scene, "");
}

static void a_pause_as_long_as_a_span_ends_it(void **state)
{
    (void)state;
    frames(60, 30, MS(5), I60);
    frames(60 * 60, 30, MS(5), I60);
    watch_end(&rig, 90000);
    assert_int_equal(watch_count(&rig, FRAMES), 2);
    assert_true(watch_found(&rig, FRAMES, 0)->end_ns < MS(2000));
}

static void a_drop_blames_what_took_longest(void **state)
{
    struct strobe_watch_frame f = {.intended_ns = MS(1000),
                                   .begin_ns = MS(1010),
                                   .end_ns = MS(1250),
                                   .is_vsync = true,
                                   .input_ns = MS(20),
                                   .animation_ns = MS(150),
                                   .traversal_ns = MS(60)};
    (void)state;
    notify_frame(f);
    const struct strobe_finding *drop = watch_found(&rig, DROP, 0);
    assert_string_equal(drop->blame, "animation");
    assert_true(drop->begin_ns == MS(1000) && drop->end_ns == MS(1250));
    assert_true(watch_value(drop, "dropped") == 14 && watch_value(drop, "level") == STROBE_FRAME_MIDDLE);
    assert_true(watch_value(drop, "cost_ms") == 250 && watch_value(drop, "late_ms") == 10);
    assert_true(watch_value(drop, "input_ms") == 20 && watch_value(drop, "animation_ms") == 150 &&
                watch_value(drop, "traversal_ms") == 60);
    f.begin_ns = MS(1200);
    notify_frame(f);
    assert_string_equal(watch_found(&rig, DROP, 1)->blame, "before the frame");
    notify_frame((struct strobe_watch_frame){.begin_ns = MS(2000), .end_ns = MS(2100), .is_vsync = true});
    assert_string_equal(watch_found(&rig, DROP, 2)->blame, "");
    assert_true(watch_value(watch_found(&rig, DROP, 2), "cost_ms") == 100);
}

static void a_view_without_due_times_is_stated_in_the_finding(void **state)
{
    (void)state;
    rig.view.knows_due = false;
    frame(MS(100), MS(100));
    assert_string_equal(watch_found(&rig, DROP, 0)->unseen, "the capture has no call within it; "
                                                            "the due time is unknown, so its wait is not counted");
}

/* Issue 416: with the rate of frames off, the other watchers crashed. */
static void frames_can_be_off_and_the_other_watchers_continue_416(void **state)
{
    (void)state;
    rig.options.frames_window_ns = 0;
    memset(rig.options.drop, 0, sizeof rig.options.drop);
    frame(MS(100), MS(9000));
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_BEGIN, 10000, "Handler");
    watch_focus(&rig, 11000, "Main");
    watch_notify_ms(&rig, STROBE_WATCH_IDLE_END, 13000, "Handler");
    watch_end(&rig, 14000);
    assert_int_equal(rig.count, 1);
    assert_int_equal(watch_count(&rig, STROBE_FINDING_IDLE_LAG), 1);
}

/* ---- random streams, beside an oracle that keeps all frames of a span and sums them anew after each */

struct random_frame {
    struct strobe_watch_frame f;
    bool new_scene;
};

static void compare_span(const struct random_frame *stream, size_t from, size_t to, uint64_t interval, uint32_t hz,
                         const struct strobe_finding *found)
{
    double n = 0, dropped = 0, shown = 0, by_level[5] = {0};
    for (size_t i = from; i < to; i++) {
        const struct strobe_watch_frame *f = &stream[i].f;
        if (!f->is_vsync)
            continue;
        double cost = (double)(f->end_ns - f->intended_ns), drops = (double)(uint64_t)(cost / (double)interval);
        double total = f->total_ns ? (double)f->total_ns : cost;
        n++;
        dropped += drops;
        shown += total > (double)interval ? total : (double)interval;
        by_level[drops >= 42 ? 4 : drops >= 24 ? 3 : drops >= 9 ? 2 : drops >= 3]++;
    }
    assert_true(watch_value(found, "frames") == n && watch_value(found, "dropped") == dropped);
    assert_true(near(watch_value(found, "fps"), hz * n / (n + dropped)));
    assert_true(watch_value(found, "fps") <= hz);
    if (n > 20)
        assert_true(near(watch_value(found, "fps_latency"), 1e9 * n / shown));
    assert_true(watch_value(found, "drop_best") == by_level[0] && watch_value(found, "drop_normal") == by_level[1]);
    assert_true(watch_value(found, "drop_middle") == by_level[2] && watch_value(found, "drop_high") == by_level[3]);
    assert_true(watch_value(found, "drop_frozen") == by_level[4]);
}

static void random_stream(uint64_t seed)
{
    enum { COUNT = 1500 };
    static struct random_frame stream[COUNT];
    static const uint32_t rates[] = {60, 90, 120, 144};
    uint64_t state = seed, now = MS(1000), window_ns, interval;
    uint32_t hz = rates[seed % 4];
    rig.view.refresh_hz = hz;
    rig.options.frames_window_ns = window_ns = MS(200 + seed * 37 % 2000);
    interval = strobe_frame_interval(hz);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t r = strobe_mix64(state++), drops = r % 5 ? 0 : (r >> 8) % (r % 7 ? 6 : 60);
        struct strobe_watch_frame *f = &stream[i].f;
        *f = (struct strobe_watch_frame){.intended_ns = now, .is_vsync = r % 11 != 0};
        f->begin_ns = now + (r >> 16) % interval / 2;
        f->end_ns = now + drops * interval + interval / 2 + (r >> 32) % (interval / 2);
        f->total_ns = r % 3 ? 0 : f->end_ns - now + (r >> 20) % MS(20);
        stream[i].new_scene = r % 97 == 0;
        now = f->end_ns + (r >> 40) % MS(40);
        if (stream[i].new_scene)
            watch_focus(&rig, (double)stream[i].f.intended_ns / 1e6, i % 2 ? "A" : "B");
        notify_frame(*f);
    }
    watch_end(&rig, (double)now / 1e6);

    size_t from = 0, span = 0, drops = 0;
    uint64_t last_end = 0;
    double kept = 0;
    const char *scene = "";
    for (size_t i = 0; i <= COUNT; i++) {
        const char *now_scene = i == COUNT ? "end" : stream[i].new_scene ? (i % 2 ? "A" : "B") : scene;
        bool paused = i < COUNT && stream[i].f.is_vsync && stream[i].f.intended_ns >= last_end + window_ns;
        if ((paused || strcmp(now_scene, scene) != 0) && kept > 0) {
            compare_span(stream, from, i, interval, hz, watch_found(&rig, FRAMES, span));
            assert_true(watch_value(watch_found(&rig, FRAMES, span++), "partial") == 1);
            kept = 0;
        }
        if (!kept)
            from = i;
        scene = now_scene;
        if (i == COUNT || !stream[i].f.is_vsync)
            continue;
        uint64_t own = (stream[i].f.end_ns - stream[i].f.intended_ns) / interval;
        drops += own >= 3;
        last_end = stream[i].f.end_ns;
        kept += (double)own + 1;
        if (kept * (double)interval >= (double)window_ns) {
            compare_span(stream, from, i + 1, interval, hz, watch_found(&rig, FRAMES, span));
            assert_true(watch_value(watch_found(&rig, FRAMES, span++), "partial") == 0);
            kept = 0;
        }
    }
    assert_int_equal(watch_count(&rig, FRAMES), span);
    assert_int_equal(watch_count(&rig, DROP), drops);
}

static void random_frames_give_what_sums_made_anew_give(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        print_message("seed %d\n", (int)seed);
        random_stream(seed * 7919);
        watch_rig_again(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_start, watch_rig_stop)
        TEST(the_interval_is_the_rates_to_the_nearest_ns),
        TEST(dropped_frames_are_whole_intervals_of_the_cost),
        TEST(fifty_ms_are_2_dropped_frames_by_one_constant_and_3_by_the_other),
        TEST(latency_is_rounded_and_never_below_zero),
        TEST(levels_begin_at_3_9_24_and_42),
        TEST(both_rates_of_the_same_frames_at_60_90_and_120),
        TEST(upstream_took_ends_of_messages_for_frames_593),
        TEST(a_smooth_span_is_reported_without_dropped_frames_588),
        TEST(a_rate_can_be_computed_anew_from_the_values_beside_it_764),
        TEST(upstream_takes_latency_for_pace_847),
        TEST(upstream_cuts_the_frames_time_to_whole_ms),
        TEST(a_rate_by_latency_wants_21_frames),
        TEST(frames_that_no_clock_can_have_measured_are_counted_and_left_out),
        TEST(a_change_of_scene_ends_the_span_in_its_middle),
        TEST(frames_before_any_scene_do_not_get_the_next_ones_name),
        TEST(a_pause_as_long_as_a_span_ends_it),
        TEST(a_drop_blames_what_took_longest),
        TEST(a_view_without_due_times_is_stated_in_the_finding),
        TEST(frames_can_be_off_and_the_other_watchers_continue_416),
        TEST(random_frames_give_what_sums_made_anew_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
