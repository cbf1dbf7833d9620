/* The memory of the stacks of threads that the engine has not seen begin. A thread that finds its own stack by the C
 * library would allocate memory and open a file, which a hook or a signal handler must not. So the helper of an
 * attached library lists the writable mappings without a file, and a thread searches that list for its stack pointer.
 *
 * There are two lists, which are used in turn. The list that a reader searches may be written again as soon as the
 * other one is valid. The reader checks the number of updates afterwards, and then gets none. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_STACK_MAP_H
#define STROBE_BACKEND_LINUX_PRELOAD_STACK_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_STACK_MAPS_MAX = 8192 };

/* Lists the mappings of this process again. The helper before the start of the capture, then the sampler between
 * passes. */
void strobe_stack_map_update(void);

/* Finds the mapping that contains `sp`. Returns false when the list does not have it. Any context. */
bool strobe_stack_map_find(uint64_t sp, uint64_t *low, uint64_t *high);

#endif
