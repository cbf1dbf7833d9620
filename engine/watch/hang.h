/* Messages of the main thread that hang: a lag from `lag_ns` (2 s) on, an ANR from `anr_ns` (5 s) on. A message has at
 * most one finding of each kind.
 *
 * Matrix starts two timers on another thread when a message begins, and cancels them when it ends. It reports when a
 * timer runs. That thread may be late: a message that ended in time is then reported nevertheless, and an ANR whose
 * timer runs a second late or more is not reported. Strobe judges a message by its true length when it ends, or when
 * the stream ends, so it has neither defect. These values show what Matrix's timer thread did:
 *
 *   - the thread runs its tasks at TICKs, in the order they are due. In a stream without TICKs it is never late
 *   - timer_ms: the time from the begin until the task ran; missing when the task did not run before the message ended
 *   - late_ms: how late the task was
 *   - upstream: 1 = Matrix reports this message. 0 = it does not: the timer did not run, or the timer of an ANR ran
 *     when the cost was anr_ns + 1 s or more (Matrix takes that for a task that was "not executed on time")
 *
 * Other values: cost_ms; nested_ms (time of it in nested messages); waited_ms (from due time to begin, when known);
 * foreground and nice when known; recent_messages and recent_ms (of the last 5000 messages before it); longest_ms (the
 * longest of the last 200); unfinished (1: the stream ended in it). Blame, stack and key come from its calls.
 *
 * Source: Tencent Matrix 3b8293bd LooperAnrTracer. */
#ifndef STROBE_WATCH_HANG_H
#define STROBE_WATCH_HANG_H

#include "engine/watch/watch.h"

#define STROBE_ANR_TOO_LATE_NS 1000000000u

/* Returns true when Matrix reports an ANR whose timer runs `ran_after_ns` after the message began. */
bool strobe_anr_upstream(uint64_t ran_after_ns, uint64_t anr_ns);

strobe_watch_open_fn strobe_watch_hang;

#endif
