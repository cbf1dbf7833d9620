/* What the capture half uses of Darwin's <sys/mman.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_MMAN_H
#define STROBE_BACKEND_SDK_DARWIN_INCLUDE_SYS_MMAN_H

#include <sys/types.h>

#define PROT_NONE     0
#define PROT_READ     1
#define PROT_WRITE    2
#define MAP_SHARED    1
#define MAP_PRIVATE   2
#define MAP_NORESERVE 0x40
#define MAP_ANONYMOUS 0x1000
#define MAP_FAILED    ((void *)-1)
#define MADV_RANDOM   1

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int munmap(void *at, size_t bytes);
int mprotect(void *at, size_t bytes, int protection);
int madvise(void *at, size_t bytes, int advice);

#endif
