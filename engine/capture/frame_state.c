#include "engine/capture/frame_state.h"

#include <string.h>

enum { FP = 29, LR = 30, SP = 31 }; /* numbers of registers */
enum {
    PATHS_MAX = 32,
    BEFORE_MAX = 24,    /* maximum of instructions examined before pc */
    PAST_CALL_MAX = 64, /* maximum of instructions after the first call */
    CODE_WORDS = 32,
};

/* ---- code */

/* The code words read last. */
struct code {
    const struct strobe_host *host;
    uint64_t at;
    uint32_t words;
    uint32_t word[CODE_WORDS];
};

static bool fetch_a64_word(struct code *c, uint64_t pc, uint32_t *word)
{
    if (pc < c->at || (pc - c->at) / 4 >= c->words) {
        size_t copied;
        c->words = 0;
        c->at = pc & ~(uint64_t)(sizeof c->word / 2 - 1);
        if (c->host->read(c->host->ctx, c->at, c->word, sizeof c->word, &copied) != STROBE_OK ||
            copied < pc - c->at + 4) {
            c->at = pc;
            if (c->host->read(c->host->ctx, c->at, c->word, sizeof c->word, &copied) != STROBE_OK || copied < 4)
                return false;
        }
        c->words = (uint32_t)(copied / 4);
    }
    *word = c->word[(pc - c->at) / 4];
    return true;
}

/* ---- instructions */

static int64_t signed_field(uint32_t w, int low, int bits)
{
    return (int64_t)((uint64_t)w << (64 - low - bits)) >> (64 - bits);
}

/* Instructions that load or store two registers. pair_moves says whether they move the base register, pair_offset by
 * how much. */
static bool is_pair(uint32_t w)
{
    return (w & 0x3a000000) == 0x28000000;
}

static int64_t pair_offset(uint32_t w)
{
    uint32_t size = w & 0x04000000 ? 4u << (w >> 30) : w >> 31 ? 8 : 4;
    return signed_field(w, 15, 7) * (int64_t)size;
}

enum { NOT_MOVED, MOVED_AFTER = 1, MOVED_BEFORE = 3 };

static uint32_t pair_moves(uint32_t w)
{
    uint32_t how = w >> 23 & 3;
    return how & 1 ? how : NOT_MOVED;
}

/* Loads and stores of one register that move the base register. */
static bool is_moving_single(uint32_t w)
{
    return (w & 0x3b200400) == 0x38000400;
}

static uint32_t a64_base_register(uint32_t w)
{
    return w >> 5 & 31;
}

/* stp or ldp of 64-bit registers based on sp. One register is x30, the other is callee-saved or x29. */
static bool is_link_pair(uint32_t w, bool load)
{
    uint32_t a = w & 31, b = w >> 10 & 31, other = a == LR ? b : a;
    return (w & 0xfe4003e0) == (load ? 0xa84003e0u : 0xa80003e0u) && (w >> 23 & 3) && (a == LR || b == LR) &&
           other >= 19 && other <= FP;
}

static bool is_record_pair(uint32_t w, bool load)
{
    return is_link_pair(w, load) && (w & 31) == FP;
}

static bool sets_fp(uint32_t w) /* add x29, sp, #.. and mov x29, sp */
{
    return (w & 0xff8003ff) == 0x910003fd;
}

/* A load or store based on x29, or an address computed from it. No function does that with its caller's x29. */
static bool uses_fp(uint32_t w)
{
    bool memory = (w & 0x0a000000) == 0x08000000 && (w & 0x3b000000) != 0x18000000;
    bool sum = (w & 0x9f800000) == 0x91000000;
    return (memory || sum) && a64_base_register(w) == FP;
}

static bool signs_link(uint32_t w) /* paciaz .. autibsp: hint 24 to 31 */
{
    return (w & 0xffffff1f) == 0xd503231f;
}

static bool is_direct_call(uint32_t w) /* bl */
{
    return (w & 0xfc000000) == 0x94000000;
}

