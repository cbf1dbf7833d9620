#include "engine/backend/linux/exidx.h"

#include <string.h>

/* ---- words ---- */

enum { WORD_BYTES = 4 };

static const uint32_t cannot_unwind = 1, top_bit = 0x80000000u;

/* Reads a little-endian word at an offset in the bytes. Returns false when the word is not aligned, or not inside. */
static bool read_table_word(const struct strobe_eh_frame *e, uint64_t offset, uint32_t *out)
{
    if (e->size < WORD_BYTES || offset > e->size - WORD_BYTES || (e->address + offset) % WORD_BYTES)
        return false;
    memcpy(out, e->bytes + offset, sizeof *out);
    return true;
}

/* Returns the address that a word at address `at` refers to: 31 bits, signed, relative to the word ("prel31").
 * Addresses have 32 bits. */
static uint64_t follow_reference(uint32_t word, uint64_t at)
{
    uint32_t offset = (word & ~top_bit) | (word << 1 & top_bit);
    return (uint32_t)(at + offset);
}

/* ---- the index table ---- */

enum strobe_status strobe_exidx_open(const void *bytes, uint64_t size, uint64_t address, uint64_t table,
                                     uint64_t table_bytes, struct strobe_eh_frame *out)
{
    uint64_t offset = table - address;
    *out = (struct strobe_eh_frame){.bytes = bytes,
                                    .size = size,
                                    .address = address,
                                    .table = offset,
                                    .base = address,
                                    .count = table_bytes / STROBE_EXIDX_ENTRY_BYTES};
    if (table < address || table % WORD_BYTES || offset > size || table_bytes > size - offset)
        return STROBE_BAD_INPUT;
    return STROBE_OK;
}

/* Return the offset, and the start of the function, of entry `index`. The index is in range. */
static uint64_t entry_offset(const struct strobe_eh_frame *e, uint64_t index)
{
    return e->table + index * STROBE_EXIDX_ENTRY_BYTES;
}

static uint64_t entry_start(const struct strobe_eh_frame *e, uint64_t index)
{
    uint64_t offset = entry_offset(e, index);
    uint32_t word;
    return read_table_word(e, offset, &word) ? follow_reference(word, e->address + offset) : UINT64_MAX;
}

/* Finds the last entry that starts at or below pc. */
static bool find_index_entry(const struct strobe_eh_frame *e, uint64_t pc, uint64_t *index)
{
    uint64_t low = 0, high = e->count;
    if (high == 0 || pc < entry_start(e, 0))
        return false;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (entry_start(e, middle) <= pc)
            low = middle;
        else
            high = middle;
    }
    *index = low;
    return true;
}

bool strobe_exidx_range(const struct strobe_eh_frame *e, uint64_t pc, uint64_t *start, uint64_t *end)
{
    uint64_t index;
    if (!find_index_entry(e, pc, &index))
        return false;
    *start = entry_start(e, index);
    *end = index + 1 < e->count ? entry_start(e, index + 1) : UINT32_MAX;
    return true;
}

uint64_t strobe_exidx_reference(const uint32_t entry[2], uint64_t at)
{
    bool refers = entry[1] != cannot_unwind && !(entry[1] & top_bit);
    return refers ? follow_reference(entry[1], at + WORD_BYTES) : 0;
}

/* ---- the bytes of instructions ---- */

/* The instructions of an entry: bytes of `word` from the highest down, then those of the `more` words at `offset`. A
 * read outside of the bytes sets `bad`. After the last byte the reader returns FINISH (section 10.3: trailing bytes are
 * implied). */
struct instructions {
    const struct strobe_eh_frame *table;
    uint64_t offset;
    uint32_t word, more;
    unsigned left; /* bytes of `word` */
    bool bad;
};

enum { FINISH = 0xb0 };

static bool is_at_end(const struct instructions *in)
{
    return in->bad || (in->left == 0 && in->more == 0);
}

static uint8_t next_byte(struct instructions *in)
{
    if (is_at_end(in))
        return FINISH;
    if (in->left == 0) {
        in->bad = !read_table_word(in->table, in->offset, &in->word);
        in->offset += WORD_BYTES;
        in->more--;
        in->left = WORD_BYTES;
    }
    if (in->bad)
        return FINISH;
    return (uint8_t)(in->word >> 8 * --in->left);
}

