/* Entry points of libSystem that the app's pointers are bound to when this machine's C library does not have them, or
 * behaves differently. */
#ifndef STROBE_SIM_FAKE_MACH_LIBSYSTEM_H
#define STROBE_SIM_FAKE_MACH_LIBSYSTEM_H

#include "sim/fake/mach/fake.h"

#include <poll.h>
#include <stddef.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* The heap, which notifies malloc_logger. */
void *fake_malloc(size_t bytes);
void *fake_calloc(size_t count, size_t bytes);
void *fake_realloc(void *was, size_t bytes);
void fake_free(void *p);

/* Pages, which notify __syscall_logger. */
void fake_log_pages(uint32_t type, uintptr_t arg2, uintptr_t arg3, uintptr_t result);
void *fake_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int fake_munmap(void *at, size_t bytes);

/* Waits that last their full time, however often the thread is suspended meanwhile. Hooks of the functions that they
 * stand for call them, too (mach.mk). */
FAKE_MACH_API int fake_usleep(useconds_t us);
FAKE_MACH_API int fake_nanosleep(const struct timespec *how_long, struct timespec *left);
FAKE_MACH_API int fake_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
FAKE_MACH_API int fake_select(int count, fd_set *reading, fd_set *writing, fd_set *excepted, struct timeval *timeout);

#endif
