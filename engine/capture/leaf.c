#include "engine/capture/leaf.h"

#include "engine/capture/frame_state.h"
#include "engine/capture/x86_code.h"

#include <string.h>

#if defined(STROBE_FRAMES_X86) && defined(__i386__)

enum { CALL_BYTES = 5, STEP = 1 }; /* call rel32; an instruction may begin at every byte */

static bool decode_direct_call(const uint8_t *code, uint64_t next, uint64_t *target)
{
    int32_t distance;
    memcpy(&distance, code + 1, sizeof distance);
    *target = next + (uint64_t)(int64_t)distance;
    return code[0] == 0xe8;
}

/* push %ebp; mov %esp,%ebp */
static bool sets_frame(const uint8_t *code, size_t bytes)
{
    static const uint8_t both[] = {0x55, 0x89, 0xe5};
    return bytes >= sizeof both && !memcmp(code, both, sizeof both);
}

#elif defined(STROBE_FRAMES_ARM64)

enum { CALL_BYTES = 4, STEP = 4 }; /* bl */

static bool decode_direct_call(const uint8_t *code, uint64_t next, uint64_t *target)
{
    uint32_t word;
    memcpy(&word, code, sizeof word);
    int64_t words = (int64_t)((uint64_t)(word & 0x03ffffff) << 38) >> 38;
    *target = next - CALL_BYTES + (uint64_t)(words * 4);
    return word >> 26 == 0x25;
}

/* stp x29, x30, [sp, ...], with or without pre-index */
static bool sets_frame(const uint8_t *code, size_t bytes)
{
    uint32_t word;
    if (bytes < sizeof word)
        return false;
    memcpy(&word, code, sizeof word);
    return (word & 0xfe407fff) == 0xa8007bfd;
}

#elif !defined(STROBE_FRAMES_X86)

enum { CALL_BYTES = 4, STEP = 4 };

static bool decode_direct_call(const uint8_t *code, uint64_t next, uint64_t *target)
{
    (void)code, (void)next, (void)target;
    return false;
}

static bool sets_frame(const uint8_t *code, size_t bytes)
{
    (void)code, (void)bytes;
    return false;
}

#endif

static bool leaf_read_memory(const struct strobe_host *host, uint64_t address, void *out, size_t bytes)
{
    size_t copied;
    return host->read(host->ctx, address, out, bytes, &copied) == STROBE_OK && copied == bytes;
}

#if defined(STROBE_FRAMES_X86) && !defined(__i386__)

enum {
    CALL_BYTES = 13,   /* the longest call with a known target: mov $imm64,%r10; call *%r10 */
    WINDOW_BYTES = 96, /* bytes of code that are read at once; small, because this runs in signal handlers */
    JUMPS_MAX = 2,     /* a call may lead through a linkage table or a stub */
};

static uint64_t relative_to(uint64_t next, const uint8_t *distance_at)
{
    int32_t distance;
    memcpy(&distance, distance_at, sizeof distance);
    return next + (uint64_t)(int64_t)distance;
}

/* Recognises mov $imm64,%reg before a call through that register; the call takes `call_bytes`. */
static bool loads_target(const uint8_t *end, size_t call_bytes, uint8_t rex, uint8_t reg, uint64_t *target)
{
    const uint8_t *mov = end - call_bytes - 10;
    memcpy(target, mov + 2, sizeof *target);
    return mov[0] == rex && mov[1] == (0xb8 | reg);
}

/* Finds the target of the call that ends at `next`, the address after the bytes at `code`. Returns false when the bytes
 * are no call, or the target is unknown. */
static bool find_call_target(const struct strobe_host *host, const uint8_t code[CALL_BYTES], uint64_t next,
                             uint64_t *target)
{
    const uint8_t *end = code + CALL_BYTES;
    if (end[-5] == 0xe8) { /* call rel32 */
        *target = relative_to(next, end - 4);
        return true;
    }
    if (end[-6] == 0xff && end[-5] == 0x15) /* call *disp32(%rip): the target is read from memory */
        return leaf_read_memory(host, relative_to(next, end - 4), target, sizeof *target);
    if (end[-3] == 0x41 && end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0)
        return loads_target(end, 3, 0x49, end[-1] & 7, target);
    return end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0 && loads_target(end, 2, 0x48, end[-1] & 7, target);
}

/* Follows the jumps of a linkage table or a stub. */
static void follow_jumps(const struct strobe_host *host, uint64_t *start)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t code[10];
    for (int i = 0; i < JUMPS_MAX && leaf_read_memory(host, *start, code, sizeof code); i++) {
        size_t skip = memcmp(code, endbr64, sizeof endbr64) ? 0 : sizeof endbr64;
        const uint8_t *jump = code + skip;
        if (jump[0] == 0xe9)
            *start = relative_to(*start + skip + 5, jump + 1);
        else if (jump[0] != 0xff || jump[1] != 0x25 ||
                 !leaf_read_memory(host, relative_to(*start + skip + 6, jump + 2), start, sizeof *start))
            return;
    }
}

/* Returns true when no instruction from `start` to `pc` changes the stack pointer or the frame pointer, and an
 * instruction begins at `pc`. */
static bool keeps_stack(const struct strobe_host *host, uint64_t start, uint64_t pc)
{
    uint8_t code[WINDOW_BYTES];
    uint64_t window = start;
    size_t bytes = 0;
    uint32_t length;
    for (uint64_t at = start; at != pc; at += length) {
        if (at > pc)
            return false;
        if (at - window + STROBE_X86_BYTES_MAX > bytes) {
            window = at;
            if (host->read(host->ctx, at, code, sizeof code, &bytes) != STROBE_OK)
                return false;
        }
        size_t skip = (size_t)(at - window);
        if (strobe_x86_decode(code + skip, bytes - skip, &length) != STROBE_X86_NOTHING)
            return false;
    }
    return true;
}

