/* A clock for programs whose instructions the gate counts. Time passes only when the program calls gate_pass_time or
 * sleeps, and a sleep returns at once. Readings therefore do not depend on the machine, nor on the order in which
 * threads make them. A program that links this library before the C library finds these functions first, and so does a
 * library that is preloaded into it. The kernel's own clock (vDSO) is hidden by valgrind. */
#include "bench/gate/clock.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

static uint64_t now_ns = UINT64_C(1000000000);

void gate_pass_time(uint64_t ns)
{
    __atomic_fetch_add(&now_ns, ns, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    uint64_t now = __atomic_load_n(&now_ns, __ATOMIC_RELAXED);
    if (id == CLOCK_THREAD_CPUTIME_ID || id == CLOCK_PROCESS_CPUTIME_ID)
        now /= 2;
    *out = (struct timespec){(time_t)(now / 1000000000u), (long)(now % 1000000000u)};
    return 0;
}

int nanosleep(const struct timespec *asked, struct timespec *left)
{
    if (asked->tv_nsec < 0 || asked->tv_nsec >= 1000000000 || asked->tv_sec < 0) {
        errno = EINVAL;
        return -1;
    }
    gate_pass_time((uint64_t)asked->tv_sec * 1000000000u + (uint64_t)asked->tv_nsec);
    if (left)
        *left = (struct timespec){0, 0};
    return 0;
}
