/* Writes calls as ftrace text, which ftrace_read.h reads back to the same calls and marks, and other programs too (the
 * trace processor of Perfetto, systrace's viewer): times to the ns, CPU 001, flags `...1`, as RheaTrace's processor has
 * them, threads merged by time.
 *
 * Calls are B and E marks that nest; where there is a THROW, or a name that begins E: or T:, all are RheaTrace's B:, E:
 * and T: marks, which Perfetto takes for names. What is not told on: flags of repair, what was lost. A line's end in a
 * name becomes a blank, a name that is empty `?`; a thread without one is `<...>`.
 *
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_FTRACE_WRITE_H
#define STROBE_TRACE_EXPORT_FTRACE_WRITE_H

#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

/* To `out`, which it does not close. STROBE_IO: out of memory; what ails the file is told when it is finished. */
enum strobe_status strobe_ftrace_write(const struct strobe_calls *calls, struct strobe_outfile *out);

#endif
