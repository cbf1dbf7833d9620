/* Threads, locks, clocks and waits of POSIX and Linux over the virtual kernel.
 *
 * virtual.mk includes this file before each source that it compiles for virtual time: the player of real mode, the
 * engine's Android backend with its Linux host, and the fake runtime's system of pthreads. These sources are the same
 * files that run on real threads. The macros below redirect their calls. Other calls reach the C library.
 *
 *   threads      fibers; ids count from 1. Id 1 is the main thread, and the process
 *   locks        locks of sim/kernel, recursive when the attribute requests it. Created at first use, never destroyed
 *   clocks       begin at SIM_POSIX_ORIGIN_NS; a read costs no time (charge.h charges the engine's reads)
 *   CPU clocks   time that the virtual kernel has given the thread
 *   eventfd      semaphores; ppoll accepts one eventfd only
 *   timerfd      devices: a read takes the time that timerfd_settime has set
 *   syscall      calls that read clocks, wait or identify threads; others reach the real kernel
 *
 * All functions: fiber. */
#ifndef STROBE_SIM_PLAYER_VIRTUAL_POSIX_H
#define STROBE_SIM_PLAYER_VIRTUAL_POSIX_H

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SIM_POSIX_ORIGIN_NS UINT64_C(1000000000) /* not 0: the engine uses 0 for "never" */

/* ---- posix_threads.c */

enum { SIM_POSIX_KEYS = 8 };

/* POSIX state of a fiber. */
struct sim_posix_thread {
    struct sim_thread *thread;     /* of the virtual kernel */
    struct sim_posix_thread *next; /* in order of start */
    void *(*run)(void *);
    void *arg;
    char name[64]; /* longer than on Linux: apps of the fake Mach have such names */
    void *values[SIM_POSIX_KEYS];
    uint64_t yields; /* calls of sched_yield */
};

/* Starts a thread, before or while the kernel runs. NULL: no memory. */
struct sim_posix_thread *sim_posix_start(void *(*run)(void *), void *arg);
struct sim_posix_thread *sim_posix_self(void);
struct sim_posix_thread *sim_posix_thread_of(uint32_t tid);     /* NULL: no live thread has it */
struct sim_posix_thread *sim_posix_threads(void);               /* first of all, ended ones too */
uint64_t sim_posix_voluntary(const struct sim_posix_thread *t); /* switches and yields */
uint64_t sim_posix_cpu_ns(void);                                /* of all threads */

int sim_posix_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *arg);
int sim_posix_join(pthread_t thread, void **result);
pthread_t sim_posix_self_id(void);
int sim_posix_setname(pthread_t thread, const char *name);
int sim_posix_getname(pthread_t thread, char *out, size_t bytes);
int sim_posix_getattr(pthread_t thread, pthread_attr_t *attributes);
int sim_posix_key_create(pthread_key_t *key, void (*end)(void *));
int sim_posix_setspecific(pthread_key_t key, const void *value);
void *sim_posix_getspecific(pthread_key_t key);
int sim_posix_prctl(int option, ...);
int sim_posix_setpriority(int which, int who, int nice);

/* ---- posix_locks.c */

int sim_posix_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attributes);
int sim_posix_mutex_lock(pthread_mutex_t *m);
int sim_posix_mutex_trylock(pthread_mutex_t *m);
int sim_posix_mutex_unlock(pthread_mutex_t *m);
int sim_posix_cond_init(pthread_cond_t *c, const pthread_condattr_t *attributes);
int sim_posix_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int sim_posix_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int sim_posix_cond_signal(pthread_cond_t *c);
int sim_posix_cond_broadcast(pthread_cond_t *c);
int sim_posix_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attributes);
int sim_posix_rwlock_rdlock(pthread_rwlock_t *l);
int sim_posix_rwlock_tryrdlock(pthread_rwlock_t *l);
int sim_posix_rwlock_trywrlock(pthread_rwlock_t *l);
int sim_posix_rwlock_wrlock(pthread_rwlock_t *l);
int sim_posix_rwlock_unlock(pthread_rwlock_t *l);
int sim_posix_sem_init(sem_t *s, int shared, unsigned value);
int sim_posix_sem_wait(sem_t *s);
int sim_posix_sem_trywait(sem_t *s);
int sim_posix_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until);
int sim_posix_sem_post(sem_t *s);
int sim_posix_sem_getvalue(sem_t *s, int *value);

