/* Frames: how many frames each frame dropped, its level, and the rate over spans of time.
 *
 * Two formulas are computed, as Matrix has used both. For frames on a display with interval i:
 *
 *   by work      cost = end - intended (else end - begin) of the main thread's work; dropped = cost / i, rounded down;
 *                rate = hz x frames / (frames + dropped). Levels, drops and `fps` use this formula
 *   by latency   total = from vsync to hand-over (else cost); dropped = (total - i) / i, rounded to nearest, at least
 *                0; rate = 1e9 / mean of max(total, i), from more than 20 frames. `fps_latency` uses this formula
 *
 * Latency is not a rate. The system works on several frames at the same time, so each may take 25 ms while one is shown
 * every 16.7 ms (Matrix issue 847: 60 became 39). The rate by latency is reported as well, but no drop is judged by it.
 *
 * Only frames of a vsync count (issue 593: ends of other messages made the rate too good). A frame is rejected and
 * counted when it ends before it begins or before it was due, ends after its event, or has a duration that is not
 * plausible (half of the range or more, which is a negative duration).
 *
 * A FRAMES finding covers a span of frames whose own time, (dropped + 1) x i each, reaches `frames_window_ns`. The rest
 * makes a finding with partial = 1 at a change of scene, after a pause as long as a window, and at the end. Smooth
 * spans (dropped 0) also make findings, so that the rate is known for all time. Values: fps, fps_latency, frames,
 * dropped, dropped_latency, drop_best .. drop_frozen, rejected, refresh_hz, latency_ms, input_ms, animation_ms,
 * traversal_ms (means), partial. A frame belongs to the scene in the foreground at its end.
 *
 * A DROP finding is made for each frame that dropped options.drop[0] or more. Its blame is the longest phase, or
 * `before the frame` when most of its time passed before it began. Values: dropped, level (1 normal .. 4 frozen),
 * cost_ms, late_ms, input_ms, animation_ms, traversal_ms, latency_ms.
 *
 * Source: Tencent Matrix UIThreadMonitor, FrameTracer (2.0.8: by work; 3b8293bd: by latency). Pure functions: any
 * context. */
#ifndef STROBE_WATCH_FRAMES_H
#define STROBE_WATCH_FRAMES_H

#include "engine/watch/watch.h"

/* The interval of 60 Hz, as Matrix's constants and as its monitor state it. With the first, 50 ms are 2 dropped frames;
 * with the second, 3. Strobe uses the first, unless options.frame_interval_ns is set. */
enum { STROBE_FRAME_INTERVAL_60 = 16666667, STROBE_FRAME_INTERVAL_60_CUT = 16666666 };

enum strobe_frame_level {
    STROBE_FRAME_BEST,
    STROBE_FRAME_NORMAL,
    STROBE_FRAME_MIDDLE,
    STROBE_FRAME_HIGH,
    STROBE_FRAME_FROZEN,
    STROBE_FRAME_LEVELS
};

/* Returns the interval of a refresh rate in ns, rounded to nearest. */
uint64_t strobe_frame_interval(uint32_t refresh_hz);

/* Returns true when the frame's times are consistent and plausible (see above). */
bool strobe_frame_valid(const struct strobe_watch_frame *f);

/* strobe_frame_cost returns the time of the main thread's work for a frame, strobe_frame_total the time until it was
 * shown, both in ns. The frame must be valid. */
uint64_t strobe_frame_cost(const struct strobe_watch_frame *f);
uint64_t strobe_frame_total(const struct strobe_watch_frame *f);

/* Return the number of dropped frames, by work and by latency. */
uint64_t strobe_frame_dropped(uint64_t cost_ns, uint64_t interval_ns);
uint64_t strobe_frame_dropped_by_latency(uint64_t total_ns, uint64_t interval_ns);

/* Returns the level of a frame that dropped `dropped` frames. drop: options.drop. */
enum strobe_frame_level strobe_frame_level(uint64_t dropped, const uint32_t drop[4]);

/* Sums over frames. Zeroed memory is an empty sum. */
struct strobe_frame_sum {
    uint64_t frames, dropped, dropped_by_latency;
    uint64_t levels[STROBE_FRAME_LEVELS];
    double total_ns, shown_ns; /* of total, and of max(total, interval) */
    double input_ns, animation_ns, traversal_ns;
};
enum { STROBE_FRAMES_TOO_FEW = 20 }; /* minimum for a rate by latency */

/* Adds a valid frame to the sums. */
void strobe_frame_count(struct strobe_frame_sum *sum, const struct strobe_watch_frame *f, uint64_t interval_ns,
                        const uint32_t drop[4]);

/* Return frames per second, by work and by latency; 0 when there are no frames. */
double strobe_frame_fps(const struct strobe_frame_sum *sum, uint32_t refresh_hz);
double strobe_frame_fps_by_latency(const struct strobe_frame_sum *sum);

strobe_watch_open_fn strobe_watch_frames;

#endif
