#include "engine/watch/frames.h"

#include "engine/watch/context.h"

#include <stdlib.h>

#define NS_PER_S  UINT64_C(1000000000)
#define SPAN_MAX  ((uint64_t)INT64_MAX / 2) /* longer times are no plausible measurements */
#define BIT(what) (1u << (what))

uint64_t strobe_frame_interval(uint32_t refresh_hz)
{
    return (NS_PER_S + refresh_hz / 2) / refresh_hz;
}

bool strobe_frame_valid(const struct strobe_watch_frame *f)
{
    return f->begin_ns <= f->end_ns && f->intended_ns <= f->end_ns && strobe_frame_cost(f) < SPAN_MAX &&
           f->input_ns < SPAN_MAX && f->animation_ns < SPAN_MAX && f->traversal_ns < SPAN_MAX && f->total_ns < SPAN_MAX;
}

uint64_t strobe_frame_cost(const struct strobe_watch_frame *f)
{
    return f->end_ns - (f->intended_ns ? f->intended_ns : f->begin_ns);
}

uint64_t strobe_frame_total(const struct strobe_watch_frame *f)
{
    return f->total_ns ? f->total_ns : strobe_frame_cost(f);
}

uint64_t strobe_frame_dropped(uint64_t cost_ns, uint64_t interval_ns)
{
    return cost_ns / interval_ns;
}

uint64_t strobe_frame_dropped_by_latency(uint64_t total_ns, uint64_t interval_ns)
{
    return total_ns <= interval_ns ? 0 : (total_ns - interval_ns + interval_ns / 2) / interval_ns;
}

enum strobe_frame_level strobe_frame_level(uint64_t dropped, const uint32_t drop[4])
{
    unsigned level = STROBE_FRAME_FROZEN;
    while (level > STROBE_FRAME_BEST && dropped < drop[level - 1])
        level--;
    return (enum strobe_frame_level)level;
}

void strobe_frame_count(struct strobe_frame_sum *sum, const struct strobe_watch_frame *f, uint64_t interval_ns,
                        const uint32_t drop[4])
{
    uint64_t dropped = strobe_frame_dropped(strobe_frame_cost(f), interval_ns), total_ns = strobe_frame_total(f);
    sum->frames++;
    sum->dropped += dropped;
    sum->dropped_by_latency += strobe_frame_dropped_by_latency(total_ns, interval_ns);
    sum->levels[strobe_frame_level(dropped, drop)]++;
    sum->total_ns += (double)total_ns;
    sum->shown_ns += (double)(total_ns > interval_ns ? total_ns : interval_ns);
    sum->input_ns += (double)f->input_ns;
    sum->animation_ns += (double)f->animation_ns;
    sum->traversal_ns += (double)f->traversal_ns;
}

double strobe_frame_fps(const struct strobe_frame_sum *sum, uint32_t refresh_hz)
{
    return sum->frames ? refresh_hz * (double)sum->frames / ((double)sum->frames + (double)sum->dropped) : 0;
}

double strobe_frame_fps_by_latency(const struct strobe_frame_sum *sum)
{
    return sum->frames ? (double)NS_PER_S * (double)sum->frames / sum->shown_ns : 0;
}

struct frames {
    struct strobe_watcher watcher;
    struct strobe_watch_context *context;
    uint64_t interval_ns;
    const char *scene; /* of the span */
    struct strobe_frame_sum sum;
    uint64_t rejected;
    uint64_t begin_ns, end_ns; /* of the span: begin of the first frame, end of the last frame */
};

static void frames_close_span(struct frames *w, bool partial)
{
    static const char *const level_keys[] = {"drop_best", "drop_normal", "drop_middle", "drop_high", "drop_frozen"};
    struct strobe_watch_context *c = w->context;
    const struct strobe_frame_sum *sum = &w->sum;
    double frames = (double)sum->frames;
    if (!sum->frames && !w->rejected)
        return;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_FRAMES, w->begin_ns, w->end_ns);
    struct strobe_unseen unseen = {""};
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES | STROBE_NEEDS_DUE);
    if (sum->frames)
        strobe_finding_add(&f, "fps", strobe_frame_fps(sum, c->view.refresh_hz));
    if (sum->frames > STROBE_FRAMES_TOO_FEW)
        strobe_finding_add(&f, "fps_latency", strobe_frame_fps_by_latency(sum));
    else
        strobe_unseen_add(&unseen, "a rate by latency wants more than %d frames", STROBE_FRAMES_TOO_FEW);
    strobe_finding_add(&f, "frames", frames);
    strobe_finding_add(&f, "dropped", (double)sum->dropped);
    strobe_finding_add(&f, "dropped_latency", (double)sum->dropped_by_latency);
    for (unsigned level = 0; level < STROBE_FRAME_LEVELS; level++)
        strobe_finding_add(&f, level_keys[level], (double)sum->levels[level]);
    strobe_finding_add(&f, "rejected", (double)w->rejected);
    strobe_finding_add(&f, "refresh_hz", c->view.refresh_hz);
    if (sum->frames) {
        strobe_finding_add(&f, "latency_ms", sum->total_ns / frames / 1e6);
        strobe_finding_add(&f, "input_ms", sum->input_ns / frames / 1e6);
        strobe_finding_add(&f, "animation_ms", sum->animation_ns / frames / 1e6);
        strobe_finding_add(&f, "traversal_ms", sum->traversal_ns / frames / 1e6);
    }
    strobe_finding_add(&f, "partial", partial);
    f.scene = w->scene;
    f.unseen = unseen.text;
    strobe_watch_found(c, &f);
    w->sum = (struct strobe_frame_sum){0};
    w->rejected = 0;
}

