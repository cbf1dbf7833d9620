/* The sessions that one recording has left: one file, or a folder with a file for each process (strobe record
 * --follow). Reading half: allocates. */
#ifndef STROBE_TRACE_SESSION_SESSION_SET_H
#define STROBE_TRACE_SESSION_SESSION_SET_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_SESSION_ENDING ".strobe"     /* of each session's file in a folder */
#define STROBE_SESSION_MAIN   "main.strobe" /* in a folder: the program that the command ran */

struct strobe_session_set {
    char **paths; /* in the order in which the processes began */
    size_t count;
};

/* Lists the sessions at `path`. A file is listed as it is. Of a folder, all sessions are that a process has attached
 * to, by their begin, then by name; other files in it are passed over. STROBE_NO_ENTRY: a folder without sessions.
 * STROBE_IO: with errno; nothing to free on failure. */
enum strobe_status strobe_session_set_list(const char *path, struct strobe_session_set *out);

/* Adds one more file at the end. STROBE_IO: out of memory, and the set is as it was. */
enum strobe_status strobe_session_set_add(struct strobe_session_set *set, const char *path);

void strobe_session_set_free(struct strobe_session_set *set);

/* 1: `path` is a folder, 0: it is anything else, or nothing. */
int strobe_session_set_is_folder(const char *path);

#endif
