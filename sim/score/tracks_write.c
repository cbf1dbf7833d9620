#include "engine/util/array.h"
#include "sim/score/tracks.h"

#include "engine/trace/export/packets.h"

#include <stdio.h>
#include <stdlib.h>

/* One sequence of packets per lane: a thread's calls, its messages, or a core. Each sequence has its own clock and
 * dictionary, so lanes are written one after the other. */
enum { SEQUENCE_TRACKS = 1, PROCESS_TRACK = 1, PID = 1, ANY_NAME = UINT32_MAX };

static const char *const category[] = {
    [SIM_CALL_METHOD] = "method",
    [SIM_CALL_WAIT] = "wait",
    [SIM_CALL_GAP] = "gap",
};
enum { CATEGORIES = sizeof category / sizeof category[0] };

/* A release by a thread that ends another one's wait: the arrow of flow `id` starts here. */
struct release {
    uint64_t time_ns, id;
    uint32_t track;
};

/* A thread on a core. */
struct slot {
    struct sim_span span;
    uint32_t track;
};

struct writer {
    struct strobe_packets packets;
    const struct sim_tracks *t;
    uint32_t sequence;
    uint64_t last_ns;        /* of the lane's last event */
    uint32_t *named_in;      /* by name: the last sequence that interned it */
    struct sim_event **open; /* open calls of the current track */
    size_t open_room;
    struct release *releases;
    size_t release_count, release_room;
    uint64_t flow; /* number of ids assigned */
    int failed;
};

/* Ids of tracks: the process, the threads, their messages, the cores. */
static uint64_t thread_uuid(uint32_t track)
{
    return PROCESS_TRACK + 1 + track;
}

static uint64_t message_uuid(const struct writer *w, uint32_t track)
{
    return thread_uuid(track) + w->t->track_count;
}

static uint64_t core_uuid(const struct writer *w, uint32_t core)
{
    return thread_uuid(core) + 2 * w->t->track_count;
}

/* ---- descriptions */

static void write_process_descriptor(struct writer *w, const char *name)
{
    size_t bytes = strobe_packets_text_bytes(name);
    uint8_t *p = strobe_packets_room(&w->packets, STROBE_PACKETS_EVENT_BYTES + bytes), *packet;
    packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, SEQUENCE_TRACKS);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_CLEARED);
    p = pb_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
    uint8_t *d = p = pb_open(p, PACKET_TRACK_DESCRIPTOR);
    p = pb_uint(p, 1, PROCESS_TRACK);
    p = pb_uint(p, 11, 3); /* children are ordered by rank */
    uint8_t *process = p = pb_open(p, 3);
    p = pb_uint(p, 1, PID);
    p = pb_bytes(p, 6, name, bytes);
    p = pb_close(process, p);
    p = pb_close(d, p);
    strobe_packets_end(&w->packets, packet, p);
}

/* Writes the track of a thread, or a track with a name (`thread` NULL). */
static void write_track_descriptor(struct writer *w, uint64_t uuid, uint64_t parent, uint64_t rank, const char *name,
                                   const struct sim_track *thread)
{
    uint8_t *p = strobe_packets_room(&w->packets, STROBE_PACKETS_EVENT_BYTES), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, SEQUENCE_TRACKS);
    uint8_t *d = p = pb_open(p, PACKET_TRACK_DESCRIPTOR);
    p = pb_uint(p, 1, uuid);
    p = pb_uint(p, 5, parent);
    p = pb_uint(p, 12, rank);
    if (thread) {
        uint8_t *about = p = pb_open(p, 4);
        p = pb_uint(p, 1, PID);
        p = pb_uint(p, 2, thread->tid);
        p = pb_text(p, 5, name);
        p = pb_close(about, p);
    } else {
        p = pb_text(p, 2, name);
    }
    p = pb_close(d, p);
    strobe_packets_end(&w->packets, packet, p);
}

static void start_lane(struct writer *w, uint64_t uuid)
{
    w->sequence++;
    w->last_ns = 0;
    uint8_t *p = strobe_packets_room(&w->packets, STROBE_PACKETS_EVENT_BYTES), *packet = p = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_CLEARED);
    p = pb_uint(p, PACKET_FIRST_ON_SEQUENCE, 1);
    p = strobe_packets_delta_clock(p, 0);
    uint8_t *d = p = pb_open(p, PACKET_DEFAULTS);
    p = pb_uint(p, PACKET_CLOCK_ID, CLOCK_DELTA);
    uint8_t *e = p = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TRACK, uuid);
    p = pb_close(e, p);
    p = pb_close(d, p);
    uint8_t *names = p = pb_open(p, PACKET_INTERNED);
    for (unsigned i = 0; i < CATEGORIES; i++)
        p = strobe_packets_interned(p, INTERNED_CATEGORY, i + 1, category[i]);
    p = pb_close(names, p);
    strobe_packets_end(&w->packets, packet, p);
}

/* ---- events of a lane, in order of time */

/* An event that is being written. */
struct event {
    uint8_t *packet, *event;
};

