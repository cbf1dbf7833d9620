/* The part of the reader that looks into a session's call log (engine/store/call_log.h). What it finds is told in
 * reader.h: blocks by thread and time, and the books; entries themselves are read thread by thread, when asked for.
 * Reading half only; allocates. */
#ifndef STROBE_TRACE_SESSION_READER_CALLS_H
#define STROBE_TRACE_SESSION_READER_CALLS_H

#include "engine/base/error.h"
#include "engine/trace/session/reader.h"

/* Looks at every block of the log. Threads have been read. 0: out of memory. */
int strobe_reader_look_at_calls(struct strobe_reader *reader);

/* Checks told = present + overwritten + refused; as strobe_reader_check. `writers`: how many can have been stopped in
 * the middle of a claim. */
int strobe_reader_check_calls(const struct strobe_reader *reader, uint64_t writers, struct strobe_error *error);

#endif
