#include "engine/trace/export/sink_perfetto.h"

#include "engine/trace/export/packets.h"
#include "engine/trace/export/perfetto_ids.h"
#include "engine/trace/export/perfetto_marks.h"
#include "engine/trace/export/perfetto_samples.h"
#include "engine/trace/export/perfetto_sched.h"
#include "engine/trace/export/perfetto_tables.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { EVENT_BYTES_MAX = STROBE_PACKETS_EVENT_BYTES, SOURCE_BYTES_MAX = 64 }; /* without their texts */
enum { DESCRIPTOR_BYTES_MAX = 8192 };

struct perfetto {
    struct strobe_sink sink;
    struct strobe_packets packets;
    struct strobe_perfetto_stats *stats;
    struct strobe_perfetto_options how;
    size_t processes; /* started so far */
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    int failed; /* memory ran out */

    /* The process being written. */
    uint64_t key; /* key of the process, see perfetto_ids.h */
    uint32_t tracks_sequence, threads_sequence;
    uint64_t process_track;
    uint64_t begin_ns;                                       /* where all clocks start */
    uint64_t series_track[STROBE_SERIES_COUNT], hitch_track; /* 0 = not described yet */
    uint64_t next_track; /* number of the next track, from which its id is derived */
    struct strobe_perfetto_marks marks;
    struct strobe_sched_states own_states;    /* of threads, by the session's own scheduling */
    const struct strobe_sched_states *states; /* these, or those of other inputs; NULL: there are none */
    uint64_t *thread_track; /* by thread: its track, if it has been described before its begin; else 0 */
    size_t thread_room;
    unsigned tracks[TRACK_COUNT], track_count; /* counter tracks that the session has data for */

    /* The thread being written. */
    uint32_t sequence, tid, pid; /* sequence: the last one begun */
    uint32_t id_offset;          /* of the process, see struct strobe_perfetto_ids; included in tid and pid */
    uint32_t rank;
    uint8_t prefix[16]; /* common begin of its packets */
    size_t prefix_bytes;
    uint64_t last_ns;
    uint64_t last_value[TRACK_COUNT];
    uint32_t *named_in; /* by name: the last sequence that interned it */
    size_t named_room;
    uint32_t notes_named, classes_named; /* bits: interned in this sequence */

    struct strobe_perfetto_samples samples;
};

/* ---- tracks */

static uint64_t new_track(struct perfetto *w)
{
    return strobe_perfetto_track(w->key, w->next_track++);
}

/* Begins the descriptor of a process or thread that began at `ns`. The time lets a reader tell processes apart that had
 * one pid in turn, for example before and after an exec: without it, trace processor gives the earlier one no name. A
 * time before the thread's begin separates the thread from its scheduling: where a system trace has the begin of the
 * thread, a reader begins another one there. */
static uint8_t *open_timed_descriptor(struct perfetto *w, uint32_t sequence, uint64_t ns, uint8_t **packet,
                                      uint8_t **descriptor)
{
    uint8_t *p = strobe_packets_room(&w->packets, DESCRIPTOR_BYTES_MAX);
    p = *packet = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, sequence);
    p = pb_uint(p, PACKET_TIMESTAMP, ns);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_BOOT);
    return *descriptor = pb_open(p, PACKET_TRACK_DESCRIPTOR);
}

static void describe_process(struct perfetto *w)
{
    const struct strobe_session_header *h = w->reader->session.header;
    size_t command = strnlen(h->command, sizeof h->command), name_bytes;
    const char *name = strobe_sink_process_name(h, &name_bytes);
    uint8_t *p = strobe_packets_room(&w->packets, 8192), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->tracks_sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_CLEARED);
    p = pb_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
    uint8_t *s = p = pb_open(p, PACKET_CLOCK_SNAPSHOT);
    p = strobe_packets_clock(p, CLOCK_BOOT, h->begin.boottime_ns, 0);
    p = strobe_packets_clock(p, CLOCK_MONO, h->begin.monotonic_ns, 0);
    p = strobe_packets_clock(p, CLOCK_REAL, h->begin.realtime_ns, 0);
    p = pb_close(s, p);
    strobe_packets_end(&w->packets, packet, p);

    uint8_t *d;
    p = open_timed_descriptor(w, w->tracks_sequence, w->begin_ns, &packet, &d);
    p = pb_uint(p, 1, w->process_track = new_track(w));
    p = pb_uint(p, 11, 3);
    uint8_t *process = p = pb_open(p, 3);
    p = pb_uint(p, 1, w->pid);
    if (command)
        p = pb_bytes(p, 2, h->command, command);
    p = pb_bytes(p, 6, name, name_bytes);
    p = pb_uint(p, 7, h->begin.boottime_ns);
    p = pb_close(process, p);
    p = pb_close(d, p);
    strobe_packets_end(&w->packets, packet, p);
}

