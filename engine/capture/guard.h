/* Guard of the suspended window, the time in which the sampler holds a thread suspended. In this window the sampler
 * must not wait for anything that the suspended thread may hold, such as the lock of the allocator.
 *
 * Hooks of functions that may wait (allocation, locks, stdio, loading of libraries) call strobe_guard_forbids before
 * anything else. When it returns true, the hook aborts the process. An abort is easy to diagnose; the alternative is
 * a deadlock that occurs rarely. The check costs one thread-local load per hook. */
#ifndef STROBE_CAPTURE_GUARD_H
#define STROBE_CAPTURE_GUARD_H

#include <stdbool.h>

extern _Thread_local bool strobe_guard_window;

static inline void strobe_guard_enter(void)
{
    strobe_guard_window = true;
}

static inline void strobe_guard_leave(void)
{
    strobe_guard_window = false;
}

/* Returns true while the calling thread holds another thread suspended. Any context. */
static inline bool strobe_guard_forbids(void)
{
    return strobe_guard_window;
}

#endif
