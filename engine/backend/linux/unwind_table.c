#include "engine/backend/linux/unwind_table.h"

#include "engine/backend/linux/arm_code.h"
#include "engine/base/hint.h"
#include "engine/capture/leaf.h"

/* ---- a frame ---- */

enum sort { INNERMOST, CALLER, INTERRUPTED };

struct frame {
    uint64_t pc, sp, fp, lr, bx;
    const uint64_t *general; /* all registers; NULL when only those above are known */
    enum sort sort;
    bool fp_known, sp_known, bx_known;
    uint32_t state; /* 32-bit ARM: program status register of the code that was interrupted */
    bool doubtful;  /* an unproven step was taken */
    bool strict;    /* no unproven step out of a caller's frame is taken */
};

enum step { STEPPED, AT_END, OUT_OF_WINDOW, STEP_FAILED };

enum { WORD = STROBE_EH_WORD };

#ifdef STROBE_EH_ARM
typedef uint32_t stack_word;
#else
typedef uint64_t stack_word;
#endif

static STROBE_READS_STACKS inline bool read_stack_word(const struct strobe_window *w, uint64_t address, uint64_t *out)
{
    if (address - w->low >= w->high - w->low || w->high - address < WORD || address & (WORD - 1))
        return false;
    *out = *(const stack_word *)(uintptr_t)(address + w->bias);
    return true;
}

static bool read_base_register(const struct frame *f, uint8_t reg, uint64_t *out)
{
    if (reg == STROBE_EH_SP) {
        *out = f->sp;
        return f->sp_known;
    }
    if (reg == STROBE_EH_FP) {
        *out = f->fp;
        return f->fp_known;
    }
    if (reg == STROBE_EH_BX) {
        *out = f->bx;
        return f->bx_known;
    }
    *out = f->general && reg < STROBE_REGS_GENERAL ? f->general[reg] : 0;
    return f->general && reg < STROBE_REGS_GENERAL;
}

static enum step classify_failed_read(const struct strobe_window *w, uint64_t address)
{
    return address >= w->high || address + WORD > w->high ? OUT_OF_WINDOW : STEP_FAILED;
}

/* Returns whether the rule says that the frame has a record to which the frame pointer leads, and then the canonical
 * frame address. For a frame whose stack pointer is not known. */
static bool find_cfa_by_record(const struct strobe_unwind_rule *r, const struct frame *f, uint64_t *cfa)
{
    *cfa = f->fp - (uint64_t)((int64_t)r->fp_at * WORD);
    return f->sort == CALLER && f->fp_known && r->kind == STROBE_UNWIND_FRAME && r->base == STROBE_EH_SP &&
           r->fp == STROBE_SAVED_AT_CFA && r->ra == STROBE_SAVED_AT_CFA && r->ra_at == r->fp_at + 1;
}

/* Canonical frame address: the caller's stack pointer. */
static enum step find_cfa(const struct strobe_unwind_rule *r, const struct frame *f, const struct strobe_window *w,
                          uint64_t *cfa)
{
    uint64_t base, word;
    if (!read_base_register(f, r->base, &base))
        return find_cfa_by_record(r, f, cfa) ? STEPPED : STEP_FAILED;
    uint64_t at = base + (uint64_t)(int64_t)r->cfa;
    switch (r->kind) {
    case STROBE_UNWIND_FRAME: *cfa = at; return STEPPED;
    case STROBE_UNWIND_PLT: *cfa = at + ((f->pc & 15) >= (uint64_t)r->more ? 8 : 0); return STEPPED;
    case STROBE_UNWIND_DEREF:
        if (!read_stack_word(w, at, &word))
            return classify_failed_read(w, at);
        *cfa = word + (uint64_t)(int64_t)r->more;
        return STEPPED;
    }
    return STEP_FAILED;
}

/* Reads the word in which a register of the caller is saved. */
static enum step read_saved(uint8_t saved, int16_t words, const struct frame *f, uint64_t cfa,
                            const struct strobe_window *w, uint64_t *out)
{
    uint64_t base = saved == STROBE_SAVED_AT_CFA ? cfa : saved == STROBE_SAVED_AT_FP ? f->fp : f->sp;
    if ((saved == STROBE_SAVED_AT_FP && !f->fp_known) || (saved == STROBE_SAVED_AT_SP && !f->sp_known))
        return STEP_FAILED;
    uint64_t at = base + (uint64_t)((int64_t)words * WORD);
    return read_stack_word(w, at, out) ? STEPPED : classify_failed_read(w, at);
}

