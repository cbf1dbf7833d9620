/* How long the threads stood that the sampler stopped: the lengths of suspended windows.
 *
 * A length counts from before the host is asked to suspend to after resume has returned. They are kept as a histogram
 * in the session's header: one writer, the sampler, and any reader. Steps of a bucket are an eighth of a doubling, so
 * what is read of it is right to a sixteenth; the longest is exact.
 *
 *   ticks       0 .. 7     8 9 .. 15     16 17 | 18 19 | .. 31     32 .. 35 | ..        2^31 + ..  and all above
 *   bucket      0 .. 7     8 9 .. 15     16    | 17    | .. 23     24       | ..        239 */
#ifndef STROBE_STORE_STOPS_H
#define STROBE_STORE_STOPS_H

#include "engine/base/atomic.h"

#include <stdint.h>

enum { STROBE_STOPS_BUCKETS = 240 };

/* Zero at first. */
struct strobe_stops {
    strobe_a64 longest_ticks;
    strobe_a64 count[STROBE_STOPS_BUCKETS];
};

/* Counts one stop. The one writer; any context. */
void strobe_stops_note(struct strobe_stops *s, uint64_t ticks);

/* What is told of them, in ticks; all 0 when there are none. */
struct strobe_stop_times { uint64_t count, median, percentile_99, longest; };

/* Sums up. Any context, also while they are written, and of counts that are no counts. */
struct strobe_stop_times strobe_stops_read(const struct strobe_stops *s);

#endif
