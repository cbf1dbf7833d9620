#include "sim/score/found.h"

#include <stdlib.h>

struct strobe_watch_view sim_truth_view(void)
{
    return (struct strobe_watch_view){.resolution_ns = 1};
}

struct strobe_watch_view sim_reconstruction_view(uint64_t interval_ns, bool exact)
{
    enum { GAP_LEAST_NS = 5000000, GAP_INTERVALS = 4 };
    uint64_t gap_ns = interval_ns * GAP_INTERVALS > GAP_LEAST_NS ? interval_ns * GAP_INTERVALS : GAP_LEAST_NS;
    if (exact)
        return (struct strobe_watch_view){.resolution_ns = interval_ns};
    return (struct strobe_watch_view){.sampled = true, .resolution_ns = gap_ns, .unseen_below_ns = gap_ns};
}

static const struct sim_track *found_main_track(const struct sim_tracks *t)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].is_main)
            return &t->tracks[i];
    return NULL;
}

/* A thread's messages as alternating begins and ends, reported up to time_ns. At equal times, an END comes after calls
 * and a BEGIN before. */
struct messages {
    const struct sim_track *track;
    size_t next;
    bool open;
};

static void feed_messages(struct strobe_watch_feed *f, struct messages *m, uint64_t time_ns, bool begins)
{
    while (m->next < m->track->message_count) {
        const struct sim_span *s = &m->track->messages[m->next];
        uint64_t at_ns = m->open ? s->end_ns : s->begin_ns;
        if (at_ns > time_ns || (at_ns == time_ns && !begins))
            return;
        if (m->open)
            strobe_watch_feed_message_end(f, at_ns);
        else
            strobe_watch_feed_message(f, at_ns, 0);
        m->next += m->open;
        m->open = !m->open;
    }
}

enum strobe_status sim_tracks_watch(const struct sim_tracks *t, struct strobe_watcher *watcher,
                                    struct strobe_watch_seen *seen)
{
    static const enum strobe_watch_call class_of[] = {
        [SIM_CALL_METHOD] = STROBE_WATCH_METHOD,
        [SIM_CALL_WAIT] = STROBE_WATCH_WAIT,
        [SIM_CALL_GAP] = STROBE_WATCH_GAP,
    };
    const struct sim_track *track = found_main_track(t);
    struct strobe_watch_feed_options options = {.has_messages = track && track->message_count, .process = "app"};
    struct strobe_watch_feed *f = strobe_watch_feed_open(&options, watcher);
    if (!f)
        return STROBE_IO;
    struct messages m = {.track = track};
    for (size_t i = 0; track && i < track->event_count; i++) {
        const struct sim_event *e = &track->events[i];
        bool begins = e->name != SIM_CALL_END;
        feed_messages(f, &m, e->time_ns, begins);
        if (begins)
            strobe_watch_feed_call(f, e->time_ns, e->name, t->names.texts[e->name], class_of[e->class], 0);
        else
            strobe_watch_feed_return(f, e->time_ns);
    }
    uint64_t end_ns = track ? track->end_ns : t->end_ns;
    if (track)
        feed_messages(f, &m, end_ns, true);
    return strobe_watch_feed_close(f, end_ns, seen);
}

enum strobe_status sim_tracks_find(const struct sim_tracks *t, const struct strobe_watch_options *options,
                                   const struct strobe_watch_view *view, struct strobe_findings *out)
{
    out->view = *view;
    struct strobe_watcher *w = strobe_watch_all(options, view, strobe_findings_sink(out));
    if (!w)
        return STROBE_IO;
    enum strobe_status status = sim_tracks_watch(t, w, &out->seen), closed = w->close(w);
    strobe_findings_sort(out);
    return status != STROBE_OK ? status : closed != STROBE_OK ? closed : out->failed ? STROBE_IO : STROBE_OK;
}

static bool is_near(uint64_t a, uint64_t b, uint64_t within_ns)
{
    return a > b ? a - b <= within_ns : b - a <= within_ns;
}

size_t sim_findings_pair(const struct strobe_findings *truth, const struct strobe_findings *reconstruction,
                         uint64_t within_ns, uint32_t *of)
{
    bool *taken = calloc(truth->count + 1, sizeof *taken);
    size_t pairs = 0;
    for (size_t i = 0; i < reconstruction->count; i++) {
        const struct strobe_finding *c = &reconstruction->at[i];
        of[i] = 0;
        for (size_t k = 0; k < truth->count && !of[i] && taken; k++) {
            const struct strobe_finding *t = &truth->at[k];
            if (!taken[k] && t->kind == c->kind && is_near(t->begin_ns, c->begin_ns, within_ns) &&
                is_near(t->end_ns, c->end_ns, within_ns))
                of[i] = (uint32_t)k + 1;
        }
        if (of[i])
            taken[of[i] - 1] = true;
        pairs += of[i] != 0;
    }
    free(taken);
    return pairs;
}

struct sim_found *sim_found_of(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                               const struct strobe_watch_view *reconstruction_view)
{
    struct strobe_watch_options options;
    struct strobe_watch_view view = sim_truth_view();
    struct sim_found *f = calloc(1, sizeof *f);
    strobe_watch_defaults(&options);
    if (f && (sim_tracks_find(truth, &options, &view, &f->truth) != STROBE_OK ||
              sim_tracks_find(reconstruction, &options, reconstruction_view, &f->reconstruction) != STROBE_OK)) {
        sim_found_free(f);
        f = NULL;
    }
    return f;
}

void sim_found_free(struct sim_found *f)
{
    if (!f)
        return;
    strobe_findings_free(&f->truth);
    strobe_findings_free(&f->reconstruction);
    free(f);
}
