/* A file's content as one piece of memory: mapped where it can be, else read (pipes; "-" is standard input).
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_UTIL_WHOLE_FILE_H
#define STROBE_UTIL_WHOLE_FILE_H

#include "engine/base/status.h"

#include <stddef.h>

struct strobe_whole_file {
    const char *at; /* never NULL */
    size_t bytes;
    void *mapped, *read;
};

/* STROBE_IO with errno. A mapped file that another program cuts short meanwhile is the reader's death: don't. */
enum strobe_status strobe_whole_file_open(const char *path, struct strobe_whole_file *out);
void strobe_whole_file_close(struct strobe_whole_file *file);

#endif
