#include "sim/learn/calls/capture_trace.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_DEPTH_MAX = 1 << 20 };

/* What is known of a thread beyond its track. */
struct traced_thread {
    struct sim_span *open; /* open slices: begin, and value = the class */
    size_t depth, room;
    uint64_t *releases;
    size_t release_count, release_room;
    bool begun;
};

/* A span of a processor; the thread is known by its name only. */
struct traced_slot {
    uint64_t begin_ns, end_ns;
    uint32_t name, core;
};

struct trace_import {
    struct sim_tracks *out;
    struct traced_thread *threads;
    size_t thread_room;
    struct traced_slot *slots;
    size_t slot_count, slot_room;
    struct traced_slot core_open; /* begin_ns UINT64_MAX: none */
    bool has_wait;                /* `wait` has ended and takes notes */
    uint32_t wait_track;
    struct sim_wait wait;
    uint32_t woken_track, woken_tid; /* an event "woken" named this tid; track UINT32_MAX: none */
    uint64_t end_ns;
    bool failed;
};

static enum strobe_kind kind_of_wait(const char *name)
{
    for (unsigned kind = 1; kind < STROBE_KIND_COUNT; kind++)
        if (!strcmp(strobe_wait_name(kind), name))
            return (enum strobe_kind)kind;
    return STROBE_KIND_NONE;
}

/* Adds the ended wait to its track, whose end may lie later: wait times are kept as they are. */
static void flush_wait(struct trace_import *m)
{
    if (!m->has_wait || m->failed)
        return;
    m->has_wait = false;
    sim_track_wait(m->out, m->wait_track, &m->wait);
}

static void trace_thread(void *ctx, uint32_t thread, uint32_t pid, uint32_t tid, const char *name)
{
    struct trace_import *m = ctx;
    (void)thread; /* threads come in the order of their numbers, from 0 */
    uint32_t generation = 1;
    for (size_t i = 0; i < m->out->track_count; i++)
        generation += m->out->tracks[i].tid == tid;
    if (!strobe_array_reserve_zeroed(&m->threads, &m->thread_room, m->out->track_count + 1))
        m->failed = true;
    else
        sim_track_add(m->out, tid, generation, name, pid == tid, 0);
    m->failed |= m->out->failed != 0;
}

/* Returns the time of an event on its track, which never decreases. */
static uint64_t trace_time(struct trace_import *m, const struct strobe_import_event *e)
{
    struct sim_track *t = &m->out->tracks[e->thread];
    struct traced_thread *about = &m->threads[e->thread];
    if (!about->begun)
        t->begin_ns = t->end_ns = e->time_ns;
    about->begun = true;
    uint64_t now = e->time_ns > t->end_ns ? e->time_ns : t->end_ns;
    m->end_ns = now > m->end_ns ? now : m->end_ns;
    return now;
}

static void begin_core_slice(struct trace_import *m, const struct strobe_import_event *e)
{
    unsigned core = 0;
    if (strncmp(e->track, "core ", 5) != 0)
        return;
    for (const char *c = e->track + 5; *c >= '0' && *c <= '9' && core < 4096; c++)
        core = core * 10 + (unsigned)(*c - '0');
    m->core_open = (struct traced_slot){e->time_ns, e->time_ns, sim_tracks_name(m->out, e->name), core};
}

static void end_core_slice(struct trace_import *m, const struct strobe_import_event *e)
{
    if (m->core_open.begin_ns == UINT64_MAX || e->time_ns < m->core_open.begin_ns)
        return;
    if (!strobe_array_reserve(&m->slots, &m->slot_room, m->slot_count + 1)) {
        m->failed = true;
        return;
    }
    m->core_open.end_ns = e->time_ns;
    m->slots[m->slot_count++] = m->core_open;
    m->core_open.begin_ns = UINT64_MAX;
}

static void trace_slice_begin(void *ctx, const struct strobe_import_event *e)
{
    struct trace_import *m = ctx;
    flush_wait(m);
    m->woken_track = UINT32_MAX;
    if (m->failed)
        return;
    if (e->thread == STROBE_IMPORT_NO_THREAD) {
        begin_core_slice(m, e);
        return;
    }
    struct traced_thread *about = &m->threads[e->thread];
    bool is_idle = !strcmp(e->category, "off_cpu"), is_gap = !strcmp(e->category, "gap");
    bool is_wait = !strcmp(e->category, "wait");
    if (about->depth == TRACE_DEPTH_MAX || !strobe_array_reserve(&about->open, &about->room, about->depth + 1)) {
        m->failed = true;
        return;
    }
    uint64_t now = trace_time(m, e);
    uint32_t class = is_idle ? UINT32_MAX : is_gap ? SIM_CALL_GAP : is_wait ? SIM_CALL_WAIT : SIM_CALL_METHOD;
    uint32_t name = sim_tracks_name(m->out, e->name);
    about->open[about->depth++] = (struct sim_span){now, (uint64_t)kind_of_wait(e->name) << 32 | name, class};
    if (!is_idle)
        sim_track_call(m->out, e->thread, now, name, (enum sim_call_class) class);
    m->failed |= m->out->failed != 0;
}