static bool is_a64_call(uint32_t w) /* bl, blr, blraa and the like */
{
    return is_direct_call(w) || (w & 0xfefff000) == 0xd63f0000;
}

static bool is_jump(uint32_t w) /* b */
{
    return (w & 0xfc000000) == 0x14000000;
}

static bool is_register_jump(uint32_t w) /* br, braa and the like */
{
    return (w & 0xfefff000) == 0xd61f0000;
}

static bool is_return(uint32_t w) /* ret xN, retaa, retab */
{
    return (w & 0xfffffc1f) == 0xd65f0000 || (w & 0xfffffbff) == 0xd65f0bff;
}

static uint32_t returns_by(uint32_t w)
{
    return w & 0x800 ? LR : a64_base_register(w);
}

static bool ends_path(uint32_t w) /* udf, brk, hlt */
{
    return !(w & 0xffff0000) || (w & 0xffe0001f) == 0xd4200000 || (w & 0xffe0001f) == 0xd4400000;
}

/* b.cond, cbz, cbnz, tbz, tbnz */
static bool is_conditional_branch(uint32_t w, int64_t *distance)
{
    bool tests = (w & 0x7e000000) == 0x36000000;
    *distance = 4 * (tests ? signed_field(w, 5, 14) : signed_field(w, 5, 19));
    return tests || (w & 0x7e000000) == 0x34000000 || (w & 0xff000000) == 0x54000000;
}

static bool is_register_copy(uint32_t w, uint32_t *to, uint32_t *from) /* mov xA, xB */
{
    *to = w & 31;
    *from = w >> 16 & 31;
    return (w & 0xffe0ffe0) == 0xaa0003e0;
}

/* add xA, xB, xC: computes the target of a jump by a table */
static bool adds_registers(uint32_t w)
{
    return (w & 0xff200000) == 0x8b000000 || (w & 0xffe00000) == 0x8b200000;
}

/* ldr x30, [sp, #..] and ldr x30, [sp], #..; ldp of x30 and another register. *offset: from sp before the
 * instruction. */
static bool loads_link(uint32_t w, int64_t *offset)
{
    if ((w & 0xffc003ff) == 0xf94003fe) {
        *offset = (int64_t)(w >> 10 & 0xfff) * 8;
        return true;
    }
    if ((w & 0xffe00fff) == 0xf84007fe) {
        *offset = 0;
        return true;
    }
    if (!is_link_pair(w, true))
        return false;
    *offset = (pair_moves(w) == MOVED_AFTER ? 0 : pair_offset(w)) + ((w & 31) == LR ? 0 : 8);
    return true;
}

/* str x30, [sp, #-..]!, the same of a pair, and any stp x29, x30. No compiler uses these for data. */
static bool pushes_link(uint32_t w)
{
    return (w & 0xfff00fff) == 0xf8100ffe || is_record_pair(w, false) ||
           (is_link_pair(w, false) && pair_moves(w) == MOVED_BEFORE);
}

/* ---- code paths */

struct code_path {
    uint64_t pc;
    uint64_t sp;        /* 0: unknown */
    uint64_t saved;     /* address from which x30 was loaded on this path */
    uint32_t tables;    /* registers that are sums of two registers: possibly targets from a table */
    uint32_t locals;    /* registers that were loaded from the stack */
    uint32_t reg, lent; /* register with the return address, when `link`; register that holds x30 during a call */
    bool link;          /* the return address is in a register */
    bool loaded;        /* x30 has been loaded on this path */
    bool kept;          /* the path has made a call: the function has a record unless something else is found */
    bool uses_fp;       /* the path uses x29 as a base */
};

struct search {
    struct code code;
    const struct strobe_frame_query *query;
    struct strobe_frame_answer *answer;
    struct code_path to_do[PATHS_MAX];
    uint64_t seen[PATHS_MAX];
    uint32_t to_do_count, seen_count, steps, limit;
    bool kept;           /* a path has met a call */
    uint64_t after_call; /* begin of the straight line of code that leads to pc, when a call precedes it */
};

