/* What the command tells the library through the environment, and which session file a process writes.
 *
 *   STROBE_SESSION   absolute path S of the session that the command created
 *   LD_PRELOAD       this library first, then what was there before
 *
 * The recorded process attaches to S. When it replaces itself by exec, what it had captured moves to S.exec1,
 * S.exec2, ... and the new program gets S. Children are not traced, or, with config.follow, each into S.PID.
 *
 * Unless children are followed, both variables are taken out of the environment before the program's own code
 * runs: neither it nor its children see them. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_ENVIRONMENT_H
#define STROBE_BACKEND_LINUX_PRELOAD_ENVIRONMENT_H

#include "engine/store/session.h"

#include <stdbool.h>

/* Reads the variables and restores what was there before them. Start only. */
void strobe_environment_take(void);

/* Finds or makes the session of this process and attaches to it. False when it is not to be traced; variables stay
 * hidden then too. Start only. */
bool strobe_environment_open_session(uint32_t pid, struct strobe_session *out);

/* Makes and attaches the session of a forked child. In the child. */
bool strobe_environment_child_session(uint32_t pid, const struct strobe_config *config, struct strobe_session *out);

/* `from` with the variables put back in, for an exec in the recorded process. `from` itself when it has too many
 * entries. One caller at a time; valid until the next call. */
char *const *strobe_environment_for_exec(char *const *from);

#endif
