#include "engine/backend/linux/cpu_clock.h"

#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/suspend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CREDIT = STROBE_CPU_CLOCK_CREDIT,
    THREADS_WITH_ROOM = 8,    /* that many threads may block the signal at a time */
    CALLS_BETWEEN_CHECKS = 8, /* one of so many calls of clock_keep checks the signal's handler */
};

/* A thread's event, by the thread's index in the session. Written by the sampler. */
struct clock {
    strobe_a32 fd; /* descriptor + 1; 0 = none */
    uint64_t period_ns;
    uint32_t given; /* total signals credited, or sent by clock_ring */
};

static struct clock *clocks;
static uint32_t clocks_max;

/* Zeroes the table. A table of a capture that has ended is used again, because a late tick may still read it. */
static bool map_clocks(uint32_t threads_max)
{
    if (clocks && threads_max <= clocks_max)
        return madvise(clocks, clocks_max * sizeof *clocks, MADV_DONTNEED) == 0;
    void *memory = mmap(NULL, threads_max * sizeof *clocks, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    clocks = memory;
    clocks_max = threads_max;
    return true;
}

bool strobe_linux_clocks_begin(struct strobe_linux *l, uint32_t threads_max)
{
    struct rlimit pending = {RLIM_INFINITY, RLIM_INFINITY};
    l->host.clock_keep = NULL;
    l->host.clock_ring = NULL;
    l->host.clock_end = NULL;
    syscall(SYS_prlimit64, 0l, (long)RLIMIT_SIGPENDING, NULL, &pending);
    if (!l->signal || pending.rlim_cur < CREDIT * THREADS_WITH_ROOM)
        return false;
    if (!map_clocks(threads_max))
        return false;
    l->host.clock_keep = strobe_linux_clock_keep;
    l->host.clock_ring = strobe_linux_clock_ring;
    l->host.clock_end = strobe_linux_clock_end;
    return true;
}

void strobe_linux_clocks_release(uint32_t threads_max)
{
    if (clocks)
        munmap(clocks, threads_max * sizeof *clocks);
    clocks = NULL;
}

static bool start_clock(const struct strobe_linux *l, struct clock *c, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    int fd = strobe_linux_open_task_clock(tid, period_ns);
    if (fd < 0)
        return false;
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};
    c->given = taken + CREDIT; /* `taken` counts signals from before this clock, too */
    c->period_ns = period_ns;
    strobe_store_relaxed(&c->fd, (uint32_t)fd + 1);
    if (syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 ||
        syscall(SYS_fcntl, fd, F_SETSIG, l->signal) != 0 || syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner) != 0 ||
        syscall(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, CREDIT) != 0) {
        strobe_store_relaxed(&c->fd, 0);
        syscall(SYS_close, fd);
        return false;
    }
    return true;
}

enum strobe_status strobe_linux_clock_keep(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    struct clock *c = &clocks[index];
    uint32_t fd = strobe_load_relaxed(&c->fd);
    static uint32_t calls;
    if ((!fd || calls++ % CALLS_BETWEEN_CHECKS == 0) && !strobe_linux_owns_signal(ctx)) {
        strobe_linux_clock_end(ctx, index);
        return STROBE_UNSUPPORTED;
    }
    if (!fd)
        return start_clock(ctx, c, tid, period_ns, taken) ? STROBE_OK : STROBE_UNSUPPORTED;
    if (period_ns != c->period_ns)
        syscall(SYS_ioctl, fd - 1, PERF_EVENT_IOC_PERIOD, &period_ns);
    c->period_ns = period_ns;
    uint32_t under_way = c->given - taken;
    if (under_way > CREDIT / 2)
        return STROBE_OK;
    uint32_t more = CREDIT - under_way;
    c->given += more;
    return syscall(SYS_ioctl, fd - 1, PERF_EVENT_IOC_REFRESH, more) == 0 ? STROBE_OK : STROBE_UNSUPPORTED;
}

enum strobe_status strobe_linux_clock_ring(void *ctx, uint32_t index, uint32_t tid)
{
    struct strobe_linux *l = ctx;
    struct clock *c = &clocks[index];
    /* For threads with a clock, strobe_linux_clock_keep checks the signal's handler. */
    bool ours = strobe_load_relaxed(&c->fd) || strobe_linux_owns_signal(l);
    if (!ours || !strobe_linux_waits_for_processor(l, tid))
        return STROBE_UNSUPPORTED;
    siginfo_t info = {.si_signo = l->signal, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)l->pid;
    info.si_value.sival_ptr = &clocks;
    if (syscall(SYS_rt_tgsigqueueinfo, (long)l->pid, (long)tid, (long)l->signal, &info) != 0)
        return STROBE_UNSUPPORTED;
    c->given++;
    return STROBE_OK;
}

void strobe_linux_clock_end(void *ctx, uint32_t index)
{
    struct clock *c = &clocks[index];
    uint32_t fd = strobe_load_relaxed(&c->fd);
    (void)ctx;
    if (fd)
        syscall(SYS_close, fd - 1);
    strobe_store_relaxed(&c->fd, 0);
}

bool strobe_linux_clock_rang(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &clocks;
}

bool strobe_linux_clock_sent(const struct strobe_linux *l, const siginfo_t *info)
{
    if (strobe_linux_clock_rang(info))
        return (uint32_t)info->si_pid == l->pid;
    return clocks && (info->si_code == POLL_IN || info->si_code == POLL_HUP);
}

bool strobe_linux_clock_is_of(uint32_t index, const siginfo_t *info)
{
    uint32_t fd = strobe_load_relaxed(&clocks[index].fd);
    return strobe_linux_clock_rang(info) || !fd || (uint32_t)info->si_fd + 1 == fd;
}
