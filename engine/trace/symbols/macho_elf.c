#include "engine/trace/symbols/macho_elf.h"
#include "engine/base/error_format.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTIONS_MAX = 2 * STROBE_MACHO_SECTIONS_MAX + 8, ALIGN = 16, PAGE = 0x4000 };

/* The ELF file that is written. Contents are written first, section headers at the end. */
struct writer {
    FILE *out;
    Elf64_Shdr heads[SECTIONS_MAX];
    uint32_t count;
    char *names; /* of sections */
    size_t names_bytes;
    FILE *names_out;
    uint64_t at; /* bytes written */
};

static void write_bytes(struct writer *w, const void *bytes, size_t count)
{
    if (count)
        fwrite(bytes, 1, count, w->out);
    w->at += count;
}

static void align(struct writer *w)
{
    static const char zeros[ALIGN];
    write_bytes(w, zeros, (size_t)(-w->at & (ALIGN - 1)));
}

static Elf64_Shdr *section(struct writer *w, const char *name, uint32_t type, uint64_t flags)
{
    Elf64_Shdr *s = &w->heads[w->count++];
    align(w);
    *s = (Elf64_Shdr){.sh_name = (uint32_t)ftell(w->names_out),
                      .sh_type = type,
                      .sh_flags = flags,
                      .sh_offset = w->at,
                      .sh_addralign = 1};
    fwrite(name, 1, strlen(name) + 1, w->names_out);
    return s;
}

static void content(struct writer *w, Elf64_Shdr *s, const void *bytes, size_t count)
{
    s->sh_size = count;
    write_bytes(w, bytes, count);
}

/* ---- functions */

static int by_function_start(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Reads the functions' starts, which are stored as distances and therefore sorted. The caller frees *starts. Returns 0
 * when out of memory. */
static int decode_starts(const struct strobe_macho *m, uint64_t **starts, size_t *count)
{
    uint64_t address = 0;
    uint32_t at = 0;
    *starts = malloc(((size_t)m->function_start_bytes + 1) * sizeof **starts);
    *count = 0;
    while (*starts && strobe_macho_next_start(m, &at, &address))
        (*starts)[(*count)++] = address;
    return *starts != NULL;
}

static uint64_t section_end(const struct strobe_macho *m, uint64_t address)
{
    for (uint32_t i = 0; i < m->section_count; i++)
        if (m->sections[i].is_code && address - m->sections[i].address < m->sections[i].size)
            return m->sections[i].address + m->sections[i].size;
    return 0;
}

/* Returns the size of the function that starts at `address`, up to the next function; 0 if no function is known to
 * start there. */
static uint64_t size_at(const struct strobe_macho *m, const uint64_t *starts, size_t count, uint64_t address)
{
    const uint64_t *found = count ? bsearch(&address, starts, count, sizeof *starts, by_function_start) : NULL;
    uint64_t end = found ? section_end(m, address) : 0;
    if (found && found + 1 < starts + count && found[1] < end)
        end = found[1];
    return end > address ? end - address : 0;
}

/* Writes the symbols. Local symbols come first in ELF; the index of the first global one goes to sh_info. */
static int write_symbols(struct writer *w, const struct strobe_macho *m, const uint32_t *elf_section,
                         const uint64_t *starts, size_t start_count)
{
    Elf64_Sym none = {0}, *symbols = malloc(((size_t)m->symbol_count + 1) * sizeof *symbols);
    uint32_t count = 0, locals = 0;
    if (!symbols)
        return 0;
    symbols[count++] = none;
    /* The table of strings is copied unchanged, so names keep their offsets behind a NUL, which is the empty name. */
    for (int global = 0; global < 2; global++) {
        for (uint32_t i = 0; i < m->symbol_count; i++) {
            struct strobe_macho_symbol s;
            if (!strobe_macho_symbol(m, i, &s) || s.global != global)
                continue;
            symbols[count++] = (Elf64_Sym){
                .st_name = (uint32_t)(s.name - m->strings) + 1,
                .st_info = ELF64_ST_INFO(global ? STB_GLOBAL : STB_LOCAL, STT_FUNC),
                .st_shndx = (Elf64_Half)elf_section[s.section],
                .st_value = s.address,
                .st_size = size_at(m, starts, start_count, s.address),
            };
        }
        locals = global ? locals : count;
    }
    Elf64_Shdr *table = section(w, ".symtab", SHT_SYMTAB, 0);
    content(w, table, symbols, count * sizeof *symbols);
    table->sh_info = locals;
    table->sh_link = w->count;
    table->sh_entsize = sizeof *symbols;
    table->sh_addralign = 8;
    Elf64_Shdr *strings = section(w, ".strtab", SHT_STRTAB, 0);
    content(w, strings, "", 1);
    write_bytes(w, m->strings, m->string_bytes);
    write_bytes(w, "", 1);
    strings->sh_size = (uint64_t)m->string_bytes + 2;
    free(symbols);
    return 1;
}

static void put32(uint8_t *p, uint32_t value)
{
    memcpy(p, &value, sizeof value);
}

/* Writes call frame entries that contain only extents (DWARF 5, section 6.4.1; LSB 5.0 Core, 10.6): one common entry
 * with addresses of 8 bytes, and an entry for each function, padded with DW_CFA_nop. */
static void write_extents(struct writer *w, const struct strobe_macho *m, const uint64_t *starts, size_t count)
{
    enum { COMMON_BYTES = 16, ENTRY_BYTES = 24 };
    uint8_t common[COMMON_BYTES] = {0}, entry[ENTRY_BYTES] = {0};
    Elf64_Shdr *s = section(w, ".eh_frame", SHT_PROGBITS, SHF_ALLOC);
    s->sh_addr = m->start;
    put32(common, COMMON_BYTES - 4);
    common[8] = 1; /* version; then an empty augmentation, code alignment 1, data alignment -8, return address */
    common[10] = 1;
    common[11] = 0x78;
    common[12] = m->machine == STROBE_MACHO_ARM64 ? 30 : 16;
    write_bytes(w, common, sizeof common);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = size_at(m, starts, count, starts[i]);
        put32(entry, ENTRY_BYTES - 4);
        put32(entry + 4, (uint32_t)(w->at - s->sh_offset) + 4);
        memcpy(entry + 8, &starts[i], 8);
        memcpy(entry + 16, &bytes, 8);
        write_bytes(w, entry, sizeof entry);
    }
    put32(entry, 0);
    write_bytes(w, entry, 4);
    s->sh_size = w->at - s->sh_offset;
    s->sh_addralign = 8;
}

