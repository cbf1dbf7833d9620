/* Mach-O images in the guest: arm64 libraries, mapped, relocated, bound to each other.
 *
 * Supported: LC_SEGMENT_64, LC_SYMTAB, LC_DYLD_INFO(_ONLY) with its rebase, bind, weak and lazy programs,
 * __mod_init_func and __init_offsets. Chained fixups and thread-local variables are refused with their names. Names
 * have one flat namespace: a name is bound to the first image, in the order of loading, that exports it. A function
 * that no image has gets a stand-in, which ends the run with the function's name when it is called (image_stand_in).
 * A weak import that no image has is 0.
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
    uint64_t header;                  /* address in the guest; for a library also its slide */
    uint64_t segment[IMAGE_SEGMENTS]; /* address of each segment */
    uint32_t segment_count;
    uint64_t end;                 /* end of the last segment */
    struct image_symbol *symbols; /* sorted by address */
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

/* Maps and relocates one more library. */
void image_load(struct images *all, struct machine *m, const char *path);

/* Binds the imports of all images, after all are loaded. */
void image_bind(struct images *all, struct machine *m);

/* Returns the address of an exported symbol; 0 when there is none. */
uint64_t image_find(const struct images *all, const char *name);

/* The same, among all symbols of one image, exported or not. */
uint64_t image_find_in(const struct image *image, const char *name);

/* Returns the symbol that contains `address`, with its offset; NULL when the address is in no image. */
const struct image_symbol *image_symbol_of(const struct images *all, uint64_t address, uint64_t *offset);

#endif
