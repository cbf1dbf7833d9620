/* A forked child that is followed, before its capture begins. Most children that are forked replace themselves by an
 * exec at once, and the program after it has a session of its own. So nothing is captured at first: a thread waits
 * until the child has used STROBE_FORKED_CPU_NS, or lived for STROBE_FORKED_WAIT_NS, and begins then.
 *
 *   waiting ----> starting ----> started    the thread: time is up, and the capture runs
 *   waiting ----> gone                      exec, or the end of the process
 *   gone    ----> waiting                   the exec failed
 *   waiting ----> ended                     the process restricts its system calls (restrict.h): nothing begins any
 *   more
 *
 * What a child did before an exec is thus left out as long as it was waiting, and a session of its own afterwards. A
 * child that ends while it waits leaves a session without samples. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_FORKED_H
#define STROBE_BACKEND_LINUX_PRELOAD_FORKED_H

#include "engine/capture/thread.h"
#include "engine/store/session.h"

#include <stdbool.h>

enum { STROBE_FORKED_CPU_NS = 5 * 1000 * 1000, STROBE_FORKED_WAIT_NS = 250 * 1000 * 1000 };

struct strobe_forked {
    struct strobe_config config;
    struct strobe_clock_pair begin;   /* the fork */
    struct strobe_stack_bounds stack; /* of the thread that forked, the child's main thread; zero: not known */
    uint32_t pid;                     /* of this process, and the id of that thread; 0 = no such child */
};
extern struct strobe_forked strobe_forked;

/* This instant, in ticks of the capture's clock (ns of CLOCK_MONOTONIC) and on the other clocks. */
void strobe_forked_read_clocks(struct strobe_clock_pair *out);

/* True in a child of a process that was such a child itself, and whose capture had not begun: strobe_forked still says
 * how it was to be followed. First in the child. */
bool strobe_forked_inherit(void);

/* Makes this process a waiting one. In the child, with strobe_forked filled in. */
void strobe_forked_begin(void);

/* Waits until the capture is to begin. False: it is not to, ever. In the thread that begins it. */
bool strobe_forked_wait(void);

/* The capture runs, or could not begin. The same thread. */
void strobe_forked_started(void);

/* True when this process was waiting: it is gone now. False when it was no such child, or its capture runs; waits for
 * one that is starting. At an exec and at the end. */
bool strobe_forked_stop(void);

/* The same for good: the waiting thread ends within 20 ms. Before system calls are restricted. */
bool strobe_forked_end(void);

/* True when this process is waiting again: the exec before which it was stopped has failed. */
bool strobe_forked_go_on(void);

/* Makes the session of a child that was waiting until now: one without samples. */
void strobe_forked_leave_session(void);

#endif