static uint8_t *event_open(struct writer *w, struct event *e, uint64_t time_ns, unsigned type, uint32_t name)
{
    const char *new = NULL;
    if (name != ANY_NAME && w->named_in[name] != w->sequence)
        new = w->t->names.texts[name];
    uint8_t *p =
        strobe_packets_room(&w->packets, STROBE_PACKETS_EVENT_BYTES + (new ? strobe_packets_text_bytes(new) : 0));
    p = e->packet = pb_open(p, TRACE_PACKET);
    p = pb_uint(p, PACKET_SEQUENCE, w->sequence);
    p = pb_uint(p, PACKET_FLAGS, FLAG_STATE_NEEDED);
    p = pb_uint(p, PACKET_TIMESTAMP, time_ns - w->last_ns);
    w->last_ns = time_ns;
    if (new) {
        uint8_t *names = p = pb_open(p, PACKET_INTERNED);
        p = strobe_packets_interned(p, INTERNED_NAME, name + 1u, new);
        p = pb_close(names, p);
        w->named_in[name] = w->sequence;
    }
    p = e->event = pb_open(p, PACKET_TRACK_EVENT);
    p = pb_uint(p, EVENT_TYPE, type);
    return name != ANY_NAME ? pb_uint(p, EVENT_NAME, name + 1u) : p;
}

static void event_close(struct writer *w, const struct event *e, uint8_t *p)
{
    strobe_packets_end(&w->packets, e->packet, pb_close(e->event, p));
}

/* Writes a slice on a lane whose slices do not overlap. */
static void write_span(struct writer *w, const struct sim_span *span, const char *name)
{
    struct event e;
    uint8_t *p = event_open(w, &e, span->begin_ns, TYPE_BEGIN, ANY_NAME);
    event_close(w, &e, pb_text(p, EVENT_NAME_TEXT, name));
    p = event_open(w, &e, span->end_ns, TYPE_END, ANY_NAME);
    event_close(w, &e, p);
}

/* ---- threads */

/* Writes one end of an arrow as an instant event. Arrows go from earlier events to later ones, and a wait begins before
 * its release, so the arrow cannot end at the wait's slice. */
static void write_instant(struct writer *w, uint64_t time_ns, const char *name, unsigned field, uint64_t flow)
{
    struct event e;
    uint8_t *p = event_open(w, &e, time_ns, TYPE_INSTANT, ANY_NAME);
    p = pb_text(p, EVENT_NAME_TEXT, name);
    event_close(w, &e, strobe_packets_flow(p, field, flow));
}

static void write_release(struct writer *w, const struct release *r)
{
    write_instant(w, r->time_ns, "release", EVENT_FLOW, r->id);
}

/* Returns the wait of a call, or NULL. Waits are in order of their ends. */
static const struct sim_wait *wait_of(const struct sim_track *tr, size_t *next, const struct sim_event *begin,
                                      uint64_t end_ns)
{
    while (*next < tr->wait_count && tr->waits[*next].end_ns < end_ns)
        ++*next;
    const struct sim_wait *wait = *next < tr->wait_count ? &tr->waits[*next] : NULL;
    if (!wait || begin->class != SIM_CALL_WAIT || wait->end_ns != end_ns || wait->begin_ns != begin->time_ns)
        return NULL;
    ++*next;
    return wait;
}

static uint8_t *write_wait(const struct writer *w, uint8_t *p, const struct sim_wait *wait)
{
    if (!wait)
        return p;
    p = strobe_packets_note(p, "blocked", wait->blocked);
    if (wait->what)
        p = strobe_packets_note(p, "what", wait->what);
    if (wait->waker == SIM_NOBODY)
        return p;
    return strobe_packets_note(p, "waker", w->t->tracks[wait->waker].tid);
}

static void tracks_write_call(struct writer *w, const struct sim_event *c)
{
    struct event e;
    uint8_t *p = event_open(w, &e, c->time_ns, TYPE_BEGIN, c->name);
    event_close(w, &e, pb_uint(p, EVENT_CATEGORY, c->class + 1u));
}

static void tracks_write_calls(struct writer *w, uint32_t track, const struct release **next)
{
    const struct sim_track *tr = &w->t->tracks[track];
    size_t depth = 0, next_wait = 0;
    start_lane(w, thread_uuid(track));
    for (size_t i = 0; i < tr->event_count && !w->failed; i++) {
        struct sim_event *c = &tr->events[i];
        while ((*next)->track == track && (*next)->time_ns < c->time_ns)
            write_release(w, (*next)++);
        if (c->name != SIM_CALL_END) {
            tracks_write_call(w, c);
            w->failed |= !strobe_array_reserve(&w->open, &w->open_room, depth + 1);
            if (!w->failed)
                w->open[depth++] = c;
            continue;
        }
        struct event e;
        const struct sim_wait *wait = wait_of(tr, &next_wait, w->open[--depth], c->time_ns);
        if (wait && wait->waker != SIM_NOBODY)
            write_instant(w, c->time_ns, "woken", EVENT_FLOW_END, ++w->flow);
        uint8_t *p = event_open(w, &e, c->time_ns, TYPE_END, ANY_NAME);
        event_close(w, &e, write_wait(w, p, wait));
    }
    while ((*next)->track == track)
        write_release(w, (*next)++);
}

