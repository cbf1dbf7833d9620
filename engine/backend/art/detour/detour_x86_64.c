/* Source of the encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A. The
 * parts of an instruction are read by engine/capture/x86_code.h. */
#include "engine/backend/art/detour/detour_code.h"

#if defined(__x86_64__)

#include "engine/backend/art/detour/detour_hold.h"
#include "engine/capture/x86_code.h"

#include <errno.h>
#include <string.h>

enum { WORD_BYTES = 8 };

size_t strobe_detour_landing(const uint8_t *function, const uint8_t *end)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return end - function > (ptrdiff_t)sizeof endbr64 && !memcmp(function, endbr64, sizeof endbr64) ? sizeof endbr64
                                                                                                    : 0;
}

void strobe_detour_undo_landing(struct strobe_detour_code *c, const uint8_t *function, size_t landing)
{
    (void)c, (void)function, (void)landing; /* endbr64 changes no register */
}

/* ---- reading ---- */

static bool has_map(const struct strobe_x86_parts *p, enum strobe_x86_map map)
{
    return p->map == map && !p->vector;
}

static bool is_near_call(const struct strobe_x86_parts *p)
{
    return has_map(p, STROBE_X86_ONE_BYTE) && p->opcode == 0xe8;
}
static bool is_near_jump(const struct strobe_x86_parts *p)
{
    return has_map(p, STROBE_X86_ONE_BYTE) && (p->opcode == 0xe9 || p->opcode == 0xeb);
}
static bool is_x86_conditional(const struct strobe_x86_parts *p)
{
    return (has_map(p, STROBE_X86_ONE_BYTE) && (p->opcode & 0xf0) == 0x70) ||
           (has_map(p, STROBE_X86_0F) && (p->opcode & 0xf0) == 0x80);
}
/* loop, loope, loopne, jrcxz, xbegin */
static bool is_other_branch(const struct strobe_x86_parts *p)
{
    return has_map(p, STROBE_X86_ONE_BYTE) &&
           ((p->opcode & 0xfc) == 0xe0 || (p->opcode == 0xc7 && p->has_modrm && p->modrm == 0xf8));
}
/* Extension of the opcode ff: 2, 3 call; 4, 5 jump. */
static bool is_through_register(const struct strobe_x86_parts *p, unsigned extension)
{
    return has_map(p, STROBE_X86_ONE_BYTE) && p->opcode == 0xff && (p->modrm >> 3 & 6) == extension;
}
static bool is_x86_return(const struct strobe_x86_parts *p)
{
    return has_map(p, STROBE_X86_ONE_BYTE) && ((p->opcode & 0xf6) == 0xc2 || p->opcode == 0xcf);
}

/* Returns where a branch leads. The distance is in the last byte or the last four bytes. */
static uint64_t branch_target(const struct strobe_x86_parts *p)
{
    bool is_short = p->map == STROBE_X86_ONE_BYTE && p->opcode != 0xe8 && p->opcode != 0xe9 && p->opcode != 0xc7;
    int32_t distance = (int8_t)p->code[p->at - 1];
    if (!is_short)
        memcpy(&distance, p->code + p->at - 4, sizeof distance);
    return (uintptr_t)p->code + p->at + (uint64_t)(int64_t)distance;
}

/* int3 and hlt pad functions, ud2 ends them. The parser does not know these. */
static uint32_t trap_bytes(const uint8_t *at, const uint8_t *end)
{
    if (*at == 0xcc || *at == 0xf4)
        return 1;
    return end - at > 1 && at[0] == 0x0f && at[1] == 0x0b ? 2 : 0;
}

/* A prefix 66 before a branch means different things on different processors, except with REX.W. */
static bool is_ambiguous(const struct strobe_x86_parts *p)
{
    return p->operand_16 && !(p->rex & 8) &&
           (is_near_call(p) || is_near_jump(p) || is_x86_conditional(p) || is_other_branch(p));
}

static bool parse_x86_at(const uint8_t *at, const uint8_t *end, struct strobe_x86_parts *p)
{
    size_t bytes = end - at < STROBE_X86_BYTES_MAX ? (size_t)(end - at) : STROBE_X86_BYTES_MAX;
    return strobe_x86_parse(at, bytes, p) && !is_ambiguous(p);
}

bool strobe_detour_step(const uint8_t *at, const uint8_t *end, struct strobe_detour_step *step)
{
    struct strobe_x86_parts p;
    if (at >= end)
        return false;
    *step = (struct strobe_detour_step){.bytes = trap_bytes(at, end), .ends = true};
    if (step->bytes)
        return true;
    if (!parse_x86_at(at, end, &p))
        return false;
    step->bytes = (uint32_t)p.at;
    step->calls = is_near_call(&p);
    step->returns = step->calls || is_through_register(&p, 2);
    step->jumps = is_near_jump(&p) || is_x86_conditional(&p) || is_other_branch(&p);
    step->ends = is_near_jump(&p) || is_through_register(&p, 4) || is_x86_return(&p);
    if (step->calls || step->jumps)
        step->to = branch_target(&p);
    return true;
}

