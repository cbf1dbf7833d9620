/* What the command tells the library through the environment, and which session file a process writes.
 *
 *   STROBE_SESSION   absolute path S of the session that the command created
 *   STROBE_ONLY      programs that are followed, see followed.h; not set = all
 *   LD_PRELOAD       this library first, then what was there before
 *   ASAN_OPTIONS     STROBE_ASAN_OPTION first, then what was there before: AddressSanitizer's shared runtime else ends
 *   a
 *                    program in which another library is loaded before it. Interposed functions call through to the
 *                    runtime's, so the order does no harm
 *
 * The recorded process attaches to S. Without config.follow children are not traced; when the process replaces itself
 * by exec, what it had captured moves to S.exec1, S.exec2, ... and the new program gets S. With config.follow each
 * child, and each program after an exec, has a file of its own in the folder of S (followed.h).
 *
 * Unless children are followed, the variables are taken out of the environment before the program's own code runs:
 * neither it nor its children see them. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_ENVIRONMENT_H
#define STROBE_BACKEND_LINUX_PRELOAD_ENVIRONMENT_H

#include "engine/store/session.h"

#include <stdbool.h>

#define STROBE_ASAN_OPTION "verify_asan_link_order=0"

/* Reads the variables and restores what was there before them. Start only. */
void strobe_environment_take(void);

/* Finds or makes the session of this process and attaches to it. False when it is not to be traced; variables stay
 * hidden then too. Start only. */
bool strobe_environment_open_session(uint32_t pid, struct strobe_session *out);

/* The command line of this process in `room` bytes, arguments joined by blanks, cut if long. Any context. */
void strobe_environment_command(char *out, size_t room);

/* Makes and attaches the session of a forked child that is followed. In the child. */
bool strobe_environment_child_session(uint32_t pid, const struct strobe_config *config, struct strobe_session *out);

/* `from` with the variables put back in, for an exec in the recorded process. `from` itself when it has too many
 * entries, or when the capture began by strobe_start. One caller at a time; valid until the next call. */
char *const *strobe_environment_for_exec(char *const *from);

/* Takes our variables out of the environment, so that what the process starts is not traced. */
void strobe_environment_hide(void);

#endif
