#include "tests/emulate/guest/libsystem.h"

enum { ERROR_NO_ENTRY = 2, STDOUT = 1, REGULAR = 0100000, ENVIRONMENT_BYTES = 1024 };

/* As on Darwin with 64-bit machines. */
struct stat {
    int32_t device;
    uint16_t mode, links;
    uint64_t node;
    uint32_t user, group;
    int32_t of_device;
    uint32_t pad;
    struct timespec times[4];
    int64_t bytes, blocks;
    int32_t block_bytes;
    uint32_t flags, generation;
    int32_t spare[5];
};
int fstat(int fd, struct stat *out);
int lstat(const char *path, struct stat *out);

int open(const char *path, int flags, ...)
{
    return (int)posix(ask3(CALL_OPEN, (uint64_t)path, (uint64_t)flags, 0));
}

int close(int fd)
{
    return (int)posix(ask3(CALL_CLOSE, (uint64_t)fd, 0, 0));
}

int fstat(int fd, struct stat *out)
{
    int64_t bytes = posix(ask3(CALL_FILE_BYTES, (uint64_t)fd, 0, 0));
    if (bytes < 0)
        return -1;
    *out = (struct stat){.mode = REGULAR | 0600, .links = 1, .bytes = bytes, .blocks = bytes / 512};
    return 0;
}

int lstat(const char *path, struct stat *out)
{
    int fd = open(path, 0);
    if (fd < 0)
        return -1;
    int answer = fstat(fd, out);
    close(fd);
    return answer;
}

long pread(int fd, void *to, size_t bytes, int64_t offset)
{
    return posix(ask(CALL_PREAD, (uint64_t)fd, (uint64_t)to, bytes, (uint64_t)offset, 0, 0));
}

long write(int fd, const void *from, size_t bytes)
{
    return posix(ask3(CALL_WRITE, (uint64_t)fd, (uint64_t)from, bytes));
}

int ftruncate(int fd, int64_t bytes)
{
    return (int)posix(ask3(CALL_FTRUNCATE, (uint64_t)fd, (uint64_t)bytes, 0));
}

/* Has no effect, because the files exist already. */
int fcntl(int fd, int command, ...)
{
    (void)fd, (void)command;
    return 0;
}

int unlink(const char *path)
{
    (void)path;
    *__error() = ERROR_NO_ENTRY;
    return -1;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, int64_t offset)
{
    return (void *)posix(
        ask(CALL_MMAP, (uint64_t)at, bytes, (uint64_t)protection, (uint64_t)flags, (uint64_t)fd, (uint64_t)offset));
}

int munmap(void *at, size_t bytes)
{
    return (int)posix(ask3(CALL_MUNMAP, (uint64_t)at, bytes, 0));
}

int mprotect(void *at, size_t bytes, int protection)
{
    return (int)posix(ask3(CALL_MPROTECT, (uint64_t)at, bytes, (uint64_t)protection));
}

int madvise(void *at, size_t bytes, int advice)
{
    (void)at, (void)bytes, (void)advice;
    return 0;
}

int puts(const char *text)
{
    static os_unfair_lock lock;
    os_unfair_lock_lock(&lock);
    write(STDOUT, text, strlen(text));
    write(STDOUT, "\n", 1);
    os_unfair_lock_unlock(&lock);
    return 0;
}

/* ---- the process and its time */

_Noreturn void exit(int status)
{
    ask3(CALL_EXIT, (uint64_t)status, 0, 0);
    __builtin_trap();
}

_Noreturn void abort(void)
{
    __builtin_trap();
}

int getpid(void)
{
    return (int)ask3(CALL_GETPID, 0, 0, 0);
}

char *getenv(const char *name)
{
    static char value[ENVIRONMENT_BYTES];
    return posix(ask3(CALL_ENVIRONMENT, (uint64_t)name, (uint64_t)value, sizeof value)) < 0 ? NULL : value;
}

int usleep(unsigned us)
{
    mach_wait_until(mach_absolute_time() + (uint64_t)us * 24);
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest;
    return usleep((unsigned)((uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_nsec / 1000u));
}

uint64_t clock_gettime_nsec_np(int clock)
{
    enum { THREAD_CPU = 16 };
    return ask3(CALL_CLOCK_NS, clock == THREAD_CPU, 0, 0);
}

int clock_gettime(int clock, struct timespec *out)
{
    uint64_t ns = clock_gettime_nsec_np(clock);
    *out = (struct timespec){(long)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return 0;
}
