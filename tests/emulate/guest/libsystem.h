/* The guest's libSystem: the functions of Darwin's C library, loader, threads and dispatch that the library under
 * test and the test apps call. They are real code on the emulated processor, over the calls of
 * tests/emulate/calls.h. So a thread can be stopped at any of their instructions, also while it holds the
 * allocator's lock.
 *
 * Names and types are Darwin's. A lock that is taken holds the port of its owner, and a thread that sleeps on it
 * passes this port to the kernel, as with Darwin's unfair lock. So the host knows which thread waits for which. */
#ifndef STROBE_EMULATE_GUEST_LIBSYSTEM_H
#define STROBE_EMULATE_GUEST_LIBSYSTEM_H

#include "tests/emulate/calls.h"

#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory and text */

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
void bzero(void *to, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
void *memchr(const void *in, int byte, size_t bytes);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t most);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
char *strchr(const char *text, int byte);
char *strrchr(const char *text, int byte);
char *strstr(const char *text, const char *part);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void free(void *block);
size_t malloc_size(const void *block);
typedef void malloc_logger_t(uint32_t type, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t result, uint32_t skip);
extern malloc_logger_t *malloc_logger, *__syscall_logger;

/* ---- locks */

typedef struct {
    uint32_t word;
} os_unfair_lock;
void os_unfair_lock_lock(os_unfair_lock *lock);
bool os_unfair_lock_trylock(os_unfair_lock *lock);
void os_unfair_lock_unlock(os_unfair_lock *lock);

struct timespec {
    long tv_sec, tv_nsec;
};
typedef struct {
    long sig;
    os_unfair_lock lock;
    uint32_t depth, recursive;
    uint64_t rest[5];
} pthread_mutex_t;
typedef struct {
    long sig;
    uint32_t turn;
    uint64_t rest[4];
} pthread_cond_t;
typedef struct {
    long sig;
    int32_t state;
    uint64_t rest[23];
} pthread_rwlock_t;
typedef struct {
    long sig;
    uint32_t type;
    uint64_t rest;
} pthread_mutexattr_t;
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_cond_init(pthread_cond_t *condition, const void *attributes);
int pthread_cond_destroy(pthread_cond_t *condition);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time);
int pthread_cond_signal(pthread_cond_t *condition);
int pthread_cond_broadcast(pthread_cond_t *condition);
int pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int pthread_rwlock_unlock(pthread_rwlock_t *lock);

/* ---- threads */

enum { SPECIFIC_KEYS = 256 };
typedef struct emulated_thread *pthread_t;
typedef struct {
    long sig;
    uint64_t detached, stack_bytes, rest[5];
} pthread_attr_t;
typedef unsigned long pthread_key_t;
struct emulated_thread {
    void *(*entry)(void *);
    void *argument, *result;
    uint32_t port, ended, taken, detached;
    uint64_t stack_low, stack_bytes, id;
    void *specific[SPECIFIC_KEYS];
    int error;
};
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);
int pthread_detach(pthread_t thread);
_Noreturn void pthread_exit(void *result);
pthread_t pthread_self(void);
int pthread_equal(pthread_t a, pthread_t b);
int pthread_main_np(void);
mach_port_t pthread_mach_thread_np(pthread_t thread);
pthread_t pthread_from_mach_thread_np(mach_port_t port);
int pthread_threadid_np(pthread_t thread, uint64_t *id);
void *pthread_get_stackaddr_np(pthread_t thread);
size_t pthread_get_stacksize_np(pthread_t thread);
int pthread_setname_np(const char *name);
int pthread_getname_np(pthread_t thread, char *out, size_t bytes);
int pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int pthread_key_delete(pthread_key_t key);
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);
int pthread_attr_init(pthread_attr_t *attributes);
int pthread_attr_destroy(pthread_attr_t *attributes);
int pthread_attr_setdetachstate(pthread_attr_t *attributes, int state);
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes);
typedef void (*pthread_introspection_hook_t)(unsigned event, pthread_t thread, void *address, size_t bytes);
pthread_introspection_hook_t pthread_introspection_hook_install(pthread_introspection_hook_t hook);
int pthread_sigmask(int how, const uint32_t *set, uint32_t *old);
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __cxa_atexit(void (*f)(void *), void *argument, void *image);
int sched_yield(void);

/* ---- the process, files, time */

int *__error(void);
_Noreturn void exit(int status);
_Noreturn void abort(void);
char *getenv(const char *name);
int getpid(void);
int open(const char *path, int flags, ...);
int close(int fd);
long pread(int fd, void *to, size_t bytes, int64_t offset);
long write(int fd, const void *from, size_t bytes);
int ftruncate(int fd, int64_t bytes);
int fcntl(int fd, int command, ...);
int unlink(const char *path);
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, int64_t offset);
int munmap(void *at, size_t bytes);
int mprotect(void *at, size_t bytes, int protection);
int madvise(void *at, size_t bytes, int advice);
int puts(const char *text);
int usleep(unsigned us);
int nanosleep(const struct timespec *time, struct timespec *rest);
int clock_gettime(int clock, struct timespec *out);
uint64_t clock_gettime_nsec_np(int clock);

/* ---- dispatch, loader */

typedef struct emulated_queue {
    os_unfair_lock lock;
} * dispatch_queue_t;
typedef struct emulated_semaphore {
    int32_t value;
} * dispatch_semaphore_t;
typedef void (*dispatch_function_t)(void *context);
dispatch_semaphore_t dispatch_semaphore_create(long value);
long dispatch_semaphore_wait(dispatch_semaphore_t semaphore, uint64_t until);
long dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_once_f(long *once, void *context, dispatch_function_t work);
void *objc_msgSend(void *object, const char *selector, ...);
void *dlsym(void *handle, const char *name);
void dyld_stub_binder(void) __asm__("dyld_stub_binder");

/* ---- system calls */

static inline uint64_t ask(enum emulated_call call, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                           uint64_t f)
{
    register uint64_t x16 __asm__("x16") = call;
    register uint64_t x0 __asm__("x0") = a;
    register uint64_t x1 __asm__("x1") = b;
    register uint64_t x2 __asm__("x2") = c;
    register uint64_t x3 __asm__("x3") = d;
    register uint64_t x4 __asm__("x4") = e;
    register uint64_t x5 __asm__("x5") = f;
    __asm__ volatile("svc #0x80" : "+r"(x0) : "r"(x16), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}

static inline uint64_t ask3(enum emulated_call call, uint64_t a, uint64_t b, uint64_t c)
{
    return ask(call, a, b, c, 0, 0, 0);
}

/* Converts the answer of a POSIX call: a negative one sets errno and gives -1. */
static inline int64_t posix(uint64_t answer)
{
    if ((int64_t)answer >= 0)
        return (int64_t)answer;
    *__error() = (int)-(int64_t)answer;
    return -1;
}

#endif
