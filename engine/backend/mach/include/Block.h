/* Blocks as C without them sees one, and what takes them: the layout of the blocks' ABI (clang's documentation, "Block
 * Implementation Specification"), the calls of Apple's public Block.h and dispatch/dispatch.h. */
#ifndef STROBE_BACKEND_MACH_INCLUDE_BLOCK_H
#define STROBE_BACKEND_MACH_INCLUDE_BLOCK_H

#include <dispatch/dispatch.h>
#include <stdint.h>

/* What it has captured follows. */
struct block_literal {
    void *isa;
    int32_t flags, reserved;
    void (*invoke)(void *block);
    void *descriptor;
};

void *_Block_copy(const void *block);      /* a copy on the heap, or one reference more */
void _Block_release(const void *block);

#ifndef __BLOCKS__
void dispatch_sync(dispatch_queue_t queue, void *block);
void dispatch_async(dispatch_queue_t queue, void *block);
void dispatch_barrier_sync(dispatch_queue_t queue, void *block);
void dispatch_once(dispatch_once_t *once, void *block);
#endif

#endif
