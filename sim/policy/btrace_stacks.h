/* Stacks as the btrace policies keep them: a tree of (parent, frame) nodes, a stack named by its innermost node. A
 * frame is any number but 0. For btrace-ios this is its stack table, limit included: when the table is full, a stack is
 * named by the part of it that is there, as in its source (CallstackTable, kMaxSize). For btrace-android, which stores
 * whole stacks, it only saves memory of the lab.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_POLICY_BTRACE_STACKS_H
#define STROBE_SIM_POLICY_BTRACE_STACKS_H

#include "engine/util/idmap.h"

#include <stddef.h>
#include <stdint.h>

/* Frames of the system in which a call waits (Object.wait, Unsafe.park, mach_msg ...): this plus the kind of the wait.
 * */
#define SIM_BTRACE_WAIT (UINT64_C(1) << 63)

struct sim_btrace_node {
    uint64_t frame;
    uint32_t parent, depth;
};

struct sim_btrace_stacks {
    struct sim_btrace_node *nodes; /* [0] is the root: no stack */
    size_t count, room;
    struct strobe_idmap children; /* (parent, frame) -> node */
    size_t limit;                 /* nodes at most; 0 = as many as memory holds */
    uint64_t shortened;           /* stacks that were named by a part of them */
    int failed;                   /* out of memory, once */
};

/* The number of the stack of `count` frames, outermost first; 0 for none. */
uint32_t sim_btrace_stack(struct sim_btrace_stacks *s, const uint64_t *frames, uint32_t count);

/* Writes the stack's frames, outermost first; `out` has room for its depth, which is returned. */
uint32_t sim_btrace_frames(const struct sim_btrace_stacks *s, uint32_t stack, uint64_t *out);

void sim_btrace_stacks_close(struct sim_btrace_stacks *s);

#endif
