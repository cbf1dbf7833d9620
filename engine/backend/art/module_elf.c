#include "engine/backend/art/module_table.h"
#include "engine/backend/common/build_id.h"
#include "engine/base/mix.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#elif defined(__arm__)
enum { MACHINE = EM_ARM };
#elif defined(__i386__)
enum { MACHINE = EM_386 };
#elif defined(__riscv)
enum { MACHINE = EM_RISCV };
#else
#error "an ELF machine number is missing here"
#endif
enum { CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 };
enum { NOTES_MAX = 4096 };        /* most bytes read of one PT_NOTE */
enum { SECTION_MAX = 256 << 20 }; /* most bytes of a section that is copied; sums of a few cannot overflow */

static bool is_span_within(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return offset <= size && bytes <= size - offset;
}

bool strobe_elf_copy(const struct strobe_elf_source *s, uint64_t offset, void *to, size_t bytes)
{
    if (!is_span_within(offset, bytes, s->size))
        return false;
    if (s->fd < 0) {
        memcpy(to, s->bytes + offset, bytes);
        return true;
    }
    for (size_t got = 0; got < bytes;) {
        ssize_t n = pread(s->fd, (char *)to + got, bytes - got, (off_t)(offset + got));
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

const char *strobe_elf_check_head(const ElfW(Ehdr) * head)
{
    const uint16_t one = 1;
    int order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return "not an ELF file";
    if (head->e_ident[EI_CLASS] != CLASS)
        return CLASS == ELFCLASS64 ? "of another word size: this process has 64 bits"
                                   : "of another word size: this process has 32 bits";
    if (head->e_ident[EI_DATA] != order)
        return "of another byte order";
    if (head->e_machine != MACHINE)
        return "for another processor";
    if (head->e_type != ET_DYN && head->e_type != ET_EXEC)
        return "neither a library nor a program";
    if (head->e_phnum && head->e_phentsize != sizeof(ElfW(Phdr)))
        return "damaged: program headers of a wild size";
    return NULL;
}

const char *strobe_elf_head(const struct strobe_elf_source *s, ElfW(Ehdr) * head)
{
    memset(head, 0, sizeof *head);
    size_t there = s->size < sizeof *head ? (size_t)s->size : sizeof *head;
    if (!strobe_elf_copy(s, 0, head, there))
        return "can't be read";
    if (there < sizeof *head)
        return memcmp(head->e_ident, ELFMAG, SELFMAG) ? "not an ELF file" : "truncated: its head is cut off";
    return strobe_elf_check_head(head);
}

void strobe_elf_identify(struct strobe_elf_identity *id, const ElfW(Phdr) * p, const unsigned char *notes)
{
    const uint64_t said[] = {p->p_type, p->p_flags, p->p_offset, p->p_vaddr, p->p_filesz, p->p_memsz};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        id->headers_hash = strobe_mix64(id->headers_hash ^ said[i]);
    if (p->p_type == PT_NOTE && notes && !id->build_id_bytes)
        id->build_id_bytes = strobe_build_id(notes, p->p_filesz < NOTES_MAX ? p->p_filesz : NOTES_MAX, p->p_align,
                                             id->build_id, STROBE_BUILD_ID_BYTES);
}

bool strobe_elf_same(const struct strobe_elf_identity *a, const struct strobe_elf_identity *b)
{
    if (a->build_id_bytes || b->build_id_bytes)
        return a->build_id_bytes == b->build_id_bytes && !memcmp(a->build_id, b->build_id, a->build_id_bytes);
    return a->headers_hash == b->headers_hash;
}

const char *strobe_elf_segments(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, uint64_t *first,
                                uint64_t *last, struct strobe_elf_identity *id)
{
    *first = UINT64_MAX;
    *last = 0;
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        ElfW(Phdr) p;
        unsigned char notes[NOTES_MAX];
        if (!strobe_elf_copy(s, (uint64_t)head->e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return "truncated: its program headers are cut off";
        if (p.p_type == PT_LOAD && !is_span_within(p.p_offset, p.p_filesz, s->size))
            return "truncated: a segment is cut off";
        bool noted = p.p_type == PT_NOTE &&
                     strobe_elf_copy(s, p.p_offset, notes, p.p_filesz < NOTES_MAX ? (size_t)p.p_filesz : NOTES_MAX);
        strobe_elf_identify(id, &p, noted ? notes : NULL);
        if (p.p_type != PT_LOAD || !p.p_memsz)
            continue;
        if (!is_span_within(p.p_vaddr, p.p_memsz, UINTPTR_MAX))
            return "damaged: a segment has a wild address";
        *first = p.p_vaddr < *first ? p.p_vaddr : *first;
        *last = (uint64_t)p.p_vaddr + p.p_memsz > *last ? (uint64_t)p.p_vaddr + p.p_memsz : *last;
    }
    return *first < *last ? NULL : "damaged: it has no segments";
}

static const char *section_at(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, uint32_t index,
                              ElfW(Shdr) * out)
{
    if (!strobe_elf_copy(s, (uint64_t)head->e_shoff + (uint64_t)index * sizeof *out, out, sizeof *out))
        return "truncated: its section headers are cut off";
    if (out->sh_type != SHT_NOBITS && out->sh_type != SHT_NULL &&
        !is_span_within(out->sh_offset, out->sh_size, s->size))
        return "truncated: a section is cut off";
    return NULL;
}

static const char *check_sections(const ElfW(Ehdr) * head)
{
    if (!head->e_shoff || !head->e_shnum)
        return "without section headers";
    return head->e_shentsize == sizeof(ElfW(Shdr)) ? NULL : "damaged: section headers of a wild size";
}

const char *strobe_elf_section(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, const char *name,
                               ElfW(Shdr) * out)
{
    ElfW(Shdr) names;
    size_t length = strlen(name) + 1;
    char there[32];
    const char *fault = check_sections(head);
    if (!fault && head->e_shstrndx >= head->e_shnum)
        fault = "damaged: no names of sections";
    if (!fault)
        fault = section_at(s, head, head->e_shstrndx, &names);
    for (uint32_t i = 1; !fault && i < head->e_shnum; i++) {
        fault = section_at(s, head, i, out);
        if (!fault && length <= sizeof there && is_span_within(out->sh_name, length, names.sh_size) &&
            strobe_elf_copy(s, (uint64_t)names.sh_offset + out->sh_name, there, length) &&
            !memcmp(there, name, length) && out->sh_type == SHT_PROGBITS)
            return NULL;
    }
    memset(out, 0, sizeof *out);
    return fault;
}

/* A table's sections: the symbols, their names, and for .dynsym the hash tables. */
struct sections {
    ElfW(Shdr) symbols, names, gnu_hash, sysv_hash;
};

static const char *find_sections(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, uint32_t type,
                                 struct sections *out)
{
    uint32_t symbols = 0;
    const char *fault = check_sections(head);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 1; !fault && i < head->e_shnum; i++) {
        ElfW(Shdr) h;
        fault = section_at(s, head, i, &h);
        if (!fault && h.sh_type == type && !symbols) {
            symbols = i;
            out->symbols = h;
        }
    }
    for (uint32_t i = 1; !fault && symbols && i < head->e_shnum; i++) {
        ElfW(Shdr) h;
        fault = section_at(s, head, i, &h);
        if (h.sh_type == SHT_GNU_HASH && h.sh_link == symbols)
            out->gnu_hash = h;
        if (h.sh_type == SHT_HASH && h.sh_link == symbols)
            out->sysv_hash = h;
    }
    if (fault || !symbols)
        return fault;
    if (out->symbols.sh_entsize != sizeof(ElfW(Sym)) || out->symbols.sh_link >= head->e_shnum)
        return "damaged: a symbol table of a wild form";
    fault = section_at(s, head, out->symbols.sh_link, &out->names);
    return fault ? fault : out->names.sh_type == SHT_STRTAB ? NULL : "damaged: a symbol table without names";
}

static const unsigned char *append_section(const struct strobe_elf_source *s, const ElfW(Shdr) * section,
                                           unsigned char **to)
{
    unsigned char *at = *to;
    if (!section->sh_size || !strobe_elf_copy(s, section->sh_offset, at, section->sh_size))
        return NULL;
    *to += section->sh_size;
    return at;
}

const char *strobe_elf_table(const struct strobe_elf_source *s, const ElfW(Ehdr) * head, uint32_t type,
                             struct strobe_module_table *out)
{
    struct sections of;
    memset(out, 0, sizeof *out);
    const char *fault = find_sections(s, head, type, &of);
    if (fault || of.symbols.sh_size < sizeof(ElfW(Sym)))
        return fault;
    if (of.symbols.sh_size > SECTION_MAX || of.names.sh_size > SECTION_MAX || of.gnu_hash.sh_size > SECTION_MAX ||
        of.sysv_hash.sh_size > SECTION_MAX)
        return "too large: more than 256 MiB of symbols";
    size_t bytes = (size_t)of.symbols.sh_size + of.names.sh_size + of.gnu_hash.sh_size + of.sysv_hash.sh_size;
    unsigned char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return "too large: no memory for its symbols";
    *out = (struct strobe_module_table){.mapping = at, .mapping_bytes = bytes};
    out->symbols = append_section(s, &of.symbols, &at);
    out->names = (const char *)append_section(s, &of.names, &at);
    out->gnu_hash = append_section(s, &of.gnu_hash, &at);
    out->sysv_hash = append_section(s, &of.sysv_hash, &at);
    out->count = (size_t)of.symbols.sh_size / sizeof(ElfW(Sym));
    out->names_bytes = (size_t)of.names.sh_size;
    out->gnu_hash_bytes = (size_t)of.gnu_hash.sh_size;
    out->sysv_hash_bytes = (size_t)of.sysv_hash.sh_size;
    if (!out->symbols || !out->names || !out->gnu_hash != !of.gnu_hash.sh_size ||
        !out->sysv_hash != !of.sysv_hash.sh_size)
        fault = "truncated: its symbols are cut off";
    if (!fault)
        fault = strobe_table_check_hashes(out);
    if (fault)
        strobe_table_free(out);
    return fault;
}
