/* A file being written. It takes shape under a temporary name beside its target and gets the target's name only when
 * all of it has been written, so a failure never leaves half a file and never destroys an older one. A target that is
 * no regular file (a pipe, /dev/null) is written to directly, and so is standard output, whose name is "-".
 *
 * The first error sticks: later writes do nothing, and strobe_outfile_finish returns it. Not thread-safe; allocates.
 * Reading half only. */
#ifndef STROBE_UTIL_OUTFILE_H
#define STROBE_UTIL_OUTFILE_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_outfile {
    int fd;
    char *target, *temporary; /* temporary is NULL when the target is written directly */
    char *buffer;
    size_t used;
    uint64_t bytes; /* handed to the system so far */
    enum strobe_status status;
    int error; /* errno of the first failure */
};

/* STROBE_EXISTS when there is a file `path` already and `replace` is 0. STROBE_IO with errno. */
enum strobe_status strobe_outfile_open(struct strobe_outfile *out, const char *path, int replace);

/* Appends. */
void strobe_outfile_write(struct strobe_outfile *out, const void *data, size_t bytes);
void strobe_outfile_text(struct strobe_outfile *out, const char *text);
void strobe_outfile_number(struct strobe_outfile *out, uint64_t number);

/* `text` as the inside of a JSON string; what is not UTF-8 becomes U+FFFD. */
void strobe_outfile_json(struct strobe_outfile *out, const char *text);

/* ns as microseconds with three decimals. */
void strobe_outfile_us(struct strobe_outfile *out, uint64_t ns);

/* Removes the files of this process that have only their temporary names yet. For the handler of a signal that ends the
 * process: nothing can be written to these files any more. */
void strobe_outfile_abandon(void);

/* Writes what is left and names the file; or, after an error, removes it. `give_up`: remove it in any case, and
 * return STROBE_OK. Frees; on failure errno is that of the first error. */
enum strobe_status strobe_outfile_finish(struct strobe_outfile *out, int give_up);

#endif
