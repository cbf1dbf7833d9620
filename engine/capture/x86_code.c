#include "engine/capture/x86_code.h"

/* An opcode map as bits, 32 opcodes a word. */
#define HAS(map, opcode) ((map)[(opcode) >> 5] >> ((opcode)&31) & 1)

enum { RSP = 4, RBP = 5, REX_W = 8, REX_R = 4, REX_B = 1 };

/* ---- the one-byte map ---- */

/* Includes int3 and hlt, which pad functions, and prefixes, because none of these may follow a REX prefix. */
static const uint32_t one_invalid[8] = {0xc0c040c0u, 0xc0c0c0c0u, 0x0000ffffu, 0x000000f3u,
                                        0x04000004u, 0x00000000u, 0x00705000u, 0x001f0400u};
static const uint32_t one_modrm[8] = {0x0f0f0f0fu, 0x0f0f0f0fu, 0x00000000u, 0x00000a08u,
                                      0x0000ffffu, 0x00000000u, 0xff0f00c3u, 0xc0c00000u};
static const uint32_t one_imm8[8] = {0x10101010u, 0x10101010u, 0x00000000u, 0xffff0c00u,
                                     0x00000009u, 0x00ff0100u, 0x00002043u, 0x000008ffu};
static const uint32_t one_imm32[8] = {0x20202020u, 0x20202020u, 0x00000000u, 0x00000300u,
                                      0x00000002u, 0xff000200u, 0x00000080u, 0x00000000u};
/* push, pop, pushf, popf, pop m, enter, leave, call; far and interrupt returns, interrupts */
static const uint32_t one_stack[8] = {0x00000000u, 0x00000000u, 0xffff0000u, 0x00000500u,
                                      0x30008000u, 0x00000000u, 0x0000af00u, 0x00000100u};

/* ---- the 0f map ---- */

/* Includes ud2, because execution does not continue after it. */
static const uint32_t two_invalid[8] = {0x0000dc10u, 0xfa4000f0u, 0x00000000u, 0x00000000u,
                                        0x00000000u, 0x000000c0u, 0x00000000u, 0x80000000u};
static const uint32_t two_plain[8] = {0x000003e0u, 0x00ff0000u, 0x00000000u, 0x00800000u,
                                      0x00000000u, 0x00000707u, 0x0000ff00u, 0x00000000u};
static const uint32_t two_imm8[8] = {0x00000000u, 0x00000000u, 0x00000000u, 0x000f0000u,
                                     0x00000000u, 0x04001010u, 0x00000074u, 0x00000000u};

/* Returns true when the instruction writes a general register: the one in modrm.reg, or (writes_rm) the one that
 * modrm.rm names. */
static bool writes_reg(const struct strobe_x86_parts *r)
{
    uint8_t op = r->opcode;
    if (r->vector)
        return false;
    if (r->map == STROBE_X86_ONE_BYTE)
        return (op < 0x38 && (op & 7) >= 2 && (op & 7) <= 3) || op == 0x63 || op == 0x69 || op == 0x6b || op == 0x86 ||
               op == 0x87 || op == 0x8a || op == 0x8b || op == 0x8d;
    if (r->map != STROBE_X86_0F)
        return r->map == STROBE_X86_0F38 && op >= 0xf0;
    return op == 0x02 || op == 0x03 || (op >= 0x2c && op <= 0x2d) || (op >= 0x40 && op < 0x51) || op == 0xaf ||
           op == 0xc0 || op == 0xc1 || (op >= 0xb6 && op <= 0xb8) || (op >= 0xbc && op <= 0xbf) || op == 0xc5 ||
           op == 0xd7;
}

static bool writes_rm(const struct strobe_x86_parts *r)
{
    uint8_t op = r->opcode, extension = r->modrm >> 3 & 7;
    if (r->vector)
        return false;
    if (r->map == STROBE_X86_0F3A)
        return op >= 0x14 && op <= 0x17;
    if (r->map == STROBE_X86_0F)
        return op < 0x02 || op == 0x7e || (op >= 0x90 && op < 0xa0) || (op >= 0xa4 && op <= 0xa5) ||
               (op >= 0xab && op <= 0xad) || op == 0xb0 || op == 0xb1 || op == 0xb3 || op == 0xba || op == 0xbb ||
               op == 0xc0 || op == 0xc1;
    if (r->map != STROBE_X86_ONE_BYTE)
        return false;
    if (op >= 0x80 && op <= 0x83)
        return extension != 7;
    if (op == 0xf6 || op == 0xf7)
        return extension == 2 || extension == 3;
    return (op < 0x38 && (op & 7) < 2) || op == 0x86 || op == 0x87 || op == 0x88 || op == 0x89 || op == 0x8c ||
           (op >= 0xc0 && op <= 0xc1) || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || op == 0xfe ||
           (op == 0xff && extension < 2);
}

static bool is_frame_register(unsigned number, bool extended)
{
    return !extended && (number == RSP || number == RBP);
}

static bool touches_stack(const struct strobe_x86_parts *r)
{
    uint8_t op = r->opcode;
    if (r->has_modrm) {
        if (writes_reg(r) && is_frame_register(r->modrm >> 3 & 7, r->rex & REX_R))
            return true;
        if (writes_rm(r) && r->modrm >> 6 == 3 && is_frame_register(r->modrm & 7, r->rex & REX_B))
            return true;
    }
    if (r->map == STROBE_X86_0F)
        return (op & 0xf6) == 0xa0 || op == 0x05 ||
               (op >= 0xc8 && op < 0xd0 && is_frame_register(op & 7, r->rex & REX_B));
    if (r->map != STROBE_X86_ONE_BYTE)
        return false;
    if (op == 0xff)
        return (r->modrm >> 3 & 7) == 2 || (r->modrm >> 3 & 7) == 3 || (r->modrm >> 3 & 7) == 6;
    if ((op >= 0x90 && op < 0x98) || op >= 0xb8)
        return (op < 0xc0 && is_frame_register(op & 7, r->rex & REX_B)) || (op >= 0xc0 && HAS(one_stack, op));
    return HAS(one_stack, op);
}

