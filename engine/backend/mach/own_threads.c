#include "engine/backend/mach/own_threads.h"

#include "engine/capture/sampler.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { NOT_YET, RUNS, ENDED };                     /* state of one of them */
enum { WAIT_TRIES = 5000, WAIT_NS = 1000 * 1000 }; /* for one to begin or end: 5 s */
enum { LOOK_NS = 100 * 1000 * 1000 };              /* between two looks for threads that meet no hook */

struct own {
    void (*work)(const struct own *self);
    pthread_t thread;
    uint32_t tid;
    strobe_a32 state;
    bool there;
};

static struct strobe_sampler sampler;
static strobe_a32 watchdog_stop;
static uint64_t look_due;

static void pause_ns(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

/* Real-time for as long as a pass takes: up to a fourth of the interval, within half of it, and others go first where
 * it takes longer. What the kernel refuses leaves the sampler a thread like others, which counts its lag. */
static void take_precedence(void)
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

static void between_passes(void *ctx)
{
    uint64_t now = strobe_mach_now();
    (void)ctx;
    if (now >= look_due) {
        look_due = now + strobe_ticks_of_ns(&strobe_mach.host.host, LOOK_NS);
        strobe_mach_threads_look(strobe_mach.threads, strobe_mach_thread_found, NULL);
    }
    strobe_mach_series(&sampler, false);
}

static void sample(const struct own *o)
{
    take_precedence();
    strobe_sampler_init(&sampler, &strobe_mach.engine, o->tid);
    strobe_sampler_run(&sampler);
}

static void watch(const struct own *o)
{
    (void)o;
    while (!strobe_load_relaxed(&watchdog_stop)) {
        pause_ns((long)(STROBE_MACH_WATCHDOG_NS / 4));
        strobe_mach_host_watch(&strobe_mach.host);
    }
}

static struct own watchdog = {.work = watch}, sampling = {.work = sample};

static void *run(void *p)
{
    struct own *o = p;
    o->tid = strobe_mach_thread_is_own();
    strobe_store_release(&o->state, o->tid ? RUNS : ENDED);
    if (o->tid)
        o->work(o);
    strobe_store_release(&o->state, ENDED);
    return NULL;
}

static uint32_t wait_while(struct own *o, uint32_t state)
{
    for (int i = 0; i < WAIT_TRIES && strobe_load_acquire(&o->state) == state; i++)
        pause_ns(WAIT_NS);
    return strobe_load_acquire(&o->state);
}

static bool begins(struct own *o)
{
    strobe_store_relaxed(&o->state, NOT_YET);
    o->there = pthread_create(&o->thread, NULL, run, o) == 0;
    return o->there && wait_while(o, NOT_YET) == RUNS;
}

bool strobe_mach_own_threads_start(void)
{
    sigset_t all, before;
    sigfillset(&all); /* none of the app's is ever delivered to them */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    strobe_store_relaxed(&watchdog_stop, 0);
    strobe_mach.host.host.between_passes = between_passes;
    look_due = 0;
    bool both = begins(&watchdog) && begins(&sampling);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!both)
        strobe_mach_own_threads_stop();
    return both;
}

static bool has_ended(struct own *o)
{
    if (!o->there)
        return true;
    if (wait_while(o, RUNS) != ENDED)
        return false;
    pthread_join(o->thread, NULL);
    o->there = false;
    return true;
}

/* The watchdog ends last: what the sampler holds, it lets go. */
bool strobe_mach_own_threads_stop(void)
{
    strobe_store_relaxed(&strobe_mach.engine.sampler_stop, 1);
    bool sampler_ended = has_ended(&sampling);
    strobe_store_relaxed(&watchdog_stop, 1);
    return has_ended(&watchdog) && sampler_ended;
}

void strobe_mach_own_threads_finish(void)
{
    if (sampler.engine) {
        strobe_sampler_finish(&sampler);
        strobe_mach_series(&sampler, true);
    }
    memset(&sampler, 0, sizeof sampler);
}
