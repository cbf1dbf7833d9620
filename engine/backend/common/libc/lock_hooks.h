/* Locks. A call that takes a free lock is a point. A call that waits is a scope with a registered wait. A release is a
 * point of kind UNLOCK. It is recorded before the release when a thread waits for the lock, else after the release. See
 * capture/blocking.h. */
#ifndef STROBE_BACKEND_COMMON_LIBC_LOCK_HOOKS_H
#define STROBE_BACKEND_COMMON_LIBC_LOCK_HOOKS_H

#include "engine/backend/common/libc/hook.h"

#include <errno.h>

#define OBJECT(p) ((uint64_t)(uintptr_t)(p))

/* Returns true when the hook should first try without a wait, so that only a real wait pays for a scope. */
static inline bool is_traced(void)
{
    return strobe_switched() != STROBE_OFF && strobe_local.thread;
}

/* Converts the result of a wait for a lock or condition. */
static enum strobe_wake wake_of_error(int error)
{
    return error == 0 || error == EOWNERDEAD ? STROBE_WAKE_RELEASED
           : error == ETIMEDOUT              ? STROBE_WAKE_TIMEOUT
           : error == EINTR                  ? STROBE_WAKE_INTERRUPTED
                                             : STROBE_WAKE_NONE;
}

HOOK(int, pthread_mutex_lock)(pthread_mutex_t *m)
{
    HOOK_FORBIDDEN("pthread_mutex_lock");
    if (!HOOK_TRIES)
        return ORIGINAL(pthread_mutex_lock)(m);
    int r = ORIGINAL(pthread_mutex_trylock)(m);
    if (r != EBUSY) {
        POINT(STROBE_KIND_MUTEX, OBJECT(m));
        return r;
    }
    WAIT(STROBE_KIND_MUTEX, OBJECT(m));
    r = ORIGINAL(pthread_mutex_lock)(m);
    strobe_hook_woken(&scope_, OBJECT(m), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_mutex_timedlock)(pthread_mutex_t *m, const struct timespec *until)
{
    WAIT(STROBE_KIND_MUTEX, OBJECT(m));
    int r = ORIGINAL(pthread_mutex_timedlock)(m, until);
    strobe_hook_woken(&scope_, OBJECT(m), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_mutex_clocklock)(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
    WAIT(STROBE_KIND_MUTEX, OBJECT(m));
    int r = ORIGINAL(pthread_mutex_clocklock)(m, clock, until);
    strobe_hook_woken(&scope_, OBJECT(m), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_mutex_unlock)(pthread_mutex_t *m)
{
    struct strobe_hook_release release = RELEASE(OBJECT(m), STROBE_RELEASE_LOCK);
    int r = ORIGINAL(pthread_mutex_unlock)(m);
    strobe_hook_release_end(&release);
    return r;
}

static bool has_writer(const pthread_rwlock_t *l)
{
#ifdef __ANDROID__
    return *(const int32_t *)l < 0; /* STATE_OWNED_BY_WRITER_FLAG of bionic's pthread_rwlock.cpp, from 6 on */
#else
    return l->__data.__cur_writer != 0;
#endif
}

HOOK(int, pthread_rwlock_rdlock)(pthread_rwlock_t *l)
{
    HOOK_FORBIDDEN("pthread_rwlock_rdlock");
    if (!HOOK_TRIES)
        return ORIGINAL(pthread_rwlock_rdlock)(l);
    int r = ORIGINAL(pthread_rwlock_tryrdlock)(l);
    if (r != EBUSY) {
        POINT(STROBE_KIND_RWLOCK, OBJECT(l));
        return r;
    }
    WAIT(STROBE_KIND_RWLOCK, OBJECT(l));
    r = ORIGINAL(pthread_rwlock_rdlock)(l);
    strobe_hook_woken(&scope_, OBJECT(l), wake_of_error(r), true);
    return r;
}

HOOK(int, pthread_rwlock_timedrdlock)(pthread_rwlock_t *l, const struct timespec *until)
{
    WAIT(STROBE_KIND_RWLOCK, OBJECT(l));
    int r = ORIGINAL(pthread_rwlock_timedrdlock)(l, until);
    strobe_hook_woken(&scope_, OBJECT(l), wake_of_error(r), true);
    return r;
}

HOOK(int, pthread_rwlock_wrlock)(pthread_rwlock_t *l)
{
    HOOK_FORBIDDEN("pthread_rwlock_wrlock");
    if (!HOOK_TRIES)
        return ORIGINAL(pthread_rwlock_wrlock)(l);
    int r = ORIGINAL(pthread_rwlock_trywrlock)(l);
    if (r != EBUSY) {
        POINT(STROBE_KIND_RWLOCK, OBJECT(l));
        return r;
    }
    WAIT(STROBE_KIND_RWLOCK, OBJECT(l));
    r = ORIGINAL(pthread_rwlock_wrlock)(l);
    strobe_hook_woken(&scope_, OBJECT(l), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_rwlock_timedwrlock)(pthread_rwlock_t *l, const struct timespec *until)
{
    WAIT(STROBE_KIND_RWLOCK, OBJECT(l));
    int r = ORIGINAL(pthread_rwlock_timedwrlock)(l, until);
    strobe_hook_woken(&scope_, OBJECT(l), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_rwlock_unlock)(pthread_rwlock_t *l)
{
    /* While the lock has a writer, the calling thread is that writer. */
    enum strobe_release how = has_writer(l) ? STROBE_RELEASE_LOCK : STROBE_RELEASE_SHARED;
    struct strobe_hook_release release = RELEASE(OBJECT(l), how);
    int r = ORIGINAL(pthread_rwlock_unlock)(l);
    strobe_hook_release_end(&release);
    return r;
}

HOOK(int, pthread_cond_wait)(pthread_cond_t *c, pthread_mutex_t *m)
{
    HOOK_FORBIDDEN("pthread_cond_wait");
    WAIT(STROBE_KIND_COND, OBJECT(c));
    (void)RELEASE(OBJECT(m), STROBE_RELEASE_LOCK);
    int r = ORIGINAL(pthread_cond_wait)(c, m);
    strobe_hook_woken(&scope_, OBJECT(c), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_cond_timedwait)(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    WAIT(STROBE_KIND_COND, OBJECT(c));
    (void)RELEASE(OBJECT(m), STROBE_RELEASE_LOCK);
    int r = ORIGINAL(pthread_cond_timedwait)(c, m, until);
    strobe_hook_woken(&scope_, OBJECT(c), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_cond_clockwait)(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
    WAIT(STROBE_KIND_COND, OBJECT(c));
    (void)RELEASE(OBJECT(m), STROBE_RELEASE_LOCK);
    int r = ORIGINAL(pthread_cond_clockwait)(c, m, clock, until);
    strobe_hook_woken(&scope_, OBJECT(c), wake_of_error(r), false);
    return r;
}

HOOK(int, pthread_cond_signal)(pthread_cond_t *c)
{
    struct strobe_hook_release release = RELEASE(OBJECT(c), STROBE_RELEASE_ONE);
    int r = ORIGINAL(pthread_cond_signal)(c);
    strobe_hook_release_end(&release);
    return r;
}

HOOK(int, pthread_cond_broadcast)(pthread_cond_t *c)
{
    struct strobe_hook_release release = RELEASE(OBJECT(c), STROBE_RELEASE_ALL);
    int r = ORIGINAL(pthread_cond_broadcast)(c);
    strobe_hook_release_end(&release);
    return r;
}

HOOK(int, pthread_barrier_wait)(pthread_barrier_t *b)
{
    SCOPE(STROBE_KIND_COND, OBJECT(b));
    return ORIGINAL(pthread_barrier_wait)(b);
}

HOOK(int, sem_wait)(sem_t *s)
{
    HOOK_FORBIDDEN("sem_wait");
    if (!HOOK_TRIES)
        return ORIGINAL(sem_wait)(s);
    int saved = errno;
#ifndef __ANDROID__
    pthread_testcancel(); /* a cancellation point like sem_wait, also without a wait */
#endif
    if (ORIGINAL(sem_trywait)(s) == 0) {
        POINT(STROBE_KIND_SEM, OBJECT(s));
        return 0;
    }
    errno = saved;
    WAIT(STROBE_KIND_SEM, OBJECT(s));
    int r = ORIGINAL(sem_wait)(s);
    strobe_hook_woken(&scope_, OBJECT(s), wake_of_error(r ? errno : 0), false);
    return r;
}

HOOK(int, sem_timedwait)(sem_t *s, const struct timespec *until)
{
    WAIT(STROBE_KIND_SEM, OBJECT(s));
    int r = ORIGINAL(sem_timedwait)(s, until);
    strobe_hook_woken(&scope_, OBJECT(s), wake_of_error(r ? errno : 0), false);
    return r;
}

HOOK(int, sem_clockwait)(sem_t *s, clockid_t clock, const struct timespec *until)
{
    WAIT(STROBE_KIND_SEM, OBJECT(s));
    int r = ORIGINAL(sem_clockwait)(s, clock, until);
    strobe_hook_woken(&scope_, OBJECT(s), wake_of_error(r ? errno : 0), false);
    return r;
}

HOOK(int, sem_post)(sem_t *s)
{
    struct strobe_hook_release release = RELEASE(OBJECT(s), STROBE_RELEASE_ONE);
    int r = ORIGINAL(sem_post)(s);
    strobe_hook_release_end(&release);
    return r;
}

#endif
