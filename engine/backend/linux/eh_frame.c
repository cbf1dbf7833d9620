#include "engine/backend/linux/eh_entry.h"

#include <string.h>

/* ---- expressions ---- */

enum { OP_DEREF = 0x06, OP_PLUS_UCONST = 0x23, OP_BREG0 = 0x70, OP_BREG31 = 0x8f };

/* A register and an offset: DW_OP_bregN. */
static bool read_breg(struct strobe_eh_cursor *c, uint64_t *reg, int64_t *offset)
{
    uint64_t op = strobe_eh_fixed(c, 1);
    if (op < OP_BREG0 || op > OP_BREG31)
        return false;
    *reg = op - OP_BREG0;
    *offset = strobe_eh_sleb(c);
    return !c->bad;
}

static bool fits_int32(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

/* Returns whether the expression is the one that linkers use for lazy linkage stubs: sp + 8 + ((pc & 15) >= N) * 8. */
static bool matches_plt(struct strobe_eh_cursor c, int16_t *threshold)
{
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, tail[] = {0x2a, 0x33, 0x24, 0x22};
    const uint8_t *at = c.image->bytes + c.at;
    if (STROBE_EH_SP != 7 || c.end - c.at != sizeof head + 1 + sizeof tail || memcmp(at, head, sizeof head) ||
        memcmp(at + sizeof head + 1, tail, sizeof tail))
        return false;
    int literal = at[sizeof head] - 0x30;
    *threshold = (int16_t)literal;
    return literal >= 0 && literal < 32;
}

static void set_cfa_expression(struct strobe_unwind_rule *row, struct strobe_eh_cursor c)
{
    uint64_t reg, add = 0;
    int64_t offset;
    row->kind = STROBE_UNWIND_NONE;
    if (matches_plt(c, &row->more)) {
        row->kind = STROBE_UNWIND_PLT;
        row->base = STROBE_EH_SP;
        row->cfa = 8;
        return;
    }
    if (!read_breg(&c, &reg, &offset) || !fits_int32(offset))
        return;
    uint8_t kind = STROBE_UNWIND_FRAME;
    if (c.at < c.end) {
        if (strobe_eh_fixed(&c, 1) != OP_DEREF)
            return;
        kind = STROBE_UNWIND_DEREF;
    }
    if (c.at < c.end) {
        if (strobe_eh_fixed(&c, 1) != OP_PLUS_UCONST)
            return;
        add = strobe_eh_uleb(&c);
    }
    if (c.bad || c.at < c.end || add > INT16_MAX)
        return;
    row->kind = kind;
    row->base = (uint8_t)reg;
    row->cfa = (int32_t)offset;
    row->more = (int16_t)add;
}

/* ---- rows ---- */

struct place {
    unsigned saved;
    int16_t at;
};

static struct place place_at(unsigned saved, int64_t offset)
{
    int64_t words = offset / 8;
    if (offset % 8 || words < INT16_MIN || words > INT16_MAX)
        return (struct place){STROBE_SAVED_LOST, 0};
    return (struct place){saved, (int16_t)words};
}

static struct place place_by_expression(struct strobe_eh_cursor c)
{
    uint64_t reg;
    int64_t offset;
    if (!read_breg(&c, &reg, &offset) || c.at < c.end)
        return (struct place){STROBE_SAVED_LOST, 0};
    if (reg == STROBE_EH_FP)
        return place_at(STROBE_SAVED_AT_FP, offset);
    if (reg == STROBE_EH_SP)
        return place_at(STROBE_SAVED_AT_SP, offset);
    return (struct place){STROBE_SAVED_LOST, 0};
}

static void set_place(struct strobe_unwind_rule *row, uint64_t reg, struct place p)
{
    if (reg == STROBE_EH_FP) {
        row->fp = p.saved & 15;
        row->fp_at = p.at;
    } else if (reg == STROBE_EH_RA) {
        row->ra = p.saved & 15;
        row->ra_at = p.at;
    } else if (reg == STROBE_EH_BX) {
        row->bx = p.saved & 15;
        row->bx_at = p.at;
    }
}

static void set_cfa(struct strobe_unwind_rule *row, uint64_t reg, int64_t offset)
{
    row->kind = reg < 32 && fits_int32(offset) ? STROBE_UNWIND_FRAME : STROBE_UNWIND_NONE;
    row->base = (uint8_t)reg;
    row->cfa = (int32_t)offset;
    row->more = 0;
}

/* Changes the offset only. After an expression there is no offset to change. */
static void set_cfa_offset(struct strobe_unwind_rule *row, int64_t offset)
{
    if (row->kind == STROBE_UNWIND_FRAME)
        set_cfa(row, row->base, offset);
    else
        row->kind = STROBE_UNWIND_NONE;
}

static void set_cfa_register(struct strobe_unwind_rule *row, uint64_t reg)
{
    if (row->kind == STROBE_UNWIND_FRAME)
        set_cfa(row, reg, row->cfa);
    else
        row->kind = STROBE_UNWIND_NONE;
}

/* Returns the block of an expression, and moves past it. */
static struct strobe_eh_cursor take_block(struct strobe_eh_cursor *c)
{
    uint64_t bytes = strobe_eh_uleb(c);
    struct strobe_eh_cursor block = *c;
    strobe_eh_skip(c, bytes);
    block.end = c->bad ? block.at : block.at + bytes;
    return block;
}

/* The state of a program of call frame instructions. */
enum { REMEMBERED_MAX = 6 };
struct machine {
    const struct strobe_eh_common *common;
    struct strobe_unwind_rule row, initial;
    struct strobe_unwind_rule remembered[REMEMBERED_MAX];
    unsigned depth;
    uint64_t location;
};

/* Call frame instructions: DW_CFA_* of DWARF 5, section 7.24, and of the vendors. */
enum {
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_OPERAND = 0x3f,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF = 0x0c,
    CFA_DEF_REGISTER = 0x0d,
    CFA_DEF_OFFSET = 0x0e,
    CFA_DEF_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_SF = 0x11,
    CFA_DEF_SF = 0x12,
    CFA_DEF_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_NEGATE_RA_STATE = 0x2d,
    CFA_ARGS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET = 0x2f,
};

static void restore_place(struct machine *m, uint64_t reg)
{
    const struct strobe_unwind_rule *i = &m->initial;
    if (reg == STROBE_EH_FP)
        set_place(&m->row, reg, (struct place){i->fp, i->fp_at});
    else if (reg == STROBE_EH_RA)
        set_place(&m->row, reg, (struct place){i->ra, i->ra_at});
    else
        set_place(&m->row, reg, (struct place){i->bx, i->bx_at});
}

static void remember_row(struct machine *m, struct strobe_eh_cursor *c)
{
    if (m->depth == REMEMBERED_MAX)
        c->bad = true;
    else
        m->remembered[m->depth++] = m->row;
}

static void recall_row(struct machine *m, struct strobe_eh_cursor *c)
{
    if (m->depth == 0)
        c->bad = true;
    else
        m->row = m->remembered[--m->depth];
}

/* For an instruction that gives the register's value and not a place: the register is lost. */
static void lose_place(struct machine *m, uint64_t reg)
{
    set_place(&m->row, reg, (struct place){STROBE_SAVED_LOST, 0});
}

static void set_register_place(struct machine *m, struct strobe_eh_cursor *c, uint8_t op)
{
    const int64_t align = m->common->data_align;
    struct strobe_unwind_rule *row = &m->row;
    uint64_t reg = strobe_eh_uleb(c);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_place(row, reg, place_at(STROBE_SAVED_AT_CFA, (int64_t)(strobe_eh_uleb(c) * (uint64_t)align)));
        break;
    case CFA_OFFSET_SF:
        set_place(row, reg, place_at(STROBE_SAVED_AT_CFA, (int64_t)(strobe_eh_leb(c, true) * (uint64_t)align)));
        break;
    case CFA_NEGATIVE_OFFSET:
        set_place(row, reg, place_at(STROBE_SAVED_AT_CFA, (int64_t) - (strobe_eh_uleb(c) * (uint64_t)align)));
        break;
    case CFA_RESTORE_EXTENDED: restore_place(m, reg); break;
    case CFA_UNDEFINED: set_place(row, reg, (struct place){STROBE_SAVED_UNDEFINED, 0}); break;
    case CFA_SAME_VALUE: set_place(row, reg, (struct place){STROBE_SAVED_SAME, 0}); break;
    case CFA_EXPRESSION: set_place(row, reg, place_by_expression(take_block(c))); break;
    case CFA_VAL_EXPRESSION:
        take_block(c);
        lose_place(m, reg);
        break;
    default: /* CFA_REGISTER, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF: one operand more */
        strobe_eh_uleb(c);
        lose_place(m, reg);
    }
}

