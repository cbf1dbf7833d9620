/* Messages of the main thread that hang: a lag from `lag_ns` (2 s) on, an ANR from `anr_ns` (5 s) on, at most one of
 * each for a message.
 *
 * Matrix sets two timers on another thread when a message begins, and takes them back when it ends; its reports are
 * what a timer finds when it runs. That thread may be late: then the message may have ended in time and be reported all
 * the same, or an ANR's timer runs a second late or more and drops the report. Here a message is judged by its true
 * length when it ends (or the stream does), and so neither happens. What the other thread did is told beside:
 *
 *   - it runs its tasks in the order they are due, at TICKs. In a stream without TICKs it is never late.
 *   - timer_ms: when the task ran, after the begin; missing: it did not run before the message ended.
 *   - late_ms: of that, behind its due.
 *   - upstream: 1 = Matrix reports this too; 0 = it does not: its timer did not run, or, of an ANR, ran so late that
 *     the cost by then was anr_ns + 1 s or more (it takes that for a task that was "not executed on time").
 *
 * Other values: cost_ms, nested_ms (of it, in messages within), waited_ms (due to begin, where known), foreground and
 * nice where told, recent_messages and recent_ms (what ran before it, of the last 5000), longest_ms (the longest of the
 * last 200), unfinished (1: the stream ended in it). Blame, stack and key are those of its calls.
 *
 * Source: Tencent Matrix 3b8293bd LooperAnrTracer, as studied. */
#ifndef STROBE_WATCH_HANG_H
#define STROBE_WATCH_HANG_H

#include "engine/watch/watch.h"

#define STROBE_ANR_TOO_LATE_NS 1000000000u

/* Whether Matrix reports an ANR whose timer runs so long after the message began. */
bool strobe_anr_upstream(uint64_t ran_after_ns, uint64_t anr_ns);

strobe_watch_open_fn strobe_watch_hang;

#endif