static int write_functions(struct writer *w, const struct strobe_macho *m, const uint32_t *elf_section)
{
    uint64_t *starts;
    size_t count;
    if (!decode_starts(m, &starts, &count))
        return 0;
    int ok = write_symbols(w, m, elf_section, starts, count);
    /* Offsets in entries have 32 bits. */
    if (ok && count && count < UINT32_MAX / 32)
        write_extents(w, m, starts, count);
    free(starts);
    return ok;
}

/* ---- sections, headers */

/* Converts a section name. Names of Mach-O have at most 16 bytes, two of which are underscores. */
static void debug_name(const char *macho, char out[32])
{
    snprintf(out, 32, ".%s%s", macho + 2, !strcmp(macho, "__debug_str_offs") ? "ets" : "");
}

static void write_sections(struct writer *w, const struct strobe_macho *m, uint32_t *elf_section)
{
    for (uint32_t i = 0; i < m->section_count; i++) {
        const struct strobe_macho_section *s = &m->sections[i];
        char name[32];
        elf_section[i] = SHN_ABS;
        if (s->is_code) {
            elf_section[i] = w->count;
            Elf64_Shdr *code = section(w, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR);
            code->sh_addr = s->address;
            code->sh_size = s->size;
        } else if (s->bytes && !strcmp(s->segment, "__DWARF") && !strncmp(s->name, "__debug_", 8)) {
            debug_name(s->name, name);
            content(w, section(w, name, SHT_PROGBITS, 0), s->bytes, (size_t)s->size);
        }
    }
}

