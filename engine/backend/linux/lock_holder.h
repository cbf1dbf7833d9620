/* Reads which thread holds a lock of the C library, from the lock's memory. */
#ifndef STROBE_BACKEND_LINUX_LOCK_HOLDER_H
#define STROBE_BACKEND_LINUX_LOCK_HOLDER_H

#include "engine/host/host.h"

/* Returns the id of the thread that holds the lock at `address`, for which another thread waits in a call of this kind
 * (enum strobe_kind). 0: not known. glibc notes the holder of a mutex, and the writer of a read-write lock. bionic
 * notes the holder of a mutex that is recursive or checks for errors. Any context. */
uint32_t strobe_linux_lock_holder(const struct strobe_host *host, uint32_t kind, uint64_t address);

#endif
