/* The environment variables by which the command passes parameters to the library, and the session file of each
 * process.
 *
 *   STROBE_SESSION  absolute path S of the session that the command created
 *   STROBE_ONLY     the programs to follow, see followed.h; not set = all
 *   STROBE_CONTROL  name of the control server's abstract Unix socket, with {pid} for the process id; not set = no
 *                   server
 *   LD_PRELOAD      this library first, then the previous value
 *   ASAN_OPTIONS    STROBE_ASAN_OPTION first, then the previous value. Without the option, AddressSanitizer's shared
 *                   runtime ends a program in which another library is loaded before it. Interposed functions call
 *                   through to the runtime's, so the order does no harm
 *
 * The recorded process attaches to S. Without config.follow, children are not traced. When the process replaces itself
 * by exec, its capture moves to S.exec1, S.exec2, ... and the new program gets S. With config.follow, each child, and
 * each program after an exec, has a separate file in the folder of S (followed.h).
 *
 * Unless children are followed, the library removes the variables from the environment before the program's own code
 * runs. Neither the program nor its children see them. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_ENVIRONMENT_H
#define STROBE_BACKEND_LINUX_PRELOAD_ENVIRONMENT_H

#include "engine/store/session.h"

#include <stdbool.h>

#define STROBE_ASAN_OPTION "verify_asan_link_order=0"

/* Reads the variables and keeps their values. Does not change the environment. Start only. */
void strobe_environment_take(void);

/* Finds or creates the session of this process and attaches to it. Returns false when the process is not recorded.
 * Unless children are followed, the variables are then removed from the environment, too. Start only. */
bool strobe_environment_open_session(uint32_t pid, struct strobe_session *out);

/* Creates the session of a followed child of a fork and attaches to it. Returns false when the session's file cannot be
 * created. In the child. */
bool strobe_environment_child_session(uint32_t pid, const struct strobe_config *config, struct strobe_session *out);

/* Returns `from` with the variables added, for an exec in the recorded process. Returns `from` itself when it has too
 * many entries, or when the capture began by strobe_start. One caller at a time; valid until the next call. */
char *const *strobe_environment_for_exec(char *const *from);

/* Returns the name of the control server's socket; "": none. */
const char *strobe_environment_control(void);

/* Removes STROBE_SESSION, STROBE_ONLY and STROBE_CONTROL from the environment, and restores the previous values of
 * LD_PRELOAD and ASAN_OPTIONS. Programs that the process starts are then not traced. */
void strobe_environment_hide(void);

#endif
