#include "tests/unit/support/mach_image.h"

#include <string.h>

#define BASE UINT64_C(0x100000000)

const char *const mach_image_symbols[MACH_IMAGE_SYMBOLS] = {"_first", "_second", "_third"};

static void *append(struct mach_image *m, uint32_t command, uint32_t bytes)
{
    struct load_command *c = (void *)(m->memory + sizeof *m->header + m->header->sizeofcmds);
    c->cmd = command;
    c->cmdsize = (bytes + 7) & ~7u;
    m->header->ncmds++;
    m->header->sizeofcmds += c->cmdsize;
    return c;
}

static struct segment_command_64 *segment(struct mach_image *m, const char *name, int page, int protection,
                                          uint32_t sections)
{
    struct segment_command_64 *s =
        append(m, LC_SEGMENT_64, (uint32_t)(sizeof *s + sections * sizeof(struct section_64)));
    memcpy(s->segname, name, strlen(name));
    s->vmaddr = BASE + (uint64_t)page * MACH_IMAGE_PAGE;
    s->vmsize = s->filesize = MACH_IMAGE_PAGE;
    s->fileoff = (uint64_t)page * MACH_IMAGE_PAGE;
    s->maxprot = s->initprot = protection;
    s->nsects = sections;
    return s;
}

static void section(struct mach_image *m, int which, struct segment_command_64 *in, uint32_t index, const char *name,
                    uint32_t type)
{
    struct section_64 *s = (struct section_64 *)(void *)(in + 1) + index;
    memcpy(s->sectname, name, strlen(name));
    memcpy(s->segname, in->segname, sizeof s->segname);
    s->addr = in->vmaddr + index * 512;
    s->size = MACH_IMAGE_POINTERS * sizeof(void *);
    s->flags = type;
    s->reserved1 = (uint32_t)which * MACH_IMAGE_POINTERS;
    m->section[which] = s;
    m->pointer[which] = (void **)(void *)(m->memory + (s->addr - BASE));
}

static void tables(struct mach_image *m)
{
    uint32_t page = 3 * MACH_IMAGE_PAGE, used = 1;
    m->symtab->symoff = page;
    m->symtab->nsyms = MACH_IMAGE_SYMBOLS;
    m->dysymtab->indirectsymoff = page + 1024;
    m->dysymtab->nindirectsyms = MACH_IMAGE_SECTIONS * MACH_IMAGE_POINTERS;
    m->symtab->stroff = page + 2048;
    m->symbols = (void *)(m->memory + m->symtab->symoff);
    m->indirect = (void *)(m->memory + m->dysymtab->indirectsymoff);
    m->strings = (void *)(m->memory + m->symtab->stroff);
    for (uint32_t i = 0; i < MACH_IMAGE_SYMBOLS; i++) {
        m->symbols[i].n_un.n_strx = used;
        strcpy(m->strings + used, mach_image_symbols[i]);
        used += (uint32_t)strlen(mach_image_symbols[i]) + 1;
    }
    m->symtab->strsize = used;
    for (uint32_t i = 0; i < m->dysymtab->nindirectsyms; i++) {
        uint32_t symbol = i % MACH_IMAGE_POINTERS;
        m->indirect[i] = symbol < MACH_IMAGE_SYMBOLS ? symbol : INDIRECT_SYMBOL_LOCAL;
    }
}

void mach_image_make(struct mach_image *m, void *memory)
{
    intptr_t slide = (intptr_t)((uint64_t)(uintptr_t)memory - BASE);
    *m = (struct mach_image){.memory = memory, .header = memory, .slide = slide};
    memset(memory, 0, MACH_IMAGE_BYTES);
    *m->header = (struct mach_header_64){.magic = MH_MAGIC_64, .cputype = CPU_TYPE_ARM64, .filetype = MH_DYLIB};
    m->text = segment(m, "__TEXT", 0, 5, 0);
    m->data = segment(m, "__DATA", 1, 3, 2);
    section(m, MACH_IMAGE_LAZY, m->data, 0, "__la_symbol_ptr", S_LAZY_SYMBOL_POINTERS);
    section(m, MACH_IMAGE_NON_LAZY, m->data, 1, "__nl_symbol_ptr", S_NON_LAZY_SYMBOL_POINTERS);
    m->constant = segment(m, "__DATA_CONST", 2, 3, 2);
    m->constant->flags = SG_READ_ONLY;
    section(m, MACH_IMAGE_GOT, m->constant, 0, "__got", S_NON_LAZY_SYMBOL_POINTERS);
    section(m, MACH_IMAGE_AUTH_GOT, m->constant, 1, "__auth_got", S_NON_LAZY_SYMBOL_POINTERS);
    m->linkedit = segment(m, "__LINKEDIT", 3, 1, 0);
    m->symtab = append(m, LC_SYMTAB, sizeof *m->symtab);
    m->dysymtab = append(m, LC_DYSYMTAB, sizeof *m->dysymtab);
    m->uuid = append(m, LC_UUID, sizeof *m->uuid);
    m->id = append(m, LC_ID_DYLIB, sizeof *m->id + 16);
    m->id->dylib.name.offset = sizeof *m->id;
    strcpy((char *)m->id + m->id->dylib.name.offset, "@rpath/small");
    tables(m);
}

void *mach_image_helper(const struct mach_image *m)
{
    return m->memory + MACH_IMAGE_PAGE / 2;
}
