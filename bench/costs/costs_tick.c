/* Costs of a CPU clock that sends signals, for its thread: each signal, the engine in its handler, and each wait.
 * The kernel stops the clock's timer before a wait and starts it again afterwards. Also the sampler's costs to give
 * a thread a clock, and to close the clock after the thread's end.
 *
 * A signal begins with the timer's interrupt. On a virtual machine the hypervisor handles it first, in time that
 * counts as the thread's CPU time. So a thread that only reads the clock measures the gap in its time that each
 * signal leaves.
 *
 * The engine's part of a tick is measured in the handler, at ticks that are a period of computation apart. By then
 * the kernel and the hypervisor have used the caches and the branch predictor, so the engine takes some hundred
 * times as long as for samples one after the other (costs_engine.c).
 *
 * Gaps and handlers vary: some last many times as long as most. The simulator charges their sum, so a round's figure
 * is their mean, not their median. */
#include "bench/bench.h"
#include "bench/costs/costs.h"
#include "bench/deep.h"
#include "bench/rig.h"

#include "engine/backend/linux/cpu_clock.h"
#include "engine/backend/linux/suspend.h"
#include "engine/capture/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The period is the one that the engine uses, because shorter timers cost more under a hypervisor. */
enum { TICKS = 40, WARM_TICKS = 5, PERIOD_NS = 1000000, CREDIT = 1 << 20, DEPTH = 8 };

/* Long waits have fewer tries. */
static const int span_tries[SIM_WAIT_SPANS] = {40, 40, 40, 24, 12};

static struct strobe_linux tick_host;
static struct rig *tick_rig;
static volatile sig_atomic_t ticks;
static volatile bool ticks_are_sampled;
static uint64_t sampling_ns; /* sum over the ticks that count */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool on_tick(const siginfo_t *info, const struct strobe_regs *regs)
{
    (void)info;
    ticks++;
    if (!ticks_are_sampled)
        return true;
    uint64_t begin = now_ns();
    strobe_sample_interrupted(tick_rig->thread, regs, false);
    sampling_ns += now_ns() - begin;
    return true;
}

/* Returns the clock of a thread, which runs from now on; -1 when there is none. */
static int start_clock(pid_t tid, uint64_t period_ns)
{
    int fd = strobe_linux_open_task_clock((uint32_t)tid, period_ns);
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    if (fd < 0)
        return -1;
    if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) || fcntl(fd, F_SETSIG, tick_host.signal) ||
        fcntl(fd, F_SETOWN_EX, &owner) || ioctl(fd, PERF_EVENT_IOC_REFRESH, CREDIT))
        abort();
    return fd;
}

/* ---- ticks */

/* Computes for TICKS ticks after WARM_TICKS ticks, or until a timeout. Stores the mean of the gaps that these ticks
 * leave. */
static void meet_ticks(const struct deep_place *place, void *mean_ns)
{
    double sum = 0;
    int count = -WARM_TICKS;
    (void)place;
    int fd = start_clock(gettid(), PERIOD_NS);
    uint64_t begin = now_ns(), before = begin;
    for (sig_atomic_t seen = ticks; count < TICKS && before - begin < 4ull * TICKS * PERIOD_NS;) {
        uint64_t now = now_ns();
        if (ticks != seen) {
            now = now_ns(); /* the clock may have been read before the signal came */
            sum += count++ < 0 ? 0 : (double)(now - before);
            sampling_ns = count > 0 ? sampling_ns : 0;
            seen = ticks;
        }
        before = now;
    }
    if (fd >= 0)
        close(fd);
    *(double *)mean_ns = count > 0 ? sum / count : 0;
}

static void measure_ticks(struct sim_costs *out)
{
    double with_sample;
    deep_call(DEPTH, meet_ticks, &out->tick);
    ticks_are_sampled = true;
    deep_call(DEPTH, meet_ticks, &with_sample);
    ticks_are_sampled = false;
    /* The engine's clock reads and the frames are measured separately. */
    double apart = out->thread_clock + out->clock + tick_rig->thread->buffers->tick_cursor.depth * out->unwind_frame;
    out->tick_sample = (double)sampling_ns / TICKS - apart;
}

/* ---- waits */

static double wait_ns(int timer, uint64_t span_ns, int tries)
{
    uint64_t begin = bench_cpu_ns(), expired;
    for (int i = 0; i < tries; i++) {
        struct itimerspec t = {.it_value = {0, (long)span_ns}};
        timerfd_settime(timer, 0, &t, NULL);
        if (read(timer, &expired, sizeof expired) != sizeof expired)
            abort();
    }
    return (double)(bench_cpu_ns() - begin) / tries;
}

/* The clock has the period that the engine uses. Its timer is then often the next one to expire, so that the
 * processor's own timer is set at each switch. The signals meanwhile are measured separately. */
static double tick_wait_ns(int timer, uint64_t span_ns, int tries, double tick)
{
    double without = wait_ns(timer, span_ns, tries);
    int fd = start_clock(gettid(), PERIOD_NS);
    sig_atomic_t seen = ticks;
    double with = wait_ns(timer, span_ns, tries) - (double)(ticks - seen) * tick / tries;
    if (fd >= 0)
        close(fd);
    return with - without;
}

static void measure_waits(struct sim_costs *out)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0)
        abort();
    for (int span = 0; span < SIM_WAIT_SPANS; span++)
        out->tick_wait.ns[span] = tick_wait_ns(timer, sim_wait_spans_ns[span], span_tries[span], out->tick);
    close(timer);
}

/* ---- the sampler's part */

static struct {
    strobe_a32 tid, over;
} ticked;

static void *compute_till_over(void *unused)
{
    strobe_store_release(&ticked.tid, (uint32_t)gettid());
    while (!strobe_load_relaxed(&ticked.over))
        continue;
    return unused;
}

static void measure_clocks(struct sim_costs *out)
{
    enum { CLOCKS = 4 };
    uint64_t starting = 0, ending = 0;
    for (int i = 0; i < CLOCKS; i++) {
        pthread_t thread;
        strobe_store_relaxed(&ticked.tid, 0);
        strobe_store_relaxed(&ticked.over, 0);
        if (pthread_create(&thread, NULL, compute_till_over, NULL))
            abort();
        while (!strobe_load_acquire(&ticked.tid))
            usleep(100);
        uint64_t begin = bench_cpu_ns();
        int fd = start_clock((pid_t)strobe_load_relaxed(&ticked.tid), PERIOD_NS);
        starting += bench_cpu_ns() - begin;
        strobe_store_relaxed(&ticked.over, 1);
        pthread_join(thread, NULL);
        begin = bench_cpu_ns();
        if (fd >= 0)
            close(fd);
        ending += bench_cpu_ns() - begin;
    }
    out->clock_start = (double)starting / CLOCKS - out->thread_clock;
    out->clock_end = (double)ending / CLOCKS - out->thread_clock;
}

/* Call it after all other parts that take a signal for stops, because ticks go to the last one that took it. */
void costs_tick_prepare(void)
{
    struct strobe_config config = rig_config();
    config.metrics = STROBE_METRIC_CPU | STROBE_METRIC_ALLOC;
    tick_rig = rig_new(&config);
    strobe_linux_init(&tick_host, clock_gettime);
    tick_host.tick = on_tick;
    if (strobe_linux_take_signal(&tick_host, 0, sigaction, NULL) != STROBE_OK)
        abort();
}

void costs_tick_round(struct sim_costs *out)
{
    measure_ticks(out);
    measure_waits(out);
    measure_clocks(out);
}