static const char *blame_of(const struct strobe_watch_frame *f, uint64_t late_ns)
{
    if (late_ns > f->end_ns - f->begin_ns)
        return "before the frame";
    if (!f->input_ns && !f->animation_ns && !f->traversal_ns)
        return "";
    if (f->input_ns > f->animation_ns && f->input_ns > f->traversal_ns)
        return "input";
    return f->animation_ns > f->traversal_ns ? "animation" : "traversal";
}

static void frames_report_drop(struct frames *w, const struct strobe_watch_frame *frame, uint64_t dropped)
{
    struct strobe_watch_context *c = w->context;
    uint64_t cost_ns = strobe_frame_cost(frame), due_ns = frame->end_ns - cost_ns;
    uint64_t late_ns = frame->begin_ns > due_ns ? frame->begin_ns - due_ns : 0;
    struct strobe_finding f = strobe_finding(STROBE_FINDING_DROP, due_ns, frame->end_ns);
    struct strobe_unseen unseen = {""};
    strobe_watch_blame(c, &f, "frame", &unseen);
    strobe_unseen_view(&unseen, &c->view, STROBE_NEEDS_TIMES | STROBE_NEEDS_CALLS | STROBE_NEEDS_DUE);
    f.blame = f.key = blame_of(frame, late_ns);
    f.unseen = unseen.text;
    strobe_finding_add(&f, "dropped", (double)dropped);
    strobe_finding_add(&f, "level", strobe_frame_level(dropped, c->options.drop));
    strobe_finding_add_ms(&f, "cost_ms", cost_ns);
    strobe_finding_add_ms(&f, "late_ms", late_ns);
    strobe_finding_add_ms(&f, "input_ms", frame->input_ns);
    strobe_finding_add_ms(&f, "animation_ms", frame->animation_ns);
    strobe_finding_add_ms(&f, "traversal_ms", frame->traversal_ns);
    strobe_finding_add_ms(&f, "latency_ms", strobe_frame_total(frame));
    strobe_watch_found(c, &f);
}

static void frames_take_frame(struct frames *w, const struct strobe_watch_frame *f)
{
    const struct strobe_watch_options *o = &w->context->options;
    uint64_t window_ns = o->frames_window_ns, now_ns = w->context->now_ns;
    if (!f->is_vsync)
        return;
    bool valid = strobe_frame_valid(f) && f->end_ns <= now_ns, is_first = !w->sum.frames && !w->rejected;
    uint64_t due_ns = valid ? f->end_ns - strobe_frame_cost(f) : now_ns;
    if (window_ns && !is_first && due_ns > w->end_ns && due_ns - w->end_ns >= window_ns) {
        frames_close_span(w, true);
        is_first = true;
    }
    if (is_first)
        w->begin_ns = w->end_ns = due_ns;
    if (due_ns < w->begin_ns)
        w->begin_ns = due_ns;
    if (!valid) {
        w->rejected++;
        return;
    }
    uint64_t dropped = strobe_frame_dropped(strobe_frame_cost(f), w->interval_ns);
    if (f->end_ns > w->end_ns)
        w->end_ns = f->end_ns;
    if (o->drop[0] && dropped >= o->drop[0])
        frames_report_drop(w, f, dropped);
    if (!window_ns)
        return;
    strobe_frame_count(&w->sum, f, w->interval_ns, o->drop);
    if ((double)(w->sum.frames + w->sum.dropped) * (double)w->interval_ns >= (double)window_ns)
        frames_close_span(w, false);
}

static void frames_take_event(struct strobe_watcher *watcher, const struct strobe_watch_event *e)
{
    struct frames *w = (struct frames *)watcher;
    if (w->scene != w->context->scene) {
        if (w->context->options.frames_window_ns)
            frames_close_span(w, true);
        w->scene = w->context->scene;
    }
    if (e->what == STROBE_WATCH_FRAME && e->frame)
        frames_take_frame(w, e->frame);
    else if (e->what == STROBE_WATCH_END && w->context->options.frames_window_ns)
        frames_close_span(w, true);
}

static enum strobe_status close_frames(struct strobe_watcher *w)
{
    free(w);
    return STROBE_OK;
}

struct strobe_watcher *strobe_watch_frames(struct strobe_watch_context *c)
{
    struct frames *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->watcher = (struct strobe_watcher){
        .take_event = frames_take_event,
        .close = close_frames,
        .ignored = ~(BIT(STROBE_WATCH_FRAME) | BIT(STROBE_WATCH_ACTIVITY) | BIT(STROBE_WATCH_END))};
    w->context = c;
    w->scene = c->scene;
    w->interval_ns =
        c->options.frame_interval_ns ? c->options.frame_interval_ns : strobe_frame_interval(c->view.refresh_hz);
    return &w->watcher;
}
