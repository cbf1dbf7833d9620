#include "engine/backend/mach/own_threads.h"

#include "engine/backend/mach/flight_thread.h"
#include "engine/capture/sampler.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { NOT_YET, RUNS, ENDED };                     /* struct own.state */
enum { WAIT_TRIES = 5000, WAIT_NS = 1000 * 1000 }; /* for a start or an end: 5 s */
enum { LOOK_NS = 100 * 1000 * 1000 };              /* between two scans for threads that call no hook */

struct own {
    void (*work)(const struct own *self);
    pthread_t thread;
    uint32_t tid;
    strobe_a32 state;
    bool joinable;
};

static struct strobe_sampler sampler;
static strobe_a32 watchdog_stop;
static uint64_t look_due;

static void pause_ns(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

/* Requests real-time scheduling for the sampler: up to a fourth of the sampling interval, within half of the interval.
 * A pass that takes longer is preempted. If the kernel refuses, the sampler runs as an ordinary thread and counts its
 * lag. */
static void set_realtime_policy(void)
{
    const struct strobe_engine *e = &strobe_mach.engine;
    uint64_t period = strobe_ticks_of_ns(e->host, e->config.async_interval_ns);
    period = period < UINT32_MAX ? period : UINT32_MAX;
    thread_time_constraint_policy_data_t policy = {
        .period = (uint32_t)period,
        .computation = (uint32_t)(period / 4),
        .constraint = (uint32_t)(period / 2),
        .preemptible = 1,
    };
    thread_policy_set(pthread_mach_thread_np(pthread_self()), THREAD_TIME_CONSTRAINT_POLICY,
                      (thread_policy_t)(void *)&policy, THREAD_TIME_CONSTRAINT_POLICY_COUNT);
}

static void mach_between_passes(void *ctx)
{
    uint64_t now = strobe_mach_now();
    (void)ctx;
    strobe_flight_pass(&strobe_mach.engine.session, now);
    if (now >= look_due) {
        look_due = now + strobe_ticks_of_ns(&strobe_mach.host.host, LOOK_NS);
        strobe_mach_threads_look(strobe_mach.threads, strobe_mach_thread_found, NULL);
    }
    strobe_mach_series(&sampler, false);
}

static void run_sampler_thread(const struct own *o)
{
    set_realtime_policy();
    strobe_sampler_init(&sampler, &strobe_mach.engine, o->tid);
    strobe_sampler_run(&sampler);
}

static void run_watchdog_thread(const struct own *o)
{
    (void)o;
    while (!strobe_load_relaxed(&watchdog_stop)) {
        pause_ns((long)(STROBE_MACH_WATCHDOG_NS / 4));
        strobe_mach_host_watch(&strobe_mach.host);
    }
}

static struct own watchdog = {.work = run_watchdog_thread}, sampling = {.work = run_sampler_thread};

static void *own_thread_main(void *p)
{
    struct own *o = p;
    o->tid = strobe_mach_thread_is_own();
    strobe_store_release(&o->state, o->tid ? RUNS : ENDED);
    if (o->tid)
        o->work(o);
    strobe_store_release(&o->state, ENDED);
    return NULL;
}

static uint32_t wait_while_state(struct own *o, uint32_t state)
{
    for (int i = 0; i < WAIT_TRIES && strobe_load_acquire(&o->state) == state; i++)
        pause_ns(WAIT_NS);
    return strobe_load_acquire(&o->state);
}

static bool start_own_thread(struct own *o)
{
    strobe_store_relaxed(&o->state, NOT_YET);
    o->joinable = pthread_create(&o->thread, NULL, own_thread_main, o) == 0;
    return o->joinable && wait_while_state(o, NOT_YET) == RUNS;
}

bool strobe_mach_own_threads_start(void)
{
    sigset_t all, before;
    sigfillset(&all); /* no signal of the app is delivered to these threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    strobe_store_relaxed(&watchdog_stop, 0);
    strobe_mach.host.host.between_passes = mach_between_passes;
    look_due = 0;
    bool both = start_own_thread(&watchdog) && start_own_thread(&sampling);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!both)
        strobe_mach_own_threads_stop();
    return both;
}

static bool join_own_thread(struct own *o)
{
    if (!o->joinable)
        return true;
    if (wait_while_state(o, RUNS) != ENDED)
        return false;
    pthread_join(o->thread, NULL);
    o->joinable = false;
    return true;
}

/* The watchdog ends last, because it resumes a thread that the sampler still holds suspended. */
bool strobe_mach_own_threads_stop(void)
{
    strobe_store_relaxed(&strobe_mach.engine.sampler_stop, 1);
    bool sampler_ended = join_own_thread(&sampling);
    strobe_store_relaxed(&watchdog_stop, 1);
    return join_own_thread(&watchdog) && sampler_ended;
}

void strobe_mach_own_threads_finish(void)
{
    if (sampler.engine) {
        strobe_sampler_finish(&sampler);
        strobe_mach_series(&sampler, true);
    }
    memset(&sampler, 0, sizeof sampler);
}
