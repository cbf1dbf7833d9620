#include "engine/trace/symbols/macho_info.h"
#include "engine/base/error_format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Constants of the format, with Apple's names. */
enum {
    FAT_HEADER = 8,
    FAT_ARCH = 20,
    FAT_ARCH_64 = 32,
    MACH_HEADER_64 = 32,
    LOAD_COMMAND = 8,
    SEGMENT_64 = 72,
    SECTION_64 = 80,
    NLIST_64 = 16,
    LC_SYMTAB = 0x2,
    LC_SEGMENT_64 = 0x19,
    LC_UUID = 0x1b,
    LC_FUNCTION_STARTS = 0x26,
    N_STAB = 0xe0,
    N_TYPE = 0x0e,
    N_SECT = 0x0e,
    N_EXT = 1,
    SECTION_TYPE = 0xff,
    S_ZEROFILL = 1,
    S_GB_ZEROFILL = 0xc,
    S_THREAD_LOCAL_ZEROFILL = 0x12,
};
#define FAT_MAGIC           0xcafebabeu
#define FAT_MAGIC_64        0xcafebabfu
#define MH_MAGIC_64         0xfeedfacfu
#define CPU_TYPE_X86_64     0x01000007u
#define CPU_TYPE_ARM64      0x0100000cu
#define S_ATTR_INSTRUCTIONS 0x80000400u /* PURE or SOME */

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t u64(const uint8_t *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

static uint32_t big32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static uint64_t big64(const uint8_t *p)
{
    return (uint64_t)big32(p) << 32 | big32(p + 4);
}

/* The input, and the destination of error messages. */
struct input {
    const uint8_t *file;
    uint64_t from, bytes; /* the slice is [file + from, file + from + bytes) */
    struct strobe_error *error;
};

static enum strobe_status fail_input(const struct input *in, enum strobe_status status, uint64_t offset,
                                     const char *format, ...) __attribute__((format(printf, 4, 5)));

static enum strobe_status fail_input(const struct input *in, enum strobe_status status, uint64_t offset,
                                     const char *format, ...)
{
    va_list args;
    strobe_error_set(in->error, "byte %" PRIu64 ": ", in->from + offset);
    va_start(args, format);
    strobe_error_add_list(in->error, format, args);
    va_end(args);
    return status;
}

/* Returns the bytes at an offset of the slice; NULL if they are not all within it. */
static const uint8_t *part(const struct input *in, uint64_t offset, uint64_t bytes)
{
    return offset <= in->bytes && bytes <= in->bytes - offset ? in->file + in->from + offset : NULL;
}

/* ---- universal files */

static int is_supported_cpu(uint32_t cpu)
{
    return cpu == CPU_TYPE_ARM64 || cpu == CPU_TYPE_X86_64;
}

static enum strobe_status fat_slices(const struct input *in, int wide, struct strobe_macho_slice *out, uint32_t *count)
{
    uint32_t entries = big32(in->file + 4), entry_bytes = wide ? FAT_ARCH_64 : FAT_ARCH;
    if (entries > 64)
        return STROBE_NO_ENTRY; /* Java's class files have the same magic number, with a version in this place */
    if (!part(in, FAT_HEADER, (uint64_t)entries * entry_bytes))
        return fail_input(in, STROBE_TRUNCATED, 4, "expected %" PRIu32 " slices, but the file ends before", entries);
    for (uint32_t i = 0; i < entries; i++) {
        uint64_t at = FAT_HEADER + (uint64_t)i * entry_bytes;
        const uint8_t *p = in->file + at;
        struct strobe_macho_slice s = {wide ? big64(p + 8) : big32(p + 8), wide ? big64(p + 16) : big32(p + 12)};
        if (!is_supported_cpu(big32(p)))
            continue;
        if (!part(in, s.offset, s.bytes))
            return fail_input(in, STROBE_TRUNCATED, at, "expected a slice within the file");
        if (*count < STROBE_MACHO_SLICES_MAX)
            out[(*count)++] = s;
    }
    return STROBE_OK;
}

enum strobe_status strobe_macho_slices(const uint8_t *file, uint64_t bytes,
                                       struct strobe_macho_slice out[STROBE_MACHO_SLICES_MAX], uint32_t *count,
                                       struct strobe_error *error)
{
    struct input in = {file, 0, bytes, error};
    *count = 0;
    if (bytes < 8)
        return STROBE_NO_ENTRY;
    uint32_t magic = big32(file);
    if (magic == FAT_MAGIC || magic == FAT_MAGIC_64)
        return fat_slices(&in, magic == FAT_MAGIC_64, out, count);
    if (u32(file) != MH_MAGIC_64)
        return STROBE_NO_ENTRY;
    if (is_supported_cpu(u32(file + 4)))
        out[(*count)++] = (struct strobe_macho_slice){0, bytes};
    return STROBE_OK;
}

/* ---- one slice */

static void copy_name(char out[17], const uint8_t *from)
{
    memcpy(out, from, 16);
    out[16] = '\0';
}

static int section_has_bytes(uint32_t flags)
{
    uint32_t type = flags & SECTION_TYPE;
    return type != S_ZEROFILL && type != S_GB_ZEROFILL && type != S_THREAD_LOCAL_ZEROFILL;
}

static enum strobe_status read_section(const struct input *in, const uint8_t *p, uint64_t at, int empty_segment,
                                       struct strobe_macho *out)
{
    if (out->section_count == STROBE_MACHO_SECTIONS_MAX)
        return STROBE_OK;
    struct strobe_macho_section *s = &out->sections[out->section_count++];
    copy_name(s->name, p);
    copy_name(s->segment, p + 16);
    s->address = u64(p + 32);
    s->size = u64(p + 40);
    uint32_t offset = u32(p + 48), flags = u32(p + 64);
    s->is_code = (flags & S_ATTR_INSTRUCTIONS) != 0;
    s->bytes = NULL;
    if (s->address + s->size < s->address)
        return fail_input(in, STROBE_BAD_INPUT, at, "expected a section that ends after its begin");
    if (empty_segment || !section_has_bytes(flags) || !s->size)
        return STROBE_OK;
    s->bytes = part(in, offset, s->size);
    if (!s->bytes)
        return fail_input(in, STROBE_TRUNCATED, at, "expected section %s,%s within the file", s->segment, s->name);
    out->has_dwarf |= !strcmp(s->segment, "__DWARF") && !strcmp(s->name, "__debug_info");
    return STROBE_OK;
}

static enum strobe_status read_segment(const struct input *in, const uint8_t *p, uint64_t at, uint32_t bytes,
                                       struct strobe_macho *out)
{
    char name[17];
    if (bytes < SEGMENT_64 || (uint64_t)u32(p + 64) * SECTION_64 > bytes - SEGMENT_64)
        return fail_input(in, STROBE_BAD_INPUT, at, "expected a segment and its sections within %" PRIu32 " bytes",
                          bytes);
    copy_name(name, p + 8);
    uint64_t address = u64(p + 24), size = u64(p + 32), file_bytes = u64(p + 48);
    if (address + size < address)
        return fail_input(in, STROBE_BAD_INPUT, at, "expected a segment that ends after its begin");
    if (!strcmp(name, "__TEXT"))
        out->text = address;
    if (size && strcmp(name, "__PAGEZERO") && strcmp(name, "__DWARF") && strcmp(name, "__LINKEDIT")) {
        out->start = address < out->start ? address : out->start;
        out->end = address + size > out->end ? address + size : out->end;
    }
    for (uint32_t i = 0; i < u32(p + 64); i++) {
        uint64_t offset = SEGMENT_64 + (uint64_t)i * SECTION_64;
        enum strobe_status status = read_section(in, p + offset, at + offset, !file_bytes, out);
        if (status != STROBE_OK)
            return status;
    }
    return STROBE_OK;
}

static enum strobe_status read_symtab(const struct input *in, const uint8_t *p, uint64_t at, uint32_t bytes,
                                      struct strobe_macho *out)
{
    if (bytes < 24)
        return fail_input(in, STROBE_BAD_INPUT, at, "expected a symbol table command of 24 bytes");
    out->symbol_count = u32(p + 12);
    out->string_bytes = u32(p + 20);
    out->symbols = part(in, u32(p + 8), (uint64_t)out->symbol_count * NLIST_64);
    out->strings = (const char *)part(in, u32(p + 16), out->string_bytes);
    if (!out->symbols || !out->strings)
        return fail_input(in, STROBE_TRUNCATED, at, "expected the symbol table and its strings within the file");
    return STROBE_OK;
}

static enum strobe_status read_function_starts(const struct input *in, const uint8_t *p, uint64_t at, uint32_t bytes,
                                               struct strobe_macho *out)
{
    if (bytes < 16)
        return fail_input(in, STROBE_BAD_INPUT, at, "expected a command of 16 bytes for function starts");
    out->function_start_bytes = u32(p + 12);
    out->function_starts = part(in, u32(p + 8), out->function_start_bytes);
    if (!out->function_starts)
        return fail_input(in, STROBE_TRUNCATED, at, "expected the function starts within the file");
    return STROBE_OK;
}

static enum strobe_status read_command(const struct input *in, const uint8_t *p, uint64_t at, uint32_t bytes,
                                       struct strobe_macho *out)
{
    switch (u32(p)) {
    case LC_SEGMENT_64: return read_segment(in, p, at, bytes, out);
    case LC_SYMTAB: return read_symtab(in, p, at, bytes, out);
    case LC_FUNCTION_STARTS: return read_function_starts(in, p, at, bytes, out);
    case LC_UUID:
        if (bytes < 24)
            return fail_input(in, STROBE_BAD_INPUT, at, "expected a UUID command of 24 bytes");
        memcpy(out->uuid, p + 8, sizeof out->uuid);
        out->has_uuid = 1;
        return STROBE_OK;
    default: return STROBE_OK;
    }
}

enum strobe_status strobe_macho_read(const uint8_t *file, const struct strobe_macho_slice *slice,
                                     struct strobe_macho *out, struct strobe_error *error)
{
    struct input in = {file, slice->offset, slice->bytes, error};
    const uint8_t *head = part(&in, 0, MACH_HEADER_64);
    memset(out, 0, sizeof *out);
    out->start = UINT64_MAX;
    if (!head || u32(head) != MH_MAGIC_64)
        return fail_input(&in, head ? STROBE_BAD_INPUT : STROBE_TRUNCATED, 0, "expected a 64-bit Mach-O header");
    uint32_t cpu = u32(head + 4), commands = u32(head + 16);
    out->machine = cpu == CPU_TYPE_ARM64    ? STROBE_MACHO_ARM64
                   : cpu == CPU_TYPE_X86_64 ? STROBE_MACHO_X86_64
                                            : STROBE_MACHO_OTHER;
    uint64_t at = MACH_HEADER_64, end = at + u32(head + 20);
    if (!part(&in, 0, end))
        return fail_input(&in, STROBE_TRUNCATED, 20, "expected load commands of %" PRIu32 " bytes within the file",
                          u32(head + 20));
    for (uint32_t i = 0; i < commands; i++) {
        const uint8_t *p = part(&in, at, LOAD_COMMAND);
        uint32_t bytes = p && at + LOAD_COMMAND <= end ? u32(p + 4) : 0;
        if (bytes < LOAD_COMMAND || bytes > end - at)
            return fail_input(&in, STROBE_BAD_INPUT, at, "expected load command %" PRIu32 " of %" PRIu32, i + 1,
                              commands);
        enum strobe_status status = read_command(&in, p, at, bytes, out);
        if (status != STROBE_OK)
            return status;
        at += bytes;
    }
    if (out->start > out->end)
        out->start = out->end = 0;
    return STROBE_OK;
}

/* ---- symbols */

int strobe_macho_symbol(const struct strobe_macho *m, uint32_t i, struct strobe_macho_symbol *out)
{
    const uint8_t *p = m->symbols + (size_t)i * NLIST_64;
    uint32_t text = u32(p);
    uint8_t type = p[4], section = p[5];
    if (type & N_STAB || (type & N_TYPE) != N_SECT || !section || section > m->section_count || text >= m->string_bytes)
        return 0;
    const struct strobe_macho_section *s = &m->sections[section - 1];
    uint64_t address = u64(p + 8);
    /* The header's symbol refers to the section of code, but lies before it. */
    if (!s->is_code || address < s->address || address - s->address >= s->size)
        return 0;
    const char *name = m->strings + text;
    if (!memchr(name, 0, m->string_bytes - text))
        return 0;
    name += name[0] == '_';
    if (!name[0])
        return 0;
    *out = (struct strobe_macho_symbol){address, name, section - 1u, (type & N_EXT) != 0};
    return 1;
}

int strobe_macho_next_start(const struct strobe_macho *m, uint32_t *at, uint64_t *address)
{
    uint64_t distance = 0;
    unsigned shift = 0;
    uint8_t byte;
    if (!*at)
        *address = m->text;
    do {
        if (*at >= m->function_start_bytes || shift > 63)
            return 0;
        byte = m->function_starts[(*at)++];
        distance |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (!distance || *address + distance < *address)
        return 0;
    *address += distance;
    return 1;
}
