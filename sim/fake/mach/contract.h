/* The guarantees of Darwin that the fake provides, seen from outside the library. The library exports only functions
 * with this attribute. */
#ifndef STROBE_SIM_FAKE_MACH_CONTRACT_H
#define STROBE_SIM_FAKE_MACH_CONTRACT_H

#pragma GCC visibility push(default)
#include <Block.h>
#include <dispatch/dispatch.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <mach/message.h>
#include <mach/semaphore.h>
#include <malloc_logger.h>
#include <os/lock.h>
#include <pthread_np.h>
#include <sys/event.h>
#include <sys/ulock.h>
#pragma GCC visibility pop

#endif