static void trace_slice_end(void *ctx, const struct strobe_import_event *e)
{
    struct trace_import *m = ctx;
    flush_wait(m);
    if (m->failed)
        return;
    if (e->thread == STROBE_IMPORT_NO_THREAD) {
        end_core_slice(m, e);
        return;
    }
    struct traced_thread *about = &m->threads[e->thread];
    if (!about->depth)
        return;
    struct sim_span open = about->open[--about->depth];
    uint64_t now = trace_time(m, e);
    if (open.value == UINT32_MAX) {
        sim_track_idle(m->out, e->thread, open.begin_ns, now, (uint32_t)open.end_ns);
        m->out->tracks[e->thread].end_ns = now;
        return;
    }
    sim_track_return(m->out, e->thread, now, false);
    if (open.value != SIM_CALL_WAIT)
        return;
    m->has_wait = true;
    m->wait_track = e->thread;
    m->wait = (struct sim_wait){.begin_ns = open.begin_ns,
                                .end_ns = now,
                                .kind = (enum strobe_kind)(open.end_ns >> 32),
                                .blocked = true,
                                .waker = SIM_NOBODY,
                                .release_ns = now};
    if (m->woken_track == e->thread)
        m->wait.waker = (int32_t)m->woken_tid; /* a tid until find_trace_wakers */
    m->woken_track = UINT32_MAX;
}

static void trace_instant(void *ctx, const struct strobe_import_event *e)
{
    struct trace_import *m = ctx;
    flush_wait(m);
    m->woken_track = UINT32_MAX;
    if (m->failed || e->thread == STROBE_IMPORT_NO_THREAD)
        return;
    if (!strcmp(e->name, "woken")) {
        m->woken_track = e->thread;
        m->woken_tid = (uint32_t)SIM_NOBODY;
    }
    struct traced_thread *about = &m->threads[e->thread];
    if (strcmp(e->name, "release") != 0 && strcmp(e->name, "wakes") != 0)
        return;
    if (strobe_array_reserve(&about->releases, &about->release_room, about->release_count + 1))
        about->releases[about->release_count++] = e->time_ns;
    else
        m->failed = true;
}

static void trace_note(void *ctx, const struct strobe_import_event *e, const char *key, uint64_t value)
{
    struct trace_import *m = ctx;
    if (m->woken_track == e->thread && !strcmp(key, "thread") && value <= INT32_MAX)
        m->woken_tid = (uint32_t)value;
    if (!m->has_wait || e->thread != m->wait_track)
        return;
    if (!strcmp(key, "what") || !strcmp(key, "arg"))
        m->wait.what = value;
    else if (!strcmp(key, "blocked"))
        m->wait.blocked = value != 0;
    else if (!strcmp(key, "waker") && value <= INT32_MAX)
        m->wait.waker = (int32_t)value;
}

/* Returns the latest release of a thread within a wait. Releases of a thread are in order of time. */
static uint64_t release_within(const struct traced_thread *waker, const struct sim_wait *w)
{
    size_t low = 0, high = waker->release_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (waker->releases[middle] <= w->end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && waker->releases[low - 1] >= w->begin_ns ? waker->releases[low - 1] : w->end_ns;
}

/* Returns the track of a tid that was alive at a time, or SIM_NOBODY. */
static int32_t track_of_tid(const struct sim_tracks *t, uint32_t tid, uint64_t time_ns)
{
    int32_t found = SIM_NOBODY;
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].tid == tid && t->tracks[i].begin_ns <= time_ns)
            found = (int32_t)i;
    return found;
}

/* Replaces the wakers' tids by tracks. */
static void find_trace_wakers(struct trace_import *m)
{
    for (size_t i = 0; i < m->out->track_count; i++) {
        for (size_t k = 0; k < m->out->tracks[i].wait_count; k++) {
            struct sim_wait *w = &m->out->tracks[i].waits[k];
            if (w->waker == SIM_NOBODY)
                continue;
            w->waker = track_of_tid(m->out, (uint32_t)w->waker, w->end_ns);
            if (w->waker != SIM_NOBODY)
                w->release_ns = release_within(&m->threads[w->waker], w);
        }
    }
}

static int trace_compare_slots(const void *left, const void *right)
{
    const struct traced_slot *a = left, *b = right;
    return a->begin_ns != b->begin_ns ? (a->begin_ns < b->begin_ns ? -1 : 1)
                                      : (a->core > b->core) - (a->core < b->core);
}

/* Returns the only track of the list that lived during a slot, or UINT32_MAX. */
static uint32_t track_of_slot(const struct sim_tracks *t, const uint32_t *next, uint32_t first,
                              const struct traced_slot *slot)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = first; i; i = next[i - 1]) {
        const struct sim_track *track = &t->tracks[i - 1];
        if (slot->end_ns <= track->begin_ns || slot->begin_ns >= track->end_ns)
            continue;
        if (found != UINT32_MAX)
            return UINT32_MAX;
        found = i - 1;
    }
    return found;
}