/* Descriptors of threads have a sequence of their own: trace processor takes the last one's thread for one that all
 * events of its sequence belong to, from the first of them on. */
static void describe_thread(struct perfetto *w, const struct strobe_reader_thread *t, uint64_t track)
{
    uint64_t begin_ns = strobe_reader_ns(w->reader, t->start_ticks);
    uint8_t *packet, *d, *p = open_timed_descriptor(w, w->threads_sequence, begin_ns, &packet, &d);
    p = pb_uint(p, 1, track);
    p = pb_uint(p, 5, w->process_track);
    if (w->how.separate)
        p = pb_uint(p, 9, 1);
    p = pb_uint(p, 12, w->rank++);
    uint8_t *thread = p = pb_open(p, 4);
    p = pb_uint(p, 1, w->pid);
    p = pb_uint(p, 2, t->tid + w->id_offset);
    p = pb_text(p, 5, t->name);
    p = pb_close(thread, p);
    p = pb_close(d, p);
    strobe_packets_end(&w->packets, packet, p);
}

static void describe_counter(struct perfetto *w, unsigned kind, uint64_t track, uint64_t parent)
{
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->tracks_sequence);
    uint8_t *d = p = pb_open(p, PACKET_TRACK_DESCRIPTOR);
    p = pb_uint(p, 1, track);
    p = pb_uint(p, 5, parent);
    if (track_kind[kind].name)
        p = pb_text(p, 2, track_kind[kind].name);
    uint8_t *c = p = pb_open(p, 8);
    if (track_kind[kind].type)
        p = pb_uint(p, 1, track_kind[kind].type);
    if (track_kind[kind].unit)
        p = pb_uint(p, 3, track_kind[kind].unit);
    p = pb_uint(p, 5, 1);
    if (track_kind[kind].share)
        p = pb_text(p, 7, track_kind[kind].share);
    p = pb_close(c, p);
    p = pb_close(d, p);
    strobe_packets_end(&w->packets, packet, p);
}

/* ---- threads */

/* Describes the thread's track unless it is described. Returns the track. */
static uint64_t find_thread_track(struct perfetto *w, const struct strobe_reader_thread *t)
{
    size_t index = (size_t)(t - w->reader->threads);
    if ((w->failed |= !strobe_array_reserve_zeroed(&w->thread_track, &w->thread_room, index + 1)))
        return 0;
    uint64_t *track = &w->thread_track[index];
    if (!*track)
        describe_thread(w, t, *track = new_track(w));
    return *track;
}

static void start_sequence(struct perfetto *w, uint64_t track, const uint64_t *counter_tracks)
{
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    uint8_t *defaults;
    p = strobe_packets_begin_sequence(p, w->sequence, w->begin_ns, &defaults);
    uint8_t *e = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TRACK, track);
    for (unsigned i = 0; i < w->track_count; i++)
        p = pb_uint(p, EVENT_COUNTER_TRACK, counter_tracks[i]);
    p = pb_close(e, p);
    p = pb_close(defaults, p);
    strobe_packets_end(&w->packets, packet, p);
}

static void perfetto_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct perfetto *w = (struct perfetto *)sink;
    uint64_t track = find_thread_track(w, t), counter_tracks[TRACK_COUNT];
    w->stats->threads++;
    w->sequence++;
    w->tid = t->tid + w->id_offset;
    uint8_t *p = pb_uint(w->prefix, PACKET_SEQUENCE, w->sequence);
    w->prefix_bytes = (size_t)(pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED) - w->prefix);
    w->last_ns = w->begin_ns;
    memset(w->last_value, 0, sizeof w->last_value);
    w->notes_named = w->classes_named = 0;
    strobe_perfetto_samples_next_thread(&w->samples);
    for (unsigned i = 0; i < w->track_count; i++)
        describe_counter(w, w->tracks[i], counter_tracks[i] = new_track(w), track);
    start_sequence(w, track, counter_tracks);
}

