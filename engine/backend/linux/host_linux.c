#include "engine/backend/linux/host_linux.h"

#include "engine/backend/linux/suspend.h"
#include "engine/store/session.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t read_clock_ns(const struct strobe_linux *l, clockid_t id)
{
    struct timespec t = {0};
    l->clock(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t ticks(void *ctx)
{
    return read_clock_ns(ctx, CLOCK_MONOTONIC);
}

static uint64_t self_cpu_ns(void *ctx)
{
    return read_clock_ns(ctx, CLOCK_THREAD_CPUTIME_ID);
}

static void self_usage(void *ctx, struct strobe_usage *out)
{
    (void)ctx;
    struct rusage u = {0};
    syscall(SYS_getrusage, RUSAGE_THREAD, &u);
    *out = (struct strobe_usage){(uint64_t)u.ru_minflt, (uint64_t)u.ru_majflt, (uint64_t)u.ru_nvcsw,
                                 (uint64_t)u.ru_nivcsw};
}

/* The id of a thread's CPU clock is (~tid << 3) | CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED (kernel's
 * include/linux/posix-timers.h). */
static enum strobe_status thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    const struct strobe_linux *l = ctx;
    struct timespec t;
    clockid_t id = (clockid_t)(~tid << 3 | 4 | 2);
    if (syscall(SYS_clock_gettime, id, &t) != 0) {
        /* STROBE_GONE ends the thread's chunk, so it must be certain. A seccomp filter may refuse the clock, too. */
        bool gone = syscall(SYS_tgkill, (long)l->pid, (long)tid, 0l) != 0 && errno == ESRCH;
        return gone ? STROBE_GONE : STROBE_UNSUPPORTED;
    }
    *out = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return STROBE_OK;
}

/* ---- safe reads ---- */

/* The call copies whole iovecs. With one for each page, the readable part before a hole is copied. */
enum { PAGE = 4096, IOVECS = 32 };

static size_t read_vm(uint32_t pid, uint64_t address, char *out, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        struct iovec remote[IOVECS];
        size_t count = 0, asked = 0;
        while (count < IOVECS && done + asked < bytes) {
            uint64_t at = address + done + asked;
            size_t part = PAGE - (size_t)(at & (PAGE - 1));
            if (part > bytes - done - asked)
                part = bytes - done - asked;
            remote[count++] = (struct iovec){(void *)(uintptr_t)at, part};
            asked += part;
        }
        struct iovec local = {out + done, asked};
        long n = syscall(SYS_process_vm_readv, (long)pid, &local, 1ul, remote, (unsigned long)count, 0ul);
        if (n > 0)
            done += (size_t)n;
        if (n != (long)asked)
            break;
    }
    return done;
}

long strobe_linux_pread(int fd, void *out, size_t bytes, uint64_t offset)
{
#if defined(__arm__) /* a 64-bit argument takes an even register and the next */
    return syscall(SYS_pread64, fd, out, bytes, 0, (uint32_t)offset, (uint32_t)(offset >> 32));
#else
    return syscall(SYS_pread64, fd, out, bytes, offset);
#endif
}

static size_t read_proc(uint64_t address, char *out, size_t bytes)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long n = strobe_linux_pread(fd, out, bytes, address);
    syscall(SYS_close, fd);
    return n > 0 ? (size_t)n : 0;
}

static enum strobe_status read_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    const struct strobe_linux *l = ctx;
    errno = 0;
    *copied = read_vm(l->pid, address, out, bytes);
    if (*copied == 0 && (errno == ENOSYS || errno == EPERM))
        *copied = read_proc(address, out, bytes);
    return *copied ? STROBE_OK : STROBE_UNREADABLE;
}

/* ---- sleeping, fences, start ---- */

static struct timespec timespec_of(uint64_t ticks)
{
    return (struct timespec){(time_t)(ticks / 1000000000u), (long)(ticks % 1000000000u)};
}

