#include "sim/kernel/kernel.h"
#include "sim/player/virtual/posix.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_posix_thread *threads, **end = &threads;
static void (*key_ends[SIM_POSIX_KEYS])(void *);
static unsigned key_count;

struct sim_posix_thread *sim_posix_self(void)
{
    return sim_self()->user;
}

/* Calls the destructors of keys at a thread's end. Repeats up to four times while a destructor may have set a value, as
 * the C library does. */
static void run_key_destructors(struct sim_posix_thread *t)
{
    enum { ROUNDS = 4 };
    bool some = true;
    for (int round = 0; round < ROUNDS && some; round++) {
        some = false;
        for (unsigned k = 0; k < key_count; k++) {
            void *value = t->values[k];
            t->values[k] = NULL;
            if (value && key_ends[k]) {
                key_ends[k](value);
                some = true;
            }
        }
    }
}

static void posix_thread_entry(void *p)
{
    struct sim_posix_thread *t = p;
    t->run(t->arg);
    run_key_destructors(t);
}

struct sim_posix_thread *sim_posix_start(void *(*run)(void *), void *arg)
{
    struct sim_posix_thread *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct sim_posix_thread){.run = run, .arg = arg};
    snprintf(t->name, sizeof t->name, "%s", threads ? sim_posix_self()->name : "strobe");
    struct sim_thread_options options = {.name = t->name, .entry = posix_thread_entry, .arg = t, .user = t};
    t->thread = sim_thread_start(sim_kernel_current, &options);
    if (!t->thread) {
        free(t);
        return NULL;
    }
    *end = t;
    end = &t->next;
    return t;
}

struct sim_posix_thread *sim_posix_thread_of(uint32_t tid)
{
    for (struct sim_posix_thread *t = threads; t; t = t->next)
        if (t->thread->tid == tid)
            return t->thread->state == SIM_ENDED ? NULL : t;
    return NULL;
}

struct sim_posix_thread *sim_posix_threads(void)
{
    return threads;
}

uint64_t sim_posix_voluntary(const struct sim_posix_thread *t)
{
    return t->thread->voluntary_switches + t->yields;
}

uint64_t sim_posix_cpu_ns(void)
{
    uint64_t sum = 0;
    for (const struct sim_posix_thread *t = threads; t; t = t->next)
        sum += sim_cpu_ns(t->thread);
    return sum;
}

/* ---- pthreads */

int sim_posix_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
    (void)attributes;
    struct sim_posix_thread *t = sim_posix_start(run, arg);
    if (!t)
        return EAGAIN;
    *out = (pthread_t)(uintptr_t)t;
    return 0;
}

int sim_posix_join(pthread_t thread, void **result)
{
    (void)result;
    sim_join(((struct sim_posix_thread *)(uintptr_t)thread)->thread);
    return 0;
}

pthread_t sim_posix_self_id(void)
{
    return (pthread_t)(uintptr_t)sim_posix_self();
}

int sim_posix_setname(pthread_t thread, const char *name)
{
    struct sim_posix_thread *t = (struct sim_posix_thread *)(uintptr_t)thread;
    if (strlen(name) >= sizeof t->name)
        return ERANGE;
    strcpy(t->name, name);
    return 0;
}

int sim_posix_getname(pthread_t thread, char *out, size_t bytes)
{
    const struct sim_posix_thread *t = (const struct sim_posix_thread *)(uintptr_t)thread;
    if (strlen(t->name) >= bytes)
        return ERANGE;
    strcpy(out, t->name);
    return 0;
}

/* Works for the calling thread only. */
int sim_posix_getattr(pthread_t thread, pthread_attr_t *attributes)
{
    size_t bytes;
    void *low = sim_stack(&bytes);
    int error = thread == sim_posix_self_id() ? pthread_attr_init(attributes) : ESRCH;
    return error ? error : pthread_attr_setstack(attributes, low, bytes);
}

int sim_posix_key_create(pthread_key_t *key, void (*end_of)(void *))
{
    if (key_count == SIM_POSIX_KEYS)
        return EAGAIN;
    key_ends[key_count] = end_of;
    *key = key_count++;
    return 0;
}

int sim_posix_setspecific(pthread_key_t key, const void *value)
{
    sim_posix_self()->values[key] = (void *)(uintptr_t)value;
    return 0;
}

void *sim_posix_getspecific(pthread_key_t key)
{
    return sim_posix_self()->values[key];
}

/* ---- Linux */

int sim_posix_prctl(int option, ...)
{
    va_list more;
    va_start(more, option);
    char *name = va_arg(more, char *);
    va_end(more);
    struct sim_posix_thread *t = sim_posix_self();
    if (option == PR_GET_NAME)
        snprintf(name, 16, "%.15s", t->name);
    else if (option == PR_SET_NAME)
        snprintf(t->name, sizeof t->name, "%.15s", name);
    else
        errno = EINVAL;
    return option == PR_GET_NAME || option == PR_SET_NAME ? 0 : -1;
}

int sim_posix_setpriority(int which, int who, int nice)
{
    const struct sim_posix_thread *t = sim_posix_thread_of((uint32_t)who);
    if (which != PRIO_PROCESS || !t) {
        errno = ESRCH;
        return -1;
    }
    sim_renice(t->thread, nice);
    return 0;
}
