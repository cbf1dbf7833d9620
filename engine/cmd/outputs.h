/* The folder that a command leaves its files in. */
#ifndef STROBE_CMD_OUTPUTS_H
#define STROBE_CMD_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

/* Makes the folder, and those it lies in, where they are not there. Returns 0, or STROBE_EXIT_BAD with its line
 * said. */
int strobe_make_folder(const char *path);

/* `folder/name`, in a buffer of the next call's; NULL with its line said when that is too long. */
const char *strobe_path_in(const char *folder, const char *name);

/* Writes a file as a whole: `print` is given a stream. Nothing is there on failure. Returns 0, or STROBE_EXIT_BAD
 * with its line said. */
int strobe_write_file(const char *path, bool replace, void (*print)(void *ctx, FILE *out), void *ctx);

#endif