/* Finds the caller's value of a register that is preserved across calls. *known says whether *value is known, before
 * and after. Compilers do not describe the registers that a function's epilogue has restored. The place of such a
 * register is below the stack pointer, and its value is in the register. */
static void restore_kept(uint8_t saved, int16_t words, const struct frame *f, uint64_t cfa,
                         const struct strobe_window *w, uint64_t *value, bool *known)
{
    if (saved == STROBE_SAVED_LOST || saved == STROBE_SAVED_UNDEFINED)
        *known = false;
    else if (saved != STROBE_SAVED_SAME)
        *known = read_saved(saved, words, f, cfa, w, value) == STEPPED ||
                 (*known && f->sort != CALLER && saved == STROBE_SAVED_AT_CFA &&
                  cfa + (uint64_t)((int64_t)words * WORD) < f->sp);
}

static void leave_frame(struct frame *f, bool by_signal, uint64_t pc, uint64_t sp)
{
    f->pc = strobe_frame_strip(pc);
    f->sp = sp;
    f->sp_known = true;
    f->general = NULL;
    f->sort = by_signal ? INTERRUPTED : CALLER;
}

/* Reads the link register of the function that a signal interrupted, and on 32-bit ARM the state of its code. */
static enum step read_interrupted(const struct strobe_unwind_rule *r, struct frame *f, const struct strobe_window *w,
                                  uint64_t *lr)
{
#if defined(STROBE_EH_X86_64)
    (void)r, (void)f, (void)w;
    *lr = 0;
    return STEPPED;
#elif defined(STROBE_EH_ARM)
    uint64_t state; /* lr, pc and cpsr are neighbours */
    if (read_saved(STROBE_SAVED_AT_SP, (int16_t)(r->ra_at + 1), f, 0, w, &state) != STEPPED)
        return STEP_FAILED;
    f->state = (uint32_t)state;
    return read_saved(STROBE_SAVED_AT_SP, (int16_t)(r->ra_at - 1), f, 0, w, lr);
#else
    enum { SIGNAL_LR_AT = 69 }; /* offset from sp in words, see signal_rule in eh_frame.c */
    (void)r;
    return read_saved(STROBE_SAVED_AT_SP, SIGNAL_LR_AT, f, 0, w, lr);
#endif
}

static enum step step_by_rule(const struct strobe_unwind_rule *r, struct frame *f, const struct strobe_window *w)
{
    const bool by_signal = r->flags & STROBE_UNWIND_SIGNAL;
    uint64_t cfa, pc = f->lr, fp = f->fp, bx = f->bx, lr = 0;
    bool fp_known = f->fp_known, bx_known = f->bx_known;
    enum step how = find_cfa(r, f, w, &cfa);
    if (how != STEPPED)
        return how;
    if (!by_signal && (cfa < f->sp || (cfa == f->sp && f->sort == CALLER)) && f->sp_known)
        return STEP_FAILED;
    if (r->ra == STROBE_SAVED_SAME)
        how = STROBE_EH_RA == 16 || f->sort == CALLER ? STEP_FAILED : STEPPED;
    else
        how = read_saved(r->ra, r->ra_at, f, cfa, w, &pc);
    if (how != STEPPED)
        return how;
    restore_kept(r->fp, r->fp_at, f, cfa, w, &fp, &fp_known);
    restore_kept(r->bx, r->bx_at, f, cfa, w, &bx, &bx_known);
    if (by_signal && read_interrupted(r, f, w, &lr) != STEPPED)
        return STEP_FAILED;
    if (strobe_frame_strip(pc) == 0)
        return AT_END;
    leave_frame(f, by_signal, pc, cfa);
    f->fp = fp;
    f->fp_known = fp_known;
    f->bx = bx;
    f->bx_known = bx_known;
    f->lr = lr;
    return STEPPED;
}

/* ---- by the frame pointer ---- */

static enum step step_by_fp(struct frame *f, const struct strobe_window *w)
{
    uint64_t fp = strobe_frame_pointer(f->fp), next, pc;
    if (!f->fp_known || fp < f->sp)
        return fp == 0 && f->fp_known ? AT_END : STEP_FAILED;
    if (!read_stack_word(w, fp, &next) || !read_stack_word(w, fp + WORD, &pc))
        return classify_failed_read(w, fp + WORD);
    if (strobe_frame_strip(pc) == 0)
        return AT_END;
    leave_frame(f, false, pc, fp + 2 * WORD);
    f->bx_known = false;
    f->sp_known = STROBE_EH_RA == 16; /* ARM: a record may be anywhere in its frame */
    f->fp = next;
    return STEPPED;
}