/* Writes the head of a packet of the thread's sequence. */
static uint8_t *stamp(struct perfetto *w, uint8_t *p, uint64_t time_ns)
{
    memcpy(p, w->prefix, sizeof w->prefix);
    p = pb_uint(p + w->prefix_bytes, PACKET_TIMESTAMP, time_ns - w->last_ns);
    w->last_ns = time_ns;
    return p;
}

/* Computes the value of each kind of track. */
static void values_of(const struct strobe_moment *m, uint64_t *value)
{
    value[TRACK_CPU] = m->cpu_ns;
    value[TRACK_ALLOC] = m->counter[STROBE_COUNTER_ALLOC_BYTES];
    value[TRACK_FAULTS] = m->counter[STROBE_COUNTER_MINOR_FAULTS] + m->counter[STROBE_COUNTER_MAJOR_FAULTS];
    value[TRACK_SWITCHES] = m->counter[STROBE_COUNTER_SWITCHES] + m->counter[STROBE_COUNTER_PREEMPTIONS];
}

/* Writes the growth of each counter since the previous event, up to the last counter that has grown. The growth of CPU
 * time is always written. */
static inline uint8_t *write_counters(struct perfetto *w, uint8_t *p, const struct strobe_moment *m)
{
    uint64_t value[TRACK_COUNT], growth[TRACK_COUNT];
    unsigned value_count = w->track_count && w->tracks[0] == TRACK_CPU;
    values_of(m, value);
    for (unsigned i = 0; i < w->track_count; i++) {
        growth[i] = value[w->tracks[i]] - w->last_value[i];
        w->last_value[i] = value[w->tracks[i]];
        if (growth[i])
            value_count = i + 1;
    }
    for (unsigned i = 0; i < value_count; i++)
        p = pb_uint(p, EVENT_COUNTER, growth[i]);
    w->stats->counter_values += value_count;
    return p;
}

/* Writes the source location of a function. It is the location at which a sample first found the function. */
static uint8_t *intern_source(uint8_t *p, uint32_t id, const struct strobe_name *name)
{
    uint8_t *source = p = pb_open(p, INTERNED_SOURCE);
    p = pb_uint(p, 1, id + 1u);
    p = pb_bytes(p, 2, name->file, strobe_packets_text_bytes(name->file));
    p = pb_bytes(p, 3, name->text, strobe_packets_text_bytes(name->text));
    p = pb_uint(p, 4, name->line);
    return pb_close(source, p);
}

static void perfetto_slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    struct perfetto *w = (struct perfetto *)sink;
    const char *text = NULL;
    size_t text_room = 0;
    if ((w->failed |= !strobe_array_reserve_zeroed(&w->named_in, &w->named_room, (size_t)s->name + 1)))
        return;
    int class_new = !(w->classes_named >> s->class & 1);
    const struct strobe_name *name = strobe_function_tree_name(w->tree, s->name);
    int has_source = name->file[0] && name->line;
    if (w->named_in[s->name] != w->sequence) {
        w->named_in[s->name] = w->sequence;
        text = name->text;
        text_room = strobe_packets_text_bytes(text);
        if (has_source)
            text_room += text_room + strobe_packets_text_bytes(name->file) + SOURCE_BYTES_MAX;
    }
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX + text_room), *packet = p = pb_open(p, TRACE_PACKET);
    p = stamp(w, p, s->begin.time_ns);
    if (text || class_new) {
        uint8_t *names = p = pb_open(p, PACKET_INTERNED);
        if (class_new)
            p = strobe_packets_interned(p, INTERNED_CATEGORY, s->class + 1u, class_name[s->class]);
        if (text)
            p = strobe_packets_interned(p, INTERNED_NAME, s->name + 1u, text);
        if (text && has_source)
            p = intern_source(p, s->name, name);
        p = pb_close(names, p);
        w->classes_named |= 1u << s->class;
    }
    uint8_t *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, TYPE_BEGIN);
    p = pb_uint(p, EVENT_NAME, s->name + 1u);
    p = pb_uint(p, EVENT_CATEGORY, s->class + 1u);
    p = write_counters(w, p, &s->begin);
    if (has_source)
        p = pb_uint(p, EVENT_SOURCE, s->name + 1u);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->slices++;
}

