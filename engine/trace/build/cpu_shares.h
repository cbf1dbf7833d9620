/* Which frames a thread's CPU time belongs to: what CPU columns and CPU profiles add up.
 *
 * Slices can't say it. A slice lasts from the sample that begins it to the next sample, whatever took that sample, and
 * the CPU time between the two is user time and time in the kernel. So the CPU time of a thread whose CPU clock ticks
 * is divided by its ticks. A tick comes in user code: the kernel leaves out those of its own time.
 *
 *   tick           one period of the clock goes to the frames of the tick's stack
 *   recorded call  the CPU time from its begin to its end goes to the call
 *   unseen         CPU time of a gap without samples goes to "[unseen]"
 *   the rest       is time in the kernel, which no recorded call covers. It goes to the system call in which the
 *                  sampler has stopped the thread since the last tick, else to short calls that records stand for
 *                  ("[read]"), up to an interval to each record, else to "[kernel]" under the frames of the tick: page
 *                  faults, and system calls that have no hook. Records of short calls and time in the kernel wait for
 *                  each other, up to two periods of either
 *
 * The period is an interval of the sampler within a quarter; it follows from the CPU time between two ticks. Ticks that
 * interrupted the engine leave no record: their share of the rest is the engine's own and goes to no frames. So the
 * shares of a thread add up to its CPU time, less the engine's.
 *
 * Before a thread's first tick, the sampler's stops stand in for ticks: CPU time that is in no recorded call goes to
 * the frames of the next stop or tick, and up to an interval of it to each record of short calls. (The caller of the
 * last hooked call, which slices show until then, would be given all of it. Of a thread that lives for 15 ms that is a
 * tenth.)
 *
 * Of a thread that has no ticks slices say it: CPU time goes to the innermost.
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
    double engine_part;         /* ticks in the engine, for each that was recorded */
    struct strobe_moment since; /* CPU time is divided up to here */
    uint64_t young_ns;          /* CPU time before the first tick, which goes to no frames yet, */
    uint64_t young_begin_ns;    /* from here on; */
    uint32_t young_node;        /* and the slice that it came to an end in */
    bool in_call;               /* a recorded one */
    uint64_t call_ns;           /* CPU time in calls and gaps since the last tick */
    uint64_t tick_cpu_ns;       /* the thread's at the last tick */
    uint32_t tick_node;         /* of the last tick; 0 = none yet */
    uint32_t syscall_node;      /* of the system call seen since the last tick; 0 = none */
    int64_t kernel_ns;          /* time in the kernel that goes to nothing yet */
    struct {
        uint32_t node;
        uint64_t ns;
    } wanting[STROBE_CPU_SHARES_CALLS]; /* short calls, and what they wait for */
    uint32_t wanting_count;
};

/* Begins with a thread at `now`. To be called for every thread; the other functions only for a sink that has `cpu`. */
void strobe_cpu_shares_start(struct strobe_cpu_shares *c, const struct strobe_reader *reader,
                             const struct strobe_reader_thread *thread, const struct strobe_moment *now);

/* The thread has come to `now` with `node` innermost, of a slice of `class`; `call` is the node of the recorded call
 * that it is in, or 0. To be called before that changes. */
void strobe_cpu_shares_move(struct strobe_cpu_shares *c, const struct strobe_moment *now, uint32_t node,
                            enum strobe_slice_class class, uint32_t call);

/* `count` ticks of the clock have come since the last ones, with the frames of `node`; strobe_cpu_shares_move has gone
 * on to the last of them. */
void strobe_cpu_shares_tick(struct strobe_cpu_shares *c, uint32_t node, uint32_t count);

/* The sampler has stopped the thread with the frames of `node`. */
void strobe_cpu_shares_stop(struct strobe_cpu_shares *c, uint32_t node);

/* A record stands for an interval of short calls, shown as `node`. */
void strobe_cpu_shares_call(struct strobe_cpu_shares *c, uint32_t node);

/* The thread's line ends; strobe_cpu_shares_move has gone on to its end. */
void strobe_cpu_shares_finish(struct strobe_cpu_shares *c);

#endif