/* Runs an instruction whose operands follow it. */
static void run_extended(struct machine *m, struct strobe_eh_cursor *c, uint8_t op)
{
    struct strobe_unwind_rule *row = &m->row;
    const uint64_t code_align = m->common->code_align, data_align = (uint64_t)m->common->data_align;
    uint64_t reg;
    switch (op) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE: break;
    case CFA_SET_LOC: m->location = strobe_eh_address(c, m->common->pointers); break;
    case CFA_ADVANCE1: m->location += strobe_eh_fixed(c, 1) * code_align; break;
    case CFA_ADVANCE2: m->location += strobe_eh_fixed(c, 2) * code_align; break;
    case CFA_ADVANCE4: m->location += strobe_eh_fixed(c, 4) * code_align; break;
    case CFA_REMEMBER: remember_row(m, c); break;
    case CFA_RESTORE_STATE: recall_row(m, c); break;
    case CFA_DEF:
        reg = strobe_eh_uleb(c);
        set_cfa(row, reg, (int64_t)strobe_eh_uleb(c));
        break;
    case CFA_DEF_SF:
        reg = strobe_eh_uleb(c);
        set_cfa(row, reg, (int64_t)(strobe_eh_leb(c, true) * data_align));
        break;
    case CFA_DEF_REGISTER: set_cfa_register(row, strobe_eh_uleb(c)); break;
    case CFA_DEF_OFFSET: set_cfa_offset(row, (int64_t)strobe_eh_uleb(c)); break;
    case CFA_DEF_OFFSET_SF: set_cfa_offset(row, (int64_t)(strobe_eh_leb(c, true) * data_align)); break;
    case CFA_DEF_EXPRESSION: set_cfa_expression(row, take_block(c)); break;
    case CFA_ARGS_SIZE: strobe_eh_uleb(c); break;
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_SF:
    case CFA_NEGATIVE_OFFSET:
    case CFA_RESTORE_EXTENDED:
    case CFA_UNDEFINED:
    case CFA_SAME_VALUE:
    case CFA_REGISTER:
    case CFA_EXPRESSION:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
    case CFA_VAL_EXPRESSION: set_register_place(m, c, op); break;
    default: c->bad = true;
    }
}

