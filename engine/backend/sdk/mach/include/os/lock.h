/* Darwin's plain lock, in our own words (Apple's public os/lock.h). Waiters sleep in the kernel, which knows the owner;
 * locking one's own again, or unlocking another's, ends the process. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_OS_LOCK_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_OS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct os_unfair_lock_s {
    uint32_t _os_unfair_lock_opaque;
} os_unfair_lock, *os_unfair_lock_t;
#define OS_UNFAIR_LOCK_INIT ((os_unfair_lock){0})

void os_unfair_lock_lock(os_unfair_lock_t lock);
bool os_unfair_lock_trylock(os_unfair_lock_t lock); /* true: it is the caller's now */
void os_unfair_lock_unlock(os_unfair_lock_t lock);

#endif
