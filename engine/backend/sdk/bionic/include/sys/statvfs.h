/* What the capture half uses of Android's <sys/statvfs.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_STATVFS_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_STATVFS_H

struct statvfs {
    unsigned long f_bsize, f_frsize;
    unsigned long f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail;
    unsigned long f_fsid, f_flag, f_namemax;
#ifdef __LP64__
    unsigned reserved[6];
#endif
};

int statvfs(const char *path, struct statvfs *out);

#endif
