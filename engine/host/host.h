/* Host interface: the functions through which the engine uses the system that it runs on (a Linux process, a managed
 * runtime, a simulator). Each backend (engine/backend/) fills in one struct strobe_host. Once capture runs, the engine
 * calls the system only through these functions.
 *
 * Contexts, stated at the end of each comment:
 *   any       any thread, also in a signal handler
 *   sampler   the sampler thread only
 *   window    also while the caller holds another thread suspended
 */
#ifndef STROBE_HOST_HOST_H
#define STROBE_HOST_HOST_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { STROBE_REGS_GENERAL = 34 };

/* Registers of a stopped thread. lr is 0 on a machine without a link register. general[] holds the registers by the
 * machine's DWARF numbers (x86-64: 0-16, aarch64: 0-32, 32-bit ARM: 0-15, and in 16 the program status register);
 * unwinders need it to restore callee-saved registers. */
struct strobe_regs {
    uint64_t pc, sp, fp, lr;
    uint64_t general[STROBE_REGS_GENERAL];
};

/* System metrics of a thread: totals since the thread began. */
struct strobe_usage {
    uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
};

struct strobe_host {
    /* Returns monotonic time in ticks. A second has ticks_per_second of them. Any, window. */
    uint64_t (*ticks)(void *ctx);

    /* Returns the CPU time of the calling thread in ns. Any. */
    uint64_t (*self_cpu_ns)(void *ctx);

    /* Stores the page faults and context switches of the calling thread in *out. Any. */
    void (*self_usage)(void *ctx, struct strobe_usage *out);

    /* Stores the CPU time of another thread in *out, in ns. STROBE_GONE: the thread is proven to have ended.
     * STROBE_UNSUPPORTED: the thread is alive, but its CPU time cannot be read. Sampler. */
    enum strobe_status (*thread_cpu_ns)(void *ctx, uint32_t tid, uint64_t *out);
    uint64_t cpu_step_ns; /* step of that time; 0: at most 100 ns, so that two readings of a running thread differ */

    /* Returns true when the thread is on a processor now, or is off it only because other threads took the processor.
     * The engine asks when the CPU time of thread_cpu_ns did not advance between two readings. NULL: such a thread does
     * not run. Sampler. */
    bool (*thread_runs)(void *ctx, uint32_t tid);

    /* Returns the system call in which the thread waits (strobe_wait_call in engine/store/record.h). Returns 0 when the
     * thread runs or is runnable, and when the call is unknown. NULL: no thread's call is known. Sampler. */
    uint64_t (*wait_call)(void *ctx, uint32_t tid);

    /* Stops a thread and stores its registers in *out. `blocked` is a word that the thread sets to non-zero before it
     * enters a call that a stop must not disturb (see settle). The host loads the word again after the thread can see
     * the request.
     *
     *   STROBE_OK            the thread is proven stopped
     *   STROBE_LATE          the thread did not stop within timeout_ns. The host has withdrawn the request, and the
     *                        thread will not stop for it later
     *   STROBE_GONE          the thread has ended
     *   STROBE_UNSUPPORTED   *blocked was set; the thread was not stopped
     *
     * Sampler; one thread at a time. */
    enum strobe_status (*suspend)(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out);

    /* A thread calls it after it has set its `blocked` word. It returns once no request to stop the thread is in
     * flight, so that no request can reach the thread inside the call. Without a request it costs a few loads. Any. */
    void (*settle)(void *ctx, uint32_t tid);

    /* Resumes the stopped thread. STROBE_LATE: the host's watchdog had already resumed it, so the caller must discard
     * what it read of the thread. The watchdog resumes a thread within its time even when this function is never
     * called. Sampler, window. */
    enum strobe_status (*resume)(void *ctx, uint32_t tid);

    /* Copies up to `bytes` from `address` of the traced program. It never faults. *copied is the number of readable
     * bytes from the start. STROBE_UNREADABLE: no byte is readable. Any, window. */
    enum strobe_status (*read)(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied);

    /* Makes the CPU clock of thread `tid` interrupt that thread after each `period_ns` of its own CPU time, so that
     * strobe_sample_interrupted can be called there. If the clock already does so, it continues. The caller repeats the
     * call every few periods, with the same period or another.
     *
     * `index`: the thread's index in the session's table, below config.threads_max. `taken`: the number of
     * interruptions that the thread has handled; a host that limits the signals in flight uses it to compute how many
     * are. STROBE_UNSUPPORTED: this thread's clock cannot interrupt it, and the caller need not ask again. NULL: no
     * thread's clock can. Sampler, no thread stopped. */
    enum strobe_status (*clock_keep)(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken);

    /* Interrupts the thread once, as its clock does, as soon as it is on a processor again. The thread needs no running
     * clock for it. STROBE_UNSUPPORTED: the thread is not waiting for a processor (it runs, or waits in a call), or it
     * cannot be interrupted. NULL when clock_keep is NULL. Sampler. */
    enum strobe_status (*clock_ring)(void *ctx, uint32_t index, uint32_t tid);

    /* Releases what clock_keep has acquired for the thread. Has no effect when clock_keep acquired nothing for the
     * thread. Sampler. */
    void (*clock_end)(void *ctx, uint32_t index);

    /* Sleeps until the absolute time `deadline` in ticks, or until woken or interrupted. Any. */
    void (*sleep_until)(void *ctx, uint64_t deadline_ticks);

    /* Sleeps as sleep_until does, but only while *word is `value`. A thread that changes the word calls `rouse` to wake
     * the sleeper. Both are NULL when clock_keep is NULL. rest_until: sampler; rouse: any. */
    void (*rest_until)(void *ctx, uint64_t deadline_ticks, strobe_a32 *word, uint32_t value);
    void (*rouse)(void *ctx, strobe_a32 *word);

    /* The host's own periodic work, after each pass of the sampler. May be NULL. Sampler, no thread stopped. */
    void (*between_passes)(void *ctx);

    void *ctx;
    uint64_t ticks_per_second;
};

#endif
