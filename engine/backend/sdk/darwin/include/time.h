/* What the capture half uses of Darwin's <time.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_TIME_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_TIME_H

#include <sys/types.h>

struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

typedef enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC_RAW = 4,
    CLOCK_MONOTONIC = 6,
    CLOCK_UPTIME_RAW = 8,
    CLOCK_PROCESS_CPUTIME_ID = 12,
    CLOCK_THREAD_CPUTIME_ID = 16,
} clockid_t;

int nanosleep(const struct timespec *wanted, struct timespec *left);
int clock_gettime(clockid_t clock, struct timespec *now);

#endif
