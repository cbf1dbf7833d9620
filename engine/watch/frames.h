/* Frames: how many a frame dropped, at which level, and the rate of spans of time.
 *
 * Two formulas stand side by side, as Matrix has used them. Of frames on a display of interval i:
 *
 *   by work      cost = end - intended (else end - begin) of the main thread's work; dropped = cost / i, cut;
 *                rate = hz x frames / (frames + dropped). Levels, drops and `fps` are by this one.
 *   by latency   total = from vsync to hand-over (else cost); dropped = (total - i) / i, to the nearest, at least 0;
 *                rate = 1e9 / mean of max(total, i), of more than 20 frames. `fps_latency` is by this one.
 *
 * Latency is no pace: frames are made side by side with the one before, so that each may take 25 ms and a new one be
 * shown every 16.7 ms all the same (Matrix issue 847: 60 became 39). It is told beside, and no drop is judged by it.
 *
 * Only frames of a vsync count (issue 593: ends of other messages made the rate better than it was). A frame is
 * rejected, and counted, when it ends before it begins or was due, ends after the event that tells it, or has a span
 * that no clock can have measured (half of what fits, or more: a negative one).
 *
 * A FRAMES finding is made of each span whose frames' own time, (dropped + 1) x i each, reaches `frames_window_ns`, and
 * of what is left (partial 1) at a change of scene, after a pause as long as a window, and at the end. It is made of
 * smooth ones too (dropped 0), so that the rate of all time is known. Values: fps, fps_latency, frames, dropped,
 * dropped_latency, drop_best .. drop_frozen, rejected, refresh_hz, latency_ms, input_ms, animation_ms, traversal_ms
 * (means), partial. A frame belongs to the scene in front when it ended.
 *
 * A DROP finding is made of each frame that dropped options.drop[0] or more; blame = the phase that took longest, or
 * `before the frame` when it began late for most of its time. Values: dropped, level (1 normal .. 4 frozen), cost_ms,
 * late_ms, input_ms, animation_ms, traversal_ms, latency_ms.
 *
 * Source: Tencent Matrix UIThreadMonitor, FrameTracer (2.0.8: by work; 3b8293bd: by latency), as studied.
 * Pure functions: any context. */
#ifndef STROBE_WATCH_FRAMES_H
#define STROBE_WATCH_FRAMES_H

#include "engine/watch/watch.h"

/* The interval of 60 Hz, as Matrix's constants have it and as its monitor assumes it: 50 ms are 2 dropped frames by the
 * one, 3 by the other. Ours is the first, unless options.frame_interval_ns says so. */
enum { STROBE_FRAME_INTERVAL_60 = 16666667, STROBE_FRAME_INTERVAL_60_CUT = 16666666 };

enum strobe_frame_level {
    STROBE_FRAME_BEST,
    STROBE_FRAME_NORMAL,
    STROBE_FRAME_MIDDLE,
    STROBE_FRAME_HIGH,
    STROBE_FRAME_FROZEN,
    STROBE_FRAME_LEVELS
};

/* In ns, to the nearest. */
uint64_t strobe_frame_interval(uint32_t refresh_hz);

bool strobe_frame_valid(const struct strobe_watch_frame *f);

/* What the main thread's work for it took, and what its being shown took, in ns. The frame is valid. */
uint64_t strobe_frame_cost(const struct strobe_watch_frame *f);
uint64_t strobe_frame_total(const struct strobe_watch_frame *f);

/* Dropped frames, by work and by latency. */
uint64_t strobe_frame_dropped(uint64_t cost_ns, uint64_t interval_ns);
uint64_t strobe_frame_dropped_by_latency(uint64_t total_ns, uint64_t interval_ns);

enum strobe_frame_level strobe_frame_level(uint64_t dropped, const uint32_t drop[4]);

/* Sums of frames; zeroed memory is none. */
struct strobe_frame_sum {
    uint64_t frames, dropped, dropped_by_latency;
    uint64_t levels[STROBE_FRAME_LEVELS];
    double total_ns, shown_ns; /* of total, and of max(total, interval) */
    double input_ns, animation_ns, traversal_ns;
};
enum { STROBE_FRAMES_TOO_FEW = 20 }; /* for a rate by latency */

void strobe_frame_count(struct strobe_frame_sum *sum, const struct strobe_watch_frame *f, uint64_t interval_ns,
                        const uint32_t drop[4]);

/* Frames a second, by work and by latency; 0 of no frames. */
double strobe_frame_fps(const struct strobe_frame_sum *sum, uint32_t refresh_hz);
double strobe_frame_fps_by_latency(const struct strobe_frame_sum *sum);

strobe_watch_open_fn strobe_watch_frames;

#endif
