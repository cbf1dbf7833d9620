/* The real functions behind the hooks, which the program would have called without Strobe. They are found by
 * dlsym(RTLD_NEXT). */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_REAL_H
#define STROBE_BACKEND_LINUX_PRELOAD_REAL_H

#include "engine/base/hint.h"

#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

struct strobe_real {
    bool found;
    /* hooks_alloc.c */
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    /* hooks_lock.c */
    int (*pthread_mutex_lock)(pthread_mutex_t *);
    int (*pthread_mutex_trylock)(pthread_mutex_t *);
    int (*pthread_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*pthread_mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*pthread_mutex_unlock)(pthread_mutex_t *);
    int (*pthread_rwlock_rdlock)(pthread_rwlock_t *);
    int (*pthread_rwlock_tryrdlock)(pthread_rwlock_t *);
    int (*pthread_rwlock_timedrdlock)(pthread_rwlock_t *, const struct timespec *);
    int (*pthread_rwlock_wrlock)(pthread_rwlock_t *);
    int (*pthread_rwlock_trywrlock)(pthread_rwlock_t *);
    int (*pthread_rwlock_timedwrlock)(pthread_rwlock_t *, const struct timespec *);
    int (*pthread_rwlock_unlock)(pthread_rwlock_t *);
    int (*pthread_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*pthread_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*pthread_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*pthread_cond_signal)(pthread_cond_t *);
    int (*pthread_cond_broadcast)(pthread_cond_t *);
    int (*pthread_barrier_wait)(pthread_barrier_t *);
    int (*sem_wait)(sem_t *);
    int (*sem_trywait)(sem_t *);
    int (*sem_timedwait)(sem_t *, const struct timespec *);
    int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
    int (*sem_post)(sem_t *);
    /* hooks_file.c */
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*pread64)(int, void *, size_t, off64_t);
    ssize_t (*pwrite64)(int, const void *, size_t, off64_t);
    ssize_t (*readv)(int, const struct iovec *, int);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*__read_chk)(int, void *, size_t, size_t);
    ssize_t (*__pread64_chk)(int, void *, size_t, off64_t, size_t);
    int (*open64)(const char *, int, ...);
    int (*openat64)(int, const char *, int, ...);
    int (*__open64_2)(const char *, int);
    int (*creat64)(const char *, mode_t);
    int (*fsync)(int);
    int (*fdatasync)(int);
    int (*close)(int);
    /* hooks_descriptors.c */
    int (*pipe2)(int[2], int);
    int (*pipe)(int[2]);
    int (*socketpair)(int, int, int, int[2]);
    int (*eventfd)(unsigned, int);
    int (*eventfd_read)(int, eventfd_t *);
    int (*eventfd_write)(int, eventfd_t);
    int (*epoll_create)(int);
    int (*epoll_create1)(int);
    int (*epoll_ctl)(int, int, int, struct epoll_event *);
    int (*dup)(int);
    int (*dup2)(int, int);
    int (*dup3)(int, int, int);
    /* hooks_net.c */
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*__poll_chk)(struct pollfd *, nfds_t, int, size_t);
    int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
    int (*epoll_wait)(int, struct epoll_event *, int, int);
    int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    int (*accept)(int, struct sockaddr *, socklen_t *);
    int (*accept4)(int, struct sockaddr *, socklen_t *, int);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    ssize_t (*sendmsg)(int, const struct msghdr *, int);
    int (*sendmmsg)(int, struct mmsghdr *, unsigned, int);
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*__recv_chk)(int, void *, size_t, size_t, int);
    ssize_t (*recvfrom)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
    ssize_t (*__recvfrom_chk)(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
    ssize_t (*recvmsg)(int, struct msghdr *, int);
    int (*recvmmsg)(int, struct mmsghdr *, unsigned, int, struct timespec *);
    ssize_t (*mq_receive)(mqd_t, char *, size_t, unsigned *);
    ssize_t (*mq_timedreceive)(mqd_t, char *, size_t, unsigned *, const struct timespec *);
    int (*mq_send)(mqd_t, const char *, size_t, unsigned);
    int (*mq_timedsend)(mqd_t, const char *, size_t, unsigned, const struct timespec *);
    /* hooks_time.c */
    int (*nanosleep)(const struct timespec *, struct timespec *);
    int (*clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
    int (*usleep)(useconds_t);
    unsigned (*sleep)(unsigned);
    int (*clock_gettime)(clockid_t, struct timespec *);
    int (*gettimeofday)(struct timeval *, void *);
    /* hooks_thread.c */
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_join)(pthread_t, void **);
    int (*pthread_timedjoin_np)(pthread_t, void **, const struct timespec *);
    int (*pthread_setname_np)(pthread_t, const char *);
    int (*prctl)(int, ...);
    /* hooks_signal.c */
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    void (*(*signal)(int, void (*)(int)))(int);
    int (*sigprocmask)(int, const sigset_t *, sigset_t *);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigsuspend)(const sigset_t *);
    int (*pause)(void);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
    /* hooks_process.c, hooks_jump.S */
    void *(*dlopen)(const char *, int);
    int (*dlclose)(void *);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    void (*_exit)(int);
    pid_t (*wait4)(pid_t, int *, int, void *);
    pid_t (*waitpid)(pid_t, int *, int);
    pid_t (*wait)(int *);
    int (*waitid)(int, id_t, siginfo_t *, int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
};

extern struct strobe_real strobe_real_table;

/* Looks up all real functions. Meanwhile a small static buffer serves allocations. */
void strobe_real_find(void);

static inline struct strobe_real *strobe_real(void)
{
    if (strobe_unlikely(!strobe_real_table.found))
        strobe_real_find();
    return &strobe_real_table;
}

#endif
