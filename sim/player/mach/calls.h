/* What the player needs of the fake Mach beyond what the app's image calls: Linux's own kinds of waiting, of Mach's.
 *
 *   semaphores   dispatch's; their counts are kept beside them, for whoever asks
 *   eventfd      a port that messages can be received from; polled for with mach_msg
 *   a device     a timer that is read from
 *
 * For sim/player only. */
#ifndef STROBE_SIM_PLAYER_MACH_CALLS_H
#define STROBE_SIM_PLAYER_MACH_CALLS_H

#include "sim/fake/mach/app.h"

#include <semaphore.h>
#include <sys/eventfd.h>

int sim_mach_sem_init(sem_t *s, int shared, unsigned value);
int sim_mach_sem_wait(sem_t *s);
int sim_mach_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until);
int sim_mach_sem_post(sem_t *s);
int sim_mach_sem_getvalue(sem_t *s, int *value);
int sim_mach_eventfd(unsigned value, int flags);
int sim_mach_eventfd_write(int i, eventfd_t value);
int sim_mach_ppoll(struct pollfd *p, nfds_t count, const struct timespec *patience, const sigset_t *mask);
long sim_mach_syscall(long number, ...); /* reads of what sim_mach_eventfd made */
void sim_mach_device(int *timer, uint64_t latency_ns);

#endif
