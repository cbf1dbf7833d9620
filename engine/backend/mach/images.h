/* The app's images. Each image that the loader has loaded, or loads during the capture, is entered into the session
 * (address, slide, UUID). Its pointers are hooked, with two exceptions: this library, and images of the system's shared
 * cache, because their calls do not go through pointers.
 *
 * The loader calls the functions of images.c with its lock held. They allocate nothing and call no function of the
 * loader. An image that is loaded during the capture is therefore entered with the name from its own load command
 * (@rpath/...). Its path is read at the end of the capture. */
#ifndef STROBE_BACKEND_MACH_IMAGES_H
#define STROBE_BACKEND_MACH_IMAGES_H

#include "engine/backend/mach/rebind.h"

#include <stdbool.h>

enum { STROBE_MACH_REBOUND_MAX = 1 << 15 }; /* hooked pointers of all images; an image has about thirty at most */

/* Enters and hooks all loaded images, and from now on those that are loaded later. `rebindings` and `log`
 * (STROBE_MACH_REBOUND_MAX entries) must stay valid until strobe_mach_images_end. Returns true when every pointer was
 * hooked. Start only. */
bool strobe_mach_images_begin(const struct strobe_rebinding *rebindings, size_t rebinding_count,
                              struct strobe_rebound *log);

/* Restores all pointers, and reads the paths of images that were loaded during the capture. Returns true when no hook
 * is left. End only. */
bool strobe_mach_images_end(void);

/* Stores in [*start, *end) the bounds of the code of the image that contains `address`; [0, 0) when no known image
 * contains it. Takes a lock. Start only. */
void strobe_mach_images_code(const void *address, uint64_t *start, uint64_t *end);

#endif
