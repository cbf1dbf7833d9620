/* State of timeline.c for the thread whose slices it builds: where the thread was last seen, the calls that it is in,
 * and the merged records with samples still to come.
 *
 * Included only by timeline.c and timeline_between.c. */
#ifndef STROBE_TRACE_BUILD_TIMELINE_BUILDER_H
#define STROBE_TRACE_BUILD_TIMELINE_BUILDER_H

#include "engine/trace/build/calls_session.h"
#include "engine/trace/build/path.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/build/timeline_items.h"

/* The shortest time off the processor that is shown. */
enum { RUNNABLE_NS_LEAST = 200000 };

/* A blocking call that the thread is in. */
struct call {
    const struct strobe_item *item;
    uint32_t caller; /* node of the frames that made the call, from the record's stack */
    uint32_t wait;   /* node of the wait's slice */
    uint32_t depth;  /* depth of the wait's slice */
    uint64_t end_ns;
    int unfinished;
};

/* A merged record with samples still to come. Of successive samples with no other record between them, only the last
 * is processed. */
struct run {
    const struct strobe_item *item;
    uint64_t first_ns, last_ns;
    uint32_t done; /* number of samples that the timeline has passed */
    uint32_t next; /* index of the next sample to process */
    uint64_t next_ns;
};

struct builder {
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_timeline_options *options;
    int emits_samples;
    struct strobe_sink *sink;
    struct strobe_timeline_stats *stats;
    struct strobe_path path;

    const struct strobe_reader_thread *thread;
    uint64_t gap_ns, least_ns, wait_ns;
    uint64_t seen_ns;               /* time at which the thread was last seen at its shown position */
    const struct strobe_item *seen; /* the record that saw it; NULL = none yet */
    uint32_t sampled;               /* node of the last sample that the sampler or the CPU clock took */
    uint32_t sampled_message;       /* message of that sample */
    uint64_t sampled_ns;            /* time of that sample; 0 = none yet */
    uint64_t sampled_cpu_ns;        /* CPU time at that sample; UINT64_MAX = unknown */
    int ticks;                      /* the thread has samples of its CPU clock */
    uint64_t tick_ns;               /* CPU time that a sparse tick stands for at most; 0 = the last tick was none */
    uint64_t short_waits;           /* time in unrecorded short waits, at the last sample of the CPU clock; in ticks */
    uint32_t message;
    uint32_t poll;                          /* node of the caller of the last POLL call; 0 = none */
    uint32_t loop;                          /* node of the caller of the POLL call that last began a message */
    uint32_t current_message, last_message; /* the emitted message that has not ended, 0 = none; the last emitted one */
    size_t next_wait_call;                  /* index of the first of the thread's wait_calls that is not passed yet */
    size_t next_cpu_item;                   /* 1 + index of the item whose CPU time the path expects next */

    const struct strobe_reader_wake *woken; /* wakes of the thread's waits that end later */
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

/* Returns 1 if the record was taken at a time that does not depend on what the thread did. */
static inline int is_representative(const struct strobe_item *item)
{
    const struct strobe_record *r = &item->record;
    return r->kind == STROBE_KIND_ASYNC || r->kind == STROBE_KIND_CPU || r->flags & STROBE_FLAG_ASKED;
}

/* Returns 1 if the item is a call in which the thread waited. Its end then shows a place that the thread leaves soon.
 */
static inline int waited(const struct builder *b, const struct strobe_item *item)
{
    return is_call(item) && strobe_reader_span_ns(b->reader, item->record.duration) >= b->wait_ns;
}

#endif
