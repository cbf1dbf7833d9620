/* Parses streams of Matrix's method events in a text form for people, one stream a line:
 *
 *     ID@0 I4@10 O4@156 OD@1249 end=1249
 *
 * I = entry, O = exit; then the method's id, 0 to 1048575, or D for the message loop's dispatch (1048574); @ and the
 * time in ms. `end=`, if present, is last: the time at which the stream was parsed, which may be negative. Separators
 * are blanks and tabs. A line may be empty.
 *
 * Reading half: allocates; not thread-safe. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_EVENTS_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_EVENTS_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The contents of one line. Starts zeroed; free it with strobe_matrix_events_free. */
struct strobe_matrix_events {
    uint64_t *entries; /* engine/method/matrix/matrix_entry.h */
    size_t count, room;
    int64_t end_ms; /* STROBE_MATRIX_NO_END (matrix_stack.h) = none */
};

/* Parses a line of `bytes` bytes; a line break at its end is allowed. STROBE_BAD_INPUT: *column (from 1) is the place
 * of the error, and *expected what was expected there. STROBE_IO: out of memory. */
enum strobe_status strobe_matrix_events_parse(const char *line, size_t bytes, struct strobe_matrix_events *out,
                                              size_t *column, const char **expected);

void strobe_matrix_events_free(struct strobe_matrix_events *e);

#endif