static void add_code_path(struct search *s, const struct code_path *from, uint64_t pc)
{
    for (uint32_t i = 0; i < s->seen_count; i++)
        if (s->seen[i] == pc)
            return;
    if (s->seen_count == PATHS_MAX)
        return;
    s->seen[s->seen_count++] = pc;
    s->to_do[s->to_do_count] = *from;
    s->to_do[s->to_do_count++].pc = pc;
}

/* Applies an instruction to the stack pointer. */
static void follow_sp(const struct search *s, struct code_path *w, uint32_t i)
{
    uint64_t imm = (uint64_t)(i >> 10 & 0xfff) << (i & 0x400000 ? 12 : 0);
    if ((i & 0xbf80001f) == 0x9100001f) { /* add or sub sp, xN, #.. */
        uint64_t base = a64_base_register(i) == SP ? w->sp : a64_base_register(i) == FP ? s->query->fp : 0;
        w->sp = !base ? 0 : i & 0x40000000 ? base - imm : base + imm;
    } else if ((i & 0xbfe0001f) == 0x8b20001f || (i & 0xff80001f) == 0x9200001f) {
        w->sp = 0; /* add or sub sp, xN, xM; and sp, xN, #.. */
    } else if (w->sp && a64_base_register(i) == SP) {
        if (is_pair(i) && pair_moves(i))
            w->sp += (uint64_t)pair_offset(i);
        else if (is_moving_single(i))
            w->sp += (uint64_t)signed_field(i, 12, 9);
    }
}

static enum strobe_frame_state in_register(struct search *s, uint32_t reg, uint64_t sp_after)
{
    s->answer->reg = reg;
    s->answer->sp_after = sp_after;
    return STROBE_FRAME_NONE;
}

static enum strobe_frame_state in_slot(struct search *s, uint64_t slot, uint64_t sp_after)
{
    s->answer->slot = slot;
    s->answer->sp_after = sp_after;
    return slot ? STROBE_FRAME_SAVED : STROBE_FRAME_UNKNOWN;
}

/* Decides by the link register, which the instruction uses as at the function's begin. It still holds the return
 * address unless the path says otherwise. */
static enum strobe_frame_state by_link(struct search *s, const struct code_path *w, uint64_t sp_after)
{
    if (w->loaded)
        return in_slot(s, w->saved, sp_after);
    return w->link ? in_register(s, w->reg, sp_after) : w->kept ? STROBE_FRAME_KEPT : STROBE_FRAME_UNKNOWN;
}

/* Decides at an instruction that sets x29 to a record that has been pushed. */
static enum strobe_frame_state by_fp(struct search *s, const struct code_path *w, uint32_t i)
{
    uint64_t slot = w->sp ? w->sp + (i >> 10 & 0xfff) + sizeof(uint64_t) : 0;
    if (!w->link)
        return w->kept ? STROBE_FRAME_KEPT : in_slot(s, slot, 0);
    if (s->query->lr == s->after_call)
        return in_slot(s, slot, 0);
    s->answer->slot = slot;
    return in_register(s, LR, 0);
}

/* Returns true when the record is pushed, but x29 is set only after this call, or in the called code (outlined
 * code). */
static bool fp_comes_late(struct search *s, uint64_t pc)
{
    for (uint32_t n = 0, jumps = 0; n < BEFORE_MAX; n++, pc += 4) {
        uint32_t i;
        int64_t distance;
        if (!fetch_a64_word(&s->code, pc, &i) || pushes_link(i) || is_return(i) || is_register_jump(i) ||
            ends_path(i) || is_conditional_branch(i, &distance) || (is_jump(i) && jumps++))
            return false;
        if (sets_fp(i))
            return true;
        if (is_jump(i))
            pc += (uint64_t)(4 * signed_field(i, 0, 26)) - 4;
    }
    return false;
}

/* A call destroys x30. Returns true when that decides. Otherwise the path goes on after it, to where x30 is
 * restored. */
