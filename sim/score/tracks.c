#include "sim/score/tracks.h"

#include "engine/util/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sim_tracks_open(struct sim_tracks *t)
{
    memset(t, 0, sizeof *t);
}

void sim_tracks_close(struct sim_tracks *t)
{
    for (size_t i = 0; i < t->track_count; i++) {
        free(t->tracks[i].events);
        free(t->tracks[i].waits);
        free(t->tracks[i].cpu);
        free(t->tracks[i].messages);
        free(t->tracks[i].turns);
        free(t->tracks[i].idle);
    }
    free(t->tracks);
    strobe_text_pool_free(&t->names);
    sim_tracks_open(t);
}

uint32_t sim_tracks_name(struct sim_tracks *t, const char *name)
{
    uint32_t number = strobe_text_number(&t->names, name, strlen(name));
    if (number != UINT32_MAX)
        return number;
    t->failed = 1;
    return 0;
}

static bool tracks_are_closed(const struct sim_tracks *t)
{
    return t->failed || t->closed;
}

uint32_t sim_track_add(struct sim_tracks *t, uint32_t tid, uint32_t generation, const char *name, bool is_main,
                       uint64_t begin_ns)
{
    if (t->failed)
        return 0;
    if (!strobe_array_reserve(&t->tracks, &t->track_room, t->track_count + 1)) {
        t->failed = 1;
        return 0;
    }
    struct sim_track *track = &t->tracks[t->track_count];
    *track = (struct sim_track){
        .tid = tid, .generation = generation, .is_main = is_main, .begin_ns = begin_ns, .end_ns = begin_ns};
    size_t bytes = strnlen(name, sizeof track->name - 1);
    memcpy(track->name, name, bytes);
    return (uint32_t)t->track_count++;
}

/* Returns the track; its end_ns advances to time_ns. */
static struct sim_track *tracks_at_time(struct sim_tracks *t, uint32_t track, uint64_t time_ns)
{
    assert(track < t->track_count && time_ns >= t->tracks[track].end_ns);
    t->tracks[track].end_ns = time_ns;
    return &t->tracks[track];
}

static void tracks_add_event(struct sim_tracks *t, struct sim_track *track, struct sim_event event)
{
    if (!strobe_array_reserve(&track->events, &track->event_room, track->event_count + 1)) {
        t->failed = 1;
        return;
    }
    track->events[track->event_count++] = event;
}

void sim_track_call(struct sim_tracks *t, uint32_t track, uint64_t time_ns, uint32_t name, enum sim_call_class class)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, time_ns);
    assert(name < t->names.count);
    tracks_add_event(t, tr, (struct sim_event){time_ns, name, class});
    tr->depth++;
}

void sim_track_return(struct sim_tracks *t, uint32_t track, uint64_t time_ns, bool thrown)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, time_ns);
    assert(tr->depth);
    tracks_add_event(t, tr, (struct sim_event){time_ns, SIM_CALL_END, thrown});
    tr->depth--;
}

void sim_track_wait(struct sim_tracks *t, uint32_t track, const struct sim_wait *wait)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, wait->end_ns);
    assert(wait->begin_ns <= wait->end_ns);
    if (!strobe_array_reserve(&tr->waits, &tr->wait_room, tr->wait_count + 1)) {
        t->failed = 1;
        return;
    }
    tr->waits[tr->wait_count++] = *wait;
}

/* Ends the last span if it is open. Drops it when it has no length. */
static void tracks_close_span(struct sim_span *spans, size_t *count, uint64_t time_ns)
{
    if (!*count || spans[*count - 1].end_ns != SIM_SPAN_OPEN)
        return;
    spans[*count - 1].end_ns = time_ns;
    *count -= spans[*count - 1].begin_ns == time_ns;
}

static void open_span(struct sim_tracks *t, struct sim_span **spans, size_t *count, size_t *room, uint64_t time_ns,
                      uint32_t value)
{
    struct sim_span *last = *count ? &(*spans)[*count - 1] : NULL;
    if (last && last->end_ns == time_ns && last->value == value) {
        last->end_ns = SIM_SPAN_OPEN;
        return;
    }
    if (!strobe_array_reserve(spans, room, *count + 1)) {
        t->failed = 1;
        return;
    }
    (*spans)[(*count)++] = (struct sim_span){time_ns, SIM_SPAN_OPEN, value};
}

void sim_track_core(struct sim_tracks *t, uint32_t track, uint64_t time_ns, int core)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, time_ns);
    tracks_close_span(tr->cpu, &tr->cpu_count, time_ns);
    if (core >= 0)
        open_span(t, &tr->cpu, &tr->cpu_count, &tr->cpu_room, time_ns, (uint32_t)core);
}

static void close_turn(struct sim_track *track, uint64_t time_ns)
{
    if (track->turn_count && track->turns[track->turn_count - 1].end_ns == SIM_SPAN_OPEN)
        track->turns[track->turn_count - 1].end_ns = time_ns;
}

void sim_track_message(struct sim_tracks *t, uint32_t track, uint64_t time_ns, uint32_t id)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, time_ns);
    tracks_close_span(tr->messages, &tr->message_count, time_ns);
    close_turn(tr, time_ns);
    if (id)
        open_span(t, &tr->messages, &tr->message_count, &tr->message_room, time_ns, id);
}

void sim_track_loop(struct sim_tracks *t, uint32_t track, const struct sim_loop_turn *turn)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, turn->begin_ns);
    if (!strobe_array_reserve(&tr->turns, &tr->turn_room, tr->turn_count + 1)) {
        t->failed = 1;
        return;
    }
    tr->turns[tr->turn_count] = *turn;
    tr->turns[tr->turn_count++].end_ns = SIM_SPAN_OPEN;
}

void sim_track_idle(struct sim_tracks *t, uint32_t track, uint64_t begin_ns, uint64_t end_ns, uint32_t name)
{
    if (tracks_are_closed(t) || begin_ns >= end_ns)
        return;
    struct sim_track *tr = tracks_at_time(t, track, end_ns);
    assert(!tr->idle_count || tr->idle[tr->idle_count - 1].end_ns <= begin_ns);
    if (!strobe_array_reserve(&tr->idle, &tr->idle_room, tr->idle_count + 1)) {
        t->failed = 1;
        return;
    }
    tr->idle[tr->idle_count++] = (struct sim_span){begin_ns, end_ns, name};
}

void sim_track_end(struct sim_tracks *t, uint32_t track, uint64_t time_ns)
{
    if (tracks_are_closed(t))
        return;
    struct sim_track *tr = tracks_at_time(t, track, time_ns);
    while (tr->depth && !t->failed)
        sim_track_return(t, track, time_ns, false);
    tracks_close_span(tr->cpu, &tr->cpu_count, time_ns);
    tracks_close_span(tr->messages, &tr->message_count, time_ns);
    close_turn(tr, time_ns);
    if (time_ns > t->end_ns)
        t->end_ns = time_ns;
}