/* The operand of an instruction must be there. */
static uint8_t next_operand(struct instructions *in)
{
    in->bad |= is_at_end(in);
    return next_byte(in);
}

/* Opens an entry of the compact models 0 (three instructions) and 1 and 2 (a count of words, two instructions). */
static bool open_compact(uint32_t word, struct instructions *in)
{
    enum { MODEL_SHORT = 0x80, MODEL_LONG16 = 0x81, MODEL_LONG32 = 0x82 };
    unsigned model = word >> 24;
    in->word = word;
    in->left = model == MODEL_SHORT ? 3 : 2;
    in->more = model == MODEL_SHORT ? 0 : word >> 16 & 0xff;
    return model == MODEL_SHORT || model == MODEL_LONG16 || model == MODEL_LONG32;
}

/* Opens the entry in .ARM.extab at an offset in the bytes. */
static bool open_extab(const struct strobe_eh_frame *e, uint64_t offset, struct instructions *in)
{
    uint32_t word;
    if (!read_table_word(e, offset, &word))
        return false;
    in->offset = offset + WORD_BYTES;
    if (word & top_bit)
        return open_compact(word, in);
    if (!read_table_word(e, in->offset, &word)) /* the first word leads to the personality routine */
        return false;
    in->offset += WORD_BYTES;
    in->word = word;
    in->left = 3;
    in->more = word >> 24;
    return true;
}

static bool open_instructions(const struct strobe_eh_frame *e, uint64_t pc, struct instructions *in)
{
    uint64_t index;
    uint32_t entry[2];
    *in = (struct instructions){.table = e};
    if (!find_index_entry(e, pc, &index))
        return false;
    uint64_t offset = entry_offset(e, index);
    if (!read_table_word(e, offset, &entry[0]) || !read_table_word(e, offset + WORD_BYTES, &entry[1]))
        return false;
    if (entry[0] & top_bit || entry[1] == cannot_unwind)
        return false;
    if (entry[1] & top_bit)
        return entry[1] >> 24 == 0x80 && open_compact(entry[1], in);
    return open_extab(e, strobe_exidx_reference(entry, e->address + offset) - e->address, in);
}

/* ---- running the instructions ---- */

/* The virtual stack pointer is a register, or a word that a register leads to, and an offset. Each assignment of the
 * virtual stack pointer begins a new space: offsets of different spaces cannot be compared. */
struct space {
    uint8_t base; /* register */
    bool deref;   /* the space's origin is the word at base + at */
    int32_t at;
};

struct place {
    bool saved;
    uint8_t space;
    int32_t offset;
};

enum { SPACES = 4, ARM_REGISTERS = 16, ARM_IP = 12, ARM_PC = 15, OFFSET_MAX = 1 << 24 };

struct machine {
    struct space space[SPACES];
    unsigned current;
    int32_t offset; /* of the virtual stack pointer in the current space */
    struct place place[ARM_REGISTERS];
    bool refused; /* the instructions cannot be expressed as a rule, or refuse to unwind */
};

static void move_vsp(struct machine *m, int64_t bytes)
{
    int64_t to = m->offset + bytes;
    m->refused |= to > OFFSET_MAX || to < -OFFSET_MAX;
    m->offset = m->refused ? 0 : (int32_t)to;
}

static void begin_space(struct machine *m, struct space s)
{
    if (m->current + 1 == SPACES) {
        m->refused = true;
        return;
    }
    m->space[++m->current] = s;
    m->offset = 0;
}

static void set_vsp(struct machine *m, uint8_t reg)
{
    if (reg == STROBE_ARM_SP || reg == ARM_PC || m->place[reg].saved) /* reserved; or the caller's value */
        m->refused = true;
    else
        begin_space(m, (struct space){.base = reg});
}

/* Pops the registers of the mask: bit n is register n. A popped stack pointer takes effect after the others. */
static void pop_registers(struct machine *m, uint32_t mask)
{
    struct place sp = {0};
    for (unsigned reg = 0; reg < ARM_REGISTERS; reg++) {
        if (!(mask >> reg & 1))
            continue;
        m->place[reg] = (struct place){true, (uint8_t)m->current, m->offset};
        if (reg == STROBE_ARM_SP)
            sp = m->place[reg];
        move_vsp(m, WORD_BYTES);
    }
    if (!sp.saved)
        return;
    m->place[STROBE_ARM_SP].saved = false;
    m->refused |= m->space[sp.space].deref;
    begin_space(m, (struct space){m->space[sp.space].base, true, sp.offset});
}

