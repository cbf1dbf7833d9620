/* What the capture half uses of Android's <pthread.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_PTHREAD_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_PTHREAD_H

#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

typedef struct {
    uint32_t flags;
    void *stack_base;
    size_t stack_size, guard_size;
    int32_t sched_policy, sched_priority;
#ifdef __LP64__
    char reserved[16];
#endif
} pthread_attr_t;
typedef int pthread_key_t;
#ifdef __LP64__
typedef struct {
    int32_t opaque[10];
} pthread_mutex_t;
typedef struct {
    int32_t opaque[12];
} pthread_cond_t;
typedef struct {
    int32_t opaque[14];
} pthread_rwlock_t;
typedef struct {
    int64_t opaque[4];
} pthread_barrier_t;
#else
typedef struct {
    int32_t opaque[1];
} pthread_mutex_t, pthread_cond_t;
typedef struct {
    int32_t opaque[10];
} pthread_rwlock_t;
typedef struct {
    int32_t opaque[8];
} pthread_barrier_t;
#endif

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *arg);
int pthread_join(pthread_t thread, void **result);
int pthread_detach(pthread_t thread);
pthread_t pthread_self(void);
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);
int pthread_attr_init(pthread_attr_t *attributes);
int pthread_attr_destroy(pthread_attr_t *attributes);
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes);
int pthread_attr_getstack(const pthread_attr_t *attributes, void **base, size_t *bytes);
int pthread_setname_np(pthread_t thread, const char *name);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);

int pthread_mutex_lock(pthread_mutex_t *m);
int pthread_mutex_trylock(pthread_mutex_t *m);
int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until);
int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until); /* from 30 on */
int pthread_mutex_unlock(pthread_mutex_t *m);
int pthread_rwlock_rdlock(pthread_rwlock_t *l);
int pthread_rwlock_tryrdlock(pthread_rwlock_t *l);
int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until);
int pthread_rwlock_wrlock(pthread_rwlock_t *l);
int pthread_rwlock_trywrlock(pthread_rwlock_t *l);
int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until);
int pthread_rwlock_unlock(pthread_rwlock_t *l);
int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                           const struct timespec *until); /* from 30 on */
int pthread_cond_signal(pthread_cond_t *c);
int pthread_cond_broadcast(pthread_cond_t *c);
int pthread_barrier_wait(pthread_barrier_t *b);

/* The C library has no pthread_atfork for libraries. The last argument identifies the library, which the linker
 * knows as __dso_handle. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);
extern char __dso_handle __attribute__((visibility("hidden")));

static inline int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return __register_atfork(prepare, parent, child, &__dso_handle);
}

#endif
