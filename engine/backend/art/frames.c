#include "engine/backend/art/frames.h"

#if STROBE_ART_NATIVE_FRAMES
#include "engine/backend/linux/unwind_table.h"
#endif
#include "engine/base/hint.h"

#include <string.h>

/* ---- managed frames ---- */

enum strobe_walk_end strobe_art_walk_managed(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread)
{
    struct strobe_art_found *f = &w->found;
    f->native_count = f->native_kept = 0;
    f->native_cut = false;
    return strobe_art_walk_places(w, a, thread, f->method + STROBE_STACK_DEPTH_MAX,
                                  f->method_place + STROBE_STACK_DEPTH_MAX, STROBE_STACK_DEPTH_MAX, &f->managed_count);
}

/* Return the i-th managed frame, counted from the innermost. */
static inline uint64_t managed_method(const struct strobe_art_found *f, uint32_t i)
{
    return f->method[STROBE_STACK_DEPTH_MAX - 1 - i];
}

static inline uint64_t managed_place(const struct strobe_art_found *f, uint32_t i)
{
    return f->method_place[STROBE_STACK_DEPTH_MAX - 1 - i];
}

/* ---- merging ---- */

static inline bool place_ends_fragment(uint64_t place)
{
    return place & STROBE_ART_PLACE_ENDS;
}

/* A native frame can't lie between two managed frames of one fragment. When one seems to, what was taken for its record
 * was other data, so the frames from there on are dropped. Returns the number of native frames to use. */
static uint32_t count_plausible(const struct strobe_art_found *f)
{
    uint32_t m = 0, n = 0;
    for (; n < f->native_kept; n++) {
        while (m < f->managed_count && managed_place(f, m) < f->pc_place[n])
            m++;
        if (m && m < f->managed_count && !place_ends_fragment(managed_place(f, m - 1)))
            return n;
    }
    return n;
}

enum strobe_walk_end strobe_art_merge_frames(struct strobe_art_walk *w, enum strobe_walk_end managed,
                                             enum strobe_walk_end native, uint64_t *frames_end, uint32_t max,
                                             uint32_t *count)
{
    const struct strobe_art_found *f = &w->found;
    uint32_t natives = count_plausible(f), m = 0, n = 0, all = 0;
    while (all < max && (m < f->managed_count || n < natives)) {
        bool takes_native = n < natives && (m == f->managed_count || f->pc_place[n] <= managed_place(f, m));
        frames_end[-(ptrdiff_t)++all] = takes_native ? f->pc[n++] : managed_method(f, m++);
    }
    *count = all;
    if (managed == STROBE_WALK_CUT || f->native_cut || m < f->managed_count || n < natives)
        return STROBE_WALK_CUT;
    if (natives < f->native_kept)
        return STROBE_WALK_DOUBTFUL;
    return native;
}

#if STROBE_ART_NATIVE_FRAMES

enum { WORD_BYTES = sizeof(uintptr_t) };

/* ---- native frames ---- */

struct native_walk {
    struct strobe_art_frames *frames;
    struct strobe_art_found *found;
    const struct strobe_host *host; /* reads code; NULL: no code is read */
    const struct strobe_window *stack;
    uint64_t reached;     /* the walk has passed the stack below this address */
    bool broken;          /* the chain ended at code of no image */
    bool wants_one_chain; /* all candidates for an entry must be one chain, see find_fragment_entry */
};

/* Returns false when there is no space for the frame. */
static inline bool add_native(struct strobe_art_found *f, uint64_t pc, uint64_t place, uint32_t bits)
{
    if (bits & STROBE_ART_CODE_RUNTIME)
        return true;
    if (f->native_count == STROBE_STACK_DEPTH_MAX) {
        f->native_cut = true;
        return false;
    }
    f->pc[f->native_count] = pc;
    f->pc_place[f->native_count++] = place;
    if (!(bits & STROBE_ART_CODE_LIBC))
        f->native_kept = f->native_count;
    return true;
}

