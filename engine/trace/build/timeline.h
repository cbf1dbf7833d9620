/* Samples to slices: turns a session's records into a timeline of nested slices for each thread, and tells it to a sink
 * as it goes. Memory is the function tree plus one path of open slices.
 *
 * A slice begins at the first sample that has it and ends at the first that has it no more; what both stacks share
 * stays open. Above that rule:
 *
 *   middle   Between two samples that the sampler or the thread's CPU clock took, outside of blocking calls and within
 *            a message, the thread went from the one place to the other at a time that nobody saw. The change is shown
 *            in the middle of the CPU time between them: begins and ends of slices are then off by a quarter of an
 *            interval on average, and neither late nor early.
 *   hooks    A sample taken at a hook, or the end of a blocking call, says where the thread was at the hook, which it
 *            leaves soon: it holds for 1 us or half the time to the next, whichever is less. What follows goes to what
 *            the sampler sees next, within one message and where there is no gap; and between two hooks to what the
 *            sampler saw last, if that was not long ago and lies under what both hooks surely have in common, else to
 *            what they have in common (S-6); a function that calls a hook may have returned and been called again.
 *            Where no sampler comes, a hook's sample holds until the next. So does a call that the sampler asked about,
 *            unless the thread waited in it.
 *   merged   A record of n merged samples stands for n samples spread evenly from its first to its last.
 *   wait     A blocking call (a scope record) is a slice named for its kind, from exactly its begin to its end, under
 *            the frames that made the call. Samples taken meanwhile lie in it: what their stack has beyond the
 *            caller's hangs under the wait. Calls nest; one that claims to outlast the call it lies in is cut to it.
 *            A call that had not ended when the session did is shown as far as the session goes.
 *   wakes    Who ended a wait is told at both ends; who released in a slice does so before the slice ends.
 *   message  A message that a poll's end began goes from there: the outermost function that its first sample has in
 *            it is shown from then on. Samples of two messages share nothing of what the messages ran, however equal
 *            their stacks (S-50). The loop that runs them goes on: what both share with the frame that made the POLL
 *            call which last began a message. As long as no such call is known, nothing is shared.
 *   gap      After more than gap_ns without a sample, outside of a blocking call, the earlier stack is shown for the
 *            least duration (below), then "[unseen]" up to the next sample; nothing stays open across (S-51, S-4).
 *            Where the thread is known to have used no more CPU time than gap_ns meanwhile, it had little time to go
 *            elsewhere, and this is no gap. If most of it was not CPU time, "[off cpu]" says so, under what
 *            the sampler saw next, since a thread that is off its processor stands still; else under what both stacks
 *            share.
 *   least    The last sample before a gap, or before the end of the session, lasts the gate's interval of its thread
 *            (1 ms when that is 0), but not past the thread's end (S-52). At equal times each sample still gets 1 ns:
 *            later ones are moved on so that no slice is empty or negative and none is lost (S-53, S-56).
 *   CPU      Counters known at begin and end of a wait are charged to it (S-54). CPU time that ran ahead of wall time,
 *            by the grain of its clock, is held back to it and counted (S-55). Between samples that know their CPU
 *            time it is interpolated. Which frames CPU time belongs to is told apart from that: cpu_shares.h.
 *   hitches  One that claims to outlast the next one ends where that begins.
 *   calls    A thread of which calls are known (engine/method) is shown by them alone, each from its entry to its exit,
 *            whatever samples say. Calls that a jump or an exception left, or that had not returned at the end of the
 *            session, are closed as strobe_calls_repair does (calls_repair.h) and told as unfinished; exits of calls
 *            whose entry was overwritten are left out. Memory is one thread's calls at a time.
 *   sections Sections and counters that the program itself reported (annotations) are marks beside the threads; see
 *            timeline_annotations.h.
 *   losses   A thread with samples lost has an instant "N samples lost" at its start (S-14), or "events lost" where it
 *            is shown by its calls.
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
    int no_samples;                  /* don't tell the sink samples, only slices */
    int keep_open;                   /* other sessions follow: the sink's finish is the caller's to call */
    const struct strobe_mark *marks; /* to be told beside: findings */
    size_t mark_count;
    void (*progress)(void *ctx, uint64_t done, uint64_t all); /* called now and then; NULL = not wanted */
    void *progress_ctx;
};

struct strobe_timeline_stats {
    uint64_t threads; /* told to the sink: those with a record, a loss or an unfinished wait */
    uint64_t slices;  /* all of them, waits, gaps and placeholders included */
    uint64_t waits;
    uint64_t wakes;     /* waits of which is known who or what ended them */
    uint64_t gaps;      /* "[unseen]" */
    uint64_t offs;      /* "[off cpu]" */
    uint64_t runnables; /* "[runnable]" */
    uint64_t instants;
    uint64_t samples;
    uint64_t message_splits;
    uint64_t cpu_clamped;      /* times that CPU time ran ahead of wall time, or back */
    uint64_t waits_cut;        /* waits that claimed to outlast the one they lie in */
    uint64_t values;           /* of time series */
    uint64_t hitches;          /* hangs included */
    uint64_t sections;         /* that the program reported (annotations) */
    uint64_t sections_open;    /* of them, those without an end: shown to the end of their thread */
    uint64_t sections_unbegun; /* ends whose begin is not in the session: left out */
    uint64_t app_values;       /* of counters that the program reported */
    uint64_t calls;            /* slices that are calls, the repaired ones among them */
    uint64_t calls_repaired;   /* ends made up */
    uint64_t calls_unmatched;  /* exits without an entry: left out */
    uint64_t moved;            /* events moved on so that a slice lasts 1 ns */
};

/* Builds the timeline of every thread of `reader` and tells it to `sink`, whose finish is called in any case, but for
 * keep_open. `tree` folds the reader's stack table. Returns the sink's status, or STROBE_IO when memory ran out.
 * `stats` may be NULL. */
enum strobe_status strobe_timeline_build(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                         const struct strobe_timeline_options *options, struct strobe_sink *sink,
                                         struct strobe_timeline_stats *stats);

/* Time without a sample after which a thread counts as unseen: what the options say, or follows from the session. */
uint64_t strobe_timeline_gap_ns(const struct strobe_reader *reader, const struct strobe_reader_thread *thread,
                                const struct strobe_timeline_options *options);

#endif
