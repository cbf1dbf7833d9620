/* Files: reads, writes, flushes, open and close may wait, so they are scopes. On LP64 the 64-bit names and the
 * plain names are one function. */
#ifndef STROBE_BACKEND_COMMON_LIBC_FILE_HOOKS_H
#define STROBE_BACKEND_COMMON_LIBC_FILE_HOOKS_H

#include "engine/backend/common/libc/hook.h"

#include <stdarg.h>

HOOK(ssize_t, read)(int fd, void *to, size_t bytes)
{
    READ_SCOPE(STROBE_KIND_READ, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(read)(fd, to, bytes));
}

HOOK(ssize_t, __read_chk)(int fd, void *to, size_t bytes, size_t room)
{
    READ_SCOPE(STROBE_KIND_READ, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(__read_chk)(fd, to, bytes, room));
}

HOOK(ssize_t, pread64)(int fd, void *to, size_t bytes, off64_t at)
{
    SCOPE(STROBE_KIND_READ, FD(fd));
    return ORIGINAL(pread64)(fd, to, bytes, at);
}

HOOK(ssize_t, pread)(int fd, void *to, size_t bytes, off_t at)
{
    SCOPE(STROBE_KIND_READ, FD(fd));
    return ORIGINAL(pread)(fd, to, bytes, at);
}

HOOK(ssize_t, __pread64_chk)(int fd, void *to, size_t bytes, off64_t at, size_t room)
{
    SCOPE(STROBE_KIND_READ, FD(fd));
    return ORIGINAL(__pread64_chk)(fd, to, bytes, at, room);
}

HOOK(ssize_t, __pread_chk)(int fd, void *to, size_t bytes, off_t at, size_t room)
{
    SCOPE(STROBE_KIND_READ, FD(fd));
    return ORIGINAL(__pread_chk)(fd, to, bytes, at, room);
}

HOOK(ssize_t, readv)(int fd, const struct iovec *to, int count)
{
    READ_SCOPE(STROBE_KIND_READ, fd);
    READ_RETURNS(ssize_t, fd, ORIGINAL(readv)(fd, to, count));
}

HOOK(ssize_t, write)(int fd, const void *from, size_t bytes)
{
    WRITE_SCOPE(STROBE_KIND_WRITE, fd);
    return ORIGINAL(write)(fd, from, bytes);
}

HOOK(ssize_t, pwrite64)(int fd, const void *from, size_t bytes, off64_t at)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd));
    return ORIGINAL(pwrite64)(fd, from, bytes, at);
}

HOOK(ssize_t, pwrite)(int fd, const void *from, size_t bytes, off_t at)
{
    SCOPE(STROBE_KIND_WRITE, FD(fd));
    return ORIGINAL(pwrite)(fd, from, bytes, at);
}

HOOK(ssize_t, writev)(int fd, const struct iovec *from, int count)
{
    WRITE_SCOPE(STROBE_KIND_WRITE, fd);
    return ORIGINAL(writev)(fd, from, count);
}

/* Returns the mode argument, which exists only with flags that create a file. */
static mode_t mode_of(int flags, va_list arguments)
{
    bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    return creates ? va_arg(arguments, mode_t) : 0;
}

#define TAKE_MODE                                                                                                      \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = mode_of(flags, arguments);                                                                           \
    va_end(arguments)

HOOK(int, open)(const char *path, int flags, ...)
{
    TAKE_MODE;
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(open)(path, flags, mode);
}

HOOK(int, open64)(const char *path, int flags, ...)
{
    TAKE_MODE;
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(open64)(path, flags, mode);
}

HOOK(int, openat)(int at, const char *path, int flags, ...)
{
    TAKE_MODE;
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(openat)(at, path, flags, mode);
}

HOOK(int, openat64)(int at, const char *path, int flags, ...)
{
    TAKE_MODE;
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(openat64)(at, path, flags, mode);
}

HOOK(int, __open_2)(const char *path, int flags)
{
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(__open_2)(path, flags);
}

#ifndef __ANDROID__
HOOK(int, __open64_2)(const char *path, int flags)
{
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(__open64_2)(path, flags);
}
#endif

HOOK(int, creat)(const char *path, mode_t mode)
{
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(creat)(path, mode);
}

HOOK(int, creat64)(const char *path, mode_t mode)
{
    SCOPE(STROBE_KIND_OPEN, 0);
    return ORIGINAL(creat64)(path, mode);
}

HOOK(int, fsync)(int fd)
{
    SCOPE(STROBE_KIND_SYNC, FD(fd));
    return ORIGINAL(fsync)(fd);
}

HOOK(int, fdatasync)(int fd)
{
    SCOPE(STROBE_KIND_SYNC, FD(fd));
    return ORIGINAL(fdatasync)(fd);
}

HOOK(int, flock)(int fd, int operation)
{
    SCOPE(STROBE_KIND_SYNC, FD(fd));
    return ORIGINAL(flock)(fd, operation);
}

HOOK(int, close)(int fd)
{
    SCOPE(STROBE_KIND_CLOSE, FD(fd));
    strobe_channel_close(fd);
    return ORIGINAL(close)(fd);
}

#endif