static void sleep_until(void *ctx, uint64_t deadline_ticks)
{
    (void)ctx;
    struct timespec t = timespec_of(deadline_ticks);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* FUTEX_WAIT_BITSET with all bits is the wait that takes an absolute time. */
static void rest_until(void *ctx, uint64_t deadline_ticks, strobe_a32 *word, uint32_t value)
{
    struct timespec t = timespec_of(deadline_ticks);
    while (strobe_load_acquire(word) == value && ticks(ctx) < deadline_ticks)
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, &t, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void rouse(void *ctx, strobe_a32 *word)
{
    (void)ctx;
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

/* Finds the kernel's own clock_gettime, which is mapped into every process. The C library's function only checks the
 * arguments and calls it, and that adds about a tenth to its time. */
static strobe_clock_fn *vdso_clock(void)
{
#ifdef __aarch64__
    static const char name[] = "__kernel_clock_gettime";
#else
    static const char name[] = "__vdso_clock_gettime";
#endif
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    strobe_clock_fn *function = NULL;
    if (vdso)
        *(void **)&function = dlsym(vdso, name);
    return function;
}

static strobe_clock_fn *fast_clock;

void strobe_linux_find_clock(void)
{
    if (!fast_clock)
        fast_clock = vdso_clock();
}

static strobe_clock_fn *_Atomic clock_of_captures;

uint64_t strobe_linux_now(void)
{
    strobe_clock_fn *clock = strobe_load_acquire(&clock_of_captures);
    struct timespec t = {0};
    clock(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void strobe_linux_init(struct strobe_linux *l, strobe_clock_fn *clock)
{
    strobe_linux_find_clock();
    strobe_store_release(&clock_of_captures, fast_clock ? fast_clock : clock);
    *l = (struct strobe_linux){
        .host = {.ticks = ticks,
                 .self_cpu_ns = self_cpu_ns,
                 .self_usage = self_usage,
                 .thread_cpu_ns = thread_cpu_ns,
                 .wait_call = strobe_linux_wait_call,
                 .suspend = strobe_linux_suspend,
                 .settle = strobe_linux_settle,
                 .resume = strobe_linux_resume,
                 .read = read_memory,
                 .sleep_until = sleep_until,
                 .rest_until = rest_until,
                 .rouse = rouse,
                 .ctx = l,
                 .ticks_per_second = 1000000000u},
        .clock = fast_clock ? fast_clock : clock,
        .pid = (uint32_t)getpid(),
    };
}

void strobe_linux_clock_pair(const struct strobe_linux *l, uint64_t *ticks_out, uint64_t *monotonic_ns,
                             uint64_t *boottime_ns, uint64_t *realtime_ns)
{
    *ticks_out = *monotonic_ns = read_clock_ns(l, CLOCK_MONOTONIC);
    *boottime_ns = read_clock_ns(l, CLOCK_BOOTTIME);
    *realtime_ns = read_clock_ns(l, CLOCK_REALTIME);
}

void strobe_linux_begin_header(const struct strobe_linux *l, struct strobe_session_header *h)
{
    struct strobe_clock_pair *b = &h->begin;
    strobe_linux_clock_pair(l, &b->ticks, &b->monotonic_ns, &b->boottime_ns, &b->realtime_ns);
    h->ticks_per_second = l->host.ticks_per_second;
    long n = syscall(SYS_readlinkat, -100, "/proc/self/exe", h->exe, sizeof h->exe - 1);
    h->exe[n > 0 ? n : 0] = '\0';
}

void strobe_linux_command(char *out, size_t capacity)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : syscall(SYS_read, fd, out, capacity - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    while (n > 0 && out[n - 1] == '\0')
        n--;
    for (long i = 0; i < n; i++)
        if (out[i] == '\0')
            out[i] = ' ';
    out[n > 0 ? n : 0] = '\0';
}
