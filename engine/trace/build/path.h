/* The open slices of one thread, and the moment that its timeline has reached. The timeline emits all slices through
 * this interface, which keeps them nested, longer than zero and in order for any input.
 *
 * Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_BUILD_PATH_H
#define STROBE_TRACE_BUILD_PATH_H

#include "engine/trace/build/cpu_shares.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/model/sink.h"

#include <stdint.h>

struct strobe_path {
    struct strobe_sink *sink;
    struct strobe_function_tree *tree;
    struct strobe_timeline_stats *stats;
    struct strobe_slice *open; /* outermost first */
    uint32_t depth, room;
    int divides;     /* the sink takes shares of CPU time */
    uint32_t node;   /* of the innermost open slice; 0 = none */
    uint32_t *steps; /* scratch of strobe_path_show */
    uint32_t step_room;
    struct strobe_moment now;
    const struct strobe_reader *reader;
    const uint32_t *wakes; /* releases of the thread that are not emitted yet, by time */
    size_t wake_count;
    uint64_t start_ns;               /* of the thread */
    uint64_t wake_ns;                /* time of the first release in `wakes`; UINT64_MAX = none */
    uint64_t known_ns, known_cpu_ns; /* the last known CPU time and its time */
    uint64_t ahead_ns, ahead_cpu_ns; /* the next known CPU time and its time; ahead_ns 0 = unknown */
    uint32_t call;                   /* node of the recorded call that the thread is in; 0 = none */
    struct strobe_cpu_shares shares;
    int failed; /* memory ran out */
};

/* Starts a thread at `time_ns`, with the first known CPU time and counters. */
void strobe_path_start(struct strobe_path *path, const struct strobe_reader_thread *thread, uint64_t time_ns,
                       uint64_t cpu_ns, const uint64_t *counter);

/* Emits the remaining releases, outside of all slices. Call it at the thread's end. */
void strobe_path_finish(struct strobe_path *path);

/* Emits the wake of the wait that is the innermost open slice. */
void strobe_path_woken(struct strobe_path *path, const struct strobe_reader_wake *wake);

/* Moves on to `time_ns`, if that is later than now. CPU time is estimated. */
void strobe_path_move(struct strobe_path *path, uint64_t time_ns);

/* Moves on to `time_ns` with a known CPU time. */
void strobe_path_move_known(struct strobe_path *path, uint64_t time_ns, uint64_t cpu_ns);

/* Divides the CPU time up to now (cpu_shares.h). */
void strobe_path_share(struct strobe_path *path);

/* Sets the next time at which CPU time is known; time_ns 0: there is none. */
void strobe_path_expect(struct strobe_path *path, uint64_t time_ns, uint64_t cpu_ns);

/* Makes `node` the innermost open slice: ends the slices that it does not share and begins the missing ones, now. */
void strobe_path_show(struct strobe_path *path, uint32_t node);

/* Returns the number of open slices that are on the path of `node`. */
uint32_t strobe_path_shared(const struct strobe_path *path, uint32_t node);

/* Begins a slice of `name` in the innermost one, even if an equal slice has just ended. NULL: out of memory. */
struct strobe_slice *strobe_path_push(struct strobe_path *path, uint32_t name, uint64_t arg, int unfinished);

/* Does the same with a slice of class STROBE_SLICE_OFF_CPU. */
struct strobe_slice *strobe_path_push_off(struct strobe_path *path, uint32_t name);

/* Ends slices until `depth` are left, now. Moves on by 1 ns first if the innermost slice would be empty. */
void strobe_path_cut(struct strobe_path *path, uint32_t depth);

#endif
