#include "engine/backend/linux/eh_entry.h"

#include <string.h>

/* ---- bytes ---- */

static bool cursor_has_bytes(struct strobe_eh_cursor *c, uint64_t bytes)
{
    if (c->bad || c->end - c->at < bytes)
        c->bad = true;
    return !c->bad;
}

uint64_t strobe_eh_fixed(struct strobe_eh_cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    if (!cursor_has_bytes(c, bytes))
        return 0;
    memcpy(&value, c->image->bytes + c->at, bytes); /* both machines are little-endian */
    c->at += bytes;
    return value;
}

static uint64_t read_signed(struct strobe_eh_cursor *c, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(strobe_eh_fixed(c, bytes) << shift) >> shift);
}

uint64_t strobe_eh_leb(struct strobe_eh_cursor *c, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)strobe_eh_fixed(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && shift < 70);
    if (byte & 0x80)
        c->bad = true;
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

void strobe_eh_skip(struct strobe_eh_cursor *c, uint64_t bytes)
{
    if (cursor_has_bytes(c, bytes))
        c->at += bytes;
}

/* Pointer encodings: DW_EH_PE_* of the LSB. */
enum { PE_FORM = 0x0f, PE_RELATIVE = 0x70, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_OMIT = 0xff, PE_TABLE = 0x3b };

static uint64_t read_form(struct strobe_eh_cursor *c, uint8_t encoding)
{
    switch (encoding & PE_FORM) {
    case 0x0: return strobe_eh_fixed(c, 8);
    case 0x1: return strobe_eh_uleb(c);
    case 0x2: return strobe_eh_fixed(c, 2);
    case 0x3: return strobe_eh_fixed(c, 4);
    case 0x4: return strobe_eh_fixed(c, 8);
    case 0x9: return (uint64_t)strobe_eh_sleb(c);
    case 0xa: return read_signed(c, 2);
    case 0xb: return read_signed(c, 4);
    case 0xc: return strobe_eh_fixed(c, 8);
    }
    c->bad = true;
    return 0;
}

uint64_t strobe_eh_address(struct strobe_eh_cursor *c, uint8_t encoding)
{
    uint64_t from = c->image->address + c->at, value = read_form(c, encoding);
    switch (encoding & PE_RELATIVE) {
    case 0: return value;
    case PE_PCREL: return from + value;
    case PE_DATAREL: return c->image->base + value;
    }
    c->bad = true;
    return 0;
}

/* ---- entries ---- */

/* Sets *out to the contents of the record at `offset`, without its length. */
static bool open_record(const struct strobe_eh_frame *e, uint64_t offset, struct strobe_eh_cursor *out)
{
    *out = (struct strobe_eh_cursor){e, offset, e->size, offset > e->size};
    uint64_t length = strobe_eh_fixed(out, 4);
    if (length == 0 || length == 0xffffffff || !cursor_has_bytes(out, length))
        return false;
    out->end = out->at + length;
    return true;
}

enum { AUGMENTATION_MAX = 8 };

static bool read_augmentation(struct strobe_eh_cursor *c, const char *letters, struct strobe_eh_common *out)
{
    if (letters[0] == '\0')
        return true;
    if (letters[0] != 'z')
        return false;
    out->has_lengths = true;
    uint64_t length = strobe_eh_uleb(c);
    if (!cursor_has_bytes(c, length))
        return false;
    struct strobe_eh_cursor data = *c;
    data.end = c->at + length;
    for (const char *letter = letters + 1; *letter; letter++) {
        switch (*letter) {
        case 'R': out->pointers = (uint8_t)strobe_eh_fixed(&data, 1); break;
        case 'P': {
            uint8_t encoding = (uint8_t)strobe_eh_fixed(&data, 1);
            if (encoding != PE_OMIT)
                read_form(&data, encoding);
            break;
        }
        case 'L': strobe_eh_skip(&data, 1); break;
        case 'S': out->is_signal_frame = true; break;
        case 'B': /* return addresses are signed with the second key; they are stripped in any case */ break;
        default: return false;
        }
    }
    strobe_eh_skip(c, length);
    return !data.bad;
}

static bool read_common(const struct strobe_eh_frame *e, uint64_t offset, struct strobe_eh_common *out)
{
    struct strobe_eh_cursor c;
    char letters[AUGMENTATION_MAX + 1];
    unsigned n = 0;
    if (!open_record(e, offset, &c) || strobe_eh_fixed(&c, 4) != 0)
        return false;
    uint8_t version = (uint8_t)strobe_eh_fixed(&c, 1);
    do
        letters[n] = (char)strobe_eh_fixed(&c, 1);
    while (letters[n] && n++ < AUGMENTATION_MAX);
    if ((version != 1 && version != 3) || n > AUGMENTATION_MAX)
        return false;
    *out = (struct strobe_eh_common){0};
    out->code_align = strobe_eh_uleb(&c);
    out->data_align = strobe_eh_sleb(&c);
    uint64_t return_column = version == 1 ? strobe_eh_fixed(&c, 1) : strobe_eh_uleb(&c);
    if (return_column != STROBE_EH_RA || !read_augmentation(&c, letters, out))
        return false;
    out->program = c;
    return !c.bad;
}

