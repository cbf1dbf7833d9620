/* The bounds of the main thread's stack, without the C library. pthread_getattr_np reads /proc/self/maps for them and
 * allocates memory. */
#ifndef STROBE_BACKEND_LINUX_MAIN_STACK_H
#define STROBE_BACKEND_LINUX_MAIN_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Stores the end of the main thread's stack in *high, and in *low the address to which the stack may grow at most. Both
 * are page-aligned. `frame`: an address in that stack. Returns false when `frame` is not within these bounds, or when
 * the stack has no limit. Any context. */
bool strobe_linux_main_stack(uint64_t frame, uint64_t *low, uint64_t *high);

#endif
