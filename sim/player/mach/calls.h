/* Linux calls of the player that the fake Mach does not have, implemented with its calls:
 *
 *   semaphores   dispatch semaphores, with a count beside each for sem_getvalue
 *   eventfd      a port with a receive right; ppoll receives a message with mach_msg
 *   device       a timerfd that the app reads
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
long sim_mach_syscall(long number, ...); /* SYS_gettid; SYS_read of an event of sim_mach_eventfd */
void sim_mach_device(int *timer, uint64_t latency_ns);

#endif
