/* Unwinding by tables, like the engine's Linux backend (unwind_table.h), with the rules that a compiler writes into
 * .eh_frame for code like that of vstack.h. Managed code has no tables; its frames are found by the frame pointer. */
#include "engine/capture/leaf.h"
#include "sim/policy/strobe.h"
#include "sim/runtime/world.h"

static const struct sim_run *run; /* one run at a time */

/* The registers of a frame whose caller is not known yet. */
struct state {
    uint64_t pc, sp, fp;
};

static bool vunwind_read_word(const struct strobe_window *w, uint64_t address, uint64_t *word)
{
    if (address < w->low || address >= w->high || w->high - address < sizeof *word || address & 7)
        return false;
    *word = *(const uint64_t *)(uintptr_t)(address + w->bias);
    return true;
}

/* True while the frame pointer does not belong to the method. The return address is then `*depth` bytes above the stack
 * pointer. `pc` is the next instruction, or lies in the call instruction of a caller. */
static bool goes_by_stack_pointer(uint64_t pc, uint64_t *depth)
{
    uint32_t method = sim_run_method_at(run, pc);
    const struct sim_code *c = method < run->scenario->method_count ? &run->world->code[method] : NULL;
    *depth = 0;
    if (!c || c->managed)
        return false;
    if (c->frameless || pc == c->address || pc == c->address + c->bytes - 1)
        return true;
    if (pc != c->address + SIM_CODE_AFTER_PUSH)
        return false;
    *depth = 8;
    return true;
}

/* True when the code proves that the return address is `*depth` bytes above the stack pointer, as the engine does for
 * code without tables (unwind_table.c). */
static bool proven_by_code(const struct strobe_host *host, const struct strobe_window *w, const struct state *s,
                           uint64_t *depth)
{
    uint8_t code[4];
    size_t bytes;
    uint64_t slot = s->sp, caller;
    if (!host || host->read(host->ctx, s->pc, code, sizeof code, &bytes) != STROBE_OK)
        return false;
    if (!strobe_walk_leaf_slot(s->sp, code, bytes, &slot) &&
        (!vunwind_read_word(w, s->sp, &caller) || !strobe_leaf_proven(host, s->pc, caller)))
        return false;
    *depth = slot - s->sp;
    return true;
}

/* Moves to the caller. `host` may be NULL for a caller, whose code is not read. False: there is no credible caller. */
static bool vunwind_step(const struct strobe_host *host, const struct strobe_window *w, struct state *s, bool called)
{
    uint64_t depth, next_fp = s->fp, cfa;
    if (goes_by_stack_pointer(s->pc - called, &depth) || (!called && proven_by_code(host, w, s, &depth)))
        cfa = s->sp + depth + 8;
    else if (s->fp >= s->sp && vunwind_read_word(w, s->fp, &next_fp))
        cfa = s->fp + 16;
    else
        return false;
    if (depth && !vunwind_read_word(w, s->sp, &next_fp))
        return false;
    if (!vunwind_read_word(w, cfa - 8, &s->pc))
        return false;
    s->sp = cfa;
    s->fp = next_fp;
    return true;
}

static enum strobe_walk_end vunwind_walk(const struct strobe_host *host, const struct strobe_window *w, struct state s,
                                         bool called, uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    frames_end[-1] = called ? s.pc : s.pc + 1;
    *count = 1;
    for (;; called = true) {
        if (!vunwind_step(host, w, &s, called))
            return STROBE_WALK_DOUBTFUL;
        if (!s.pc)
            return STROBE_WALK_ROOT;
        if (*count == max)
            return STROBE_WALK_CUT;
        frames_end[-(ptrdiff_t)++ * count] = s.pc;
    }
}

static enum strobe_walk_end vunwind_walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                              uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    struct state s = {.pc = caller, .sp = frame + 16};
    vunwind_read_word(stack, frame, &s.fp);
    return vunwind_walk(NULL, stack, s, true, frames_end, max, count);
}

static enum strobe_walk_end vunwind_walk_hooked(uint64_t frame, const struct strobe_window *stack, uint64_t *frames_end,
                                                uint32_t max, uint32_t *count)
{
    struct state s = {.sp = frame + 16};
    *count = 0;
    if (!vunwind_read_word(stack, frame, &s.fp) || !vunwind_read_word(stack, frame + 8, &s.pc))
        return STROBE_WALK_DOUBTFUL;
    return vunwind_walk(NULL, stack, s, true, frames_end, max, count);
}

static enum strobe_walk_end vunwind_walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                                const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                                uint32_t *count)
{
    return vunwind_walk(host, stack, (struct state){regs->pc, regs->sp, regs->fp}, false, frames_end, max, count);
}

const struct strobe_unwinder *sim_strobe_unwinder_tables(const struct sim_run *of)
{
    static const struct strobe_unwinder tables = {
        .self = vunwind_walk_self, .hooked = vunwind_walk_hooked, .copied = vunwind_walk_copied};
    run = of;
    return &tables;
}
