/* Allocations by stack, from a session's records.
 *
 * The hooks count the bytes and calls that each thread allocates. Some records of a thread contain the totals so far,
 * at most one record per metrics interval. A sample shows the thread allocating in two cases:
 *
 *   - a hook of an allocating function took it;
 *   - its stack contains an allocating function of the C or C++ library (malloc, operator new). The allocation then
 *     counts for the caller of that function.
 *
 * The amount between two known totals is divided evenly over the samples that show the thread allocating in that time.
 * If there are no such samples, the amount carries over to the next one. The sum of a thread is therefore exact, and
 * the share of a stack is an estimate. A stack that was never sampled while allocating gets nothing. `unplaced` holds
 * the amount that no later sample takes.
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_MODEL_ALLOCATIONS_H
#define STROBE_TRACE_MODEL_ALLOCATIONS_H

#include "engine/base/status.h"
#include "engine/trace/model/function_tree.h"
#include "engine/trace/session/reader.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_allocations {
    uint64_t bytes, count;
};

struct strobe_allocation_sum {
    struct strobe_allocations *of_node; /* indexed by node of the function tree */
    size_t node_room;
    struct strobe_allocations all, unplaced;
    struct strobe_allocating *waiting; /* samples since the last known total that show the thread allocating */
    size_t waiting_count, waiting_room;
    unsigned char *allocates; /* by name: 0 not yet classified, 1 an allocating function, 2 another function */
    size_t name_room;
};

/* Adds what the thread allocated from `from_ns` to `to_ns` since the session's begin (UINT64_MAX: to its end). A zeroed
 * sum is empty. STROBE_IO: out of memory. */
enum strobe_status strobe_allocations_add(struct strobe_allocation_sum *sum, const struct strobe_reader *reader,
                                          const struct strobe_reader_thread *thread, struct strobe_function_tree *tree,
                                          uint64_t from_ns, uint64_t to_ns);

/* Sums by name: `self` of a function itself, `total` of all stacks that contain it. Both lists have `count` entries,
 * indexed by name; the caller frees them. STROBE_IO: out of memory; no list is returned. */
struct strobe_allocations_by_name {
    struct strobe_allocations *self, *total;
    uint32_t count;
};
enum strobe_status strobe_allocations_by_name(const struct strobe_allocation_sum *sum,
                                              const struct strobe_function_tree *tree,
                                              struct strobe_allocations_by_name *out);

void strobe_allocations_free(struct strobe_allocation_sum *sum);

#endif
