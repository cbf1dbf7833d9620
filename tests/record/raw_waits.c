/* Waits in system calls that no hook sees: the program has their instructions itself. Six times each:
 *
 *   in_futex   FUTEX_WAIT with a timeout        in_epoll   epoll_pwait with a timeout        in_sleep   clock_nanosleep
 *
 *   raw_waits MS      each wait lasts so long; the program computes for 3 ms before it. Prints `ready`, and `sound`. */
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 6, WORK_NS = 3000000 };

static long system_call(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = 0;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "system calls of this machine are not known"
#endif
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void work(void)
{
    uint64_t end = thread_cpu_ns() + WORK_NS;
    while (thread_cpu_ns() < end)
        continue;
}

__attribute__((noinline)) static int in_futex(long ms)
{
    static uint32_t word;
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    work();
    return system_call(SYS_futex, (long)&word, FUTEX_WAIT, 0, (long)&t, 0) == -ETIMEDOUT;
}

__attribute__((noinline)) static int in_epoll(long ms)
{
    static int epoll = -1;
    struct epoll_event event;
    epoll = epoll < 0 ? epoll_create1(EPOLL_CLOEXEC) : epoll;
    work();
    long found;
    do /* a stop right before the wait ends it (README, Limits) */
        found = system_call(SYS_epoll_pwait, epoll, (long)&event, 1, ms, 0);
    while (found == -EINTR);
    return found == 0;
}

__attribute__((noinline)) static int in_sleep(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    work();
    return system_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&t, 0, 0) == 0;
}

int main(int count, char **arguments)
{
    long ms = count == 2 ? strtol(arguments[1], NULL, 10) : 0;
    int good = ms > 0;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < TIMES && good; i++)
        good = in_futex(ms) && in_epoll(ms) && in_sleep(ms);
    work();
    puts(good ? "sound" : "a wait ended early");
    return good ? 0 : 1;
}
