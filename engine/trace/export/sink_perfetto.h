/* Writes a timeline as a Perfetto trace (https://perfetto.dev/docs/reference/trace-packet-proto).
 *
 *   first track      the process, with an instant that tells settings and losses; child tracks count what it used over
 *                    time, and one has a slice for each hitch and hang of its run loop; counters and asynchronous
 *                    slices that the program told have theirs. Of several processes each has one more, with a slice
 *                    from its begin to its end
 *   a track each     thread: slices; child tracks count CPU time, allocated bytes, faults, switches
 *   first sequence   descriptors, and what is the process's
 *   second           all callstack samples of the process, so that viewers see one profile and one dictionary
 *   third ...        one for each thread: own clock (ns since the packet before) and names
 *
 * Ids of tracks, sequences and flows follow from the process (perfetto_ids.h), so that two traces can be joined end to
 * end.
 *
 * Who ended a wait: a flow from an instant "wakes" on the waker's track to an instant "woken" at the wait's end, each
 * with the other thread's id; "no waker" when it timed out or was interrupted.
 *
 * Counters travel with the events of slices, so viewers know the CPU time of each; numbers of a slice (samples, faults
 * ...) are annotations of its end, only where not 0.
 *
 * Memory: dictionaries, and one buffer. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_SINK_PERFETTO_H
#define STROBE_TRACE_EXPORT_SINK_PERFETTO_H

#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

/* What was written: what a reader of the trace must find again. */
struct strobe_perfetto_stats {
    uint64_t threads, slices, instants, counter_values, samples;
    uint64_t process_values, hitches; /* on tracks of the process */
    uint64_t counters, asyncs;        /* what the program told: values of counters, asynchronous slices; the same */
    uint64_t lives;                   /* slices of whole processes, where there are several */
    uint64_t flows;                   /* from a waker to a wait; their ends are two of the instants */
    uint64_t packets;                 /* those inside compressed ones counted singly */
    uint64_t raw_bytes;               /* before deflation */
};

/* A sink that writes to `out`, which it does not close. `deflate` 1: packets are compressed in runs. NULL when memory
 * runs out. *stats (not NULL) is complete after the sink's finish, which also frees the sink. */
struct strobe_sink *strobe_sink_perfetto(struct strobe_outfile *out, int deflate, struct strobe_perfetto_stats *stats);

#endif
