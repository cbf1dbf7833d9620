/* Whether a stopped thread may call dlopen and pthread_create now: the safe point of `strobe attach`.
 *
 * Both functions take locks of the C library and of the dynamic linker, and allocate memory. A thread that is itself
 * inside one of the functions that hold these locks would wait for itself, or find their data half changed. Other
 * threads do no harm, because they go on. So the thread's whole stack is walked, from its innermost frame:
 *
 *   innermost frames in the C library   the thread must wait in a system call in which these functions do not wait with
 *                                       a lock held (is_plain_wait), or for a futex in a function that waits for
 *                                       another thread (is_named_wait)
 *   then frames of other code           any, but no function that allocates or frees, by its name
 *   outermost frames in the C library   those that call main or a thread's start routine
 *
 * Not safe: a frame in the dynamic linker; a frame in the C library between other code, which is a callback, such as a
 * signal handler, a comparison for qsort or an exit handler; a walk that does not reach the end of the stack. */
#ifndef STROBE_CMD_ATTACH_SAFE_H
#define STROBE_CMD_ATTACH_SAFE_H

#include <stdbool.h>
#include <stddef.h>

enum strobe_frame_place {
    STROBE_FRAME_CODE,   /* the program's, or a library's */
    STROBE_FRAME_LIBC,   /* the C library */
    STROBE_FRAME_LINKER, /* the dynamic linker */
    STROBE_FRAME_SIGNAL, /* the return of a signal handler */
};

struct strobe_frame {
    enum strobe_frame_place place;
    const char *function; /* NULL: not known */
};

/* Returns true when a thread that waits in this system call may be stopped: the call is restarted, and the program does
 * not notice. `call` -1: the thread runs. */
bool strobe_call_may_be_interrupted(long call);

/* Returns NULL when the thread is at a safe point, else what it does, as a phrase. `frames`: innermost first. `call`:
 * the system call in which it waits; -1: none. `complete`: the walk has reached the end of the stack. */
const char *strobe_unsafe_reason(const struct strobe_frame *frames, size_t count, long call, bool complete);

#endif