static bool call_decides(struct search *s, struct code_path *w, uint32_t i, enum strobe_frame_state *state)
{
    uint32_t next, to, from;
    int64_t offset;
    bool direct = is_direct_call(i);
    *state = STROBE_FRAME_KEPT;
    if (!fetch_a64_word(&s->code, w->pc + 4, &next))
        return true;
    if (is_register_copy(next, &to, &from) && to == LR && from < FP) {
        w->reg = w->link && w->lent == from ? w->reg : from;
        w->link = true;
        w->pc += 4;
        return false;
    }
    if (!is_pair(next) && loads_link(next, &offset) && offset == 0) {
        *state = in_slot(s, w->sp, 0);
        return true;
    }
    if (w->link && direct &&
        (fp_comes_late(s, w->pc + (uint64_t)(4 * signed_field(i, 0, 26))) || fp_comes_late(s, w->pc + 4))) {
        *state = s->query->lr == s->after_call ? STROBE_FRAME_UNKNOWN : in_register(s, LR, 0);
        return true;
    }
    if (!w->kept && s->limit > s->steps + PAST_CALL_MAX)
        s->limit = s->steps + PAST_CALL_MAX;
    s->kept = w->kept = true;
    w->link = w->loaded = false;
    return false;
}

/* Handles instructions that concern the record or the link register, except jumps. Returns true when the instruction
 * decides. */
static bool instruction_decides(struct search *s, struct code_path *w, uint32_t i, enum strobe_frame_state *state)
{
    uint32_t to, from, next;
    int64_t offset;
    if (sets_fp(i)) {
        *state = by_fp(s, w, i);
        return true;
    }
    if (pushes_link(i) || signs_link(i)) {
        *state = by_link(s, w, 0);
        return true;
    }
    if (is_a64_call(i))
        return call_decides(s, w, i, state);
    if (is_return(i)) {
        uint32_t reg = returns_by(i);
        *state = reg == LR ? by_link(s, w, w->sp) : in_register(s, reg, w->sp);
        return true;
    }
    if (is_record_pair(i, true)) {
        loads_link(i, &offset);
        uint64_t slot = w->sp ? w->sp + (uint64_t)offset : 0;
        *state = !slot || slot == s->query->fp + 8 ? STROBE_FRAME_KEPT : in_slot(s, slot, 0);
        return true;
    }
    if (is_register_copy(i, &to, &from) && from == LR)
        w->lent = to;
    if (is_register_copy(i, &to, &from) && to == LR && from < FP && fetch_a64_word(&s->code, w->pc - 4, &next) &&
        is_a64_call(next)) {
        w->reg = from;
        w->link = true;
    }
    if (loads_link(i, &offset)) {
        w->loaded = true;
        w->saved = w->sp ? w->sp + (uint64_t)offset : 0;
    }
    w->uses_fp |= uses_fp(i);
    return false;
}

/* Tracks registers that may be jump targets: sums from tables, loads from the stack. */
static void follow_targets(struct code_path *w, uint32_t i)
{
    uint32_t bit = 1u << (i & 31);
    bool load = (i & 0x3f000000) == 0x39000000 || (i & 0x3f000000) == 0x38000000;
    if (!load && (i & 0x1c000000) != 0x10000000 && (i & 0x0e000000) != 0x0a000000)
        return;
    w->tables = adds_registers(i) ? w->tables | bit : w->tables & ~bit;
    w->locals = load && a64_base_register(i) == SP ? w->locals | bit : w->locals & ~bit;
}

/* Handles a jump through a register. Returns true when it decides. *on: the path goes on after it; otherwise it
 * ends. */
static bool jump_decides(struct search *s, struct code_path *w, uint32_t i, enum strobe_frame_state *state, bool *on)
{
    uint32_t reg = a64_base_register(i), bit = 1u << reg;
    *on = w->tables & bit || !(w->locals & bit);
    if (w->tables & bit)
        return false;
    if (reg == 16 || reg == 17 || w->loaded) {
        *state = by_link(s, w, w->sp);
        return true;
    }
    if (w->uses_fp) {
        *state = STROBE_FRAME_KEPT;
        return true;
    }
    w->sp = 0;
    return false;
}

