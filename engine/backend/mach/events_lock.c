/* Locks. A lock that is free is a point event. A wait is a scope, and is registered so that its release finds it. A
 * release is a point UNLOCK: recorded before the release when a thread waits for the lock, else after it
 * (engine/capture/blocking.h). */
#include "engine/backend/mach/events.h"

#include <os/lock.h>
#include <sys/ulock.h>

/* Maps the result of a call that waits for a lock or a condition. */
static enum strobe_wake wake_of_errno(int error)
{
    return error == 0           ? STROBE_WAKE_RELEASED
           : error == ETIMEDOUT ? STROBE_WAKE_TIMEOUT
           : error == EINTR     ? STROBE_WAKE_INTERRUPTED
                                : STROBE_WAKE_NONE;
}

static struct strobe_thread *lock_caller(const char *call)
{
    return strobe_mach_thread(strobe_switched(), call);
}

/* ---- mutexes */

static int mutex_lock(pthread_mutex_t *m)
{
    struct strobe_thread *t = lock_caller("pthread_mutex_lock");
    if (!t)
        return pthread_mutex_lock(m);
    int r = pthread_mutex_trylock(m);
    if (r != EBUSY) {
        strobe_mach_point(t, STROBE_KIND_MUTEX, STROBE_MACH_OBJECT(m), STROBE_HERE);
        return r;
    }
    struct strobe_hook_scope s = strobe_hook_open(t, STROBE_KIND_MUTEX, STROBE_MACH_OBJECT(m), STROBE_HERE);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(m));
    r = pthread_mutex_lock(m);
    strobe_hook_woken(&s, STROBE_MACH_OBJECT(m), wake_of_errno(r), false);
    strobe_hook_close(&s);
    return r;
}

static int mutex_trylock(pthread_mutex_t *m)
{
    struct strobe_thread *t = lock_caller("pthread_mutex_trylock");
    int r = pthread_mutex_trylock(m);
    if (t)
        strobe_mach_point(t, STROBE_KIND_MUTEX, STROBE_MACH_OBJECT(m), STROBE_HERE);
    return r;
}

static int mutex_unlock(pthread_mutex_t *m)
{
    struct strobe_thread *t = lock_caller("pthread_mutex_unlock");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_OBJECT(m), STROBE_RELEASE_LOCK, STROBE_HERE);
    int r = pthread_mutex_unlock(m);
    strobe_hook_release_end(&release);
    return r;
}

/* ---- os_unfair_lock */

static void unfair_lock(os_unfair_lock_t l)
{
    struct strobe_thread *t = lock_caller("os_unfair_lock_lock");
    if (!t) {
        os_unfair_lock_lock(l);
        return;
    }
    if (os_unfair_lock_trylock(l)) {
        strobe_mach_point(t, STROBE_KIND_MUTEX, STROBE_MACH_OBJECT(l), STROBE_HERE);
        return;
    }
    struct strobe_hook_scope s = strobe_hook_open(t, STROBE_KIND_MUTEX, STROBE_MACH_OBJECT(l), STROBE_HERE);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(l));
    os_unfair_lock_lock(l);
    strobe_hook_woken(&s, STROBE_MACH_OBJECT(l), STROBE_WAKE_RELEASED, false);
    strobe_hook_close(&s);
}

static bool unfair_trylock(os_unfair_lock_t l)
{
    struct strobe_thread *t = lock_caller("os_unfair_lock_trylock");
    bool had = os_unfair_lock_trylock(l);
    if (t)
        strobe_mach_point(t, STROBE_KIND_MUTEX, STROBE_MACH_OBJECT(l), STROBE_HERE);
    return had;
}

static void unfair_unlock(os_unfair_lock_t l)
{
    struct strobe_thread *t = lock_caller("os_unfair_lock_unlock");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_OBJECT(l), STROBE_RELEASE_LOCK, STROBE_HERE);
    os_unfair_lock_unlock(l);
    strobe_hook_release_end(&release);
}

/* ---- rwlocks */

