/* The real functions behind the hooks, which the program would have called without Strobe. They are found by
 * dlsym(RTLD_NEXT), or by dlsym(RTLD_DEFAULT) in an attached library, which the dynamic linker does not search. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_REAL_H
#define STROBE_BACKEND_LINUX_PRELOAD_REAL_H

#include "engine/backend/common/libc/originals.h"
#include "engine/base/hint.h"

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

struct strobe_real {
    bool found;
    /* hooks_libc.c */
    STROBE_LIBC_HOOKED(STROBE_LIBC_POINTER)
    STROBE_LIBC_TRIES(STROBE_LIBC_POINTER)
    /* hooks_alloc.c */
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    /* hooks_time.c */
    int (*clock_gettime)(clockid_t, struct timespec *);
    int (*gettimeofday)(struct timeval *, void *);
    /* hooks_thread.c */
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_setname_np)(pthread_t, const char *);
    int (*prctl)(int, ...);
    /* hooks_signal.c */
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    /* The C library's __sigaction, which no runtime replaces. ThreadSanitizer's sigaction installs a handler that calls
     * the wanted one later, in the thread's next call of a function that the runtime replaces. It keeps one signal of a
     * number and drops others. */
    int (*libc_sigaction)(int, const struct sigaction *, struct sigaction *);
    void (*(*signal)(int, void (*)(int)))(int);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigsuspend)(const sigset_t *);
    int (*pause)(void);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
    /* hooks_process.c, hooks_jump.S */
    void *(*dlopen)(const char *, int);
    int (*dlclose)(void *);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    void (*_exit)(int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
};

extern struct strobe_real strobe_real_table;

/* The library was loaded into a running program: the real functions are those that a new library of the program would
 * find (RTLD_DEFAULT). Before the first lookup. */
void strobe_real_is_attached(void);

/* Returns the real function of this name. NULL: the C library has none, or it has no hook. After the lookup. */
void *strobe_real_named(const char *name);

/* Looks up all real functions. Meanwhile a small static buffer serves allocations. */
void strobe_real_find(void);

static inline struct strobe_real *strobe_real(void)
{
    if (strobe_unlikely(!strobe_real_table.found))
        strobe_real_find();
    return &strobe_real_table;
}

#endif
