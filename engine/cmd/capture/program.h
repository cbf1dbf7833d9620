/* Runs other programs (adb, curl) and reads what they print. */
#ifndef STROBE_CMD_CAPTURE_PROGRAM_H
#define STROBE_CMD_CAPTURE_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A signal that asks the command to end: INT, TERM or HUP. strobe_interrupt_take blocks these signals and opens `fd`,
 * a signalfd(2), which becomes readable when one arrives. A signal that is ignored stays ignored. */
struct strobe_interrupt {
    int fd;
    int number; /* the signal that was read; 0 = none */
    sigset_t mask_before;
};

/* Returns 0, or errno. */
int strobe_interrupt_take(struct strobe_interrupt *out);

/* Closes `fd`, and unblocks the signals. One that has arrived takes effect now. */
void strobe_interrupt_give_back(struct strobe_interrupt *in);

/* Reads a signal that has arrived. Returns whether there was one. */
bool strobe_interrupt_read(struct strobe_interrupt *in);

/* Receives output of a program, part by part. */
struct strobe_program_sink {
    void (*take)(void *ctx, const void *data, size_t bytes);
    void *ctx;
};

/* What to run. `argv` ends with NULL; argv[0] is searched in PATH. */
struct strobe_program {
    const char *const *argv;
    const char *input;                      /* its standard input; at most 4096 bytes; NULL = empty */
    const struct strobe_program_sink *sink; /* takes standard output as it arrives; NULL = none */
    struct strobe_interrupt *interrupt;     /* ends the program when a signal arrives; NULL = nothing ends it */
    uint64_t limit_ns;                      /* the program is killed after this time; 0 = no limit */
};

enum strobe_program_end {
    STROBE_PROGRAM_EXITED,
    STROBE_PROGRAM_KILLED, /* by a signal of others */
    STROBE_PROGRAM_MISSING,
    STROBE_PROGRAM_TIMED_OUT,
    STROBE_PROGRAM_INTERRUPTED,
};

/* How it went. Texts are cut at their sizes and end with NUL; line ends at their end are removed. */
struct strobe_program_result {
    enum strobe_program_end end;
    int status; /* exit status, for EXITED; the signal, for KILLED; errno, for MISSING */
    char output[8192];
    char errors[1024];
};

/* Runs the program to its end. It is in a process group of its own, so signals of the terminal do not reach it. */
void strobe_program_run(const struct strobe_program *p, struct strobe_program_result *out);

/* Returns whether the program exited with status 0. */
bool strobe_program_succeeded(const struct strobe_program_result *r);

#endif
