/* Waits for condition variables that hooks of an attached library are in. Such a wait may have no end, and would keep
 * the library in the program (attach/attach.h). The helper ends them: it signals their condition variables, and each
 * waiter returns to the program as after a spurious wakeup, which POSIX allows for any such wait.
 *
 *   FREE ----> TAKEN     the hook, by compare-and-swap
 *   TAKEN ---> WAITING   the hook: the entry has the condition variable and the mutex
 *   WAITING -> PINNED    the helper, by compare-and-swap: the hook does not return to the program meanwhile
 *   PINNED --> WAITING   the helper
 *   WAITING -> FREE      the hook, by compare-and-swap
 *
 * The helper signals with the mutex locked, and only when the mutex is free. A waiter needs the mutex to return, so the
 * program still has both objects then. A robust mutex is left alone, because its owner may have died.
 *
 * Only libstrobe-attach.so is compiled with STROBE_ATTACHED. */
#ifndef STROBE_BACKEND_LINUX_ATTACH_COND_WAITS_H
#define STROBE_BACKEND_LINUX_ATTACH_COND_WAITS_H

#include "engine/base/atomic.h"

#include <pthread.h>

struct strobe_cond_wait {
    strobe_a32 state;
    pthread_cond_t *cond;
    pthread_mutex_t *mutex;
};

/* Returns the calling thread's entry, or NULL: many threads wait already, and the helper does not end this wait. */
struct strobe_cond_wait *strobe_cond_wait_begin(pthread_cond_t *cond, pthread_mutex_t *mutex);
void strobe_cond_wait_end(struct strobe_cond_wait *const *wait);

/* Before the call of the original function. The wait ends with the hook, also by cancellation. */
#ifdef STROBE_ATTACHED
#define HOOK_COND_WAITS(c, m)                                                                                          \
    struct strobe_cond_wait *cond_wait_ __attribute__((cleanup(strobe_cond_wait_end))) = strobe_cond_wait_begin(c, m); \
    (void)cond_wait_
#else
#define HOOK_COND_WAITS(c, m) (void)0
#endif

/* Signals the condition variables of all waits whose mutexes are free now. Helper. */
void strobe_cond_waits_wake(void);

#endif
