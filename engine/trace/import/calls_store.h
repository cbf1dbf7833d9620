/* Writes calls as a session whose call log they are: what `strobe record --method` would have left, so that all that
 * reads sessions reads them. Ticks are ns; each name is that of an address of its own. Marks have no place in a
 * session. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_CALLS_STORE_H
#define STROBE_TRACE_IMPORT_CALLS_STORE_H

#include "engine/trace/model/calls.h"
#include "engine/util/outfile.h"

/* To `out`, which it does not close. STROBE_FULL: more calls, names or threads than a session holds. STROBE_IO: out of
 * memory; what ails the file is told when it is finished. */
enum strobe_status strobe_calls_store(const struct strobe_calls *calls, struct strobe_outfile *out);

#endif
