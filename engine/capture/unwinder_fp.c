#include "engine/capture/engine.h"
#include "engine/capture/leaf.h"

/* Stores the stopped instruction first, then the callers without a frame record, then the walk. */
static enum strobe_walk_end walk_copied_frames(const struct strobe_host *host, const struct strobe_regs *regs,
                                               const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                               uint32_t *count)
{
    /* Frames are return addresses. The address of the stopped instruction is stored as pc + 1, so that it reads like
     * one. */
    uint64_t inner[1 + STROBE_LEAF_CALLERS_MAX] = {strobe_frame_strip(regs->pc) + 1};
    bool complete;
    uint32_t inner_count = 1 + strobe_leaf_callers(host, regs, stack, inner + 1, &complete);
    if (max < inner_count)
        inner_count = max;
    for (uint32_t i = 0; i < inner_count; i++)
        frames_end[-1 - (ptrdiff_t)i] = inner[i];
    struct strobe_window above = *stack;
    if (above.low < regs->sp && regs->sp < above.high)
        above.low = regs->sp & ~(uint64_t)(sizeof(uintptr_t) - 1); /* no frame record is in the red zone */
    enum strobe_walk_end end = strobe_walk_fp(&above, regs->fp, frames_end - inner_count, max - inner_count, count);
    *count += inner_count;
    return end == STROBE_WALK_ROOT && !complete ? STROBE_WALK_DOUBTFUL : end;
}

const struct strobe_unwinder strobe_unwinder_fp = {.copied = walk_copied_frames};
