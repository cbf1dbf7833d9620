/* Locks, conditions and semaphores of native code (libc.h). */
#include "engine/backend/art/hooks/libc.h"

#include "engine/backend/common/libc/lock_hooks.inc"

/* ---- Android's waits until a time of the monotonic clock ---- */

HOOK(int, pthread_mutex_timedlock_monotonic_np)(pthread_mutex_t *m, const struct timespec *until)
{
    WAIT(STROBE_KIND_MUTEX, OBJECT(m));
    int r = ORIGINAL(pthread_mutex_timedlock_monotonic_np)(m, until);
    strobe_hook_woken(&scope_, OBJECT(m), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_rwlock_timedrdlock_monotonic_np)(pthread_rwlock_t *l, const struct timespec *until)
{
    WAIT(STROBE_KIND_RWLOCK, OBJECT(l));
    int r = ORIGINAL(pthread_rwlock_timedrdlock_monotonic_np)(l, until);
    strobe_hook_woken(&scope_, OBJECT(l), wake_of_error(r), true);
    return r;
}

HOOK(int, pthread_rwlock_timedwrlock_monotonic_np)(pthread_rwlock_t *l, const struct timespec *until)
{
    WAIT(STROBE_KIND_RWLOCK, OBJECT(l));
    int r = ORIGINAL(pthread_rwlock_timedwrlock_monotonic_np)(l, until);
    strobe_hook_woken(&scope_, OBJECT(l), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_cond_timedwait_monotonic_np)(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    WAIT(STROBE_KIND_COND, OBJECT(c));
    (void)RELEASE(OBJECT(m), STROBE_RELEASE_LOCK);
    int r = ORIGINAL(pthread_cond_timedwait_monotonic_np)(c, m, until);
    strobe_hook_woken(&scope_, OBJECT(c), wake_of_error(r), false);
    return r;
}

HOOK(int, sem_timedwait_monotonic_np)(sem_t *s, const struct timespec *until)
{
    WAIT(STROBE_KIND_SEM, OBJECT(s));
    int r = ORIGINAL(sem_timedwait_monotonic_np)(s, until);
    strobe_hook_woken(&scope_, OBJECT(s), wake_of_error(r ? errno : 0), false);
    return r;
}

const struct strobe_art_libc_hook strobe_art_lock_hooks[] = {STROBE_LIBC_LOCKS(STROBE_LIBC_HOOK)
                                                                 STROBE_LIBC_BIONIC_LOCKS(STROBE_LIBC_HOOK)};
const uint32_t strobe_art_lock_hook_count = sizeof strobe_art_lock_hooks / sizeof strobe_art_lock_hooks[0];
