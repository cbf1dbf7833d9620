#include "sim/kernel/kernel.h"
#include "sim/player/virtual/posix.h"
#include "sim/player/virtual/virtual.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>

enum { SECOND = 1000000000, YIELD_NS = 100 };

struct sim_costs sim_virtual_costs;

static struct timespec posix_timespec_from_ns(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
}

static uint64_t posix_timespec_ns(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
}

/* ---- time */

uint64_t sim_posix_now_ns(void)
{
    return sim_now() + SIM_POSIX_ORIGIN_NS;
}

uint64_t sim_posix_left_ns(const struct timespec *until)
{
    uint64_t now = sim_posix_now_ns(), end = posix_timespec_ns(until);
    return end > now ? end - now : 0;
}

/* The id of a thread's clock is (~tid << 3) | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED (kernel's
 * include/linux/posix-timers.h). */
static const struct sim_thread *thread_of_clock(clockid_t clock)
{
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        return sim_self();
    const struct sim_posix_thread *t = sim_posix_thread_of(~((uint32_t)clock) >> 3);
    return t ? t->thread : NULL;
}

int sim_posix_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (clock == CLOCK_PROCESS_CPUTIME_ID) {
        *out = posix_timespec_from_ns(sim_posix_cpu_ns());
    } else if (clock == CLOCK_THREAD_CPUTIME_ID || clock < 0) {
        const struct sim_thread *t = thread_of_clock(clock);
        if (!t) {
            errno = EINVAL;
            return -1;
        }
        *out = posix_timespec_from_ns(sim_read_cpu_ns(t));
    } else {
        *out = posix_timespec_from_ns(sim_posix_now_ns());
    }
    return 0;
}

/* Returns half of the kernel CPU time of a wait of that length. A thread uses it before the wait, and again after it.
 */
static uint64_t posix_half_call_ns(const struct sim_span_cost *call, uint64_t span_ns)
{
    return sim_span_cost_ns(call, span_ns) / 2;
}

int sim_posix_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
    (void)clock;
    (void)left;
    uint64_t end = posix_timespec_ns(t);
    if (!(flags & TIMER_ABSTIME))
        end += sim_posix_now_ns();
    uint64_t now = sim_posix_now_ns();
    if (end <= now)
        return 0;
    uint64_t half_ns = posix_half_call_ns(&sim_virtual_costs.sleep_call, end - now);
    sim_compute_in_kernel(half_ns);
    sim_sleep_until(end - SIM_POSIX_ORIGIN_NS);
    sim_compute_in_kernel(half_ns);
    return 0;
}

int sim_posix_nanosleep(const struct timespec *t, struct timespec *left)
{
    return sim_posix_clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
}

/* Time passes, so that a loop of yields ends. */
int sim_posix_yield(void)
{
    sim_posix_self()->yields++;
    sim_compute(YIELD_NS);
    sim_yield();
    return 0;
}

pid_t sim_posix_getpid(void)
{
    return 1;
}

/* ---- events */

enum { EVENTS = 1024, FIRST_EVENT = 2048 }; /* above all file descriptors of the process; the engine knows 4096 */
static struct sim_sem events[EVENTS];
static int event_count;

static struct sim_sem *event_of(long fd)
{
    return fd >= FIRST_EVENT && fd < FIRST_EVENT + event_count ? &events[fd - FIRST_EVENT] : NULL;
}

int sim_posix_eventfd(unsigned value, int flags)
{
    (void)flags;
    if (event_count == EVENTS) {
        errno = EMFILE;
        return -1;
    }
    events[event_count] = (struct sim_sem){.name = "an event", .count = value};
    return FIRST_EVENT + event_count++;
}

int sim_posix_eventfd_write(int fd, eventfd_t value)
{
    struct sim_sem *s = event_of(fd);
    for (eventfd_t i = 0; s && i < value; i++)
        sim_sem_post(s);
    sim_leave_kernel();
    return s ? 0 : -1;
}

/* Leaves the event's count unchanged, because the caller reads it next. When several threads poll one event, each post
 * wakes one of them. */
int sim_posix_ppoll(struct pollfd *p, nfds_t count, const struct timespec *patience, const sigset_t *mask)
{
    (void)mask;
    struct sim_sem *s = count == 1 ? event_of(p->fd) : NULL;
    if (!s) {
        errno = EINVAL;
        return -1;
    }
    uint64_t patience_ns = patience ? posix_timespec_ns(patience) : UINT64_MAX;
    p->revents = 0;
    if (patience_ns == 0 ? !sim_sem_try(s) : sim_sem_wait(s, patience_ns) == SIM_WAKE_TIMEOUT)
        return 0;
    s->count++;
    p->revents = POLLIN;
    return 1;
}

/* ---- futexes */

enum { FUTEXES = 16 }; /* words for which the engine's threads wait */

static struct futex {
    const uint32_t *word; /* NULL: not used */
    struct sim_sem wakes;
    uint32_t waiting; /* threads that no wake has been sent to */
} futexes[FUTEXES];

