#include "engine/backend/linux/preload/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t read_number(const char **text)
{
    uint64_t n = 0;
    while (**text == ' ')
        ++*text;
    for (; **text >= '0' && **text <= '9'; ++*text)
        n = n * 10 + (uint64_t)(**text - '0');
    return n;
}

/* Reads the fields of statm, which are pages: size, resident, shared (proc(5)). Returns 0 on failure. */
static uint64_t footprint_bytes(void)
{
    char text[128];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long bytes = strobe_linux_pread(fd, text, sizeof text - 1, 0);
    syscall(SYS_close, fd);
    if (bytes <= 0)
        return 0;
    text[bytes] = '\0';
    const char *p = text;
    read_number(&p);
    uint64_t resident = read_number(&p), shared = read_number(&p);
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Returns the number of the engine's threads: the sampler, and with calls the clock thread. */
static uint64_t count_own_threads(const struct strobe_sampler *s)
{
    return s->engine->config.calls ? 2 : 1;
}

/* The link count of the task directory is two plus the number of threads. */
uint64_t strobe_process_thread_count(void)
{
    struct statx x = {0};
    if (syscall(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &x) != 0 || x.stx_nlink < 3)
        return 0;
    return x.stx_nlink - 2;
}

static uint64_t cpu_ns(const struct strobe_linux *l)
{
    struct timespec t = {0};
    l->clock(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void strobe_process_record(const struct strobe_linux *l, struct strobe_sampler *s, uint32_t thread, bool own_files)
{
    const struct strobe_host *h = s->engine->host;
    uint64_t now = h->ticks(h->ctx), value[STROBE_SERIES_COUNT] = {
                                         [STROBE_SERIES_CPU_NS] = cpu_ns(l),
                                         [STROBE_SERIES_FOOTPRINT_BYTES] = own_files ? footprint_bytes() : 0,
                                         [STROBE_SERIES_THREADS] = strobe_process_thread_count(),
                                     };
    uint64_t own = count_own_threads(s);
    value[STROBE_SERIES_THREADS] -= value[STROBE_SERIES_THREADS] > own ? own : value[STROBE_SERIES_THREADS];
    for (unsigned what = 0; what < STROBE_SERIES_COUNT; what++)
        if (value[what])
            strobe_series_counter(s, thread, (enum strobe_series)what, now, value[what]);
}
