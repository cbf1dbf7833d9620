/* What the capture half uses of Android's <fcntl.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_FCNTL_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_FCNTL_H

#include <asm/fcntl.h>
#include <linux/falloc.h>
#include <sys/types.h>

#define AT_FDCWD          (-100)
#define F_DUPFD_CLOEXEC   1030
#define POSIX_FADV_RANDOM 1

int open(const char *path, int flags, ...);
int open64(const char *path, int flags, ...);
int openat(int at, const char *path, int flags, ...);
int openat64(int at, const char *path, int flags, ...);
int creat(const char *path, mode_t mode);
int creat64(const char *path, mode_t mode);
int fcntl(int fd, int command, ...);
int fallocate(int fd, int mode, off_t offset, off_t bytes);
int posix_fallocate(int fd, off_t offset, off_t bytes);
int posix_fadvise(int fd, off_t offset, off_t bytes, int advice);

#endif