static void give_slot(struct sim_tracks *t, uint32_t number, const struct traced_slot *slot)
{
    struct sim_track *track = &t->tracks[number];
    if (!strobe_array_reserve(&track->cpu, &track->cpu_room, track->cpu_count + 1))
        t->failed = 1;
    else
        track->cpu[track->cpu_count++] = (struct sim_span){slot->begin_ns, slot->end_ns, slot->core};
}

/* Gives the spans on processors to the threads, which the trace states by name only. A span that two living threads of
 * one name may have is left out. */
static void give_slots(struct trace_import *m)
{
    struct sim_tracks *t = m->out;
    uint32_t *next = calloc(t->track_count + 1, sizeof *next), *first;
    for (size_t i = 0; i < t->track_count; i++)
        sim_tracks_name(t, t->tracks[i].name);
    first = calloc(t->names.count + 1, sizeof *first);
    for (size_t i = 0; next && first && i < t->track_count && !t->failed; i++) {
        uint32_t name = sim_tracks_name(t, t->tracks[i].name);
        next[i] = first[name];
        first[name] = (uint32_t)i + 1;
    }
    if (m->slot_count)
        qsort(m->slots, m->slot_count, sizeof *m->slots, trace_compare_slots);
    for (size_t i = 0; next && first && i < m->slot_count && !t->failed; i++) {
        uint32_t track = track_of_slot(t, next, first[m->slots[i].name], &m->slots[i]);
        if (track != UINT32_MAX)
            give_slot(t, track, &m->slots[i]);
    }
    m->failed |= !next || !first || t->failed;
    free(next);
    free(first);
}

void sim_learn_move_to_zero(struct sim_tracks *t)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].event_count && t->tracks[i].events[0].time_ns < first)
            first = t->tracks[i].events[0].time_ns;
    for (size_t i = 0; i < t->track_count; i++)
        last = t->tracks[i].event_count && t->tracks[i].end_ns > last ? t->tracks[i].end_ns : last;
    if (first == UINT64_MAX)
        return;
    for (size_t i = 0; i < t->track_count; i++) {
        struct sim_track *track = &t->tracks[i];
        if (!track->event_count)
            continue;
        track->begin_ns -= track->begin_ns > first ? first : track->begin_ns;
        track->end_ns -= first;
        for (size_t k = 0; k < track->event_count; k++)
            track->events[k].time_ns -= first;
        for (size_t k = 0; k < track->wait_count; k++) {
            track->waits[k].begin_ns -= first;
            track->waits[k].end_ns -= first;
            track->waits[k].release_ns -= first;
        }
        for (size_t k = 0; k < track->idle_count; k++)
            track->idle[k] =
                (struct sim_span){track->idle[k].begin_ns - first, track->idle[k].end_ns - first, track->idle[k].value};
        for (size_t k = 0; k < track->cpu_count; k++) {
            uint64_t begin = track->cpu[k].begin_ns;
            track->cpu[k].begin_ns = begin > first ? begin - first : 0;
            track->cpu[k].end_ns = track->cpu[k].end_ns > first ? track->cpu[k].end_ns - first : 0;
        }
    }
    t->end_ns = last - first;
}

static void end_tracks(struct trace_import *m)
{
    for (size_t i = 0; i < m->out->track_count && !m->failed; i++) {
        struct traced_thread *about = &m->threads[i];
        struct sim_track *t = &m->out->tracks[i];
        while (about->depth && about->open[about->depth - 1].value == UINT32_MAX)
            about->depth--;
        sim_track_end(m->out, (uint32_t)i, t->end_ns);
    }
}

static void choose_main(struct sim_tracks *t)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].is_main)
            return;
    if (t->track_count)
        t->tracks[0].is_main = true;
}

static void trace_import_free(struct trace_import *m)
{
    for (size_t i = 0; i < m->thread_room; i++) {
        free(m->threads[i].open);
        free(m->threads[i].releases);
    }
    free(m->threads);
    free(m->slots);
}

enum strobe_status sim_learn_read_trace(const char *path, struct sim_tracks *out, struct strobe_error *error)
{
    static const struct strobe_import_visitor visitor = {
        .thread = trace_thread,
        .slice_begin = trace_slice_begin,
        .slice_end = trace_slice_end,
        .instant = trace_instant,
        .note = trace_note,
    };
    struct trace_import m = {.out = out, .woken_track = UINT32_MAX, .core_open = {.begin_ns = UINT64_MAX}};
    struct strobe_import_stats stats = {0};
    errno = 0;
    enum strobe_status status = strobe_import_perfetto(path, &visitor, &m, &stats, error);
    if (status == STROBE_OK) {
        flush_wait(&m);
        end_tracks(&m);
        find_trace_wakers(&m);
        give_slots(&m);
        sim_learn_move_to_zero(out);
        choose_main(out);
    } else if (status == STROBE_BAD_INPUT && !stats.packets) {
        strobe_error_set(error, "expected a session of Strobe or a Perfetto trace");
    }
    if (status == STROBE_OK && (m.failed || out->failed)) {
        strobe_error_set(error, "%s", strerror(ENOMEM));
        status = STROBE_IO;
    }
    trace_import_free(&m);
    return status;
}
