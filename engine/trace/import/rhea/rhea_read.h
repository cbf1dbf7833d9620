/* Reads RheaTrace's raw log (engine/method/rhea/rhea_log.h tells its form) into calls of threads:
 *
 *   B|pid|B:name, E:name, T:name   BEGIN, END, THROW of that method
 *   B|pid|name                     BEGIN of a section; the name is all that follows, `|` and `:` included
 *   E|pid, E                       END of the innermost
 *
 * What comes before TRACE_START is skipped and counted. (RheaTrace's own processor stops there: "can't find pid".) So
 * is what follows TRACE_END, and a last line without its newline, which may be cut off anywhere. Lines that are none
 * of these are counted, with the number of the first: messages of the field hold newlines. A log without TRACE_END is
 * of a process that died; all that is there is read.
 *
 * Fractions of a second may have 1 to 9 digits. Seconds that are missing are 0, as RheaTrace 1.0.1 writes them.
 *
 * The input may be anything. Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_RHEA_RHEA_READ_H
#define STROBE_TRACE_IMPORT_RHEA_RHEA_READ_H

#include "engine/base/error.h"
#include "engine/trace/model/calls.h"

struct strobe_rhea_read_stats {
    uint64_t lines, messages;
    uint64_t before_start, after_end; /* lines skipped there */
    uint64_t unknown, first_unknown;  /* lines not understood; number of the first, from 1 */
    uint64_t others;                  /* messages of kinds that are no calls: S, F, C */
    uint64_t lost;                    /* packets and messages that the log says are missing */
    uint64_t boot_ns, monotonic_ns;   /* of the begin; monotonic 0 = not told */
    bool ended;                       /* there is a TRACE_END */
    bool cut_off;                     /* the last line was left out */
};

/* Reads a log of `bytes` in memory. `out` was opened, and is the caller's to close in any case. STROBE_BAD_INPUT: no
 * TRACE_START; STROBE_IO: out of memory. `error` then has one line that says what was expected. */
enum strobe_status strobe_rhea_read(const char *text, size_t bytes, struct strobe_calls *out,
                                    struct strobe_rhea_read_stats *stats, struct strobe_error *error);

#endif