#ifdef STROBE_EH_X86_64

/* Steps out of a function that has no frame record yet or any more. The present instruction shows that it has just
 * begun or is about to return. */
static bool step_by_code(const struct strobe_host *host, struct frame *f, const struct strobe_window *w)
{
    uint8_t code[4];
    size_t bytes;
    uint64_t slot, pc, fp = f->fp;
    if (!host || host->read(host->ctx, f->pc, code, sizeof code, &bytes) != STROBE_OK ||
        !strobe_walk_leaf_slot(f->sp, code, bytes, &slot) || !read_stack_word(w, slot, &pc) || pc == 0)
        return false;
    if (slot != f->sp && !read_stack_word(w, f->sp, &fp))
        return false;
    leave_frame(f, false, pc, slot + 8);
    f->fp = fp;
    return true;
}

/* Steps out of a leaf function without a frame record. Its return address is on top of the stack, and the frame pointer
 * is its caller's. Generated code has no rules, so the code itself must prove that the function is such a leaf. */
static bool step_from_leaf(const struct strobe_host *host, struct frame *f, const struct strobe_window *w)
{
    uint64_t pc;
    if (!host || !f->sp_known || !read_stack_word(w, f->sp, &pc) || pc - w->low < w->high - w->low ||
        !strobe_leaf_proven(host, f->pc, pc))
        return false;
    leave_frame(f, false, pc, f->sp + 8);
    return true;
}

#endif

static enum step step_without_rule(const struct strobe_unwind_rule *r, const struct strobe_host *host, struct frame *f,
                                   const struct strobe_window *w)
{
#ifdef STROBE_EH_X86_64
    if (f->sort != CALLER && (step_by_code(host, f, w) || step_from_leaf(host, f, w)))
        return STEPPED;
    bool proven = r->kind == STROBE_UNWIND_BY_FP;
#else
    (void)host;
    bool proven = r->kind == STROBE_UNWIND_BY_FP && f->sort == CALLER; /* leaf functions have no record */
#endif
    if (!proven && f->strict && f->sort == CALLER)
        return STEP_FAILED;
    if (!proven)
        f->doubtful = true;
    return step_by_fp(f, w);
}

/* ---- walks ---- */

#ifdef STROBE_EH_ARM

/* A table's rule holds where a function calls. The code shows the rule of an instruction that was interrupted. */
static void refine_rule(struct strobe_unwind_index *x, const struct strobe_host *host, const struct frame *f,
                        struct strobe_unwind_rule *r)
{
    struct strobe_arm_place place = {.pc = f->pc, .lr = f->lr, .state = f->state};
    if (f->sort != CALLER && host && strobe_unwind_index_range(x, f->pc, &place.start, &place.end))
        *r = strobe_arm_code_rule(host, &place, r);
}

#else

static void refine_rule(struct strobe_unwind_index *x, const struct strobe_host *host, const struct frame *f,
                        struct strobe_unwind_rule *r)
{
    (void)x, (void)host, (void)f, (void)r;
}

#endif

static enum step step_once(struct strobe_unwind_index *x, const struct strobe_host *host, struct frame *f,
                           const struct strobe_window *w)
{
    struct strobe_unwind_rule r = strobe_unwind_index_find(x, f->pc - (f->sort == CALLER));
    refine_rule(x, host, f, &r);
    if (strobe_unlikely(r.kind == STROBE_UNWIND_NONE || r.kind == STROBE_UNWIND_BY_FP))
        return step_without_rule(&r, host, f, w);
    return r.kind == STROBE_UNWIND_END ? AT_END : step_by_rule(&r, f, w);
}

static enum strobe_walk_end walk_end(enum step how, const struct frame *f, const struct strobe_window *w)
{
    if (f->doubtful)
        return STROBE_WALK_DOUBTFUL;
    if (how == AT_END || (w->root && f->sp >= w->root))
        return STROBE_WALK_ROOT;
    return how == OUT_OF_WINDOW ? STROBE_WALK_CUT : STROBE_WALK_DOUBTFUL;
}

/* `places_end`: NULL, or receives the stack pointer in each frame, which is the canonical frame address of its callee.
 */
