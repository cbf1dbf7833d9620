/* Guard of the suspended window: while a thread is stopped by us, the sampler may do nothing that could wait for it.
 *
 * Hooks of the forbidden kind (allocation, locks, stdio, loading) ask strobe_guard_forbids before anything else; in the
 * window on the sampler thread the answer is to abort, since the alternative is a deadlock that shows up once a week.
 * Costs one thread-local load per hook. */
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

/* True while the calling thread holds another one suspended. Any context. */
static inline bool strobe_guard_forbids(void)
{
    return strobe_guard_window;
}

#endif