/* Records that the thread holds `l` for writing. The lock itself does not show whether a reader or the writer releases
 * it, because its layout is private to the system. A thread that holds more than STROBE_MACH_WRITTEN locks for writing
 * releases the others as a reader; waiting readers then get no waker. */
static void record_write_lock(struct strobe_thread *t, const void *l, int error)
{
    struct strobe_mach_local *own = strobe_mach_local_of(t);
    for (int i = 0; !error && i < STROBE_MACH_WRITTEN; i++) {
        if (!own->written[i]) {
            own->written[i] = STROBE_MACH_OBJECT(l);
            return;
        }
    }
}

/* Returns how the thread releases `l`, and removes the record of record_write_lock. */
static enum strobe_release take_release_kind(struct strobe_thread *t, const void *l)
{
    struct strobe_mach_local *own = strobe_mach_local_of(t);
    for (int i = 0; i < STROBE_MACH_WRITTEN; i++) {
        if (own->written[i] == STROBE_MACH_OBJECT(l)) {
            own->written[i] = 0;
            return STROBE_RELEASE_LOCK;
        }
    }
    return STROBE_RELEASE_SHARED;
}

static int rwlock_rdlock(pthread_rwlock_t *l)
{
    struct strobe_thread *t = lock_caller("pthread_rwlock_rdlock");
    if (!t)
        return pthread_rwlock_rdlock(l);
    int r = pthread_rwlock_tryrdlock(l);
    if (r != EBUSY) {
        strobe_mach_point(t, STROBE_KIND_RWLOCK, STROBE_MACH_OBJECT(l), STROBE_HERE);
        return r;
    }
    struct strobe_hook_scope s = strobe_hook_open(t, STROBE_KIND_RWLOCK, STROBE_MACH_OBJECT(l), STROBE_HERE);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(l));
    r = pthread_rwlock_rdlock(l);
    strobe_hook_woken(&s, STROBE_MACH_OBJECT(l), wake_of_errno(r), true);
    strobe_hook_close(&s);
    return r;
}

static int rwlock_wrlock(pthread_rwlock_t *l)
{
    struct strobe_thread *t = lock_caller("pthread_rwlock_wrlock");
    if (!t)
        return pthread_rwlock_wrlock(l);
    int r = pthread_rwlock_trywrlock(l);
    if (r != EBUSY) {
        record_write_lock(t, l, r);
        strobe_mach_point(t, STROBE_KIND_RWLOCK, STROBE_MACH_OBJECT(l), STROBE_HERE);
        return r;
    }
    struct strobe_hook_scope s = strobe_hook_open(t, STROBE_KIND_RWLOCK, STROBE_MACH_OBJECT(l), STROBE_HERE);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(l));
    r = pthread_rwlock_wrlock(l);
    record_write_lock(t, l, r);
    strobe_hook_woken(&s, STROBE_MACH_OBJECT(l), wake_of_errno(r), false);
    strobe_hook_close(&s);
    return r;
}

static int rwlock_tryrdlock(pthread_rwlock_t *l)
{
    struct strobe_thread *t = lock_caller("pthread_rwlock_tryrdlock");
    int r = pthread_rwlock_tryrdlock(l);
    if (t)
        strobe_mach_point(t, STROBE_KIND_RWLOCK, STROBE_MACH_OBJECT(l), STROBE_HERE);
    return r;
}

static int rwlock_trywrlock(pthread_rwlock_t *l)
{
    struct strobe_thread *t = lock_caller("pthread_rwlock_trywrlock");
    int r = pthread_rwlock_trywrlock(l);
    if (t) {
        record_write_lock(t, l, r);
        strobe_mach_point(t, STROBE_KIND_RWLOCK, STROBE_MACH_OBJECT(l), STROBE_HERE);
    }
    return r;
}

