/* Time series: values of the process as a whole (CPU time, memory, threads), and turns of the main thread's run loop
 * that took too long. They are written between the samples of threads.
 *
 * Any backend may write them. Their records go through the sampler's ring writer. They count in the account of the
 * thread that they are written for, under the kinds COUNTER and HITCH. Only the sampler writes these kinds, so
 * requests = sampled + dropped.
 *
 * Context: the sampler thread, while no thread is suspended; or, at the end of a capture, any thread, with the switch
 * off and the engine quiet. Otherwise as strobe_ring_write. */
#ifndef STROBE_CAPTURE_SERIES_H
#define STROBE_CAPTURE_SERIES_H

#include "engine/capture/sampler.h"

/* Limits in ns. A frame that misses two of 60 refreshes a second is a hitch. An app that does not answer for 250 ms
 * hangs (Apple, "Understanding user interface responsiveness": Instruments marks a main thread that is busy for
 * longer). */
enum { STROBE_SERIES_INTERVAL_NS = 100000000, STROBE_HITCH_LEAST_NS = 33000000, STROBE_HANG_LEAST_NS = 250000000 };

/* Returns true when the next values are due. *due_ticks is 0 at first. The function then sets it to the time at
 * which values are due again, one STROBE_SERIES_INTERVAL_NS after `now_ticks`: missed values are not written later. */
bool strobe_series_due(const struct strobe_sampler *s, uint64_t *due_ticks, uint64_t now_ticks);

/* Writes the value of `what` at `ticks` for thread `thread`: an index in the session's table, of the process's main
 * thread, or of the thread to which the value belongs. Returns false when the ring refused the record, or when there is
 * no such thread. */
bool strobe_series_counter(struct strobe_sampler *s, uint32_t thread, enum strobe_series what, uint64_t ticks,
                           uint64_t value);

/* Writes a turn of the run loop of `thread` from `begin_ticks` to `end_ticks` when it took STROBE_HITCH_LEAST_NS or
 * more. A turn may be written while it is in progress, and again later with the same begin and a later end. `stack`:
 * id of a stack that was sampled in this turn; 0 = none. Returns false when the ring refused the record, the turn
 * was too short, or there is no such thread. */
bool strobe_series_hitch(struct strobe_sampler *s, uint32_t thread, uint64_t begin_ticks, uint64_t end_ticks,
                         uint32_t stack);

#endif
