/* The capture engine of one process: the state that all its threads share, and the stages of a capture.
 *
 *   strobe_engine_init    session attached, host chosen, memory reserved
 *   *strobe_switch = ON   hooks begin to take samples
 *   *strobe_switch = OFF  hooks stop taking samples; once strobe_engine_quiet returns true, the session may be closed
 *
 * Hooks use two things only: the switch word strobe_switch, and the calling thread's own state (thread.h). The
 * switch word may be in a page that the kernel zeroes on fork, so that a child process takes no samples however it
 * was created. */
#ifndef STROBE_CAPTURE_ENGINE_H
#define STROBE_CAPTURE_ENGINE_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"
#include "engine/capture/buffers.h"
#include "engine/capture/walk_fp.h"
#include "engine/host/host.h"
#include "engine/store/session.h"

#include <stdbool.h>

enum { STROBE_OFF = 0, STROBE_ON = 1, STROBE_PAUSED = 2 };

/* Points at the switch word, which is STROBE_OFF until a capture starts. */
extern strobe_a32 *strobe_switch;

/* Number of the process's capture, from 1. A backend adds 1 before it turns the switch on for a new capture. On Linux
 * it also adds 1 in a forked child, which does not continue its parent's capture. A hook that outlasts its capture
 * compares this number (backend/common/hook_scope.h). */
extern strobe_a32 strobe_capture_number;

static inline uint32_t strobe_switched(void)
{
    return strobe_load_relaxed(strobe_switch);
}

/* A copy of the innermost words of a suspended thread's stack, from `low` up. */
enum { STROBE_STACK_TOP_BYTES = 512 };
struct strobe_stack_top {
    uint64_t low;
    uint32_t bytes;
    uint64_t word[STROBE_STACK_TOP_BYTES / 8];
};

/* A strategy to take stacks. All functions write frames backwards from frames_end, as strobe_walk_fp does. */
struct strobe_unwinder {
    /* Takes the calling thread's own stack, from the caller of a hook on. `frame` is the hook's frame address,
     * `caller` its return address, `stack` the memory of the thread's stack. Must not use the heap or a lock of the
     * program. Any context. NULL: the engine walks frame pointers, with strobe_walk_again. */
    enum strobe_walk_end (*self)(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                 uint64_t *frames_end, uint32_t max, uint32_t *count);

    /* Takes the same stack from stack memory alone, which may be a copy, also a copy of another thread's stack. The
     * window begins at `frame` or below. Any context. NULL: the engine walks frame pointers; when `self` is set, it
     * then takes no such stacks of other threads. */
    enum strobe_walk_end (*hooked)(uint64_t frame, const struct strobe_window *stack, uint64_t *frames_end,
                                   uint32_t max, uint32_t *count);

    /* Takes the stack at `regs`, where a thread was suspended or interrupted by a signal. The stack memory may be a
     * copy. The window begins at regs->sp, or below it when it includes the red zone. Any context. */
    enum strobe_walk_end (*copied)(const struct strobe_host *host, const struct strobe_regs *regs,
                                   const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                   uint32_t *count);

    /* Takes the stack of the thread that the host has suspended, while it is suspended. For runtimes that walk their
     * own stacks, and for stacks that are walked in place; the engine then copies no stack memory. `regs` come from
     * the host. `stack` is the thread's own memory from its stack pointer up (bias 0). It is empty when the bounds
     * of the stack are not known, or when the stack pointer is outside of them. When the host gives no registers (sp
     * is 0), it is the whole stack, of which the function finds the part in use. `top` is empty at the call; the
     * function may fill it for `resumed`. Sampler, while the thread is suspended. NULL: the engine uses `copied`. */
    enum strobe_walk_end (*stopped)(const struct strobe_host *host, const struct strobe_regs *regs,
                                    const struct strobe_window *stack, struct strobe_stack_top *top,
                                    uint64_t *frames_end, uint32_t max, uint32_t *count);

    /* Completes the result of `stopped` after the resume, from what does not change, such as code. `end` is the
     * result of `stopped`. May insert frames among the *count frames before frames_end, at most `max` in all.
     * Returns how the stack ends now. Sampler. NULL: the engine keeps the result of `stopped`. */
    enum strobe_walk_end (*resumed)(const struct strobe_host *host, const struct strobe_regs *regs,
                                    const struct strobe_stack_top *top, enum strobe_walk_end end, uint64_t *frames_end,
                                    uint32_t max, uint32_t *count);
};

