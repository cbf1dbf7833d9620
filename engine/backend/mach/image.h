/* Reads the load commands of a Mach-O image in memory, and checks every offset. Used by rebind.c and images.c. Any
 * context. */
#ifndef STROBE_BACKEND_MACH_IMAGE_H
#define STROBE_BACKEND_MACH_IMAGE_H

#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <stdbool.h>
#include <stdint.h>

struct strobe_mach_image {
    const struct mach_header_64 *header;
    intptr_t slide;
    uint64_t start, end;           /* bounds of all its segments in memory */
    uint64_t text_start, text_end; /* bounds of the segment that begins with the header */
    const struct segment_command_64 *linkedit;
    const struct symtab_command *symtab;
    const struct dysymtab_command *dysymtab;
    const struct uuid_command *uuid;
    const char *name; /* from LC_ID_DYLIB; "" without that command */
};

/* Reads the load commands. A pointer in *out is NULL when the image lacks that command. Returns false when the commands
 * are invalid. */
bool strobe_mach_image_read(const struct mach_header_64 *header, intptr_t slide, struct strobe_mach_image *out);

/* Returns the load command after *at and stores it in *at. *at NULL selects the first command. Returns NULL after the
 * last one. strobe_mach_image_read must have accepted the image. */
const struct load_command *strobe_mach_image_command(const struct strobe_mach_image *image,
                                                     const struct load_command **at);

/* Returns the address in memory of [offset, offset + bytes) of the file; NULL when that range is not in __LINKEDIT. */
const void *strobe_mach_image_linkedit(const struct strobe_mach_image *image, uint64_t offset, uint64_t bytes);

#endif