/* Walks by call frame information until a step fails. *at becomes the last frame's return address and stack pointer. */
static enum strobe_walk_end walk_tables_once(struct native_walk *w, struct strobe_regs *at, enum strobe_walk_from from)
{
    struct strobe_art_found *f = w->found;
    uint64_t *pcs = f->table_pc + STROBE_STACK_DEPTH_MAX, *places = f->table_place + STROBE_STACK_DEPTH_MAX;
    uint32_t count;
    const struct strobe_host *host = from == STROBE_FROM_INSTRUCTION ? w->host : NULL;
    enum strobe_walk_end end = strobe_walk_table_placed(w->frames->index, host, at, from, w->stack, pcs, places,
                                                        STROBE_STACK_DEPTH_MAX, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t pc = pcs[-1 - (ptrdiff_t)i], place = places[-1 - (ptrdiff_t)i];
        uint32_t bits = strobe_art_code_at(w->frames->code, pc - 1);
        w->reached = at->sp = place;
        at->pc = pc;
        w->broken = !(bits & STROBE_ART_CODE_IMAGE);
        if (w->broken)
            return STROBE_WALK_DOUBTFUL;
        if (!add_native(f, pc, place, bits))
            return STROBE_WALK_CUT;
    }
    f->native_cut |= count == STROBE_STACK_DEPTH_MAX && end == STROBE_WALK_CUT;
    w->broken = end != STROBE_WALK_ROOT && !f->native_cut;
    return w->broken ? STROBE_WALK_DOUBTFUL
                     : end; /* the window is the whole stack: what is outside of it is no frame */
}

static STROBE_READS_STACKS bool stack_word_is(const struct strobe_window *s, uint64_t at, uint64_t word)
{
    return at >= s->low && at < s->high && s->high - at >= sizeof(uintptr_t) && !(at & (sizeof(uintptr_t) - 1)) &&
           *(const uintptr_t *)(uintptr_t)(at + s->bias) == word;
}

/* The runtime's trampoline of native methods moves its stack pointer below the frame of the method, by at most this
 * many bytes, and keeps that frame's address in a register. */
enum { TRAMPOLINE_BYTES = 5120 };

/* Steps out of the trampoline at *at, whose rule needs that register. It is the place of the next managed frame, which
 * has the method in its first word. */
static bool leave_trampoline(const struct native_walk *w, struct strobe_regs *at)
{
    const struct strobe_art_found *f = w->found;
    if (!(strobe_art_code_at(w->frames->code, at->pc - 1) & STROBE_ART_CODE_RUNTIME))
        return false;
    for (uint32_t i = 0; i < f->managed_count; i++) {
        uint64_t place = managed_place(f, i) & ~STROBE_ART_PLACE_ENDS;
        if (place >= at->sp)
            return place - at->sp <= TRAMPOLINE_BYTES && stack_word_is(w->stack, place, managed_method(f, i)) &&
                   strobe_walk_table_leave(w->frames->index, place, w->stack, at);
    }
    return false;
}

/* Walks by call frame information to the end. */
static enum strobe_walk_end walk_by_tables(struct native_walk *w, const struct strobe_regs *regs,
                                           enum strobe_walk_from from)
{
    struct strobe_regs at = *regs;
    enum strobe_walk_end end = walk_tables_once(w, &at, from);
    while (w->broken && leave_trampoline(w, &at))
        end = walk_tables_once(w, &at, STROBE_FROM_CALL);
    return end;
}

