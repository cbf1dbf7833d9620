/* Source of the encodings: Arm Architecture Reference Manual for A-profile, chapter C4 (A64 instruction set encoding).
 * x16 and x17 are free at the start of a function: a linker's veneer may use them (AAPCS64, 6.1.1). */
#include "engine/backend/art/detour/detour_code.h"

#if defined(__aarch64__)

#include <errno.h>
#include <string.h>

enum { SCRATCH = 17, LINK_REGISTER = 30 };

static uint32_t arm64_word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Extracts `bits` bits from bit `from` on, with sign extension. */
static int64_t arm64_field(uint32_t word, int from, int bits)
{
    return (int64_t)((uint64_t)word << (64 - from - bits)) >> (64 - bits);
}

static bool is_branch(uint32_t w)
{
    return (w & 0xfc000000) == 0x14000000;
} /* b */
static bool is_arm64_call(uint32_t w)
{
    return (w & 0xfc000000) == 0x94000000;
} /* bl */
static bool is_conditional(uint32_t w)
{
    return (w & 0xff000000) == 0x54000000;
} /* b.cond, bc.cond */
static bool is_compare_branch(uint32_t w)
{
    return (w & 0x7e000000) == 0x34000000;
} /* cbz, cbnz */
static bool is_test_branch(uint32_t w)
{
    return (w & 0x7e000000) == 0x36000000;
} /* tbz, tbnz */
static bool is_address(uint32_t w)
{
    return (w & 0x1f000000) == 0x10000000;
} /* adr, adrp */
static bool is_literal(uint32_t w)
{
    return (w & 0x3b000000) == 0x18000000;
} /* ldr, ldrsw, prfm (literal) */
/* br, ret, eret, drps, and their authenticated forms; not blr */
static bool is_register_branch(uint32_t w)
{
    return (w & 0xfe000000) == 0xd6000000 && (w >> 21 & 7) != 1;
}
static bool is_trap(uint32_t w)
{
    return (w & 0xffe0001f) == 0xd4200000 || (w & 0xffff0000) == 0;
} /* brk, udf */

static bool is_bti(uint32_t w)
{
    return (w & 0xffffff3f) == 0xd503241f;
}
/* paciasp, pacibsp: these sign the return address, and are landing pads, too */
static bool is_signing(uint32_t w)
{
    return (w & 0xffffffbf) == 0xd503233f;
}
static bool is_landing(uint32_t w)
{
    return is_bti(w) || is_signing(w);
}

size_t strobe_detour_landing(const uint8_t *function, const uint8_t *end)
{
    return end - function > 4 && is_landing(arm64_word_at(function)) ? 4 : 0;
}

bool strobe_detour_step(const uint8_t *at, const uint8_t *end, struct strobe_detour_step *step)
{
    if (end - at < 4)
        return false;
    uint32_t w = arm64_word_at(at);
    int64_t distance = 0;
    *step = (struct strobe_detour_step){.bytes = 4};
    step->calls = is_arm64_call(w);
    step->returns = is_arm64_call(w) || (w & 0xfef00000) == 0xd6300000; /* blr in all its forms */
    step->jumps = is_branch(w) || is_conditional(w) || is_compare_branch(w) || is_test_branch(w);
    step->ends = is_branch(w) || is_register_branch(w) || is_trap(w);
    if (is_arm64_call(w) || is_branch(w))
        distance = arm64_field(w, 0, 26);
    else if (is_test_branch(w))
        distance = arm64_field(w, 5, 14);
    else if (step->jumps)
        distance = arm64_field(w, 5, 19);
    step->to = (uintptr_t)at + (uint64_t)(distance * 4);
    return true;
}

/* ---- writing ---- */

static void append_arm64_word(struct strobe_detour_code *c, uint32_t word)
{
    memcpy(c->at, &word, sizeof word);
    c->at += sizeof word;
}

/* ldr of 64 bits from a word */
static void append_load(struct strobe_detour_code *c, unsigned int reg, uint64_t value)
{
    *--c->words = value;
    append_arm64_word(c, 0x58000000 | (uint32_t)((uint8_t *)c->words - c->at) / 4 << 5 | reg);
}

static bool in_reach(const struct strobe_detour_code *c, const void *to)
{
    int64_t distance = (int64_t)((uintptr_t)to - (uintptr_t)c->at);
    return distance > -STROBE_DETOUR_REACH && distance < STROBE_DETOUR_REACH;
}

static void append_branch(struct strobe_detour_code *c, const void *to)
{
    uint32_t jump;
    strobe_detour_near_jump((uint8_t *)&jump, c->at, to);
    append_arm64_word(c, jump);
}

/* autiasp for paciasp, autibsp for pacibsp. The stack pointer is the one with which the address was signed. */
void strobe_detour_undo_landing(struct strobe_detour_code *c, const uint8_t *function, size_t landing)
{
    uint32_t w = arm64_word_at(function);
    if (landing && is_signing(w))
        append_arm64_word(c, w | 1 << 7);
}