/* Computes the numbers of a slice. Returns a bit for each number that is not 0; other values may be unset. */
static uint32_t notes_of(const struct strobe_slice *s, const struct strobe_moment *now, uint64_t *value)
{
    uint32_t set = 0;
    uint64_t growth = 0;
    for (unsigned i = 0; i < STROBE_COUNTER_COUNT; i++)
        growth |= value[NOTE_COUNTERS + i] = now->counter[i] - s->begin.counter[i];
    for (unsigned i = 0; growth && i < STROBE_COUNTER_COUNT; i++)
        set |= (uint32_t)(value[NOTE_COUNTERS + i] != 0) << (NOTE_COUNTERS + i);
    if ((value[NOTE_SAMPLES] = s->samples) > 1)
        set |= 1u << NOTE_SAMPLES;
    if ((value[NOTE_ARG] = s->arg) != 0)
        set |= 1u << NOTE_ARG;
    if ((value[NOTE_UNFINISHED] = (uint64_t)s->unfinished) != 0)
        set |= 1u << NOTE_UNFINISHED;
    return set;
}

/* Computes the time of the slice in each state of its thread, as notes_of does other numbers. */
static uint32_t states_of(const struct perfetto *w, const struct strobe_slice *s, uint64_t end_ns, uint64_t *value)
{
    uint32_t set = 0;
    if (!w->states || w->id_offset || !strobe_sched_states_between(w->states, w->tid, s->begin.time_ns, end_ns, value))
        return 0;
    for (unsigned i = 0; i < STROBE_SCHED_STATE_COUNT; i++)
        set |= (uint32_t)(value[i] != 0) << (NOTE_STATES + i);
    return set;
}

static void perfetto_slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct perfetto *w = (struct perfetto *)sink;
    uint64_t value[NOTE_COUNT];
    uint32_t set = notes_of(s, now, value) | states_of(w, s, now->time_ns, value + NOTE_STATES);
    uint32_t new = set & ~w->notes_named;
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    p = stamp(w, p, now->time_ns);
    if (new) {
        uint8_t *names = p = pb_open(p, PACKET_INTERNED);
        for (unsigned i = 0; i < NOTE_COUNT; i++)
            if (new >> i & 1)
                p = strobe_packets_interned(p, INTERNED_ANNOTATION, i + 1, note_name[i]);
        p = pb_close(names, p);
        w->notes_named |= new;
    }
    uint8_t *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, TYPE_END);
    p = write_counters(w, p, now);
    for (unsigned i = 0; set; i++, set >>= 1) {
        if (set & 1) {
            uint8_t *note = p = pb_open(p, EVENT_ANNOTATION);
            p = pb_uint(p, 1, i + 1);
            p = pb_uint(p, 3, value[i]);
            p = pb_close(note, p);
        }
    }
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
}

static void perfetto_instant(struct strobe_sink *sink, uint64_t time_ns, const char *name,
                             const struct strobe_note *notes, size_t note_count)
{
    struct perfetto *w = (struct perfetto *)sink;
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX * (note_count + 1));
    uint8_t *packet = p = pb_open(p, TRACE_PACKET);
    p = stamp(w, p, time_ns);
    uint8_t *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, TYPE_INSTANT);
    p = pb_text(p, EVENT_NAME_TEXT, name);
    for (size_t i = 0; i < note_count; i++)
        p = strobe_packets_note(p, notes[i].key, notes[i].value);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->instants++;
}

/* Both ends of a flow are instants. A flow starts at its earliest event, and the begin of the wait's slice precedes the
 * release, so the slices themselves cannot be the ends. The waiter's instant is in the wait's slice, at its end. */
