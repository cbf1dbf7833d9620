#include "engine/trace/symbols/function_index.h"

#include "engine/trace/symbols/call_frames.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* A symbol, with its rank among the symbols of one address. */
struct candidate {
    struct strobe_function f;
    int rank;
};

/* Returns the rank of a symbol; a lower rank is better. An address often has several names (malloc, __libc_malloc). The
 * name in the source code is usually the global one without leading underscores. */
static int rank_of(const GElf_Sym *s, const char *name)
{
    int type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
    int rank = type == STT_NOTYPE ? 100 : 0;
    rank += bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 0 : bind == STB_WEAK ? 1 : 2;
    /* Leading underscores of mangled names mean nothing. */
    if (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2))
        rank += 10 * (int)strspn(name, "_") + (strncmp(name, "__GI_", 5) ? 0 : 5); /* glibc's names for itself */
    return rank;
}

static int better_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->f.start != y->f.start)
        return x->f.start < y->f.start ? -1 : 1;
    if (x->f.guessed != y->f.guessed)
        return x->f.guessed - y->f.guessed;
    if (x->rank != y->rank)
        return x->rank - y->rank;
    return strcmp(x->f.name, y->f.name);
}

/* Reads symbol number i. Returns 0 if it is not code. */
static int read_symbol(Dwfl_Module *module, int i, struct candidate *out)
{
    GElf_Sym s;
    GElf_Addr address;
    GElf_Word section;
    Elf *elf;
    const char *name = dwfl_module_getsym_info(module, i, &s, &address, &section, &elf, NULL);
    if (!name || !name[0] || section == SHN_UNDEF || section == SHN_ABS)
        return 0;
    int type = GELF_ST_TYPE(s.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return 0;
    GElf_Shdr head = {0};
    int has_section = elf && gelf_getshdr(elf_getscn(elf, section), &head);
    /* Labels of hand-written code count. Labels of data and the mapping symbols of arm64 ($x, $d) do not. */
    if (type == STT_NOTYPE && (name[0] == '$' || !has_section || !(head.sh_flags & SHF_EXECINSTR)))
        return 0;
    uint64_t bytes = s.st_size;
    if (!bytes && has_section && s.st_value - head.sh_addr < head.sh_size)
        bytes = head.sh_size - (s.st_value - head.sh_addr);
    out->f = (struct strobe_function){.start = address,
                                      .end = address + bytes,
                                      .name = name,
                                      .exported = GELF_ST_BIND(s.st_info) != STB_LOCAL,
                                      .guessed = s.st_size == 0};
    out->rank = rank_of(&s, name);
    return 1;
}

static enum strobe_status read_symbols(Dwfl_Module *module, struct strobe_function_index *out)
{
    int symbols = dwfl_module_getsymtab(module);
    if (symbols <= 1)
        return STROBE_OK;
    struct candidate *all = malloc((size_t)symbols * sizeof *all);
    struct strobe_function *named = malloc((size_t)symbols * sizeof *named);
    size_t count = 0, kept = 0;
    if (!all || !named) {
        free(all);
        free(named);
        return STROBE_IO;
    }
    for (int i = 1; i < symbols; i++)
        count += (size_t)read_symbol(module, i, &all[count]);
    qsort(all, count, sizeof *all, better_first);
    for (size_t i = 0; i < count; i++) {
        if (kept && named[kept - 1].start == all[i].f.start)
            continue;
        if (kept && named[kept - 1].guessed && named[kept - 1].end > all[i].f.start)
            named[kept - 1].end = all[i].f.start;
        named[kept++] = all[i].f;
    }
    free(all);
    out->named = named;
    out->named_count = kept;
    return STROBE_OK;
}

static enum strobe_status read_frames(Dwfl_Module *module, struct strobe_function_index *out)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    struct strobe_call_frame *frames;
    size_t count;
    if (!elf || strobe_call_frames_read(elf, &frames, &count) == STROBE_IO)
        return elf ? STROBE_IO : STROBE_OK;
    out->framed = count ? malloc(count * sizeof *out->framed) : NULL;
    if (count && !out->framed) {
        free(frames);
        return STROBE_IO;
    }
    for (size_t i = 0; i < count; i++)
        if (frames[i].bytes)
            out->framed[out->framed_count++] = (struct strobe_function){
                .start = frames[i].start + bias, .end = frames[i].start + frames[i].bytes + bias};
    free(frames);
    return STROBE_OK;
}

