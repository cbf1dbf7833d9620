/* The functions that the backend uses (calls.c). */
#ifndef STROBE_GNUMACH_INCLUDE_TIME_H
#define STROBE_GNUMACH_INCLUDE_TIME_H

struct timespec {
    long tv_sec, tv_nsec;
};
typedef int clockid_t;
#define CLOCK_THREAD_CPUTIME_ID 3

/* For the calling thread. Other clocks: -1. */
int clock_gettime(clockid_t clock, struct timespec *out);

#endif
