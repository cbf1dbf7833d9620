/* Raw dumps of Matrix's method log (engine/method/matrix/matrix_entry.h): little-endian words of 8 bytes and nothing
 * else.
 *
 * Reading half: allocates; not thread-safe. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_RAW_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_RAW_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a dump; see outfile.h for `replace`, for what happens to the file, and errors. */
enum strobe_status strobe_matrix_raw_write(const char *path, const uint64_t *entries, size_t count, int replace);

/* Reads one; "-" is standard input. *entries is to be freed. STROBE_IO, or STROBE_BAD_INPUT for a size that is no whole
 * number of words, with a line in `error`; *entries is NULL then. */
enum strobe_status strobe_matrix_raw_read(const char *path, uint64_t **entries, size_t *count,
                                          struct strobe_error *error);

/* Finds the next message in entries *at .. count - 1: the begin of an outermost dispatch up to its end, or, when there
 * is none, to the last entry. It is entries *begin .. *at - 1 then. False: there is no other. */
bool strobe_matrix_next_message(const uint64_t *entries, size_t count, size_t *at, size_t *begin);

#endif
