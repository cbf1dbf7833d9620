/* Declarations of blocks for C without the blocks extension: the layout of a block (clang's documentation, "Block
 * Implementation Specification"), and the functions of Apple's public dispatch/dispatch.h that take one. Apple has no
 * header of this name. Apple's headers declare these functions only to a compiler with blocks. With -fno-blocks, this
 * header can be used together with them. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_ABI_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_ABI_H

#include <Block.h>
#include <dispatch/dispatch.h>
#include <stdint.h>

/* The captured variables follow the structure. */
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
