/* The first word of a C library object (such as pthread_mutex_t) is a pointer to the virtual kernel's object. It is 0
 * before the first use: static initializers leave it so. */
#include "sim/kernel/kernel.h"
#include "sim/player/virtual/posix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *create_posix_object(void *space, size_t bytes)
{
    void *object = calloc(1, bytes);
    if (!object) {
        fputs("out of memory\n", stderr);
        abort();
    }
    memcpy(space, &object, sizeof object);
    return object;
}

static void *posix_object_in(void *space, size_t bytes)
{
    void *object;
    memcpy(&object, space, sizeof object);
    return object ? object : create_posix_object(space, bytes);
}

static struct sim_mutex *posix_mutex_of(pthread_mutex_t *m)
{
    return posix_object_in(m, sizeof(struct sim_mutex));
}
static struct sim_cond *posix_cond_of(pthread_cond_t *c)
{
    return posix_object_in(c, sizeof(struct sim_cond));
}
static struct sim_rwlock *posix_rwlock_of(pthread_rwlock_t *l)
{
    return posix_object_in(l, sizeof(struct sim_rwlock));
}
static struct sim_sem *posix_sem_of(sem_t *s)
{
    return posix_object_in(s, sizeof(struct sim_sem));
}

/* ---- mutexes */

int sim_posix_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes)
{
    struct sim_mutex *object = create_posix_object(m, sizeof *object);
    int type = PTHREAD_MUTEX_NORMAL;
    if (attributes)
        pthread_mutexattr_gettype(attributes, &type);
    object->recursive = type == PTHREAD_MUTEX_RECURSIVE;
    object->name = "a mutex";
    return 0;
}

int sim_posix_mutex_lock(pthread_mutex_t *m)
{
    sim_mutex_lock(posix_mutex_of(m));
    return 0;
}

int sim_posix_mutex_trylock(pthread_mutex_t *m)
{
    return sim_mutex_trylock(posix_mutex_of(m)) ? 0 : EBUSY;
}

int sim_posix_mutex_unlock(pthread_mutex_t *m)
{
    sim_mutex_unlock(posix_mutex_of(m));
    sim_leave_kernel();
    return 0;
}

/* ---- conditions, with CLOCK_MONOTONIC */

int sim_posix_cond_init(pthread_cond_t *c, const pthread_condattr_t *attributes)
{
    (void)attributes;
    struct sim_cond *object = create_posix_object(c, sizeof *object);
    object->name = "a condition";
    return 0;
}

int sim_posix_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    sim_cond_wait(posix_cond_of(c), posix_mutex_of(m), UINT64_MAX);
    return 0;
}

int sim_posix_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    uint64_t left = sim_posix_left_ns(until);
    if (left == 0)
        return ETIMEDOUT;
    return sim_cond_wait(posix_cond_of(c), posix_mutex_of(m), left) == SIM_WAKE_TIMEOUT ? ETIMEDOUT : 0;
}

int sim_posix_cond_signal(pthread_cond_t *c)
{
    sim_cond_notify(posix_cond_of(c));
    sim_leave_kernel();
    return 0;
}

int sim_posix_cond_broadcast(pthread_cond_t *c)
{
    sim_cond_notify_all(posix_cond_of(c));
    sim_leave_kernel();
    return 0;
}

/* ---- locks of readers and writers */

int sim_posix_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes)
{
    (void)attributes;
    struct sim_rwlock *object = create_posix_object(l, sizeof *object);
    object->name = "a readers' lock";
    return 0;
}

int sim_posix_rwlock_rdlock(pthread_rwlock_t *l)
{
    sim_rwlock_read(posix_rwlock_of(l));
    return 0;
}

int sim_posix_rwlock_tryrdlock(pthread_rwlock_t *l)
{
    return sim_rwlock_try_read(posix_rwlock_of(l)) ? 0 : EBUSY;
}

int sim_posix_rwlock_trywrlock(pthread_rwlock_t *l)
{
    if (!sim_rwlock_try_write(posix_rwlock_of(l)))
        return EBUSY;
    l->__data.__cur_writer = 1;
    return 0;
}

int sim_posix_rwlock_wrlock(pthread_rwlock_t *l)
{
    sim_rwlock_write(posix_rwlock_of(l));
    l->__data.__cur_writer = 1; /* the engine reads it */
    return 0;
}

int sim_posix_rwlock_unlock(pthread_rwlock_t *l)
{
    l->__data.__cur_writer = 0;
    sim_rwlock_unlock(posix_rwlock_of(l));
    sim_leave_kernel();
    return 0;
}

/* ---- semaphores */

int sim_posix_sem_init(sem_t *s, int shared, unsigned value)
{
    (void)shared;
    struct sim_sem *object = create_posix_object(s, sizeof *object);
    object->name = "a semaphore";
    object->count = value;
    return 0;
}

int sim_posix_sem_wait(sem_t *s)
{
    sim_sem_wait(posix_sem_of(s), UINT64_MAX);
    return 0;
}

int sim_posix_sem_trywait(sem_t *s)
{
    if (sim_sem_try(posix_sem_of(s)))
        return 0;
    errno = EAGAIN;
    return -1;
}

int sim_posix_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
    (void)clock;
    uint64_t left = sim_posix_left_ns(until);
    if (left == 0 ? sim_sem_try(posix_sem_of(s)) : sim_sem_wait(posix_sem_of(s), left) != SIM_WAKE_TIMEOUT)
        return 0;
    errno = ETIMEDOUT;
    return -1;
}

int sim_posix_sem_post(sem_t *s)
{
    sim_sem_post(posix_sem_of(s));
    sim_leave_kernel();
    return 0;
}

int sim_posix_sem_getvalue(sem_t *s, int *value)
{
    *value = (int)posix_sem_of(s)->count;
    return 0;
}
