/* What the capture half uses of Darwin's <unistd.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_UNISTD_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_UNISTD_H

#include <sys/types.h>

ssize_t read(int fd, void *to, size_t bytes);
ssize_t write(int fd, const void *from, size_t bytes);
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset);
ssize_t pread(int fd, void *to, size_t bytes, off_t offset);
int close(int fd);
int unlink(const char *path);
int fsync(int fd);
int usleep(useconds_t us);
unsigned sleep(unsigned seconds);
int ftruncate(int fd, off_t bytes);
pid_t getpid(void);
uid_t geteuid(void);

#endif
