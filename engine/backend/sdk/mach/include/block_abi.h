/* Blocks as C without them sees one, and what takes them: the layout of the blocks' ABI (clang's documentation,
 * "Block Implementation Specification"), the calls of Apple's public dispatch/dispatch.h. Apple has no header of this
 * name, and its own declare these calls to a compiler that knows blocks only: with -fno-blocks this one goes with them
 * as well. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_ABI_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_ABI_H

#include <Block.h>
#include <dispatch/dispatch.h>
#include <stdint.h>

/* What it has captured follows. */
struct block_literal {
    void *isa;
    int32_t flags, reserved;
    void (*invoke)(void *block);
    void *descriptor;
};

#ifndef __BLOCKS__
void dispatch_sync(dispatch_queue_t queue, void *block);
void dispatch_async(dispatch_queue_t queue, void *block);
void dispatch_barrier_sync(dispatch_queue_t queue, void *block);
void dispatch_once(dispatch_once_t *once, void *block);
#endif

#endif