/* Walks from the frame record at `fp`. The place of a caller is its own frame record. */
static STROBE_READS_STACKS enum strobe_walk_end walk_by_records(struct native_walk *w, uint64_t fp)
{
    const struct strobe_window *s = w->stack;
    const uint64_t beyond = sizeof(struct strobe_frame_record) - 1;
    const uint64_t room = s->high - s->low > beyond ? s->high - s->low - beyond : 0;
    struct strobe_art_code *code = w->frames->code;
    uint64_t last = 0, page = UINT64_MAX;
    uint32_t bits = 0;
    w->broken = false;
    for (fp = strobe_frame_pointer(fp); fp - s->low < room && !(fp & (sizeof(uintptr_t) - 1));) {
        const struct strobe_frame_record *r = (const struct strobe_frame_record *)(uintptr_t)(fp + s->bias);
        uint64_t next = strobe_frame_pointer(r->next), pc = strobe_frame_strip(r->return_address);
        w->reached = last = fp;
        if (pc == 0)
            return STROBE_WALK_ROOT;
        if (pc >> STROBE_ART_CODE_PAGE_BITS != page) {
            page = pc >> STROBE_ART_CODE_PAGE_BITS;
            bits = strobe_art_code_at(code, pc - 1);
        }
        w->broken = !(bits & STROBE_ART_CODE_IMAGE);
        if (w->broken)
            return STROBE_WALK_DOUBTFUL;
        uint64_t sp = fp + sizeof(struct strobe_frame_record);
        if (bits & STROBE_ART_CODE_TABLES && w->frames->index)
            return walk_by_tables(w, &(struct strobe_regs){.pc = pc, .sp = sp, .fp = next}, STROBE_FROM_RECORD);
        if (!add_native(w->found, pc, next > fp ? next : next ? sp : UINT64_MAX, bits))
            return STROBE_WALK_CUT;
        if (next == 0)
            return STROBE_WALK_ROOT;
        if (next <= fp)
            break;
        fp = next;
    }
    w->broken = true;
    return s->root && last >= s->root ? STROBE_WALK_ROOT : STROBE_WALK_DOUBTFUL;
}

/* ---- where native code has called managed code ---- */

enum { CODE_BYTES = 8 };

/* Copies the code before `pc`. The runtime is never unloaded, so its code is read in place unless it is only
 * executable. */
static bool read_code_before(const struct strobe_host *host, uint64_t pc, uint32_t bits, uint8_t code[CODE_BYTES])
{
    size_t copied;
    if (bits & STROBE_ART_CODE_READABLE) {
        memcpy(code, (const void *)(uintptr_t)(pc - CODE_BYTES), CODE_BYTES);
        return true;
    }
    return host && host->read(host->ctx, pc - CODE_BYTES, code, CODE_BYTES, &copied) == STROBE_OK &&
           copied == CODE_BYTES;
}

/* Returns whether the instruction before `pc`, in code with `bits`, is a call. */
static bool is_after_call(const struct strobe_host *host, uint64_t pc, uint32_t bits)
{
    uint8_t code[CODE_BYTES];
    if (!read_code_before(host, pc, bits, code))
        return false;
#ifdef __aarch64__
    uint32_t word;
    memcpy(&word, code + 4, sizeof word);
    return (word & 0xfc000000u) == 0x94000000u || (word & 0xfffff000u) == 0xd63f0000u; /* bl; blr, blraa, blrab... */
#elif defined(__arm__)
    uint16_t half[2];
    uint32_t word;
    memcpy(half, code + 4, sizeof half);
    memcpy(&word, code + 4, sizeof word);
    bool by_thumb = ((half[0] & 0xf800u) == 0xf000 && (half[1] & 0xc000u) == 0xc000) || /* bl, blx to an address */
                    (half[1] & 0xff87u) == 0x4780;                                      /* blx register */
    bool by_arm = (word & 0xff000000u) == 0xeb000000u || (word & 0xfe000000u) == 0xfa000000u || /* bl, blx */
                  (word & 0xfffffff0u) == 0xe12fff30u;
    return by_thumb || (pc % 4 == 0 && by_arm);
#else
    /* call rel32; call *register; call *memory, whose length follows from its second byte */
    return code[3] == 0xe8 || (code[6] == 0xff && (code[7] & 0xf8) == 0xd0) ||
           (code[5] == 0xff && ((code[6] & 0xf8) == 0x50 || code[6] == 0x14)) || (code[4] == 0xff && code[5] == 0x54) ||
           (code[2] == 0xff && ((code[3] & 0xf8) == 0x90 || code[3] == 0x15)) ||
           (code[1] == 0xff && (code[2] == 0x94 || code[2] == 0x14));
#endif
}

