#include "engine/trace/symbols/call_frames.h"

#include "engine/base/varint.h"
#include "engine/util/array.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* The section, and the facts needed to decode an address in it. */
struct section {
    Elf_Data *data;
    uint64_t address;
    unsigned char ident[EI_NIDENT];
    unsigned word_bytes;
    unsigned machine;
};

/* The common part (CIE) of entries. */
struct common {
    Dwarf_Off offset;
    Dwarf_CIE cie;
    unsigned encoding; /* DW_EH_PE_* of the addresses */
    int signal;        /* frames of a signal trampoline */
};

static int find_section(Elf *elf, struct section *out)
{
    GElf_Ehdr header;
    size_t names;
    const char *ident = elf_getident(elf, NULL);
    if (!ident || !gelf_getehdr(elf, &header) || elf_getshdrstrndx(elf, &names))
        return 0;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr head;
        const char *name = gelf_getshdr(s, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
        if (!name || strcmp(name, ".eh_frame") || head.sh_type == SHT_NOBITS)
            continue;
        out->data = elf_rawdata(s, NULL);
        out->address = head.sh_addr;
        out->machine = header.e_machine;
        out->word_bytes = header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
        memcpy(out->ident, ident, EI_NIDENT);
        return out->data && out->data->d_buf && out->data->d_size;
    }
    return 0;
}

/* Reads one address of the given encoding at p. Returns NULL if it is truncated, or if its encoding does not occur in
 * program files. */
static const uint8_t *get_address(const struct section *s, unsigned encoding, const uint8_t *p, const uint8_t *end,
                                  uint64_t *out)
{
    uint64_t here = s->address + (uint64_t)(p - (const uint8_t *)s->data->d_buf);
    size_t bytes;
    switch (encoding & 0x07) {
    case DW_EH_PE_absptr: bytes = s->word_bytes; break;
    case DW_EH_PE_udata2: bytes = 2; break;
    case DW_EH_PE_udata4: bytes = 4; break;
    case DW_EH_PE_udata8: bytes = 8; break;
    default: return NULL;
    }
    if ((size_t)(end - p) < bytes)
        return NULL;
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << 8 * i;
    if ((encoding & 0x08) && bytes < 8 && v >> (8 * bytes - 1))
        v |= UINT64_MAX << 8 * bytes;
    if ((encoding & 0x70) == DW_EH_PE_pcrel)
        v += here;
    else if (encoding & 0x70)
        return NULL;
    *out = s->word_bytes == 8 ? v : (uint32_t)v;
    return p + bytes;
}

static void decode_cie(struct common *c, Dwarf_Off offset, const Dwarf_CIE *cie)
{
    c->offset = offset;
    c->cie = *cie;
    c->encoding = DW_EH_PE_absptr;
    c->signal = 0;
    const uint8_t *p = cie->augmentation_data;
    const uint8_t *end = p ? p + cie->augmentation_data_size : NULL;
    for (const char *a = cie->augmentation; *a; a++) {
        if (*a == 'S')
            c->signal = 1;
        if (!p || p >= end)
            continue;
        if (*a == 'R')
            c->encoding = *p++;
        else if (*a == 'L')
            p++;
        else if (*a == 'P')
            return; /* a pointer to the personality routine follows; R comes before or after it */
    }
}

/* Reads the encoding if the R byte comes behind the personality pointer: it is then at the end of the augmentation
 * data. */
static void read_encoding_behind_personality(struct common *c)
{
    const char *a = c->cie.augmentation;
    const char *personality = strchr(a, 'P'), *r = strchr(a, 'R');
    if (!personality || !r || r < personality || !c->cie.augmentation_data)
        return;
    size_t behind = 0;
    for (const char *q = r + 1; *q; q++)
        behind += *q == 'L' || *q == 'R';
    if (c->cie.augmentation_data_size > behind)
        c->encoding = c->cie.augmentation_data[c->cie.augmentation_data_size - 1 - behind];
}

struct frame_evidence {
    unsigned frame_register; /* DWARF number of the frame pointer register; 0 = unknown machine */
    unsigned link_register;  /* DWARF number of the link register; 0 = the machine has none */
    int moves_stack, by_pointer, by_expression, no_caller, saves_frame, saves_link;
};

static int read_uleb(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
    const uint8_t *next = strobe_varint_get(*p, end, v);
    if (next)
        *p = next;
    return next != NULL;
}

static int skip_bytes(const uint8_t **p, const uint8_t *end, uint64_t bytes)
{
    if ((uint64_t)(end - *p) < bytes)
        return 0;
    *p += bytes;
    return 1;
}

static void add_saved_register(struct frame_evidence *j, uint64_t reg)
{
    j->moves_stack = 1;
    if (reg == j->frame_register)
        j->saves_frame = 1;
    if (j->link_register && reg == j->link_register)
        j->saves_link = 1;
}

static void add_cfa_register(struct frame_evidence *j, uint64_t reg)
{
    j->moves_stack = 1;
    if (reg == j->frame_register)
        j->by_pointer = 1;
}

