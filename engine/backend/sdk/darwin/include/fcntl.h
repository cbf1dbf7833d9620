/* What the capture half uses of Darwin's <fcntl.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_FCNTL_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_FCNTL_H

#include <sys/types.h>

#define O_RDONLY   0
#define O_WRONLY   1
#define O_RDWR     2
#define O_NONBLOCK 0x4
#define O_NOFOLLOW 0x100
#define O_CREAT    0x200
#define O_TRUNC    0x400
#define O_EXCL     0x800
#define O_CLOEXEC  0x1000000

#define F_SETFD    2
#define F_GETFL    3
#define F_SETFL    4
#define FD_CLOEXEC 1

#define F_FULLFSYNC 51 /* writes the file to the medium */

/* fcntl(fd, F_PREALLOCATE, &fstore) allocates blocks for the file and does not change its length. */
#define F_PREALLOCATE 42
#define F_ALLOCATEALL 4 /* allocate all blocks or none */
#define F_PEOFPOSMODE 3 /* from the end of the allocated blocks */
typedef struct fstore {
    unsigned fst_flags;
    int fst_posmode;
    off_t fst_offset, fst_length, fst_bytesalloc;
} fstore_t;

int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
int fcntl(int fd, int command, ...);

#endif