#ifdef __arm__

/* The runtime's code keeps no frame records there. The function that enters managed code,
 * art_quick_invoke_stub_internal in runtime/arch/arm/quick_entrypoints_arm.S of AOSP, saves r4 to r11 and above them
 * the link register. */
enum { SAVED_REGISTERS = 9 };

/* Returns whether these registers are saved below `end`, by a function that the runtime called. Sets *at to where it
 * goes on: the exception tables then lead to a further caller in an image. */
static STROBE_READS_STACKS bool is_entry_block(const struct native_walk *w, uint64_t end, struct strobe_regs *at)
{
    const struct strobe_window *s = w->stack;
    const uint32_t bits = STROBE_ART_CODE_IMAGE | STROBE_ART_CODE_RUNTIME;
    uint64_t frames[2], places[2], low = end - SAVED_REGISTERS * WORD_BYTES;
    uint32_t count;
    if (end > s->high || low < s->low)
        return false;
    const uintptr_t *saved = (const uintptr_t *)(uintptr_t)(low + s->bias);
    uint64_t pc = strobe_frame_strip(saved[SAVED_REGISTERS - 1]);
    uint32_t there = strobe_art_code_at(w->frames->code, pc - 1);
    if (pc < CODE_BYTES || (there & bits) != bits || !is_after_call(w->host, pc, there))
        return false;
    *at = (struct strobe_regs){.pc = pc, .sp = end, .fp = saved[7]};
    for (unsigned i = 0; i < SAVED_REGISTERS - 1; i++)
        at->general[4 + i] = saved[i];
    enum strobe_walk_end how =
        strobe_walk_table_placed(w->frames->index, NULL, at, STROBE_FROM_BODY, s, frames + 2, places + 2, 2, &count);
    there = count == 2 ? strobe_art_code_at(w->frames->code, frames[0] - 1) : 0;
    return how == STROBE_WALK_CUT && there & STROBE_ART_CODE_IMAGE && is_after_call(w->host, frames[0], there);
}

/* Continues outside of the fragment whose outermost frame is the i-th. Returns false when nothing is found. A walk
 * without registers cannot distinguish old blocks, and takes none. */
static bool walk_from_entry(struct native_walk *w, uint32_t i, enum strobe_walk_end *end)
{
    const struct strobe_art_found *f = w->found;
    struct strobe_regs at;
    uint64_t from = (managed_place(f, i) & ~STROBE_ART_PLACE_ENDS) + (SAVED_REGISTERS + 1) * WORD_BYTES;
    uint64_t high = from + STROBE_ART_ENTRY_BYTES;
    if (i + 1 < f->managed_count && managed_place(f, i + 1) < high)
        high = managed_place(f, i + 1);
    from &= ~(uint64_t)(WORD_BYTES - 1);
    for (; from < high && w->frames->index && !w->wants_one_chain; from += WORD_BYTES)
        if (is_entry_block(w, from, &at)) {
            *end = walk_by_tables(w, &at, STROBE_FROM_BODY);
            return true;
        }
    return false;
}

#else

/* Returns whether a frame record is at `at`, whose return address is in an image with `bits`. Sets *next. */
static STROBE_READS_STACKS bool is_record(const struct native_walk *w, uint64_t at, uint32_t bits, uint64_t *next)
{
    const struct strobe_window *s = w->stack;
    if (at & (sizeof(uintptr_t) - 1) || at < s->low || s->high - at < sizeof(struct strobe_frame_record))
        return false;
    const struct strobe_frame_record *r = (const struct strobe_frame_record *)(uintptr_t)(at + s->bias);
    uint64_t pc = strobe_frame_strip(r->return_address);
    *next = strobe_frame_pointer(r->next);
    if (*next <= at || *next >= s->high || !pc)
        return false;
    uint32_t there = strobe_art_code_at(w->frames->code, pc - CODE_BYTES) & strobe_art_code_at(w->frames->code, pc - 1);
    return (there & bits) == bits && is_after_call(w->host, pc, there);
}

