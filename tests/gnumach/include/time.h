/* What the backend uses of it (calls.c). */
#ifndef STROBE_GNUMACH_INCLUDE_TIME_H
#define STROBE_GNUMACH_INCLUDE_TIME_H

struct timespec {
    long tv_sec, tv_nsec;
};
typedef int clockid_t;
#define CLOCK_THREAD_CPUTIME_ID 3

/* Of the calling thread. Another clock: -1. */
int clock_gettime(clockid_t clock, struct timespec *out);

#endif