static inline enum strobe_walk_end walk_frames(struct strobe_unwind_index *x, const struct strobe_host *host,
                                               struct frame *f, const struct strobe_window *w, uint64_t *frames_end,
                                               uint64_t *places_end, uint32_t max, uint32_t *count)
{
    uint32_t n = 0;
    enum step how = STEPPED;
    while (n < max && how == STEPPED) {
        frames_end[-(ptrdiff_t)++n] = f->sort == CALLER ? f->pc : f->pc + 1;
        if (places_end)
            places_end[-(ptrdiff_t)n] = f->sp;
        how = step_once(x, host, f, w);
    }
    *count = n;
    return how == STEPPED ? STROBE_WALK_CUT : walk_end(how, f, w);
}

static struct frame frame_at(const struct strobe_regs *regs, enum strobe_walk_from from)
{
    struct frame f = {.pc = strobe_frame_strip(regs->pc),
                      .sp = regs->sp,
                      .fp = regs->fp,
                      .lr = regs->lr,
                      .sort = from == STROBE_FROM_INSTRUCTION ? INNERMOST : CALLER,
                      .fp_known = true,
                      .sp_known = from != STROBE_FROM_RECORD || STROBE_EH_RA == 16};
    if (f.sort == CALLER && from != STROBE_FROM_BODY)
        return f;
    f.general = regs->general;
    f.state = (uint32_t)regs->general[STROBE_EH_ARM_STATE];
#ifndef __aarch64__
    f.bx = regs->general[STROBE_EH_BX];
    f.bx_known = true;
#endif
    return f;
}

enum strobe_walk_end strobe_walk_table(struct strobe_unwind_index *x, const struct strobe_host *host,
                                       const struct strobe_regs *regs, const struct strobe_window *window,
                                       uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    struct frame f = frame_at(regs, STROBE_FROM_INSTRUCTION);
    return walk_frames(x, host, &f, window, frames_end, NULL, max, count);
}

enum strobe_walk_end strobe_walk_table_placed(struct strobe_unwind_index *x, const struct strobe_host *host,
                                              const struct strobe_regs *regs, enum strobe_walk_from from,
                                              const struct strobe_window *window, uint64_t *frames_end,
                                              uint64_t *places_end, uint32_t max, uint32_t *count)
{
    struct frame f = frame_at(regs, from);
    f.strict = true;
    return walk_frames(x, host, &f, window, frames_end, places_end, max, count);
}

bool strobe_walk_table_leave(struct strobe_unwind_index *x, uint64_t base, const struct strobe_window *window,
                             struct strobe_regs *at)
{
    struct frame f = frame_at(at, STROBE_FROM_RECORD);
    struct strobe_unwind_rule r = strobe_unwind_index_find(x, f.pc - 1);
    uint64_t general[STROBE_REGS_GENERAL] = {0};
    if (r.kind != STROBE_UNWIND_FRAME || r.base >= STROBE_REGS_GENERAL || r.base == STROBE_EH_SP ||
        r.base == STROBE_EH_FP)
        return false;
    general[r.base] = base;
    f.general = general;
    f.fp_known = false;
    if (step_by_rule(&r, &f, window) != STEPPED || !f.fp_known)
        return false;
    at->pc = f.pc;
    at->sp = f.sp;
    at->fp = f.fp;
    return true;
}

/* ---- the unwinder ---- */

static struct strobe_unwind_index *used_index;

void strobe_unwind_table_use(struct strobe_unwind_index *x)
{
    used_index = x;
}

static enum strobe_walk_end walk_copied(const struct strobe_host *host, const struct strobe_regs *regs,
                                        const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                        uint32_t *count)
{
    return strobe_walk_table(used_index, host, regs, stack, frames_end, max, count);
}

/* The hook's frame record leads to the hook's caller, because the engine is built with frame pointers. */
static enum strobe_walk_end walk_hooked(uint64_t frame, const struct strobe_window *stack, uint64_t *frames_end,
                                        uint32_t max, uint32_t *count)
{
    struct frame f = {.sp = frame, .fp = frame, .sort = CALLER, .fp_known = true};
    enum step how = step_by_fp(&f, stack);
    *count = 0;
    return how == STEPPED ? walk_frames(used_index, NULL, &f, stack, frames_end, NULL, max, count)
                          : walk_end(how, &f, stack);
}

static enum strobe_walk_end walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                      uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    (void)caller;
    return walk_hooked(frame, stack, frames_end, max, count);
}

const struct strobe_unwinder strobe_unwinder_table = {
    .self = walk_self,
    .hooked = walk_hooked,
    .copied = walk_copied,
};
