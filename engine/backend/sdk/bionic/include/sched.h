/* What the capture half uses of Android's <sched.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SCHED_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SCHED_H

#define SCHED_FIFO          1
#define SCHED_RESET_ON_FORK 0x40000000

struct sched_param {
    int sched_priority;
};

int sched_yield(void);

#endif
