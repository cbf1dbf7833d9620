/* The part of the reader that reads a session's call log (engine/store/call_log.h). It fills the fields of reader.h for
 * blocks, by thread and time, and for the accounting. Entries are read on request, one thread at a time. Reading half
 * only; allocates. */
#ifndef STROBE_TRACE_SESSION_READER_CALLS_H
#define STROBE_TRACE_SESSION_READER_CALLS_H

#include "engine/base/error.h"
#include "engine/trace/session/reader.h"

/* Reads the heads of all blocks of the log. The threads must have been read before. Returns 0 when out of memory. */
int strobe_reader_read_call_blocks(struct strobe_reader *reader);

/* Checks recorded = present + overwritten + refused; result as for strobe_reader_check. `writers` is the number of
 * writers that can have been stopped in the middle of a claim. */
int strobe_reader_check_calls(const struct strobe_reader *reader, uint64_t writers, struct strobe_error *error);

#endif
