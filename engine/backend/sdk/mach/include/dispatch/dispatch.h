/* What the backend uses of libdispatch, in our own words (Apple's public dispatch/dispatch.h): what takes a function
 * and its context. What takes a block is in Block.h. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_DISPATCH_DISPATCH_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_DISPATCH_DISPATCH_H

#include <stdint.h>

typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_group_s *dispatch_group_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
typedef intptr_t dispatch_once_t; /* 0 at first, ~0 when it has been done */
typedef uint64_t dispatch_time_t;
typedef void (*dispatch_function_t)(void *context);
#define DISPATCH_TIME_NOW     ((dispatch_time_t)0)
#define DISPATCH_TIME_FOREVER (~(dispatch_time_t)0)

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_barrier_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_once_f(dispatch_once_t *once, void *context, dispatch_function_t work);

/* 0: it was had in time. Elsewhere non-zero, and a signal that nobody waited for: 0. */
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t until);
void dispatch_group_leave(dispatch_group_t group);

#endif
