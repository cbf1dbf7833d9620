#include "tests/emulate/guest/libsystem.h"

/* The word of a lock: 0, or the port name of its owner. The lowest bit is cleared when a thread may sleep on the
 * lock. */
enum { NOBODY_SLEEPS = 1, ERROR_BUSY = 16, ERROR_TIMED_OUT = 60, RECURSIVE = 2 };

static uint32_t own_name(void)
{
    return pthread_self()->port;
}

bool os_unfair_lock_trylock(os_unfair_lock *lock)
{
    uint32_t none = 0;
    return __atomic_compare_exchange_n(&lock->word, &none, own_name(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void os_unfair_lock_lock(os_unfair_lock *lock)
{
    uint32_t mine = own_name();
    if (os_unfair_lock_trylock(lock))
        return;
    for (;;) {
        uint32_t is = 0;
        if (__atomic_compare_exchange_n(&lock->word, &is, mine & ~NOBODY_SLEEPS, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
        uint32_t sleeps = is & ~NOBODY_SLEEPS;
        if (is != sleeps &&
            !__atomic_compare_exchange_n(&lock->word, &is, sleeps, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        ask(CALL_ULOCK_WAIT, (uint64_t)&lock->word, sleeps, 0, sleeps | NOBODY_SLEEPS, 0, 0);
    }
}

void os_unfair_lock_unlock(os_unfair_lock *lock)
{
    uint32_t was = __atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE);
    if ((was | NOBODY_SLEEPS) != own_name())
        abort();
    if (!(was & NOBODY_SLEEPS))
        ask3(CALL_ULOCK_WAKE, (uint64_t)&lock->word, 0, 0);
}

/* ---- pthread_mutex */

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    *mutex = (pthread_mutex_t){.recursive = attributes && attributes->type == RECURSIVE};
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

static bool owns(const pthread_mutex_t *mutex)
{
    return (__atomic_load_n(&mutex->lock.word, __ATOMIC_RELAXED) | NOBODY_SLEEPS) == own_name();
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (mutex->recursive && owns(mutex)) {
        mutex->depth++;
        return 0;
    }
    os_unfair_lock_lock(&mutex->lock);
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return os_unfair_lock_trylock(&mutex->lock) ? 0 : ERROR_BUSY;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (mutex->depth)
        mutex->depth--;
    else
        os_unfair_lock_unlock(&mutex->lock);
    return 0;
}

/* ---- conditions: a turn that each signal ends */

int pthread_cond_init(pthread_cond_t *condition, const void *attributes)
{
    (void)attributes;
    *condition = (pthread_cond_t){0};
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

static int wait_for_turn(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t ns)
{
    uint32_t turn = __atomic_load_n(&condition->turn, __ATOMIC_RELAXED);
    pthread_mutex_unlock(mutex);
    int64_t answer = (int64_t)ask3(CALL_ULOCK_WAIT, (uint64_t)&condition->turn, turn, ns);
    pthread_mutex_lock(mutex);
    return answer < 0 ? ERROR_TIMED_OUT : 0;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return wait_for_turn(condition, mutex, 0);
}

int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time)
{
    uint64_t ns = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
    return wait_for_turn(condition, mutex, ns ? ns : 1);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    uint64_t at = (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec, now = clock_gettime_nsec_np(0);
    return wait_for_turn(condition, mutex, at > now ? at - now : 1);
}

static int end_turn(pthread_cond_t *condition, bool all)
{
    __atomic_fetch_add(&condition->turn, 1, __ATOMIC_RELEASE);
    ask3(CALL_ULOCK_WAKE, (uint64_t)&condition->turn, all, 0);
    return 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    return end_turn(condition, false);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    return end_turn(condition, true);
}

/* ---- read-write locks: readers inside, or -1 */

static int enter(pthread_rwlock_t *lock, bool writes)
{
    for (;;) {
        int32_t is = __atomic_load_n(&lock->state, __ATOMIC_RELAXED);
        if (writes ? is != 0 : is < 0)
            ask3(CALL_ULOCK_WAIT, (uint64_t)&lock->state, (uint32_t)is, 0);
        else if (__atomic_compare_exchange_n(&lock->state, &is, writes ? -1 : is + 1, false, __ATOMIC_ACQUIRE,
                                             __ATOMIC_RELAXED))
            return 0;
    }
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return enter(lock, false);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return enter(lock, true);
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    if (__atomic_load_n(&lock->state, __ATOMIC_RELAXED) < 0)
        __atomic_store_n(&lock->state, 0, __ATOMIC_RELEASE);
    else
        __atomic_fetch_sub(&lock->state, 1, __ATOMIC_RELEASE);
    ask3(CALL_ULOCK_WAKE, (uint64_t)&lock->state, true, 0);
    return 0;
}

/* ---- dispatch */

dispatch_semaphore_t dispatch_semaphore_create(long value)
{
    dispatch_semaphore_t s = malloc(sizeof *s);
    s->value = (int32_t)value;
    return s;
}

long dispatch_semaphore_wait(dispatch_semaphore_t semaphore, uint64_t until)
{
    for (;;) {
        int32_t is = __atomic_load_n(&semaphore->value, __ATOMIC_RELAXED);
        if (is > 0) {
            if (__atomic_compare_exchange_n(&semaphore->value, &is, is - 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return 0;
        } else if (!until) {
            return 1;
        } else {
            ask3(CALL_ULOCK_WAIT, (uint64_t)&semaphore->value, (uint32_t)is, 0);
        }
    }
}

long dispatch_semaphore_signal(dispatch_semaphore_t semaphore)
{
    __atomic_fetch_add(&semaphore->value, 1, __ATOMIC_RELEASE);
    ask3(CALL_ULOCK_WAKE, (uint64_t)&semaphore->value, 0, 0);
    return 0;
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work)
{
    os_unfair_lock_lock(&queue->lock);
    work(context);
    os_unfair_lock_unlock(&queue->lock);
}

void dispatch_once_f(long *once, void *context, dispatch_function_t work)
{
    static os_unfair_lock one_at_a_time;
    if (__atomic_load_n(once, __ATOMIC_ACQUIRE) == -1)
        return;
    os_unfair_lock_lock(&one_at_a_time);
    if (*once != -1) {
        work(context);
        __atomic_store_n(once, -1, __ATOMIC_RELEASE);
    }
    os_unfair_lock_unlock(&one_at_a_time);
}

void *objc_msgSend(void *object, const char *selector, ...)
{
    (void)selector;
    return object;
}
