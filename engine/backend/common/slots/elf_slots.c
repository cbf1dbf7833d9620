#include "engine/backend/common/slots/elf_slots.h"

#include "engine/base/hint.h"

#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT, ABSOLUTE = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT, ABSOLUTE = R_AARCH64_ABS64 };
#elif defined(__arm__)
enum { JUMP_SLOT = R_ARM_JUMP_SLOT, GLOB_DAT = R_ARM_GLOB_DAT, ABSOLUTE = R_ARM_ABS32 };
#elif defined(__i386__)
enum { JUMP_SLOT = R_386_JMP_SLOT, GLOB_DAT = R_386_GLOB_DAT, ABSOLUTE = R_386_32 };
#else
#error "the relocations that bind functions are known for x86 and ARM only"
#endif

#if __SIZEOF_POINTER__ == 8
#define RELOCATION_TYPE(info)   ELF64_R_TYPE(info)
#define RELOCATION_SYMBOL(info) ELF64_R_SYM(info)
#else
#define RELOCATION_TYPE(info)   ELF32_R_TYPE(info)
#define RELOCATION_SYMBOL(info) ELF32_R_SYM(info)
#endif

/* bionic's tags (libc/include/elf.h); glibc has no names for them. */
enum {
    ANDROID_REL = 0x6000000f,
    ANDROID_RELSZ = 0x60000010,
    ANDROID_RELA = 0x60000011,
    ANDROID_RELASZ = 0x60000012,
};

enum { CALLS, RELA, REL, PACKED_RELA, PACKED_REL }; /* indices of tables */

/* ---- the dynamic section ---- */

bool strobe_elf_contains(const struct dl_phdr_info *info, uintptr_t at, size_t bytes)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && at >= start && bytes <= segment->p_memsz &&
            at - start <= segment->p_memsz - bytes)
            return true;
    }
    return false;
}

/* Returns the address of an entry of the dynamic section. Some loaders add the bias to it, others leave the file's
 * value. */
static uintptr_t dynamic_address(const struct dl_phdr_info *info, uintptr_t said)
{
    return strobe_elf_contains(info, said, 1) ? said : info->dlpi_addr + said;
}

static const char *elf_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void read_dynamic_entry(struct strobe_elf_dynamic *d, uintptr_t tag, uintptr_t value)
{
    struct strobe_elf_table *t = d->table;
    switch (tag) {
    case DT_SYMTAB: d->symbols = dynamic_address(d->info, value); break;
    case DT_STRTAB: d->names = (const char *)dynamic_address(d->info, value); break;
    case DT_STRSZ: d->names_bytes = value; break;
    case DT_PLTREL: t[CALLS].addends = value == DT_RELA; break;
    case DT_JMPREL: t[CALLS].at = dynamic_address(d->info, value); break;
    case DT_PLTRELSZ: t[CALLS].bytes = value; break;
    case DT_RELA: t[RELA].at = dynamic_address(d->info, value); break;
    case DT_RELASZ: t[RELA].bytes = value; break;
    case DT_REL: t[REL].at = dynamic_address(d->info, value); break;
    case DT_RELSZ: t[REL].bytes = value; break;
    case ANDROID_RELA: t[PACKED_RELA].at = dynamic_address(d->info, value); break;
    case ANDROID_RELASZ: t[PACKED_RELA].bytes = value; break;
    case ANDROID_REL: t[PACKED_REL].at = dynamic_address(d->info, value); break;
    case ANDROID_RELSZ: t[PACKED_REL].bytes = value; break;
    default: break;
    }
}

/* After this check every name that begins within the table ends within it. */
static bool has_sound_names(const struct strobe_elf_dynamic *d)
{
    return d->symbols && d->names && d->names_bytes &&
           strobe_elf_contains(d->info, (uintptr_t)d->names, d->names_bytes) && d->names[d->names_bytes - 1] == '\0';
}

bool strobe_elf_dynamic(const struct dl_phdr_info *info, struct strobe_elf_dynamic *d)
{
    size_t soname = 0;
    memset(d, 0, sizeof *d);
    d->info = info;
    d->table[RELA].addends = d->table[PACKED_RELA].addends = true;
    d->table[PACKED_RELA].packed = d->table[PACKED_REL].packed = true;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            d->entries = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            d->entry_count = info->dlpi_phdr[i].p_memsz / sizeof *d->entries;
        }
    for (size_t i = 0; i < d->entry_count && d->entries[i].d_tag != DT_NULL; i++) {
        read_dynamic_entry(d, (uintptr_t)d->entries[i].d_tag, d->entries[i].d_un.d_val);
        if (d->entries[i].d_tag == DT_SONAME)
            soname = d->entries[i].d_un.d_val;
    }
    if (!has_sound_names(d))
        return false;
    d->soname =
        soname && soname < d->names_bytes ? d->names + soname : elf_file_name(info->dlpi_name ? info->dlpi_name : "");
    return true;
}

/* ---- slots ---- */

struct slot_visit {
    const struct strobe_elf_dynamic *dynamic;
    void (*visit)(void *ctx, const struct strobe_elf_slot *slot);
    void *ctx;
};

