#include "sim/score/tracks.h"

#include "engine/trace/model/sink.h"
#include "engine/util/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct recorder_open {
    bool is_call;  /* it is in the track */
    bool notified; /* a wait for a notification */
};

struct recorder {
    struct strobe_sink sink;
    struct sim_tracks *tracks;
    uint64_t origin_ns;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_reader_thread *thread;
    uint32_t track;                /* of the thread */
    uint32_t first_track;          /* of all threads */
    uint32_t *track_of;            /* by thread: its track + 1; 0: none yet */
    struct strobe_wake_flow woken; /* wake-up for the wait that ends next; id 0: none */
    struct strobe_moment last;     /* the latest of the thread */
    struct recorder_open *open;    /* open slices of the thread, except those "off the processor" */
    size_t depth, room;
    uint32_t *number; /* by name of the tree: number in the tracks + 1; 0: not looked up yet */
    size_t number_room;
};

/* Converts a time. The trace's clock may begin before origin_ns, and threads may end before their last event. */
static uint64_t recorder_run_time(const struct recorder *r, uint64_t time_ns)
{
    uint64_t now = r->tracks->failed ? 0 : r->tracks->tracks[r->track].end_ns;
    return time_ns > r->origin_ns && time_ns - r->origin_ns > now ? time_ns - r->origin_ns : now;
}

static uint32_t recorder_name_number(struct recorder *r, uint32_t name)
{
    size_t room = r->number_room;
    if (!strobe_array_reserve(&r->number, &r->number_room, (size_t)name + 1)) {
        r->tracks->failed = 1;
        return 0;
    }
    memset(r->number + room, 0, (r->number_room - room) * sizeof *r->number);
    if (!r->number[name])
        r->number[name] = sim_tracks_name(r->tracks, strobe_function_tree_name(r->tree, name)->text) + 1;
    return r->number[name] - 1;
}

static void recorder_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                           struct strobe_function_tree *tree)
{
    enum { SLOT_BYTES = 64 };
    struct recorder *r = (struct recorder *)sink;
    r->reader = reader;
    r->tree = tree;
    r->first_track = (uint32_t)r->tracks->track_count;
    r->track_of = calloc((size_t)reader->thread_count + 1, sizeof *r->track_of);
    r->tracks->failed |= !r->track_of;
    uint64_t overwritten = reader->all.overwritten > 0 ? (uint64_t)reader->all.overwritten : 0;
    r->tracks->lost += reader->all.dropped + overwritten + reader->untracked;
    r->tracks->bytes += (reader->item_count + reader->metrics_count) * SLOT_BYTES +
                        strobe_stack_node_count(&reader->session.stacks) * sizeof(struct strobe_stack_node);
}

static uint32_t recorder_add_track(struct recorder *r, const struct strobe_reader_thread *t)
{
    uint64_t begin_ns = strobe_reader_ns(r->reader, t->start_ticks);
    uint32_t track = sim_track_add(r->tracks, t->tid, t->generation, t->name, t->is_main,
                                   begin_ns > r->origin_ns ? begin_ns - r->origin_ns : 0);
    if (!r->tracks->failed)
        r->track_of[t - r->reader->threads] = track + 1;
    return track;
}

static void recorder_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct recorder *r = (struct recorder *)sink;
    r->thread = t;
    r->last = (struct strobe_moment){0};
    r->woken.id = 0;
    r->depth = 0;
    r->track = recorder_add_track(r, t);
}

/* The engine emits a wake-up to the waiter right before the end of its wait. */
static void recorder_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    if (!f->at_waker)
        ((struct recorder *)sink)->woken = *f;
}

static void recorder_message(struct strobe_sink *sink, const struct strobe_loop_message *m)
{
    struct recorder *r = (struct recorder *)sink;
    sim_track_message(r->tracks, r->track, recorder_run_time(r, m->time_ns), m->id);
}

/* True for the wait for a monitor right inside a wait for a notification: the thread enters the monitor again. The app
 * sees one call. */
