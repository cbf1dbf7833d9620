/* What the capture half uses of Android's <unistd.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_UNISTD_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_UNISTD_H

#include <sys/types.h>

#define SEEK_SET  0
#define SEEK_END  2
#define SEEK_DATA 3

ssize_t read(int fd, void *to, size_t bytes);
ssize_t write(int fd, const void *from, size_t bytes);
ssize_t pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset);
off_t lseek(int fd, off_t offset, int whence);
ssize_t pread64(int fd, void *to, size_t bytes, off64_t offset);
ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t offset);
int fsync(int fd);
int fdatasync(int fd);
int pipe(int ends[2]);
int pipe2(int ends[2], int flags);
int dup(int fd);
int dup2(int fd, int wanted);
int dup3(int fd, int wanted, int flags);
int usleep(useconds_t us);
unsigned sleep(unsigned seconds);
int close(int fd);
int unlink(const char *path);
int ftruncate(int fd, off_t bytes);
pid_t getpid(void);
pid_t gettid(void);
uid_t geteuid(void);
long syscall(long number, ...);
long sysconf(int name);

#endif
