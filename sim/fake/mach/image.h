/* A Mach-O image built in memory, without code, for hooks by rebinding.
 *
 *   page 0   __TEXT        header, load commands
 *        1   __DATA_CONST  __got, at its end; read-only once bound
 *        2   __DATA        __la_symbol_ptr, at its begin, so that both make one struct fake_mach_app
 *        3   __LINKEDIT    symbols, indirect symbols, names (as many pages as needed) */
#ifndef STROBE_SIM_FAKE_MACH_IMAGE_H
#define STROBE_SIM_FAKE_MACH_IMAGE_H

#include "sim/fake/mach/app.h"

enum { FAKE_IMAGE_PATH_BYTES = 128 };

struct fake_image {
    const struct mach_header_64 *header;
    struct fake_mach_app *app;
    intptr_t slide;
    size_t bytes;
    const char *path; /* in the image itself */
};

/* Maps an image; `path` is copied. Returns false when memory runs out, or the path is too long. */
bool fake_image_map(struct fake_image *i, const char *path, uint32_t type);
void fake_image_unmap(struct fake_image *i);

#endif