static void write_heads(struct writer *w, const struct strobe_macho *m)
{
    Elf64_Shdr *names = section(w, ".shstrtab", SHT_STRTAB, 0);
    fflush(w->names_out);
    content(w, names, w->names, w->names_bytes);
    align(w);
    Elf64_Ehdr head = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = m->machine == STROBE_MACHO_ARM64 ? EM_AARCH64 : EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof head,
        .e_shoff = w->at,
        .e_ehsize = sizeof head,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)w->count,
        .e_shstrndx = (Elf64_Half)(w->count - 1),
    };
    Elf64_Phdr load = {.p_type = PT_LOAD,
                       .p_flags = PF_R | PF_X,
                       .p_vaddr = m->start,
                       .p_paddr = m->start,
                       .p_memsz = m->end - m->start,
                       .p_align = PAGE};
    write_bytes(w, w->heads, w->count * sizeof *w->heads);
    rewind(w->out);
    write_bytes(w, &head, sizeof head);
    write_bytes(w, &load, sizeof load);
}

static enum strobe_status write_all(struct writer *w, const struct strobe_macho *m)
{
    static const char room[sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)];
    uint32_t elf_section[STROBE_MACHO_SECTIONS_MAX];
    write_bytes(w, room, sizeof room);
    section(w, "", SHT_NULL, 0)->sh_offset = 0;
    write_sections(w, m, elf_section);
    if (!write_functions(w, m, elf_section)) {
        errno = ENOMEM;
        return STROBE_IO;
    }
    write_heads(w, m);
    return fflush(w->out) || ferror(w->out) || ferror(w->names_out) ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_macho_write_elf(const struct strobe_macho *m, int fd)
{
    struct writer *w = calloc(1, sizeof *w);
    int own = dup(fd);
    enum strobe_status status = STROBE_IO;
    if (w && own >= 0)
        w->out = fdopen(own, "wb");
    if (w && w->out)
        w->names_out = open_memstream(&w->names, &w->names_bytes);
    if (w && w->names_out)
        status = write_all(w, m);
    int error = errno;
    if (w && w->names_out)
        fclose(w->names_out);
    if (w && w->out)
        fclose(w->out);
    else if (own >= 0)
        close(own);
    if (w)
        free(w->names);
    free(w);
    errno = error;
    return status;
}

/* ---- files */

enum strobe_status strobe_macho_map(const char *path, struct strobe_macho_file *out)
{
    struct stat st;
    enum strobe_status status = STROBE_IO;
    *out = (struct strobe_macho_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return STROBE_IO;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        status = STROBE_NO_ENTRY;
    } else if (fstat(fd, &st) == 0) {
        out->bytes = (uint64_t)st.st_size;
        void *at = out->bytes ? mmap(NULL, (size_t)out->bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
        out->at = at == MAP_FAILED ? NULL : at;
        status = at == MAP_FAILED ? STROBE_IO : STROBE_OK;
    }
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

void strobe_macho_unmap(struct strobe_macho_file *file)
{
    if (file->at)
        munmap((void *)(uintptr_t)file->at, (size_t)file->bytes);
    *file = (struct strobe_macho_file){0};
}

static enum strobe_status find_slice(const struct strobe_macho_file *file, const uint8_t *uuid, struct strobe_macho *m,
                                     struct strobe_error *error)
{
    struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
    uint32_t count;
    enum strobe_status status = strobe_macho_slices(file->at, file->bytes, slices, &count, error);
    for (uint32_t i = 0; i < count && status == STROBE_OK; i++) {
        status = strobe_macho_read(file->at, &slices[i], m, error);
        if (status == STROBE_OK && m->has_uuid && !memcmp(m->uuid, uuid, STROBE_MACHO_UUID_BYTES))
            return STROBE_OK;
    }
    return status == STROBE_OK ? STROBE_BAD_VERSION : status;
}

enum strobe_status strobe_macho_open(const char *path, const uint8_t uuid[STROBE_MACHO_UUID_BYTES], int *fd,
                                     struct strobe_error *error)
{
    struct strobe_macho_file file;
    struct strobe_macho *m = malloc(sizeof *m);
    *fd = -1;
    enum strobe_status status = m ? strobe_macho_map(path, &file) : STROBE_IO;
    if (status == STROBE_OK) {
        status = find_slice(&file, uuid, m, error);
        if (status == STROBE_OK) {
            *fd = memfd_create("macho", MFD_CLOEXEC);
            status = *fd < 0 ? STROBE_IO : strobe_macho_write_elf(m, *fd);
        }
        int saved = errno;
        strobe_macho_unmap(&file);
        errno = saved;
    }
    if (status == STROBE_IO)
        strobe_error_set(error, "%s", strerror(errno));
    if (status != STROBE_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    free(m);
    return status;
}
