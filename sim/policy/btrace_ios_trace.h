/* From the rows of btrace-ios to a trace, as the parser of its BTraceTool does it:
 *
 *   - rows of all tables become one kind of sample {start, end, CPU at both, stack}, table by table: what a lock row
 *     was about, who it waited for and who let it go is dropped, so that the trace has neither waits nor wakers
 *   - per thread (its id alone, for ever) they are keyed by their start: when there is one at that time already, the
 *     new one is shifted by the difference of their CPU times, and if that is taken, too, replaces what is there
 *   - a sample that starts within another's span splits it; the rest starts 1 us later
 *   - frames without a symbol are left out, and samples without frames
 *   - from one sample to the next what is equal from the root, by name, goes on, however long the gap; what differs
 *     begins with the new sample, and what was there ends with the last sample that had it
 *   - each slice then lasts min(time to its next sibling or its caller's end, 1 ms) longer; what has no length is
 *     dropped, so that a thread with a single sample is not there
 *   - a thread whose CPU time is less than 0, or more than its wall time, is left out altogether
 *   - main is the thread with the lowest id
 *
 * Difference of naming that is smoothed: symbols of the system are had (as with -s), and its functions that block
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
};

struct sim_btrace_ios_dump {
    const struct sim_btrace_row *rows;
    size_t count;
    const struct sim_btrace_stacks *stacks;
    const struct sim_scenario *scenario; /* for names of methods */
    /* The method of a code address: its number, sim_wait_method, or SIM_HOOK_METHOD = no symbol. */
    uint32_t (*method_at)(const void *ctx, uint64_t address);
    const char *(*thread_name)(const void *ctx, uint32_t tid);
    const void *ctx;
};

/* Adds the tracks to `out`, open and empty. Samples, losses and bytes are left alone. STROBE_IO: out of memory. */
enum strobe_status sim_btrace_ios_build(const struct sim_btrace_ios_dump *dump, struct sim_tracks *out);

#endif