static enum strobe_status read_sections(Dwfl_Module *module, struct strobe_function_index *out)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    size_t count;
    if (!elf || elf_getshdrnum(elf, &count) != 0 || !count)
        return STROBE_OK;
    out->sections = malloc(count * sizeof *out->sections);
    if (!out->sections)
        return STROBE_IO;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr head;
        if (gelf_getshdr(section, &head) && head.sh_flags & SHF_EXECINSTR && out->section_count < count)
            out->sections[out->section_count++] =
                (struct strobe_function){.start = head.sh_addr + bias, .end = head.sh_addr + head.sh_size + bias};
    }
    return STROBE_OK;
}

enum strobe_status strobe_function_index_build(Dwfl_Module *module, struct strobe_function_index *out)
{
    *out = (struct strobe_function_index){0};
    enum strobe_status status = read_symbols(module, out);
    if (status == STROBE_OK)
        status = read_frames(module, out);
    if (status == STROBE_OK)
        status = read_sections(module, out);
    if (status != STROBE_OK)
        strobe_function_index_free(out);
    return status;
}

void strobe_function_index_free(struct strobe_function_index *index)
{
    free(index->named);
    free(index->framed);
    free(index->sections);
    *index = (struct strobe_function_index){0};
}

/* Entries may lie inside others (a label in a function). The search considers this many entries before the address. */
enum { NEAR = 16 };

/* Returns the number of entries that begin at or before the address. */
static size_t count_begun(const struct strobe_function *list, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the entry with the greatest start that contains the address. */
static const struct strobe_function *find_covering(const struct strobe_function *list, size_t count, uint64_t address)
{
    size_t begun = count_begun(list, count, address);
    for (size_t back = 0; back < NEAR && back < begun; back++)
        if (address < list[begun - 1 - back].end)
            return &list[begun - 1 - back];
    return NULL;
}

/* Narrows `gap` to the space between the entries around the address. No entry contains the address. */
static void narrow_gap(const struct strobe_function *list, size_t count, uint64_t address, struct strobe_function *gap)
{
    size_t begun = count_begun(list, count, address);
    for (size_t back = 0; back < NEAR && back < begun; back++)
        if (list[begun - 1 - back].end > gap->start)
            gap->start = list[begun - 1 - back].end;
    if (begun < count && list[begun].start < gap->end)
        gap->end = list[begun].start;
}

static int find_gap(const struct strobe_function_index *index, uint64_t address, struct strobe_function *out)
{
    size_t i = 0;
    while (i < index->section_count && (address < index->sections[i].start || address >= index->sections[i].end))
        i++;
    if (i == index->section_count)
        return 0;
    *out = index->sections[i];
    narrow_gap(index->named, index->named_count, address, out);
    narrow_gap(index->framed, index->framed_count, address, out);
    return 1;
}

int strobe_function_at(const struct strobe_function_index *index, uint64_t address, struct strobe_function *out)
{
    const struct strobe_function *named = find_covering(index->named, index->named_count, address);
    const struct strobe_function *framed = find_covering(index->framed, index->framed_count, address);
    /* A label without a size would cover all nameless functions that follow it. */
    if (named && framed && named->guessed && named->start < framed->start)
        named = NULL;
    if (!named && !framed)
        return find_gap(index, address, out);
    *out = named ? *named : *framed;
    return 1;
}