/* ---- writing ---- */

static void append_x86_bytes(struct strobe_detour_code *c, const void *bytes, size_t count)
{
    memcpy(c->at, bytes, count);
    c->at += count;
}

/* FF /2 or FF /4: call or jump through a word. */
static void append_through_word(struct strobe_detour_code *c, uint8_t how, uint64_t to)
{
    *--c->words = to;
    int32_t distance = (int32_t)((uint8_t *)c->words - (c->at + 6));
    append_x86_bytes(c, (uint8_t[]){0xff, how}, 2);
    append_x86_bytes(c, &distance, sizeof distance);
}

void strobe_detour_go(struct strobe_detour_code *c, const void *to)
{
    append_through_word(c, 0x25, (uintptr_t)to);
}

static int move_x86_branch(struct strobe_detour_code *c, const struct strobe_x86_parts *p)
{
    uint64_t to = branch_target(p);
    if (is_near_call(p)) {
        if (to == (uintptr_t)p->code + p->at) /* it reads its own address */
            return ENOTSUP;
        append_through_word(c, 0x15, to);
    } else if (is_near_jump(p)) {
        append_through_word(c, 0x25, to);
    } else if (is_x86_conditional(p)) {
        append_x86_bytes(c, (uint8_t[]){0x70 | ((p->opcode & 15) ^ 1), 6}, 2);
        append_through_word(c, 0x25, to);
    } else {
        return ENOTSUP; /* is_other_branch */
    }
    return 0;
}

static int move_relative_operand(struct strobe_detour_code *c, const struct strobe_x86_parts *p)
{
    int32_t distance;
    int64_t moved = (int64_t)(uintptr_t)p->code - (int64_t)(uintptr_t)c->at;
    memcpy(&distance, p->code + p->displacement, sizeof distance);
    if (p->address_32)
        return ENOTSUP;
    if (distance + moved != (int32_t)(distance + moved))
        return ERANGE;
    distance += (int32_t)moved;
    uint8_t *start = c->at;
    append_x86_bytes(c, p->code, p->at);
    memcpy(start + p->displacement, &distance, sizeof distance);
    return 0;
}

int strobe_detour_move(struct strobe_detour_code *c, const uint8_t *at, const uint8_t *end)
{
    struct strobe_x86_parts p;
    uint32_t trap = trap_bytes(at, end);
    if (trap) {
        append_x86_bytes(c, at, trap);
        return 0;
    }
    if (!parse_x86_at(at, end, &p))
        return ENOTSUP;
    if (is_near_call(&p) || is_near_jump(&p) || is_x86_conditional(&p) || is_other_branch(&p))
        return move_x86_branch(c, &p);
    if (p.displacement)
        return move_relative_operand(c, &p);
    append_x86_bytes(c, at, p.at);
    return 0;
}

void strobe_detour_near_jump(uint8_t jump[STROBE_DETOUR_JUMP_BYTES], const uint8_t *at, const uint8_t *to)
{
    int32_t distance = (int32_t)(to - (at + STROBE_DETOUR_JUMP_BYTES));
    jump[0] = 0xe9;
    memcpy(jump + 1, &distance, sizeof distance);
}

/* ---- patching ---- */

/* The race detector delays signals, so in its builds threads are not held, and those inside the bytes not moved. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { CAN_HOLD = false };
#else
enum { CAN_HOLD = true };
#endif

static bool is_in_one_word(const struct strobe_detour_patch *p)
{
    return (uintptr_t)p->at % WORD_BYTES <= WORD_BYTES - STROBE_DETOUR_JUMP_BYTES;
}

/* One store is enough when it replaces bytes of one instruction in one aligned word. */
static bool needs_hold(const struct strobe_detour_patch *p)
{
    return CAN_HOLD && (!is_in_one_word(p) || (p->moves && p->moves->count > 1));
}

/* The race detector does not check code. */
__attribute__((no_sanitize("thread"))) static void write_patch(const struct strobe_detour_patch *p)
{
    size_t within = (uintptr_t)p->at % WORD_BYTES;
    if (!is_in_one_word(p)) {
        memcpy(p->at, p->bytes, STROBE_DETOUR_JUMP_BYTES);
        return;
    }
    volatile uint64_t *word = (volatile uint64_t *)(void *)(p->at - within);
    uint64_t value = *word;
    memcpy((uint8_t *)&value + within, p->bytes, STROBE_DETOUR_JUMP_BYTES);
    *word = value;
}

void strobe_detour_write(struct strobe_detour_patch *patch, size_t count)
{
    struct strobe_detour_patch *end = patch + count;
    bool needed = false;
    for (struct strobe_detour_patch *p = patch; p < end; p++)
        needed |= !p->refused && needs_hold(p);
    int refused = needed ? strobe_detour_hold(patch, count) : 0;
    for (struct strobe_detour_patch *p = patch; p < end; p++) {
        if (!p->refused && refused && needs_hold(p))
            p->refused = refused;
        if (!p->refused)
            write_patch(p);
    }
    if (needed && !refused)
        strobe_detour_release();
}

#endif
