/* The directory for a command's output files. */
#ifndef STROBE_CMD_OUTPUTS_H
#define STROBE_CMD_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

/* Creates the directory, with its parents, unless it exists. Returns 0, or STROBE_EXIT_BAD after a complaint. */
int strobe_make_folder(const char *path);

/* Returns `folder/name` in a static buffer that the next call overwrites. Returns NULL after a complaint when that is
 * too long. */
const char *strobe_path_in(const char *folder, const char *name);

/* Writes a file through `print`, which gets a stream. On failure there is no file. Returns 0, or STROBE_EXIT_BAD after
 * a complaint. */
int strobe_write_file(const char *path, bool replace, void (*print)(void *ctx, FILE *out), void *ctx);

#endif
