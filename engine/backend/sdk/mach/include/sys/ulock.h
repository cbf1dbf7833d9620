/* Waits for a word of memory, on which Darwin's locks are built: os_unfair_lock, libc++'s and Swift's atomic waits.
 * libSystem exports them, but no public header declares them (Apple's open source xnu, bsd/sys/ulock.h). */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_SYS_ULOCK_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_SYS_ULOCK_H

#include <stdint.h>

/* The lowest byte of an operation is what the word is; further bits are flags. */
#define UL_OPCODE_MASK      0xffu
#define UL_COMPARE_AND_WAIT 1u /* 32 bits */
#define UL_UNFAIR_LOCK      2u /* a lock whose word is its owner's port name */
#define ULF_WAKE_ALL        0x100u
#define ULF_NO_ERRNO        0x1000000u /* failures are returned as -errno */

/* Waits while the word is `value`, and returns the number of other waiters. A timeout of 0: no limit. */
int __ulock_wait(uint32_t operation, void *word, uint64_t value, uint32_t timeout_us);
int __ulock_wait2(uint32_t operation, void *word, uint64_t value, uint64_t timeout_ns, uint64_t value2);
int __ulock_wake(uint32_t operation, void *word, uint64_t wake_value); /* wakes one waiter; ULF_WAKE_ALL: all */

#endif
