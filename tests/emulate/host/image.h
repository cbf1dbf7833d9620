/* Mach-O images in the guest: arm64 libraries, mapped, moved, bound to each other.
 *
 * Understood: LC_SEGMENT_64, LC_SYMTAB, LC_DYLD_INFO(_ONLY) with its rebase, bind, weak and lazy programs,
 * __mod_init_func and __init_offsets. Chained fixups and thread-local variables are refused by name. Names are bound
 * flatly: to the first image that exports them, in the order of loading. A function that nobody has gets a stand-in
 * that ends the run with its name when it is called (image_stand_in); a weak import that nobody has is 0.
 *
 * Source of the formats: Apple's public mach-o/loader.h and mach-o/nlist.h. */
#ifndef STROBE_EMULATE_HOST_IMAGE_H
#define STROBE_EMULATE_HOST_IMAGE_H

#include "tests/emulate/host/machine.h"

enum { IMAGES_MAX = 8, IMAGE_SEGMENTS = 16, IMAGE_INITIALIZERS = 32, STAND_INS_MAX = 256 };

struct image_symbol {
    const char *name;
    uint64_t address;
    bool exported;
}; /* the name without its underscore */

struct image {
    char path[512];
    uint8_t *file; /* as read */
    size_t file_bytes;
    uint64_t header;                  /* where it is in the guest; of a library also its slide */
    uint64_t segment[IMAGE_SEGMENTS]; /* address of each */
    uint32_t segment_count;
    uint64_t end;                 /* of its last segment */
    struct image_symbol *symbols; /* by address */
    size_t symbol_count;
    uint64_t initializers[IMAGE_INITIALIZERS];
    size_t initializer_count;
    uint32_t fixups; /* offset of its LC_DYLD_INFO in the file; 0 = none */
};

struct images {
    struct image list[IMAGES_MAX];
    size_t count;
    const char *stand_ins[STAND_INS_MAX];
    size_t stand_in_count;
};

/* Maps and moves one more library. */
void image_load(struct images *all, struct machine *m, const char *path);

/* Binds all images' imports, once all are loaded. */
void image_bind(struct images *all, struct machine *m);

/* Address of an exported symbol; 0 when there is none. */
uint64_t image_find(const struct images *all, const char *name);

/* The same among all symbols of one image, exported or not. */
uint64_t image_find_in(const struct image *image, const char *name);

/* The symbol that `address` belongs to, with its offset; NULL when it is in no image. */
const struct image_symbol *image_symbol_of(const struct images *all, uint64_t address, uint64_t *offset);

#endif