static uint64_t read_uleb_operand(struct instructions *in)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = next_operand(in);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && shift < 35 && !in->bad);
    in->bad |= byte & 0x80;
    return value;
}

/* The bytes that `count` double registers take, by VPUSH or by FSTMFDX, which adds a word. */
static int64_t vfp_bytes(unsigned count, bool by_fstmfdx)
{
    return 8 * (int64_t)count + (by_fstmfdx ? WORD_BYTES : 0);
}

static unsigned low_count(uint8_t byte, unsigned mask)
{
    return (byte & mask) + 1;
}

static void run_1011(struct machine *m, struct instructions *in, uint8_t op)
{
    uint8_t operand;
    if (op >= 0xb8) { /* D8 .. D[8 + nnn] */
        move_vsp(m, vfp_bytes(low_count(op, 7), true));
        return;
    }
    switch (op) {
    case 0xb1: /* r0 to r3 */
        operand = next_operand(in);
        m->refused |= operand == 0 || operand > 0xf;
        pop_registers(m, operand & 0xf);
        break;
    case 0xb2: move_vsp(m, 0x204 + (int64_t)(read_uleb_operand(in) << 2)); break;
    case 0xb3: move_vsp(m, vfp_bytes(low_count(next_operand(in), 0xf), true)); break;
    default: m->refused = true; /* spare, or of processors without Android */
    }
}

/* Registers of coprocessors: they only move the virtual stack pointer. */
static void run_11(struct machine *m, struct instructions *in, uint8_t op)
{
    uint8_t operand;
    if (op >= 0xd8 || (op >= 0xca && op < 0xd0)) {
        m->refused = true;                /* spare */
    } else if (op >= 0xd0 || op < 0xc6) { /* D8 .. D[8 + nnn], wR10 .. wR[10 + nnn] */
        move_vsp(m, vfp_bytes(low_count(op, 7), false));
    } else if (op == 0xc7) { /* wCGR0 to wCGR3 */
        operand = next_operand(in);
        m->refused |= operand == 0 || operand > 0xf;
        move_vsp(m, (int64_t)WORD_BYTES * __builtin_popcount(operand & 0xf));
    } else {
        move_vsp(m, vfp_bytes(low_count(next_operand(in), 0xf), false));
    }
}

static void run_instruction(struct machine *m, struct instructions *in, uint8_t op)
{
    uint32_t mask;
    switch (op >> 4) {
    case 0x0:
    case 0x1:
    case 0x2:
    case 0x3: move_vsp(m, ((op & 0x3f) << 2) + 4); break;
    case 0x4:
    case 0x5:
    case 0x6:
    case 0x7: move_vsp(m, -((op & 0x3f) << 2) - 4); break;
    case 0x8:
        mask = (uint32_t)(op & 0xf) << 8 | next_operand(in);
        m->refused |= mask == 0; /* refuse to unwind */
        pop_registers(m, mask << STROBE_ARM_R4);
        break;
    case 0x9: set_vsp(m, op & 0xf); break;
    case 0xa: /* r4 .. r[4 + nnn], and the link register */
        mask = ((1u << low_count(op, 7)) - 1) << STROBE_ARM_R4;
        pop_registers(m, mask | (op & 8 ? 1u << STROBE_ARM_LR : 0));
        break;
    case 0xb: run_1011(m, in, op); break;
    default: run_11(m, in, op);
    }
}

/* ---- the rule ---- */

struct rule_place {
    uint8_t saved;
    int16_t words;
};

