/* What a CPU clock that sends signals costs its thread: each signal, and each wait, before which the kernel stops the
 * clock's timer and after which it starts it again; and what it costs the sampler to give a thread one, and to take it
 * back after the thread's end.
 *
 * A signal begins with the timer's interrupt. On a virtual machine that is handled by the hypervisor first, in time
 * that the thread's CPU clock takes for the thread's own. So a thread that does nothing but read the clock measures the
 * gap in its time that each signal leaves. */
#include "bench/bench.h"
#include "bench/costs.h"

#include "engine/backend/linux/cpu_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* At the period that the engine asks for: under a hypervisor shorter timers are dearer. */
enum { TICKS = 40, PERIOD_NS = 1000000, CREDIT = 1 << 20, WAITS = 40, WAIT_NS = 100000 };

static int tick_signal;
static volatile sig_atomic_t ticks;

static void count_tick(int signal)
{
    (void)signal;
    ticks++;
}

/* The clock of a thread, which runs from now on; -1 where there is none. */
static int start_clock(pid_t tid, uint64_t period_ns)
{
    int fd = strobe_linux_open_task_clock((uint32_t)tid, period_ns);
    struct f_owner_ex owner = {F_OWNER_TID, tid};
    if (fd < 0)
        return -1;
    if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) || fcntl(fd, F_SETSIG, tick_signal) ||
        fcntl(fd, F_SETOWN_EX, &owner) || ioctl(fd, PERF_EVENT_IOC_REFRESH, CREDIT))
        abort();
    return fd;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double tick_ns(void)
{
    double gaps[TICKS];
    int count = 0;
    int fd = start_clock(gettid(), PERIOD_NS);
    uint64_t begin = now_ns(), before = begin;
    for (sig_atomic_t seen = ticks; count < TICKS && before - begin < 4ull * TICKS * PERIOD_NS;) {
        uint64_t now = now_ns();
        if (ticks != seen) {
            now = now_ns();   /* the clock may have been read before the signal came */
            gaps[count++] = (double)(now - before);
            seen = ticks;
        }
        before = now;
    }
    if (fd >= 0)
        close(fd);
    qsort(gaps, (size_t)count, sizeof *gaps, by_value);
    return count ? gaps[count / 2] : 0;
}

static double wait_ns(int timer)
{
    uint64_t begin = bench_cpu_ns(), expired;
    for (int i = 0; i < WAITS; i++) {
        struct itimerspec t = {.it_value = {0, WAIT_NS}};
        timerfd_settime(timer, 0, &t, NULL);
        if (read(timer, &expired, sizeof expired) != sizeof expired)
            abort();
    }
    return (double)(bench_cpu_ns() - begin) / WAITS;
}

/* The clock has the period that the engine asks for, for its timer is then often the next one to expire, and the
 * processor's own timer is set anew at each switch. The signals that come meanwhile are charged apart. */
static double tick_wait_ns(double tick)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0)
        abort();
    wait_ns(timer);
    double without = wait_ns(timer);
    int fd = start_clock(gettid(), PERIOD_NS);
    sig_atomic_t seen = ticks;
    double with = wait_ns(timer) - (double)(ticks - seen) * tick / WAITS;
    if (fd >= 0)
        close(fd);
    without = (without + wait_ns(timer)) / 2;
    close(timer);
    return with - without;
}

/* ---- the sampler's part */

static struct { strobe_a32 tid, over; } ticked;

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

void costs_tick_prepare(void)
{
    tick_signal = SIGRTMIN + 5;
    signal(tick_signal, count_tick);
}

void costs_tick_round(struct sim_costs *out)
{
    out->tick = tick_ns();
    out->tick_wait = tick_wait_ns(out->tick);
    measure_clocks(out);
}
