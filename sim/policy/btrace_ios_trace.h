/* Builds a trace from the rows of btrace-ios, as the parser of its BTraceTool does:
 *
 *   - Rows of all tables become one kind of sample {start, end, CPU at both, stack}, table by table. The lock, the
 *     owner and the releaser of a lock row are dropped, so the trace has neither waits nor wakers.
 *   - Per thread (one thread id is one thread, even after reuse) samples are keyed by their start. When the key
 *     exists, the new sample is shifted by the difference of their CPU times. When that key exists too, the new
 *     sample replaces the old one.
 *   - A sample that starts within another's span splits it; the rest starts 1 us later.
 *   - Frames without a symbol are left out, and so are samples without frames.
 *   - From one sample to the next, the frames that are equal from the root, by name, continue, however long the gap.
 *     Differing frames begin with the new sample; the old ones end with the last sample that had them.
 *   - Each slice is then extended by min(time to its next sibling or its caller's end, 1 ms). Slices without length
 *     are dropped, so a thread with a single sample is missing.
 *   - A thread whose CPU time is less than 0, or more than its wall time, is left out completely.
 *   - The main thread is the thread with the lowest id.
 *
 * A difference of naming only is removed: the system's symbols are available (as with -s), and its functions that block
 * appear under the names of the engine's waits. */
#ifndef STROBE_SIM_POLICY_BTRACE_IOS_TRACE_H
#define STROBE_SIM_POLICY_BTRACE_IOS_TRACE_H

#include "sim/app/scenario.h"
#include "sim/policy/btrace_stacks.h"
#include "sim/score/tracks.h"

/* In the order in which the parser reads them. */
enum sim_btrace_table {
    SIM_BTRACE_CPU,
    SIM_BTRACE_INTERVAL,
    SIM_BTRACE_MEM,
    SIM_BTRACE_DATE,
    SIM_BTRACE_DISPATCH,
    SIM_BTRACE_LOCK,
    SIM_BTRACE_TABLES
};

/* Times and CPU in units of 10 us; times wrap after 11.93 h. */
enum { SIM_BTRACE_TICK_NS = 10000 };
struct sim_btrace_row {
    uint32_t start, end;
    uint32_t cpu_start, cpu_end;
    uint32_t tid;
    uint32_t stack; /* frames are addresses */
    enum sim_btrace_table table;
    uint64_t lock; /* of a lock: its id in 48 bits, and the action (enum strobe_btrace_ios_action) above */
};

struct sim_btrace_ios_dump {
    const struct sim_btrace_row *rows;
    size_t count;
    const struct sim_btrace_stacks *stacks;
    const struct sim_scenario *scenario; /* for names of methods */
    /* Returns the method at a code address: its number, sim_wait_method, or SIM_HOOK_METHOD for no symbol. */
    uint32_t (*method_at)(const void *ctx, uint64_t address);
    const char *(*thread_name)(const void *ctx, uint32_t tid);
    const void *ctx;
};

/* Adds the tracks to `out`, which is open and empty. Does not set samples, losses and bytes. STROBE_IO: out of
 * memory. */
enum strobe_status sim_btrace_ios_build(const struct sim_btrace_ios_dump *dump, struct sim_tracks *out);

#endif
