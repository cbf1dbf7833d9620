/* Writes calls as a session with a call log, as `strobe record --method` writes it, so that all readers of sessions can
 * read them. Ticks are ns. Each name gets an address of its own. A session cannot hold marks. Allocates; not
 * thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_CALLS_STORE_H
#define STROBE_TRACE_IMPORT_CALLS_STORE_H

#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

/* Writes to `out`, which it does not close. STROBE_FULL: more calls, names or threads than a session holds. STROBE_IO:
 * out of memory. Errors of the file are returned when it is finished. */
enum strobe_status strobe_calls_store(const struct strobe_calls *calls, struct strobe_outfile *out);

#endif
