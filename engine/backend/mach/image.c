#include "engine/backend/mach/image.h"

#include <string.h>

/* The page of the header is always mapped. Pages on arm64 are larger. */
enum { HEADER_PAGE = 4096 };

static bool fits(uint64_t at, uint64_t bytes, uint64_t room)
{
    return at <= room && bytes <= room - at;
}

/* Returns the address at which a segment begins in memory. */
static uint64_t segment_start(const struct strobe_mach_image *i, const struct segment_command_64 *s)
{
    return s->vmaddr + (uint64_t)i->slide;
}

static bool read_segment_bounds(struct strobe_mach_image *i, const struct segment_command_64 *s)
{
    uint64_t start = segment_start(i, s);
    if (s->nsects > (s->cmdsize - sizeof *s) / sizeof(struct section_64) || start + s->vmsize < start ||
        s->filesize > s->vmsize)
        return false;
    if (!s->initprot)
        return true; /* __PAGEZERO: not accessible */
    i->start = start < i->start ? start : i->start;
    i->end = start + s->vmsize > i->end ? start + s->vmsize : i->end;
    if (start == (uint64_t)(uintptr_t)i->header) {
        i->text_start = start;
        i->text_end = start + s->filesize;
    }
    if (memcmp(s->segname, "__LINKEDIT", sizeof "__LINKEDIT") == 0)
        i->linkedit = s;
    return true;
}

static bool read_dylib_name(struct strobe_mach_image *i, const struct dylib_command *d)
{
    if (d->dylib.name.offset < sizeof *d || d->dylib.name.offset >= d->cmdsize)
        return false;
    const char *name = (const char *)d + d->dylib.name.offset;
    if (!memchr(name, 0, d->cmdsize - d->dylib.name.offset))
        return false;
    i->name = name;
    return true;
}

/* Returns the minimum size of a load command. */
static uint32_t least_command_bytes(uint32_t command)
{
    switch (command) {
    case LC_SEGMENT_64: return sizeof(struct segment_command_64);
    case LC_SYMTAB: return sizeof(struct symtab_command);
    case LC_DYSYMTAB: return sizeof(struct dysymtab_command);
    case LC_UUID: return sizeof(struct uuid_command);
    case LC_ID_DYLIB: return sizeof(struct dylib_command);
    default: return sizeof(struct load_command);
    }
}

static bool read_load_command(struct strobe_mach_image *i, const struct load_command *c)
{
    switch (c->cmd) {
    case LC_SEGMENT_64: return read_segment_bounds(i, (const struct segment_command_64 *)(const void *)c);
    case LC_ID_DYLIB: return read_dylib_name(i, (const struct dylib_command *)(const void *)c);
    case LC_SYMTAB: i->symtab = (const void *)c; return true;
    case LC_DYSYMTAB: i->dysymtab = (const void *)c; return true;
    case LC_UUID: i->uuid = (const void *)c; return true;
    default: return true;
    }
}

bool strobe_mach_image_read(const struct mach_header_64 *h, intptr_t slide, struct strobe_mach_image *out)
{
    struct strobe_mach_image *i = out;
    *i = (struct strobe_mach_image){.header = h, .slide = slide, .start = UINT64_MAX, .name = ""};
    if (h->magic != MH_MAGIC_64)
        return false;
    uint64_t end = sizeof *h + (uint64_t)h->sizeofcmds, at = sizeof *h;
    for (uint32_t n = 0; n < h->ncmds; n++) {
        uint64_t room = i->text_end ? i->text_end - i->text_start : HEADER_PAGE;
        const struct load_command *c = (const void *)((const char *)h + at);
        room = room < end ? room : end;
        if (!fits(at, sizeof *c, room) || c->cmdsize % 8 || c->cmdsize < least_command_bytes(c->cmd) ||
            !fits(at, c->cmdsize, room) || !read_load_command(i, c))
            return false;
        at += c->cmdsize;
    }
    return i->text_end && at == end && fits(0, end, i->text_end - i->text_start);
}

const struct load_command *strobe_mach_image_command(const struct strobe_mach_image *i, const struct load_command **at)
{
    const char *first = (const char *)i->header + sizeof *i->header;
    const char *next = *at ? (const char *)*at + (*at)->cmdsize : first;
    *at = next < first + i->header->sizeofcmds ? (const void *)next : NULL;
    return *at;
}

const void *strobe_mach_image_linkedit(const struct strobe_mach_image *i, uint64_t offset, uint64_t bytes)
{
    const struct segment_command_64 *s = i->linkedit;
    if (!s || offset < s->fileoff || !fits(offset - s->fileoff, bytes, s->filesize))
        return NULL;
    return (const void *)(uintptr_t)(segment_start(i, s) + (offset - s->fileoff));
}