static bool is_bound_slot(const struct dl_phdr_info *info, const ElfW(Sym) * symbol, const void *value)
{
    return !strobe_elf_contains(info, (uintptr_t)value, 1) ||
           (symbol->st_shndx != SHN_UNDEF && (uintptr_t)value == info->dlpi_addr + symbol->st_value);
}

/* The address sanitizer does not know the memory of libraries that were built without it. */
static STROBE_READS_STACKS void visit_relocation(const struct slot_visit *v, uintptr_t offset, unsigned long info,
                                                 uintptr_t addend)
{
    const struct strobe_elf_dynamic *d = v->dynamic;
    unsigned long type = RELOCATION_TYPE(info), index = RELOCATION_SYMBOL(info);
    if (index == 0 || addend || (type != JUMP_SLOT && type != GLOB_DAT && type != ABSOLUTE))
        return;
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)d->symbols + index;
    uintptr_t at = d->info->dlpi_addr + offset;
    if (!strobe_elf_contains(d->info, (uintptr_t)symbol, sizeof *symbol) || symbol->st_name >= d->names_bytes ||
        at % sizeof(void *) || !strobe_elf_contains(d->info, at, sizeof(void *)))
        return;
    void *value = __atomic_load_n((void **)at, __ATOMIC_ACQUIRE);
    if (value)
        v->visit(v->ctx, &(struct strobe_elf_slot){(void **)at, d->names + symbol->st_name, value, type == JUMP_SLOT,
                                                   is_bound_slot(d->info, symbol, value)});
}

static void visit_table(const struct slot_visit *v, const struct strobe_elf_table *t)
{
    size_t bytes = t->addends ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    for (size_t i = 0; i < t->bytes / bytes; i++) {
        const ElfW(Rel) *r = (const ElfW(Rel) *)(t->at + i * bytes); /* a Rela begins as a Rel does */
        visit_relocation(v, r->r_offset, r->r_info, t->addends ? (uintptr_t)((const ElfW(Rela) *)r)->r_addend : 0);
    }
}

/* ---- packed tables ---- */

struct packed_reader {
    const unsigned char *next, *end;
    bool failed;
};

/* Reads a number in SLEB128. */
static int64_t read_packed(struct packed_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->next < r->end && shift < 64; shift += 7) {
        unsigned char byte = *r->next++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && shift + 7 < 64)
            value |= ~UINT64_C(0) << (shift + 7);
        return (int64_t)value;
    }
    r->failed = true;
    return 0;
}

enum { BY_INFO = 1, BY_OFFSET_DELTA = 2, BY_ADDEND = 4, HAS_ADDEND = 8 }; /* flags of a group */

struct packed_relocation {
    uint64_t offset, info, addend;
};

static void visit_packed_group(const struct slot_visit *v, struct packed_reader *in, struct packed_relocation *r,
                               uint64_t count)
{
    int64_t flags = read_packed(in);
    int64_t delta = flags & BY_OFFSET_DELTA ? read_packed(in) : 0;
    if (flags & BY_INFO)
        r->info = (uint64_t)read_packed(in);
    if (!(flags & HAS_ADDEND))
        r->addend = 0;
    else if (flags & BY_ADDEND)
        r->addend += (uint64_t)read_packed(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        r->offset += (uint64_t)(flags & BY_OFFSET_DELTA ? delta : read_packed(in));
        if (!(flags & BY_INFO))
            r->info = (uint64_t)read_packed(in);
        if ((flags & (HAS_ADDEND | BY_ADDEND)) == HAS_ADDEND)
            r->addend += (uint64_t)read_packed(in);
        if (!in->failed)
            visit_relocation(v, (uintptr_t)r->offset, (unsigned long)r->info, (uintptr_t)r->addend);
    }
}

/* The table begins with "APS2", the number of relocations, and the offset before the first. Groups follow, which have a
 * size and flags. Offsets and addends are differences to the relocation before. */
static void visit_packed_table(const struct slot_visit *v, const struct strobe_elf_table *t)
{
    struct packed_reader in = {.next = (const unsigned char *)t->at, .end = (const unsigned char *)t->at + t->bytes};
    if (t->bytes < 4 || memcmp(in.next, "APS2", 4) != 0)
        return;
    in.next += 4;
    uint64_t left = (uint64_t)read_packed(&in);
    struct packed_relocation r = {.offset = (uint64_t)read_packed(&in)};
    while (left && !in.failed) {
        uint64_t count = (uint64_t)read_packed(&in);
        count = count < left ? count : left;
        if (!count)
            return;
        visit_packed_group(v, &in, &r, count);
        left -= count;
    }
}

void strobe_elf_slots(const struct strobe_elf_dynamic *d, void (*visit)(void *ctx, const struct strobe_elf_slot *slot),
                      void *ctx)
{
    struct slot_visit v = {d, visit, ctx};
    for (int i = 0; i < STROBE_ELF_TABLES; i++) {
        const struct strobe_elf_table *t = &d->table[i];
        if (!t->at || !strobe_elf_contains(d->info, t->at, t->bytes))
            continue;
        if (t->packed)
            visit_packed_table(&v, t);
        else
            visit_table(&v, t);
    }
}