static void perfetto_wake(struct strobe_sink *sink, const struct strobe_wake_flow *f)
{
    struct perfetto *w = (struct perfetto *)sink;
    if (f->waker == STROBE_NO_THREAD) {
        perfetto_instant(sink, f->time_ns, "no waker", NULL, 0);
        return;
    }
    uint32_t other = w->reader->threads[f->at_waker ? f->waiter : f->waker].tid + w->id_offset;
    uint64_t flow = strobe_perfetto_flow(w->key, f->id);
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    p = stamp(w, p, f->time_ns);
    uint8_t *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, TYPE_INSTANT);
    p = pb_text(p, EVENT_NAME_TEXT, f->at_waker ? "wakes" : "woken");
    p = strobe_packets_flow(p, f->at_waker ? EVENT_FLOW : EVENT_FLOW_END, flow);
    p = strobe_packets_note(p, "thread", other);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->instants++;
    w->stats->flows += f->at_waker != 0;
}

static void perfetto_samples(struct strobe_sink *sink, const struct strobe_samples *s)
{
    struct perfetto *w = (struct perfetto *)sink;
    if (w->failed)
        return;
    strobe_perfetto_samples_add(&w->samples, w->pid, w->tid, s);
    w->stats->samples += s->count;
}

/* ---- the process */

/* Writes an instant on the process's track with the session's settings and losses. */
static void emit_session(struct perfetto *w)
{
    const struct strobe_reader *r = w->reader;
    const struct strobe_config *c = &r->session.header->config;
    const struct strobe_note notes[] = {
        {"events", r->all.requests},
        {"samples", r->samples},
        {"samples overwritten", r->overwrote},
        {"samples dropped", r->dropped},
        {"events gated", r->all.gated},
        {"unwinds failed", r->all.unwind_failed},
        {"events of untracked threads", r->untracked},
        {"stacks refused by a full table", r->stacks_refused},
        {"slots half written", r->half_written},
        {"closed in order", (uint64_t)r->closed},
        {"interval of main thread ns", c->interval_main_ns},
        {"interval of other threads ns", c->interval_other_ns},
        {"interval of sampler ns", c->async_interval_ns},
    };
    uint8_t *p = strobe_packets_room(&w->packets, 4096), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->tracks_sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    p = pb_uint(p, PACKET_TIMESTAMP, w->begin_ns);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_BOOT);
    uint8_t *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, TYPE_INSTANT);
    p = pb_uint(p, EVENT_TRACK, w->process_track);
    p = pb_text(p, EVENT_NAME_TEXT, "recorded by strobe");
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        p = strobe_packets_note(p, notes[i].key, notes[i].value);
    if (strobe_load_relaxed(&r->session.header->native_gaps))
        p = strobe_packets_note(p, "stacks without outer native frames",
                                strobe_load_relaxed(&r->session.header->native_gaps));
    if (strobe_load_relaxed(&r->session.header->state) == STROBE_SESSION_EXITED)
        p = strobe_packets_note(p, "exited", 1);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->instants++;
}

/* Opens an event of a track of the process. */
static uint8_t *process_event(struct perfetto *w, uint64_t time_ns, uint64_t track, unsigned type, uint8_t **packet,
                              uint8_t **event)
{
    uint8_t *p = strobe_packets_room(&w->packets, 4096);
    *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->tracks_sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    p = pb_uint(p, PACKET_TIMESTAMP, time_ns);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_BOOT);
    *event = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, type);
    return pb_uint(p, EVENT_TRACK, track);
}

static void describe_process_track(struct perfetto *w, uint64_t track, const char *name, unsigned unit)
{
    uint8_t *p = strobe_packets_room(&w->packets, EVENT_BYTES_MAX), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->tracks_sequence);
    uint8_t *d = p = pb_open(p, PACKET_TRACK_DESCRIPTOR);
    p = pb_uint(p, 1, track);
    p = pb_uint(p, 5, w->process_track);
    p = pb_text(p, 2, name);
    if (unit) {
        uint8_t *c = p = pb_open(p, 8);
        p = pb_uint(p, 3, unit);
        p = pb_close(c, p);
    }
    p = pb_close(d, p);
    strobe_packets_end(&w->packets, packet, p);
}

