#include "tests/emulate/host/image.h"

#include "tests/emulate/calls.h"

#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGES_BASE   UINT64_C(0x100000000)
#define IMAGES_STRIDE UINT64_C(0x10000000)
#define STAND_INS     UINT64_C(0x270000000)
enum { STAND_IN_BYTES = 16, INIT_OFFSETS = 0x16, INIT_POINTERS = 0x9, THREAD_LOCALS = 0x13, WEAK_IMPORT = 1 };
enum { CHAINED_FIXUPS = 0x34, DYLD_INFO = 0x22 };

/* Word indexes in the LC_DYLD_INFO command: pairs of offset and size follow cmd and cmdsize. */
enum { INFO_REBASE = 8, INFO_BIND = 16, INFO_WEAK = 24, INFO_LAZY = 32 };

static uint32_t word(const struct image *i, size_t offset)
{
    uint32_t v;
    if (offset + sizeof v > i->file_bytes)
        machine_die("%s: cut off at %zu", i->path, offset);
    memcpy(&v, i->file + offset, sizeof v);
    return v;
}

static void read_file(struct image *i, const char *path)
{
    snprintf(i->path, sizeof i->path, "%s", path);
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        machine_die("can't open %s", path);
    i->file_bytes = (size_t)ftell(f);
    rewind(f);
    i->file = malloc(i->file_bytes + 1);
    if (!i->file || fread(i->file, 1, i->file_bytes, f) != i->file_bytes)
        machine_die("can't read %s", path);
    fclose(f);
    if (word(i, 0) != MH_MAGIC_64 || word(i, 4) != CPU_TYPE_ARM64 || word(i, 12) != MH_DYLIB)
        machine_die("%s: expected an arm64 Mach-O library", path);
}

/* ---- load commands */

static void note_section(struct image *i, const struct section_64 *s)
{
    unsigned type = s->flags & SECTION_TYPE;
    if (type == THREAD_LOCALS)
        machine_die("%s: thread-local variables are not supported (section %.16s)", i->path, s->sectname);
    size_t step = type == INIT_POINTERS ? 8 : type == INIT_OFFSETS ? 4 : 0;
    for (uint64_t at = 0; step && at < s->size; at += step) {
        if (i->initializer_count == IMAGE_INITIALIZERS)
            machine_die("%s: more than %d initializers", i->path, IMAGE_INITIALIZERS);
        uint64_t value = 0;
        memcpy(&value, i->file + s->offset + at, step);
        i->initializers[i->initializer_count++] = i->header + value;
    }
}

static void map_segment(struct image *i, struct machine *m, size_t offset)
{
    struct segment_command_64 c;
    memcpy(&c, i->file + offset, sizeof c);
    if (i->segment_count == IMAGE_SEGMENTS || c.fileoff + c.filesize > i->file_bytes || c.filesize > c.vmsize)
        machine_die("%s: segment %.16s does not fit", i->path, c.segname);
    uint64_t at = i->header + c.vmaddr, bytes = (c.vmsize + MACHINE_PAGE - 1) & ~(uint64_t)(MACHINE_PAGE - 1);
    i->segment[i->segment_count++] = at;
    if (!bytes)
        return;
    if (!machine_map(m, at, bytes, MACHINE_READ | MACHINE_WRITE))
        machine_die("%s: can't map segment %.16s", i->path, c.segname);
    machine_write(m, at, i->file + c.fileoff, c.filesize);
    i->end = at + bytes;
    for (uint32_t k = 0; k < c.nsects; k++) {
        struct section_64 s;
        memcpy(&s, i->file + offset + sizeof c + k * sizeof s, sizeof s);
        note_section(i, &s);
    }
}

