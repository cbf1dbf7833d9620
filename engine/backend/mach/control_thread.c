#include "engine/backend/mach/control_thread.h"

#include "engine/backend/mach/events.h"

#include <pthread.h>
#include <signal.h>

static void *run_own_work(void *p)
{
    struct strobe_mach_own_work *own = p;
    strobe_store_release(&own->tid, strobe_mach_thread_is_own());
    pthread_setname_self_np(own->name);
    own->work();
    strobe_store_release(&own->tid, 0);
    return NULL;
}

bool strobe_mach_run_own_work(struct strobe_mach_own_work *own, void (*work)(void))
{
    sigset_t all, before;
    pthread_t thread;
    own->work = work;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, run_own_work, own) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

static struct strobe_mach_own_work serving = {.name = "strobe-control"};

static bool run_mach_control_thread(void (*work)(void))
{
    return strobe_mach_run_own_work(&serving, work);
}

void strobe_mach_control_stay_out(void)
{
    uint32_t tid = strobe_load_acquire(&serving.tid);
    if (tid)
        strobe_mach_threads_drop(strobe_mach.threads, tid);
}

static enum strobe_status stop_mach_capture(struct strobe_error *error)
{
    (void)error;
    return strobe_stop();
}

static bool describe_mach_feature(void *ctx, uint32_t index, char *out, size_t bytes)
{
    static const char *const names[STROBE_MACH_USES] = {
        [STROBE_MACH_MALLOC] = "allocations",   [STROBE_MACH_LOCKS] = "locks",      [STROBE_MACH_DISPATCH] = "dispatch",
        [STROBE_MACH_IO] = "files and sockets", [STROBE_MACH_TIME] = "clock reads", [STROBE_MACH_SERIES] = "run loop",
    };
    const struct strobe_mach_status *s = &strobe_mach.status;
    (void)ctx;
    if (index >= STROBE_MACH_USES)
        return false;
    struct strobe_error line, on;
    strobe_error_join(&on, s->on >> index & 1 ? "in place" : "off", s->off[index]);
    strobe_error_join(&line, names[index], on.text);
    strobe_error_copy(&line, out, bytes);
    return true;
}

const struct strobe_control_host strobe_mach_control = {
    .stop = stop_mach_capture,
    .feature = describe_mach_feature,
    .ticks = strobe_mach_now,
    .run_thread = run_mach_control_thread,
};
