#include "sim/policy/call_reconstruct.h"

#include "engine/util/array.h"

#include <stdlib.h>

struct open_call {
    uint64_t begin_ns;
    enum strobe_kind wait;
    bool left_out;
};

struct call_reconstruction {
    const struct sim_call_input *in;
    struct sim_tracks *out;
    uint32_t track;
    const struct strobe_calls_thread *thread;
    struct open_call *open;
    size_t depth, room;
    size_t message;              /* the next one to add */
    struct sim_call_name *names; /* by number in the stream; translated once */
    bool *asked;
};

static uint64_t call_tracks_run_time(const struct call_reconstruction *c, uint64_t time_ns)
{
    uint64_t latest = c->out->failed ? 0 : c->out->tracks[c->track].end_ns;
    uint64_t ns = time_ns > c->in->origin_ns ? time_ns - c->in->origin_ns : 0;
    return ns > latest ? ns : latest;
}

static struct sim_call_name call_tracks_call_name(struct call_reconstruction *c, uint32_t number)
{
    if (!c->asked[number]) {
        const char *text = c->in->calls->names.texts[number];
        c->names[number] = c->in->name ? c->in->name(c->in->ctx, text) : (struct sim_call_name){.name = text};
        c->asked[number] = true;
    }
    return c->names[number];
}

static void call_tracks_add_messages(struct call_reconstruction *c, uint64_t until_ns)
{
    const struct sim_call_input *in = c->in;
    for (; c->message < in->message_count && in->messages[c->message].time_ns <= until_ns; c->message++) {
        const struct sim_call_message *m = &in->messages[c->message];
        if (m->tid != c->thread->tid)
            continue;
        uint64_t now = call_tracks_run_time(c, m->time_ns);
        sim_track_message(c->out, c->track, now, m->id);
        if (m->id && in->turn) {
            struct sim_loop_turn turn = in->turn(in->ctx, m->tid, m->id);
            turn.begin_ns = now;
            sim_track_loop(c->out, c->track, &turn);
        }
    }
}

static bool call_tracks_begin_call(struct call_reconstruction *c, const struct strobe_call *call)
{
    struct sim_call_name name = call_tracks_call_name(c, call->name);
    if (!strobe_array_reserve(&c->open, &c->room, c->depth + 1))
        return false;
    uint64_t now = call_tracks_run_time(c, call->time_ns);
    c->open[c->depth++] = (struct open_call){now, name.wait, !name.name};
    if (name.name)
        sim_track_call(c->out, c->track, now, sim_tracks_name(c->out, name.name),
                       name.wait == STROBE_KIND_NONE ? SIM_CALL_METHOD : SIM_CALL_WAIT);
    return true;
}

static void call_tracks_end_call(struct call_reconstruction *c, const struct strobe_call *call)
{
    const struct open_call *o = &c->open[--c->depth];
    if (o->left_out)
        return;
    uint64_t now = call_tracks_run_time(c, call->time_ns);
    sim_track_return(c->out, c->track, now, false);
    if (o->wait != STROBE_KIND_NONE)
        sim_track_wait(c->out, c->track,
                       &(struct sim_wait){.begin_ns = o->begin_ns,
                                          .end_ns = now,
                                          .kind = o->wait,
                                          .blocked = true,
                                          .waker = SIM_NOBODY,
                                          .release_ns = now});
}

static bool call_tracks_add_thread(struct call_reconstruction *c, const struct strobe_calls_thread *t)
{
    uint64_t first = t->calls[0].time_ns > c->in->origin_ns ? t->calls[0].time_ns - c->in->origin_ns : 0;
    c->thread = t;
    c->depth = c->message = 0;
    c->track = sim_track_add(c->out, t->tid, 1, t->name, t->is_main, first);
    if (c->out->failed)
        return false;
    size_t ended = t->call_count;
    while (ended && t->calls[ended - 1].what == STROBE_CALL_END && t->calls[ended - 1].flags & STROBE_CALL_REPAIRED)
        ended--;
    for (size_t i = 0; i < ended; i++) {
        const struct strobe_call *call = &t->calls[i];
        call_tracks_add_messages(c, call->time_ns);
        if (call->what == STROBE_CALL_BEGIN ? !call_tracks_begin_call(c, call) : (call_tracks_end_call(c, call), false))
            return false;
    }
    call_tracks_add_messages(c, UINT64_MAX);
    for (struct strobe_call last = {.time_ns = c->in->origin_ns + c->in->end_ns}; c->depth;)
        call_tracks_end_call(c, &last);
    c->out->tracks[c->track].samples = t->call_count;
    c->out->samples += t->call_count;
    c->out->lost += t->lost;
    sim_track_end(c->out, c->track, call_tracks_run_time(c, c->in->origin_ns));
    return !c->out->failed;
}

enum strobe_status sim_reconstruct_calls(const struct sim_call_input *in, struct sim_tracks *out)
{
    struct call_reconstruction c = {.in = in, .out = out};
    c.names = calloc(in->calls->names.count + 1, sizeof *c.names);
    c.asked = calloc(in->calls->names.count + 1, sizeof *c.asked);
    bool fits = c.names && c.asked;
    for (size_t i = 0; fits && i < in->calls->thread_count; i++)
        if (in->calls->threads[i].call_count)
            fits = call_tracks_add_thread(&c, &in->calls->threads[i]);
    free(c.open);
    free(c.names);
    free(c.asked);
    return fits && !out->failed ? STROBE_OK : STROBE_IO;
}