static struct futex *futex_of(const uint32_t *word)
{
    struct futex *f = futexes;
    while (f < futexes + FUTEXES && f->word && f->word != word)
        f++;
    if (f == futexes + FUTEXES)
        return NULL;
    f->word = word;
    f->wakes.name = "a futex";
    return f;
}

static long fail_with(int error)
{
    errno = error;
    return -1;
}

static long posix_futex_wait(const uint32_t *word, uint32_t value, const struct timespec *patience)
{
    struct futex *f = futex_of(word);
    if (!f)
        return fail_with(ENOMEM);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != value)
        return fail_with(EAGAIN);
    f->waiting++;
    if (sim_sem_wait(&f->wakes, patience ? posix_timespec_ns(patience) : UINT64_MAX) != SIM_WAKE_TIMEOUT)
        return 0;
    f->waiting--;
    return fail_with(ETIMEDOUT);
}

static long posix_futex_wake(const uint32_t *word, uint32_t most)
{
    struct futex *f = futex_of(word);
    long woken = 0;
    for (; f && f->waiting && woken < (long)most; woken++) {
        f->waiting--;
        sim_sem_post(&f->wakes);
    }
    sim_leave_kernel();
    return woken;
}

/* Waits and wakes only. FUTEX_PRIVATE_FLAG changes nothing within one process. */
static long posix_futex(const long a[6])
{
    const uint32_t *word = (const uint32_t *)a[0];
    switch (a[1] & ~FUTEX_PRIVATE_FLAG) {
    case FUTEX_WAIT: return posix_futex_wait(word, (uint32_t)a[2], (const struct timespec *)a[3]);
    case FUTEX_WAKE: return posix_futex_wake(word, (uint32_t)a[2]);
    default: return fail_with(ENOSYS);
    }
}

/* ---- devices */

enum { TIMERS = 65536, FIRST_TIMER = 1 << 24 };
static uint64_t timers[TIMERS]; /* duration of the next read, ns */
static int timer_count;

int sim_posix_timerfd_create(int clock, int flags)
{
    (void)clock;
    (void)flags;
    if (timer_count == TIMERS) {
        errno = EMFILE;
        return -1;
    }
    return FIRST_TIMER + timer_count++;
}

int sim_posix_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *was)
{
    (void)flags;
    (void)was;
    timers[fd - FIRST_TIMER] = posix_timespec_ns(&to->it_value);
    return 0;
}

ssize_t sim_posix_read(int fd, void *out, size_t bytes)
{
    static const uint64_t once = 1;
    if (fd < FIRST_TIMER || fd >= FIRST_TIMER + timer_count)
        return read(fd, out, bytes);
    uint64_t ns = timers[fd - FIRST_TIMER];
    timers[fd - FIRST_TIMER] = 0;
    if (ns) {
        uint64_t half_ns = posix_half_call_ns(&sim_virtual_costs.device_call, ns);
        sim_compute_in_kernel(half_ns);
        sim_io(ns > half_ns ? ns - half_ns : 1);
        sim_compute_in_kernel(half_ns);
    }
    memcpy(out, &once, sizeof once);
    return sizeof once;
}

/* ---- system calls */

static long posix_getrusage(struct rusage *out)
{
    const struct sim_thread *t = sim_self();
    memset(out, 0, sizeof *out);
    out->ru_nvcsw = (long)sim_posix_voluntary(sim_posix_self());
    out->ru_nivcsw = (long)t->involuntary_switches;
    return 0;
}

static long posix_read_eventfd(struct sim_sem *s)
{
    if (s->count == 0)
        return fail_with(EAGAIN);
    s->count--;
    return sizeof(uint64_t);
}

static bool is_other_thread(uint32_t tid)
{
    return sim_posix_thread_of(tid) != NULL;
}

long sim_posix_syscall(long number, ...)
{
    long a[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    switch (number) {
    case SYS_gettid: return (long)sim_self()->tid;
    case SYS_sched_yield: return sim_posix_yield();
    case SYS_nanosleep: return sim_posix_clock_nanosleep(CLOCK_MONOTONIC, 0, (void *)a[0], NULL);
    case SYS_clock_nanosleep: return sim_posix_clock_nanosleep((clockid_t)a[0], (int)a[1], (void *)a[2], NULL);
    case SYS_clock_gettime: return sim_posix_clock_gettime((clockid_t)a[0], (void *)a[1]);
    case SYS_futex: return posix_futex(a);
    case SYS_getrusage: return posix_getrusage((void *)a[1]);
    case SYS_tgkill: return is_other_thread((uint32_t)a[1]) ? 0 : fail_with(ESRCH);
    case SYS_process_vm_readv: return syscall(number, (long)getpid(), a[1], a[2], a[3], a[4], a[5]);
    case SYS_read:
        if (event_of(a[0]))
            return posix_read_eventfd(event_of(a[0]));
        break;
    default: break;
    }
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *sim_posix_dlopen(const char *path, int flags)
{
    return path && strstr(path, "vdso") ? NULL : dlopen(path, flags);
}