bool strobe_leaf_proven(const struct strobe_host *host, uint64_t pc, uint64_t candidate)
{
    uint8_t call[CALL_BYTES];
    uint64_t start;
    if (candidate < 4096 || !leaf_read_memory(host, candidate - CALL_BYTES, call, sizeof call) ||
        !find_call_target(host, call, candidate, &start))
        return false;
    if (pc - start > STROBE_LEAF_BYTES_MAX)
        follow_jumps(host, &start);
    return pc - start <= STROBE_LEAF_BYTES_MAX && keeps_stack(host, start, pc);
}

#else

bool strobe_leaf_proven(const struct strobe_host *host, uint64_t pc, uint64_t candidate)
{
    uint8_t call[CALL_BYTES], code[STROBE_LEAF_BYTES_MAX];
    uint64_t start;
    if (candidate < 4096 || !leaf_read_memory(host, candidate - CALL_BYTES, call, CALL_BYTES) ||
        !decode_direct_call(call, candidate, &start) || start > pc || pc - start > sizeof code)
        return false;
    size_t bytes = (size_t)(pc - start);
    if (bytes && !leaf_read_memory(host, start, code, bytes))
        return false;
    for (size_t i = 0; i < bytes; i += STEP)
        if (sets_frame(code + i, bytes - i))
            return false;
    return true;
}

#endif

/* Reads one word of the copied stack. Returns 0 outside it. */
static uint64_t leaf_word_at(const struct strobe_window *stack, uint64_t address)
{
    uintptr_t word;
    if (address < stack->low || stack->high - stack->low < sizeof word || address > stack->high - sizeof word)
        return 0;
    memcpy(&word, (const void *)(uintptr_t)(address + stack->bias), sizeof word);
    return word;
}

#ifdef STROBE_FRAMES_ARM64

/* Returns the return address that an answer describes, or 0 when it cannot be read. */
static uint64_t address_in_answer(const struct strobe_regs *regs, const struct strobe_window *stack,
                                  enum strobe_frame_state state, const struct strobe_frame_answer *answer)
{
    uint64_t address = state == STROBE_FRAME_SAVED ? leaf_word_at(stack, answer->slot)
                       : answer->reg == 30         ? regs->lr
                                                   : regs->general[answer->reg];
    return strobe_frame_strip(address);
}

uint32_t strobe_leaf_callers(const struct strobe_host *host, const struct strobe_regs *regs,
                             const struct strobe_window *stack, uint64_t callers[STROBE_LEAF_CALLERS_MAX],
                             bool *complete)
{
    struct strobe_frame_query q = {.pc = strobe_frame_strip(regs->pc),
                                   .fp = strobe_frame_pointer(regs->fp),
                                   .sp = regs->sp,
                                   .lr = strobe_frame_strip(regs->lr)};
    struct strobe_frame_answer answer;
    for (uint32_t n = 0; n < STROBE_LEAF_CALLERS_MAX; n++) {
        enum strobe_frame_state state = strobe_frame_state_arm64(host, &q, &answer);
        bool by_proof =
            n == 0 && state == STROBE_FRAME_UNKNOWN && strobe_leaf_proven(host, q.pc, strobe_frame_strip(regs->lr));
        if (by_proof)
            answer.reg = 30;
        else if (state == STROBE_FRAME_KEPT || state == STROBE_FRAME_UNKNOWN) {
            *complete = n || state == STROBE_FRAME_KEPT;
            return n;
        }
        uint64_t caller = address_in_answer(regs, stack, state, &answer);
        if (!strobe_frame_returns_arm64(host, caller)) {
            *complete = caller == 0 && state == STROBE_FRAME_NONE; /* the first function of the thread */
            return n;
        }
        callers[n] = caller;
        if (state == STROBE_FRAME_NONE && answer.slot) {
            uint64_t second = strobe_frame_strip(leaf_word_at(stack, answer.slot));
            *complete = true;
            if (second != caller && n + 1 < STROBE_LEAF_CALLERS_MAX && strobe_frame_returns_arm64(host, second))
                callers[++n] = second;
            return n + 1;
        }
        q = (struct strobe_frame_query){.pc = caller, .fp = q.fp, .sp = answer.sp_after, .called = true};
    }
    *complete = true;
    return STROBE_LEAF_CALLERS_MAX;
}

#else

uint32_t strobe_leaf_callers(const struct strobe_host *host, const struct strobe_regs *regs,
                             const struct strobe_window *stack, uint64_t callers[STROBE_LEAF_CALLERS_MAX],
                             bool *complete)
{
    uint8_t code[4];
    size_t code_bytes;
    uint64_t slot;
    *complete = true;
    callers[0] = 0;
    if (host->read(host->ctx, regs->pc, code, sizeof code, &code_bytes) != STROBE_OK)
        return 0;
    if (strobe_walk_leaf_slot(regs->sp, code, code_bytes, &slot)) {
        callers[0] = leaf_word_at(stack, slot);
    } else {
        uint64_t candidate = regs->lr ? regs->lr : leaf_word_at(stack, regs->sp);
        if (strobe_leaf_proven(host, regs->pc, candidate))
            callers[0] = candidate;
    }
    return callers[0] != 0;
}

#endif
