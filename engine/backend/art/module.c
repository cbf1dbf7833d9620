#include "engine/backend/art/module.h"
#include "engine/backend/art/module_table.h"
#include "engine/base/error_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum strobe_status module_refuse(enum strobe_status status, struct strobe_error *error, const char *path,
                                        const char *fault)
{
    strobe_error_set(error, "%s: %s", path, fault);
    return status;
}

static const ElfW(Phdr) * header_at(const struct strobe_module *m, size_t i)
{
    return (const ElfW(Phdr) *)m->headers + i;
}

/* ---- memory of the loaded library */

/* Returns the number of readable bytes from an address to the end of its readable segment; 0 = no such segment. */
static size_t readable_bytes(const struct strobe_module *m, uint64_t address)
{
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = header_at(m, i);
        uint64_t start = m->bias + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_R && address >= start && address - start < p->p_memsz)
            return (size_t)(p->p_memsz - (address - start));
    }
    return 0;
}

static const void *memory_at(uint64_t address)
{
    return (const void *)(uintptr_t)address;
}

static const char *check_loaded_head(const struct strobe_module *m)
{
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = header_at(m, i);
        uint64_t at = m->bias + p->p_vaddr;
        if (p->p_type != PT_LOAD || p->p_offset || readable_bytes(m, at) < sizeof(ElfW(Ehdr)))
            continue;
        ElfW(Ehdr) head;
        memcpy(&head, memory_at(at), sizeof head);
        return strobe_elf_check_head(&head);
    }
    return "damaged: its head is not in memory";
}

/* The symbol entries of the dynamic section. Pointers are addresses in the file; some linkers replace them by addresses
 * in memory. */
struct dynamic_section {
    uint64_t symbols, names, names_bytes, symbol_bytes, gnu_hash, sysv_hash;
};

static uint64_t address_in_memory(const struct strobe_module *m, uint64_t pointer)
{
    return pointer >= m->start && pointer < m->end ? pointer : m->bias + pointer;
}

static const char *read_dynamic_section(const struct strobe_module *m, struct dynamic_section *out)
{
    uint64_t at = 0;
    size_t bytes = 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < m->header_count; i++)
        if (header_at(m, i)->p_type == PT_DYNAMIC) {
            at = m->bias + header_at(m, i)->p_vaddr;
            bytes = readable_bytes(m, at);
        }
    for (; bytes >= sizeof(ElfW(Dyn)); at += sizeof(ElfW(Dyn)), bytes -= sizeof(ElfW(Dyn))) {
        ElfW(Dyn) d;
        memcpy(&d, memory_at(at), sizeof d);
        switch (d.d_tag) {
        case DT_NULL: return out->symbols && out->names ? NULL : "damaged: its dynamic section names no symbols";
        case DT_SYMTAB: out->symbols = address_in_memory(m, d.d_un.d_ptr); break;
        case DT_STRTAB: out->names = address_in_memory(m, d.d_un.d_ptr); break;
        case DT_GNU_HASH: out->gnu_hash = address_in_memory(m, d.d_un.d_ptr); break;
        case DT_HASH: out->sysv_hash = address_in_memory(m, d.d_un.d_ptr); break;
        case DT_STRSZ: out->names_bytes = d.d_un.d_val; break;
        case DT_SYMENT: out->symbol_bytes = d.d_un.d_val; break;
        default: break;
        }
    }
    return bytes ? "damaged: its dynamic section has no end" : "without a dynamic section";
}

