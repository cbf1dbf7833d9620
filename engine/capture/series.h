/* Time series: what the process as a whole did, written between samples of its threads. A value now and then (CPU
 * time, memory, threads), and turns of the main thread's run loop that took too long.
 *
 * Any backend may write them. They go through the sampler's place in the ring and to the account of the thread they
 * are written for, kinds COUNTER and HITCH, of which the sampler is the one writer: requests = sampled + dropped.
 *
 * Sampler thread, between passes (struct strobe_host's between_passes), with no thread stopped; or at the end, with the
 * switch off and the engine quiet, any thread. Otherwise as strobe_ring_write. */
#ifndef STROBE_CAPTURE_SERIES_H
#define STROBE_CAPTURE_SERIES_H

#include "engine/capture/sampler.h"

/* Limits in ns. A frame is late that misses two of 60 a second. An app that does not answer for 250 ms hangs (Apple,
 * "Understanding user interface responsiveness": Instruments marks a main thread that is busy for longer). */
enum { STROBE_SERIES_INTERVAL_NS = 100000000, STROBE_HITCH_LEAST_NS = 33000000, STROBE_HANG_LEAST_NS = 250000000 };

/* Is it time for the next values? *due_ticks, 0 at first, is when it will be again: every STROBE_SERIES_INTERVAL_NS,
 * without making up for what was missed. */
bool strobe_series_due(const struct strobe_sampler *s, uint64_t *due_ticks, uint64_t now_ticks);

/* Writes the value of `what` at `ticks`, for thread `thread` (index in the session's table: the process's main). False:
 * the ring refused it, or there is no such thread. */
bool strobe_series_counter(struct strobe_sampler *s, uint32_t thread, enum strobe_series what, uint64_t ticks,
                           uint64_t value);

/* Writes a turn of the run loop of `thread` from `begin_ticks` to `end_ticks` when it took STROBE_HITCH_LEAST_NS or
 * more. It may be written while it lasts, and again, with the same begin, when it has lasted longer. `stack`: a stack
 * id seen in it; 0 = none. False: the ring refused it, it was too short, or there is no such thread. */
bool strobe_series_hitch(struct strobe_sampler *s, uint32_t thread, uint64_t begin_ticks, uint64_t end_ticks,
                         uint32_t stack);

#endif
