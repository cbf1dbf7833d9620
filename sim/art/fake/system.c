#include "sim/art/fake/fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct fake_mutex), "room for a mutex");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(struct fake_cond), "room for a condition");

enum { NANOSECONDS = 1000000000 };

static pthread_mutex_t *mutex(struct fake_mutex *m) { return (pthread_mutex_t *)(void *)m->space; }
static pthread_cond_t *condition(struct fake_cond *c) { return (pthread_cond_t *)(void *)c->space; }

void fake_mutex_init(struct fake_mutex *m) { FAKE_CHECK(pthread_mutex_init(mutex(m), NULL) == 0); }
void fake_mutex_lock(struct fake_mutex *m) { FAKE_CHECK(pthread_mutex_lock(mutex(m)) == 0); }
bool fake_mutex_trylock(struct fake_mutex *m) { return pthread_mutex_trylock(mutex(m)) == 0; }
void fake_mutex_unlock(struct fake_mutex *m) { FAKE_CHECK(pthread_mutex_unlock(mutex(m)) == 0); }

void fake_cond_init(struct fake_cond *c)
{
    pthread_condattr_t a;
    FAKE_CHECK(pthread_condattr_init(&a) == 0 && pthread_condattr_setclock(&a, CLOCK_MONOTONIC) == 0);
    FAKE_CHECK(pthread_cond_init(condition(c), &a) == 0);
    pthread_condattr_destroy(&a);
}

bool fake_cond_wait(struct fake_cond *c, struct fake_mutex *m, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX)
        return pthread_cond_wait(condition(c), mutex(m)) == 0;
    struct timespec t = {.tv_sec = (time_t)(deadline_ns / NANOSECONDS), .tv_nsec = (long)(deadline_ns % NANOSECONDS)};
    return pthread_cond_timedwait(condition(c), mutex(m), &t) == 0;
}

void fake_cond_signal(struct fake_cond *c) { pthread_cond_signal(condition(c)); }
void fake_cond_broadcast(struct fake_cond *c) { pthread_cond_broadcast(condition(c)); }

uint64_t fake_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NANOSECONDS + (uint64_t)t.tv_nsec;
}

/* ---- threads ---- */

struct entry { void (*run)(void *); void *arg; };

static void *enter(void *e)
{
    struct entry entry = *(struct entry *)e;
    free(e);
    entry.run(entry.arg);
    return NULL;
}

bool fake_system_thread(void (*run)(void *), void *arg, size_t stack_bytes)
{
    pthread_attr_t a;
    pthread_t thread;
    struct entry *entry = malloc(sizeof *entry);
    if (!entry)
        return false;
    *entry = (struct entry){run, arg};
    FAKE_CHECK(pthread_attr_init(&a) == 0 && pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED) == 0);
    FAKE_CHECK(pthread_attr_setstacksize(&a, stack_bytes) == 0);
    int failed = pthread_create(&thread, &a, enter, entry);
    pthread_attr_destroy(&a);
    if (failed)
        free(entry);
    return !failed;
}

uint32_t fake_tid(void) { return (uint32_t)syscall(SYS_gettid); }

_Noreturn void fake_check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
    abort();
}
