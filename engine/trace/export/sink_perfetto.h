/* Writes a timeline as a Perfetto trace (https://perfetto.dev/docs/reference/trace-packet-proto).
 *
 *   first track      the process. An instant contains its settings and losses. Child tracks:
 *                      - the process's values over time;
 *                      - a slice for each hitch and hang of its run loop;
 *                      - counters and asynchronous slices of the program;
 *                      - if there are several processes, a slice from the process's begin to its end
 *   a track each     thread: slices; child tracks for CPU time, allocated bytes, faults, switches
 *   first sequence   descriptors, and events of the process
 *   second           all callstack samples of the process, so that viewers show one profile with one dictionary
 *   third ...        one for each thread, with its own names, and with a clock in ns since the previous packet
 *
 * Ids of tracks, sequences and flows are derived from the process (perfetto_ids.h), so that two traces can be
 * concatenated.
 *
 * The end of a wait by another thread is a flow from an instant "wakes" on the waker's track to an instant "woken" at
 * the wait's end. Each instant has the other thread's id. If the wait timed out or was interrupted, there is an instant
 * "no waker".
 *
 * Scheduling that the session itself holds (sched_section.h) is written as ftrace's events, on a sequence of its own:
 * switches between the process's threads and the idle task, which stands for all other tasks, and wake-ups.
 *
 * Events of slices contain counter values, so viewers know the CPU time of each slice. Numbers of a slice (samples,
 * faults ...) are annotations of its end if they are not 0. With the states of threads, so are the ns of the slice in
 * which its thread was running, runnable, sleeping and uninterruptible.
 *
 * Memory: dictionaries, and one buffer. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_SINK_PERFETTO_H
#define STROBE_TRACE_EXPORT_SINK_PERFETTO_H

#include "engine/trace/model/sched_states.h"
#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

/* Counts of the events written. A reader of the trace must find the same numbers. */
struct strobe_perfetto_stats {
    uint64_t threads, slices, instants, counter_values, samples;
    uint64_t process_values, hitches; /* on tracks of the process */
    uint64_t counters, asyncs;  /* of the program, on tracks of the process: values of counters, asynchronous slices */
    uint64_t lives;             /* slices of whole processes, if there are several */
    uint64_t switches, wakings; /* events of scheduling */
    uint64_t flows;             /* from a waker to a wait; each has two of the instants */
    uint64_t packets;           /* packets; those within compressed packets count one by one */
    uint64_t raw_bytes;         /* before compression */
};

/* The sequences of a process besides one for each thread: of the process and its tracks, of threads' descriptors, of
 * samples, and of scheduling. */
enum { STROBE_PERFETTO_SEQUENCES = 4 };

/* Ids of one process, when they are not derived from it alone. */
struct strobe_perfetto_ids {
    uint64_t salt;           /* 0 = none; else it makes all ids of tracks and flows others */
    uint32_t first_sequence; /* the first of STROBE_PERFETTO_SEQUENCES and one for each thread */
    uint32_t id_offset;      /* added to the ids of the process and its threads; such threads have no states */
};

struct strobe_perfetto_options {
    int deflate;  /* packets are compressed in runs */
    int separate; /* tracks of threads are apart from those that others describe for a thread of the same ids */
    const struct strobe_sched_states *states; /* of threads; NULL = those of the session, if it has scheduling */
    int no_scheduling;                        /* the session's own scheduling is left out */
    uint64_t from_ns, to_ns; /* the part of it that is written, since the session's begin; to_ns 0 = to its end */
    const struct strobe_perfetto_ids *ids; /* of each process, in the order of starts; NULL = by perfetto_ids.h */
};

/* Returns a sink that writes to `out`, as strobe_sink_perfetto. States and ids must outlive it. */
struct strobe_sink *strobe_sink_perfetto_with(struct strobe_outfile *out, const struct strobe_perfetto_options *options,
                                              struct strobe_perfetto_stats *stats);

/* Returns a sink that writes to `out`, which it does not close. `deflate` 1: packets are compressed in runs. NULL: out
 * of memory. *stats (not NULL) is complete after the sink's finish, which also frees the sink. */
struct strobe_sink *strobe_sink_perfetto(struct strobe_outfile *out, int deflate, struct strobe_perfetto_stats *stats);

#endif