/* Follows a chain of records from `at` upward, and returns the first one that is not below `to`. */
static STROBE_READS_STACKS uint64_t follow_records(const struct strobe_window *s, uint64_t at, uint64_t to)
{
    while (at < to && at >= s->low && s->high - at >= sizeof(struct strobe_frame_record)) {
        uint64_t next = strobe_frame_pointer(((const struct strobe_frame_record *)(uintptr_t)(at + s->bias))->next);
        if (next <= at || next & (sizeof(uintptr_t) - 1))
            return UINT64_MAX;
        at = next;
    }
    return at;
}

/* Returns the record of the function that entered the fragment whose outermost frame is the i-th, or 0. */
static uint64_t find_fragment_entry(const struct native_walk *w, uint32_t i)
{
    const struct strobe_art_found *f = w->found;
    uint64_t at = (managed_place(f, i) & ~STROBE_ART_PLACE_ENDS) + sizeof(uintptr_t), entry = 0;
    uint64_t end = at + STROBE_ART_ENTRY_BYTES, next, after;
    if (i + 1 < f->managed_count && managed_place(f, i + 1) < end)
        end = managed_place(f, i + 1);
    for (at &= ~(uint64_t)(sizeof(uintptr_t) - 1); at < end; at += sizeof(uintptr_t)) {
        if (!is_record(w, at, STROBE_ART_CODE_IMAGE | STROBE_ART_CODE_RUNTIME, &next) ||
            !is_record(w, next, STROBE_ART_CODE_IMAGE, &after))
            continue;
        if (!w->wants_one_chain)
            return at;
        if (entry && follow_records(w->stack, entry, at) != at)
            return 0;
        entry = entry ? entry : at;
    }
    return entry;
}

/* Continues outside of the fragment whose outermost frame is the i-th. Returns false when nothing is found. */
static bool walk_from_entry(struct native_walk *w, uint32_t i, enum strobe_walk_end *end)
{
    uint64_t entry = find_fragment_entry(w, i);
    if (entry)
        *end = walk_by_records(w, entry);
    return entry;
}

#endif

/* Continues a walk whose chain has ended, or has not begun, outside of managed frames, as often as necessary. */
static enum strobe_walk_end walk_on(struct native_walk *w, enum strobe_walk_end end)
{
    const struct strobe_art_found *f = w->found;
    bool lost = false;
    for (uint32_t i = 0; i < f->managed_count && w->broken; i++) {
        uint64_t place = managed_place(f, i);
        if (place < w->reached || !place_ends_fragment(place))
            continue;
        lost |= !walk_from_entry(w, i, &end);
    }
    if (!w->broken && !lost)
        return end;
    strobe_add_relaxed(w->frames->gaps, 1);
    bool managed_outside = f->managed_count && managed_place(f, f->managed_count - 1) > w->reached;
    return managed_outside || !w->broken ? STROBE_WALK_ROOT : end;
}

/* ---- walks ---- */

static enum strobe_walk_end native_end(struct native_walk *w, enum strobe_walk_end end)
{
    if (w->broken && end == STROBE_WALK_DOUBTFUL)
        end = walk_on(w, end);
    /* The C library's frames stay when it is not known what is outside of them. */
    if (end != STROBE_WALK_ROOT || (!w->found->native_kept && !w->found->managed_count))
        w->found->native_kept = w->found->native_count;
    return end;
}

#ifdef __arm__

/* Takes the registers of the function that calls it. */
static STROBE_ALWAYS_INLINE void take_registers(struct strobe_regs *regs)
{
    uint32_t r[13], sp, pc;
    __asm__ volatile("stm %[r], {r0-r12}\n\t"
                     "mov %[sp], sp\n\t"
                     "mov %[pc], pc"
                     : [sp] "=&r"(sp), [pc] "=&r"(pc)
                     : [r] "r"(r)
                     : "memory");
    *regs = (struct strobe_regs){.pc = pc, .sp = sp, .fp = r[11]};
    for (unsigned i = 0; i < 13; i++)
        regs->general[i] = r[i];
}

