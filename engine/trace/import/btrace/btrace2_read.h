/* Reads btrace 2.0's method logs (btrace2.h) as calls.
 *
 * A log tells no begins and ends but whole calls, so each thread's calls are put in order (by start, the longer
 * first, then the one that ended later in the log) and nested by a walk; sorting begins and ends by time, as the
 * original does, loses the nesting where two start at once, and of calls that take no time. A call that claims to
 * outlast the one it lies in ends with that one; calls that began before the trace did begin with it, and those that
 * ended before it are left out. All are counted.
 *
 * Times are CLOCK_MONOTONIC as logged, plus a shift: where the log is to lie beside a system trace that begins at
 * `system_ns`, that trace may be on BOOTTIME, and the shift is the difference of the two clocks when it begins nearer
 * to the log's BOOTTIME than to its MONOTONIC moment; none where the clocks are less than 1 ms apart.
 *
 * A method is called `class.method` as its mapping says (the method alone where the class is `-`), or "method 123".
 *
 * Facts: btrace legacy/v2.0, as studied. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_BTRACE_BTRACE2_READ_H
#define STROBE_TRACE_IMPORT_BTRACE_BTRACE2_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/btrace/btrace2.h"
#include "engine/trace/import/matrix/matrix.h"
#include "engine/trace/model/calls.h"

#include <stddef.h>

struct strobe_btrace2_options {
    uint64_t system_ns; /* begin of the system trace it is to lie beside; 0 = none */
    /* Names of methods, by one of these or none: asked for each once; NULL is no name. */
    const struct strobe_matrix_map *map;
    const char *(*name)(void *ctx, uint32_t method);
    void *ctx;
};

struct strobe_btrace2_stats {
    struct strobe_btrace2_header header;
    int64_t shift_ns;
    uint64_t records;           /* with something in them, and of those: */
    uint64_t early;             /* left out: ended before the trace began */
    uint64_t clamped;           /* begin with the trace */
    uint64_t negative;          /* began before the log's first moment */
    uint64_t cut;               /* end with the call they lie in */
    uint64_t unused;            /* never written */
    uint64_t tail_bytes;        /* behind the last whole record */
    uint64_t methods, nameless; /* different ones told; without a name. The original refuses a log with half or more
                                 * of its calls so, since its mapping is another build's */
    uint64_t nameless_calls;
};

/* Reads `bytes` of a log into *out, which it opens; close it in any case. STROBE_TRUNCATED, STROBE_BAD_INPUT,
 * STROBE_BAD_VERSION with what was expected in `error`, without the file's name; STROBE_IO: out of memory. `stats` may
 * be NULL. */
enum strobe_status strobe_btrace2_read(const void *log, size_t bytes, const struct strobe_btrace2_options *options,
                                       struct strobe_calls *out, struct strobe_btrace2_stats *stats,
                                       struct strobe_error *error);

/* What is added to MONOTONIC times, by the rule above. */
int64_t strobe_btrace2_shift(const struct strobe_btrace2_header *header, uint64_t system_ns);

#endif
