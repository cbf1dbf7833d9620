#include "sim/score/view.h"

#include "engine/util/array.h"
#include "sim/score/pairing.h"

#include <stdlib.h>
#include <string.h>

/* An open call: its name's number in the truth, and two flags. OFF_PATH: it is not part of the path. BLANK: it is a
 * placeholder. */
#define OFF_PATH (UINT32_C(1) << 31)
#define BLANK    (UINT32_C(1) << 30)
#define NO_NAME  (BLANK - 1) /* a name that the truth does not have */

/* One side of a thread during the sweep over time. */
struct side {
    const struct sim_track *track; /* NULL: none */
    size_t next;                   /* event */
    uint32_t *open;                /* calls, outermost first */
    size_t depth, room;
    uint32_t *path; /* the calls on the path */
    size_t length, path_room;
};

struct walk {
    const struct sim_pairing *pairing;
    const struct sim_view *view;
    struct side truth, reconstruction;
    size_t match; /* length of the common begin of both paths, as far as compared */
    uint64_t life_ns, agree_ns, unseen_ns;
};

static bool view_shows_name(const struct sim_view *v, uint32_t name)
{
    return !v->is_limited || (name < v->recorded_count && v->recorded[name]);
}

static uint32_t open_call(const struct walk *w, const struct side *s, const struct sim_event *e)
{
    if (s == &w->truth)
        return e->name | (view_shows_name(w->view, e->name) ? 0 : OFF_PATH);
    if (e->class == SIM_CALL_GAP)
        return NO_NAME | BLANK;
    uint32_t name = w->pairing->name_of[e->name];
    return name == SIM_UNKNOWN ? NO_NAME : name;
}

static bool view_begin_call(struct walk *w, struct side *s, const struct sim_event *e)
{
    uint32_t call = open_call(w, s, e);
    if (!strobe_array_reserve(&s->open, &s->room, s->depth + 1) ||
        !strobe_array_reserve(&s->path, &s->path_room, s->length + 1))
        return false;
    s->open[s->depth++] = call;
    if (!(call & OFF_PATH))
        s->path[s->length++] = call;
    return true;
}

static void view_end_call(struct walk *w, struct side *s)
{
    if (s->open[--s->depth] & OFF_PATH)
        return;
    s->length--;
    w->match = w->match < s->length ? w->match : s->length;
}

static bool view_step(struct walk *w, struct side *s, uint64_t time_ns)
{
    for (; s->track && s->next < s->track->event_count && s->track->events[s->next].time_ns <= time_ns; s->next++) {
        const struct sim_event *e = &s->track->events[s->next];
        if (e->name == SIM_CALL_END)
            view_end_call(w, s);
        else if (!view_begin_call(w, s, e))
            return false;
    }
    return true;
}

static uint64_t next_ns(const struct side *s)
{
    return s->track && s->next < s->track->event_count ? s->track->events[s->next].time_ns : UINT64_MAX;
}

static void view_count_time(struct walk *w, bool followed, uint64_t ns)
{
    const struct side *t = &w->truth, *c = &w->reconstruction;
    while (w->match < t->length && w->match < c->length && t->path[w->match] == c->path[w->match])
        w->match++;
    bool whole = w->match == t->length && w->match == c->length;
    bool shown = c->depth && !(c->open[c->depth - 1] & BLANK);
    if (t->depth && (!followed || !shown || t->open[t->depth - 1] & OFF_PATH))
        w->unseen_ns += ns;
    if (!followed)
        return;
    if (w->view->is_limited && !t->length && !c->length)
        return;
    w->life_ns += ns;
    w->agree_ns += whole ? ns : 0;
}

static bool walk_pair(struct walk *w, const struct sim_pair *pair)
{
    w->truth = (struct side){.track = pair->truth,
                             .open = w->truth.open,
                             .room = w->truth.room,
                             .path = w->truth.path,
                             .path_room = w->truth.path_room};
    w->reconstruction = (struct side){.track = pair->reconstruction,
                                      .open = w->reconstruction.open,
                                      .room = w->reconstruction.room,
                                      .path = w->reconstruction.path,
                                      .path_room = w->reconstruction.path_room};
    w->match = 0;
    bool followed = !w->view->is_limited || !w->view->main_only || pair->truth->is_main;
    uint64_t now = pair->truth->begin_ns, end = pair->truth->end_ns;
    while (now < end) {
        if (!view_step(w, &w->truth, now) || !view_step(w, &w->reconstruction, now))
            return false;
        uint64_t next = next_ns(&w->truth), other = next_ns(&w->reconstruction);
        next = other < next ? other : next;
        next = next < end ? next : end;
        view_count_time(w, followed, next - now);
        now = next;
    }
    return true;
}

/* ---- lengths of calls ---- */

/* The lengths of a track's calls by name, in order of begin: ns[first[name]] .. ns[first[name + 1] - 1]. NO_LENGTH: the
 * call did not end by its exit. */
