#include "engine/backend/art/detour/detour_code.h"

#if defined(__x86_64__)

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    csh handle;
    cs_insn *instruction;
    bool (*next)(csh, const uint8_t **, size_t *, uint64_t *, cs_insn *);
} capstone;

int strobe_detour_open(void)
{
    if (capstone.instruction)
        return 0;
    void *library = dlopen("libcapstone.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ENOSYS;
    cs_err (*open)(cs_arch, cs_mode, csh *) = (cs_err(*)(cs_arch, cs_mode, csh *))dlsym(library, "cs_open");
    cs_err (*option)(csh, cs_opt_type, size_t) = (cs_err(*)(csh, cs_opt_type, size_t))dlsym(library, "cs_option");
    cs_insn *(*room)(csh) = (cs_insn * (*)(csh)) dlsym(library, "cs_malloc");
    *(void **)&capstone.next = dlsym(library, "cs_disasm_iter");
    if (!open || !option || !room || !capstone.next || open(CS_ARCH_X86, CS_MODE_64, &capstone.handle) != CS_ERR_OK ||
        option(capstone.handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
        return ENOSYS;
    capstone.instruction = room(capstone.handle);
    return capstone.instruction ? 0 : ENOMEM;
}

static const cs_insn *disassemble_x86(const uint8_t *at, const uint8_t *end)
{
    enum { LONGEST = 15 };
    size_t bytes = end - at < LONGEST ? (size_t)(end - at) : LONGEST;
    uint64_t address = (uintptr_t)at;
    return at < end && capstone.next(capstone.handle, &at, &bytes, &address, capstone.instruction)
               ? capstone.instruction
               : NULL;
}

static bool in_group(const cs_insn *i, uint8_t group)
{
    for (int k = 0; k < i->detail->groups_count; k++)
        if (i->detail->groups[k] == group)
            return true;
    return false;
}

/* Returns the target of a direct jump or call. */
static bool names_place(const cs_insn *i, uint64_t *to)
{
    const cs_x86 *x = &i->detail->x86;
    if (x->op_count != 1 || x->operands[0].type != X86_OP_IMM)
        return false;
    *to = (uint64_t)x->operands[0].imm;
    return true;
}

size_t strobe_detour_landing(const uint8_t *function, const uint8_t *end)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return end - function > (ptrdiff_t)sizeof endbr64 && !memcmp(function, endbr64, sizeof endbr64) ? sizeof endbr64
                                                                                                    : 0;
}

bool strobe_detour_step(const uint8_t *at, const uint8_t *end, struct strobe_detour_step *step)
{
    const cs_insn *i = disassemble_x86(at, end);
    if (!i)
        return false;
    *step = (struct strobe_detour_step){.bytes = i->size};
    if (in_group(i, CS_GRP_CALL))
        step->calls = names_place(i, &step->to);
    else if (in_group(i, CS_GRP_JUMP) || in_group(i, CS_GRP_BRANCH_RELATIVE))
        step->jumps = names_place(i, &step->to);
    step->ends = i->id == X86_INS_JMP || i->id == X86_INS_UD2 || i->id == X86_INS_HLT || i->id == X86_INS_INT3 ||
                 in_group(i, CS_GRP_RET) || in_group(i, CS_GRP_IRET);
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

static int move_branch(struct strobe_detour_code *c, const cs_insn *i, uint64_t to)
{
    const cs_x86 *x = &i->detail->x86;
    bool wide = x->opcode[0] == 0x0f && (x->opcode[1] & 0xf0) == 0x80;
    if (x->prefix[2] || x->prefix[3]) /* size of operands or addresses */
        return ENOTSUP;
    if (x->opcode[0] == 0xe8) {
        if (to == i->address + i->size) /* it reads its own address */
            return ENOTSUP;
        append_through_word(c, 0x15, to);
    } else if (x->opcode[0] == 0xe9 || x->opcode[0] == 0xeb) {
        append_through_word(c, 0x25, to);
    } else if (wide || (x->opcode[0] & 0xf0) == 0x70) {
        uint8_t condition = (wide ? x->opcode[1] : x->opcode[0]) & 15;
        append_x86_bytes(c, (uint8_t[]){0x70 | (condition ^ 1), 6}, 2);
        append_through_word(c, 0x25, to);
    } else {
        return ENOTSUP; /* loop, jrcxz, xbegin */
    }
    return 0;
}

static int move_relative_operand(struct strobe_detour_code *c, const cs_insn *i)
{
    const cs_x86 *x = &i->detail->x86;
    const cs_x86_encoding *e = &x->encoding;
    int32_t distance;
    memcpy(&distance, i->bytes + e->disp_offset, sizeof distance);
    if (e->disp_size != sizeof distance || distance != x->disp || x->prefix[3])
        return ENOTSUP;
    int64_t moved = (int64_t)i->address - (int64_t)(uintptr_t)c->at;
    if (distance + moved != (int32_t)(distance + moved))
        return ERANGE;
    distance += (int32_t)moved;
    uint8_t *start = c->at;
    append_x86_bytes(c, i->bytes, i->size);
    memcpy(start + e->disp_offset, &distance, sizeof distance);
    return 0;
}

int strobe_detour_move(struct strobe_detour_code *c, const uint8_t *at, const uint8_t *end)
{
    const cs_insn *i = disassemble_x86(at, end);
    uint64_t to;
    if (!i)
        return ENOTSUP;
    if (in_group(i, CS_GRP_JUMP) || in_group(i, CS_GRP_CALL) || in_group(i, CS_GRP_BRANCH_RELATIVE)) {
        if (names_place(i, &to))
            return move_branch(c, i, to);
        if (in_group(i, CS_GRP_BRANCH_RELATIVE))
            return ENOTSUP;
    }
    const cs_x86 *x = &i->detail->x86;
    if (x->encoding.modrm_offset && (x->modrm & 0xc7) == 5) /* mod 0, r/m 5: relative to the next instruction */
        return move_relative_operand(c, i);
    append_x86_bytes(c, i->bytes, i->size);
    return 0;
}

void strobe_detour_near_jump(uint8_t jump[STROBE_DETOUR_JUMP_BYTES], const uint8_t *at, const uint8_t *to)
{
    int32_t distance = (int32_t)(to - (at + STROBE_DETOUR_JUMP_BYTES));
    jump[0] = 0xe9;
    memcpy(jump + 1, &distance, sizeof distance);
}

/* ---- patching ---- */

/* Makes every thread reload its code. */
static void reread_code(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/* Uses one store when the bytes are in one aligned word. Otherwise it first writes a jump to itself, in which threads
 * wait while the other bytes are written. (The race detector does not check code.) */
__attribute__((no_sanitize("thread"))) void strobe_detour_patch(uint8_t *at,
                                                                const uint8_t bytes[STROBE_DETOUR_JUMP_BYTES])
{
    size_t within = (uintptr_t)at % 8;
    if (within <= 8 - STROBE_DETOUR_JUMP_BYTES) {
        volatile uint64_t *word = (volatile uint64_t *)(void *)(at - within);
        uint64_t value = *word;
        memcpy((uint8_t *)&value + within, bytes, STROBE_DETOUR_JUMP_BYTES);
        *word = value;
    } else {
        struct {
            uint16_t value;
        } __attribute__((packed)) volatile *first = (void *)at;
        first->value = 0xfeeb; /* jmp to itself */
        reread_code();
        for (int i = 2; i < STROBE_DETOUR_JUMP_BYTES; i++)
            ((volatile uint8_t *)at)[i] = bytes[i];
        reread_code();
        first->value = (uint16_t)(bytes[0] | bytes[1] << 8);
    }
    reread_code();
}

#endif
