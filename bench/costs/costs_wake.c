/* Lateness on this machine: of wake-ups and of stops, each by quantiles of many tries; the CPU time of a call that
 * blocks; the time for which a thread keeps a processor that another thread wants.
 *
 * Other work on the machine increases lateness. So each round has enough tries for its own quantiles, and
 * bench/costs/costs.c takes the rounds with the least lateness. */
#include "bench/bench.h"
#include "bench/costs/costs.h"

#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/suspend.h"
#include "sim/player/work.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES = 40, SPAN_NS = 300000, SAMPLER_SPAN_NS = 1000000, TIMEOUT_NS = 100000000, CALIBRATION = 1000000 };

/* Long waits have fewer tries. */
static const int span_tries[SIM_WAIT_SPANS] = {TRIES, TRIES, TRIES, 24, 12};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct sim_lateness lateness_of(double *late, int tries)
{
    struct sim_lateness l;
    qsort(late, (size_t)tries, sizeof *late, by_value);
    for (int i = 0; i < SIM_LATENESS_POINTS; i++)
        l.ns[i] = (uint64_t)late[(sim_lateness_at[i] * (tries - 1) + 500) / 1000];
    return l;
}

/* ---- timers */

static void sleep_till(uint64_t deadline_ns)
{
    struct timespec t = timespec_of(deadline_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

static struct sim_lateness measure_sleeps(uint64_t span_ns, int tries, double *cpu_ns)
{
    double late[TRIES];
    uint64_t cpu = bench_cpu_ns();
    for (int i = 0; i < tries; i++) {
        uint64_t deadline = now_ns() + span_ns;
        sleep_till(deadline);
        late[i] = (double)(now_ns() - deadline);
    }
    *cpu_ns = (double)(bench_cpu_ns() - cpu) / tries;
    return lateness_of(late, tries);
}

static struct sim_lateness measure_device(uint64_t span_ns, int tries, double *cpu_ns)
{
    double late[TRIES];
    uint64_t cpu = bench_cpu_ns();
    int device = -1;
    for (int i = 0; i < tries; i++) {
        uint64_t deadline = now_ns() + span_ns;
        sim_work_device(&device, span_ns);
        uint64_t now = now_ns();
        late[i] = now > deadline ? (double)(now - deadline) : 0;
    }
    *cpu_ns = (double)(bench_cpu_ns() - cpu) / tries;
    return lateness_of(late, tries);
}

static void *measure_sampler(void *arg)
{
    struct sim_costs *out = arg;
    double unused_ns;
    struct sched_param least = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least); /* if permitted, as for the engine's sampler */
    out->sampler_late = measure_sleeps(SAMPLER_SPAN_NS, TRIES, &unused_ns);
    return NULL;
}

/* ---- one thread wakes another */

static struct {
    strobe_a32 word;
    strobe_a64 woken_ns;
    int tries;
    double late[TRIES], cpu_ns;
} pair;

static void *wait_for_words(void *unused)
{
    uint64_t cpu = bench_cpu_ns();
    for (uint32_t i = 0; i < (uint32_t)pair.tries; i++) {
        while (strobe_load_acquire(&pair.word) == i)
            syscall(SYS_futex, &pair.word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        pair.late[i] = (double)(now_ns() - strobe_load_relaxed(&pair.woken_ns));
    }
    pair.cpu_ns = (double)(bench_cpu_ns() - cpu) / pair.tries;
    return unused;
}

static void compute_till(uint64_t deadline_ns)
{
    while (now_ns() < deadline_ns)
        continue;
}

/* The waking thread computes meanwhile, so that only the other processor is idle, for the length of the span. */
static void measure_wakes(int span, struct sim_costs *out)
{
    pthread_t waiter;
    uint64_t calling = 0;
    pair.tries = span_tries[span];
    strobe_store_relaxed(&pair.word, 0);
    if (pthread_create(&waiter, NULL, wait_for_words, NULL))
        abort();
    sleep_till(now_ns() + SPAN_NS);
    for (uint32_t i = 0; i < (uint32_t)pair.tries; i++) {
        compute_till(now_ns() + sim_wait_spans_ns[span]);
        uint64_t cpu = bench_cpu_ns();
        strobe_store_relaxed(&pair.woken_ns, now_ns());
        strobe_store_release(&pair.word, i + 1);
        syscall(SYS_futex, &pair.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        calling += bench_cpu_ns() - cpu;
    }
    pthread_join(waiter, NULL);
    out->wake_call.ns[span] = (double)calling / pair.tries - out->thread_clock;
    out->wait_call.ns[span] = pair.cpu_ns;
    out->wake_late.at[span] = lateness_of(pair.late, pair.tries);
}

/* ---- stops of a thread that computes on another processor */

static struct strobe_linux stopping_host;
static struct {
    strobe_a32 target, over;
    strobe_a64 turns;
    double turn_ns;
    int cpu;
} stopped;

static void pin_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* A turn of the target's loop. Called by the target only. */
static void turn(void)
{
    strobe_store_relaxed(&stopped.turns, strobe_load_relaxed(&stopped.turns) + 1);
    strobe_fence_signal();
}

/* The loop for calibration and for measurements. Both must use one function, so that a turn takes the same time. */
__attribute__((noinline)) static void turn_till(uint64_t turns)
{
    while (!strobe_load_relaxed(&stopped.over) && strobe_load_relaxed(&stopped.turns) != turns)
        turn();
}

static void *compute_till_over(void *unused)
{
    pin_to(stopped.cpu);
    turn_till(CALIBRATION / 10);
    uint64_t begin = bench_cpu_ns();
    turn_till(CALIBRATION / 10 + CALIBRATION);
    stopped.turn_ns = (double)(bench_cpu_ns() - begin) / CALIBRATION;
    strobe_store_release(&stopped.target, (uint32_t)gettid());
    turn_till(UINT64_MAX);
    return unused;
}

/* Returns the CPU time of the stopped target outside of its loop. */
static double outside_loop_ns(uint32_t tid)
{
    uint64_t cpu = 0;
    stopping_host.host.thread_cpu_ns(&stopping_host, tid, &cpu);
    return (double)cpu - (double)strobe_load_relaxed(&stopped.turns) * stopped.turn_ns;
}

static void *stop_often(void *arg)
{
    static strobe_a32 not_blocked;
    struct strobe_regs regs;
    struct sim_costs *out = arg;
    const struct strobe_host *host = &stopping_host.host;
    uint32_t tid = strobe_load_relaxed(&stopped.target);
    double late[TRIES], outside[TRIES];
    uint64_t suspending = 0, resuming = 0;
    pin_to(0);
    strobe_linux_sampler_begins();
    for (int i = 0; i < TRIES;) {
        sleep_till(now_ns() + SPAN_NS / 3);
        uint64_t begin = now_ns(), cpu = bench_cpu_ns();
        if (host->suspend(host->ctx, tid, &not_blocked, TIMEOUT_NS, &regs) != STROBE_OK)
            continue;
        late[i] = (double)(now_ns() - begin);
        suspending += bench_cpu_ns() - cpu;
        outside[i++] = outside_loop_ns(tid);
        cpu = bench_cpu_ns();
        host->resume(host->ctx, tid);
        resuming += bench_cpu_ns() - cpu;
    }
    bench_keep(&regs);
    out->stop_far = (double)suspending / TRIES - out->thread_clock;
    out->resume_far = (double)resuming / TRIES - out->thread_clock;
    out->stop_far_target = (outside[TRIES - 1] - outside[0]) / (TRIES - 1);
    out->stop_late = lateness_of(late, TRIES);
    return NULL;
}

static void measure_stops(struct sim_costs *out)
{
    pthread_t target, sampler;
    strobe_store_relaxed(&stopped.target, 0);
    strobe_store_relaxed(&stopped.over, 0);
    strobe_store_relaxed(&stopped.turns, 0);
    stopped.cpu = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    if (pthread_create(&target, NULL, compute_till_over, NULL))
        abort();
    while (!strobe_load_acquire(&stopped.target))
        usleep(100);
    if (pthread_create(&sampler, NULL, stop_often, out))
        abort();
    pthread_join(sampler, NULL);
    strobe_store_relaxed(&stopped.over, 1);
    pthread_join(target, NULL);
}

/* ---- slices */

/* One of two threads on a processor. A gap in its time shows that the other thread ran. Shorter gaps are wake-ups of
 * other threads. */
static void *compute_and_note(void *slice)
{
    enum { SLICES = 6, GAP_NS = 1000000 };
    double ran[SLICES];
    pin_to(0);
    uint64_t begin = now_ns(), before = begin, give_up = begin + 200000000;
    int count = 0;
    while (count < SLICES && before < give_up) {
        uint64_t now = now_ns();
        if (now - before > GAP_NS) {
            ran[count++] = (double)(before - begin);
            begin = now;
        }
        before = now;
    }
    qsort(ran, (size_t)count, sizeof *ran, by_value);
    *(double *)slice = count ? ran[count / 2] : 0;
    return NULL;
}

static double measure_slice(void)
{
    pthread_t threads[2];
    double slices[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, compute_and_note, &slices[i]))
            abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return slices[0] > slices[1] ? slices[0] : slices[1];
}

/* ---- a round */

void costs_wake_prepare(void)
{
    strobe_linux_init(&stopping_host, clock_gettime);
    if (!sim_work_begin())
        abort();
    if (strobe_linux_take_signal(&stopping_host, 0, sigaction, NULL) != STROBE_OK)
        abort();
}

void costs_wake_round(struct sim_costs *out)
{
    pthread_t sampler;
    for (int span = 0; span < SIM_WAIT_SPANS; span++) {
        uint64_t ns = sim_wait_spans_ns[span];
        out->sleep_late.at[span] = measure_sleeps(ns, span_tries[span], &out->sleep_call.ns[span]);
        out->device_late.at[span] = measure_device(ns, span_tries[span], &out->device_call.ns[span]);
        measure_wakes(span, out);
    }
    if (pthread_create(&sampler, NULL, measure_sampler, out))
        abort();
    pthread_join(sampler, NULL);
    measure_stops(out);
    out->slice = measure_slice();
}
