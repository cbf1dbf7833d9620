/* A file being written. It has a temporary name beside its target until all of it is written; then it gets the
 * target's name. A failure thus leaves no partial file and keeps an older one. A target that is not a regular file (a
 * pipe, /dev/null) is written directly, and so is standard output, whose name is "-".
 *
 * After the first error, writes do nothing, and strobe_outfile_finish returns that error. Allocates; not thread-safe.
 * For the reading half and the lab, never the capture half. */
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
    uint64_t bytes; /* written to the system */
    enum strobe_status status;
    int error; /* errno of the first failure */
};

/* Opens the file. STROBE_EXISTS: `path` exists and `replace` is 0. STROBE_IO with errno. */
enum strobe_status strobe_outfile_open(struct strobe_outfile *out, const char *path, int replace);

/* Appends. */
void strobe_outfile_write(struct strobe_outfile *out, const void *data, size_t bytes);
void strobe_outfile_text(struct strobe_outfile *out, const char *text);
void strobe_outfile_number(struct strobe_outfile *out, uint64_t number);

/* Appends `text` as the inside of a JSON string. Each byte that is not valid UTF-8 becomes U+FFFD. */
void strobe_outfile_json(struct strobe_outfile *out, const char *text);

/* Appends ns as microseconds with three decimals. */
void strobe_outfile_us(struct strobe_outfile *out, uint64_t ns);

/* Writes the buffered rest to the file, which keeps its temporary name. STROBE_IO with errno: this or an earlier write
 * failed. */
enum strobe_status strobe_outfile_flush(struct strobe_outfile *out);

/* Removes the files of this process that still have their temporary names. For the handler of a signal that ends the
 * process. No file may be written afterwards. */
void strobe_outfile_abandon(void);

/* Writes the buffered rest and gives the file its name; removes the file after an error. With `give_up` it removes the
 * file in any case and returns STROBE_OK. Frees the memory. On failure errno is that of the first error. */
enum strobe_status strobe_outfile_finish(struct strobe_outfile *out, int give_up);

#endif