static bool read_entry(const struct strobe_eh_frame *e, uint64_t offset, struct strobe_eh_entry *out)
{
    struct strobe_eh_cursor c;
    if (!open_record(e, offset, &c))
        return false;
    uint64_t here = c.at, back = strobe_eh_fixed(&c, 4);
    if (c.bad || back == 0 || back > here || !read_common(e, here - back, &out->common))
        return false;
    out->start = strobe_eh_address(&c, out->common.pointers);
    out->end = out->start + read_form(&c, out->common.pointers & PE_FORM);
    if (out->common.has_lengths)
        strobe_eh_skip(&c, strobe_eh_uleb(&c));
    out->program = c;
    return !c.bad;
}

/* ---- the sorted table ---- */

enum { TABLE_ENTRY_BYTES = 8 };

/* Return the address of the function, and of the description, of entry `index` of the table. The index is in range. */
static uint64_t table_function(const struct strobe_eh_frame *e, uint64_t index)
{
    int32_t word;
    memcpy(&word, e->bytes + e->table + index * TABLE_ENTRY_BYTES, sizeof word);
    return e->base + (uint64_t)(int64_t)word;
}

static uint64_t table_description(const struct strobe_eh_frame *e, uint64_t index)
{
    int32_t word;
    memcpy(&word, e->bytes + e->table + index * TABLE_ENTRY_BYTES + 4, sizeof word);
    return e->base + (uint64_t)(int64_t)word;
}

static bool table_entry(const struct strobe_eh_frame *e, uint64_t index, struct strobe_eh_entry *out)
{
    return index < e->count && read_entry(e, table_description(e, index) - e->address, out);
}

bool strobe_eh_find(const struct strobe_eh_frame *e, uint64_t pc, struct strobe_eh_entry *out)
{
    uint64_t low = 0, high = e->count;
    if (high == 0 || pc < table_function(e, 0))
        return false;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (table_function(e, middle) <= pc)
            low = middle;
        else
            high = middle;
    }
    return table_entry(e, low, out) && pc >= out->start && pc < out->end;
}

bool strobe_eh_frame_range(const struct strobe_eh_frame *e, uint64_t index, uint64_t *start, uint64_t *end)
{
    struct strobe_eh_entry entry;
    if (!table_entry(e, index, &entry))
        return false;
    *start = entry.start;
    *end = entry.end;
    return true;
}

uint64_t strobe_eh_frame_start(const void *bytes, uint64_t size, uint64_t header)
{
    struct strobe_eh_frame e = {.bytes = bytes, .size = size, .address = header, .base = header};
    struct strobe_eh_cursor c = {&e, 0, size, false};
    uint8_t version = (uint8_t)strobe_eh_fixed(&c, 1), encoding = (uint8_t)strobe_eh_fixed(&c, 1);
    strobe_eh_skip(&c, 2);
    uint64_t start = strobe_eh_address(&c, encoding);
    return version == 1 && !c.bad ? start : 0;
}

enum strobe_status strobe_eh_frame_open(const void *bytes, uint64_t size, uint64_t address, uint64_t header,
                                        struct strobe_eh_frame *out)
{
    *out = (struct strobe_eh_frame){.bytes = bytes, .size = size, .address = address, .base = header};
    uint64_t offset = header - address;
    struct strobe_eh_cursor c = {out, offset, size, offset > size};
    uint8_t version = (uint8_t)strobe_eh_fixed(&c, 1), start = (uint8_t)strobe_eh_fixed(&c, 1);
    uint8_t count = (uint8_t)strobe_eh_fixed(&c, 1), table = (uint8_t)strobe_eh_fixed(&c, 1);
    if (c.bad || version != 1)
        return STROBE_BAD_INPUT;
    if (start == PE_OMIT || count == PE_OMIT || table != PE_TABLE)
        return STROBE_UNSUPPORTED;
    strobe_eh_address(&c, start);
    uint64_t entries = strobe_eh_address(&c, count);
    if (c.bad || entries > (size - c.at) / TABLE_ENTRY_BYTES)
        return STROBE_BAD_INPUT;
    out->table = c.at;
    out->count = entries;
    return STROBE_OK;
}
