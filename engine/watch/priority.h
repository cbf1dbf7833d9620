/* The main thread's priority. A "priority" finding is made when its nice value changes, or when its timer slack is set
 * to more than 50 us, so that its sleeps and waits end late. Values: `nice_before` and `nice_after`, or
 * `slack_before_us` and `slack_after_us`; `lowered` is 1 when the new value is worse for the main thread. A process
 * starts with nice 0 and 50 us. Source: Tencent Matrix (3b8293bd) ThreadPriorityTracer. */
#ifndef STROBE_WATCH_PRIORITY_H
#define STROBE_WATCH_PRIORITY_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_priority;

#endif
