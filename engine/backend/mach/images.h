/* The app's images: each that the loader has, or gets, goes into the session (address, slide, UUID) and has its
 * pointers hooked, unless it is this library, or one of the system's shared cache, whose calls go by no pointers.
 *
 * The loader calls with its lock held: nothing is allocated there, and no call of the loader's made. So the name of an
 * image that comes later is at first the one it calls itself (@rpath/...); its path is asked for at the end. */
#ifndef STROBE_BACKEND_MACH_IMAGES_H
#define STROBE_BACKEND_MACH_IMAGES_H

#include "engine/backend/mach/rebind.h"

#include <stdbool.h>

enum { STROBE_MACH_REBOUND_MAX = 1 << 15 }; /* pointers of all images; at most some thirty of each are ours */

/* Begins: all images there are, and those that come. `rebindings` and `room` (STROBE_MACH_REBOUND_MAX) stay the
 * caller's until the end. Returns whether every pointer could be hooked. Start only. */
bool strobe_mach_images_begin(const struct strobe_rebinding *rebindings, size_t rebinding_count,
                              struct strobe_rebound *room);

/* Gives all pointers back, and asks for the paths of images that came meanwhile. Returns whether no hook is left. At
 * the end. */
bool strobe_mach_images_end(void);

/* The code of the image in which `address` lies; [0, 0) when it lies in none that the loader has told of. */
void strobe_mach_images_code(const void *address, uint64_t *start, uint64_t *end);

#endif
