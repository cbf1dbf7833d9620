/* What the capture half uses of Darwin's <sys/time.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_TIME_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_TIME_H

#include <sys/types.h>

struct timeval {
    time_t tv_sec;
    int32_t tv_usec;
};

int gettimeofday(struct timeval *now, void *zone);

#endif
