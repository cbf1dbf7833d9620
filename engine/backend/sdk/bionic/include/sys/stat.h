/* What the capture half uses of Android's <sys/stat.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_STAT_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_STAT_H

#include <sys/types.h>
#include <time.h>

#if defined(__aarch64__)
struct stat {
    dev_t st_dev;
    ino_t st_ino;
    mode_t st_mode;
    uint32_t st_nlink;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    unsigned long pad1;
    off_t st_size;
    int st_blksize, pad2;
    long st_blocks;
    struct timespec st_atim, st_mtim, st_ctim;
    unsigned int unused[2];
};
#elif defined(__x86_64__)
struct stat {
    dev_t st_dev;
    ino_t st_ino;
    unsigned long st_nlink;
    mode_t st_mode;
    uid_t st_uid;
    gid_t st_gid;
    unsigned int pad0;
    dev_t st_rdev;
    off_t st_size;
    long st_blksize, st_blocks;
    struct timespec st_atim, st_mtim, st_ctim;
    long pad3[3];
};
#elif defined(__arm__)
struct stat {
    unsigned long long st_dev;
    unsigned char pad0[4];
    unsigned long __st_ino;
    unsigned int st_mode, st_nlink;
    uid_t st_uid;
    gid_t st_gid;
    unsigned long long st_rdev;
    unsigned char pad3[4];
    long long st_size;
    unsigned long st_blksize;
    unsigned long long st_blocks;
    struct timespec st_atim, st_mtim, st_ctim;
    unsigned long long st_ino;
};
#else
#error "struct stat of this machine is not known"
#endif

#define S_IFMT        0170000
#define S_IFREG       0100000
#define S_ISREG(mode) (((mode)&S_IFMT) == S_IFREG)

int mkdir(const char *path, mode_t mode);
int fstat(int fd, struct stat *out);
int lstat(const char *path, struct stat *out);
int stat(const char *path, struct stat *out);

#endif
