#include "engine/capture/engine.h"
#include "engine/capture/leaf.h"

#include <string.h>

/* Reads one word of the copied stack; 0 outside it. */
static uint64_t word_at(const struct strobe_window *stack, uint64_t address)
{
    if (address < stack->low || stack->high - stack->low < 8 || address > stack->high - 8)
        return 0;
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)(address + stack->bias), sizeof word);
    return word;
}

/* The caller of a function without a frame record at the point where it was stopped: because it has just begun or is
 * about to return, or because it never makes one. 0 when it has one. */
static uint64_t unrecorded_caller(const struct strobe_host *host, const struct strobe_regs *regs,
                                  const struct strobe_window *stack)
{
    uint8_t code[4];
    size_t code_bytes;
    uint64_t slot;
    if (host->read(host->ctx, regs->pc, code, sizeof code, &code_bytes) != STROBE_OK)
        return 0;
    if (strobe_walk_leaf_slot(regs->sp, code, code_bytes, &slot))
        return word_at(stack, slot);
    uint64_t candidate = strobe_frame_strip(regs->lr ? regs->lr : word_at(stack, regs->sp));
    return strobe_leaf_proven(host, regs->pc, candidate) ? candidate : 0;
}

/* The stopped instruction comes first, then a caller that no frame record tells of. */
static enum strobe_walk_end walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                        const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                        uint32_t *count)
{
    /* Frames are return addresses; the stopped instruction is stored so that it reads as one. */
    uint64_t inner[2] = {regs->pc + 1, unrecorded_caller(host, regs, stack)};
    uint32_t inner_count = inner[1] ? 2 : 1;
    if (max < inner_count)
        inner_count = max;
    for (uint32_t i = 0; i < inner_count; i++)
        frames_end[-1 - (ptrdiff_t)i] = inner[i];
    enum strobe_walk_end end = strobe_walk_fp(stack, regs->fp, frames_end - inner_count, max - inner_count, count);
    *count += inner_count;
    return end;
}

const struct strobe_unwinder strobe_unwinder_fp = {.copied = walk_copied};