static void write_messages(struct writer *w, uint32_t track)
{
    const struct sim_track *tr = &w->t->tracks[track];
    char name[32];
    start_lane(w, message_uuid(w, track));
    for (size_t i = 0; i < tr->message_count; i++) {
        snprintf(name, sizeof name, "message %u", (unsigned)tr->messages[i].value);
        write_span(w, &tr->messages[i], name);
    }
}

/* ---- wakers */

static int by_place(const void *left, const void *right)
{
    const struct release *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool add_release(struct writer *w, struct release r)
{
    if (!strobe_array_reserve(&w->releases, &w->release_room, w->release_count + 1))
        return false;
    w->releases[w->release_count++] = r;
    return true;
}

/* Finds the releases, with flows numbered in the order in which the waiters will be written. A release without track
 * ends the list. */
static bool find_releases(struct writer *w)
{
    uint64_t flow = 0;
    for (size_t i = 0; i < w->t->track_count; i++) {
        const struct sim_track *tr = &w->t->tracks[i];
        size_t depth = 0, next = 0;
        for (size_t k = 0; k < tr->event_count; k++) {
            if (tr->events[k].name != SIM_CALL_END) {
                if (!strobe_array_reserve(&w->open, &w->open_room, depth + 1))
                    return false;
                w->open[depth++] = &tr->events[k];
                continue;
            }
            const struct sim_wait *wait = wait_of(tr, &next, w->open[--depth], tr->events[k].time_ns);
            if (wait && wait->waker != SIM_NOBODY &&
                !add_release(w, (struct release){wait->release_ns, ++flow, (uint32_t)wait->waker}))
                return false;
        }
    }
    if (w->release_count)
        qsort(w->releases, w->release_count, sizeof *w->releases, by_place);
    return add_release(w, (struct release){.track = UINT32_MAX});
}

/* ---- cores */

static int by_core(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    if (a->span.value != b->span.value)
        return a->span.value < b->span.value ? -1 : 1;
    if (a->span.begin_ns != b->span.begin_ns)
        return a->span.begin_ns < b->span.begin_ns ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

static bool write_cores(struct writer *w)
{
    struct slot *slots = NULL;
    size_t count = 0, room = 0;
    for (uint32_t i = 0; i < w->t->track_count; i++) {
        const struct sim_track *tr = &w->t->tracks[i];
        if (!strobe_array_reserve(&slots, &room, count + tr->cpu_count)) {
            free(slots);
            return false;
        }
        for (size_t k = 0; k < tr->cpu_count; k++)
            slots[count++] = (struct slot){tr->cpu[k], i};
    }
    if (count)
        qsort(slots, count, sizeof *slots, by_core);
    for (size_t i = 0; i < count; i++) {
        if (!i || slots[i].span.value != slots[i - 1].span.value) {
            char name[32];
            uint32_t core = slots[i].span.value;
            snprintf(name, sizeof name, "core %u", (unsigned)core);
            write_track_descriptor(w, core_uuid(w, core), PROCESS_TRACK, core, name, NULL);
            start_lane(w, core_uuid(w, core));
        }
        write_span(w, &slots[i].span, w->t->tracks[slots[i].track].name);
    }
    free(slots);
    return true;
}

static void write_tracks(struct writer *w, const char *process)
{
    enum { CORES_MOST = 4096 }; /* lower ranks belong to cores */
    write_process_descriptor(w, process);
    if (!find_releases(w) || !write_cores(w)) {
        w->failed = 1;
        return;
    }
    const struct release *next = w->releases;
    for (uint32_t i = 0; i < w->t->track_count && !w->failed; i++) {
        const struct sim_track *tr = &w->t->tracks[i];
        write_track_descriptor(w, thread_uuid(i), PROCESS_TRACK, CORES_MOST + i, tr->name, tr);
        tracks_write_calls(w, i, &next);
        if (!tr->message_count)
            continue;
        write_track_descriptor(w, message_uuid(w, i), thread_uuid(i), 0, "messages", NULL);
        write_messages(w, i);
    }
}

enum strobe_status sim_tracks_write(const struct sim_tracks *t, const char *process, const char *path, int replace)
{
    struct strobe_outfile out;
    struct writer w = {.t = t, .sequence = SEQUENCE_TRACKS};
    enum strobe_status status = strobe_outfile_open(&out, path, replace);
    if (status != STROBE_OK)
        return status;
    w.named_in = calloc(t->names.count + 1, sizeof *w.named_in);
    w.failed = !strobe_packets_open(&w.packets, &out, 0) || !w.named_in;
    if (!w.failed)
        write_tracks(&w, process);
    if (w.packets.buffer)
        strobe_packets_close(&w.packets);
    free(w.named_in);
    free(w.open);
    free(w.releases);
    status = strobe_outfile_finish(&out, w.failed);
    return w.failed ? STROBE_IO : status;
}