/* ---- parts of an instruction ---- */

static bool take_code_byte(struct strobe_x86_parts *r, uint8_t *out)
{
    if (r->at >= r->bytes)
        return false;
    *out = r->code[r->at++];
    return true;
}

/* Prefixes, escapes and the opcode. */
static bool read_opcode(struct strobe_x86_parts *r)
{
    uint8_t byte, next;
    do {
        if (!take_code_byte(r, &byte))
            return false;
        r->operand_16 |= byte == 0x66;
        r->address_32 |= byte == 0x67;
    } while (byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || (byte & 0xe7) == 0x26 ||
             byte == 0x64 || byte == 0x65);
    if ((byte & 0xf0) == 0x40) {
        r->rex = byte & 0x0f;
        if (!take_code_byte(r, &byte))
            return false;
    }
    r->vector = byte == 0x62 || byte == 0xc4 || byte == 0xc5;
    if (r->vector) {
        if (!take_code_byte(r, &next))
            return false;
        r->map = byte == 0xc5 ? STROBE_X86_0F : (enum strobe_x86_map)(next & (byte == 0xc4 ? 0x1f : 7));
        for (int skipped = byte == 0x62 ? 2 : byte == 0xc4; skipped; skipped--)
            if (!take_code_byte(r, &next))
                return false;
        return r->map >= STROBE_X86_0F && r->map <= STROBE_X86_0F3A && take_code_byte(r, &r->opcode);
    }
    r->opcode = byte;
    if (byte != 0x0f)
        return true;
    r->map = STROBE_X86_0F;
    if (!take_code_byte(r, &r->opcode))
        return false;
    if (r->opcode != 0x38 && r->opcode != 0x3a)
        return true;
    r->map = r->opcode == 0x38 ? STROBE_X86_0F38 : STROBE_X86_0F3A;
    return take_code_byte(r, &r->opcode);
}

static bool known_opcode(const struct strobe_x86_parts *r)
{
    if (r->map == STROBE_X86_ONE_BYTE)
        return !HAS(one_invalid, r->opcode);
    return r->map != STROBE_X86_0F || r->vector || !HAS(two_invalid, r->opcode);
}

static bool wants_modrm(const struct strobe_x86_parts *r)
{
    uint8_t op = r->opcode;
    if (r->map == STROBE_X86_ONE_BYTE)
        return HAS(one_modrm, op);
    if (r->map != STROBE_X86_0F)
        return true;
    return r->vector ? op != 0x77 : !HAS(two_plain, op) && (op & 0xf0) != 0x80;
}

static bool read_modrm(struct strobe_x86_parts *r)
{
    uint8_t sib = 0;
    r->has_modrm = wants_modrm(r);
    if (!r->has_modrm)
        return true;
    if (!take_code_byte(r, &r->modrm))
        return false;
    unsigned mod = r->modrm >> 6, rm = r->modrm & 7;
    if (mod == 3)
        return true;
    if (rm == 4 && !take_code_byte(r, &sib))
        return false;
    bool no_base = mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5));
    if (mod == 0 && rm == 5)
        r->displacement = (uint8_t)r->at;
    r->at += no_base || mod == 2 ? 4 : mod;
    return true;
}

static size_t immediate_bytes(const struct strobe_x86_parts *r)
{
    uint8_t op = r->opcode;
    size_t word = r->operand_16 && !(r->rex & REX_W) ? 2 : 4;
    if (r->map == STROBE_X86_0F3A)
        return 1;
    if (r->map == STROBE_X86_0F38)
        return 0;
    if (r->map == STROBE_X86_0F)
        return !r->vector && (op & 0xf0) == 0x80 ? 4 : r->vector && (op & 0xfe) == 0xa4 ? 0 : HAS(two_imm8, op);
    if (op >= 0xb8 && op < 0xc0 && r->rex & REX_W)
        return 8;
    if (op == 0xc2 || op == 0xca)
        return 2;
    if (op == 0xc8)
        return 3;
    if (op >= 0xa0 && op < 0xa4)
        return r->address_32 ? 4 : 8;
    if (op == 0xe8 || op == 0xe9)
        return 4;
    if (op == 0xf6 || op == 0xf7)
        return r->modrm & 0x30 ? 0 : op == 0xf6 ? 1 : word;
    return HAS(one_imm8, op) ? 1 : HAS(one_imm32, op) ? word : 0;
}

bool strobe_x86_parse(const uint8_t *code, size_t bytes, struct strobe_x86_parts *out)
{
    *out = (struct strobe_x86_parts){.code = code, .bytes = bytes};
    if (!read_opcode(out) || !known_opcode(out) || !read_modrm(out))
        return false;
    out->at += immediate_bytes(out);
    return out->at <= bytes && out->at <= STROBE_X86_BYTES_MAX;
}

enum strobe_x86_effect strobe_x86_decode(const uint8_t *code, size_t bytes, uint32_t *length)
{
    struct strobe_x86_parts parts;
    *length = 0;
    if (!strobe_x86_parse(code, bytes, &parts))
        return STROBE_X86_UNKNOWN;
    *length = (uint32_t)parts.at;
    return touches_stack(&parts) ? STROBE_X86_STACK : STROBE_X86_NOTHING;
}
