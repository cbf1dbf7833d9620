#include "engine/backend/art/own_threads.h"
#include "engine/base/error.h"

#include "engine/backend/art/own_thread.h"
#include "engine/capture/sampler.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WATCH_NS = 50 * 1000 * 1000 }; /* between two checks of the watchdog */

static struct strobe_sampler sampler;
static strobe_a32 watchdog_stop;

/* Sleeps until the next check, or until the end. */
static void watchdog_sleep(void)
{
    struct timespec t = {0, WATCH_NS};
    syscall(SYS_futex, &watchdog_stop, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static void end_watchdog(void)
{
    strobe_store_relaxed(&watchdog_stop, 1);
    syscall(SYS_futex, &watchdog_stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* An app may set any niceness of its threads: Android's init.rc has `setrlimit nice 40 40`. Real-time priority is not
 * allowed to apps. An ordinary thread that wakes up on a busy processor may have to wait until the app makes a system
 * call. Samples would then show only code around system calls. If the kernel refuses, the sampler keeps its niceness
 * and counts its lag. */
enum { SAMPLER_NICE = -20 };

static void art_sampler_work(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, (id_t)tid, SAMPLER_NICE);
    strobe_sampler_init(&sampler, &strobe_art.engine, tid);
    strobe_sampler_run(&sampler);
}

static void art_watchdog_work(void)
{
    while (!strobe_load_relaxed(&watchdog_stop)) {
        watchdog_sleep();
        strobe_art_host_watch(&strobe_art.host);
    }
}

static struct strobe_art_own owns[] = {{.name = "strobe-watchdog", .work = art_watchdog_work},
                                       {.name = "strobe-sampler", .work = art_sampler_work}};
enum { OWNS = sizeof owns / sizeof owns[0] };

bool strobe_art_own_threads_start(struct strobe_error *error)
{
    bool all = true;
    strobe_store_relaxed(&watchdog_stop, 0);
    for (int i = 0; i < OWNS && all; i++)
        all = strobe_art_own_begin(&owns[i], strobe_art.vm, error);
    if (!all)
        strobe_art_own_threads_stop();
    return all;
}

/* The watchdog ends last, because it resumes threads that the sampler holds. */
bool strobe_art_own_threads_stop(void)
{
    bool all = true;
    strobe_store_relaxed(&strobe_art.engine.sampler_stop, 1);
    for (int i = OWNS - 1; i >= 0; i--) {
        if (owns[i].work == art_watchdog_work)
            end_watchdog();
        all &= strobe_art_own_end(&owns[i]);
    }
    return all;
}

void strobe_art_own_threads_finish(void)
{
    if (sampler.engine)
        strobe_sampler_finish(&sampler);
    memset(&sampler, 0, sizeof sampler);
}
