/* Builds a timeline of nested slices for each thread from a session's records, and emits it to a sink. Memory is the
 * function tree plus one path of open slices.
 *
 * A slice begins at the first sample whose stack contains it, and ends at the first sample whose stack does not. Slices
 * that two successive stacks share stay open. The following rules refine this:
 *
 *   middle   Two successive samples of the sampler or of the thread's CPU clock, outside of blocking calls and within
 *            one message: the time of the change between their stacks is unknown. It is shown in the middle of the CPU
 *            time between them. Begins and ends of slices are then off by a quarter of an interval on average, and
 *            neither early nor late on average.
 *   hooks    A sample taken at a hook, or the end of a blocking call, shows a place that the thread leaves soon. It
 *            holds for 1 us or half the time to the next record, whichever is less. The time after it goes to:
 *              - the stack of the next record, if the sampler took that record, within one message and without a gap;
 *              - between two hooks, the sampler's last stack, if that is recent and lies under the frames that both
 *                hooks surely share; else the frames that both share (S-6). The caller of a hook is not surely shared,
 *                because it may have returned and been called again. A sample is recent for two gaps of time, and for
 *                two gaps of the thread's CPU time where that is known.
 *            Without samples of the sampler, a hook's sample holds until the next record. So does a call during which
 *            the sampler polled the thread (STROBE_FLAG_ASKED), unless the thread waited in it.
 *   merged   A record of n merged samples stands for n samples, spread evenly from its first to its last.
 *   wait     A blocking call (a scope record) is a slice named for its kind, from exactly its begin to its end, under
 *            the frames that made the call. Samples taken meanwhile lie in it: the frames of their stack beyond the
 *            caller's hang under the wait. Calls nest; an inner call that outlasts its outer call ends with it. A call
 *            that had not ended at the end of the session is shown up to the end of the session.
 *   wakes    The end of a wait by another thread is emitted at both threads. A release within a slice is emitted before
 *            the slice ends.
 *   message  A message begins at the end of the POLL call right before its first record; without such a call, at that
 *            record. A POLL call need not begin a message. The outermost function that the first sample shows in the
 *            message is shown from its begin on. Samples of two messages share no frames of the messages, even if
 *            their stacks are equal (S-50). The loop that runs the messages stays open: the frames that both stacks
 *            share with the caller of the POLL call that last began a message. Before the first such call, no slice
 *            stays open.
 *   gap      After more than gap_ns without a sample, outside of a blocking call, the earlier stack is shown for the
 *            least duration (below), and then "[unseen]" up to the next sample. No slice stays open across "[unseen]"
 *            (S-51, S-4). A thread that is known to have used at most gap_ns of CPU time meanwhile had little time to
 *            move, so "[unseen]" is not shown. If CPU time is at most a quarter of the gap, "[off cpu]" is shown. It
 *            lies under the stack of the next sample if the sampler took it, since a thread off its processor does not
 *            move; else under the frames that both stacks share.
 *   runnable Between two records with known CPU time, outside of blocking calls, the thread was off its processor for
 *            RUNNABLE_NS_LEAST or longer. Where the CPU clock ticks, this is shown as "[off cpu]" when the next
 *            tick shows that the thread gave up its processor, else as "[runnable]". For other threads it is shown as
 *            "[runnable]" when the sampler saw at either record that the thread waited for a processor there, else as
 *            "[off cpu]". If the thread was off its processor for so long in a call in which it did not wait
 *            (STROBE_FLAG_NO_WAIT), that time is "[runnable]", at the call's end.
 *   syscall  Time that would be shown as "[off cpu]" has the name of the system call in which the sampler saw the
 *            thread during it ("[futex]"). A change from one call to another is shown when the sampler saw the second
 *            one. A thread with a ticking CPU clock that was seen in a system call is not shown as "[runnable]".
 *   least    The last sample before a gap, or before the end of the session, lasts the gate's interval of its thread
 *            (1 ms when that is 0), but not past the thread's end (S-52). Samples of equal time still get 1 ns each:
 *            later ones move on, so that no slice is empty or negative and no sample is lost (S-53, S-56).
 *   CPU      Counters known at the begin and end of a wait are charged to it (S-54). CPU time that exceeds wall time,
 *            because of the granularity of its clock, is limited to it and counted (S-55). CPU time is interpolated
 *            between samples with a known value. cpu_shares.h divides CPU time among frames, independently of slices.
 *   hitches  A hitch ends at the latest when the next hitch begins.
 *   calls    A thread with known calls (engine/method) is shown by these alone, each from its entry to its exit,
 *            without its samples. Calls that a jump or an exception left, or that had not returned at the end of the
 *            session, are closed as strobe_calls_repair does (calls_repair.h) and marked as unfinished. An exit whose
 *            entry was overwritten is left out. Memory is one thread's calls at a time.
 *   sections Sections and counters that the program itself reported (annotations) are marks; see
 *            timeline_annotations.h.
 *   losses   A thread with lost samples has an instant "N samples lost" at its start (S-14), or "events lost" if it is
 *            shown by its calls.
 *
 * Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_H
#define STROBE_TRACE_BUILD_TIMELINE_H

#include "engine/base/status.h"
#include "engine/trace/model/calls_repair.h"
#include "engine/trace/model/function_tree.h"
#include "engine/trace/model/sink.h"
#include "engine/trace/session/reader.h"

#include <stdint.h>

struct strobe_timeline_options {
    uint64_t gap_ns;                 /* 0 = four times the thread's interval or the sampler's, at least 5 ms */
    enum strobe_repair repair;       /* of calls */
    int no_samples;                  /* do not emit samples, only slices */
    int keep_open;                   /* other sessions follow: the caller calls the sink's finish */
    const struct strobe_mark *marks; /* emitted in addition: findings */
    size_t mark_count;
    void (*progress)(void *ctx, uint64_t done, uint64_t all); /* called periodically; may be NULL */
    void *progress_ctx;
};