/* The callers of the hook need registers that its frame record does not hold, so the walk begins here, by the tables of
 * this library. The frames up to the hook's record are left out. */
static STROBE_NOINLINE enum strobe_walk_end walk_from_hook(struct native_walk *w, uint64_t frame)
{
    struct strobe_art_found *f = w->found;
    struct strobe_regs regs;
    struct strobe_window own = *w->stack;
    uint32_t inner = 0;
    if (!w->frames->index)
        return walk_by_records(w, frame);
    take_registers(&regs);
    own.low = regs.sp;
    const struct strobe_window *stack = w->stack;
    w->stack = &own;
    enum strobe_walk_end end = walk_by_tables(w, &regs, STROBE_FROM_BODY);
    w->stack = stack;
    while (inner < f->native_count && f->pc_place[inner] <= frame)
        inner++;
    f->native_count -= inner;
    f->native_kept = f->native_kept > inner ? f->native_kept - inner : 0;
    memmove(f->pc, f->pc + inner, f->native_count * sizeof *f->pc);
    memmove(f->pc_place, f->pc_place + inner, f->native_count * sizeof *f->pc_place);
    return end;
}

#else

static enum strobe_walk_end walk_from_hook(struct native_walk *w, uint64_t frame)
{
    return walk_by_records(w, frame);
}

#endif

enum strobe_walk_end strobe_art_walk_whole(struct strobe_art_frames *f, struct strobe_art_walk *w,
                                           const struct strobe_libart *a, void *thread, uint64_t frame,
                                           const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                           uint32_t *count)
{
    if (!f->on)
        return strobe_art_walk(w, a, thread, frames_end, NULL, max, count);
    enum strobe_walk_end managed = strobe_art_walk_managed(w, a, thread);
    struct native_walk n = {.frames = f, .found = &w->found, .host = f->host, .stack = stack};
    enum strobe_walk_end native = native_end(&n, walk_from_hook(&n, frame));
    return strobe_art_merge_frames(w, managed, native, frames_end, max, count);
}

enum strobe_walk_end strobe_art_walk_native(struct strobe_art_frames *f, const struct strobe_host *host,
                                            struct strobe_art_walk *w, const struct strobe_regs *regs,
                                            const struct strobe_window *stack)
{
    struct native_walk n = {.frames = f, .found = &w->found, .host = host, .stack = stack};
    if (!regs) { /* no chain has led here, so nothing but the candidates themselves tells old records apart */
        n.broken = n.wants_one_chain = true;
        return native_end(&n, STROBE_WALK_DOUBTFUL);
    }
    if (f->index)
        return native_end(&n, walk_by_tables(&n, regs, STROBE_FROM_INSTRUCTION));
    uint32_t bits = strobe_art_code_at(f->code, regs->pc);
    if (bits & STROBE_ART_CODE_IMAGE)
        add_native(n.found, strobe_frame_strip(regs->pc) + 1, regs->sp, bits);
    return native_end(&n, walk_by_records(&n, regs->fp));
}

#else

enum strobe_walk_end strobe_art_walk_whole(struct strobe_art_frames *f, struct strobe_art_walk *w,
                                           const struct strobe_libart *a, void *thread, uint64_t frame,
                                           const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                           uint32_t *count)
{
    (void)f, (void)frame, (void)stack;
    return strobe_art_walk(w, a, thread, frames_end, NULL, max, count);
}

enum strobe_walk_end strobe_art_walk_native(struct strobe_art_frames *f, const struct strobe_host *host,
                                            struct strobe_art_walk *w, const struct strobe_regs *regs,
                                            const struct strobe_window *stack)
{
    (void)f, (void)host, (void)w, (void)regs, (void)stack;
    return STROBE_WALK_ROOT;
}

#endif
