/* A Mach-O image in memory: its load commands, one by one, with every offset checked (rebind.h, images.h). Any context:
 * no call is made. */
#ifndef STROBE_BACKEND_MACH_IMAGE_H
#define STROBE_BACKEND_MACH_IMAGE_H

#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <stdbool.h>
#include <stdint.h>

struct strobe_mach_image {
    const struct mach_header_64 *header;
    intptr_t slide;
    uint64_t start, end;           /* [start, end): all its segments, as mapped */
    uint64_t text_start, text_end; /* the segment that begins with the header */
    const struct segment_command_64 *linkedit;
    const struct symtab_command *symtab;
    const struct dysymtab_command *dysymtab;
    const struct uuid_command *uuid;
    const char *name; /* as its file calls itself (LC_ID_DYLIB), "" when it does not */
};

/* Reads the header's commands; what is not there is NULL. False: they do not fit together. */
bool strobe_mach_image_read(const struct mach_header_64 *header, intptr_t slide, struct strobe_mach_image *out);

/* The next command: *at is NULL at first, and again behind the last. Of an image that was read. */
const struct load_command *strobe_mach_image_command(const struct strobe_mach_image *image,
                                                     const struct load_command **at);

/* What [offset, offset + bytes) of the file is in memory, when it lies in __LINKEDIT; NULL when not. */
const void *strobe_mach_image_linkedit(const struct strobe_mach_image *image, uint64_t offset, uint64_t bytes);

#endif
