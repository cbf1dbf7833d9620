/* What the capture half uses of Android's <sys/mman.h>; see sys/types.h. */
#ifndef STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_MMAN_H
#define STROBE_BACKEND_SDK_BIONIC_INCLUDE_SYS_MMAN_H

#include <linux/mman.h>
#include <sys/types.h>

#define MAP_FAILED ((void *)-1)

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int munmap(void *at, size_t bytes);
int mprotect(void *at, size_t bytes, int protection);
int madvise(void *at, size_t bytes, int advice);
int msync(void *at, size_t bytes, int flags);

#endif
