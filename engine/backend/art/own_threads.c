#include "engine/backend/art/own_threads.h"

#include "engine/capture/sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NOT_YET, RUNS, FAILED, ENDED };               /* state of one of them */
enum { WAIT_TRIES = 5000, WAIT_NS = 1000 * 1000 };   /* for one to begin or end: 5 s */
enum { WATCH_NS = 50 * 1000 * 1000 };                /* between two looks of the watchdog */

struct own {
    const char *name;
    void (*work)(void);
    pthread_t thread;
    strobe_a32 state;
    bool there;
};

static struct strobe_sampler sampler;
static strobe_a32 watchdog_stop;

static void pause_ns(long ns)
{
    struct timespec t = {0, ns};
    syscall(SYS_nanosleep, &t, NULL);
}

static void sample(void)
{
    strobe_sampler_init(&sampler, &strobe_art.engine, (uint32_t)syscall(SYS_gettid));
    strobe_sampler_run(&sampler);
}

static void watch(void)
{
    while (!strobe_load_relaxed(&watchdog_stop)) {
        pause_ns(WATCH_NS);
        strobe_art_host_watch(&strobe_art.host);
    }
}

static struct own owns[] = {{.name = "strobe-watchdog", .work = watch}, {.name = "strobe-sampler", .work = sample}};
enum { OWNS = sizeof owns / sizeof owns[0] };

static bool attach(const char *name)
{
    struct strobe_jni *env;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, name, NULL};
    int32_t (*call)(struct strobe_jvm *, struct strobe_jni **, void *) =
        (int32_t (*)(struct strobe_jvm *, struct strobe_jni **, void *))
            (uintptr_t)strobe_jvm_at(strobe_art.vm, STROBE_JVM_ATTACH_AS_DAEMON);
    return call(strobe_art.vm, &env, &how) == STROBE_JNI_OK;
}

static void detach(void)
{
    ((int32_t (*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(strobe_art.vm, STROBE_JVM_DETACH))(strobe_art.vm);
}

static void *run(void *p)
{
    struct own *o = p;
    strobe_local.busy = 1;   /* before the runtime tells of a new thread */
    prctl(PR_SET_NAME, o->name);
    if (!attach(o->name)) {
        strobe_store_release(&o->state, FAILED);
        return NULL;
    }
    strobe_store_release(&o->state, RUNS);
    o->work();
    detach();
    strobe_store_release(&o->state, ENDED);
    return NULL;
}

static uint32_t wait_while(struct own *o, uint32_t state)
{
    for (int i = 0; i < WAIT_TRIES && strobe_load_acquire(&o->state) == state; i++)
        pause_ns(WAIT_NS);
    return strobe_load_acquire(&o->state);
}

static bool begins(struct own *o, char *why, size_t why_bytes)
{
    strobe_store_relaxed(&o->state, NOT_YET);
    int error = pthread_create(&o->thread, NULL, run, o);
    o->there = error == 0;
    if (error) {
        snprintf(why, why_bytes, "%s can't be made: error %d", o->name, error);
        return false;
    }
    if (wait_while(o, NOT_YET) == RUNS)
        return true;
    snprintf(why, why_bytes, "%s can't be attached to the runtime", o->name);
    return false;
}

bool strobe_art_own_threads_start(char *why, size_t why_bytes)
{
    sigset_t rest, before;
    bool all = true;
    sigfillset(&rest);   /* none of the app's is ever delivered to them */
    pthread_sigmask(SIG_SETMASK, &rest, &before);
    strobe_store_relaxed(&watchdog_stop, 0);
    for (int i = 0; i < OWNS && all; i++)
        all = begins(&owns[i], why, why_bytes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!all)
        strobe_art_own_threads_stop();
    return all;
}

/* The watchdog ends last: what the sampler holds, it lets go. */
bool strobe_art_own_threads_stop(void)
{
    bool all = true;
    strobe_store_relaxed(&strobe_art.engine.sampler_stop, 1);
    for (int i = OWNS - 1; i >= 0; i--) {
        struct own *o = &owns[i];
        if (o->work == watch)
            strobe_store_relaxed(&watchdog_stop, 1);
        uint32_t state = o->there ? wait_while(o, RUNS) : ENDED;
        if (state == RUNS || state == NOT_YET) {
            all = false;
        } else if (o->there) {
            pthread_join(o->thread, NULL);
            o->there = false;
        }
    }
    return all;
}

void strobe_art_own_threads_finish(void)
{
    if (sampler.engine)
        strobe_sampler_finish(&sampler);
    memset(&sampler, 0, sizeof sampler);
}
