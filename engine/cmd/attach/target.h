/* The process that `strobe attach` is asked to enter. */
#ifndef STROBE_CMD_ATTACH_TARGET_H
#define STROBE_CMD_ATTACH_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { STROBE_TARGET_COMMAND_BYTES = 1024, STROBE_TARGET_WORDS = 64 };

struct strobe_target {
    pid_t pid;
    uid_t uid;
    char name[16];          /* of the process, proc_pid_comm(5) */
    char program[PATH_MAX]; /* the program's file */
    char command[STROBE_TARGET_COMMAND_BYTES];
    char *words[STROBE_TARGET_WORDS + 1]; /* of the command line, ended by NULL */
};

/* Finds the process, and checks that it can be entered. Returns 0, or STROBE_EXIT_BAD after a complaint that states
 * what to do. */
int strobe_target_check(const char *pid_text, struct strobe_target *out);

/* Explains why ptrace(2) refuses the process, and what to do. Returns STROBE_EXIT_BAD. */
int strobe_target_refused(const struct strobe_target *t);

/* Returns true while the process has this thread. */
bool strobe_target_has_thread(const struct strobe_target *t, pid_t tid);

#endif
