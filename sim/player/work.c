#include "sim/player/work.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEVICE_BYTES = 8 };

typedef int clock_fn(clockid_t, struct timespec *);

/* clock_gettime of the vDSO. The C library calls it too, but the engine hooks the C library's function. */
static clock_fn *vdso_clock;

/* A message queue that stays empty. A thread that receives from it waits until its timeout. The timeout is an argument
 * of the receiving call. A timer would need one more call, which costs as much as a short wait. */
static mqd_t empty_queue = -1;

static uint64_t work_timespec_ns(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static uint64_t work_clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    if (syscall(SYS_clock_gettime, clock, &t) != 0)
        return 0;
    return work_timespec_ns(&t);
}

static struct timespec work_timespec_from_ns(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static mqd_t open_queue(void)
{
    struct mq_attr least = {.mq_maxmsg = 1, .mq_msgsize = DEVICE_BYTES};
    char name[64];
    snprintf(name, sizeof name, "/strobe-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &least);
    if (queue != -1)
        mq_unlink(name);
    return queue;
}

bool sim_work_begin(void)
{
#ifdef __aarch64__
    static const char name[] = "__kernel_clock_gettime";
#else
    static const char name[] = "__vdso_clock_gettime";
#endif
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (vdso)
        *(void **)&vdso_clock = dlsym(vdso, name);
    if (empty_queue == -1)
        empty_queue = open_queue();
    return empty_queue != -1;
}

uint64_t sim_work_now_ns(void)
{
    struct timespec t;
    if (!vdso_clock || vdso_clock(CLOCK_MONOTONIC, &t) != 0)
        return work_clock_ns(CLOCK_MONOTONIC);
    return work_timespec_ns(&t);
}

/* Each turn depends on the result of the previous one. The latency of a multiplication therefore sets the pace,
 * whatever else the core does. */
static void work_run_turns(uint64_t turns)
{
    uint64_t x = turns;
    for (uint64_t i = 0; i < turns; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Each try is as long as a tick of the kernel, so that interruptions (ticks, the host of a virtual machine) count as
 * part of the pace. Short tries mostly end between two interruptions: they made the processor of a virtual machine seem
 * 5 % faster than it is. The median ignores single long interruptions. */
uint64_t sim_work_calibrate(void)
{
    enum { TRIES = 25, TURNS = 5000000 };
    uint64_t took[TRIES];
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = sim_work_now_ns();
        work_run_turns(TURNS);
        took[i] = sim_work_now_ns() - begin;
    }
    qsort(took, TRIES, sizeof took[0], compare_ns);
    uint64_t median = took[TRIES / 2];
    return TURNS * 1000000ull / (median ? median : 1);
}

void sim_work_do(uint64_t ns, uint64_t turns_per_ms)
{
    const uint64_t ms = 1000000;
    work_run_turns(ns / ms * turns_per_ms + ns % ms * turns_per_ms / ms);
}

void sim_work_device(int *device, uint64_t latency_ns)
{
    char nothing[DEVICE_BYTES];
    (void)device;
    struct timespec until = work_timespec_from_ns(work_clock_ns(CLOCK_REALTIME) + latency_ns);
    while (mq_timedreceive(empty_queue, nothing, sizeof nothing, NULL, &until) < 0 && errno == EINTR)
        continue;
}

uint64_t sim_work_thread_cpu_ns(void)
{
    return work_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The id of a thread's clock is (~tid << 3) | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED (kernel's
 * include/linux/posix-timers.h). */
uint64_t sim_work_cpu_ns_of(uint32_t tid)
{
    return work_clock_ns((clockid_t)(~tid << 3 | 4 | 2));
}

uint64_t sim_work_process_cpu_ns(void)
{
    return work_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

const struct sim_work_limits sim_work_limits = {.wait_ns = 2000, .block_ns = 5000};

struct sim_work_switches sim_work_switches(void)
{
    struct rusage u = {0};
    syscall(SYS_getrusage, RUSAGE_THREAD, &u);
    return (struct sim_work_switches){(uint64_t)u.ru_nvcsw, (uint64_t)u.ru_nivcsw, (uint64_t)u.ru_minflt,
                                      (uint64_t)u.ru_majflt};
}

struct timespec sim_work_time_in(uint64_t span_ns)
{
    return work_timespec_from_ns(sim_work_now_ns() + span_ns);
}

void sim_work_sleep_until(uint64_t deadline_ns)
{
    struct timespec t = work_timespec_from_ns(deadline_ns);
    while (sim_work_now_ns() < deadline_ns)
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void sim_work_wait(const void *word, uint32_t value, uint64_t deadline_ns)
{
    struct timespec t = work_timespec_from_ns(deadline_ns);
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, &t, NULL, FUTEX_BITSET_MATCH_ANY);
}

void sim_work_wake(const void *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

void sim_work_yield(void)
{
    syscall(SYS_sched_yield);
}

/* The prepared memory: `used` of `bytes` are given away. What is given back is not used again. */
static struct {
    char *at;
    size_t bytes;
    _Atomic size_t used;
} prepared;

static void *work_map_pages(size_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void sim_work_reserve(uint32_t threads)
{
    const size_t thread_bytes = 6144; /* an actor, its first notes, and its first levels and allocations */
    prepared.at = work_map_pages(threads * thread_bytes, MAP_POPULATE);
    prepared.bytes = prepared.at ? threads * thread_bytes : 0;
    atomic_store(&prepared.used, 0);
}

void *sim_work_pages(size_t bytes)
{
    const size_t line = 64, most = 4096;
    size_t whole = (bytes + line - 1) / line * line;
    size_t at = bytes <= most && prepared.bytes ? atomic_fetch_add(&prepared.used, whole) : prepared.bytes;
    return at < prepared.bytes && whole <= prepared.bytes - at ? prepared.at + at : work_map_pages(bytes, 0);
}

void sim_work_free_pages(void *pages, size_t bytes)
{
    char *at = pages;
    if (at < prepared.at || at >= prepared.at + prepared.bytes)
        munmap(pages, bytes);
}