/* Expresses where a register is saved. The canonical frame address is the virtual stack pointer at the end. */
static struct rule_place express_place(const struct machine *m, unsigned reg)
{
    const struct place *p = &m->place[reg];
    const struct space *s = &m->space[p->space];
    struct rule_place out = {STROBE_SAVED_LOST, 0};
    int32_t offset = p->offset;
    if (!p->saved)
        return (struct rule_place){STROBE_SAVED_SAME, 0};
    if (p->space == m->current) {
        out.saved = STROBE_SAVED_AT_CFA;
        offset -= m->offset;
    } else if (!s->deref && s->base == STROBE_ARM_SP) {
        out.saved = STROBE_SAVED_AT_SP;
    } else if (!s->deref && s->base == STROBE_ARM_R11) {
        out.saved = STROBE_SAVED_AT_FP;
    }
    int32_t words = offset / WORD_BYTES; /* all offsets are multiples of words */
    if (out.saved == STROBE_SAVED_LOST || words < INT16_MIN || words > INT16_MAX)
        return (struct rule_place){STROBE_SAVED_LOST, 0};
    out.words = (int16_t)words;
    return out;
}

/* The frame of a signal handler's return has all registers, also those that calls do not preserve. */
static struct strobe_unwind_rule express_rule(const struct machine *m)
{
    const struct space *s = &m->space[m->current];
    struct rule_place fp = express_place(m, STROBE_ARM_R11), bx = express_place(m, STROBE_ARM_R7);
    struct rule_place ra = express_place(m, m->place[ARM_PC].saved ? ARM_PC : STROBE_ARM_LR);
    bool is_signal_frame = s->deref && m->place[0].saved && m->place[ARM_IP].saved && m->place[ARM_PC].saved;
    bool fits = !s->deref || (m->offset >= INT16_MIN && m->offset <= INT16_MAX);
    if (!fits || ra.saved == STROBE_SAVED_LOST)
        return (struct strobe_unwind_rule){0};
    return (struct strobe_unwind_rule){
        .kind = s->deref ? STROBE_UNWIND_DEREF : STROBE_UNWIND_FRAME,
        .base = s->base,
        .cfa = s->deref ? s->at : m->offset,
        .more = (int16_t)(s->deref ? m->offset : 0),
        .fp = fp.saved & 15,
        .fp_at = fp.words,
        .ra = ra.saved & 15,
        .ra_at = ra.words,
        .bx = bx.saved & 15,
        .bx_at = bx.words,
        .flags = is_signal_frame ? STROBE_UNWIND_SIGNAL : 0,
    };
}

struct strobe_unwind_rule strobe_exidx_rule(const struct strobe_eh_frame *e, uint64_t pc)
{
    struct instructions in;
    struct machine m = {.space[0] = {.base = STROBE_ARM_SP}};
    uint8_t op;
    if (!open_instructions(e, pc, &in))
        return (struct strobe_unwind_rule){0};
    while (!m.refused && (op = next_byte(&in)) != FINISH)
        run_instruction(&m, &in, op);
    return m.refused || in.bad ? (struct strobe_unwind_rule){0} : express_rule(&m);
}

bool strobe_exidx_covers(const struct strobe_eh_frame *e, uint64_t pc)
{
    uint64_t index;
    uint32_t word;
    return find_index_entry(e, pc, &index) && read_table_word(e, entry_offset(e, index) + WORD_BYTES, &word) &&
           word != cannot_unwind;
}

/* Returns whether r11 leads to a frame record: the caller's r11, and above it the return address. */
static bool keeps_record(const struct strobe_unwind_rule *r)
{
    return r->kind == STROBE_UNWIND_FRAME && r->base == STROBE_ARM_R11 && r->fp == STROBE_SAVED_AT_CFA &&
           r->ra == STROBE_SAVED_AT_CFA && r->cfa + r->fp_at * WORD_BYTES == 0 && r->ra_at == r->fp_at + 1;
}

enum { EXAMINED = 32, EXAMINED_LEAST = 8, EXAMINED_BYTES = 48 }; /* shorter functions may have no frame in any case */

bool strobe_exidx_keeps_fp(const struct strobe_eh_frame *e)
{
    unsigned examined = 0, keep = 0;
    for (uint64_t i = 0; i < EXAMINED && e->count; i++) {
        uint64_t start = entry_start(e, e->count * i / EXAMINED), end;
        if (!strobe_exidx_range(e, start, &start, &end) || end - start < EXAMINED_BYTES ||
            !strobe_exidx_covers(e, start))
            continue;
        struct strobe_unwind_rule rule = strobe_exidx_rule(e, start);
        examined++;
        keep += keeps_record(&rule);
    }
    return examined >= EXAMINED_LEAST && keep * 4 >= examined * 3;
}
