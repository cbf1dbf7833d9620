/* Stand-ins for Android's libc.so and libdl.so, over the C library of this machine: the functions that the Android
 * build of the engine calls. With them the library can be loaded and run here. Where both C libraries agree, a call
 * is passed on by a jump (PASSED, made of the lists of names against which the library is linked). Where structures
 * differ, they are translated.
 *
 * Not tested by this: Android's own linker, and differences within its C library. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#define EXPORT(name) __asm__(".symver shim_" #name ", " #name "@LIBC")

#if defined(__x86_64__)
#define JUMP(name) "jmp " #name "@PLT"
#else
#define JUMP(name) "b " #name
#endif

/* A single @: with a default version, this library's own calls would bind to its own symbol. */
#define PASS(name)                                                                                                     \
    __asm__(".text\n"                                                                                                  \
            ".globl shim_" #name "\n"                                                                                  \
            ".type shim_" #name ", %function\n"                                                                        \
            "shim_" #name ": " JUMP(name) "\n"                                                                         \
                                          ".symver shim_" #name ", " #name "@LIBC\n")

#include PASSED

#ifdef TRANSLATED

int *shim___errno(void);
EXPORT(__errno);
int *shim___errno(void)
{
    return &errno;
}

/* ---- signals: sets of one word ---- */

struct bionic_sigaction {
    int flags;
    void (*handler)(int, siginfo_t *, void *);
    uint64_t mask;
    void (*restorer)(void);
};

int shim_sigfillset(uint64_t *set);
EXPORT(sigfillset);
int shim_sigfillset(uint64_t *set)
{
    *set = UINT64_MAX;
    return 0;
}

static sigset_t wide(uint64_t set)
{
    sigset_t s;
    sigemptyset(&s);
    memcpy(&s, &set, sizeof set);
    return s;
}

int shim_sigaction(int number, const struct bionic_sigaction *action, struct bionic_sigaction *before);
EXPORT(sigaction);
int shim_sigaction(int number, const struct bionic_sigaction *action, struct bionic_sigaction *before)
{
    struct sigaction ours = {0}, was;
    if (action) {
        ours.sa_flags = action->flags;
        ours.sa_sigaction = action->handler;
        ours.sa_mask = wide(action->mask);
    }
    int status = sigaction(number, action ? &ours : NULL, &was);
    if (status == 0 && before) {
        *before = (struct bionic_sigaction){.flags = was.sa_flags, .handler = was.sa_sigaction};
        memcpy(&before->mask, &was.sa_mask, sizeof before->mask);
    }
    return status;
}

int shim_pthread_sigmask(int how, const uint64_t *set, uint64_t *before);
EXPORT(pthread_sigmask);
int shim_pthread_sigmask(int how, const uint64_t *set, uint64_t *before)
{
    sigset_t ours = wide(set ? *set : 0), was;
    int status = pthread_sigmask(how, set ? &ours : NULL, &was);
    if (status == 0 && before)
        memcpy(before, &was, sizeof *before);
    return status;
}

/* ---- threads: attributes of 56 bytes ---- */

struct bionic_attr {
    uint32_t flags;
    void *base;
    size_t size, guard;
    int32_t policy, priority;
    char reserved[16];
};

int shim_pthread_getattr_np(pthread_t thread, struct bionic_attr *out);
EXPORT(pthread_getattr_np);
int shim_pthread_getattr_np(pthread_t thread, struct bionic_attr *out)
{
    pthread_attr_t ours;
    int status = pthread_getattr_np(thread, &ours);
    if (status)
        return status;
    memset(out, 0, sizeof *out);
    pthread_attr_getstack(&ours, &out->base, &out->size);
    pthread_attr_destroy(&ours);
    return 0;
}

int shim_pthread_attr_getstack(const struct bionic_attr *a, void **base, size_t *bytes);
EXPORT(pthread_attr_getstack);
int shim_pthread_attr_getstack(const struct bionic_attr *a, void **base, size_t *bytes)
{
    *base = a->base;
    *bytes = a->size;
    return 0;
}

int shim_pthread_attr_destroy(struct bionic_attr *a);
EXPORT(pthread_attr_destroy);
int shim_pthread_attr_destroy(struct bionic_attr *a)
{
    memset(a, 0, sizeof *a);
    return 0;
}

/* The engine passes no attributes for its own threads. */
int shim_pthread_create(pthread_t *thread, const struct bionic_attr *a, void *(*entry)(void *), void *arg);
EXPORT(pthread_create);
int shim_pthread_create(pthread_t *thread, const struct bionic_attr *a, void *(*entry)(void *), void *arg)
{
    return a ? EINVAL : pthread_create(thread, NULL, entry, arg);
}

#endif
