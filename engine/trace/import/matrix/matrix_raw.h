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

/* Writes a dump; see outfile.h for `replace`, for the file on failure, and for errors. */
enum strobe_status strobe_matrix_raw_write(const char *path, const uint64_t *entries, size_t count, int replace);

/* Reads a dump; "-" is standard input. The caller frees *entries. STROBE_IO, or STROBE_BAD_INPUT for a size that is not
 * a multiple of a word, with a line in `error`; *entries is then NULL. */
enum strobe_status strobe_matrix_raw_read(const char *path, uint64_t **entries, size_t *count,
                                          struct strobe_error *error);

/* Finds the next message in entries *at .. count - 1: from the begin of an outermost dispatch to its end, or to the
 * last entry if it has no end. The message is entries *begin .. *at - 1. Returns false if there is no other message. */
bool strobe_matrix_next_message(const uint64_t *entries, size_t count, size_t *at, size_t *begin);

#endif
