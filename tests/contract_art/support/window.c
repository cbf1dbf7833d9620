#include "tests/contract_art/support/window.h"

#include "engine/capture/guard.h"
#include "tests/support/sanitizers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *_Atomic offence;

const char *window_offence(void)
{
    return atomic_exchange(&offence, NULL);
}

#if ADDRESS_SANITIZER || THREAD_SANITIZER

bool window_is_watched(void)
{
    return false;
}

#else

bool window_is_watched(void)
{
    return true;
}

static void look(const char *function)
{
    if (strobe_guard_forbids())
        offence = function;
}

/* ---- the program's functions replace the C library's; these are glibc's own names ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *p);

void *malloc(size_t bytes)
{
    look("malloc");
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    look("calloc");
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    look("realloc");
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    look("aligned_alloc");
    return __libc_memalign(alignment, bytes);
}

void free(void *p)
{
    look("free");
    __libc_free(p);
}

/* Returns true when `caller` is in libart. The runtime takes its own locks when it resumes a thread. That is safe,
 * because no thread that it has suspended holds one of them. */
static bool is_the_runtimes(void *caller)
{
    Dl_info from;
    return dladdr(caller, &from) && from.dli_fname && strstr(from.dli_fname, "libart.so");
}

static int pass_on(const char *function, void *_Atomic *real, void *lock, void *caller)
{
    if (strobe_guard_forbids() && !is_the_runtimes(caller))
        look(function);
    if (!*real)
        *real = dlsym(RTLD_NEXT, function);
    int (*call)(void *);
    *(void **)&call = *real;
    return call(lock);
}

#define WATCHED_LOCK(function, type)                                                                                   \
    int function(type *lock)                                                                                           \
    {                                                                                                                  \
        static void *_Atomic real;                                                                                     \
        return pass_on(#function, &real, lock, __builtin_return_address(0));                                           \
    }

WATCHED_LOCK(pthread_mutex_lock, pthread_mutex_t)
WATCHED_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
WATCHED_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)

#endif
