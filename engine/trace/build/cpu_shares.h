/* Divides a thread's CPU time among frames. CPU columns and CPU profiles add up these shares.
 *
 * Slices cannot serve for this. A slice lasts from the sample that begins it to the next sample of any kind, and the
 * CPU time between the two contains both user time and time in the kernel. The CPU time of a thread whose CPU clock
 * ticks is therefore divided by its ticks. Ticks come in user code only: the kernel leaves out those of its own time.
 *
 *   tick           one period of the clock goes to the frames of the tick's stack
 *   recorded call  the CPU time from its begin to its end goes to the call
 *   unseen         the CPU time of a gap without samples goes to "[unseen]"
 *   the rest       is time in the kernel outside of recorded calls. It goes to the first of these that applies:
 *                    - the system call in which the sampler stopped the thread since the last tick;
 *                    - short calls that records stand for ("[read]"), up to an interval for each record;
 *                    - "[kernel]" under the frames of the tick: page faults, and system calls without a hook.
 *                  A record of short calls can come before or after the kernel time that it stands for. Unassigned
 *                  kernel time, and the time that records of short calls still want, are kept up to two periods each
 *
 * The period differs from the sampler's interval by at most a quarter. It is estimated from the CPU time between two
 * ticks. The mean period of sparse ticks (STROBE_FLAG_SPARSE) is STROBE_SPARSE_NS. Stops by the sampler between ticks
 * get no CPU time: they come right after a wait more often than the thread runs there. Ticks that interrupted the
 * engine leave no record. Their share of the rest belongs to the engine and goes to no frames. The shares of a thread
 * therefore add up to its CPU time without the engine's.
 *
 * Before a thread's first tick, the sampler's stops take the place of ticks. CPU time outside of recorded calls goes to
 * the frames of the next stop or tick, and up to an interval of it to each record of short calls. (Slices show the
 * caller of the last hooked call until then. That caller would get all of this time: a tenth of the CPU time of a
 * thread that lives for 15 ms.)
 *
 * The CPU time of a thread without ticks goes to the innermost slice.
 *
 * Not thread-safe; the tree allocates. Reading half only. */
#ifndef STROBE_TRACE_BUILD_CPU_SHARES_H
#define STROBE_TRACE_BUILD_CPU_SHARES_H

#include "engine/trace/model/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_CPU_SHARES_CALLS = 8 };

struct strobe_cpu_shares {
    struct strobe_sink *sink;
    struct strobe_function_tree *tree;
    uint64_t interval_ns;       /* of the clock; 0 = the thread's clock does not tick */
    double engine_part;         /* ticks in the engine per recorded tick */
    struct strobe_moment since; /* CPU time is divided up to here */
    uint64_t early_ns;          /* CPU time before the first tick that is not assigned yet */
    uint64_t early_begin_ns;    /* where that time begins */
    uint32_t early_node;        /* node of the slice in which that time ended */
    bool in_call;               /* the thread is in a recorded call */
    uint64_t call_ns;           /* CPU time in calls and gaps since the last tick */
    uint64_t tick_cpu_ns;       /* the thread's CPU time at the last tick */
    uint32_t tick_node;         /* of the last tick; 0 = none yet */
    bool tick_sparse;           /* it stands for a sparse period */
    uint32_t syscall_node;      /* of the system call sampled since the last tick; 0 = none */
    int64_t kernel_ns;          /* time in the kernel that is not assigned yet */
    struct {
        uint32_t node;
        uint64_t ns;
    } waiting_calls[STROBE_CPU_SHARES_CALLS]; /* short calls, and the CPU time that they wait for */
    uint32_t waiting_call_count;
};

/* Starts a thread at `now`. Call it for every thread. Call the other functions only if the sink has `cpu`. */
void strobe_cpu_shares_start(struct strobe_cpu_shares *c, const struct strobe_reader *reader,
                             const struct strobe_reader_thread *thread, const struct strobe_moment *now);

/* Moves on to `now`, with `node` innermost, of a slice of `class`. `call` is the node of the recorded call that the
 * thread is in, or 0. Call it before any of these changes. */
void strobe_cpu_shares_move(struct strobe_cpu_shares *c, const struct strobe_moment *now, uint32_t node,
                            enum strobe_slice_class class, uint32_t call);

/* Records `count` ticks of the clock since the previous ones, with the frames of `node`. `sparse`: they have
 * STROBE_FLAG_SPARSE. Call strobe_cpu_shares_move to the last of them first. */
void strobe_cpu_shares_tick(struct strobe_cpu_shares *c, uint32_t node, uint32_t count, bool sparse);

/* Records that the sampler stopped the thread with the frames of `node`. */
void strobe_cpu_shares_stop(struct strobe_cpu_shares *c, uint32_t node);

/* Adds a record that stands for an interval of short calls, shown as `node`. */
void strobe_cpu_shares_call(struct strobe_cpu_shares *c, uint32_t node);

/* Ends the thread. Call strobe_cpu_shares_move to its end first. */
void strobe_cpu_shares_finish(struct strobe_cpu_shares *c);

#endif