static const char *read_dynamic_symbols(struct strobe_module *m)
{
    struct dynamic_section d;
    struct strobe_module_table *t = &m->dynamic;
    const char *fault = read_dynamic_section(m, &d);
    if (fault)
        return fault;
    size_t names = readable_bytes(m, d.names), symbols = readable_bytes(m, d.symbols) / sizeof(ElfW(Sym));
    t->gnu_hash_bytes = readable_bytes(m, d.gnu_hash);
    t->sysv_hash_bytes = readable_bytes(m, d.sysv_hash);
    if (d.symbol_bytes != sizeof(ElfW(Sym)) || !symbols || d.names_bytes > names)
        return "damaged: its symbols are not in memory";
    if ((d.gnu_hash && !t->gnu_hash_bytes) || (d.sysv_hash && !t->sysv_hash_bytes))
        return "damaged: its hash table is not in memory";
    if (!d.gnu_hash && !d.sysv_hash)
        return "without a hash table of its symbols";
    t->symbols = memory_at(d.symbols);
    t->names = memory_at(d.names);
    t->names_bytes = (size_t)d.names_bytes;
    t->gnu_hash = d.gnu_hash ? memory_at(d.gnu_hash) : NULL;
    t->sysv_hash = d.sysv_hash ? memory_at(d.sysv_hash) : NULL;
    fault = strobe_table_check_hashes(t);
    if (!fault && t->count > symbols)
        fault = "damaged: its hash table leads out of its symbols";
    return fault;
}

static void identify_loaded(const struct strobe_module *m, struct strobe_elf_identity *id)
{
    memset(id, 0, sizeof *id);
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = header_at(m, i);
        uint64_t at = m->bias + p->p_vaddr;
        strobe_elf_identify(id, p, readable_bytes(m, at) >= p->p_filesz ? memory_at(at) : NULL);
    }
}

/* ---- its file */

