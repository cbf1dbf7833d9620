/* A small Mach-O image in memory, as a loader maps one, with each kind of pointer to functions of other images.
 *
 *   page 0   __TEXT         header, commands; its second half is code, the initial target of lazy pointers
 *        1   __DATA         __la_symbol_ptr, __nl_symbol_ptr
 *        2   __DATA_CONST   __got, __auth_got; read-only
 *        3   __LINKEDIT     symbols, indirect symbols, strings
 *
 * Each section has one pointer for each of mach_image_symbols, and a last one without a symbol. */
#ifndef STROBE_UNIT_SUPPORT_MACH_IMAGE_H
#define STROBE_UNIT_SUPPORT_MACH_IMAGE_H

#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MACH_IMAGE_PAGE = 4096,
    MACH_IMAGE_BYTES = 4 * MACH_IMAGE_PAGE,
    MACH_IMAGE_LAZY = 0,
    MACH_IMAGE_NON_LAZY,
    MACH_IMAGE_GOT,
    MACH_IMAGE_AUTH_GOT,
    MACH_IMAGE_SECTIONS,
    MACH_IMAGE_SYMBOLS = 3,
    MACH_IMAGE_POINTERS = MACH_IMAGE_SYMBOLS + 1,
};
extern const char *const mach_image_symbols[MACH_IMAGE_SYMBOLS]; /* as the image spells them */

struct mach_image {
    uint8_t *memory; /* MACH_IMAGE_BYTES, writable except the pages marked read-only above */
    struct mach_header_64 *header;
    intptr_t slide;
    struct segment_command_64 *text, *data, *constant, *linkedit;
    struct section_64 *section[MACH_IMAGE_SECTIONS];
    void **pointer[MACH_IMAGE_SECTIONS];
    struct symtab_command *symtab;
    struct dysymtab_command *dysymtab;
    struct uuid_command *uuid;
    struct dylib_command *id;
    struct nlist_64 *symbols;
    uint32_t *indirect;
    char *strings;
};

/* Lays the image out in page-aligned memory; all pointers hold NULL. */
void mach_image_make(struct mach_image *m, void *memory);

/* Returns the address in the image's code that a lazy pointer holds at first. */
void *mach_image_helper(const struct mach_image *m);

#endif
