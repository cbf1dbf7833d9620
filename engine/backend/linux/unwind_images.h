/* Keeps the index of call frame information (unwind_index.h) up to date with the images that the dynamic linker has
 * loaded.
 *
 * Images that are never unloaded are read in place: the program, this library, all libraries that these need, and the
 * kernel's vDSO. They are determined in the first call, before the program's own code runs. For any other image the
 * sampler copies the call frame information (3 to 8 % of the image; on 32-bit ARM the exception tables) by safe reads
 * into memory of the engine. Neither a lookup nor the copying can then access memory that dlclose() has unmapped.
 * Copies take at most STROBE_UNWIND_COPIES_BYTES. When no space is left for an image, its code is unwound by frame
 * pointers.
 *
 * All memory comes from mmap and is reserved without being committed. A forked child continues with its copy. */
#ifndef STROBE_BACKEND_LINUX_UNWIND_IMAGES_H
#define STROBE_BACKEND_LINUX_UNWIND_IMAGES_H

#include "engine/backend/linux/unwind_index.h"
#include "engine/host/host.h"

enum { STROBE_UNWIND_COPIES_BYTES = 64 << 20 };

/* Adds images that were loaded since the last call, and removes those that were unloaded. Takes the dynamic linker's
 * lock briefly, and no heap. Returns the index, or NULL when there is no memory for it. At start, before the program's
 * own code runs; afterwards sampler only, or a forked child's start. Never while a thread is suspended. */
struct strobe_unwind_index *strobe_unwind_images_update(const struct strobe_host *host);

/* Unmaps the index and the copies. When no thread can walk a stack any more. */
void strobe_unwind_images_release(void);

#endif
