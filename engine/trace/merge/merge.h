/* Merges sessions and traces to one Perfetto trace.
 *
 *   sessions           become slices, as strobe_convert makes them. A slice's end has the time in which its thread was
 *                      running, runnable, sleeping and uninterruptible, where an input has the thread's scheduling
 *   Perfetto traces    are copied packet by packet, see merge_packets.h
 *   ftrace texts       become ftrace's events, see merge_text.h
 *
 * The kind of each input is found by its content. Ids of tracks and sequences that Strobe writes differ from those of
 * the other inputs, and of processes with the same pid.
 *
 * Memory: that of the largest session, states of the sessions' threads, ids and snapshots of traces. Allocates; not
 * thread-safe. Reading half only. */
#ifndef STROBE_TRACE_MERGE_MERGE_H
#define STROBE_TRACE_MERGE_MERGE_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct strobe_merge_options {
    const char *const *paths; /* files, and folders of sessions */
    size_t count;
    unsigned symbols; /* STROBE_SYMBOLS_* */
    bool has_offset;
    int64_t offset_ns; /* added to the times of ftrace texts, which are then on BOOTTIME */
    int replace;       /* overwrite an existing file */
    FILE *report;      /* gets lines about clocks, and about what is left out; may be NULL */
};

struct strobe_merge_stats {
    uint64_t sessions, traces, texts; /* inputs */
    uint64_t threads, slices;         /* of sessions */
    uint64_t events;                  /* of texts */
    uint64_t packets;                 /* of traces */
    uint64_t bytes;                   /* of the output */
};

/* Writes the merged trace to `out_path`, which appears under its name only when complete. On failure `error` has one
 * line: file, place, what was expected. */
enum strobe_status strobe_merge(const char *out_path, const struct strobe_merge_options *options,
                                struct strobe_merge_stats *stats, struct strobe_error *error);

#endif
