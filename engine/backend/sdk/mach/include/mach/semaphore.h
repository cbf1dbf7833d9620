/* Declarations of Mach semaphores, written from Apple's public mach/semaphore.h. KERN_ABORTED: the wait was
 * interrupted. KERN_OPERATION_TIMED_OUT: the wait timed out. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_SEMAPHORE_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_SEMAPHORE_H

#include <mach/mach.h>

#ifndef KERN_OPERATION_TIMED_OUT
#define KERN_OPERATION_TIMED_OUT 49
#endif

typedef mach_port_t semaphore_t;
typedef struct mach_timespec {
    unsigned tv_sec;
    int tv_nsec;
} mach_timespec_t;

kern_return_t semaphore_wait(semaphore_t semaphore);
kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t time);
kern_return_t semaphore_signal(semaphore_t semaphore);
kern_return_t semaphore_signal_all(semaphore_t semaphore);

#endif
