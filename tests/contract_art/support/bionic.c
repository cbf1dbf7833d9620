/* Functions of Android's C library that this machine's lacks. The app's library calls them, and a capture finds them,
 * in this program. */
#include "engine/backend/common/libc/originals.h"

ssize_t __write_chk(int fd, const void *from, size_t bytes, size_t room)
{
    (void)room;
    return write(fd, from, bytes);
}

ssize_t __pwrite_chk(int fd, const void *from, size_t bytes, off_t at, size_t room)
{
    (void)room;
    return pwrite(fd, from, bytes, at);
}

ssize_t __pwrite64_chk(int fd, const void *from, size_t bytes, off64_t at, size_t room)
{
    (void)room;
    return pwrite64(fd, from, bytes, at);
}

ssize_t __sendto_chk(int fd, const void *from, size_t bytes, size_t room, int flags, const struct sockaddr *to,
                     socklen_t length)
{
    (void)room;
    return sendto(fd, from, bytes, flags, to, length);
}

int pthread_mutex_timedlock_monotonic_np(pthread_mutex_t *m, const struct timespec *until)
{
    return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, until);
}

int pthread_rwlock_timedrdlock_monotonic_np(pthread_rwlock_t *l, const struct timespec *until)
{
    return pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, until);
}

int pthread_rwlock_timedwrlock_monotonic_np(pthread_rwlock_t *l, const struct timespec *until)
{
    return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, until);
}

int pthread_cond_timedwait_monotonic_np(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, until);
}

int sem_timedwait_monotonic_np(sem_t *s, const struct timespec *until)
{
    return sem_clockwait(s, CLOCK_MONOTONIC, until);
}
