#include "tests/deadlock/plants.h"

#include <stddef.h>

#if defined(__APPLE__)
#include "tests/emulate/guest/libsystem.h"

static dispatch_queue_t some_queue(void)
{
    static struct emulated_queue queue;
    return &queue;
}
#else
#include "sim/fake/mach/app.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the guard only: this machine has no such function. */
void *objc_msgSend(void *object, const char *selector, ...);

static dispatch_queue_t some_queue(void)
{
    return dispatch_get_global_queue(0, 0);
}
#endif

static void nothing(void *context)
{
    (void)context;
}

static void *no_thread(void *argument)
{
    return argument;
}

/* Objects as static initializers leave them. */
static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static os_unfair_lock lock;
static dispatch_queue_t queue;
static dispatch_semaphore_t semaphore;
static void *volatile block;

static void plant_malloc(void)
{
    block = malloc(64);
}
static void plant_calloc(void)
{
    block = calloc(1, 64);
}
static void plant_realloc(void)
{
    block = realloc(block, 64);
}
static void plant_free(void)
{
    free(block);
}
static void plant_mutex(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}
static void plant_rwlock(void)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
}
static void plant_unfair(void)
{
    os_unfair_lock_lock(&lock);
    os_unfair_lock_unlock(&lock);
}
static void plant_puts(void)
{
    puts("in the window");
}
static void plant_objc(void)
{
    objc_msgSend(NULL, "description");
}
static void plant_dlsym(void)
{
    block = dlsym(NULL, "malloc");
}
static void plant_image_name(void)
{
    _dyld_get_image_name(0);
}
static void plant_create(void)
{
    pthread_t t;
    pthread_create(&t, NULL, no_thread, NULL);
}
static void plant_dispatch(void)
{
    dispatch_sync_f(queue, NULL, nothing);
}
static void plant_semaphore(void)
{
    dispatch_semaphore_wait(semaphore, 0);
}

static void plant_list(void)
{
    thread_act_array_t threads;
    mach_msg_type_number_t count;
    task_threads(mach_task_self(), &threads, &count);
}

static const struct plant {
    const char *name;
    void (*call)(void);
} plants[] = {
    {"malloc", plant_malloc},
    {"calloc", plant_calloc},
    {"realloc", plant_realloc},
    {"free", plant_free},
    {"pthread_mutex_lock", plant_mutex},
    {"pthread_rwlock_rdlock", plant_rwlock},
    {"os_unfair_lock_lock", plant_unfair},
    {"puts", plant_puts},
    {"objc_msgSend", plant_objc},
    {"dlsym", plant_dlsym},
    {"_dyld_get_image_name", plant_image_name},
    {"pthread_create", plant_create},
    {"dispatch_sync_f", plant_dispatch},
    {"dispatch_semaphore_wait", plant_semaphore},
    {"task_threads", plant_list},
};

void planted_mutex_hold(void)
{
    pthread_mutex_lock(&mutex);
}

void planted_mutex_free(void)
{
    pthread_mutex_unlock(&mutex);
}

static void (*chosen)(void);

void planted_choose(void)
{
    const char *name = getenv("STROBE_PLANT");
    for (size_t i = 0; name && i < sizeof plants / sizeof plants[0]; i++)
        if (!strcmp(name, plants[i].name))
            chosen = plants[i].call;
    if (name && !chosen)
        abort();
    queue = some_queue();
    semaphore = dispatch_semaphore_create(1);
}

void planted_call(void)
{
    if (chosen)
        chosen();
}

/* Replaces the call in the library's own code, so that this library makes the planted call. */
kern_return_t planted_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                                mach_msg_type_number_t *count)
{
    planted_call();
    return thread_get_state(thread, flavor, state, count);
}
