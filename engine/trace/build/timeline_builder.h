/* What timeline.c keeps of the thread whose slices it builds: where the thread was seen last, the calls that it is in,
 * the merged records whose samples are still to come.
 *
 * Included by that file and by timeline_between.c alone. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_BUILDER_H
#define STROBE_TRACE_BUILD_TIMELINE_BUILDER_H

#include "engine/trace/build/calls_session.h"
#include "engine/trace/build/path.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/build/timeline_items.h"

/* Time off a processor that is shown is no shorter. */
enum { RUNNABLE_NS_LEAST = 200000 };

/* A blocking call the thread is in. */
struct call {
    const struct strobe_item *item;
    uint32_t caller; /* node of the frames that made the call, as the stack says */
    uint32_t wait;   /* node of the wait, as shown */
    uint32_t depth;  /* of the wait's slice */
    uint64_t end_ns;
    int unfinished;
};

/* A merged record whose samples are not all behind us. Of a run of samples that nothing comes between, only the last is
 * looked at. */
struct run {
    const struct strobe_item *item;
    uint64_t first_ns, last_ns;
    uint32_t done; /* samples behind us */
    uint32_t next; /* the one to look at next */
    uint64_t next_ns;
};

struct builder {
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_timeline_options *options;
    int tells_samples;
    struct strobe_sink *sink;
    struct strobe_timeline_stats *stats;
    struct strobe_path path;

    const struct strobe_reader_thread *thread;
    uint64_t gap_ns, least_ns, wait_ns;
    uint64_t seen_ns;               /* when the thread was last seen where it is shown */
    const struct strobe_item *seen; /* by which record */
    uint32_t sampled;               /* node that the sampler saw last, */
    uint32_t sampled_message;       /* in this message, */
    uint64_t sampled_ns;            /* and when; 0 = never */
    int ticks;                      /* its CPU clock ticks: a record says so */
    uint64_t short_waits;           /* its time in short waits that were not recorded, at its last tick; in ticks */
    uint32_t message;
    uint32_t poll;            /* node of the frames that made the POLL call seen last; 0 = none */
    uint32_t loop;            /* the same of the one that last began a message */
    uint32_t told, told_last; /* message that the sink was told of and that goes on, 0 = none; and the last */
    size_t looked;            /* 1 + the item whose CPU time the path expects next */

    const struct strobe_reader_wake *woken; /* of the thread's waits that have not ended */
    size_t woken_count;

    struct call *calls; /* outermost first; their ends do not increase */
    size_t call_count, call_room;
    struct run *runs; /* latest first */
    size_t run_count, run_room;
    struct strobe_calls_session *exact;
    int failed;
};

static inline int is_call(const struct strobe_item *item)
{
    return item->record.flags & STROBE_FLAG_SCOPE;
}

/* Taken at a time that the thread's own doings did not choose. */
static inline int is_representative(const struct strobe_item *item)
{
    const struct strobe_record *r = &item->record;
    return r->kind == STROBE_KIND_ASYNC || r->kind == STROBE_KIND_CPU || r->flags & STROBE_FLAG_ASKED;
}

/* A call so long that the thread waited in it: when it ends, it is left. */
static inline int waited(const struct builder *b, const struct strobe_item *item)
{
    return is_call(item) && strobe_reader_span_ns(b->reader, item->record.duration) >= b->wait_ns;
}

#endif
