/* The sessions of one recording: one file, or a directory with a file for each process (strobe record --follow).
 * Reading half: allocates. */
#ifndef STROBE_TRACE_SESSION_SESSION_SET_H
#define STROBE_TRACE_SESSION_SESSION_SET_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_SESSION_ENDING ".strobe"     /* ending of each session's file in a directory */
#define STROBE_SESSION_MAIN   "main.strobe" /* in a directory: the program that the command ran */

struct strobe_session_set {
    char **paths; /* in the order in which the processes began */
    size_t count;
};

/* Lists the sessions at `path`. A file is listed without being read. Of a directory, all sessions with an attached
 * process are listed, by their begin, then by name; other files are ignored. STROBE_NO_ENTRY: a directory without
 * sessions. STROBE_IO: with errno; on failure there is nothing to free. */
enum strobe_status strobe_session_set_list(const char *path, struct strobe_session_set *out);

/* Adds a file at the end. STROBE_IO: out of memory; the set is unchanged. */
enum strobe_status strobe_session_set_add(struct strobe_session_set *set, const char *path);

void strobe_session_set_free(struct strobe_session_set *set);

/* Returns 1 if `path` is a directory; 0 if it is anything else or does not exist. */
int strobe_session_set_is_folder(const char *path);

#endif
