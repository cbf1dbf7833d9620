#include "engine/backend/linux/arm_code.h"

#include <string.h>

/* ---- instructions ---- */

enum { WORD_BYTES = 4, PC = 15 };

enum effect {
    NO_EFFECT,
    PUSH,    /* stores the registers of `mask` below the stack pointer, and lowers it by `bytes` */
    POP,     /* loads the registers of `mask` from the stack pointer up, and raises it by `bytes` */
    ADD_SP,  /* the stack pointer changes by `bytes` */
    SP_FROM, /* the stack pointer becomes register `reg` and `bytes` */
    ADD_REG, /* register `dst` becomes register `reg` and `bytes` */
    RETURN,  /* to the link register */
    JUMP,    /* to `target`, or to an unknown place when it is 0 */
    BRANCH,  /* the same, when a condition holds */
    CALL,    /* and goes on */
    SP_LOST, /* the stack pointer changes in another way */
    TRAP,    /* does not go on */
};

struct instruction {
    enum effect effect;
    uint32_t mask; /* of registers, bit n is register n */
    int32_t bytes;
    uint8_t reg, dst;
    uint8_t length;
    int conditional; /* that many of the next instructions are conditional */
    uint64_t target;
};

static int32_t extend(uint32_t value, unsigned bits)
{
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static struct instruction stores(uint32_t mask, int32_t bytes)
{
    return (struct instruction){.effect = PUSH, .mask = mask, .bytes = bytes};
}

static struct instruction loads(uint32_t mask, int32_t bytes)
{
    return (struct instruction){.effect = POP, .mask = mask, .bytes = bytes};
}

static int32_t bytes_of(uint32_t mask)
{
    return WORD_BYTES * __builtin_popcount(mask);
}

/* dst = src + bytes, where one of them, or both, may be the stack pointer. */
static struct instruction adds(unsigned dst, unsigned src, int32_t bytes)
{
    enum effect effect = dst != STROBE_ARM_SP ? ADD_REG : src == STROBE_ARM_SP ? ADD_SP : SP_FROM;
    return (struct instruction){.effect = effect, .bytes = bytes, .reg = (uint8_t)src, .dst = (uint8_t)dst};
}

static struct instruction jumps(enum effect effect, uint64_t target)
{
    return (struct instruction){.effect = effect, .target = target};
}

static struct instruction plain(enum effect effect)
{
    return (struct instruction){.effect = effect};
}

/* Doubles that VPUSH and VPOP move; both encodings have the same form. */
static bool match_vfp(uint32_t high, uint32_t low, struct instruction *out)
{
    int32_t bytes = (int32_t)(low & 0xff) * WORD_BYTES;
    if ((low & 0xe00) != 0xa00) /* coprocessors 10 and 11 */
        return false;
    if ((high & 0xffbf) == 0xed2d)
        *out = stores(0, bytes);
    else if ((high & 0xffbf) == 0xecbd)
        *out = loads(0, bytes);
    else
        return false;
    return true;
}

/* ---- Thumb ---- */

static struct instruction decode_thumb16(uint32_t h, uint64_t pc)
{
    unsigned moved = h >> 3 & 15;
    switch (h >> 8) {
    case 0xb4:
    case 0xb5: return stores((h & 0xff) | (h & 0x100) << 6, bytes_of(h & 0x1ff));
    case 0xbc:
    case 0xbd: return loads((h & 0xff) | (h & 0x100) << 7, bytes_of(h & 0x1ff));
    case 0xb0: return adds(STROBE_ARM_SP, STROBE_ARM_SP, (int32_t)(h & 0x7f) * (h & 0x80 ? -4 : 4));
    case 0xbf: /* IT, or a hint */
        return (struct instruction){.effect = NO_EFFECT, .conditional = h & 0xf ? 4 - __builtin_ctz(h & 0xf) : 0};
    case 0xb1:
    case 0xb3:
    case 0xb9:
    case 0xbb: return jumps(BRANCH, pc + 4 + ((h >> 3 & 0x1f) << 1 | (h & 0x200) >> 3));
    case 0xde: return plain(TRAP);
    case 0x47: return plain(h & 0x80 ? CALL : moved == STROBE_ARM_LR ? RETURN : JUMP);
    }
    if ((h & 0xff87) == 0x4485)
        return plain(SP_LOST);
    if ((h & 0xff87) == 0x4687 || (h & 0xff87) == 0x4487)
        return plain(JUMP);
    if (h >> 8 == 0x46)
        return adds((h & 7) | (h >> 4 & 8), moved, 0);
    if ((h & 0xf800) == 0xa800)
        return adds(h >> 8 & 7, STROBE_ARM_SP, (int32_t)(h & 0xff) * 4);
    if ((h & 0xf800) == 0x3000 || (h & 0xf800) == 0x3800) /* adds, subs */
        return adds(h >> 8 & 7, h >> 8 & 7, (int32_t)(h & 0xff) * (h & 0x800 ? -1 : 1));
    if ((h & 0xf000) == 0xd000 && (h & 0xf00) < 0xe00)
        return jumps(BRANCH, pc + 4 + (uint64_t)(int64_t)(extend(h & 0xff, 8) * 2));
    if ((h & 0xf800) == 0xe000)
        return jumps(JUMP, pc + 4 + (uint64_t)(int64_t)(extend(h & 0x7ff, 11) * 2));
    return plain(NO_EFFECT);
}

/* The constant of a data-processing instruction: i, imm3 and imm8 (ThumbExpandImm). */
static uint32_t expand_thumb(uint32_t high, uint32_t low)
{
    uint32_t code = (high & 0x400) << 1 | (low & 0x7000) >> 4 | (low & 0xff), byte = code & 0xff;
    unsigned turn = code >> 7;
    switch (code >> 8) {
    case 0: return byte;
    case 1: return byte << 16 | byte;
    case 2: return byte << 24 | byte << 8;
    case 3: return byte * 0x01010101u;
    }
    byte = 0x80 | (code & 0x7f);
    return byte >> turn | byte << (32 - turn);
}

static uint64_t thumb_branch_target(uint32_t high, uint32_t low, uint64_t pc, bool conditional)
{
    uint32_t s = high >> 10 & 1, j1 = low >> 13 & 1, j2 = low >> 11 & 1;
    int32_t offset;
    if (conditional)
        offset = extend(s << 19 | j2 << 18 | j1 << 17 | (high & 0x3f) << 11 | (low & 0x7ff), 20);
    else
        offset = extend(s << 23 | (j1 ^ s ^ 1) << 22 | (j2 ^ s ^ 1) << 21 | (high & 0x3ff) << 11 | (low & 0x7ff), 24);
    return pc + 4 + (uint64_t)((int64_t)offset * 2);
}

static struct instruction decode_thumb_branch(uint32_t high, uint32_t low, uint64_t pc)
{
    if ((low & 0xd000) == 0x9000)
        return jumps(JUMP, thumb_branch_target(high, low, pc, false));
    if (low & 0x4000) { /* blx goes to ARM code, which begins at a multiple of four */
        uint64_t target = thumb_branch_target(high, low, pc, false);
        return jumps(CALL, low & 0x1000 ? target : target & ~(uint64_t)3);
    }
    if ((high & 0x380) == 0x380) /* not a branch */
        return plain(NO_EFFECT);
    return jumps(BRANCH, thumb_branch_target(high, low, pc, true));
}

/* Loads and stores of one or two registers that move the stack pointer. */
static bool match_thumb_transfer(uint32_t high, uint32_t low, struct instruction *out)
{
    uint32_t one = 1u << (low >> 12), two = one | 1u << (low >> 8 & 15);
    int32_t byte = (int32_t)(low & 0xff);
    if (high == 0xf84d && (low & 0xf00) == 0xd00)
        *out = stores(one, byte);
    else if (high == 0xf85d && (low & 0xf00) == 0xb00)
        *out = loads(one, byte);
    else if (high == 0xe96d)
        *out = stores(two, byte * WORD_BYTES);
    else if (high == 0xe8fd)
        *out = loads(two, byte * WORD_BYTES);
    else if (high == 0xe92d)
        *out = stores(low, bytes_of(low));
    else if (high == 0xe8bd)
        *out = loads(low, bytes_of(low));
    else
        return false;
    return true;
}

static struct instruction decode_thumb32(uint32_t high, uint32_t low, uint64_t pc)
{
    struct instruction i;
    unsigned dst = low >> 8 & 15, src = high & 15;
    uint32_t wide = (high & 0x400) << 1 | (low & 0x7000) >> 4 | (low & 0xff); /* of addw and subw */
    if (match_thumb_transfer(high, low, &i) || match_vfp(high, low, &i))
        return i;
    if ((high & 0xf800) == 0xf000 && low & 0x8000)
        return decode_thumb_branch(high, low, pc);
    switch (high & 0xfbe0) {
    case 0xf100: return adds(dst, src, (int32_t)expand_thumb(high, low));
    case 0xf1a0: return adds(dst, src, -(int32_t)expand_thumb(high, low));
    case 0xf200: return adds(dst, src, (int32_t)wide);
    case 0xf2a0: return adds(dst, src, -(int32_t)wide);
    }
    if ((high & 0xfff0) == 0xe8d0 && (low & 0xffe0) == 0xf000) /* tbb, tbh: a table follows */
        return plain(JUMP);
    bool computes = (high & 0xfe00) == 0xea00 || (high & 0xf800) == 0xf000 || (high & 0xff80) == 0xfa00;
    if (computes && dst == STROBE_ARM_SP)
        return plain(SP_LOST);
    if ((high & 0xff70) == 0xf850 && low >> 12 == PC)
        return plain(JUMP);
    if (((high & 0xff70) == 0xf850 && low >> 12 == STROBE_ARM_SP) ||
        ((high & 0xfff0) == 0xea40 && dst == STROBE_ARM_SP))
        return plain(SP_LOST);
    return plain(NO_EFFECT);
}

/* ---- ARM ---- */

static uint32_t expand_arm(uint32_t w)
{
    unsigned turn = (w >> 8 & 15) * 2;
    uint32_t byte = w & 0xff;
    return turn ? byte >> turn | byte << (32 - turn) : byte;
}

static bool match_arm_transfer(uint32_t w, struct instruction *out)
{
    uint32_t reg = w >> 12 & 15, two = 3u << reg;
    int32_t byte = (int32_t)((w >> 4 & 0xf0) | (w & 15));
    if (w >> 16 == 0xe92d)
        *out = stores(w & 0xffff, bytes_of(w & 0xffff));
    else if (w >> 16 == 0xe8bd)
        *out = loads(w & 0xffff, bytes_of(w & 0xffff));
    else if (w >> 16 == 0xe52d)
        *out = stores(1u << reg, (int32_t)(w & 0xfff));
    else if (w >> 16 == 0xe49d)
        *out = loads(1u << reg, (int32_t)(w & 0xfff));
    else if ((w & 0xffff00f0) == 0xe16d00f0)
        *out = stores(two, byte);
    else if ((w & 0xffff00f0) == 0xe0cd00d0)
        *out = loads(two, byte);
    else
        return match_vfp(w >> 16, w & 0xffff, out);
    return true;
}

static struct instruction decode_arm(uint32_t w, uint64_t pc)
{
    struct instruction i;
    bool conditional = w >> 28 != 0xe;
    uint32_t dst = w >> 12 & 15, src = w >> 16 & 15;
    uint64_t target = pc + 8 + (uint64_t)((int64_t)extend(w & 0xffffff, 24) * 4);
    if (w >> 28 == 0xf) /* blx goes to Thumb code */
        return (w & 0x0e000000) == 0x0a000000 ? jumps(CALL, target + (w >> 23 & 2)) : plain(NO_EFFECT);
    if ((w & 0x0f000000) == 0x0a000000)
        return jumps(conditional ? BRANCH : JUMP, target);
    if ((w & 0x0f000000) == 0x0b000000)
        return jumps(CALL, target);
    if ((w & 0x0ffffff0) == 0x012fff30)
        return plain(CALL);
    if (match_arm_transfer(w, &i))
        return i;
    if ((w & 0x0ffffff0) == 0x012fff10)
        return plain(conditional ? BRANCH : (w & 15) == STROBE_ARM_LR ? RETURN : JUMP);
    if ((w & 0xfff000f0) == 0xe7f000f0)
        return plain(TRAP);
    bool loads_many = (w & 0x0e100000) == 0x08100000 && w & 0x8000, loads_one = (w & 0x0c100000) == 0x04100000;
    if (loads_many || (loads_one && dst == PC) || ((w & 0x0c000000) == 0 && dst == PC))
        return plain(conditional ? BRANCH : JUMP);
    if ((w & 0xfff00000) == 0xe2800000)
        return adds(dst, src, (int32_t)expand_arm(w));
    if ((w & 0xfff00000) == 0xe2400000)
        return adds(dst, src, -(int32_t)expand_arm(w));
    if ((w & 0xffff0ff0) == 0xe1a00000)
        return adds(dst, w & 15, 0);
    bool clears = (w & 0x0fe00070) == 0x07c00010;                            /* bfc, bfi */
    bool computes = (w & 0x0c000000) == 0 && (w & 0x01800000) != 0x01000000; /* not tst, teq, cmp, cmn */
    bool moves_sp = (w & 0x0c200000) == 0x04200000 && src == STROBE_ARM_SP;
    if (((computes || clears) && dst == STROBE_ARM_SP) || (loads_one && dst == STROBE_ARM_SP) || moves_sp)
        return plain(SP_LOST);
    return plain(NO_EFFECT);
}

/* ---- reading ---- */

static bool is_thumb(const struct strobe_arm_place *place)
{
    return place->state >> 5 & 1;
}

/* A copy of code. */
struct code {
    uint8_t bytes[STROBE_ARM_CODE_BYTES];
    uint64_t start;
    size_t size;
    bool is_thumb;
};

static void copy_code(const struct strobe_host *host, uint64_t start, uint64_t end, bool is_thumb, struct code *out)
{
    size_t bytes = end - start < sizeof out->bytes ? (size_t)(end - start) : sizeof out->bytes, copied = 0;
    out->start = start;
    out->is_thumb = is_thumb;
    out->size = host->read(host->ctx, start, out->bytes, bytes, &copied) == STROBE_OK ? copied : 0;
}

/* Decodes the instruction at pc. Returns false when the copy does not hold it. *conditional counts the instructions
 * that an earlier one has made conditional. The effect of such an instruction is that of a branch, if it has one. */
static bool decode_at(const struct code *c, uint64_t pc, int *conditional, struct instruction *out)
{
    uint64_t at = pc - c->start;
    uint16_t half[2];
    if (pc < c->start || at > c->size || c->size - at < sizeof *half)
        return false;
    memcpy(&half[0], c->bytes + at, sizeof *half);
    bool is_wide = !c->is_thumb || half[0] >> 11 >= 0x1d;
    if (is_wide && c->size - at < sizeof half)
        return false;
    if (is_wide)
        memcpy(&half[1], c->bytes + at + 2, sizeof *half);
    if (!c->is_thumb)
        *out = decode_arm((uint32_t)half[1] << 16 | half[0], pc);
    else
        *out = is_wide ? decode_thumb32(half[0], half[1], pc) : decode_thumb16(half[0], pc);
    out->length = is_wide ? 4 : 2;
    if (*conditional && out->effect != NO_EFFECT)
        out->effect = BRANCH;
    *conditional = *conditional ? *conditional - 1 : out->conditional;
    return true;
}

/* ---- forward, to a return ---- */

enum { LR = 2, TRACKED = 3 };
static const uint8_t tracked[TRACKED] = {STROBE_ARM_R7, STROBE_ARM_R11, STROBE_ARM_LR};

/* The value of a register: what register `base` holds at the instruction, and `offset`. */
struct value {
    bool known;
    uint8_t base;
    int32_t offset;
};

enum { VALUES = 16 };

/* A frame that is being taken down: where the registers lie, from what sp.base holds. */
struct taken {
    struct value sp, value[VALUES];
    bool loaded[TRACKED], returns;
    int32_t at[TRACKED];
};

static struct value value_of(const struct taken *t, unsigned reg)
{
    return reg == STROBE_ARM_SP ? t->sp : t->value[reg];
}

static void begin_taken(struct taken *t)
{
    *t = (struct taken){.sp = {true, STROBE_ARM_SP, 0}};
    t->value[STROBE_ARM_R7] = (struct value){true, STROBE_ARM_R7, 0};
    t->value[STROBE_ARM_R11] = (struct value){true, STROBE_ARM_R11, 0};
}

static void take_loaded(struct taken *t, const struct instruction *i)
{
    int32_t at = t->sp.offset;
    for (unsigned reg = 0; reg <= PC; reg++) {
        if (!(i->mask >> reg & 1))
            continue;
        for (unsigned k = 0; k < TRACKED; k++)
            if (tracked[k] == reg || (reg == PC && tracked[k] == STROBE_ARM_LR)) {
                t->loaded[k] = true;
                t->at[k] = at;
            }
        at += WORD_BYTES;
    }
    t->sp.offset += i->bytes;
    t->returns = i->mask >> PC & 1;
}

/* Assigns the stack pointer. Places found before would count from another register. */
static bool take_base(struct taken *t, const struct instruction *i)
{
    t->sp = value_of(t, i->reg);
    t->sp.offset += i->bytes;
    for (unsigned k = 0; k < TRACKED; k++)
        t->sp.known &= !t->loaded[k];
    return t->sp.known;
}

/* Returns whether the frame can be followed further. */
static bool take_down(struct taken *t, const struct instruction *i, const struct strobe_arm_place *place)
{
    switch (i->effect) {
    case NO_EFFECT: return true;
    case POP: take_loaded(t, i); return true;
    case ADD_SP: t->sp.offset += i->bytes; return true;
    case SP_FROM: return take_base(t, i);
    case ADD_REG:
        t->value[i->dst] = value_of(t, i->reg);
        t->value[i->dst].offset += i->bytes;
        return true;
    case RETURN: t->returns = true; return true;
    case JUMP: /* out of the function, with its frame taken down: a call in its place */
        t->returns = i->target && i->target - place->start >= place->end - place->start;
        return t->returns;
    default: return false;
    }
}

static void put_place(struct strobe_unwind_rule *r, unsigned k, unsigned saved, int32_t words)
{
    switch (tracked[k]) {
    case STROBE_ARM_R7:
        r->bx = saved & 15;
        r->bx_at = (int16_t)words;
        break;
    case STROBE_ARM_R11:
        r->fp = saved & 15;
        r->fp_at = (int16_t)words;
        break;
    default: r->ra = saved & 15; r->ra_at = (int16_t)words;
    }
}

static bool fits_words(int32_t bytes)
{
    return bytes % WORD_BYTES == 0 && bytes / WORD_BYTES >= INT16_MIN && bytes / WORD_BYTES <= INT16_MAX;
}

/* Returns whether a condition holds (ARM DDI 0406C, section A8.3). The flags are N, Z, C and V, from bit 31 down. */
static bool condition_holds(unsigned condition, uint32_t state)
{
    bool n = state >> 31, z = state >> 30 & 1, c = state >> 29 & 1, v = state >> 28 & 1, holds = true;
    switch (condition >> 1) {
    case 0: holds = z; break;
    case 1: holds = c; break;
    case 2: holds = n; break;
    case 3: holds = v; break;
    case 4: holds = c && !z; break;
    case 5: holds = n == v; break;
    case 6: holds = n == v && !z; break;
    default: return true;
    }
    return holds != (condition & 1);
}

/* Makes the first instructions unconditional, or lets them do nothing: no other one changes the flags before they run.
 * In Thumb code only an IT instruction for one other. */
static void settle_conditions(struct code *c, uint32_t state)
{
    uint32_t word;
    const uint16_t no_thumb = 0xbf00;
    if (c->is_thumb) {
        if (c->size >= 2 && c->bytes[1] == 0xbf && (c->bytes[0] & 15) == 8 && condition_holds(c->bytes[0] >> 4, state))
            memcpy(c->bytes, &no_thumb, sizeof no_thumb);
        return;
    }
    for (size_t at = 0; at + sizeof word <= c->size; at += sizeof word) {
        memcpy(&word, c->bytes + at, sizeof word);
        if (word >> 28 >= 0xe)
            return;
        word = condition_holds(word >> 28, state) ? (word & 0x0fffffff) | 0xe0000000 : 0xe320f000; /* nop */
        memcpy(c->bytes + at, &word, sizeof word);
    }
}

static bool read_to_return(const struct strobe_host *host, const struct strobe_arm_place *place,
                           struct strobe_unwind_rule *out)
{
    struct code code;
    struct instruction i;
    struct taken t;
    int conditional = 0;
    begin_taken(&t);
    copy_code(host, place->pc, place->pc + STROBE_ARM_FORWARD_BYTES, is_thumb(place), &code);
    settle_conditions(&code, place->state);
    for (uint64_t pc = place->pc; !t.returns; pc += i.length)
        if (!decode_at(&code, pc, &conditional, &i) || !take_down(&t, &i, place))
            return false;
    *out = (struct strobe_unwind_rule){.kind = STROBE_UNWIND_FRAME, .base = t.sp.base, .cfa = t.sp.offset};
    for (unsigned k = 0; k < TRACKED; k++) {
        if (t.loaded[k] && !fits_words(t.at[k] - t.sp.offset))
            return false;
        if (t.loaded[k])
            put_place(out, k, STROBE_SAVED_AT_CFA, (t.at[k] - t.sp.offset) / WORD_BYTES);
    }
    return true;
}

/* ---- through the function ---- */

/* A frame that is being built: what lies between the stack pointer at entry and the present one. */
struct built {
    bool known;
    int32_t depth; /* bytes */
    bool saved[TRACKED];
    int32_t at[TRACKED]; /* below the stack pointer at entry */
};

/* Frames that branches carry to their targets. When there are more, the first ones stay. */
enum { CARRIED = 24 };

struct passage {
    struct built now;
    bool ended; /* the instruction before does not go on */
    uint32_t carried;
    uint64_t target[CARRIED];
    struct built frame[CARRIED];
};

static void carry(struct passage *p, uint64_t target, uint64_t pc)
{
    if (target <= pc || p->carried == CARRIED || !p->now.known)
        return;
    p->target[p->carried] = target;
    p->frame[p->carried++] = p->now;
}

static void build_stored(struct built *b, const struct instruction *i)
{
    b->depth += i->bytes;
    int32_t at = b->depth;
    for (unsigned reg = 0; reg <= PC; reg++) {
        if (!(i->mask >> reg & 1))
            continue;
        for (unsigned k = 0; k < TRACKED; k++)
            if (tracked[k] == reg && !b->saved[k]) {
                b->saved[k] = true;
                b->at[k] = at;
            }
        at -= WORD_BYTES;
    }
}

static void unbuild_loaded(struct built *b, const struct instruction *i)
{
    b->depth -= i->bytes;
    for (unsigned k = 0; k < TRACKED; k++)
        b->saved[k] &= !(i->mask >> tracked[k] & 1);
    b->known &= !(i->mask >> PC & 1);
}

static void pass(struct passage *p, const struct instruction *i, uint64_t pc)
{
    struct built *b = &p->now;
    switch (i->effect) {
    case PUSH: build_stored(b, i); break;
    case POP:
        unbuild_loaded(b, i);
        p->ended = !b->known;
        break;
    case ADD_SP: b->depth -= i->bytes; break;
    case BRANCH: carry(p, i->target, pc); break;
    case JUMP:
        carry(p, i->target, pc);
        b->known = false;
        p->ended = true;
        break;
    case RETURN:
    case TRAP:
        b->known = false;
        p->ended = true;
        break;
    case SP_FROM:
    case SP_LOST: b->known = false; break;
    default: break;
    }
}

/* Returns whether the code at pc is the start of a function with a frame. */
static bool begins_function(const struct code *c, uint64_t pc)
{
    struct instruction i;
    int conditional = 0;
    for (unsigned n = 0; n < STROBE_ARM_FORWARD_BYTES / 2 && decode_at(c, pc, &conditional, &i); n++, pc += i.length) {
        if (i.effect == PUSH)
            return true;
        if (i.effect != NO_EFFECT && i.effect != BRANCH && i.effect != ADD_REG)
            return false;
    }
    return false;
}

/* Takes the frame that a branch has carried here, or an empty one at the start of another function: linkers join the
 * entries of functions that are alike. */
static void arrive(struct passage *p, const struct code *c, const struct instruction *i, uint64_t pc)
{
    bool saves_lr = i->effect == PUSH && i->mask >> STROBE_ARM_LR & 1;
    for (uint32_t k = 0; k < p->carried && !p->now.known; k++)
        if (p->target[k] == pc)
            p->now = p->frame[k];
    if (saves_lr ? !p->now.known || p->now.saved[LR] : p->ended && !p->now.known && begins_function(c, pc))
        p->now = (struct built){.known = true};
    p->ended = false;
}

/* Returns the target of the call that the link register returns to, or 0. When the function at pc has called nothing
 * yet, this is its start. */
static uint64_t find_called(const struct strobe_host *host, uint64_t lr)
{
    struct code code;
    struct instruction i;
    int conditional = 0;
    uint64_t call = (lr & ~(uint64_t)1) - WORD_BYTES;
    copy_code(host, call, call + WORD_BYTES, lr & 1, &code);
    return decode_at(&code, call, &conditional, &i) && i.effect == CALL ? i.target : 0;
}

enum { THROUGH_BYTES = STROBE_ARM_CODE_BYTES - STROBE_ARM_FORWARD_BYTES - WORD_BYTES };

static bool read_to_instruction(const struct strobe_host *host, const struct strobe_arm_place *place,
                                struct strobe_unwind_rule *out)
{
    struct code code;
    struct instruction i;
    struct passage p = {0};
    int conditional = 0;
    uint64_t called = find_called(host, place->lr), start = place->start;
    if (place->pc < start)
        return false;
    if (called > start && called <= place->pc)
        start = called;
    p.now.known = place->pc - start <= THROUGH_BYTES;
    if (!p.now.known) /* no frame is known there */
        start = (place->pc - THROUGH_BYTES) & ~(uint64_t)(WORD_BYTES - 1);
    copy_code(host, start, place->pc + STROBE_ARM_FORWARD_BYTES, is_thumb(place), &code);
    for (uint64_t pc = start;; pc += i.length) {
        if (!decode_at(&code, pc, &conditional, &i))
            return false;
        arrive(&p, &code, &i, pc);
        if (pc >= place->pc)
            break;
        pass(&p, &i, pc);
    }
    if (!p.now.known || p.now.depth < 0)
        return false;
    *out = (struct strobe_unwind_rule){.kind = STROBE_UNWIND_FRAME, .base = STROBE_ARM_SP, .cfa = p.now.depth};
    for (unsigned k = 0; k < TRACKED; k++) {
        if (p.now.saved[k] && !fits_words(p.now.at[k]))
            return false;
        if (p.now.saved[k])
            put_place(out, k, STROBE_SAVED_AT_CFA, -p.now.at[k] / WORD_BYTES);
    }
    return true;
}

struct strobe_unwind_rule strobe_arm_code_rule(const struct strobe_host *host, const struct strobe_arm_place *place,
                                               const struct strobe_unwind_rule *whole)
{
    struct strobe_unwind_rule rule;
    if (read_to_return(host, place, &rule) || read_to_instruction(host, place, &rule))
        return rule;
    return *whole;
}
