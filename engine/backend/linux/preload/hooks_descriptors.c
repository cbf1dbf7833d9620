/* Calls that create or copy descriptors of channels (channels.h), and that change epoll sets.
 *
 * libunwind opens pipes in the program's name to probe memory. The hooks move these pipes to high numbers, so that the
 * program's descriptors keep theirs. libunwind opens the pipes when it starts, and again when it finds that the program
 * has closed them. */
#include "engine/backend/linux/descriptors.h"
#include "engine/backend/linux/preload/channels.h"

#include <sys/eventfd.h>
#include <unistd.h>

static bool is_in_engine(void)
{
    const struct strobe_thread *t = strobe_local.thread;
    return strobe_local.busy || (t && strobe_load_relaxed(&t->inside));
}

HOOK int pipe2(int ends[2], int flags)
{
    int r = strobe_real()->pipe2(ends, flags);
    if (r == 0 && is_in_engine())
        for (int i = 0; i < 2; i++)
            ends[i] = strobe_linux_raise_descriptor(ends[i]);
    else if (r == 0)
        strobe_channel_made_pipe(ends);
    return r;
}

HOOK int pipe(int ends[2])
{
    int r = strobe_real()->pipe(ends);
    if (r == 0)
        strobe_channel_made_pipe(ends);
    return r;
}

HOOK int socketpair(int domain, int type, int protocol, int ends[2])
{
    int r = strobe_real()->socketpair(domain, type, protocol, ends);
    if (r == 0)
        strobe_channel_made_pair(ends);
    return r;
}

HOOK int eventfd(unsigned value, int flags)
{
    int fd = strobe_real()->eventfd(value, flags);
    strobe_channel_made_counter(fd);
    return fd;
}

HOOK int eventfd_read(int fd, eventfd_t *value)
{
    READ_SCOPE(STROBE_KIND_READ, fd);
    int r = strobe_real()->eventfd_read(fd, value);
    if (is_channel_)
        strobe_channel_woken(&scope_, fd, r == 0 ? STROBE_WAKE_RELEASED : strobe_channel_wake_of(r));
    return r;
}

HOOK int eventfd_write(int fd, eventfd_t value)
{
    WRITE_SCOPE(STROBE_KIND_WRITE, fd);
    return strobe_real()->eventfd_write(fd, value);
}

HOOK int epoll_create(int size)
{
    int fd = strobe_real()->epoll_create(size);
    strobe_channel_made_set(fd);
    return fd;
}

HOOK int epoll_create1(int flags)
{
    int fd = strobe_real()->epoll_create1(flags);
    strobe_channel_made_set(fd);
    return fd;
}

HOOK int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
    int r = strobe_real()->epoll_ctl(set, operation, fd, event);
    if (r == 0)
        strobe_channel_set_changed(set, operation, fd, event);
    return r;
}

HOOK int dup(int fd)
{
    int copy = strobe_real()->dup(fd);
    strobe_channel_copied(fd, copy);
    return copy;
}

HOOK int dup2(int fd, int wanted)
{
    int copy = strobe_real()->dup2(fd, wanted);
    strobe_channel_copied(fd, copy);
    return copy;
}

HOOK int dup3(int fd, int wanted, int flags)
{
    int copy = strobe_real()->dup3(fd, wanted, flags);
    strobe_channel_copied(fd, copy);
    return copy;
}
