/* What the backend uses of the dynamic loader, in our own words (Apple's public mach-o/dyld.h). */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_O_DYLD_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_O_DYLD_H

#include <mach-o/loader.h>
#include <stdint.h>

struct mach_header; /* of images of 64-bit machines a struct mach_header_64 */

/* Called at once for each image that is there, then for each that comes, or goes: with the loader's lock held. For
 * good: it can't be taken back. */
void _dyld_register_func_for_add_image(void (*func)(const struct mach_header *header, intptr_t slide));
void _dyld_register_func_for_remove_image(void (*func)(const struct mach_header *header, intptr_t slide));

uint32_t _dyld_image_count(void);
const struct mach_header *_dyld_get_image_header(uint32_t index);
intptr_t _dyld_get_image_vmaddr_slide(uint32_t index);
const char *_dyld_get_image_name(uint32_t index);

#endif
