/* Writes calls as ftrace text. ftrace_read.h reads it back to the same calls and marks. Other programs read it too: the
 * trace processor of Perfetto, and systrace's viewer. Times are to the ns; CPU is 001; flags are `...1`, as RheaTrace's
 * processor writes them. Threads are merged by time.
 *
 * Calls are B and E markers that nest. If there is a THROW, or a name that begins with E: or T:, all calls are
 * RheaTrace's B:, E: and T: markers, which Perfetto shows as names. Flags of repair and losses are not written. A line
 * end in a name becomes a blank, an empty name becomes `?`, and the name of a thread without one is `<...>`.
 *
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_FTRACE_WRITE_H
#define STROBE_TRACE_EXPORT_FTRACE_WRITE_H

#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

/* Writes to `out`, which it does not close. STROBE_IO: out of memory. Errors of the file are returned when it is
 * finished. */
enum strobe_status strobe_ftrace_write(const struct strobe_calls *calls, struct strobe_outfile *out);

#endif
