/* The open slices of one thread, and the moment it has got to. The lower half of the timeline: keeps slices nested,
 * longer than zero and in order whatever it is asked for, and tells them to the sink.
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
    int divides;     /* the sink asks for shares of CPU time */
    uint32_t node;   /* of the innermost open slice; 0 = none */
    uint32_t *steps; /* scratch of strobe_path_show */
    uint32_t step_room;
    struct strobe_moment now;
    const struct strobe_reader *reader;
    const uint32_t *wakes; /* releases of the thread not told yet, by time */
    size_t wake_count;
    uint64_t start_ns;               /* of the thread */
    uint64_t wake_ns;                /* time of the first; UINT64_MAX = none */
    uint64_t known_ns, known_cpu_ns; /* CPU time last known, and when */
    uint64_t ahead_ns, ahead_cpu_ns; /* CPU time known next; ahead_ns 0 = not known */
    uint32_t call;                   /* node of the recorded call that the thread is in; 0 = none */
    struct strobe_cpu_shares shares;
    int failed; /* memory ran out */
};

/* Starts a thread at `time_ns` with CPU time and counters as they are when first known. */
void strobe_path_start(struct strobe_path *path, const struct strobe_reader_thread *thread, uint64_t time_ns,
                       uint64_t cpu_ns, const uint64_t *counter);

/* Tells the releases that are left, outside of all slices. At the thread's end. */
void strobe_path_finish(struct strobe_path *path);

/* Tells who ended the wait that is the innermost open slice. */
void strobe_path_woken(struct strobe_path *path, const struct strobe_reader_wake *wake);

/* Goes on to `time_ns`, or stays when that is past; CPU time is estimated. */
void strobe_path_move(struct strobe_path *path, uint64_t time_ns);

/* The same with CPU time measured. */
void strobe_path_move_known(struct strobe_path *path, uint64_t time_ns, uint64_t cpu_ns);

/* Divides the CPU time up to now (cpu_shares.h). */
void strobe_path_share(struct strobe_path *path);

/* Tells where CPU time will next be known; time_ns 0 = nowhere. */
void strobe_path_expect(struct strobe_path *path, uint64_t time_ns, uint64_t cpu_ns);

/* Makes `node` the innermost open slice: ends what it does not share, begins what it adds, now. */
void strobe_path_show(struct strobe_path *path, uint32_t node);

/* How many of the open slices `node` shares. */
uint32_t strobe_path_shared(const struct strobe_path *path, uint32_t node);

/* Begins one more slice, of `name`, in the innermost one, even where an equal one was just ended. NULL when memory ran
 * out. */
struct strobe_slice *strobe_path_push(struct strobe_path *path, uint32_t name, uint64_t arg, int unfinished);

/* Ends slices until `depth` are left, now; moves on by 1 ns when one would be empty. */
void strobe_path_cut(struct strobe_path *path, uint32_t depth);

#endif
