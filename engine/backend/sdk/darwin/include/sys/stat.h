/* What the capture half uses of Darwin's <sys/stat.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_STAT_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_STAT_H

#include <sys/types.h>
#include <time.h>

struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
    off_t st_size;
    int64_t st_blocks;
    int32_t st_blksize;
    uint32_t st_flags, st_gen;
    int32_t st_lspare;
    int64_t st_qspare[2];
};

#define S_IFMT        0170000
#define S_IFREG       0100000
#define S_ISREG(mode) (((mode)&S_IFMT) == S_IFREG)

int mkdir(const char *path, mode_t mode);
int stat(const char *path, struct stat *out);
int fstat(int fd, struct stat *out);
int lstat(const char *path, struct stat *out);

#endif
