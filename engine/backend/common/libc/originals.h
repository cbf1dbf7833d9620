/* The functions of the C library that hooks of waits, locks and I/O exist for (lock_hooks.inc, file_hooks.inc,
 * wait_hooks.inc, socket_hooks.inc, descriptor_hooks.inc), and the pointers by which the hooks call them.
 *
 *   X(name)   a function with a hook. A C library may lack it; then no program calls it, and its pointer stays NULL
 *
 * Two backends use the list: the preloaded library of Linux (linux/preload/real.h), whose hooks have the functions'
 * names, and the Android backend (art/hooks/libc.h), whose hooks replace slots of global offset tables. Both know only
 * functions that programs call through the dynamic linker. */
#ifndef STROBE_BACKEND_COMMON_LIBC_ORIGINALS_H
#define STROBE_BACKEND_COMMON_LIBC_ORIGINALS_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What fortified headers call instead. Such a function checks the size of the buffer first. */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t bytes, off64_t at, size_t room);
int __open_2(const char *path, int flags);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
ssize_t __recvfrom_chk(int fd, void *to, size_t bytes, size_t room, int flags, struct sockaddr *from,
                       socklen_t *length);

/* Functions of Android's C library that the hooks of Linux leave out: most are not in the GNU C library. */
ssize_t __write_chk(int fd, const void *from, size_t bytes, size_t room);
ssize_t __pwrite_chk(int fd, const void *from, size_t bytes, off_t at, size_t room);
ssize_t __pwrite64_chk(int fd, const void *from, size_t bytes, off64_t at, size_t room);
int __openat_2(int directory, const char *path, int flags);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room);
ssize_t __sendto_chk(int fd, const void *from, size_t bytes, size_t room, int flags, const struct sockaddr *to,
                     socklen_t length);
int pthread_mutex_timedlock_monotonic_np(pthread_mutex_t *m, const struct timespec *until);
int pthread_rwlock_timedrdlock_monotonic_np(pthread_rwlock_t *l, const struct timespec *until);
int pthread_rwlock_timedwrlock_monotonic_np(pthread_rwlock_t *l, const struct timespec *until);
int pthread_cond_timedwait_monotonic_np(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int sem_timedwait_monotonic_np(sem_t *s, const struct timespec *until);

/* Waits until a time of the monotonic clock: from level 28 on, that for a condition at all levels. */
#define STROBE_LIBC_BIONIC_LOCKS(X)                                                                                    \
    X(pthread_mutex_timedlock_monotonic_np)                                                                            \
    X(pthread_rwlock_timedrdlock_monotonic_np)                                                                         \
    X(pthread_rwlock_timedwrlock_monotonic_np)                                                                         \
    X(pthread_cond_timedwait_monotonic_np)                                                                             \
    X(sem_timedwait_monotonic_np)

/* What fortified headers call instead of the functions of these names, from level 21 to 28 on. */
#define STROBE_LIBC_BIONIC_CALLS(X)                                                                                    \
    X(__write_chk)                                                                                                     \
    X(__pwrite_chk)                                                                                                    \
    X(__pwrite64_chk)                                                                                                  \
    X(__openat_2)                                                                                                      \
    X(__ppoll_chk)                                                                                                     \
    X(__sendto_chk)

#define STROBE_LIBC_BIONIC(X)                                                                                          \
    STROBE_LIBC_BIONIC_LOCKS(X)                                                                                        \
    STROBE_LIBC_BIONIC_CALLS(X)

#ifdef __ANDROID__
#define STROBE_LIBC_GNU(X)
#else
#include <mqueue.h>

int __open64_2(const char *path, int flags);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);

/* Functions that Android's C library lacks. Message queues are files on Linux. */
#define STROBE_LIBC_GNU(X)                                                                                             \
    X(__open64_2)                                                                                                      \
    X(__recv_chk)                                                                                                      \
    X(pthread_timedjoin_np)                                                                                            \
    X(mq_receive)                                                                                                      \
    X(mq_timedreceive)                                                                                                 \
    X(mq_send)                                                                                                         \
    X(mq_timedsend)
#endif

/* A thread waits for the lock's owner, or for a condition, a barrier or a semaphore. Releases name the waker. */
#define STROBE_LIBC_LOCKS(X)                                                                                           \
    X(pthread_mutex_lock)                                                                                              \
    X(pthread_mutex_timedlock)                                                                                         \
    X(pthread_mutex_clocklock)                                                                                         \
    X(pthread_mutex_unlock)                                                                                            \
    X(pthread_rwlock_rdlock)                                                                                           \
    X(pthread_rwlock_timedrdlock)                                                                                      \
    X(pthread_rwlock_wrlock)                                                                                           \
    X(pthread_rwlock_timedwrlock)                                                                                      \
    X(pthread_rwlock_unlock)                                                                                           \
    X(pthread_cond_wait)                                                                                               \
    X(pthread_cond_timedwait)                                                                                          \
    X(pthread_cond_clockwait)                                                                                          \
    X(pthread_cond_signal)                                                                                             \
    X(pthread_cond_broadcast)                                                                                          \
    X(pthread_barrier_wait)                                                                                            \
    X(sem_wait)                                                                                                        \
    X(sem_timedwait)                                                                                                   \
    X(sem_clockwait)                                                                                                   \
    X(sem_post)

