/* Declarations of the parts of libdispatch that the backend uses, written from Apple's public dispatch/dispatch.h.
 * block_abi.h has the functions that take a block. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_DISPATCH_DISPATCH_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_DISPATCH_DISPATCH_H

#include <stdint.h>

typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_group_s *dispatch_group_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
typedef intptr_t dispatch_once_t; /* 0 at first, ~0 when the work is done */
typedef uint64_t dispatch_time_t;
typedef void (*dispatch_function_t)(void *context);
#define DISPATCH_TIME_NOW     ((dispatch_time_t)0)
#define DISPATCH_TIME_FOREVER (~(dispatch_time_t)0)

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_once_f(dispatch_once_t *once, void *context, dispatch_function_t work);

/* The waits return 0 on success, non-zero on timeout. dispatch_semaphore_signal returns 0 when no thread waited. */
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t until);
void dispatch_group_leave(dispatch_group_t group);

#endif