/* A branch through a register may lead only to a landing pad, in code that is guarded (BTI). A direct branch may lead
 * anywhere. */
static bool may_be_reached(const struct strobe_detour_code *c, uint64_t to)
{
    return in_reach(c, (const void *)(uintptr_t)to) || is_landing(arm64_word_at((const uint8_t *)(uintptr_t)to));
}

/* Appends a direct branch if it reaches the target, because the target may have no landing pad. */
void strobe_detour_go(struct strobe_detour_code *c, const void *to)
{
    if (in_reach(c, to)) {
        append_branch(c, to);
    } else {
        append_load(c, SCRATCH, (uintptr_t)to);
        append_arm64_word(c, 0xd61f0000 | SCRATCH << 5); /* br */
    }
}

static void append_call(struct strobe_detour_code *c, uint64_t to)
{
    if (in_reach(c, (const void *)(uintptr_t)to)) {
        append_arm64_word(c, 0x94000000 | ((uint32_t)((int64_t)(to - (uintptr_t)c->at) / 4) & 0x03ffffff));
    } else {
        append_load(c, SCRATCH, to);
        append_arm64_word(c, 0xd63f0000 | SCRATCH << 5); /* blr */
    }
}

/* The same condition skips the jump around a jump. Its distance is encoded in 19 or 14 bits from bit 5 on. */
static void move_conditional(struct strobe_detour_code *c, uint32_t w, uint64_t to)
{
    uint32_t mask = is_test_branch(w) ? 0x3fffu << 5 : 0x7ffffu << 5;
    append_arm64_word(c, (w & ~mask) | 2 << 5);
    uint8_t *around = c->at;
    append_arm64_word(c, 0);
    strobe_detour_go(c, (const void *)(uintptr_t)to);
    uint8_t *next = c->at;
    c->at = around;
    append_branch(c, next);
    c->at = next;
}

/* Loads the address, then the value at the address. */
static int move_literal(struct strobe_detour_code *c, uint32_t w, uint64_t place)
{
    static const uint32_t whole[4] = {0xb9400000, 0xf9400000, 0xb9800000, 0};  /* ldr w, ldr x, ldrsw, prfm */
    static const uint32_t vector[4] = {0xbd400000, 0xfd400000, 0x3dc00000, 0}; /* ldr s, d, q */
    uint32_t load = w >> 26 & 1 ? vector[w >> 30] : whole[w >> 30];
    if (!load)
        return w >> 26 & 1 ? ENOTSUP : 0; /* a prefetch may be dropped */
    append_load(c, SCRATCH, place);
    append_arm64_word(c, load | SCRATCH << 5 | (w & 31));
    return 0;
}

int strobe_detour_move(struct strobe_detour_code *c, const uint8_t *at, const uint8_t *end)
{
    struct strobe_detour_step step;
    if (!strobe_detour_step(at, end, &step))
        return ENOTSUP;
    uint32_t w = arm64_word_at(at);
    if ((step.calls || step.jumps) && !may_be_reached(c, step.to))
        return ERANGE;
    if (step.calls) {
        append_call(c, step.to);
    } else if (is_branch(w)) {
        strobe_detour_go(c, (const void *)(uintptr_t)step.to);
    } else if (step.jumps) {
        move_conditional(c, w, step.to);
    } else if (is_address(w)) {
        uint64_t distance = (uint64_t)(arm64_field(w, 5, 19) * 4) | (w >> 29 & 3), place = (uintptr_t)at;
        bool pages = w >> 31;
        append_load(c, w & 31, pages ? (place & ~0xffful) + (distance << 12) : place + distance);
    } else if (is_literal(w)) {
        return move_literal(c, w, (uintptr_t)at + (uint64_t)(arm64_field(w, 5, 19) * 4));
    } else {
        append_arm64_word(c, w);
    }
    return 0;
}

void strobe_detour_near_jump(uint8_t jump[STROBE_DETOUR_JUMP_BYTES], const uint8_t *at, const uint8_t *to)
{
    uint32_t word = 0x14000000 | ((uint32_t)((to - at) / 4) & 0x03ffffff);
    memcpy(jump, &word, sizeof word);
}

/* ---- patching ---- */

/* The jump is one instruction, so a thread runs either it or the one that it replaces. The manual (B2.2.5) promises
 * that only for b, bl, nop, brk and the like; that a store of another instruction's aligned word is seen whole is how
 * all known processors behave, and what inline hookers for Android rely on. (The race detector does not check code.) */
__attribute__((no_sanitize("thread"))) void strobe_detour_write(struct strobe_detour_patch *patch, size_t count)
{
    for (struct strobe_detour_patch *p = patch; p < patch + count; p++)
        if (!p->refused) {
            *(volatile uint32_t *)(void *)p->at = arm64_word_at(p->bytes);
            __builtin___clear_cache((char *)p->at, (char *)p->at + STROBE_DETOUR_JUMP_BYTES);
        }
}

#endif
