/* The system for real threads, as Android has it. */
#include "sim/fake/art/system.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct fake_mutex), "room for a mutex");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(struct fake_cond), "room for a condition");

enum { NANOSECONDS = 1000000000 };

static pthread_mutex_t *posix_mutex(struct fake_mutex *m)
{
    return (pthread_mutex_t *)(void *)m->space;
}
static pthread_cond_t *posix_condition(struct fake_cond *c)
{
    return (pthread_cond_t *)(void *)c->space;
}

/* Checks a call that can fail only by an error of the fake. */
static void posix_must(bool done)
{
    if (!done)
        abort();
}

static void mutex_init(struct fake_mutex *m)
{
    posix_must(pthread_mutex_init(posix_mutex(m), NULL) == 0);
}
static void posix_mutex_lock(struct fake_mutex *m)
{
    posix_must(pthread_mutex_lock(posix_mutex(m)) == 0);
}
static bool posix_mutex_trylock(struct fake_mutex *m)
{
    return pthread_mutex_trylock(posix_mutex(m)) == 0;
}
static void posix_mutex_unlock(struct fake_mutex *m)
{
    posix_must(pthread_mutex_unlock(posix_mutex(m)) == 0);
}

static void cond_init(struct fake_cond *c)
{
    pthread_condattr_t a;
    posix_must(pthread_condattr_init(&a) == 0 && pthread_condattr_setclock(&a, CLOCK_MONOTONIC) == 0);
    posix_must(pthread_cond_init(posix_condition(c), &a) == 0);
    pthread_condattr_destroy(&a);
}

static bool posix_cond_wait(struct fake_cond *c, struct fake_mutex *m, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX)
        return pthread_cond_wait(posix_condition(c), posix_mutex(m)) == 0;
    struct timespec t = {.tv_sec = (time_t)(deadline_ns / NANOSECONDS), .tv_nsec = (long)(deadline_ns % NANOSECONDS)};
    return pthread_cond_timedwait(posix_condition(c), posix_mutex(m), &t) == 0;
}

static void posix_cond_signal(struct fake_cond *c)
{
    pthread_cond_signal(posix_condition(c));
}
static void posix_cond_broadcast(struct fake_cond *c)
{
    pthread_cond_broadcast(posix_condition(c));
}

static uint64_t posix_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NANOSECONDS + (uint64_t)t.tv_nsec;
}

/* ---- threads ---- */

struct entry {
    void (*run)(void *);
    void *arg;
};

static void *posix_thread_main(void *e)
{
    struct entry entry = *(struct entry *)e;
    free(e);
    entry.run(entry.arg);
    return NULL;
}

static bool posix_start_thread(void (*run)(void *), void *arg, size_t stack_bytes)
{
    pthread_attr_t a;
    pthread_t thread;
    struct entry *entry = malloc(sizeof *entry);
    if (!entry)
        return false;
    *entry = (struct entry){run, arg};
    posix_must(pthread_attr_init(&a) == 0 && pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED) == 0);
    posix_must(pthread_attr_setstacksize(&a, stack_bytes) == 0);
    int failed = pthread_create(&thread, &a, posix_thread_main, entry);
    pthread_attr_destroy(&a);
    if (failed)
        free(entry);
    return !failed;
}

static uint32_t posix_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}
static void posix_yield(void)
{
    sched_yield();
}
static void set_name(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

static uintptr_t stack_low(void)
{
    pthread_attr_t a;
    void *low = NULL;
    size_t bytes;
    posix_must(pthread_getattr_np(pthread_self(), &a) == 0 && pthread_attr_getstack(&a, &low, &bytes) == 0);
    pthread_attr_destroy(&a);
    return (uintptr_t)low;
}

const struct fake_system fake_pthreads = {
    .mutex_init = mutex_init,
    .mutex_lock = posix_mutex_lock,
    .mutex_trylock = posix_mutex_trylock,
    .mutex_unlock = posix_mutex_unlock,
    .cond_init = cond_init,
    .cond_wait = posix_cond_wait,
    .cond_signal = posix_cond_signal,
    .cond_broadcast = posix_cond_broadcast,
    .now_ns = posix_now_ns,
    .start_thread = posix_start_thread,
    .tid = posix_tid,
    .yield = posix_yield,
    .set_name = set_name,
    .stack_low = stack_low,
};
