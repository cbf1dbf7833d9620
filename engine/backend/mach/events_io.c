/* Files, sockets, polls and sleeps. Each call may wait, so each is a scope. Reads of the clock are points. */
#include "engine/backend/mach/events.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/event.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef F_FULLFSYNC
#define F_FULLFSYNC 51 /* writes the file to the medium; Darwin only */
#endif

#define FD(fd) ((uint64_t)(unsigned)(fd))
#define SCOPE(kind, arg, call)                                                                                         \
    struct strobe_hook_scope scope STROBE_SCOPED = strobe_mach_open(kind, arg, STROBE_HERE, call);                     \
    (void)scope

/* ---- files */

/* The caller passes a mode only with O_CREAT. */
static int hook_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    SCOPE(STROBE_KIND_OPEN, 0, "open");
    return open(path, flags, mode);
}

static int hook_openat(int at, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    SCOPE(STROBE_KIND_OPEN, 0, "openat");
    return openat(at, path, flags, mode);
}

/* 64-bit Darwin has one form of these, `struct stat` with 64-bit inodes. */
static int hook_stat(const char *path, struct stat *out)
{
    SCOPE(STROBE_KIND_OPEN, 0, "stat");
    return stat(path, out);
}

static int hook_lstat(const char *path, struct stat *out)
{
    SCOPE(STROBE_KIND_OPEN, 0, "lstat");
    return lstat(path, out);
}

static int hook_fstat(int fd, struct stat *out)
{
    SCOPE(STROBE_KIND_OPEN, FD(fd), "fstat");
    return fstat(fd, out);
}

static int hook_close(int fd)
{
    SCOPE(STROBE_KIND_CLOSE, FD(fd), "close");
    return close(fd);
}

static ssize_t hook_read(int fd, void *to, size_t bytes)
{
    SCOPE(STROBE_KIND_READ, FD(fd), "read");
    return read(fd, to, bytes);
}

static ssize_t hook_pread(int fd, void *to, size_t bytes, off_t at)
{
    SCOPE(STROBE_KIND_READ, FD(fd), "pread");
    return pread(fd, to, bytes, at);
}

static ssize_t hook_readv(int fd, const struct iovec *to, int count)
{
    SCOPE(STROBE_KIND_READ, FD(fd), "readv");
    return readv(fd, to, count);
}

static ssize_t hook_write(int fd, const void *from, size_t bytes)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd), "write");
    return write(fd, from, bytes);
}

static ssize_t hook_pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd), "pwrite");
    return pwrite(fd, from, bytes, at);
}

static ssize_t hook_writev(int fd, const struct iovec *from, int count)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd), "writev");
    return writev(fd, from, count);
}

static int hook_fsync(int fd)
{
    SCOPE(STROBE_KIND_SYNC, FD(fd), "fsync");
    return fsync(fd);
}

/* The argument after the command is an int, a pointer or absent. The hook passes it on as one word. */
static int hook_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *word = va_arg(arguments, void *);
    va_end(arguments);
    if (command != F_FULLFSYNC)
        return fcntl(fd, command, word);
    SCOPE(STROBE_KIND_SYNC, FD(fd), "fcntl");
    return fcntl(fd, command, word);
}

/* ---- sockets */

static int hook_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "connect");
    return connect(fd, to, length);
}

static int hook_accept(int fd, struct sockaddr *from, socklen_t *length)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "accept");
    return accept(fd, from, length);
}

static ssize_t hook_send(int fd, const void *from, size_t bytes, int flags)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "send");
    return send(fd, from, bytes, flags);
}

static ssize_t hook_sendto(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to,
                           socklen_t length)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "sendto");
    return sendto(fd, from, bytes, flags, to, length);
}

static ssize_t hook_sendmsg(int fd, const struct msghdr *message, int flags)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "sendmsg");
    return sendmsg(fd, message, flags);
}

static ssize_t hook_recv(int fd, void *to, size_t bytes, int flags)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "recv");
    return recv(fd, to, bytes, flags);
}

static ssize_t hook_recvfrom(int fd, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *length)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "recvfrom");
    return recvfrom(fd, to, bytes, flags, from, length);
}

static ssize_t hook_recvmsg(int fd, struct msghdr *message, int flags)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "recvmsg");
    return recvmsg(fd, message, flags);
}

static int hook_getsockopt(int fd, int level, int option, void *out, socklen_t *length)
{
    SCOPE(STROBE_KIND_NET, FD(fd), "getsockopt");
    return getsockopt(fd, level, option, out, length);
}

/* ---- polls */

static int hook_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    SCOPE(STROBE_KIND_POLL, count, "poll");
    return poll(fds, count, timeout);
}

static int hook_select(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    SCOPE(STROBE_KIND_POLL, FD(count), "select");
    return select(count, r, w, e, timeout);
}

static int hook_pselect(int count, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
                        const sigset_t *mask)
{
    SCOPE(STROBE_KIND_POLL, FD(count), "pselect");
    return pselect(count, r, w, e, timeout, mask);
}

