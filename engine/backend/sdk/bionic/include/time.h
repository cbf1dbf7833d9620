/* What the capture half uses of Android's <time.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_TIME_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_TIME_H

#include <sys/types.h>

struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

#define CLOCK_REALTIME          0
#define CLOCK_MONOTONIC         1
#define CLOCK_THREAD_CPUTIME_ID 3
#define CLOCK_BOOTTIME          7
#define TIMER_ABSTIME           1

int clock_gettime(clockid_t clock, struct timespec *now);
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left);
int nanosleep(const struct timespec *wanted, struct timespec *left);

#endif
