#include "engine/backend/mach/host_mach.h"
#include "engine/base/hint.h"
#include "engine/capture/leaf.h"

#include <string.h>

/* ---- a stack of unknown bounds: read by the host's `read`, which never faults */

enum {
    PIECE_BYTES = 512,
    PIECES_MAX = 64,           /* maximum of reads for one stack */
    FRAME_BYTES_MAX = 1 << 20, /* a frame pointer further away does not point to a frame record */
};

/* The part of a stack that was read last. */
struct piece {
    const struct strobe_host *host;
    uint64_t low;
    size_t bytes;
    uint32_t left; /* reads that remain of PIECES_MAX */
    uintptr_t word[PIECE_BYTES / sizeof(uintptr_t)];
};

static bool read_record(struct piece *p, uint64_t fp, struct strobe_frame_record *out)
{
    bool here = fp >= p->low && p->bytes >= sizeof *out && fp - p->low <= p->bytes - sizeof *out;
    if (!here) {
        if (!p->left)
            return false;
        p->left--;
        p->low = fp;
        if (p->host->read(p->host->ctx, fp, p->word, sizeof p->word, &p->bytes) != STROBE_OK)
            p->bytes = 0;
        if (p->bytes < sizeof *out)
            return false;
    }
    memcpy(out, (const char *)p->word + (fp - p->low), sizeof *out);
    return true;
}

/* Walks frame records as strobe_walk_fp does. The first record lies at or above the stack pointer. */
static enum strobe_walk_end walk_unknown(const struct strobe_host *host, const struct strobe_regs *regs, uint64_t root,
                                         uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    struct piece p = {.host = host, .left = PIECES_MAX};
    struct strobe_frame_record r;
    uint64_t fp = strobe_frame_pointer(regs->fp), from = regs->sp, last = 0;
    for (*count = 0; !(fp & (sizeof(uintptr_t) - 1)) && fp >= from && fp - from <= FRAME_BYTES_MAX;) {
        if (!read_record(&p, fp, &r))
            break;
        uint64_t address = strobe_frame_strip(r.return_address), next = strobe_frame_pointer(r.next);
        if (address == 0)
            return STROBE_WALK_ROOT;
        if (*count == max)
            return STROBE_WALK_CUT;
        frames_end[-(ptrdiff_t)++ * count] = address;
        last = fp;
        if (next == 0)
            return STROBE_WALK_ROOT;
        from = fp + 1;
        fp = next;
    }
    return root && last >= root ? STROBE_WALK_ROOT : STROBE_WALK_DOUBTFUL;
}

/* ---- while the thread is suspended */

/* Copies word by word, because memcpy may be a sanitizer's. `bytes` is a multiple of the word size. */
static STROBE_READS_STACKS void copy_words(void *to, const volatile uintptr_t *from, size_t bytes)
{
    uintptr_t *out = to;
    for (size_t i = 0; i < bytes / sizeof *out; i++)
        out[i] = from[i];
}

/* Copies the innermost words of the stack, where a function without a frame record has its return address. */
static void copy_stack_top(const struct strobe_host *host, const struct strobe_regs *regs,
                           const struct strobe_window *stack, struct strobe_stack_top *top)
{
    size_t copied = 0;
    top->low = regs->sp & ~(uint64_t)(sizeof(uintptr_t) - 1);
    top->bytes = 0;
    if (stack->high > stack->low && top->low >= stack->low && top->low < stack->high) {
        uint64_t above = stack->high - top->low;
        copied = above < sizeof top->word ? (size_t)above : sizeof top->word;
        copied -= copied % sizeof(uintptr_t);
        copy_words(top->word, (const volatile uintptr_t *)(uintptr_t)(top->low + stack->bias), copied);
    } else if (host->read(host->ctx, top->low, top->word, sizeof top->word, &copied) != STROBE_OK) {
        return;
    }
    top->bytes = (uint32_t)copied;
}

/* The first frame is the stopped instruction. It is stored plus 1, so that it can be treated as a return address. */
static enum strobe_walk_end walk_suspended(const struct strobe_host *host, const struct strobe_regs *regs,
                                           const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                           uint32_t *count)
{
    enum strobe_walk_end end;
    *count = 0;
    if (max == 0)
        return STROBE_WALK_CUT;
    frames_end[-1] = strobe_frame_strip(regs->pc) + 1;
    if (regs->fp == 0)
        end = STROBE_WALK_ROOT; /* the thread's first function has just begun */
    else if (stack->high > stack->low)
        end = strobe_walk_fp(stack, regs->fp, frames_end - 1, max - 1, count);
    else
        end = walk_unknown(host, regs, stack->root, frames_end - 1, max - 1, count);
    ++*count;
    return end;
}

static enum strobe_walk_end walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                         const struct strobe_window *stack, struct strobe_stack_top *top,
                                         uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    struct strobe_mach_host *h = host->ctx;
    *count = 0;
    if (!strobe_hold_walk(&h->hold))
        return STROBE_WALK_DOUBTFUL; /* the watchdog has resumed the thread */
    enum strobe_walk_end end = walk_suspended(host, regs, stack, frames_end, max, count);
    copy_stack_top(host, regs, stack, top);
    strobe_hold_walked(&h->hold);
    return end;
}

/* ---- after the resume */

/* Inserts callers after the innermost frame. When the frames exceed `max`, the outermost ones are removed. */
static enum strobe_walk_end insert_callers(const uint64_t *callers, uint32_t n, enum strobe_walk_end end,
                                           uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    uint32_t kept = *count - 1, room = max - 1;
    if (n > room)
        n = room;
    if (kept > room - n) {
        kept = room - n;
        end = STROBE_WALK_CUT;
    }
    memmove(frames_end - 1 - n - kept, frames_end - 1 - kept, kept * sizeof *frames_end);
    for (uint32_t i = 0; i < n; i++)
        frames_end[-2 - (ptrdiff_t)i] = callers[i];
    *count = 1 + n + kept;
    return end;
}

static enum strobe_walk_end walk_resumed(const struct strobe_host *host, const struct strobe_regs *regs,
                                         const struct strobe_stack_top *top, enum strobe_walk_end end,
                                         uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    uint64_t callers[STROBE_LEAF_CALLERS_MAX];
    bool complete;
    if (*count == 0)
        return end;
    const struct strobe_window copy = {top->low, top->low + top->bytes, (uint64_t)(uintptr_t)top->word - top->low, 0};
    uint32_t n = strobe_leaf_callers(host, regs, &copy, callers, &complete);
    if (!complete && end == STROBE_WALK_ROOT)
        end = STROBE_WALK_DOUBTFUL;
    return insert_callers(callers, n, end, frames_end, max, count);
}

const struct strobe_unwinder strobe_unwinder_mach = {.stopped = walk_stopped, .resumed = walk_resumed};
