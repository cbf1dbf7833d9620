/* Declarations to copy blocks to the heap and to release them, written from Apple's public Block.h. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_H

void *_Block_copy(const void *block); /* returns a copy on the heap, or retains one that is there */
void _Block_release(const void *block);

#include <block_abi.h>

#endif