/* Runs the program to its end, or to a row that begins after pc. */
static bool run_program(struct machine *m, struct strobe_eh_cursor c, uint64_t pc)
{
    while (c.at < c.end && !c.bad) {
        uint8_t op = (uint8_t)strobe_eh_fixed(&c, 1), operand = op & CFA_OPERAND;
        struct strobe_unwind_rule before = m->row;
        switch (op & ~CFA_OPERAND) {
        case CFA_ADVANCE: m->location += operand * m->common->code_align; break;
        case CFA_OFFSET:
            set_place(&m->row, operand,
                      place_at(STROBE_SAVED_AT_CFA, (int64_t)(strobe_eh_uleb(&c) * (uint64_t)m->common->data_align)));
            break;
        case CFA_RESTORE: restore_place(m, operand); break;
        default: run_extended(m, &c, op);
        }
        if (m->location > pc) {
            m->row = before;
            break;
        }
    }
    return !c.bad;
}

/* ---- the rule ---- */

#ifdef __aarch64__
/* The kernel's frame of a signal holds a frame record that leads to the caller of the interrupted function. The
 * registers of the interrupted function itself are in the machine context. The frame is struct rt_sigframe { siginfo
 * (128 bytes), ucontext }, and uc_mcontext.regs[29] is 416 bytes after the start of the ucontext. */
static const struct strobe_unwind_rule signal_rule = {
    .kind = STROBE_UNWIND_DEREF,
    .base = STROBE_EH_SP,
    .cfa = 560,
    .fp = STROBE_SAVED_AT_SP,
    .fp_at = 68,
    .ra = STROBE_SAVED_AT_SP,
    .ra_at = 71,
    .flags = STROBE_UNWIND_SIGNAL,
};
#endif

static void finish_rule(struct strobe_unwind_rule *row, bool is_signal_frame)
{
    if (row->ra == STROBE_SAVED_UNDEFINED)
        *row = (struct strobe_unwind_rule){.kind = STROBE_UNWIND_END};
    else if (row->ra == STROBE_SAVED_LOST)
        *row = (struct strobe_unwind_rule){0};
    else if (row->kind != STROBE_UNWIND_NONE && is_signal_frame)
#ifdef __aarch64__
        *row = signal_rule;
#else
        row->flags = STROBE_UNWIND_SIGNAL;
#endif
    if (row->kind == STROBE_UNWIND_NONE)
        *row = (struct strobe_unwind_rule){0};
}

struct strobe_unwind_rule strobe_eh_frame_rule(const struct strobe_eh_frame *e, uint64_t pc)
{
    struct strobe_eh_entry entry;
    struct machine m;
    if (!strobe_eh_find(e, pc, &entry))
        return (struct strobe_unwind_rule){0};
    m.common = &entry.common;
    m.row = (struct strobe_unwind_rule){0};
    m.initial = m.row;
    m.depth = 0;
    m.location = entry.start;
    if (!run_program(&m, entry.common.program, pc))
        return (struct strobe_unwind_rule){0};
    m.initial = m.row;
    if (!run_program(&m, entry.program, pc))
        return (struct strobe_unwind_rule){0};
    finish_rule(&m.row, entry.common.is_signal_frame);
    return m.row;
}

bool strobe_eh_frame_covers(const struct strobe_eh_frame *e, uint64_t pc)
{
    struct strobe_eh_entry entry;
    return strobe_eh_find(e, pc, &entry);
}

enum { EXAMINED = 32, EXAMINED_LEAST = 8, EXAMINED_BYTES = 48 }; /* shorter functions may have no frame in any case */

bool strobe_eh_frame_keeps_fp(const struct strobe_eh_frame *e)
{
    unsigned examined = 0, keep = 0;
    uint64_t start, end;
    for (uint64_t i = 0; i < EXAMINED; i++) {
        if (!strobe_eh_frame_range(e, e->count * i / EXAMINED, &start, &end) || end - start < EXAMINED_BYTES)
            continue;
        struct strobe_unwind_rule rule = strobe_eh_frame_rule(e, start + (end - start) / 2);
        examined++;
        keep += rule.kind == STROBE_UNWIND_FRAME && rule.base == STROBE_EH_FP;
    }
    return examined >= EXAMINED_LEAST && keep * 4 >= examined * 3;
}