/* Unpacks .gnu_debugdata, if the file has it, and copies its symbols. */
static const char *read_debugdata(const struct strobe_elf_source *file, const ElfW(Ehdr) * head,
                                  struct strobe_module *m)
{
    ElfW(Shdr) section;
    ElfW(Ehdr) inner;
    void *unpacked = NULL;
    size_t bytes = 0, mapped = 0;
    const char *fault = strobe_elf_section(file, head, ".gnu_debugdata", &section);
    if (fault || !section.sh_size)
        return fault;
    size_t packed_bytes = (size_t)section.sh_size;
    void *packed = mmap(NULL, packed_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (packed == MAP_FAILED)
        return "too large: no memory for its .gnu_debugdata";
    enum strobe_status s = STROBE_IO;
    if (strobe_elf_copy(file, section.sh_offset, packed, packed_bytes))
        s = strobe_xz_unpack(packed, packed_bytes, &unpacked, &bytes, &mapped);
    munmap(packed, packed_bytes);
    if (s == STROBE_UNSUPPORTED) {
        m->no_debugdata = "no library here unpacks xz";
        return NULL;
    }
    if (s != STROBE_OK)
        return "damaged: its .gnu_debugdata can't be unpacked";
    struct strobe_elf_source source = {.fd = -1, .bytes = unpacked, .size = bytes};
    fault = strobe_elf_head(&source, &inner);
    if (!fault)
        fault = strobe_elf_table(&source, &inner, SHT_SYMTAB, &m->debugdata);
    munmap(unpacked, mapped);
    return fault ? "damaged: its .gnu_debugdata holds no library of this processor" : NULL;
}

static enum strobe_status open_elf_source(const char *path, struct strobe_elf_source *out, const char **fault)
{
    struct stat st;
    out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (out->fd < 0) {
        bool there = errno != ENOENT && errno != ENOTDIR;
        *fault = there ? "can't be opened" : "no such file";
        return there ? STROBE_IO : STROBE_NO_ENTRY;
    }
    if (!fstat(out->fd, &st) && S_ISREG(st.st_mode) && st.st_size >= 0) {
        out->size = (uint64_t)st.st_size;
        return STROBE_OK;
    }
    close(out->fd);
    *fault = "no regular file";
    return STROBE_IO;
}

static void free_tables(struct strobe_module *m)
{
    strobe_table_free(&m->symtab);
    strobe_table_free(&m->debugdata);
    if (m->dynamic.mapping)
        strobe_table_free(&m->dynamic);
}

/* Reads the tables that a loaded library's memory does not hold. For a library that is not loaded, reads .dynsym, too.
 */
static const char *read_module_file(struct strobe_module *m, struct strobe_elf_source *file)
{
    ElfW(Ehdr) head;
    struct strobe_elf_identity loaded, there = {.build_id_bytes = 0};
    uint64_t first, last;
    const char *fault = strobe_elf_head(file, &head);
    if (!fault)
        fault = strobe_elf_segments(file, &head, &first, &last, &there);
    if (!fault && m->headers) {
        identify_loaded(m, &loaded);
        if (!strobe_elf_same(&loaded, &there))
            fault = "its file is another than the one loaded";
    } else if (!fault) {
        m->start = m->bias + first;
        m->end = m->bias + last;
        fault = strobe_elf_table(file, &head, SHT_DYNSYM, &m->dynamic);
    }
    if (!fault)
        fault = strobe_elf_table(file, &head, SHT_SYMTAB, &m->symtab);
    if (!fault)
        fault = read_debugdata(file, &head, m);
    if (fault)
        free_tables(m);
    return fault;
}

enum strobe_status strobe_module_open_file(const char *path, uint64_t bias, struct strobe_module *out,
                                           struct strobe_error *error)
{
    struct strobe_elf_source file = {.fd = -1};
    memset(out, 0, sizeof *out);
    out->bias = bias;
    out->searched_file = true;
    snprintf(out->path, sizeof out->path, "%s", path);
    const char *fault;
    enum strobe_status s = open_elf_source(path, &file, &fault);
    if (s != STROBE_OK)
        return module_refuse(s, error, path, fault);
    fault = read_module_file(out, &file);
    close(file.fd);
    return fault ? module_refuse(STROBE_BAD_INPUT, error, path, fault) : STROBE_OK;
}

static void search_module_file(struct strobe_module *m)
{
    struct strobe_elf_source file = {.fd = -1};
    m->searched_file = true;
    if (open_elf_source(m->path, &file, &m->not_in_file) != STROBE_OK)
        return;
    m->not_in_file = read_module_file(m, &file);
    close(file.fd);
}

/* ---- the loaded library */

/* Returns whether `name` matches a path: "libart.so" matches libart.so and libart.so.0, and no other suffix. */
static bool is_library_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash && !strchr(name, '/') ? slash + 1 : path;
    size_t length = strlen(name);
    if (strncmp(base, name, length) != 0)
        return false;
    const char *rest = base + length;
    while (rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9')
        for (rest++; *rest >= '0' && *rest <= '9';)
            rest++;
    return !*rest;
}

struct wanted {
    const char *name;
    struct strobe_module *out;
};

static int take_loaded_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct wanted *w = arg;
    (void)bytes;
    if (!info->dlpi_name || !is_library_named(info->dlpi_name, w->name))
        return 0;
    struct strobe_module *m = w->out;
    snprintf(m->path, sizeof m->path, "%s", info->dlpi_name);
    m->bias = info->dlpi_addr;
    m->headers = info->dlpi_phdr;
    m->header_count = info->dlpi_phnum;
    m->start = UINT64_MAX;
    for (size_t i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = header_at(m, i);
        if (p->p_type != PT_LOAD || !p->p_memsz)
            continue;
        uint64_t start = m->bias + p->p_vaddr, end = start + p->p_memsz;
        m->start = start < m->start ? start : m->start;
        m->end = end > m->end ? end : m->end;
    }
    return 1;
}

enum strobe_status strobe_module_open(const char *name, struct strobe_module *out, struct strobe_error *error)
{
    struct wanted w = {name, out};
    memset(out, 0, sizeof *out);
    if (!dl_iterate_phdr(take_loaded_library, &w))
        return module_refuse(STROBE_NO_ENTRY, error, name, "no such library is loaded");
    const char *fault = check_loaded_head(out);
    if (!fault)
        fault = read_dynamic_symbols(out);
    return fault ? module_refuse(STROBE_BAD_INPUT, error, out->path, fault) : STROBE_OK;
}

uint64_t strobe_module_symbol(struct strobe_module *m, const char *name)
{
    uint64_t value;
    bool found = strobe_table_find(&m->dynamic, name, &value);
    if (!found && !m->searched_file)
        search_module_file(m);
    found = found || strobe_table_find(&m->symtab, name, &value) || strobe_table_find(&m->debugdata, name, &value);
    uint64_t address = found ? m->bias + value : 0;
    return found && address >= m->start && address < m->end ? address : 0;
}

void strobe_module_close(struct strobe_module *m)
{
    free_tables(m);
    memset(m, 0, sizeof *m);
}