/* ---- posix_calls.c */

uint64_t sim_posix_now_ns(void);                          /* CLOCK_MONOTONIC */
uint64_t sim_posix_left_ns(const struct timespec *until); /* from now; 0 = in the past */
int sim_posix_clock_gettime(clockid_t clock, struct timespec *out);
int sim_posix_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left);
int sim_posix_nanosleep(const struct timespec *t, struct timespec *left);
int sim_posix_eventfd(unsigned value, int flags);
int sim_posix_eventfd_write(int fd, eventfd_t value);
int sim_posix_ppoll(struct pollfd *p, nfds_t count, const struct timespec *patience, const sigset_t *mask);
int sim_posix_timerfd_create(int clock, int flags);
int sim_posix_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *was);
ssize_t sim_posix_read(int fd, void *out, size_t bytes);
int sim_posix_yield(void);
pid_t sim_posix_getpid(void);
long sim_posix_syscall(long number, ...);
void *sim_posix_dlopen(const char *path, int flags); /* NULL for the vDSO */

#ifdef SIM_VIRTUAL
#define pthread_create                sim_posix_create
#define pthread_join                  sim_posix_join
#define pthread_self                  sim_posix_self_id
#define pthread_setname_np            sim_posix_setname
#define pthread_getname_np            sim_posix_getname
#define pthread_getattr_np            sim_posix_getattr
#define pthread_key_create            sim_posix_key_create
#define pthread_setspecific           sim_posix_setspecific
#define pthread_getspecific           sim_posix_getspecific
#define prctl                         sim_posix_prctl
#define setpriority(which, who, nice) sim_posix_setpriority((int)(which), (int)(who), (nice))
#define pthread_mutex_init            sim_posix_mutex_init
#define pthread_mutex_lock            sim_posix_mutex_lock
#define pthread_mutex_trylock         sim_posix_mutex_trylock
#define pthread_mutex_unlock          sim_posix_mutex_unlock
#define pthread_cond_init             sim_posix_cond_init
#define pthread_cond_wait             sim_posix_cond_wait
#define pthread_cond_timedwait        sim_posix_cond_timedwait
#define pthread_cond_signal           sim_posix_cond_signal
#define pthread_cond_broadcast        sim_posix_cond_broadcast
#define pthread_rwlock_init           sim_posix_rwlock_init
#define pthread_rwlock_rdlock         sim_posix_rwlock_rdlock
#define pthread_rwlock_tryrdlock      sim_posix_rwlock_tryrdlock
#define pthread_rwlock_trywrlock      sim_posix_rwlock_trywrlock
#define pthread_rwlock_wrlock         sim_posix_rwlock_wrlock
#define pthread_rwlock_unlock         sim_posix_rwlock_unlock
#define sem_init                      sim_posix_sem_init
#define sem_wait                      sim_posix_sem_wait
#define sem_trywait                   sim_posix_sem_trywait
#define sem_clockwait                 sim_posix_sem_clockwait
#define sem_post                      sim_posix_sem_post
#define sem_getvalue                  sim_posix_sem_getvalue
#define clock_gettime                 sim_posix_clock_gettime
#define clock_nanosleep               sim_posix_clock_nanosleep
#ifndef nanosleep /* the fake Mach defines it */
#define nanosleep sim_posix_nanosleep
#endif
#define eventfd         sim_posix_eventfd
#define eventfd_write   sim_posix_eventfd_write
#define ppoll           sim_posix_ppoll
#define timerfd_create  sim_posix_timerfd_create
#define timerfd_settime sim_posix_timerfd_settime
#define read            sim_posix_read
#define sched_yield     sim_posix_yield
#define getpid          sim_posix_getpid
#define syscall         sim_posix_syscall
#define dlopen          sim_posix_dlopen
#endif

#endif
