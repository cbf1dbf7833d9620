#ifndef STROBE_BIONIC_SCHED_H
#define STROBE_BIONIC_SCHED_H

#define SCHED_FIFO 1
#define SCHED_RESET_ON_FORK 0x40000000

struct sched_param { int sched_priority; };

int sched_yield(void);

#endif