/* Walks frame pointers. For functions without a frame record it also reads the code around the stopped instruction
 * (leaf.h). */
extern const struct strobe_unwinder strobe_unwinder_fp;

/* Calls `hooked`, or walks by frame pointers when the unwinder has no `hooked`. Same context as `hooked`. */
static inline enum strobe_walk_end strobe_unwind_hooked(const struct strobe_unwinder *u, uint64_t frame,
                                                        const struct strobe_window *stack, uint64_t *frames_end,
                                                        uint32_t max, uint32_t *count)
{
    return u->hooked ? u->hooked(frame, stack, frames_end, max, count)
                     : strobe_walk_fp(stack, frame, frames_end, max, count);
}

struct strobe_thread;
struct strobe_blocking;

/* Whether the sampler sleeps for longer than an interval. A new thread ends such a sleep. strobe_thread_attach sets
 * NEWCOMER. The sampler changes IDLE to RESTS before a long sleep, and any value to IDLE when it begins a pass. */
enum strobe_sampler_rest { STROBE_SAMPLER_IDLE, STROBE_SAMPLER_RESTS, STROBE_SAMPLER_NEWCOMER };

struct strobe_engine {
    struct strobe_session session;
    struct strobe_config config;
    const struct strobe_host *host;
    const struct strobe_unwinder *unwinder;
    struct strobe_thread *threads; /* private state, one for each entry of the session's thread table */
    struct strobe_buffer_pool buffers;
    struct strobe_blocking *blocking; /* registered waits and releases, see blocking.h */
    uint32_t *living;                 /* sampler only: indexes of the threads that it has not seen end, ascending */
    strobe_a32 sampler_busy;          /* 1 while a pass is in progress */
    strobe_a32 sampler_stop;
    strobe_a32 sampler_rest; /* enum strobe_sampler_rest */
};

/* Returns the bytes of private memory that an engine with this config needs. Any context. */
size_t strobe_engine_memory_bytes(const struct strobe_config *config);

/* Prepares a capture into an attached session. `memory` is zeroed, page-aligned and strobe_engine_memory_bytes()
 * long. `memory`, `host` and `unwinder` must outlive the engine. The capture begins when the caller sets the switch.
 * Start only. */
void strobe_engine_init(struct strobe_engine *e, const struct strobe_session *session, const struct strobe_host *host,
                        const struct strobe_unwinder *unwinder, void *memory);

/* Returns true when no thread takes a sample and the sampler is in no pass, and neither can begin while the switch
 * stays off. The caller has set the switch to off before (tests/explore, sampler/quiet-...). Events that are only
 * counted may still occur. At the end of a capture, any thread. */
bool strobe_engine_quiet(const struct strobe_engine *e);

/* Converts a span of ns to ticks of this host. Any context. */
static inline uint64_t strobe_ticks_of_ns(const struct strobe_host *host, uint64_t ns)
{
    if (host->ticks_per_second == 1000000000u)
        return ns;
    return ns / 1000000000u * host->ticks_per_second + ns % 1000000000u * host->ticks_per_second / 1000000000u;
}

/* The other way round. */
static inline uint64_t strobe_ns_of_ticks(const struct strobe_host *host, uint64_t ticks)
{
    uint64_t per_second = host->ticks_per_second;
    if (per_second == 1000000000u)
        return ticks;
    return ticks / per_second * 1000000000u + ticks % per_second * 1000000000u / per_second;
}

/* Shortest time off its processor that counts: a tick that comes later than this was delayed by more than its own
 * latency. */
enum { STROBE_OFF_PROCESSOR_NS = 200000 };

/* Returns true when the thread of two samples with known CPU time was off its processor between them. Merged into one
 * record, they would show the thread computing all the time. */
static inline bool strobe_was_off_between(const struct strobe_host *host, const struct strobe_record *before,
                                          const struct strobe_record *now)
{
    uint64_t passed = now->ticks - (before->ticks + before->duration);
    return passed > strobe_ticks_of_ns(host, now->cpu_ns - before->cpu_ns + STROBE_OFF_PROCESSOR_NS);
}

#endif
