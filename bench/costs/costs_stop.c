/* CPU time of stopping a thread: the sampler's for the request and the resume, and the target's in its handler.
 *
 * Both run on one processor. Where that is permitted, the sampler has a higher priority than the target. So neither
 * has to wake another processor. That is expensive under a hypervisor (some 10 us each time here) and cheap
 * elsewhere, so it would measure the hypervisor and not the engine. The target counts the turns of its loop and
 * knows the cost of a turn, so the rest of its CPU time is the handler's. */
#include "bench/bench.h"
#include "bench/costs/costs.h"

#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/suspend.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { CYCLES = 40, WARM_CYCLES = 5, TIMEOUT_NS = 100000000, CALIBRATION = 1000000 };

static struct strobe_linux linux_host;

struct job {
    double thread_clock; /* cost of a read of the thread's clock */
    struct sim_costs *out;
    strobe_a32 target, over;
    double turn_ns;
    strobe_a64 turns;
};

static void pin(long cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        abort();
}

/* A turn of the target's loop. Called by the target only. */
static void turn(struct job *job)
{
    strobe_store_relaxed(&job->turns, strobe_load_relaxed(&job->turns) + 1);
    strobe_fence_signal();
}

static void *run_target(void *arg)
{
    struct job *job = arg;
    pin(0);
    uint64_t begin = bench_cpu_ns();
    for (int i = 0; i < CALIBRATION; i++)
        turn(job);
    job->turn_ns = (double)(bench_cpu_ns() - begin) / CALIBRATION;
    strobe_store_release(&job->target, (uint32_t)gettid());
    while (!strobe_load_relaxed(&job->over))
        turn(job);
    return NULL;
}

static enum strobe_status stop(uint32_t tid)
{
    static strobe_a32 not_blocked;
    struct strobe_regs regs;
    const struct strobe_host *host = &linux_host.host;
    enum strobe_status status = host->suspend(host->ctx, tid, &not_blocked, TIMEOUT_NS, &regs);
    bench_keep(&regs);
    return status;
}

static void go(uint32_t tid)
{
    if (linux_host.host.resume(linux_host.host.ctx, tid) != STROBE_OK)
        abort();
}

/* Returns the CPU time of the target outside of its loop. Stops the target, so that the time and the count of turns
 * belong together. */
static double outside_loop_ns(struct job *job, uint32_t tid)
{
    uint64_t cpu;
    while (stop(tid) != STROBE_OK)
        continue;
    linux_host.host.thread_cpu_ns(&linux_host, tid, &cpu);
    double ns = (double)cpu - (double)strobe_load_relaxed(&job->turns) * job->turn_ns;
    go(tid);
    return ns;
}

/* Runs in a separate thread, because the sampler's thread gives up its descriptors. */
static void *run_sampler(void *arg)
{
    struct job *job = arg;
    uint32_t tid = strobe_load_relaxed(&job->target);
    uint64_t suspending = 0, resuming = 0;
    pin(0);
    strobe_linux_sampler_begins();
    for (int i = 0; i < WARM_CYCLES; i++)
        if (stop(tid) == STROBE_OK)
            go(tid);
    double before = outside_loop_ns(job, tid);
    for (int i = 0; i < CYCLES;) {
        uint64_t begin = bench_cpu_ns();
        if (stop(tid) != STROBE_OK)
            continue;
        uint64_t stopped = bench_cpu_ns();
        go(tid);
        resuming += bench_cpu_ns() - stopped;
        suspending += stopped - begin;
        i++;
    }
    /* One more stop than cycles: the stop in which `before` was read ended after that read. */
    job->out->suspend_target = (outside_loop_ns(job, tid) - before) / (CYCLES + 1);
    job->out->suspend = (double)suspending / CYCLES - job->thread_clock;
    job->out->resume = (double)resuming / CYCLES - job->thread_clock;
    strobe_store_relaxed(&job->over, 1);
    return NULL;
}

void costs_stop_prepare(void)
{
    strobe_linux_init(&linux_host, clock_gettime);
    if (strobe_linux_take_signal(&linux_host, 0, sigaction, NULL) != STROBE_OK)
        abort();
}

void costs_stop_round(struct sim_costs *out)
{
    struct job job = {.thread_clock = out->thread_clock, .out = out};
    pthread_t target, sampler;
    if (pthread_create(&target, NULL, run_target, &job))
        abort();
    while (!strobe_load_acquire(&job.target))
        usleep(100);
    if (pthread_create(&sampler, NULL, run_sampler, &job))
        abort();
    pthread_join(sampler, NULL);
    pthread_join(target, NULL);
}