/* Follows one path until it decides (returns true) or ends (returns false). */
static bool follow_code_path(struct search *s, struct code_path *w, enum strobe_frame_state *state)
{
    *state = STROBE_FRAME_KEPT;
    for (; s->steps < s->limit; s->steps++) {
        uint32_t i;
        int64_t distance;
        if (!fetch_a64_word(&s->code, w->pc, &i) || ends_path(i))
            return w->kept;
        if (instruction_decides(s, w, i, state))
            return *state != STROBE_FRAME_UNKNOWN;
        if (is_register_jump(i)) {
            bool on;
            if (jump_decides(s, w, i, state, &on))
                return *state != STROBE_FRAME_UNKNOWN;
            if (!on)
                return w->kept;
        } else if (is_jump(i)) {
            add_code_path(s, w, w->pc + (uint64_t)(4 * signed_field(i, 0, 26)));
            return false;
        } else if (is_conditional_branch(i, &distance)) {
            add_code_path(s, w, w->pc + (uint64_t)distance);
        } else {
            follow_sp(s, w, i);
            follow_targets(w, i);
        }
        w->pc += 4;
    }
    return w->kept;
}

/* ---- straight code before pc */

/* Examines the instructions before pc, as long as each one is reached only from the one before it. Sets the initial
 * state of the path. A frame pointer that is set there belongs to this function if the function has also pushed the
 * record. */
static bool inspect_code_before(struct search *s, struct code_path *w, enum strobe_frame_state *state)
{
    uint32_t settled = 0;
    bool set = false;
    for (uint32_t back = 1; back <= BEFORE_MAX; back++) {
        uint32_t i;
        if (w->pc < 4096 || !fetch_a64_word(&s->code, w->pc - 4 * back, &i) || ends_path(i) || is_jump(i) ||
            is_return(i) || is_register_jump(i))
            return false;
        if (is_a64_call(i)) {
            s->after_call = w->pc - 4 * back + 4;
            return false;
        }
        struct code_path sum = {0};
        follow_targets(&sum, i);
        w->tables |= sum.tables & ~settled;
        w->locals |= sum.locals & ~settled;
        settled |= 1u << (i & 31);
        w->uses_fp |= uses_fp(i);
        set |= sets_fp(i);
        if (set && pushes_link(i)) {
            *state = STROBE_FRAME_KEPT;
            return true;
        }
        if (!set && is_record_pair(i, true)) {
            *state = in_register(s, LR, 0);
            return true;
        }
    }
    return false;
}

enum strobe_frame_state strobe_frame_state_arm64(const struct strobe_host *host, const struct strobe_frame_query *query,
                                                 struct strobe_frame_answer *answer)
{
    struct search s;
    s.code = (struct code){.host = host};
    s.query = query;
    s.answer = answer;
    s.to_do_count = s.seen_count = s.steps = 0;
    s.limit = STROBE_FRAME_STEPS_MAX;
    s.after_call = 0;
    s.kept = false;
    *answer = (struct strobe_frame_answer){0};
    if (query->pc & 3)
        return STROBE_FRAME_UNKNOWN;
    struct code_path first = {.sp = query->sp, .link = !query->called, .pc = query->pc, .reg = LR, .lent = LR};
    enum strobe_frame_state state;
    if (!query->called && inspect_code_before(&s, &first, &state))
        return state;
    add_code_path(&s, &first, query->pc);
    while (s.to_do_count) {
        struct code_path w = s.to_do[--s.to_do_count];
        if (follow_code_path(&s, &w, &state))
            return state;
    }
    return s.kept ? STROBE_FRAME_KEPT : STROBE_FRAME_UNKNOWN;
}

bool strobe_frame_returns_arm64(const struct strobe_host *host, uint64_t address)
{
    uint32_t word;
    size_t copied;
    return address >= 4096 && !(address & 3) &&
           host->read(host->ctx, address - 4, &word, sizeof word, &copied) == STROBE_OK && copied == sizeof word &&
           is_a64_call(word);
}
