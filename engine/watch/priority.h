/* The main thread's priority: a "priority" finding when its nice value changes, or its timer slack is set to more than
 * 50 us, by which its sleeps and waits end late. `nice_before` and `nice_after`, or `slack_before_us` and
 * `slack_after_us`; `lowered` is 1 when the main thread is served worse than before. A process starts with nice 0 and
 * 50 us. Source: Tencent Matrix (3b8293bd) ThreadPriorityTracer, as studied. */
#ifndef STROBE_WATCH_PRIORITY_H
#define STROBE_WATCH_PRIORITY_H

#include "engine/watch/watch.h"

strobe_watch_open_fn strobe_watch_priority;

#endif
