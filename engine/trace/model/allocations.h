/* Allocations by stack, from a session's records. Hooks count each allocation of a thread, bytes and calls; the totals
 * so far are in some of its records (at most one each metrics interval). Some samples show a thread allocating: those
 * of the hooks of allocations, and those whose stack has an allocating function of the C or C++ library in it (malloc,
 * operator new); the stack counts up to the caller of that.
 *
 * What a thread has allocated between two known totals is shared out evenly over such samples in that time; where there
 * are none, it goes to the next one. So sums are exact for a thread, what a stack gets is an estimate, and only stacks
 * that have been seen allocating get anything. What no such sample follows is in no stack: `unplaced`.
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
    struct strobe_allocations *of_node; /* by node of the function tree */
    size_t node_room;
    struct strobe_allocations all, unplaced;
    struct strobe_allocating *waiting; /* samples that show the thread allocating since the last known total */
    size_t waiting_count, waiting_room;
    unsigned char *allocates; /* by name: 0 not looked at, 1 an allocating function, 2 another */
    size_t name_room;
};

/* Adds what the thread has allocated from `from_ns` to `to_ns` since the session's begin (UINT64_MAX: to its end). A
 * zeroed sum is empty. STROBE_IO: out of memory. */
enum strobe_status strobe_allocations_add(struct strobe_allocation_sum *sum, const struct strobe_reader *reader,
                                          const struct strobe_reader_thread *thread, struct strobe_function_tree *tree,
                                          uint64_t from_ns, uint64_t to_ns);

/* The same by name: a function's own, and those of all stacks that it is in. Lists of `count` names, which the caller
 * frees. STROBE_IO: out of memory, nothing is handed out. */
struct strobe_allocations_by_name {
    struct strobe_allocations *self, *total;
    uint32_t count;
};
enum strobe_status strobe_allocations_by_name(const struct strobe_allocation_sum *sum,
                                              const struct strobe_function_tree *tree,
                                              struct strobe_allocations_by_name *out);

void strobe_allocations_free(struct strobe_allocation_sum *sum);

#endif
