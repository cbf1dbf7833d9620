/* Idle handlers and touches that lag.
 *
 * An idle handler of the main thread that ran for `idle_lag_ns` (2 s) is a lag of it: blame = its class, stack = the
 * calls within. Values: cost_ms, unfinished (1: the stream ended in it).
 *
 * A touch that was answered `touch_lag_ns` (2 s) after it arrived is a lag. It arrives when something is received on a
 * touch descriptor that has nothing unanswered, and of more than 50 bytes where the number is told; it is answered by
 * the next thing sent on that descriptor, or when another descriptor is served: main runs again then. After one that
 * was reported none is for 4 s; the next one says how many were held back. Values: cost_ms, fd, held_back, unfinished.
 *
 * Source: Tencent Matrix 3b8293bd IdleHandlerLagTracer, TouchEventLagTracer, as studied. There touches are measured in
 * whole seconds of the wall clock, so that 1.001 s may count as 2; and the descriptor is cleared before it is compared
 * with, so that the comparison says nothing. Here both are exact. */
#ifndef STROBE_WATCH_IDLE_H
#define STROBE_WATCH_IDLE_H

#include "engine/watch/watch.h"

enum { STROBE_TOUCH_BYTES_MIN = 51 };
#define STROBE_TOUCH_APART_NS 4000000000u

strobe_watch_open_fn strobe_watch_idle, strobe_watch_touch;

#endif
