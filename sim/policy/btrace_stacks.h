/* The stacks of the btrace policies: a tree of (parent, frame) nodes; a stack's number is that of its innermost node. A
 * frame is any number except 0. For btrace-ios this is its stack table, including the limit: when the table is full, a
 * stack gets the number of the part that is in the table, as in its source (CallstackTable, kMaxSize). btrace-android
 * stores whole stacks; for it the tree only saves memory of the lab.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_POLICY_BTRACE_STACKS_H
#define STROBE_SIM_POLICY_BTRACE_STACKS_H

#include "engine/util/idmap.h"

#include <stddef.h>
#include <stdint.h>

/* Frames of the system in which a call waits (Object.wait, Unsafe.park, mach_msg ...): this bit plus the kind of
 * wait. */
#define SIM_BTRACE_WAIT (UINT64_C(1) << 63)

struct sim_btrace_node {
    uint64_t frame;
    uint32_t parent, depth;
};

struct sim_btrace_stacks {
    struct sim_btrace_node *nodes; /* [0] is the root: no stack */
    size_t count, room;
    struct strobe_idmap children; /* (parent, frame) -> node */
    size_t limit;                 /* maximum number of nodes; 0: no limit */
    uint64_t shortened;           /* number of stacks that got the number of a part */
    int failed;                   /* set after a failed allocation */
};

/* Returns the number of the stack of `count` frames, outermost first; 0 for an empty stack. */
uint32_t sim_btrace_stack(struct sim_btrace_stacks *s, const uint64_t *frames, uint32_t count);

/* Writes the stack's frames, outermost first, and returns their number (its depth). `out` has capacity for them. */
uint32_t sim_btrace_frames(const struct sim_btrace_stacks *s, uint32_t stack, uint64_t *out);

void sim_btrace_stacks_close(struct sim_btrace_stacks *s);

#endif
