/* Locks: what can be had at once is a point; waiting is a scope; giving back is a point of its own kind. */
#include "engine/backend/linux/preload/hook.h"

#include <errno.h>

#define OBJECT(p) ((uint64_t)(uintptr_t)(p))

/* True when the call should try first, so that only a real wait pays for a scope. */
static inline bool traced(void)
{
    return strobe_switched() != STROBE_OFF && strobe_local.thread;
}

HOOK int pthread_mutex_lock(pthread_mutex_t *m)
{
    strobe_hook_forbidden("pthread_mutex_lock");
    struct strobe_real *real = strobe_real();
    if (!traced())
        return real->pthread_mutex_lock(m);
    int r = real->pthread_mutex_trylock(m);
    if (r != EBUSY) {
        strobe_hook_point(STROBE_KIND_MUTEX, OBJECT(m), HERE);
        return r;
    }
    SCOPE(STROBE_KIND_MUTEX, OBJECT(m));
    return real->pthread_mutex_lock(m);
}

HOOK int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    SCOPE(STROBE_KIND_MUTEX, OBJECT(m));
    return strobe_real()->pthread_mutex_timedlock(m, until);
}

HOOK int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
    SCOPE(STROBE_KIND_MUTEX, OBJECT(m));
    return strobe_real()->pthread_mutex_clocklock(m, clock, until);
}

HOOK int pthread_mutex_unlock(pthread_mutex_t *m)
{
    int r = strobe_real()->pthread_mutex_unlock(m);
    strobe_hook_point(STROBE_KIND_UNLOCK, OBJECT(m), HERE);
    return r;
}

HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    strobe_hook_forbidden("pthread_rwlock_rdlock");
    struct strobe_real *real = strobe_real();
    if (!traced())
        return real->pthread_rwlock_rdlock(l);
    int r = real->pthread_rwlock_tryrdlock(l);
    if (r != EBUSY) {
        strobe_hook_point(STROBE_KIND_RWLOCK, OBJECT(l), HERE);
        return r;
    }
    SCOPE(STROBE_KIND_RWLOCK, OBJECT(l));
    return real->pthread_rwlock_rdlock(l);
}

HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
    SCOPE(STROBE_KIND_RWLOCK, OBJECT(l));
    return strobe_real()->pthread_rwlock_timedrdlock(l, until);
}

HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    strobe_hook_forbidden("pthread_rwlock_wrlock");
    struct strobe_real *real = strobe_real();
    if (!traced())
        return real->pthread_rwlock_wrlock(l);
    int r = real->pthread_rwlock_trywrlock(l);
    if (r != EBUSY) {
        strobe_hook_point(STROBE_KIND_RWLOCK, OBJECT(l), HERE);
        return r;
    }
    SCOPE(STROBE_KIND_RWLOCK, OBJECT(l));
    return real->pthread_rwlock_wrlock(l);
}

HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
    SCOPE(STROBE_KIND_RWLOCK, OBJECT(l));
    return strobe_real()->pthread_rwlock_timedwrlock(l, until);
}

HOOK int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    int r = strobe_real()->pthread_rwlock_unlock(l);
    strobe_hook_point(STROBE_KIND_UNLOCK, OBJECT(l), HERE);
    return r;
}

HOOK int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    strobe_hook_forbidden("pthread_cond_wait");
    SCOPE(STROBE_KIND_COND, OBJECT(c));
    return strobe_real()->pthread_cond_wait(c, m);
}

HOOK int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    SCOPE(STROBE_KIND_COND, OBJECT(c));
    return strobe_real()->pthread_cond_timedwait(c, m, until);
}

HOOK int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
    SCOPE(STROBE_KIND_COND, OBJECT(c));
    return strobe_real()->pthread_cond_clockwait(c, m, clock, until);
}

HOOK int pthread_cond_signal(pthread_cond_t *c)
{
    int r = strobe_real()->pthread_cond_signal(c);
    strobe_hook_point(STROBE_KIND_UNLOCK, OBJECT(c), HERE);
    return r;
}

HOOK int pthread_cond_broadcast(pthread_cond_t *c)
{
    int r = strobe_real()->pthread_cond_broadcast(c);
    strobe_hook_point(STROBE_KIND_UNLOCK, OBJECT(c), HERE);
    return r;
}

HOOK int pthread_barrier_wait(pthread_barrier_t *b)
{
    SCOPE(STROBE_KIND_COND, OBJECT(b));
    return strobe_real()->pthread_barrier_wait(b);
}

HOOK int sem_wait(sem_t *s)
{
    strobe_hook_forbidden("sem_wait");
    struct strobe_real *real = strobe_real();
    if (!traced())
        return real->sem_wait(s);
    int saved = errno;
    pthread_testcancel();   /* as sem_wait would, also when it need not wait */
    if (real->sem_trywait(s) == 0) {
        strobe_hook_point(STROBE_KIND_SEM, OBJECT(s), HERE);
        return 0;
    }
    errno = saved;
    SCOPE(STROBE_KIND_SEM, OBJECT(s));
    return real->sem_wait(s);
}

HOOK int sem_timedwait(sem_t *s, const struct timespec *until)
{
    SCOPE(STROBE_KIND_SEM, OBJECT(s));
    return strobe_real()->sem_timedwait(s, until);
}

HOOK int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
    SCOPE(STROBE_KIND_SEM, OBJECT(s));
    return strobe_real()->sem_clockwait(s, clock, until);
}

HOOK int sem_post(sem_t *s)
{
    int r = strobe_real()->sem_post(s);
    strobe_hook_point(STROBE_KIND_UNLOCK, OBJECT(s), HERE);
    return r;
}
