/* A followed child of a fork, before its capture begins. Most forked children soon replace themselves by an exec, and
 * the program after the exec has its own session. So capture does not begin at once. A thread of the child waits until
 * the process has used STROBE_FORKED_CPU_NS of CPU time, or has lived for STROBE_FORKED_WAIT_NS, and then begins the
 * capture.
 *
 *   waiting ----> starting ----> started    the thread: the time is over, and the capture runs
 *   waiting ----> gone                      exec, or the end of the process
 *   gone    ----> waiting                   the exec failed
 *   waiting ----> ended                     the process restricts its system calls (restrict.h). No capture begins
 *
 * A child that calls exec while it waits leaves no record of its life before the exec. A child that ends while it waits
 * leaves a session without samples. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_FORKED_H
#define STROBE_BACKEND_LINUX_PRELOAD_FORKED_H

#include "engine/capture/thread.h"
#include "engine/store/session.h"

#include <stdbool.h>

enum { STROBE_FORKED_CPU_NS = 10 * 1000 * 1000, STROBE_FORKED_WAIT_NS = 250 * 1000 * 1000 };

struct strobe_forked {
    struct strobe_config config;
    struct strobe_clock_pair begin;   /* the fork */
    struct strobe_stack_bounds stack; /* of the thread that forked, which is the child's main thread; zero: unknown */
    uint32_t pid;                     /* id of this process and of its main thread; 0 = not a followed child */
};
extern struct strobe_forked strobe_forked;

/* Reads the present time in ticks of the capture's clock (ns of CLOCK_MONOTONIC) and on the other clocks. */
void strobe_forked_read_clocks(struct strobe_clock_pair *out);

/* Returns true when the parent was itself a waiting child. strobe_forked then still holds the parent's parameters,
 * which apply to this child, too. First call in the child. */
bool strobe_forked_inherit(void);

/* Begins the state `waiting`. In the child, with strobe_forked filled in. */
void strobe_forked_begin(void);

/* Waits until the capture is due. Returns false when it never begins. In the thread that begins the capture. */
bool strobe_forked_wait(void);

/* Ends the state `starting`: the capture runs, or could not begin. In the same thread. */
void strobe_forked_started(void);

/* Changes `waiting` to `gone`. While the capture starts, the function waits for it, for at most about 0.2 s. Returns
 * false when the process was not waiting: it is no such child, or its capture starts or runs. At an exec and at the
 * end. */
bool strobe_forked_stop(void);

/* Changes `waiting` to `ended`, otherwise like strobe_forked_stop. The waiting thread ends within 20 ms. Before system
 * calls are restricted. */
bool strobe_forked_end(void);

/* Changes `gone` back to `waiting` after a failed exec. Returns true when it did. */
bool strobe_forked_go_on(void);

/* Creates the session of a child that ends while it waits. The session has no samples. */
void strobe_forked_leave_session(void);

#endif
