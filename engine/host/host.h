/* The contract between the engine and whatever it runs on: a Linux process, a runtime, a simulator. Each backend
 * (engine/backend/) fills in one struct strobe_host; the engine calls nothing of the system but through it
 * once capture runs.
 *
 * Contexts: "any" = any thread, also in a signal handler; "sampler" = the sampler thread only;
 * "window" = allowed while another thread is suspended.
 */
#ifndef STROBE_HOST_HOST_H
#define STROBE_HOST_HOST_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_REGS_GENERAL = 34 };

/* Where a thread stands. lr is 0 where the machine has no link register. general[] holds the registers by the
 * machine's DWARF numbers (x86-64: 0-16, aarch64: 0-32), for unwinders that restore callee-saved ones. */
struct strobe_regs {
    uint64_t pc, sp, fp, lr;
    uint64_t general[STROBE_REGS_GENERAL];
};

/* System metrics of a thread, totals since it began. */
struct strobe_usage {
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
};

struct strobe_host {
    /* Monotonic time in ticks; ticks_per_second of them a second. Any, window. */
    uint64_t (*ticks)(void *ctx);

    /* CPU time in ns of the calling thread. Any. */
    uint64_t (*self_cpu_ns)(void *ctx);

    /* Faults and switches of the calling thread. Any. */
    void (*self_usage)(void *ctx, struct strobe_usage *out);

    /* CPU time in ns of another thread. STROBE_GONE when it is proven to have ended, STROBE_UNSUPPORTED when it lives
     * but its time can't be told. Sampler. */
    enum strobe_status (*thread_cpu_ns)(void *ctx, uint32_t tid, uint64_t *out);

    /* Whether it is on a processor now, or off it only because others took that. NULL: where its CPU time moves while
     * it runs, that tells. Sampler. */
    bool (*thread_runs)(void *ctx, uint32_t tid);

    /* Stops a thread and says where it stands. `blocked` is a word the thread sets to non-zero before it enters a
     * call that a stop must not disturb (see settle); it is looked at again once the request is visible to the
     * thread. Returns STROBE_OK with the thread proven stopped, or STROBE_LATE (not stopped by timeout_ns; the
     * request is withdrawn and the thread will not stop for it later), STROBE_GONE, or STROBE_UNSUPPORTED
     * (*blocked was set: the thread was left alone). Sampler; one thread at a time. */
    enum strobe_status (*suspend)(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out);

    /* Called by a thread after it has set its `blocked` word: returns once no request to stop it is on its way, so
     * that none can reach it inside the call. A few loads when there is none. Any. */
    void (*settle)(void *ctx, uint32_t tid);

    /* Lets the stopped thread go on. STROBE_LATE: the host's watchdog had let it go before, so what was
     * read of it must not be used. A thread is resumed within the watchdog's time even when this is never
     * called. Sampler, window. */
    enum strobe_status (*resume)(void *ctx, uint32_t tid);

    /* Copies up to `bytes` from `address` of the traced program without ever faulting; *copied says how many
     * from the start were readable. STROBE_UNREADABLE when none. Any, window. */
    enum strobe_status (*read)(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied);

    /* Makes the CPU clock of thread `tid` interrupt that thread after each `period_ns` of its own CPU time, so that
     * strobe_sample_interrupted can be called there; or keeps it doing so. `index` is the thread's in the session's
     * table, below config.threads_max, and `taken` counts the interruptions that it has handled: a host that has only
     * so many signals under way at a time goes by that. To be called again every few periods, with the same period or
     * another. STROBE_UNSUPPORTED: this thread's clock can't, and need not be asked again. NULL: no thread's can.
     * Sampler, no thread stopped. */
    enum strobe_status (*clock_keep)(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken);

    /* Interrupts the thread once, as its clock does, as soon as it has a processor again, be its clock kept ticking or
     * not. STROBE_UNSUPPORTED: the thread is not waiting for a processor, but runs, or waits in a call; or it can't be
     * interrupted. NULL where clock_keep is. Sampler. */
    enum strobe_status (*clock_ring)(void *ctx, uint32_t index, uint32_t tid);

    /* Gives back what clock_keep has taken for the thread. Harmless when that was nothing. Sampler. */
    void (*clock_end)(void *ctx, uint32_t index);

    /* Sleeps until the absolute time `deadline` in ticks, or until woken or interrupted. Any. */
    void (*sleep_until)(void *ctx, uint64_t deadline_ticks);

    /* Sleeps as sleep_until does, but no longer than *word is `value`: `rouse` wakes the sleeper after the word has
     * changed. NULL where clock_keep is. rest_until: sampler; rouse: any. */
    void (*rest_until)(void *ctx, uint64_t deadline_ticks, strobe_a32 *word, uint32_t value);
    void (*rouse)(void *ctx, strobe_a32 *word);

    /* The host's own housekeeping, after each pass of the sampler; may be NULL. Sampler, no thread stopped. */
    void (*between_passes)(void *ctx);

    void *ctx;
    uint64_t ticks_per_second;
};

#endif
