/* Streams of Matrix's method events as people write them, one a line:
 *
 *     ID@0 I4@10 O4@156 OD@1249 end=1249
 *
 * I = entered, O = left; then the method's id, 0 to 1048575, or D for the message loop's dispatch (1048574); @ and the
 * time, ms. `end=` says, last of all, when parsing took place; a number below 0 is fine. Blanks and tabs stand
 * between; a line may be empty.
 *
 * Reading half: allocates; not thread-safe. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_EVENTS_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_EVENTS_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* One line, taken apart. Zero at first use; strobe_matrix_events_free afterwards. */
struct strobe_matrix_events {
    uint64_t *entries; /* engine/method/matrix/matrix_entry.h */
    size_t count, room;
    int64_t end_ms; /* STROBE_MATRIX_NO_END (matrix_stack.h): not told */
};

/* Takes a line of `bytes` bytes apart; a line break at its end is fine. STROBE_IO: out of memory. STROBE_BAD_INPUT:
 * *column (from 1) says where something else was expected, and *expected what. */
enum strobe_status strobe_matrix_events_parse(const char *line, size_t bytes, struct strobe_matrix_events *out,
                                              size_t *column, const char **expected);

void strobe_matrix_events_free(struct strobe_matrix_events *e);

#endif
