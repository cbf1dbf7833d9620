#include "engine/trace/symbols/symbol_image.h"

#include "engine/trace/symbols/macho_elf.h"
#include "engine/trace/symbols/vdso.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* Returns 1 if the file is the recorded one: it has the same build id or, if none was recorded, it was not written
 * since. */
static int is_recorded_file(const struct strobe_symbol_image *image, const struct stat *st)
{
    if (image->build_id_bytes) {
        const unsigned char *id;
        GElf_Addr where;
        int bytes = dwfl_module_build_id(image->module, &id, &where);
        uint32_t n = image->build_id_bytes;
        return bytes > 0 && (uint32_t)(bytes < STROBE_BUILD_ID_BYTES ? bytes : STROBE_BUILD_ID_BYTES) == n &&
               !memcmp(id, image->build_id, n);
    }
    uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
    return !image->captured_ns || written_ns <= image->captured_ns;
}

/* Returns 1 if the names come from more than the list of exported names. */
static int has_whole_symtab(Dwfl_Module *module)
{
    const char *main_file = NULL, *debug_file = NULL;
    GElf_Addr bias;
    size_t names;
    dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
    if (debug_file)
        return 1;
    Elf *elf = dwfl_module_getelf(module, &bias);
    if (!elf || elf_getshdrstrndx(elf, &names))
        return 0;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr head;
        const char *name = gelf_getshdr(s, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
        if (head.sh_type == SHT_SYMTAB || (name && !strcmp(name, ".gnu_debugdata")))
            return 1;
    }
    return 0;
}

static void close_module(struct strobe_symbol_image *image)
{
    strobe_function_index_free(&image->functions);
    strobe_unit_index_free(&image->units);
    if (image->dwfl)
        dwfl_end(image->dwfl);
    image->dwfl = NULL;
    image->module = NULL;
}

/* Makes a module of the file. `fd`: the open file, or -1. The module takes ownership of it. */
static Dwfl_Module *report_module(struct strobe_symbol_image *image, int fd)
{
    image->dwfl = dwfl_begin(&callbacks);
    if (!image->dwfl) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    dwfl_report_begin(image->dwfl);
    Dwfl_Module *module = dwfl_report_elf(image->dwfl, image->short_name, image->path, fd, image->bias, true);
    if (!module && fd >= 0)
        close(fd);
    dwfl_report_end(image->dwfl, NULL, NULL);
    return module;
}

/* Opens a Mach-O file by its UUID. Returns 0 if the file is a Mach-O file with another UUID, 1 with *fd -1 if it is not
 * a Mach-O file. */
static int open_macho(const struct strobe_symbol_image *image, int *fd)
{
    if (image->build_id_bytes != STROBE_MACHO_UUID_BYTES)
        return 1;
    enum strobe_status status = strobe_macho_open(image->path, image->build_id, fd, NULL);
    return status == STROBE_OK || status == STROBE_NO_ENTRY;
}

/* Finds the recorded file and makes a module of it. image->state is the result. STROBE_IO: out of memory. */
static enum strobe_status find_module(struct strobe_symbol_image *image)
{
    struct stat st = {0};
    GElf_Addr bias;
    int fd = -1, matched = 0;
    if (image->path[0] == '/') {
        image->state = STROBE_IMAGE_MISSING;
        if (stat(image->path, &st) || !S_ISREG(st.st_mode) || access(image->path, R_OK))
            return STROBE_OK;
        image->state = STROBE_IMAGE_CHANGED; /* until checked: the file there may have no code, or be another one */
        if (!open_macho(image, &fd))
            return STROBE_OK;
        matched = fd >= 0;
    } else if (image->path[0] && image->path[0] != '[') {
        image->state = STROBE_IMAGE_MISSING; /* relative to an unknown directory */
        return STROBE_OK;
    } else {
        image->state = STROBE_IMAGE_NO_FILE;
        fd = !strcmp(image->path, "[vdso]") && image->build_id_bytes ? strobe_vdso_open() : -1;
        if (fd < 0)
            return STROBE_OK;
    }
    errno = 0; /* the libraries report no memory in errno only */
    image->module = report_module(image, fd);
    int is_read = image->module && dwfl_module_getelf(image->module, &bias);
    int without_memory = !is_read && errno == ENOMEM;
    if (!is_read || (!matched && !is_recorded_file(image, &st)))
        close_module(image);
    return without_memory ? STROBE_IO : STROBE_OK;
}

enum strobe_status strobe_symbol_image_open(struct strobe_symbol_image *image, unsigned options)
{
    GElf_Addr bias;
    enum strobe_status status = find_module(image);
    if (!image->module)
        return status;
    status = strobe_function_index_build(image->module, &image->functions);
    if (status != STROBE_OK) {
        close_module(image);
        return status;
    }
    int wants_lines = !(options & STROBE_SYMBOLS_NO_LINES) || (options & STROBE_SYMBOLS_INLINES);
    image->has_lines = wants_lines && dwfl_module_getdwarf(image->module, &bias) != NULL;
    status = image->has_lines ? strobe_unit_index_build(image->module, &image->units) : STROBE_OK;
    if (status != STROBE_OK) {
        close_module(image);
        return status;
    }
    image->state = image->has_lines                  ? STROBE_IMAGE_DEBUG
                   : !image->functions.named_count   ? STROBE_IMAGE_NO_SYMBOLS
                   : has_whole_symtab(image->module) ? STROBE_IMAGE_SYMTAB
                                                     : STROBE_IMAGE_DYNSYM;
    return STROBE_OK;
}

void strobe_symbol_image_close(struct strobe_symbol_image *image)
{
    close_module(image);
    strobe_text_pool_free(&image->externals);
    free(image->path);
    image->path = NULL;
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute a;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
        name = dwarf_formstring(&a);
    if (!name)
        name = dwarf_diename(die);
    return name ? name : "(inlined)";
}