struct strobe_timeline_stats {
    uint64_t threads; /* emitted: threads with a record, a loss or an unfinished wait */
    uint64_t slices;  /* all slices, including waits, gaps and placeholders */
    uint64_t waits;
    uint64_t wakes;     /* waits with a known waker, or known to have timed out or to have been interrupted */
    uint64_t gaps;      /* "[unseen]" */
    uint64_t offs;      /* "[off cpu]" */
    uint64_t runnables; /* "[runnable]" */
    uint64_t instants;
    uint64_t samples;
    uint64_t message_splits;
    uint64_t cpu_clamped;      /* times that CPU time exceeded wall time, or fell */
    uint64_t waits_cut;        /* waits that outlasted the wait around them */
    uint64_t values;           /* of time series */
    uint64_t hitches;          /* hangs included */
    uint64_t sections;         /* that the program reported (annotations) */
    uint64_t sections_open;    /* of them, those without an end: shown to the end of their thread */
    uint64_t sections_unbegun; /* ends whose begin is not in the session: left out */
    uint64_t app_values;       /* of counters that the program reported */
    uint64_t calls;            /* slices of exact calls, including repaired ones */
    uint64_t calls_repaired;   /* synthesized ends */
    uint64_t calls_unmatched;  /* exits without an entry: left out */
    uint64_t moved;            /* events moved to a later time so that a slice lasts 1 ns */
};

/* Builds the timeline of every thread of `reader` and emits it to `sink`. Calls the sink's finish in any case, unless
 * keep_open is set. `tree` folds the reader's stack table. Returns the sink's status, or STROBE_IO when memory ran out.
 * `stats` may be NULL. */
enum strobe_status strobe_timeline_build(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                         const struct strobe_timeline_options *options, struct strobe_sink *sink,
                                         struct strobe_timeline_stats *stats);

/* Returns the time without a sample after which a thread counts as unseen: `gap_ns` of the options, or the default that
 * follows from the session's intervals. */
uint64_t strobe_timeline_gap_ns(const struct strobe_reader *reader, const struct strobe_reader_thread *thread,
                                const struct strobe_timeline_options *options);

#endif
