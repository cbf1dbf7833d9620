/* Lengths of the suspended windows: for how long the sampler held threads stopped.
 *
 * A length starts before the host is asked to suspend the thread and ends after resume has returned. The session's
 * header holds the lengths as a histogram with one writer, the sampler, and any number of readers. From 8 ticks on, a
 * bucket spans an eighth of a doubling, so a length read from the histogram is accurate to a sixteenth. The longest
 * length is exact.
 *
 *   ticks       0 .. 7     8 9 .. 15     16 17 | 18 19 | .. 31     32 .. 35 | ..        2^31 + ..  and all above
 *   bucket      0 .. 7     8 9 .. 15     16    | 17    | .. 23     24       | ..        239 */
#ifndef STROBE_STORE_STOPS_H
#define STROBE_STORE_STOPS_H

#include "engine/base/atomic.h"

#include <stdint.h>

enum { STROBE_STOPS_BUCKETS = 240 };

/* Zero at first use. */
struct strobe_stops {
    strobe_a64 longest_ticks;
    strobe_a64 count[STROBE_STOPS_BUCKETS];
};

/* Counts one stop of `ticks`. By the one writer; any context. */
void strobe_stops_add(struct strobe_stops *s, uint64_t ticks);

/* Summary of the stops, in ticks. All fields are 0 when there were no stops. */
struct strobe_stop_times {
    uint64_t count, median, percentile_99, longest;
};

/* Computes the summary. The function is safe while the sampler writes, and when the counts of a damaged file are
 * arbitrary. Any context. */
struct strobe_stop_times strobe_stops_read(const struct strobe_stops *s);

#endif
