/* Declarations of Darwin's extensions of POSIX threads, written from Apple's public pthread.h and
 * pthread/introspection.h. On Darwin, <pthread.h> declares those of pthread.h. Elsewhere the lab's fake (sim/fake/mach)
 * implements the functions. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_PTHREAD_NP_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_PTHREAD_NP_H

#include <mach/mach.h>
#include <pthread.h>

/* Darwin's pthread_setname_np names the calling thread. Elsewhere a function of that name has another form. */
#ifdef __APPLE__
#define pthread_setname_self_np pthread_setname_np
#else
int pthread_setname_self_np(const char *name);
mach_port_t pthread_mach_thread_np(pthread_t thread);           /* the caller gets no right */
int pthread_threadid_np(pthread_t thread, uint64_t *thread_id); /* 0 = the calling thread */
void *pthread_get_stackaddr_np(pthread_t thread);               /* the high end of the stack */
size_t pthread_get_stacksize_np(pthread_t thread);
int pthread_main_np(void);                                 /* 1: the caller is the main thread */
pthread_t pthread_from_mach_thread_np(mach_port_t thread); /* NULL: no pthread of the task. Takes a lock */
int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                       const struct timespec *how_long);
#endif

/* The thread itself calls the hook with START before its function runs, and with TERMINATE when all its code has run.
 * Its stack is certain to be mapped only between these two calls. */
enum {
    PTHREAD_INTROSPECTION_THREAD_CREATE = 1,
    PTHREAD_INTROSPECTION_THREAD_START,
    PTHREAD_INTROSPECTION_THREAD_TERMINATE,
    PTHREAD_INTROSPECTION_THREAD_DESTROY,
};
typedef void (*pthread_introspection_hook_t)(unsigned event, pthread_t thread, void *address, size_t bytes);
pthread_introspection_hook_t pthread_introspection_hook_install(pthread_introspection_hook_t hook); /* the previous */

#endif
