/* What the capture half uses of Android's <pthread.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_PTHREAD_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_PTHREAD_H

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

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

#endif