static bool recorder_is_entry_again(const struct recorder *r, const struct strobe_slice *s)
{
    return s->class == STROBE_SLICE_WAIT && s->name == STROBE_KIND_MONITOR && r->depth &&
           r->open[r->depth - 1].notified;
}

/* Returns true when the slice becomes a call. */
static bool recorder_open_slice(struct recorder *r, const struct strobe_slice *s)
{
    struct recorder_open open = {.is_call = !recorder_is_entry_again(r, s),
                                 .notified = s->class == STROBE_SLICE_WAIT && s->name == STROBE_KIND_COND};
    if (!strobe_array_reserve(&r->open, &r->room, r->depth + 1)) {
        r->tracks->failed = 1;
        return false;
    }
    r->open[r->depth++] = open;
    return open.is_call;
}

/* A slice "off the processor" is not a call: the thread stands in the enclosing call. */
static void recorder_slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    static const enum sim_call_class class_of[] = {
        [STROBE_SLICE_FUNCTION] = SIM_CALL_METHOD,
        [STROBE_SLICE_WAIT] = SIM_CALL_WAIT,
        [STROBE_SLICE_GAP] = SIM_CALL_GAP,
        [STROBE_SLICE_PLACEHOLDER] = SIM_CALL_METHOD,
    };
    struct recorder *r = (struct recorder *)sink;
    r->last = s->begin;
    if (s->class == STROBE_SLICE_OFF_CPU) /* sim_track_idle */
        return;
    if (!recorder_open_slice(r, s))
        return;
    uint32_t name = recorder_name_number(r, s->name);
    sim_track_call(r->tracks, r->track, recorder_run_time(r, s->begin.time_ns), name, class_of[s->class]);
}

/* True when the wait counts as blocked. A trace does not say which calls gave up the core. They are those in which the
 * thread switched, or used clearly less CPU time than the wait's own time. CPU time that was not read at both ends is
 * spread over what lies between, so the limit is not half. The engine knows of some calls that they did not wait. */
static bool recorder_wait_blocked(const struct strobe_slice *s, const struct strobe_moment *now)
{
    if (s->no_wait)
        return false;
    return now->counter[STROBE_COUNTER_SWITCHES] > s->begin.counter[STROBE_COUNTER_SWITCHES] ||
           now->cpu_ns - s->begin.cpu_ns < (now->time_ns - s->begin.time_ns) / 10 * 9;
}

/* Returns the begin of a slice, within the life of its thread. */
static uint64_t recorder_begin_ns(const struct recorder *r, const struct strobe_slice *s)
{
    uint64_t begin_ns = s->begin.time_ns > r->origin_ns ? s->begin.time_ns - r->origin_ns : 0;
    uint64_t life_ns = r->tracks->failed ? 0 : r->tracks->tracks[r->track].begin_ns;
    return begin_ns > life_ns ? begin_ns : life_ns;
}

static void recorder_close_slice(struct recorder *r, uint64_t end_ns)
{
    if (r->tracks->failed)
        return;
    assert(r->depth && "a slice ends that has begun");
    if (r->open[--r->depth].is_call)
        sim_track_return(r->tracks, r->track, end_ns, false);
}

static void recorder_slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct recorder *r = (struct recorder *)sink;
    uint64_t end_ns = recorder_run_time(r, now->time_ns);
    r->last = *now;
    if (s->class == STROBE_SLICE_OFF_CPU) {
        if (s->name != STROBE_NAME_RUNNABLE)
            sim_track_idle(r->tracks, r->track, recorder_begin_ns(r, s), end_ns, recorder_name_number(r, s->name));
        return;
    }
    recorder_close_slice(r, end_ns);
    if (s->class != STROBE_SLICE_WAIT)
        return;
    struct sim_wait wait = {.begin_ns = recorder_begin_ns(r, s),
                            .end_ns = end_ns,
                            .kind = (enum strobe_kind)s->name,
                            .blocked = recorder_wait_blocked(s, now),
                            .what = s->arg,
                            .waker = SIM_NOBODY,
                            .release_ns = end_ns};
    if (r->woken.id && r->woken.waker < r->reader->thread_count) {
        uint64_t release_ns = r->woken.release_ns > r->origin_ns ? r->woken.release_ns - r->origin_ns : 0;
        wait.waker = (int32_t)r->woken.waker;
        wait.release_ns = release_ns < wait.begin_ns ? wait.begin_ns : release_ns < end_ns ? release_ns : end_ns;
    }
    r->woken.id = 0;
    sim_track_wait(r->tracks, r->track, &wait);
}