static int by_address(const void *a, const void *b)
{
    const struct image_symbol *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void read_symbols(struct image *i, size_t offset)
{
    struct symtab_command c;
    memcpy(&c, i->file + offset, sizeof c);
    if (c.symoff + (uint64_t)c.nsyms * sizeof(struct nlist_64) > i->file_bytes ||
        c.stroff + (uint64_t)c.strsize > i->file_bytes)
        machine_die("%s: symbol table does not fit", i->path);
    i->symbols = calloc(c.nsyms + 1, sizeof *i->symbols);
    i->file[c.stroff + c.strsize] = '\0';
    for (uint32_t k = 0; i->symbols && k < c.nsyms; k++) {
        struct nlist_64 n;
        memcpy(&n, i->file + c.symoff + k * sizeof n, sizeof n);
        if (n.n_type & N_STAB || (n.n_type & N_TYPE) != N_SECT || n.n_un.n_strx >= c.strsize)
            continue;
        const char *name = (const char *)i->file + c.stroff + n.n_un.n_strx;
        i->symbols[i->symbol_count++] =
            (struct image_symbol){name + (*name == '_'), i->header + n.n_value, n.n_type & N_EXT};
    }
    qsort(i->symbols, i->symbol_count, sizeof *i->symbols, by_address);
}

/* Sets the protection that the linker requested for each segment, after all writes. */
static void protect_segments(const struct image *i, struct machine *m)
{
    size_t offset = sizeof(struct mach_header_64);
    for (uint32_t k = 0; k < word(i, 16); k++, offset += word(i, offset + 4)) {
        struct segment_command_64 c;
        if (word(i, offset) != LC_SEGMENT_64)
            continue;
        memcpy(&c, i->file + offset, sizeof c);
        uint64_t bytes = (c.vmsize + MACHINE_PAGE - 1) & ~(uint64_t)(MACHINE_PAGE - 1);
        if (bytes)
            machine_protect(m, i->header + c.vmaddr, bytes, (unsigned)c.initprot & 7);
    }
}

/* ---- programs of fixups */

struct program {
    const uint8_t *at, *end;
};

static struct program program_of(const struct image *i, uint32_t which)
{
    uint32_t offset = word(i, i->fixups + which), bytes = word(i, i->fixups + which + 4);
    if ((uint64_t)offset + bytes > i->file_bytes)
        machine_die("%s: fixups do not fit", i->path);
    return (struct program){i->file + offset, i->file + offset + bytes};
}

static uint64_t uleb(struct program *p)
{
    uint64_t value = 0;
    for (unsigned shift = 0; p->at < p->end && shift < 64; shift += 7) {
        uint8_t byte = *p->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static uint64_t segment_of(const struct image *i, unsigned index)
{
    if (index >= i->segment_count)
        machine_die("%s: fixups in segment %u of %u", i->path, index, i->segment_count);
    return i->segment[index];
}

static void rebase(const struct image *i, struct machine *m)
{
    struct program p = program_of(i, INFO_REBASE);
    uint64_t at = 0;
    while (p.at < p.end) {
        uint8_t byte = *p.at++;
        unsigned low = byte & 15;
        uint64_t times = 1, skip = 0;
        switch (byte >> 4) {
        case 0: return;
        case 1: continue;
        case 2: at = segment_of(i, low) + uleb(&p); continue;
        case 3: at += uleb(&p); continue;
        case 4: at += UINT64_C(8) * low; continue;
        case 5: times = low; break;
        case 6: times = uleb(&p); break;
        case 7: skip = uleb(&p); break;
        case 8:
            times = uleb(&p);
            skip = uleb(&p);
            break;
        default: machine_die("%s: rebase opcode %#x", i->path, byte);
        }
        for (; times; times--, at += 8 + skip) {
            uint64_t value = machine_word(m, at) + i->header;
            machine_write(m, at, &value, sizeof value);
        }
    }
}

/* Returns the address of code for a function that no image has. */
static uint64_t stand_in(struct images *all, struct machine *m, const char *name)
{
    size_t k = 0;
    while (k < all->stand_in_count && strcmp(all->stand_ins[k], name))
        k++;
    if (k == STAND_INS_MAX)
        machine_die("more than %d imports that nobody has", STAND_INS_MAX);
    if (k == all->stand_in_count) {
        if (!k)
            machine_map(m, STAND_INS, MACHINE_PAGE, MACHINE_READ | MACHINE_WRITE | MACHINE_EXECUTE);
        uint32_t code[] = {0x52800010u | (uint32_t)(EMULATED_UNKNOWN_IMPORT + k) << 5, /* mov w16, #... */
                           0xd4001001u, 0xd65f03c0u};                                  /* svc #0x80; ret */
        machine_write(m, STAND_INS + k * STAND_IN_BYTES, code, sizeof code);
        all->stand_ins[all->stand_in_count++] = name;
    }
    return STAND_INS + k * STAND_IN_BYTES;
}

static uint64_t resolve(struct images *all, struct machine *m, const char *symbol, unsigned flags)
{
    const char *name = symbol + (*symbol == '_');
    uint64_t found = image_find(all, name);
    return found || flags & WEAK_IMPORT ? found : stand_in(all, m, name);
}

static void bind_program(struct images *all, const struct image *i, struct machine *m, uint32_t which)
{
    struct program p = program_of(i, which);
    const char *symbol = "";
    unsigned flags = 0;
    uint64_t at = 0, addend = 0;
    while (p.at < p.end) {
        uint8_t byte = *p.at++;
        unsigned low = byte & 15;
        uint64_t times = 1, skip = 0;
        switch (byte >> 4) {
        case 0:
            if (which == INFO_LAZY)
                continue;
            return;
        case 1:
        case 3:
        case 5: continue;
        case 2: uleb(&p); continue;
        case 4:
            symbol = (const char *)p.at;
            flags = low;
            p.at += strnlen(symbol, (size_t)(p.end - p.at)) + 1;
            continue;
        case 6: addend = uleb(&p); continue;
        case 7: at = segment_of(i, low) + uleb(&p); continue;
        case 8: at += uleb(&p); continue;
        case 9: break;
        case 10: skip = uleb(&p); break;
        case 11: skip = UINT64_C(8) * low; break;
        case 12:
            times = uleb(&p);
            skip = uleb(&p);
            break;
        default: machine_die("%s: bind opcode %#x", i->path, byte);
        }
        for (; times; times--, at += 8 + skip) {
            uint64_t found = resolve(all, m, symbol, flags), value = found ? found + addend : 0;
            machine_write(m, at, &value, sizeof value);
        }
    }
}

/* ---- the functions of image.h */

void image_load(struct images *all, struct machine *m, const char *path)
{
    if (all->count == IMAGES_MAX)
        machine_die("more than %d images", IMAGES_MAX);
    struct image *i = &all->list[all->count];
    i->header = IMAGES_BASE + IMAGES_STRIDE * all->count++;
    read_file(i, path);
    size_t offset = sizeof(struct mach_header_64);
    for (uint32_t k = 0; k < word(i, 16); k++, offset += word(i, offset + 4))
        switch (word(i, offset) & ~LC_REQ_DYLD) {
        case LC_SEGMENT_64: map_segment(i, m, offset); break;
        case LC_SYMTAB: read_symbols(i, offset); break;
        case DYLD_INFO: i->fixups = (uint32_t)offset; break;
        case CHAINED_FIXUPS: machine_die("%s: chained fixups are not supported", i->path);
        default: break;
        }
    if (i->fixups)
        rebase(i, m);
}

void image_bind(struct images *all, struct machine *m)
{
    for (size_t k = 0; k < all->count; k++) {
        const struct image *i = &all->list[k];
        if (i->fixups) {
            bind_program(all, i, m, INFO_BIND);
            bind_program(all, i, m, INFO_WEAK);
            bind_program(all, i, m, INFO_LAZY);
        }
        protect_segments(i, m);
    }
}

uint64_t image_find_in(const struct image *i, const char *name)
{
    for (size_t k = 0; k < i->symbol_count; k++)
        if (!strcmp(i->symbols[k].name, name))
            return i->symbols[k].address;
    return 0;
}

uint64_t image_find(const struct images *all, const char *name)
{
    for (size_t n = 0; n < all->count; n++) {
        const struct image *i = &all->list[n];
        for (size_t k = 0; k < i->symbol_count; k++)
            if (i->symbols[k].exported && !strcmp(i->symbols[k].name, name))
                return i->symbols[k].address;
    }
    return 0;
}

const struct image_symbol *image_symbol_of(const struct images *all, uint64_t address, uint64_t *offset)
{
    for (size_t n = 0; n < all->count; n++) {
        const struct image *i = &all->list[n];
        if (address < i->header || address >= i->end)
            continue;
        size_t low = 0, high = i->symbol_count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (i->symbols[middle].address <= address)
                low = middle + 1;
            else
                high = middle;
        }
        if (!low)
            return NULL;
        *offset = address - i->symbols[low - 1].address;
        return &i->symbols[low - 1];
    }
    return NULL;
}
