/* What the capture half uses of Darwin's <pthread.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_PTHREAD_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_PTHREAD_H

#include <mach/mach.h>
#include <sys/types.h>
#include <time.h>

typedef struct _opaque_pthread_t *pthread_t;
typedef unsigned long pthread_key_t;
typedef struct {
    long __sig;
    char __opaque[56];
} pthread_attr_t, pthread_mutex_t;
typedef struct {
    long __sig;
    char __opaque[40];
} pthread_cond_t;
typedef struct {
    long __sig;
    char __opaque[192];
} pthread_rwlock_t;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *arg);
int pthread_join(pthread_t thread, void **result);
int pthread_detach(pthread_t thread);
pthread_t pthread_self(void);
int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
int pthread_equal(pthread_t a, pthread_t b);
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock);
int pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int pthread_rwlock_unlock(pthread_rwlock_t *lock);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int pthread_cond_signal(pthread_cond_t *condition);
int pthread_cond_broadcast(pthread_cond_t *condition);

/* Extensions of POSIX; see pthread_np.h. */
mach_port_t pthread_mach_thread_np(pthread_t thread);
int pthread_threadid_np(pthread_t thread, uint64_t *thread_id);
void *pthread_get_stackaddr_np(pthread_t thread);
size_t pthread_get_stacksize_np(pthread_t thread);
int pthread_main_np(void);
int pthread_setname_np(const char *name); /* names the calling thread */
int pthread_getname_np(pthread_t thread, char *out, size_t bytes);
pthread_t pthread_from_mach_thread_np(mach_port_t thread);
int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                       const struct timespec *how_long);

#endif