static void perfetto_value(struct strobe_sink *sink, const struct strobe_value *v)
{
    static const unsigned unit[STROBE_SERIES_COUNT] = {[STROBE_SERIES_CPU_NS] = 1,
                                                       [STROBE_SERIES_FOOTPRINT_BYTES] = 3,
                                                       [STROBE_SERIES_THREADS] = 2,
                                                       [STROBE_SERIES_MACH_TRAPS] = 2};
    struct perfetto *w = (struct perfetto *)sink;
    uint64_t *track = &w->series_track[v->what];
    if (!*track)
        describe_process_track(w, *track = new_track(w), strobe_series_name[v->what], unit[v->what]);
    uint8_t *packet, *event, *p = process_event(w, v->time_ns, *track, TYPE_COUNTER, &packet, &event);
    p = pb_uint(p, EVENT_VALUE, v->value);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->process_values++;
}

static void perfetto_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct perfetto *w = (struct perfetto *)sink;
    if (!w->hitch_track)
        describe_process_track(w, w->hitch_track = new_track(w), "run loop", 0);
    uint8_t *packet, *event, *p = process_event(w, l->begin_ns, w->hitch_track, TYPE_BEGIN, &packet, &event);
    p = pb_text(p, EVENT_NAME_TEXT, strobe_hitch_name[l->how]);
    p = strobe_packets_note(p, "thread", w->reader->threads[l->thread].tid + w->id_offset);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    p = process_event(w, l->end_ns, w->hitch_track, TYPE_END, &packet, &event);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->hitches++;
}

static void perfetto_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct perfetto *w = (struct perfetto *)sink;
    uint64_t thread_track = m->thread ? find_thread_track(w, m->thread) : 0;
    strobe_perfetto_mark(&w->marks, &w->packets, &w->next_track, thread_track, m);
    w->stats->counters += m->is_counter != 0;
    w->stats->asyncs += !m->is_counter;
}

/* Writes a slice for the process's lifetime; used if there are several processes. */
static void emit_lifetime(struct perfetto *w)
{
    const struct strobe_session_header *h = w->reader->session.header;
    uint64_t track = new_track(w), end_ns = strobe_reader_ns(w->reader, w->reader->last_ticks);
    size_t command = strnlen(h->command, sizeof h->command);
    describe_process_track(w, track, "process", 0);
    uint8_t *packet, *event, *p = process_event(w, w->begin_ns, track, TYPE_BEGIN, &packet, &event);
    p = pb_bytes(p, EVENT_NAME_TEXT, command ? h->command : "program", command ? command : 7);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    p = process_event(w, end_ns > w->begin_ns ? end_ns : w->begin_ns + 1, track, TYPE_END, &packet, &event);
    p = pb_close(event, p);
    strobe_packets_end(&w->packets, packet, p);
    w->stats->lives++;
}

/* Clears the state of the previous process. */
static void clear_process(struct perfetto *w)
{
    if (w->marks.tracks)
        memset(w->marks.tracks, 0, w->marks.room * sizeof *w->marks.tracks);
    if (w->thread_track)
        memset(w->thread_track, 0, w->thread_room * sizeof *w->thread_track);
    memset(w->series_track, 0, sizeof w->series_track);
    strobe_sched_states_free(&w->own_states);
    w->hitch_track = 0;
    w->track_count = 0;
}

/* Writes the session's own scheduling. Such threads have no scheduling when their ids are others in the trace. */
static void write_own_scheduling(struct perfetto *w)
{
    const struct strobe_sched_section *s = &w->reader->sched;
    w->states = w->how.states;
    if (!s->count || w->id_offset)
        return;
    uint32_t sequence = ++w->sequence;
    if (!w->how.states) {
        for (uint32_t i = 0; i < w->reader->thread_count; i++)
            if (w->reader->threads[i].tid)
                strobe_sched_states_watch(&w->own_states, w->reader->threads[i].tid);
        strobe_sched_section_add_states(s, strobe_reader_ns(w->reader, w->reader->last_ticks), &w->own_states);
        w->failed |= !strobe_sched_states_finish(&w->own_states);
        w->states = &w->own_states;
    }
    if (w->how.no_scheduling)
        return;
    struct strobe_perfetto_sched_part part = {0, UINT64_MAX};
    if (w->how.from_ns)
        part.from_ns = w->begin_ns + w->how.from_ns;
    if (w->how.to_ns && w->how.to_ns < UINT64_MAX - w->begin_ns)
        part.to_ns = w->begin_ns + w->how.to_ns;
    struct strobe_perfetto_sched_written written;
    w->failed |= !strobe_perfetto_sched(&w->packets, sequence, w->reader, part, &written);
    w->stats->switches += written.switches;
    w->stats->wakings += written.wakings;
}

