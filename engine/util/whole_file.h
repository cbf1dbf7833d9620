/* A file's content as one piece of memory. Allocates; not thread-safe. For the reading half and the lab, never the
 * capture half. */
#ifndef STROBE_UTIL_WHOLE_FILE_H
#define STROBE_UTIL_WHOLE_FILE_H

#include "engine/base/status.h"

#include <stddef.h>

struct strobe_whole_file {
    const char *at; /* never NULL */
    size_t bytes;
    void *mapped, *read;
    size_t passed; /* bytes that are out of memory, see strobe_whole_file_pass */
};

/* Maps the file where that is possible, and reads it otherwise (pipes; "-" is standard input). STROBE_IO with errno.
 * The process dies of SIGBUS when it reads a part of a mapped file that another program has cut off meanwhile. */
enum strobe_status strobe_whole_file_open(const char *path, struct strobe_whole_file *out);

/* Says that the part before `at` is not read soon. A mapped file keeps none of it in memory; reading it again is
 * possible. */
void strobe_whole_file_pass(struct strobe_whole_file *file, const char *at);

void strobe_whole_file_close(struct strobe_whole_file *file);

/* Copies the file to memory that the caller frees: *bytes bytes and a NUL behind them. STROBE_IO with errno, which is
 * EFBIG for a file of more than `most` bytes; then *text is NULL and *bytes 0. */
enum strobe_status strobe_whole_file_read(const char *path, size_t most, char **text, size_t *bytes);

#endif
