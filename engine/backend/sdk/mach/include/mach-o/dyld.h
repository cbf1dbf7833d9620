/* Declarations of the parts of the dynamic loader that the backend uses, written from Apple's public mach-o/dyld.h. */
#ifndef STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_O_DYLD_H
#define STROBE_BACKEND_SDK_MACH_INCLUDE_MACH_O_DYLD_H

#include <mach-o/loader.h>
#include <stdint.h>

struct mach_header; /* in fact a struct mach_header_64 on 64-bit machines */

/* Register a function for images that are loaded, or unloaded. The loader calls it with its lock held. The first
 * function is called at once for each image that is loaded already. A registration cannot be undone. */
void _dyld_register_func_for_add_image(void (*func)(const struct mach_header *header, intptr_t slide));
void _dyld_register_func_for_remove_image(void (*func)(const struct mach_header *header, intptr_t slide));

uint32_t _dyld_image_count(void);
const struct mach_header *_dyld_get_image_header(uint32_t index);
intptr_t _dyld_get_image_vmaddr_slide(uint32_t index);
const char *_dyld_get_image_name(uint32_t index);

#endif
