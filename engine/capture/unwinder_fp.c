#include "engine/capture/engine.h"

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

/* The stopped instruction comes first, then, for a function without a frame record at that point, its caller. */
static enum strobe_walk_end walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                        const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                        uint32_t *count)
{
    /* Frames are return addresses; the stopped instruction is stored so that it reads as one. */
    uint64_t inner[2] = {regs->pc + 1, 0}, slot;
    uint32_t inner_count = 1;
    uint8_t code[4];
    size_t code_bytes;
    if (host->read(host->ctx, regs->pc, code, sizeof code, &code_bytes) == STROBE_OK &&
        strobe_walk_leaf_slot(regs->sp, code, code_bytes, &slot) && (inner[1] = word_at(stack, slot)) != 0)
        inner_count = 2;
    if (max < inner_count)
        inner_count = max;
    for (uint32_t i = 0; i < inner_count; i++)
        frames_end[-1 - (ptrdiff_t)i] = inner[i];
    enum strobe_walk_end end = strobe_walk_fp(stack, regs->fp, frames_end - inner_count, max - inner_count, count);
    *count += inner_count;
    return end;
}

const struct strobe_unwinder strobe_unwinder_fp = {NULL, walk_copied};