static void perfetto_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                           struct strobe_function_tree *tree)
{
    struct perfetto *w = (struct perfetto *)sink;
    const struct strobe_session_header *h = reader->session.header;
    clear_process(w);
    w->reader = reader;
    w->tree = tree;
    w->id_offset = w->how.ids ? w->how.ids[w->processes].id_offset : 0;
    w->pid = h->pid + w->id_offset;
    w->key = strobe_perfetto_key(h);
    const struct strobe_perfetto_ids *ids = w->how.ids ? &w->how.ids[w->processes] : NULL;
    w->processes++;
    if (ids && ids->salt)
        w->key = strobe_mix_pair(w->key, ids->salt);
    if (ids)
        w->sequence = ids->first_sequence - 1;
    else if (!w->sequence)
        w->sequence = strobe_perfetto_first_sequence(w->key) - 1;
    w->tracks_sequence = ++w->sequence;
    w->threads_sequence = ++w->sequence;
    uint32_t samples_sequence = ++w->sequence;
    w->next_track = 1;
    w->begin_ns = strobe_reader_ns(reader, 0);
    for (unsigned i = 0; i < TRACK_COUNT; i++)
        if (h->config.metrics & track_kind[i].metric)
            w->tracks[w->track_count++] = i;
    describe_process(w);
    w->marks.sequence = w->tracks_sequence;
    w->marks.process_track = w->process_track;
    w->marks.key = w->key;
    if (h->version) { /* calls that other tools recorded have neither settings nor samples */
        emit_session(w);
        strobe_perfetto_samples_begin(&w->samples, &w->packets, samples_sequence, reader, tree);
    }
    write_own_scheduling(w);
    if (sink->several)
        emit_lifetime(w);
}

static enum strobe_status perfetto_finish(struct strobe_sink *sink)
{
    struct perfetto *w = (struct perfetto *)sink;
    strobe_packets_close(&w->packets);
    w->stats->packets = w->packets.count;
    w->stats->raw_bytes = w->packets.raw_bytes;
    enum strobe_status status =
        w->failed || w->packets.failed || w->marks.failed || w->samples.failed ? STROBE_IO : STROBE_OK;
    free(w->marks.tracks);
    free(w->thread_track);
    strobe_sched_states_free(&w->own_states);
    strobe_perfetto_samples_free(&w->samples);
    free(w->named_in);
    free(w);
    return status;
}

struct strobe_sink *strobe_sink_perfetto_with(struct strobe_outfile *out, const struct strobe_perfetto_options *options,
                                              struct strobe_perfetto_stats *stats)
{
    struct perfetto *w = calloc(1, sizeof *w);
    memset(stats, 0, sizeof *stats);
    if (!w)
        return NULL;
    w->sink = (struct strobe_sink){.start = perfetto_start,
                                   .thread_begin = perfetto_thread_begin,
                                   .slice_begin = perfetto_slice_begin,
                                   .slice_end = perfetto_slice_end,
                                   .instant = perfetto_instant,
                                   .wake = perfetto_wake,
                                   .samples = perfetto_samples,
                                   .finish = perfetto_finish,
                                   .value = perfetto_value,
                                   .hitch = perfetto_hitch,
                                   .mark = perfetto_mark};
    w->stats = stats;
    w->how = *options;
    if (!strobe_packets_open(&w->packets, out, options->deflate)) {
        perfetto_finish(&w->sink);
        return NULL;
    }
    return &w->sink;
}

struct strobe_sink *strobe_sink_perfetto(struct strobe_outfile *out, int deflate, struct strobe_perfetto_stats *stats)
{
    return strobe_sink_perfetto_with(out, &(struct strobe_perfetto_options){.deflate = deflate}, stats);
}
