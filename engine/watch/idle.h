/* Idle handlers and touches that lag.
 *
 * An idle handler of the main thread that ran for `idle_lag_ns` (2 s) is a lag. Its blame is its class, its stack the
 * calls in it. Values: cost_ms, unfinished (1: the stream ended in it).
 *
 * A touch that was answered `touch_lag_ns` (2 s) after it arrived is a lag. A touch arrives when a message of more than
 * 50 bytes (or of unknown size) is received on a touch descriptor that has no unanswered touch. The next message sent
 * on that descriptor answers it. A message on another descriptor also answers it, because the main thread is running
 * again. For 4 s after a reported touch no other is reported; the next report says how many were held back. Values:
 * cost_ms, fd, held_back, unfinished.
 *
 * Source: Tencent Matrix 3b8293bd IdleHandlerLagTracer, TouchEventLagTracer. Defects there: touches are measured in
 * whole seconds of the wall clock, so 1.001 s may count as 2; the descriptor is cleared before it is compared, so the
 * comparison has no effect. Both are exact here. */
#ifndef STROBE_WATCH_IDLE_H
#define STROBE_WATCH_IDLE_H

#include "engine/watch/watch.h"

enum { STROBE_TOUCH_BYTES_MIN = 51 };
#define STROBE_TOUCH_APART_NS 4000000000u

strobe_watch_open_fn strobe_watch_idle, strobe_watch_touch;

#endif
