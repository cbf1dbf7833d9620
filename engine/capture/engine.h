/* The capture engine of one process: what all its threads share, and the life of a capture.
 *
 *   strobe_engine_init    session attached, host chosen, memory reserved
 *   *strobe_switch = ON   hooks begin to take samples
 *   *strobe_switch = OFF  hooks fall silent; once strobe_engine_quiet, the session may be closed
 *
 * Hooks reach it through two things only: the switch word strobe_switch, and the calling thread's own state
 * (thread.h). The switch may live in a page that the kernel wipes on fork, so that a child is silent however it
 * was made. */
#ifndef STROBE_CAPTURE_ENGINE_H
#define STROBE_CAPTURE_ENGINE_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"
#include "engine/capture/walk_fp.h"
#include "engine/host/host.h"
#include "engine/store/session.h"

#include <stdbool.h>

enum { STROBE_OFF = 0, STROBE_ON = 1, STROBE_PAUSED = 2 };

/* Points at the switch word: STROBE_OFF until a capture starts. */
extern strobe_a32 *strobe_switch;

static inline uint32_t strobe_switched(void)
{
    return strobe_load_relaxed(strobe_switch);
}

/* A copy of the innermost words of a stopped thread's stack, from `low` up. */
enum { STROBE_STACK_TOP_BYTES = 512 };
struct strobe_stack_top {
    uint64_t low;
    uint32_t bytes;
    uint64_t word[STROBE_STACK_TOP_BYTES / 8];
};

/* A way to take stacks. Frames are written backwards from frames_end, as strobe_walk_fp does. */
struct strobe_unwinder {
    /* The calling thread's own stack, from the caller of a hook: `frame` is the hook's frame address, `caller` its
     * return address, [sp, high) the thread's stack. Any context; no heap, no lock of the program's. NULL: by
     * frame pointers, with strobe_walk_again. */
    enum strobe_walk_end (*self)(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                 uint64_t *frames_end, uint32_t max, uint32_t *count);

    /* The same from stack memory alone, which may be a copy, also of another thread's: the window begins at `frame` or
     * below. Any context. NULL: by frame pointers; stacks of other threads are not taken so where `self` is set. */
    enum strobe_walk_end (*hooked)(uint64_t frame, const struct strobe_window *stack, uint64_t *frames_end,
                                   uint32_t max, uint32_t *count);

    /* The stack at `regs`, where a thread was stopped or a signal has interrupted it, from stack memory that may be a
     * copy: the window begins at regs->sp, or with the red zone below it. Any context. */
    enum strobe_walk_end (*copied)(const struct strobe_host *host, const struct strobe_regs *regs,
                                   const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                   uint32_t *count);

    /* The stack of the thread that the host has stopped last, while it stands, for runtimes that walk their own, and
     * where stacks are walked in place; nothing is copied then. `regs` are the host's; `stack` is the thread's own
     * memory from its stack pointer up (bias 0), or empty when the thread has not told where its stack lies, or is not
     * on it. `top` comes empty; what is put there, `resumed` finds. Sampler, window. NULL: `copied`. */
    enum strobe_walk_end (*stopped)(const struct strobe_host *host, const struct strobe_regs *regs,
                                    const struct strobe_window *stack, struct strobe_stack_top *top,
                                    uint64_t *frames_end, uint32_t max, uint32_t *count);

    /* After `stopped`, which ended in `end`, and the resume, what can be told of the stack by what does not change,
     * such as code: may put frames among the *count before frames_end, at most `max` in all. Returns how the stack
     * ends now. Sampler. NULL: nothing to add. */
    enum strobe_walk_end (*resumed)(const struct strobe_host *host, const struct strobe_regs *regs,
                                    const struct strobe_stack_top *top, enum strobe_walk_end end,
                                    uint64_t *frames_end, uint32_t max, uint32_t *count);
};

/* Frame pointers, and for stopped leaf functions the instruction at hand. */
extern const struct strobe_unwinder strobe_unwinder_fp;

/* Calls `hooked`, or walks by frame pointers where the unwinder has none. Context of `hooked`. */
static inline enum strobe_walk_end strobe_unwind_hooked(const struct strobe_unwinder *u, uint64_t frame,
                                                        const struct strobe_window *stack, uint64_t *frames_end,
                                                        uint32_t max, uint32_t *count)
{
    return u->hooked ? u->hooked(frame, stack, frames_end, max, count)
                     : strobe_walk_fp(stack, frame, frames_end, max, count);
}

struct strobe_thread;
struct strobe_blocking;

/* Whether the sampler sleeps for longer than an interval, which a new thread ends. A thread that is attached sets
 * NEWCOMER; the sampler goes from IDLE to RESTS, and from anything to IDLE when it begins a pass. */
enum strobe_sampler_rest { STROBE_SAMPLER_IDLE, STROBE_SAMPLER_RESTS, STROBE_SAMPLER_NEWCOMER };

struct strobe_engine {
    struct strobe_session session;
    struct strobe_config config;
    const struct strobe_host *host;
    const struct strobe_unwinder *unwinder;
    struct strobe_thread *threads;      /* private state, one for each entry of the session's thread table */
    struct strobe_blocking *blocking;   /* who waits for what, see blocking.h */
    uint32_t *living;                   /* of the sampler: indexes of the threads that it has not seen ended, rising */
    strobe_a32 sampler_busy;            /* 1 while a pass is under way */
    strobe_a32 sampler_stop;
    strobe_a32 sampler_rest;            /* enum strobe_sampler_rest */
};

/* Bytes of private memory that an engine with this config needs. Any context. */
size_t strobe_engine_memory_bytes(const struct strobe_config *config);

/* Prepares a capture into an attached session. `memory`: zeroed, page-aligned, strobe_engine_memory_bytes() long, and
 * like host and unwinder it must outlive the engine. Capture begins when the caller turns the switch. Start only. */
void strobe_engine_init(struct strobe_engine *e, const struct strobe_session *session, const struct strobe_host *host,
                        const struct strobe_unwinder *unwinder, void *memory);

/* True when no thread takes a sample and no pass of the sampler is under way, nor will, while the switch is off, which
 * the caller turned (tests/explore, sampler/quiet-...). Events that are only counted may yet be. At the end, any
 * thread. */
bool strobe_engine_quiet(const struct strobe_engine *e);

/* Ticks in a span of ns on this host. Any context. */
static inline uint64_t strobe_ticks_of_ns(const struct strobe_host *host, uint64_t ns)
{
    if (host->ticks_per_second == 1000000000u)
        return ns;
    return ns / 1000000000u * host->ticks_per_second + ns % 1000000000u * host->ticks_per_second / 1000000000u;
}

#endif