static int rwlock_unlock(pthread_rwlock_t *l)
{
    struct strobe_thread *t = lock_caller("pthread_rwlock_unlock");
    enum strobe_release how = t ? take_release_kind(t, l) : STROBE_RELEASE_LOCK;
    struct strobe_hook_release release = strobe_hook_release_begin(t, STROBE_MACH_OBJECT(l), how, STROBE_HERE);
    int r = pthread_rwlock_unlock(l);
    strobe_hook_release_end(&release);
    return r;
}

/* ---- conditions */

/* Opens the scope of a wait. The wait begins with a release of the mutex, which is reported as any other. */
static struct strobe_hook_scope open_cond_wait(const pthread_cond_t *c, const pthread_mutex_t *m,
                                               struct strobe_site site, const char *call)
{
    struct strobe_hook_scope s = strobe_mach_open(STROBE_KIND_COND, STROBE_MACH_OBJECT(c), site, call);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(c));
    (void)strobe_hook_release_begin(s.thread, STROBE_MACH_OBJECT(m), STROBE_RELEASE_LOCK, site);
    return s;
}

static int close_cond_wait(const struct strobe_hook_scope *s, const pthread_cond_t *c, int result)
{
    strobe_hook_woken(s, STROBE_MACH_OBJECT(c), wake_of_errno(result), false);
    strobe_hook_close(s);
    return result;
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    struct strobe_hook_scope s = open_cond_wait(c, m, STROBE_HERE, "pthread_cond_wait");
    return close_cond_wait(&s, c, pthread_cond_wait(c, m));
}

static int cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    struct strobe_hook_scope s = open_cond_wait(c, m, STROBE_HERE, "pthread_cond_timedwait");
    return close_cond_wait(&s, c, pthread_cond_timedwait(c, m, until));
}

static int cond_timedwait_relative(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *how_long)
{
    struct strobe_hook_scope s = open_cond_wait(c, m, STROBE_HERE, "pthread_cond_timedwait_relative_np");
    return close_cond_wait(&s, c, pthread_cond_timedwait_relative_np(c, m, how_long));
}

static int cond_signal(pthread_cond_t *c)
{
    struct strobe_thread *t = lock_caller("pthread_cond_signal");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_OBJECT(c), STROBE_RELEASE_ONE, STROBE_HERE);
    int r = pthread_cond_signal(c);
    strobe_hook_release_end(&release);
    return r;
}

static int cond_broadcast(pthread_cond_t *c)
{
    struct strobe_thread *t = lock_caller("pthread_cond_broadcast");
    struct strobe_hook_release release =
        strobe_hook_release_begin(t, STROBE_MACH_OBJECT(c), STROBE_RELEASE_ALL, STROBE_HERE);
    int r = pthread_cond_broadcast(c);
    strobe_hook_release_end(&release);
    return r;
}

/* ---- waits for a word */

/* The word of an os_unfair_lock is a mutex; for other words a thread waits as for a condition. */
static enum strobe_kind kind_of_ulock(uint32_t operation)
{
    return (operation & UL_OPCODE_MASK) == UL_UNFAIR_LOCK ? STROBE_KIND_MUTEX : STROBE_KIND_COND;
}

static struct strobe_hook_scope open_ulock_wait(uint32_t operation, const void *word, struct strobe_site site,
                                                const char *call)
{
    struct strobe_hook_scope s = strobe_mach_open(kind_of_ulock(operation), STROBE_MACH_OBJECT(word), site, call);
    strobe_hook_waits(&s, STROBE_MACH_OBJECT(word));
    return s;
}

static int close_ulock_wait(const struct strobe_hook_scope *s, uint32_t operation, const void *word, int result)
{
    int error = result >= 0 ? 0 : operation & ULF_NO_ERRNO ? -result : errno;
    strobe_hook_woken(s, STROBE_MACH_OBJECT(word), wake_of_errno(error), false);
    strobe_hook_close(s);
    return result;
}

static int ulock_wait(uint32_t operation, void *word, uint64_t value, uint32_t timeout_us)
{
    struct strobe_hook_scope s = open_ulock_wait(operation, word, STROBE_HERE, "__ulock_wait");
    return close_ulock_wait(&s, operation, word, __ulock_wait(operation, word, value, timeout_us));
}

