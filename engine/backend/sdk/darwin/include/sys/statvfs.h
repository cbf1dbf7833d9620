/* What the capture half uses of Darwin's <sys/statvfs.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_STATVFS_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_STATVFS_H

struct statvfs {
    unsigned long f_bsize, f_frsize;
    unsigned f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail;
    unsigned long f_fsid, f_flag, f_namemax;
};

int statvfs(const char *path, struct statvfs *out);

#endif
