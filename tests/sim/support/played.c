#include "tests/sim/support/played.h"
#include "engine/base/error.h"

#include "sim/policy/strobe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void play_scenario(struct played *p, struct sim_scenario *scenario, struct sim_tracer *tracer,
                   const struct sim_run_options *options)
{
    struct strobe_error error = {""};
    *p = (struct played){.tracer = tracer, .scenario = scenario};
    if (sim_run_play(&p->run, p->scenario, options, tracer, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    sim_tracks_open(&p->reconstruction);
    if (tracer && tracer->reconstruct(tracer, &p->run, &p->reconstruction, &error) != STROBE_OK)
        fail_msg("%s", error.text);
}

void play_as(struct played *p, const char *text, struct sim_tracer *tracer, const struct sim_run_options *options)
{
    struct strobe_error error = {""};
    struct sim_scenario *scenario;
    if (sim_scenario_parse(text, "test.scn", &scenario, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    play_scenario(p, scenario, tracer, options);
}

struct sim_scenario *scenario_called(const char *name)
{
    struct strobe_error error = {""};
    char path[256];
    struct sim_scenario *scenario;
    snprintf(path, sizeof path, "tests/sim/scenarios/%s.scn", name);
    if (sim_scenario_read(path, &scenario, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    return scenario;
}

void play_called(struct played *p, const char *name, struct sim_tracer *tracer, const struct sim_run_options *options)
{
    play_scenario(p, scenario_called(name), tracer, options);
}

static struct {
    void (*point)(struct sim_tracer *, struct sim_vthread *, enum strobe_kind, uint64_t arg);
    enum strobe_kind kind;
    uint64_t what;
    uint32_t token;
    bool open;
} outer;

static void clock_or_point(struct sim_tracer *t, struct sim_vthread *v, enum strobe_kind kind, uint64_t arg)
{
    if (kind != STROBE_KIND_CLOCK) {
        outer.point(t, v, kind, arg);
        return;
    }
    if (outer.open)
        t->scope_end(t, v, outer.token, outer.kind, outer.what, STROBE_WAKE_RELEASED);
    else
        outer.token = t->scope_begin(t, v, outer.kind, outer.what);
    outer.open = !outer.open;
}

struct sim_tracer *with_outer_calls(struct sim_tracer *tracer, enum strobe_kind kind, uint64_t what)
{
    outer.point = tracer->point;
    outer.kind = kind;
    outer.what = what;
    outer.open = false;
    tracer->point = clock_or_point;
    return tracer;
}

const struct strobe_reader *captured(struct played *p)
{
    struct strobe_error error = {""};
    if (!p->tracer->check(p->tracer, &p->run, &error))
        fail_msg("seed %llu: %s", (unsigned long long)p->run.options.seed, error.text);
    return ((const struct sim_strobe *)p->tracer)->reader;
}

struct sim_costs punctual_costs(void)
{
    static const struct sim_lateness never;
    static const struct sim_span_lateness never_at_all;
    static const struct sim_span_cost nothing;
    struct sim_costs c = sim_costs_default;
    c.stop_far = c.stop_far_target = c.resume_far = c.sampler_wake = c.sampler_wake_soon = c.slice = 0;
    c.start_call = c.start_own = c.end_own = c.attach = c.detach = c.clock_start = c.clock_end = 0;
    c.wait_record = c.sleep_call = c.device_call = c.wake_call = c.wait_call = nothing;
    c.sampler_late = c.stop_late = never;
    c.sleep_late = c.device_late = c.wake_late = never_at_all;
    return c;
}

void play(struct played *p, const char *text, struct sim_tracer *tracer, const struct sim_costs *costs)
{
    struct sim_run_options options = {.seed = 7};
    assert_non_null(tracer);
    if (costs)
        options.costs = *costs;
    play_as(p, text, tracer, &options);
}

void played_close(struct played *p)
{
    sim_tracks_close(&p->reconstruction);
    sim_run_close(&p->run);
    if (p->tracer)
        p->tracer->close(p->tracer);
    sim_scenario_free(p->scenario);
}

const struct sim_track *track_of(const struct sim_tracks *t, uint32_t tid)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].tid == tid)
            return &t->tracks[i];
    return NULL;
}

const char *tracks_text(const struct sim_tracks *t, uint32_t tid, uint64_t unit_ns)
{
    static char text[4096];
    const struct sim_track *track = track_of(t, tid);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; track && i < track->event_count; i++) {
        const struct sim_event *e = &track->events[i];
        int wrote = snprintf(text + used, sizeof text - used, "%s%llu %s", i ? "  " : "",
                             (unsigned long long)(e->time_ns / unit_ns),
                             e->name == SIM_CALL_END ? "." : t->names.texts[e->name]);
        assert_true(wrote > 0 && (size_t)wrote < sizeof text - used);
        used += (size_t)wrote;
    }
    return text;
}

static void count(const struct sim_tracks *t, uint32_t tid, const char *name, uint32_t *calls, uint64_t *ns)
{
    enum { DEEP = 4096 };
    static bool is_it[DEEP];
    const struct sim_track *track = track_of(t, tid);
    uint32_t depth = 0, within = 0;
    uint64_t since_ns = 0;
    *calls = 0;
    *ns = 0;
    for (size_t i = 0; track && i < track->event_count; i++) {
        const struct sim_event *e = &track->events[i];
        if (e->name != SIM_CALL_END) {
            assert_true(depth < DEEP);
            bool it = is_it[depth++] = strcmp(t->names.texts[e->name], name) == 0;
            *calls += it;
            since_ns = it && within == 0 ? e->time_ns : since_ns;
            within += it;
        } else if (is_it[--depth] && --within == 0) {
            *ns += e->time_ns - since_ns;
        }
    }
}

uint32_t calls_of(const struct sim_tracks *t, uint32_t tid, const char *name)
{
    uint32_t calls;
    uint64_t ns;
    count(t, tid, name, &calls, &ns);
    return calls;
}

uint64_t time_in(const struct sim_tracks *t, uint32_t tid, const char *name)
{
    uint32_t calls;
    uint64_t ns;
    count(t, tid, name, &calls, &ns);
    return ns;
}

uint64_t shortest_call(const struct sim_tracks *t)
{
    enum { DEEP = 4096 };
    static uint64_t begun_ns[DEEP];
    uint64_t shortest = UINT64_MAX;
    for (size_t k = 0; k < t->track_count; k++) {
        uint32_t depth = 0;
        for (size_t i = 0; i < t->tracks[k].event_count; i++) {
            const struct sim_event *e = &t->tracks[k].events[i];
            assert_true(depth < DEEP);
            if (e->name != SIM_CALL_END)
                begun_ns[depth++] = e->time_ns;
            else if (e->time_ns - begun_ns[--depth] < shortest)
                shortest = e->time_ns - begun_ns[depth];
        }
    }
    return shortest;
}

uint32_t depth_at(const struct sim_track *track, uint64_t time_ns)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < track->event_count && track->events[i].time_ns <= time_ns; i++)
        depth += track->events[i].name == SIM_CALL_END ? UINT32_MAX : 1;
    return depth;
}

void calls_at(const struct sim_tracks *t, const struct sim_track *track, uint64_t time_ns, char *out, size_t bytes)
{
    uint32_t open[256], depth = 0;
    size_t n = 0;
    for (size_t i = 0; i < track->event_count && track->events[i].time_ns <= time_ns; i++) {
        if (track->events[i].name == SIM_CALL_END)
            depth--;
        else
            open[depth++] = track->events[i].name;
        assert_true(depth < 256);
    }
    out[0] = 0;
    for (uint32_t i = 0; i < depth; i++)
        n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? ";" : "", t->names.texts[open[i]]);
    assert_true(n < bytes);
}
