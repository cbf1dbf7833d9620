/* Calls that create or copy descriptors of channels (channels.h), and that change epoll sets. */
#ifndef STROBE_BACKEND_COMMON_LIBC_DESCRIPTOR_HOOKS_H
#define STROBE_BACKEND_COMMON_LIBC_DESCRIPTOR_HOOKS_H

#include "engine/backend/common/libc/hook.h"

HOOK(int, pipe2)(int ends[2], int flags)
{
    int r = ORIGINAL(pipe2)(ends, flags);
    if (r == 0 && !HOOK_OWNS_PIPE(ends))
        strobe_channel_made_pipe(ends);
    return r;
}

HOOK(int, pipe)(int ends[2])
{
    int r = ORIGINAL(pipe)(ends);
    if (r == 0)
        strobe_channel_made_pipe(ends);
    return r;
}

HOOK(int, socketpair)(int domain, int type, int protocol, int ends[2])
{
    int r = ORIGINAL(socketpair)(domain, type, protocol, ends);
    if (r == 0)
        strobe_channel_made_pair(ends);
    return r;
}

HOOK(int, eventfd)(unsigned value, int flags)
{
    int fd = ORIGINAL(eventfd)(value, flags);
    strobe_channel_made_counter(fd);
    return fd;
}

HOOK(int, eventfd_read)(int fd, eventfd_t *value)
{
    READ_SCOPE(STROBE_KIND_READ, fd);
    int r = ORIGINAL(eventfd_read)(fd, value);
    if (is_channel_)
        strobe_channel_woken(&scope_, fd, r == 0 ? STROBE_WAKE_RELEASED : strobe_channel_wake_of(r));
    return r;
}

HOOK(int, eventfd_write)(int fd, eventfd_t value)
{
    WRITE_SCOPE(STROBE_KIND_WRITE, fd);
    return ORIGINAL(eventfd_write)(fd, value);
}

HOOK(int, epoll_create)(int size)
{
    int fd = ORIGINAL(epoll_create)(size);
    strobe_channel_made_set(fd);
    return fd;
}

HOOK(int, epoll_create1)(int flags)
{
    int fd = ORIGINAL(epoll_create1)(flags);
    strobe_channel_made_set(fd);
    return fd;
}

HOOK(int, epoll_ctl)(int set, int operation, int fd, struct epoll_event *event)
{
    int r = ORIGINAL(epoll_ctl)(set, operation, fd, event);
    if (r == 0)
        strobe_channel_set_changed(set, operation, fd, event);
    return r;
}

HOOK(int, dup)(int fd)
{
    int copy = ORIGINAL(dup)(fd);
    strobe_channel_copied(fd, copy);
    return copy;
}

HOOK(int, dup2)(int fd, int wanted)
{
    int copy = ORIGINAL(dup2)(fd, wanted);
    strobe_channel_copied(fd, copy);
    return copy;
}

HOOK(int, dup3)(int fd, int wanted, int flags)
{
    int copy = ORIGINAL(dup3)(fd, wanted, flags);
    strobe_channel_copied(fd, copy);
    return copy;
}

#endif
