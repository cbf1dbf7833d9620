/* The part of the reader for system calls in which threads waited (STROBE_SERIES_WAIT_CALL). Reading half only;
 * allocates. */
#ifndef STROBE_TRACE_SESSION_READER_WAIT_CALLS_H
#define STROBE_TRACE_SESSION_READER_WAIT_CALLS_H

#include "engine/trace/session/reader.h"

/* Adds the record to the list. *room is the list's capacity. Returns 0 when out of memory. */
int strobe_reader_add_wait_call(struct strobe_reader *reader, const struct strobe_record *record, size_t *room);

/* Sorts the list, and gives each thread its part of it. */
void strobe_reader_arrange_wait_calls(struct strobe_reader *reader);

#endif
