/* Makes the player an app on the fake Mach. play.mk includes this file before each player source that calls libSystem.
 * These calls then go through the pointers of the app's image (sim/fake/mach/app.h), which the engine's hooks rebind.
 */
#ifndef STROBE_SIM_PLAYER_MACH_APP_H
#define STROBE_SIM_PLAYER_MACH_APP_H

#include "sim/player/mach/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* sim/player/virtual/posix.h defines some of these names as well; the definitions below replace them. */
#undef pthread_create
#undef pthread_join
#undef pthread_mutex_lock
#undef pthread_mutex_trylock
#undef pthread_mutex_unlock
#undef pthread_cond_wait
#undef pthread_cond_timedwait
#undef pthread_cond_signal
#undef pthread_rwlock_rdlock
#undef pthread_rwlock_wrlock
#undef pthread_rwlock_unlock
#undef clock_gettime
#undef clock_nanosleep
#undef nanosleep
#undef sem_init
#undef sem_wait
#undef sem_clockwait
#undef sem_post
#undef sem_getvalue
#undef eventfd
#undef eventfd_write
#undef ppoll
#undef syscall
#undef pthread_setname_np

#define malloc(bytes)                                (fake_mach_app()->malloc)(bytes)
#define free(p)                                      (fake_mach_app()->free)(p)
#define clock_gettime(clock, out)                    (fake_mach_app()->clock_gettime)(clock, out)
#define clock_nanosleep(clock, flags, span, left)    (fake_mach_app()->nanosleep)(span, left)
#define pthread_create(thread, attributes, run, arg) (fake_mach_app()->pthread_create)(thread, attributes, run, arg)
#define pthread_join(thread, answer)                 (fake_mach_app()->pthread_join)(thread, answer)
#define pthread_mutex_lock(m)                        (fake_mach_app()->pthread_mutex_lock)(m)
#define pthread_mutex_trylock(m)                     (fake_mach_app()->pthread_mutex_trylock)(m)
#define pthread_mutex_unlock(m)                      (fake_mach_app()->pthread_mutex_unlock)(m)
#define pthread_cond_wait(c, m)                      (fake_mach_app()->pthread_cond_wait)(c, m)
#define pthread_cond_timedwait(c, m, until)          (fake_mach_app()->pthread_cond_timedwait)(c, m, until)
#define pthread_cond_signal(c)                       (fake_mach_app()->pthread_cond_signal)(c)
#define pthread_rwlock_rdlock(l)                     (fake_mach_app()->pthread_rwlock_rdlock)(l)
#define pthread_rwlock_wrlock(l)                     (fake_mach_app()->pthread_rwlock_wrlock)(l)
#define pthread_rwlock_unlock(l)                     (fake_mach_app()->pthread_rwlock_unlock)(l)
#define pthread_setname_np(thread, name)             (fake_mach_app()->pthread_setname_np)(name)
#define sem_init                                     sim_mach_sem_init
#define sem_wait                                     sim_mach_sem_wait
#define sem_clockwait                                sim_mach_sem_clockwait
#define sem_post                                     sim_mach_sem_post
#define sem_getvalue                                 sim_mach_sem_getvalue
#define eventfd                                      sim_mach_eventfd
#define eventfd_write                                sim_mach_eventfd_write
#define ppoll                                        sim_mach_ppoll
#define syscall                                      sim_mach_syscall
#define sim_work_device                              sim_mach_device

#endif