static int ulock_wait2(uint32_t operation, void *word, uint64_t value, uint64_t timeout_ns, uint64_t value2)
{
    struct strobe_hook_scope s = open_ulock_wait(operation, word, STROBE_HERE, "__ulock_wait2");
    return close_ulock_wait(&s, operation, word, __ulock_wait2(operation, word, value, timeout_ns, value2));
}

static int ulock_wake(uint32_t operation, void *word, uint64_t wake_value)
{
    struct strobe_thread *t = lock_caller("__ulock_wake");
    enum strobe_release how = operation & ULF_WAKE_ALL ? STROBE_RELEASE_ALL : STROBE_RELEASE_ONE;
    struct strobe_hook_release release = strobe_hook_release_begin(t, STROBE_MACH_OBJECT(word), how, STROBE_HERE);
    int r = __ulock_wake(operation, word, wake_value);
    strobe_hook_release_end(&release);
    return r;
}

/* The end of the thread releases the wait (events_threads.c). */
static int join(pthread_t thread, void **result)
{
    uint64_t what = STROBE_MACH_OBJECT(thread);
    struct strobe_hook_scope s = strobe_mach_open(STROBE_KIND_THREAD, what, STROBE_HERE, "pthread_join");
    strobe_hook_waits(&s, what);
    int r = pthread_join(thread, result);
    strobe_hook_woken(&s, what, r ? STROBE_WAKE_NONE : STROBE_WAKE_RELEASED, false);
    strobe_hook_close(&s);
    return r;
}

static const struct strobe_rebinding rebindings[] = {
    {"pthread_mutex_lock", (void *)mutex_lock, (void *)pthread_mutex_lock},
    {"pthread_mutex_trylock", (void *)mutex_trylock, (void *)pthread_mutex_trylock},
    {"pthread_mutex_unlock", (void *)mutex_unlock, (void *)pthread_mutex_unlock},
    {"os_unfair_lock_lock", (void *)unfair_lock, (void *)os_unfair_lock_lock},
    {"os_unfair_lock_trylock", (void *)unfair_trylock, (void *)os_unfair_lock_trylock},
    {"os_unfair_lock_unlock", (void *)unfair_unlock, (void *)os_unfair_lock_unlock},
    {"pthread_rwlock_rdlock", (void *)rwlock_rdlock, (void *)pthread_rwlock_rdlock},
    {"pthread_rwlock_wrlock", (void *)rwlock_wrlock, (void *)pthread_rwlock_wrlock},
    {"pthread_rwlock_tryrdlock", (void *)rwlock_tryrdlock, (void *)pthread_rwlock_tryrdlock},
    {"pthread_rwlock_trywrlock", (void *)rwlock_trywrlock, (void *)pthread_rwlock_trywrlock},
    {"pthread_rwlock_unlock", (void *)rwlock_unlock, (void *)pthread_rwlock_unlock},
    {"pthread_cond_wait", (void *)cond_wait, (void *)pthread_cond_wait},
    {"pthread_cond_timedwait", (void *)cond_timedwait, (void *)pthread_cond_timedwait},
    {"pthread_cond_timedwait_relative_np", (void *)cond_timedwait_relative, (void *)pthread_cond_timedwait_relative_np},
    {"pthread_cond_signal", (void *)cond_signal, (void *)pthread_cond_signal},
    {"pthread_cond_broadcast", (void *)cond_broadcast, (void *)pthread_cond_broadcast},
    {"__ulock_wait", (void *)ulock_wait, (void *)__ulock_wait},
    {"__ulock_wait2", (void *)ulock_wait2, (void *)__ulock_wait2},
    {"__ulock_wake", (void *)ulock_wake, (void *)__ulock_wake},
    {"pthread_join", (void *)join, (void *)pthread_join},
    {0},
};

const struct strobe_mach_feature strobe_mach_feature_locks = {STROBE_MACH_LOCKS, rebindings, NULL, NULL};
