/* Sockets, message queues, and waits for descriptors: scopes. The stop signal is removed from signal masks that a call
 * sets for its duration. */
#ifndef STROBE_BACKEND_COMMON_LIBC_SOCKET_HOOKS_H
#define STROBE_BACKEND_COMMON_LIBC_SOCKET_HOOKS_H

#include "engine/backend/common/libc/hook.h"

/* The argument of a poll's scope is the channel's descriptor, or the number of descriptors when no channel is
 * polled. */
#define POLL_SCOPE                                                                                                     \
    int polled_ = strobe_channel_polled(fds, count);                                                                   \
    SCOPE(STROBE_KIND_POLL, polled_ >= 0 ? FD(polled_) : count);                                                       \
    if (polled_ >= 0)                                                                                                  \
    strobe_hook_waits(&scope_, FD(polled_))

#define POLL_RETURNS(call)                                                                                             \
    do {                                                                                                               \
        int ready_ = (call);                                                                                           \
        if (polled_ >= 0)                                                                                              \
            strobe_channel_poll_woken(&scope_, fds, count, polled_, ready_);                                           \
        return ready_;                                                                                                 \
    } while (0)

/* Returns the result of a wait for an epoll set, and reports how the wait ended when the set is known (channels.h). */
#define SET_RETURNS(call)                                                                                              \
    do {                                                                                                               \
        int ready_ = (call);                                                                                           \
        if (is_channel_)                                                                                               \
            strobe_channel_set_woken(&scope_, fd, events, ready_);                                                     \
        return ready_;                                                                                                 \
    } while (0)

HOOK(int, poll)(struct pollfd *fds, nfds_t count, int timeout)
{
    POLL_SCOPE;
    POLL_RETURNS(ORIGINAL(poll)(fds, count, timeout));
}

HOOK(int, __poll_chk)(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
    POLL_SCOPE;
    POLL_RETURNS(ORIGINAL(__poll_chk)(fds, count, timeout, room));
}

HOOK(int, ppoll)(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    sigset_t room;
    POLL_SCOPE;
    POLL_RETURNS(ORIGINAL(ppoll)(fds, count, timeout, HOOK_MASK(mask, &room)));
}

HOOK(int, select)(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    SCOPE(STROBE_KIND_POLL, FD(count));
    return ORIGINAL(select)(count, r, w, e, timeout);
}

HOOK(int, pselect)(int count, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout, const sigset_t *mask)
{
    sigset_t room;
    SCOPE(STROBE_KIND_POLL, FD(count));
    return ORIGINAL(pselect)(count, r, w, e, timeout, HOOK_MASK(mask, &room));
}

HOOK(int, epoll_wait)(int fd, struct epoll_event *events, int count, int timeout)
{
    READ_SCOPE(STROBE_KIND_POLL, fd);
    SET_RETURNS(ORIGINAL(epoll_wait)(fd, events, count, timeout));
}

HOOK(int, epoll_pwait)(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask)
{
    sigset_t room;
    READ_SCOPE(STROBE_KIND_POLL, fd);
    SET_RETURNS(ORIGINAL(epoll_pwait)(fd, events, count, timeout, HOOK_MASK(mask, &room)));
}

HOOK(int, connect)(int fd, const struct sockaddr *to, socklen_t length)
{
    SCOPE(STROBE_KIND_NET, FD(fd));
    return ORIGINAL(connect)(fd, to, length);
}

HOOK(int, accept)(int fd, struct sockaddr *from, socklen_t *length)
{
    SCOPE(STROBE_KIND_NET, FD(fd));
    return ORIGINAL(accept)(fd, from, length);
}

HOOK(int, accept4)(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    SCOPE(STROBE_KIND_NET, FD(fd));
    return ORIGINAL(accept4)(fd, from, length, flags);
}

HOOK(ssize_t, send)(int fd, const void *from, size_t bytes, int flags)
{
    WRITE_SCOPE(STROBE_KIND_NET, fd);
    return ORIGINAL(send)(fd, from, bytes, flags);
}

HOOK(ssize_t, sendto)(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to, socklen_t length)
{
    WRITE_SCOPE(STROBE_KIND_NET, fd);
    return ORIGINAL(sendto)(fd, from, bytes, flags, to, length);
}

HOOK(ssize_t, sendmsg)(int fd, const struct msghdr *message, int flags)
{
    WRITE_SCOPE(STROBE_KIND_NET, fd);
    return ORIGINAL(sendmsg)(fd, message, flags);
}

HOOK(int, sendmmsg)(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    WRITE_SCOPE(STROBE_KIND_NET, fd);
    return ORIGINAL(sendmmsg)(fd, messages, count, flags);
}

HOOK(ssize_t, recv)(int fd, void *to, size_t bytes, int flags)
{
    READ_SCOPE(STROBE_KIND_NET, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(recv)(fd, to, bytes, flags));
}

#ifndef __ANDROID__
HOOK(ssize_t, __recv_chk)(int fd, void *to, size_t bytes, size_t room, int flags)
{
    READ_SCOPE(STROBE_KIND_NET, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(__recv_chk)(fd, to, bytes, room, flags));
}
#endif

HOOK(ssize_t, recvfrom)(int fd, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *length)
{
    READ_SCOPE(STROBE_KIND_NET, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(recvfrom)(fd, to, bytes, flags, from, length));
}

HOOK(ssize_t, __recvfrom_chk)
(int fd, void *to, size_t bytes, size_t room, int flags, struct sockaddr *from, socklen_t *length)
{
    READ_SCOPE(STROBE_KIND_NET, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(__recvfrom_chk)(fd, to, bytes, room, flags, from, length));
}

HOOK(ssize_t, recvmsg)(int fd, struct msghdr *message, int flags)
{
    READ_SCOPE(STROBE_KIND_NET, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(recvmsg)(fd, message, flags));
}

HOOK(int, recvmmsg)(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    READ_SCOPE(STROBE_KIND_NET, fd);
    READ_RETURNS(int, fd, ORIGINAL(recvmmsg)(fd, messages, count, flags, timeout));
}

#ifndef __ANDROID__
/* ---- message queues, whose descriptors are files on Linux ---- */

HOOK(ssize_t, mq_receive)(mqd_t queue, char *to, size_t bytes, unsigned *priority)
{
    SCOPE(STROBE_KIND_READ, FD(queue));
    return ORIGINAL(mq_receive)(queue, to, bytes, priority);
}

HOOK(ssize_t, mq_timedreceive)(mqd_t queue, char *to, size_t bytes, unsigned *priority, const struct timespec *until)
{
    SCOPE(STROBE_KIND_READ, FD(queue));
    return ORIGINAL(mq_timedreceive)(queue, to, bytes, priority, until);
}

HOOK(int, mq_send)(mqd_t queue, const char *from, size_t bytes, unsigned priority)
{
    SCOPE(STROBE_KIND_WRITE, FD(queue));
    return ORIGINAL(mq_send)(queue, from, bytes, priority);
}

HOOK(int, mq_timedsend)(mqd_t queue, const char *from, size_t bytes, unsigned priority, const struct timespec *until)
{
    SCOPE(STROBE_KIND_WRITE, FD(queue));
    return ORIGINAL(mq_timedsend)(queue, from, bytes, priority, until);
}
#endif

#endif
