/* Declarations of Darwin's os_unfair_lock, written from Apple's public os/lock.h. Waiters sleep in the kernel, which
 * knows the owner. The process is ended when the owner locks the lock again, or when another thread unlocks it. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_OS_LOCK_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_OS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct os_unfair_lock_s {
    uint32_t _os_unfair_lock_opaque;
} os_unfair_lock, *os_unfair_lock_t;
#define OS_UNFAIR_LOCK_INIT ((os_unfair_lock){0})

void os_unfair_lock_lock(os_unfair_lock_t lock);
bool os_unfair_lock_trylock(os_unfair_lock_t lock); /* true: the caller holds the lock */
void os_unfair_lock_unlock(os_unfair_lock_t lock);

#endif
