/* Writes calls as a method log of btrace 2.0 (btrace2.h), in order of their ends, and a mapping (matrix_map.h) of its
 * methods' ids. Ids count from 1. The log's two clocks are equal: BOOTTIME and MONOTONIC both start at begin_ns.
 *
 * A name is split into class and method at its last dot. A name without a dot gets the class `-`. Some texts are not
 * valid in a mapping: blanks, commas and slashes become `_`, and a tilde and the id are appended to such a name.
 *
 * A call is refused and counted if its tid or method does not fit its field, or if it begins 4.9 hours or more after
 * the first call. The log cannot hold marks or names of threads and of the process.
 *
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_BTRACE2_WRITE_H
#define STROBE_TRACE_EXPORT_BTRACE2_WRITE_H

#include "engine/trace/import/btrace/btrace2.h"
#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

struct strobe_btrace2_written {
    uint64_t records;
    uint64_t refused; /* calls that did not fit the fields of a record */
    uint64_t dropped; /* records that did not fit the buffer */
};

/* Writes the log to `log`, and the mapping to `mapping` unless that is NULL. Closes neither. `bytes_max` is the size of
 * the buffer that is simulated, including the log's header; 0 = unlimited. STROBE_BAD_INPUT: calls are not complete
 * (calls_repair.h). STROBE_IO: out of memory. Errors of the files are returned when they are finished. `stats` may be
 * NULL. */
enum strobe_status strobe_btrace2_write(const struct strobe_calls *calls, uint64_t bytes_max,
                                        struct strobe_outfile *log, struct strobe_outfile *mapping,
                                        struct strobe_btrace2_written *stats);

#endif
