/* Sleeps, and waits for the end of a thread or of a child process: scopes. A join is a wait that the end of the other
 * thread ends. */
#ifndef STROBE_BACKEND_COMMON_LIBC_WAIT_HOOKS_H
#define STROBE_BACKEND_COMMON_LIBC_WAIT_HOOKS_H

#include "engine/backend/common/libc/hook.h"

#include <errno.h>

HOOK(int, nanosleep)(const struct timespec *wanted, struct timespec *left)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return ORIGINAL(nanosleep)(wanted, left);
}

HOOK(int, clock_nanosleep)(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return ORIGINAL(clock_nanosleep)(clock, flags, wanted, left);
}

HOOK(int, usleep)(useconds_t us)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return ORIGINAL(usleep)(us);
}

HOOK(unsigned, sleep)(unsigned seconds)
{
    SCOPE(STROBE_KIND_SLEEP, 0);
    return ORIGINAL(sleep)(seconds);
}

HOOK(int, pthread_join)(pthread_t thread, void **result)
{
    WAIT(STROBE_KIND_THREAD, (uint64_t)thread);
    int r = ORIGINAL(pthread_join)(thread, result);
    strobe_hook_woken(&scope_, (uint64_t)thread, r ? STROBE_WAKE_NONE : STROBE_WAKE_RELEASED, false);
    return r;
}

#ifndef __ANDROID__
HOOK(int, pthread_timedjoin_np)(pthread_t thread, void **result, const struct timespec *until)
{
    WAIT(STROBE_KIND_THREAD, (uint64_t)thread);
    int r = ORIGINAL(pthread_timedjoin_np)(thread, result, until);
    enum strobe_wake how = r == 0 ? STROBE_WAKE_RELEASED : r == ETIMEDOUT ? STROBE_WAKE_TIMEOUT : STROBE_WAKE_NONE;
    strobe_hook_woken(&scope_, (uint64_t)thread, how, false);
    return r;
}
#endif

/* ---- children ---- */

HOOK(pid_t, wait)(int *status)
{
    SCOPE(STROBE_KIND_CHILD, 0);
    return ORIGINAL(wait)(status);
}

HOOK(pid_t, waitpid)(pid_t pid, int *status, int options)
{
    SCOPE(STROBE_KIND_CHILD, (uint64_t)(int64_t)pid);
    return ORIGINAL(waitpid)(pid, status, options);
}

HOOK(pid_t, wait4)(pid_t pid, int *status, int options, struct rusage *usage)
{
    SCOPE(STROBE_KIND_CHILD, (uint64_t)(int64_t)pid);
    return ORIGINAL(wait4)(pid, status, options, usage);
}

HOOK(int, waitid)(idtype_t type, id_t id, siginfo_t *info, int options)
{
    SCOPE(STROBE_KIND_CHILD, id);
    return ORIGINAL(waitid)(type, id, info, options);
}

#endif
