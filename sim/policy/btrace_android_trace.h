/* Builds a trace from the records of btrace-android, as its rhea-trace-processor does:
 *
 *   - A record with an end yields two items with the same stack and counters, at begin and end. A record whose end
 *     is not after its begin becomes a point.
 *   - Items of all records are sorted by time, stably, and grouped by thread. Thread ids are 16 bits, read as
 *     signed.
 *   - Per thread, each stack is compared with the previous one from the root, by name. Differing frames are popped
 *     at min(now, previous + 10 ns) and pushed at now. Equal frames continue, however long the gap.
 *   - After the end of a duration, when the next stack has equal depth (not: is an equal stack), its innermost frame
 *     is closed and opened again. When that frame differs, it first appears with length 0.
 *   - At the end everything is popped 10 ns after the last item.
 *   - Records of releases carry the begin time of main's wait, by which the wait is found. Of several such records
 *     the last one counts.
 *   - Message ids split nothing.
 *
 * Differences of naming only are removed: the frames Object.wait, Unsafe.park, BinderProxy.transactNative, nativeLoad
 * and the two leaves that the processor adds for monitors and the collector appear under the names of the engine's
 * waits. A tid of 16 bits is kept as it is: for a larger tid the trace shows its low bits. Threads that share a tid, at
 * once or one after the other, share a track. Counters of the trace are differences: the totals before a thread's first
 * record are missing. */
#ifndef STROBE_SIM_POLICY_BTRACE_ANDROID_TRACE_H
#define STROBE_SIM_POLICY_BTRACE_ANDROID_TRACE_H

#include "sim/app/scenario.h"
#include "sim/policy/btrace_stacks.h"
#include "sim/score/tracks.h"

/* Type codes as the collector stores them; only those that its published part writes. */
enum sim_btrace_type {
    SIM_BTRACE_BINDER = 2,
    SIM_BTRACE_OBJECT_WAIT = 6,
    SIM_BTRACE_PARK = 7,
    SIM_BTRACE_MONITOR = 8,
    SIM_BTRACE_ALLOCATION = 9,
    SIM_BTRACE_JNI = 10,
    SIM_BTRACE_GC = 11,
    SIM_BTRACE_UNPARK = 17,
    SIM_BTRACE_LOAD = 20,
    SIM_BTRACE_NOTIFY = 22,
    SIM_BTRACE_UNLOCK = 23,
};

/* Times and CPU in ns. For a release: nano is the begin of main's wait, end_nano the time of the release, cpu 0. */
struct sim_btrace_record {
    uint64_t nano, end_nano, cpu, end_cpu;
    uint64_t objects, bytes; /* allocated by the thread so far */
    uint32_t major_faults, voluntary_switches, involuntary_switches;
    uint32_t stack; /* frames are method numbers + 1 and SIM_BTRACE_WAIT ones */
    uint16_t type, tid;
};

struct sim_btrace_android_dump {
    const struct sim_btrace_record *records;
    size_t count;
    const struct sim_btrace_stacks *stacks;
    const struct sim_scenario *scenario; /* for names of methods */
    const char *(*thread_name)(const void *ctx, uint16_t tid);
    const void *ctx;
    uint32_t pid;
};

/* Adds the tracks to `out`, which is open and empty. Does not set samples, losses and bytes. STROBE_IO: out of
 * memory. */
enum strobe_status sim_btrace_android_build(const struct sim_btrace_android_dump *dump, struct sim_tracks *out);

/* Returns the kind of wait of a type of record; NONE for points. */
enum strobe_kind sim_btrace_wait_of(enum sim_btrace_type type);

#endif
