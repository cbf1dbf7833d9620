/* What takes blocks to the heap and off it, in our own words (Apple's public Block.h). */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_BLOCK_H

void *_Block_copy(const void *block); /* a copy on the heap, or one reference more */
void _Block_release(const void *block);

#include <block_abi.h>

#endif
