/* Writes calls as a method log of btrace 2.0 (btrace2.h), in order of their ends, beside a mapping (matrix_map.h) of
 * its methods' ids, which count from 1. The log's clocks are one: BOOTTIME and MONOTONIC both start at begin_ns.
 *
 * A name is mapped as class and method, parted by its last dot; `-` is the class of one that has none. A mapping can't
 * hold every text: in a name with blanks, commas or slashes they become `_`, and a tilde and its id are put behind it.
 *
 * A call whose tid or method does not fit its field is refused and counted, never spilled; so is one that begins 4.9
 * hours or more after the first. Marks, names of threads and of the process have no place in such a log.
 *
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_BTRACE2_WRITE_H
#define STROBE_TRACE_EXPORT_BTRACE2_WRITE_H

#include "engine/trace/import/btrace/btrace2.h"
#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

struct strobe_btrace2_written {
    uint64_t records;
    uint64_t refused; /* did not fit their fields */
    uint64_t dropped; /* did not fit the buffer */
};

/* The log to `log`; the mapping to `mapping` unless NULL. Closes neither. Calls must be whole (calls_repair.h), else
 * STROBE_BAD_INPUT. `bytes_max`: of the buffer that the log is of, header included, for those who play the original;
 * 0 = as many as it takes. STROBE_IO: out of memory; what ails the files is told when they are finished. `stats` may be
 * NULL. */
enum strobe_status strobe_btrace2_write(const struct strobe_calls *calls, uint64_t bytes_max,
                                        struct strobe_outfile *log, struct strobe_outfile *mapping,
                                        struct strobe_btrace2_written *stats);

#endif
