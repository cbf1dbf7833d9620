#include "engine/backend/art/own_thread.h"
#include "engine/base/error_format.h"

#include "engine/capture/thread.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NOT_YET, RUNS, FAILED, ENDED };             /* values of its state */
enum { WAIT_TRIES = 5000, WAIT_NS = 1000 * 1000 }; /* 5 s, for the thread to begin or end */

static bool own_thread_attach(struct strobe_jvm *vm, const char *name)
{
    struct strobe_jni *env;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, name, NULL};
    int32_t (*call)(struct strobe_jvm *, struct strobe_jni **, void *) = (int32_t(*)(
        struct strobe_jvm *, struct strobe_jni **, void *))(uintptr_t)strobe_jvm_at(vm, STROBE_JVM_ATTACH_AS_DAEMON);
    return call(vm, &env, &how) == STROBE_JNI_OK;
}

static void own_thread_detach(struct strobe_jvm *vm)
{
    ((int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(vm, STROBE_JVM_DETACH))(vm);
}

static void *own_thread_run(void *p)
{
    struct strobe_art_own *o = p;
    strobe_local.busy = 1; /* before the runtime reports a new thread */
    prctl(PR_SET_NAME, o->name);
    if (!own_thread_attach(o->vm, o->name)) {
        strobe_store_release(&o->state, FAILED);
        return NULL;
    }
    strobe_store_release(&o->state, RUNS);
    o->work();
    own_thread_detach(o->vm);
    strobe_store_release(&o->state, ENDED);
    return NULL;
}

static uint32_t own_thread_wait_while(struct strobe_art_own *o, uint32_t state)
{
    struct timespec pause = {0, WAIT_NS};
    for (int i = 0; i < WAIT_TRIES && strobe_load_acquire(&o->state) == state; i++)
        syscall(SYS_nanosleep, &pause, NULL);
    return strobe_load_acquire(&o->state);
}

bool strobe_art_own_begin(struct strobe_art_own *o, struct strobe_jvm *vm, struct strobe_error *error)
{
    sigset_t rest, before;
    o->vm = vm;
    strobe_store_relaxed(&o->state, NOT_YET);
    sigfillset(&rest); /* the thread gets none of the app's signals */
    pthread_sigmask(SIG_SETMASK, &rest, &before);
    int failure = pthread_create(&o->thread, NULL, own_thread_run, o);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    o->there = failure == 0;
    if (failure) {
        strobe_error_set(error, "%s can't be made: error %d", o->name, failure);
        return false;
    }
    if (own_thread_wait_while(o, NOT_YET) == RUNS)
        return true;
    strobe_error_set(error, "%s can't be attached to the runtime", o->name);
    return false;
}

bool strobe_art_own_end(struct strobe_art_own *o)
{
    uint32_t state = o->there ? own_thread_wait_while(o, RUNS) : ENDED;
    if (state == RUNS || state == NOT_YET)
        return false;
    if (o->there)
        pthread_join(o->thread, NULL);
    o->there = false;
    return true;
}
