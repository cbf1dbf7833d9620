/* Reads btrace 2.0's method logs (btrace2.h) as calls.
 *
 * A log contains whole calls, not begins and ends. The calls of each thread are sorted by start, then by falling
 * duration, then by falling position in the log, and then nested in one pass. (The original sorts begins and ends by
 * time. This loses the nesting of calls that start at the same time, and of calls of duration 0.)
 *
 * A call that outlasts the call around it ends with that call. A call that began before the trace begins with it. A
 * call that ended before the trace is left out. All are counted.
 *
 * Times are the log's CLOCK_MONOTONIC plus a shift. The shift aligns the log with a system trace that begins at
 * `system_ns` and may use BOOTTIME. It is the difference of the two clocks if `system_ns` is nearer to the log's
 * BOOTTIME moment than to its MONOTONIC moment, and 0 otherwise or if the clocks differ by less than 1 ms.
 *
 * A method is named `class.method` by its mapping (only the method if the class is `-`), or else "method 123".
 *
 * Source: btrace legacy/v2.0, as studied. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_BTRACE_BTRACE2_READ_H
#define STROBE_TRACE_IMPORT_BTRACE_BTRACE2_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/btrace/btrace2.h"
#include "engine/trace/import/matrix/matrix.h"
#include "engine/trace/model/calls.h"

#include <stddef.h>

struct strobe_btrace2_options {
    uint64_t system_ns; /* begin of the system trace to align with; 0 = none */
    /* Names of methods: one of `map` and `name`, or none. `name` is called once per method; NULL: no name. */
    const struct strobe_matrix_map *map;
    const char *(*name)(void *ctx, uint32_t method);
    void *ctx;
};

struct strobe_btrace2_stats {
    struct strobe_btrace2_header header;
    int64_t shift_ns;
    uint64_t records;           /* records that are not empty, including: */
    uint64_t early;             /* ended before the trace began: left out */
    uint64_t clamped;           /* began before the trace: begin with it */
    uint64_t negative;          /* began before the log's first moment */
    uint64_t cut;               /* outlasted the call around them: end with it */
    uint64_t unused;            /* records never written */
    uint64_t tail_bytes;        /* bytes behind the last complete record */
    uint64_t methods, nameless; /* distinct methods; those without a name. The original refuses a log if half or more
                                 * of its calls have no name, because its mapping is from another build */
    uint64_t nameless_calls;
};

/* Reads `bytes` of a log into *out, which it opens; close it in any case. STROBE_TRUNCATED, STROBE_BAD_INPUT,
 * STROBE_BAD_VERSION: `error` says what was expected, without the file's name. STROBE_IO: out of memory. `stats` may be
 * NULL. */
enum strobe_status strobe_btrace2_read(const void *log, size_t bytes, const struct strobe_btrace2_options *options,
                                       struct strobe_calls *out, struct strobe_btrace2_stats *stats,
                                       struct strobe_error *error);

/* Returns the shift that is added to MONOTONIC times, by the rule above. */
int64_t strobe_btrace2_shift(const struct strobe_btrace2_header *header, uint64_t system_ns);

#endif
