/* Files, sockets, polls and sleeps. Each call may wait, so each is a scope. Reads of the clock are points. */
#include "engine/backend/mach/events.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/event.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef F_FULLFSYNC
#define F_FULLFSYNC 51 /* writes the file to the medium; Darwin only */
#endif

#define FD(fd)                ((uint64_t)(unsigned)(fd))
#define OPEN(kind, arg, call) struct strobe_hook_scope scope = strobe_mach_open(kind, arg, STROBE_HERE, call)

/* ---- files */

/* The caller passes a mode only with O_CREAT. */
static int hook_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    OPEN(STROBE_KIND_OPEN, 0, "open");
    int r = open(path, flags, mode);
    strobe_hook_close(&scope);
    return r;
}

static int hook_openat(int at, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    OPEN(STROBE_KIND_OPEN, 0, "openat");
    int r = openat(at, path, flags, mode);
    strobe_hook_close(&scope);
    return r;
}

static int hook_close(int fd)
{
    OPEN(STROBE_KIND_CLOSE, FD(fd), "close");
    int r = close(fd);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_read(int fd, void *to, size_t bytes)
{
    OPEN(STROBE_KIND_READ, FD(fd), "read");
    ssize_t r = read(fd, to, bytes);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_pread(int fd, void *to, size_t bytes, off_t at)
{
    OPEN(STROBE_KIND_READ, FD(fd), "pread");
    ssize_t r = pread(fd, to, bytes, at);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_readv(int fd, const struct iovec *to, int count)
{
    OPEN(STROBE_KIND_READ, FD(fd), "readv");
    ssize_t r = readv(fd, to, count);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_write(int fd, const void *from, size_t bytes)
{
    OPEN(STROBE_KIND_WRITE, FD(fd), "write");
    ssize_t r = write(fd, from, bytes);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    OPEN(STROBE_KIND_WRITE, FD(fd), "pwrite");
    ssize_t r = pwrite(fd, from, bytes, at);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_writev(int fd, const struct iovec *from, int count)
{
    OPEN(STROBE_KIND_WRITE, FD(fd), "writev");
    ssize_t r = writev(fd, from, count);
    strobe_hook_close(&scope);
    return r;
}

static int hook_fsync(int fd)
{
    OPEN(STROBE_KIND_SYNC, FD(fd), "fsync");
    int r = fsync(fd);
    strobe_hook_close(&scope);
    return r;
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
    OPEN(STROBE_KIND_SYNC, FD(fd), "fcntl");
    int r = fcntl(fd, command, word);
    strobe_hook_close(&scope);
    return r;
}

/* ---- sockets */

static int hook_connect(int fd, const struct sockaddr *to, socklen_t length)
{
    OPEN(STROBE_KIND_NET, FD(fd), "connect");
    int r = connect(fd, to, length);
    strobe_hook_close(&scope);
    return r;
}

static int hook_accept(int fd, struct sockaddr *from, socklen_t *length)
{
    OPEN(STROBE_KIND_NET, FD(fd), "accept");
    int r = accept(fd, from, length);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_send(int fd, const void *from, size_t bytes, int flags)
{
    OPEN(STROBE_KIND_NET, FD(fd), "send");
    ssize_t r = send(fd, from, bytes, flags);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_sendto(int fd, const void *from, size_t bytes, int flags, const struct sockaddr *to,
                           socklen_t length)
{
    OPEN(STROBE_KIND_NET, FD(fd), "sendto");
    ssize_t r = sendto(fd, from, bytes, flags, to, length);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_sendmsg(int fd, const struct msghdr *message, int flags)
{
    OPEN(STROBE_KIND_NET, FD(fd), "sendmsg");
    ssize_t r = sendmsg(fd, message, flags);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_recv(int fd, void *to, size_t bytes, int flags)
{
    OPEN(STROBE_KIND_NET, FD(fd), "recv");
    ssize_t r = recv(fd, to, bytes, flags);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_recvfrom(int fd, void *to, size_t bytes, int flags, struct sockaddr *from, socklen_t *length)
{
    OPEN(STROBE_KIND_NET, FD(fd), "recvfrom");
    ssize_t r = recvfrom(fd, to, bytes, flags, from, length);
    strobe_hook_close(&scope);
    return r;
}

static ssize_t hook_recvmsg(int fd, struct msghdr *message, int flags)
{
    OPEN(STROBE_KIND_NET, FD(fd), "recvmsg");
    ssize_t r = recvmsg(fd, message, flags);
    strobe_hook_close(&scope);
    return r;
}

/* ---- polls */

static int hook_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    OPEN(STROBE_KIND_POLL, count, "poll");
    int r = poll(fds, count, timeout);
    strobe_hook_close(&scope);
    return r;
}

static int hook_select(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    OPEN(STROBE_KIND_POLL, FD(count), "select");
    int ready = select(count, r, w, e, timeout);
    strobe_hook_close(&scope);
    return ready;
}

#ifdef __APPLE__
/* Apple's header maps select to this symbol when _DARWIN_C_SOURCE is defined. It takes any number of descriptors. */
int select_extended(int count, fd_set *r, fd_set *w, fd_set *e,
                    struct timeval *timeout) __asm__("_select$DARWIN_EXTSN");

static int hook_select_extended(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    OPEN(STROBE_KIND_POLL, FD(count), "select");
    int ready = select_extended(count, r, w, e, timeout);
    strobe_hook_close(&scope);
    return ready;
}
#endif

static int hook_kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events,
                       int event_count, const struct timespec *timeout)
{
    OPEN(STROBE_KIND_POLL, FD(queue), "kevent");
    int r = kevent(queue, changes, change_count, events, event_count, timeout);
    strobe_hook_close(&scope);
    return r;
}

/* ---- sleeps */

static int hook_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    OPEN(STROBE_KIND_SLEEP, 0, "nanosleep");
    int r = nanosleep(wanted, left);
    strobe_hook_close(&scope);
    return r;
}

static int hook_usleep(useconds_t us)
{
    OPEN(STROBE_KIND_SLEEP, 0, "usleep");
    int r = usleep(us);
    strobe_hook_close(&scope);
    return r;
}

static unsigned hook_sleep(unsigned seconds)
{
    OPEN(STROBE_KIND_SLEEP, 0, "sleep");
    unsigned r = sleep(seconds);
    strobe_hook_close(&scope);
    return r;
}

static const struct strobe_rebinding rebindings[] = {
    {"open", (void *)hook_open, (void *)open},
    {"openat", (void *)hook_openat, (void *)openat},
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
    {"poll", (void *)hook_poll, (void *)poll},
    {"select", (void *)hook_select, (void *)select},
#ifdef __APPLE__
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