/* Returns the identity of an inlined function. A function of external linkage is one function in the whole program, and
 * each unit that inlines it describes it anew, so its name is its identity. The identity of another function is the
 * position of its description. */
static uint64_t identity_of(struct strobe_symbol_image *image, Dwarf_Die *die, const char *name)
{
    Dwarf_Attribute a;
    Dwarf_Die origin;
    bool external;
    if (dwarf_attr_integrate(die, DW_AT_external, &a) && !dwarf_formflag(&a, &external) && external) {
        uint32_t number = strobe_text_number(&image->externals, name, strlen(name));
        if (number != UINT32_MAX)
            return (uint64_t)1 << 63 | number;
    }
    if (dwarf_attr(die, DW_AT_abstract_origin, &a) && dwarf_formref_die(&a, &origin))
        return dwarf_dieoffset(&origin);
    return dwarf_dieoffset(die);
}

static void call_site(Dwarf_Die *cu, Dwarf_Die *die, const char **file, uint32_t *line)
{
    Dwarf_Attribute a;
    Dwarf_Word value;
    Dwarf_Files *files;
    size_t count;
    *file = "";
    *line = 0;
    if (dwarf_attr(die, DW_AT_call_line, &a) && !dwarf_formudata(&a, &value))
        *line = (uint32_t)value;
    if (dwarf_attr(die, DW_AT_call_file, &a) && !dwarf_formudata(&a, &value) &&
        !dwarf_getsrcfiles(cu, &files, &count) && value < count) {
        const char *name = dwarf_filesrc(files, value, NULL, NULL);
        *file = name ? name : "";
    }
}

enum { SCOPES_MAX = 128 };

/* Lists the scopes of code that contain the address, outermost first, along the tree of scopes. libdw's dwarf_getscopes
 * does not serve: it skips functions that are described within a namespace or class, as clang does. */
static int scopes_at(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *out, int count, unsigned depth)
{
    Dwarf_Die child;
    if (depth == SCOPES_MAX || dwarf_child(parent, &child))
        return count;
    do {
        int found = count;
        switch (dwarf_tag(&child)) {
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type: found = scopes_at(&child, address, out, count, depth + 1); break;
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
            if (count < SCOPES_MAX && dwarf_haspc(&child, address) > 0) {
                out[count] = child;
                found = scopes_at(&child, address, out, count + 1, depth + 1);
            }
            break;
        default: break;
        }
        if (found > count)
            return found;
    } while (!dwarf_siblingof(&child, &child));
    return count;
}

/* Lists the functions inlined at the address, from the innermost scope up to the function. */
static size_t inlined_at(struct strobe_symbol_image *image, Dwarf_Die *cu, Dwarf_Addr address,
                         struct strobe_inline *out, size_t max, const char **file, uint32_t *line)
{
    Dwarf_Die scopes[SCOPES_MAX];
    size_t count = 0;
    for (int i = scopes_at(cu, address, scopes, 0, 0) - 1; i >= 0 && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i--) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            continue;
        const char *name = linkage_name(&scopes[i]);
        if (count < max)
            out[count++] = (struct strobe_inline){name, identity_of(image, &scopes[i], name), *file, *line};
        call_site(cu, &scopes[i], file, line);
    }
    return count;
}

size_t strobe_symbol_image_places(struct strobe_symbol_image *image, uint64_t address, int inlines,
                                  struct strobe_inline *out, size_t max)
{
    const char *file = "";
    uint32_t line = 0;
    size_t count = 0;
    Dwarf_Die *cu = strobe_unit_index_find(&image->units, address);
    if (cu) {
        int number = 0;
        Dwarf_Line *at = dwarf_getsrc_die(cu, address - image->units.bias);
        const char *name = at ? dwarf_linesrc(at, NULL, NULL) : NULL;
        if (name && !dwarf_lineno(at, &number)) {
            file = name;
            line = number > 0 ? (uint32_t)number : 0;
        }
        if (inlines)
            count = inlined_at(image, cu, address - image->units.bias, out, max - 1, &file, &line);
    }
    out[count++] = (struct strobe_inline){NULL, 0, file, line};
    return count;
}

/* Returns the bytes of the file from `address` on, at most `max`, if the segment contains it. */
static size_t code_in_segment(const GElf_Phdr *segment, const char *file, size_t file_bytes, uint64_t address,
                              uint64_t max, const uint8_t **code)
{
    if (segment->p_type != PT_LOAD || address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
        return 0;
    uint64_t within = address - segment->p_vaddr, left = segment->p_filesz - within;
    uint64_t offset = segment->p_offset + within;
    if (offset < within || offset >= file_bytes)
        return 0;
    left = left < file_bytes - offset ? left : file_bytes - offset;
    *code = (const uint8_t *)file + offset;
    return (size_t)(left < max ? left : max);
}

size_t strobe_symbol_image_code(struct strobe_symbol_image *image, uint64_t from, uint64_t to, const uint8_t **code,
                                unsigned *machine)
{
    GElf_Addr bias;
    GElf_Ehdr head;
    size_t file_bytes, segments, found = 0;
    Elf *elf = image->module ? dwfl_module_getelf(image->module, &bias) : NULL;
    const char *file = elf ? elf_rawfile(elf, &file_bytes) : NULL;
    if (!file || !gelf_getehdr(elf, &head) || elf_getphdrnum(elf, &segments) || to <= from)
        return 0;
    *machine = head.e_machine;
    for (size_t i = 0; i < segments && !found; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment))
            found = code_in_segment(&segment, file, file_bytes, from - bias, to - from, code);
    }
    return found;
}