#ifdef __APPLE__
/* Apple's header maps select to this symbol when _DARWIN_C_SOURCE is defined. It takes any number of descriptors. */
int select_extended(int count, fd_set *r, fd_set *w, fd_set *e,
                    struct timeval *timeout) __asm__("_select$DARWIN_EXTSN");

static int hook_select_extended(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    SCOPE(STROBE_KIND_POLL, FD(count), "select");
    return select_extended(count, r, w, e, timeout);
}

int pselect_extended(int count, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
                     const sigset_t *mask) __asm__("_pselect$DARWIN_EXTSN");

static int hook_pselect_extended(int count, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
                                 const sigset_t *mask)
{
    SCOPE(STROBE_KIND_POLL, FD(count), "pselect");
    return pselect_extended(count, r, w, e, timeout, mask);
}
#endif

static int hook_kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events,
                       int event_count, const struct timespec *timeout)
{
    SCOPE(STROBE_KIND_POLL, FD(queue), "kevent");
    return kevent(queue, changes, change_count, events, event_count, timeout);
}

/* ---- sleeps */

static int hook_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    SCOPE(STROBE_KIND_SLEEP, 0, "nanosleep");
    return nanosleep(wanted, left);
}

static int hook_usleep(useconds_t us)
{
    SCOPE(STROBE_KIND_SLEEP, 0, "usleep");
    return usleep(us);
}

static unsigned hook_sleep(unsigned seconds)
{
    SCOPE(STROBE_KIND_SLEEP, 0, "sleep");
    return sleep(seconds);
}

static const struct strobe_rebinding rebindings[] = {
    {"open", (void *)hook_open, (void *)open},
    {"openat", (void *)hook_openat, (void *)openat},
    {"stat", (void *)hook_stat, (void *)stat},
    {"lstat", (void *)hook_lstat, (void *)lstat},
    {"fstat", (void *)hook_fstat, (void *)fstat},
    {"close", (void *)hook_close, (void *)close},
    {"read", (void *)hook_read, (void *)read},
    {"pread", (void *)hook_pread, (void *)pread},
    {"readv", (void *)hook_readv, (void *)readv},
    {"write", (void *)hook_write, (void *)write},
    {"pwrite", (void *)hook_pwrite, (void *)pwrite},
    {"writev", (void *)hook_writev, (void *)writev},
    {"fsync", (void *)hook_fsync, (void *)fsync},
    {"fcntl", (void *)hook_fcntl, (void *)fcntl},
    {"connect", (void *)hook_connect, (void *)connect},
    {"accept", (void *)hook_accept, (void *)accept},
    {"send", (void *)hook_send, (void *)send},
    {"sendto", (void *)hook_sendto, (void *)sendto},
    {"sendmsg", (void *)hook_sendmsg, (void *)sendmsg},
    {"recv", (void *)hook_recv, (void *)recv},
    {"recvfrom", (void *)hook_recvfrom, (void *)recvfrom},
    {"recvmsg", (void *)hook_recvmsg, (void *)recvmsg},
    {"getsockopt", (void *)hook_getsockopt, (void *)getsockopt},
    {"poll", (void *)hook_poll, (void *)poll},
    {"select", (void *)hook_select, (void *)select},
    {"pselect", (void *)hook_pselect, (void *)pselect},
#ifdef __APPLE__
    {"pselect$DARWIN_EXTSN", (void *)hook_pselect_extended, (void *)pselect_extended},
    {"select$DARWIN_EXTSN", (void *)hook_select_extended, (void *)select_extended},
#endif
    {"kevent", (void *)hook_kevent, (void *)kevent},
    {"nanosleep", (void *)hook_nanosleep, (void *)nanosleep},
    {"usleep", (void *)hook_usleep, (void *)usleep},
    {"sleep", (void *)hook_sleep, (void *)sleep},
    {0},
};

const struct strobe_mach_feature strobe_mach_feature_io = {STROBE_MACH_IO, rebindings, NULL, NULL};

/* ---- the clock */

static int hook_clock_gettime(clockid_t clock, struct timespec *out)
{
    struct strobe_thread *t = strobe_mach_thread(strobe_switched(), "clock_gettime");
    int r = clock_gettime(clock, out);
    if (t)
        strobe_mach_point(t, STROBE_KIND_CLOCK, (uint64_t)(unsigned)clock, STROBE_HERE);
    return r;
}

static int hook_gettimeofday(struct timeval *out, void *zone)
{
    struct strobe_thread *t = strobe_mach_thread(strobe_switched(), "gettimeofday");
    int r = gettimeofday(out, zone);
    if (t)
        strobe_mach_point(t, STROBE_KIND_CLOCK, 0, STROBE_HERE);
    return r;
}

static const struct strobe_rebinding clocks[] = {
    {"clock_gettime", (void *)hook_clock_gettime, (void *)clock_gettime},
    {"gettimeofday", (void *)hook_gettimeofday, (void *)gettimeofday},
    {0},
};

const struct strobe_mach_feature strobe_mach_feature_time = {STROBE_MACH_TIME, clocks, NULL, NULL};
