/* Reads RheaTrace's raw log (format: engine/method/rhea/rhea_log.h) into calls of threads:
 *
 *   B|pid|B:name, E:name, T:name   BEGIN, END, THROW of that method
 *   B|pid|name                     BEGIN of a section; the name is the rest of the line, including `|` and `:`
 *   E|pid, E                       END of the innermost call
 *
 * Lines before TRACE_START are skipped and counted. (RheaTrace's own processor stops there: "can't find pid".) So are
 * lines after TRACE_END, and a last line without a newline, which may be truncated. Other lines are counted, with the
 * number of the first; such lines exist, because messages of real apps contain newlines. A log without TRACE_END is
 * from a process that died; all of it is read.
 *
 * Fractions of a second may have 1 to 9 digits. Missing seconds are 0, as RheaTrace 1.0.1 writes them.
 *
 * The input may be anything. Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_RHEA_RHEA_READ_H
#define STROBE_TRACE_IMPORT_RHEA_RHEA_READ_H

#include "engine/base/error.h"
#include "engine/trace/model/calls.h"

struct strobe_rhea_read_stats {
    uint64_t lines, messages;
    uint64_t before_start, after_end; /* lines skipped before TRACE_START, after TRACE_END */
    uint64_t unknown, first_unknown;  /* malformed lines; number of the first, from 1 */
    uint64_t others;                  /* messages that are not calls: S, F, C */
    uint64_t lost;                    /* packets and messages that the log reports as missing */
    uint64_t boot_ns, monotonic_ns;   /* time of the begin; monotonic_ns 0 = unknown */
    bool ended;                       /* the log has a TRACE_END */
    bool cut_off;                     /* the last line was left out */
};

/* Reads a log of `bytes` in memory into `out`, which is open; the caller closes it in any case. STROBE_BAD_INPUT: no
 * TRACE_START. STROBE_IO: out of memory. `error` then has one line that says what was expected. */
enum strobe_status strobe_rhea_read(const char *text, size_t bytes, struct strobe_calls *out,
                                    struct strobe_rhea_read_stats *stats, struct strobe_error *error);

#endif