static void recorder_set_totals(const struct recorder *r, struct sim_track *track)
{
    uint32_t metrics = r->reader->session.header->config.metrics;
    const uint64_t *counter = r->last.counter;
    track->samples = r->thread->samples;
    track->short_wait_ns = strobe_reader_span_ns(r->reader, r->thread->short_wait_ticks);
    track->known_cpu = metrics & STROBE_METRIC_CPU;
    track->known_alloc = metrics & STROBE_METRIC_ALLOC;
    track->known_switches = metrics & STROBE_METRIC_SWITCHES;
    track->totals = (struct sim_totals){
        .cpu_ns = r->last.cpu_ns,
        .allocations = r->thread->alloc_count,
        .alloc_bytes = r->thread->alloc_bytes,
        .minor_faults = counter[STROBE_COUNTER_MINOR_FAULTS],
        .major_faults = counter[STROBE_COUNTER_MAJOR_FAULTS],
        .voluntary_switches = counter[STROBE_COUNTER_SWITCHES],
        .involuntary_switches = counter[STROBE_COUNTER_PREEMPTIONS],
    };
}

static void recorder_thread_end(struct strobe_sink *sink)
{
    struct recorder *r = (struct recorder *)sink;
    uint64_t ticks = r->thread->end_ticks ? r->thread->end_ticks : r->reader->last_ticks;
    sim_track_end(r->tracks, r->track, recorder_run_time(r, strobe_reader_ns(r->reader, ticks)));
    if (r->tracks->failed)
        return;
    recorder_set_totals(r, &r->tracks->tracks[r->track]);
    r->tracks->samples += r->thread->samples;
}

/* Resolves wakers, which are given as threads. Some of them had no track yet, and some have no other events. */
static void name_wakers(struct recorder *r)
{
    size_t count = r->tracks->track_count;
    for (size_t i = r->first_track; i < count && !r->tracks->failed; i++) {
        for (size_t k = 0; k < r->tracks->tracks[i].wait_count; k++) {
            int32_t waker = r->tracks->tracks[i].waits[k].waker;
            if (waker == SIM_NOBODY)
                continue;
            if (!r->track_of[waker])
                recorder_add_track(r, &r->reader->threads[waker]);
            if (r->tracks->failed)
                return;
            r->tracks->tracks[i].waits[k].waker = (int32_t)r->track_of[waker] - 1;
        }
    }
}

static enum strobe_status recorder_finish(struct strobe_sink *sink)
{
    struct recorder *r = (struct recorder *)sink;
    if (r->reader)
        name_wakers(r);
    enum strobe_status status = r->tracks->failed ? STROBE_IO : STROBE_OK;
    free(r->open);
    free(r->number);
    free(r->track_of);
    free(r);
    return status;
}

struct strobe_sink *sim_tracks_sink(struct sim_tracks *t, uint64_t origin_ns)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->tracks = t;
    r->origin_ns = origin_ns;
    r->sink = (struct strobe_sink){.start = recorder_start,
                                   .thread_begin = recorder_thread_begin,
                                   .slice_begin = recorder_slice_begin,
                                   .slice_end = recorder_slice_end,
                                   .wake = recorder_wake,
                                   .thread_end = recorder_thread_end,
                                   .finish = recorder_finish,
                                   .message = recorder_message};
    return &r->sink;
}