/* A thread waits for a disk, a pipe or a device. fsync and flock may take seconds. A close ends a channel. */
#define STROBE_LIBC_FILES(X)                                                                                           \
    X(read)                                                                                                            \
    X(__read_chk)                                                                                                      \
    X(pread)                                                                                                           \
    X(pread64)                                                                                                         \
    X(__pread_chk)                                                                                                     \
    X(__pread64_chk)                                                                                                   \
    X(readv)                                                                                                           \
    X(write)                                                                                                           \
    X(pwrite)                                                                                                          \
    X(pwrite64)                                                                                                        \
    X(writev)                                                                                                          \
    X(open)                                                                                                            \
    X(open64)                                                                                                          \
    X(openat)                                                                                                          \
    X(openat64)                                                                                                        \
    X(__open_2)                                                                                                        \
    X(creat)                                                                                                           \
    X(creat64)                                                                                                         \
    X(fsync)                                                                                                           \
    X(fdatasync)                                                                                                       \
    X(flock)                                                                                                           \
    X(close)

/* A thread waits for time, for the end of another thread, or for a child process. */
#define STROBE_LIBC_WAITS(X)                                                                                           \
    X(nanosleep)                                                                                                       \
    X(clock_nanosleep)                                                                                                 \
    X(usleep)                                                                                                          \
    X(sleep)                                                                                                           \
    X(pthread_join)                                                                                                    \
    X(wait)                                                                                                            \
    X(waitpid)                                                                                                         \
    X(wait4)                                                                                                           \
    X(waitid)

/* A thread waits for the other side of a socket, or for one of several descriptors. */
#define STROBE_LIBC_SOCKETS(X)                                                                                         \
    X(poll)                                                                                                            \
    X(__poll_chk)                                                                                                      \
    X(ppoll)                                                                                                           \
    X(select)                                                                                                          \
    X(pselect)                                                                                                         \
    X(epoll_wait)                                                                                                      \
    X(epoll_pwait)                                                                                                     \
    X(connect)                                                                                                         \
    X(accept)                                                                                                          \
    X(accept4)                                                                                                         \
    X(send)                                                                                                            \
    X(sendto)                                                                                                          \
    X(sendmsg)                                                                                                         \
    X(sendmmsg)                                                                                                        \
    X(recv)                                                                                                            \
    X(recvfrom)                                                                                                        \
    X(__recvfrom_chk)                                                                                                  \
    X(recvmsg)                                                                                                         \
    X(recvmmsg)

/* Calls that make, copy or feed the channels by which threads wake each other (channels.h). */
#define STROBE_LIBC_DESCRIPTORS(X)                                                                                     \
    X(pipe)                                                                                                            \
    X(pipe2)                                                                                                           \
    X(socketpair)                                                                                                      \
    X(eventfd)                                                                                                         \
    X(eventfd_read)                                                                                                    \
    X(eventfd_write)                                                                                                   \
    X(epoll_create)                                                                                                    \
    X(epoll_create1)                                                                                                   \
    X(epoll_ctl)                                                                                                       \
    X(dup)                                                                                                             \
    X(dup2)                                                                                                            \
    X(dup3)

/* Functions without a hook of their own, which hooks call to find out whether the hooked function would wait. */
#define STROBE_LIBC_TRIES(X)                                                                                           \
    X(pthread_mutex_trylock)                                                                                           \
    X(pthread_rwlock_tryrdlock)                                                                                        \
    X(pthread_rwlock_trywrlock)                                                                                        \
    X(sem_trywait)

#define STROBE_LIBC_HOOKED(X)                                                                                          \
    STROBE_LIBC_LOCKS(X)                                                                                               \
    STROBE_LIBC_FILES(X)                                                                                               \
    STROBE_LIBC_WAITS(X)                                                                                               \
    STROBE_LIBC_SOCKETS(X)                                                                                             \
    STROBE_LIBC_DESCRIPTORS(X)                                                                                         \
    STROBE_LIBC_GNU(X)

/* Declares the pointer of a function, as a member of a struct. */
#define STROBE_LIBC_POINTER(name) __typeof__(name) *name;

#endif