/* Reads one extended instruction `op` (its upper two bits are 0). Returns 0 if it is unknown or truncated. */
static int read_extended_op(const struct section *s, unsigned encoding, struct frame_evidence *j, unsigned op,
                            const uint8_t **p, const uint8_t *end)
{
    uint64_t a = 0, b = 0;
    switch (op) {
    case DW_CFA_nop:
    case DW_CFA_remember_state:
    case DW_CFA_restore_state:
    case DW_CFA_GNU_window_save: /* on aarch64: return addresses are signed from here on */ return 1;
    case DW_CFA_set_loc: *p = get_address(s, encoding, *p, end, &a); return *p != NULL;
    case DW_CFA_advance_loc1: return skip_bytes(p, end, 1);
    case DW_CFA_advance_loc2: return skip_bytes(p, end, 2);
    case DW_CFA_advance_loc4: return skip_bytes(p, end, 4);
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
        if (!read_uleb(p, end, &a) || !read_uleb(p, end, &b))
            return 0;
        add_saved_register(j, a);
        return 1;
    case DW_CFA_restore_extended:
    case DW_CFA_same_value:
    case DW_CFA_GNU_args_size: return read_uleb(p, end, &a);
    case DW_CFA_undefined:
        if (!read_uleb(p, end, &a))
            return 0;
        j->no_caller |= a == 16 || a == 30;
        return 1;
    case DW_CFA_register:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
    case DW_CFA_GNU_negative_offset_extended: return read_uleb(p, end, &a) && read_uleb(p, end, &b);
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
        if (!read_uleb(p, end, &a) || !read_uleb(p, end, &b))
            return 0;
        add_cfa_register(j, a);
        return 1;
    case DW_CFA_def_cfa_register:
        if (!read_uleb(p, end, &a))
            return 0;
        add_cfa_register(j, a);
        return 1;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf: j->moves_stack = 1; return read_uleb(p, end, &a);
    case DW_CFA_def_cfa_expression: j->by_expression = 1; return read_uleb(p, end, &a) && skip_bytes(p, end, a);
    case DW_CFA_expression:
    case DW_CFA_val_expression: return read_uleb(p, end, &a) && read_uleb(p, end, &b) && skip_bytes(p, end, b);
    default: return 0;
    }
}

/* Classifies a function by its instruction stream. A stream that cannot be decoded is inconclusive. */
static enum strobe_frame_use classify_stream(const struct section *s, const struct common *c, const uint8_t *p,
                                             const uint8_t *end)
{
    struct frame_evidence j = {0};
    if (s->machine == EM_X86_64)
        j.frame_register = 6;
    else if (s->machine == EM_AARCH64) {
        j.frame_register = 29;
        j.link_register = 30;
    } else
        return STROBE_FRAME_NONE;
    while (p < end) {
        unsigned op = *p++;
        uint64_t v;
        if ((op & 0xc0) == DW_CFA_offset) {
            if (!read_uleb(&p, end, &v))
                return STROBE_FRAME_NONE;
            add_saved_register(&j, op & 0x3f);
        } else if (!(op & 0xc0) && !read_extended_op(s, c->encoding, &j, op, &p, end))
            return STROBE_FRAME_NONE;
    }
    if (j.by_expression || j.no_caller || c->signal)
        return STROBE_FRAME_NONE;
    /* On aarch64 compilers may keep the CFA relative to sp. Saving x29 and x30 then makes the frame record. */
    if (j.by_pointer || (j.link_register && j.saves_frame && j.saves_link))
        return STROBE_FRAME_POINTER;
    return j.moves_stack ? STROBE_FRAME_PLAIN : STROBE_FRAME_NONE;
}

/* Decodes one entry. Returns 0 if its address cannot be read. */
static int decode_fde(const struct section *s, const struct common *c, const Dwarf_FDE *fde,
                      struct strobe_call_frame *out)
{
    const uint8_t *p = get_address(s, c->encoding, fde->start, fde->end, &out->start);
    p = p ? get_address(s, c->encoding & 0x0f, p, fde->end, &out->bytes) : NULL;
    if (!p)
        return 0;
    uint64_t augmentation = c->cie.fde_augmentation_data_size;
    if (c->cie.augmentation[0] == 'z' && !read_uleb(&p, fde->end, &augmentation))
        return 0;
    if (!skip_bytes(&p, fde->end, augmentation))
        return 0;
    out->use = classify_stream(s, c, p, fde->end);
    return 1;
}

static int by_frame_start(const void *a, const void *b)
{
    const struct strobe_call_frame *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Finds the common part at `offset`. Entries mostly follow their common part, so the last one is tried first. */
static int common_at(const struct section *s, Dwarf_Off offset, struct common *c)
{
    Dwarf_CFI_Entry entry;
    Dwarf_Off next;
    if (c->offset == offset)
        return 1;
    if (dwarf_next_cfi(s->ident, s->data, 1, offset, &next, &entry) || !dwarf_cfi_cie_p(&entry))
        return 0;
    decode_cie(c, offset, &entry.cie);
    read_encoding_behind_personality(c);
    return 1;
}

enum strobe_status strobe_call_frames_read(Elf *elf, struct strobe_call_frame **out, size_t *count)
{
    struct section s;
    struct common c = {.offset = (Dwarf_Off)-1};
    size_t capacity = 0;
    enum strobe_status status = STROBE_OK;
    *out = NULL;
    *count = 0;
    if (!find_section(elf, &s))
        return STROBE_OK;
    for (Dwarf_Off at = 0, next; at != (Dwarf_Off)-1; at = next) {
        Dwarf_CFI_Entry entry;
        next = (Dwarf_Off)-1;
        int r = dwarf_next_cfi(s.ident, s.data, 1, at, &next, &entry);
        if (r) {
            if (r > 0)
                break;
            status = STROBE_BAD_INPUT;
            if (next == (Dwarf_Off)-1 || next <= at)
                break;
            continue;
        }
        if (dwarf_cfi_cie_p(&entry))
            continue;
        if (!strobe_array_reserve(out, &capacity, *count + 1)) {
            free(*out);
            *out = NULL;
            *count = 0;
            return STROBE_IO;
        }
        if (common_at(&s, entry.fde.CIE_pointer, &c) && decode_fde(&s, &c, &entry.fde, *out + *count))
            ++*count;
        else
            status = STROBE_BAD_INPUT;
    }
    if (*count)
        qsort(*out, *count, sizeof **out, by_frame_start);
    return status;
}
