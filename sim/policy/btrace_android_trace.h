/* From the records of btrace-android to a trace, as its rhea-trace-processor does it:
 *
 *   - a record with an end gives two items of one stack and one set of counters, at begin and at end; one whose end is
 *     not after its begin is silently a point
 *   - items of all records are sorted by time, stably, and grouped by thread; thread ids are 16 bits, read as signed
 *   - per thread each stack is compared with the one before from the root, by name; what differs is popped at
 *     min(now, previous + 10 ns) and pushed at now; what is equal goes on, however long the gap
 *   - after the end of a duration, a stack of equal depth (not: an equal stack) has its innermost frame closed and
 *     opened again; when that frame is another one, it is first there for no time at all
 *   - at the end everything is popped 10 ns after the last item
 *   - records of releases carry the begin time of main's wait, which finds them again; of several the last one counts
 *   - message ids split nothing
 *
 * Differences of mere naming are smoothed: the frames Object.wait, Unsafe.park, BinderProxy.transactNative, nativeLoad
 * and the two leaves that the processor invents for monitors and the collector appear under the names of the engine's
 * waits. A tid of 16 bits is given back as it is: of a thread with a larger one the trace shows the rest, and threads
 * that share it, or had it one after the other, share a track. Counters of the trace are differences: of a thread's
 * totals those before its first record are missing. */
#ifndef STROBE_SIM_POLICY_BTRACE_ANDROID_TRACE_H
#define STROBE_SIM_POLICY_BTRACE_ANDROID_TRACE_H

#include "sim/app/scenario.h"
#include "sim/policy/btrace_stacks.h"
#include "sim/score/tracks.h"

/* As stored by the collector; those that its published part writes. */
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

/* Times and CPU in ns. Of a release: nano is the begin of main's wait, end_nano the time itself, cpu 0. */
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

/* Adds the tracks to `out`, open and empty. Samples, losses and bytes are left alone. STROBE_IO: out of memory. */
enum strobe_status sim_btrace_android_build(const struct sim_btrace_android_dump *dump, struct sim_tracks *out);

/* The wait that a type of record is about, NONE for points. */
enum strobe_kind sim_btrace_wait_of(enum sim_btrace_type type);

#endif