#define NO_LENGTH UINT64_MAX
struct lengths {
    size_t *first;
    uint64_t *ns;
};

static bool view_measure_calls(const struct sim_track *track, const uint32_t *name_of, size_t names,
                               struct lengths *out)
{
    size_t *open = malloc((track->event_count + 1) * sizeof *open), depth = 0, *place = NULL;
    out->first = calloc(names + 2, sizeof *out->first);
    out->ns = calloc(track->event_count + 1, sizeof *out->ns);
    bool fits = open && out->first && out->ns;
    for (size_t i = 0; fits && i < track->event_count; i++) {
        uint32_t name = track->events[i].name;
        name = name == SIM_CALL_END || !name_of ? name : name_of[name];
        if (name < names)
            out->first[name + 1]++;
    }
    for (size_t i = 0; fits && i < names; i++)
        out->first[i + 1] += out->first[i];
    place = fits ? malloc((names + 1) * sizeof *place) : NULL;
    fits = place != NULL;
    if (fits)
        memcpy(place, out->first, (names + 1) * sizeof *place);
    for (size_t i = 0; fits && i < track->event_count; i++) {
        const struct sim_event *e = &track->events[i];
        if (e->name == SIM_CALL_END) {
            size_t at = open[--depth];
            if (at != SIZE_MAX)
                out->ns[at] = e->class || e->time_ns == track->end_ns ? NO_LENGTH : e->time_ns - out->ns[at];
            continue;
        }
        uint32_t name = name_of ? name_of[e->name] : e->name;
        open[depth] = name < names ? place[name]++ : SIZE_MAX;
        if (open[depth] != SIZE_MAX)
            out->ns[open[depth]] = e->time_ns;
        depth++;
    }
    free(open);
    free(place);
    return fits;
}

static void view_drop_lengths(struct lengths *l)
{
    free(l->first);
    free(l->ns);
}

static bool time_pair(const struct sim_pairing *p, const struct sim_pair *pair, const struct sim_view *v,
                      struct sim_score *out)
{
    struct lengths truth = {0}, reconstruction = {0};
    size_t names = p->truth->names.count;
    bool fits = view_measure_calls(pair->truth, NULL, names, &truth) &&
                view_measure_calls(pair->reconstruction, p->name_of, names, &reconstruction);
    for (uint32_t name = 0; fits && name < names; name++) {
        size_t n = truth.first[name + 1] - truth.first[name];
        if (!view_shows_name(v, name) || reconstruction.first[name + 1] - reconstruction.first[name] != n)
            continue;
        for (size_t i = 0; i < n; i++) {
            uint64_t a = truth.ns[truth.first[name] + i], b = reconstruction.ns[reconstruction.first[name] + i];
            if (a == NO_LENGTH || b == NO_LENGTH)
                continue;
            uint64_t error = a > b ? a - b : b - a;
            out->timed_calls++;
            out->call_error_sum_ns += error;
            out->call_error_most_ns = error > out->call_error_most_ns ? error : out->call_error_most_ns;
        }
    }
    view_drop_lengths(&truth);
    view_drop_lengths(&reconstruction);
    return fits;
}

/* ---- all of it ---- */

bool sim_view_open(struct sim_view *v, const struct sim_tracks *truth)
{
    *v = (struct sim_view){.is_limited = true, .recorded_count = truth->names.count};
    v->recorded = calloc(v->recorded_count + 1, sizeof *v->recorded);
    return v->recorded != NULL;
}

void sim_view_close(struct sim_view *v)
{
    free(v->recorded);
    *v = (struct sim_view){0};
}

enum strobe_status sim_view_score(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                                  const struct sim_view *view, struct sim_score *out)
{
    static const struct sim_view all;
    struct sim_pairing p;
    struct walk w = {.pairing = &p, .view = view ? view : &all};
    bool fits = sim_pairing_open(&p, truth, reconstruction);
    out->timed_calls = out->call_error_sum_ns = out->call_error_most_ns = 0;
    for (size_t i = 0; fits && i < p.pair_count; i++) {
        if (!p.pairs[i].truth)
            continue;
        fits = walk_pair(&w, &p.pairs[i]);
        if (fits && w.view->is_limited && p.pairs[i].reconstruction)
            fits = time_pair(&p, &p.pairs[i], w.view, out);
    }
    sim_pairing_close(&p);
    free(w.truth.open);
    free(w.truth.path);
    free(w.reconstruction.open);
    free(w.reconstruction.path);
    out->seen_ns = w.life_ns;
    out->seen_agree_ns = w.agree_ns;
    out->unseen_ns = w.unseen_ns;
    out->code_bytes = w.view->code_bytes;
    out->methods_in = w.view->methods_in;
    out->methods_out = w.view->methods_out;
    sim_score_ratios(out);
    return fits ? STROBE_OK : STROBE_IO;
}
