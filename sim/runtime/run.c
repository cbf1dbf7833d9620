#include "sim/runtime/run.h"
#include "engine/base/error_format.h"

#include "engine/host/host.h"
#include "sim/runtime/others.h"
#include "sim/runtime/player.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWITCH_NS = 1000 };

/* ---- truth of cores ---- */

static void on_core(void *ctx, struct sim_thread *t, int core, bool blocked, uint64_t now_ns)
{
    struct sim_run *run = ctx;
    struct sim_vthread *v = t->user;
    (void)blocked;
    if (!v)
        return;
    v->core = core;
    if (v->life != SIM_LIFE_IN_CODE || run->truth.failed)
        return;
    uint64_t latest = run->truth.tracks[v->track].end_ns;
    sim_track_core(&run->truth, v->track, now_ns > latest ? now_ns : latest, core);
}

/* ---- play ---- */

/* Starts the threads whose start is later than the run's. */
static void start_later(void *arg)
{
    struct sim_world *w = arg;
    for (uint32_t i = 0; i < w->start_count && !w->failed; i++) {
        if (w->starts[i].time_ns == 0)
            continue;
        while (sim_now() < w->starts[i].time_ns)
            sim_sleep_until(w->starts[i].time_ns);
        sim_world_start(w, &w->starts[i]);
    }
}

static void start_threads(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->start_count && !w->failed && w->starts[i].time_ns == 0; i++)
        sim_world_start(w, &w->starts[i]);
    if (w->start_count == 0 || w->starts[w->start_count - 1].time_ns == 0)
        return;
    struct sim_thread_options options = {
        .name = "starter", .tid = SIM_STARTER_TID, .realtime = true, .entry = start_later, .arg = w};
    if (!sim_thread_start(w->run->kernel, &options))
        sim_world_fail(w, STROBE_IO, NULL, "out of memory");
}

static void close_wait(struct sim_run *run, const struct sim_player *p, uint64_t end_ns)
{
    if (p->v.waits == STROBE_KIND_NONE)
        return;
    sim_track_wait(&run->truth, p->v.track,
                   &(struct sim_wait){.begin_ns = p->call_begin_ns,
                                      .end_ns = end_ns,
                                      .kind = p->v.waits,
                                      .blocked = true,
                                      .what = p->wait_what,
                                      .waker = SIM_NOBODY,
                                      .release_ns = end_ns});
}

uint64_t sim_run_own_cpu_ns(const struct sim_vthread *v)
{
    switch (v->life) {
    case SIM_LIFE_BEFORE: return 0;
    case SIM_LIFE_IN_CODE: return sim_cpu_ns(v->thread) - v->cpu_ns;
    case SIM_LIFE_AFTER: return v->cpu_ns;
    }
    return 0;
}

static void close_truth(struct sim_run *run)
{
    for (uint32_t i = 0; i < run->thread_count && !run->truth.failed; i++) {
        const struct sim_vthread *v = run->threads[i];
        struct sim_track *track = &run->truth.tracks[v->track];
        track->totals = (struct sim_totals){
            .cpu_ns = sim_run_own_cpu_ns(v),
            .allocations = v->allocations,
            .alloc_bytes = v->alloc_bytes,
            .voluntary_switches = v->thread ? v->thread->voluntary_switches : 0,
            .involuntary_switches = v->thread ? v->thread->involuntary_switches : 0,
        };
        if (v->life == SIM_LIFE_AFTER)
            continue;
        uint64_t end_ns = run->end_ns > track->end_ns ? run->end_ns : track->end_ns;
        if (v->life == SIM_LIFE_BEFORE)
            track->begin_ns = end_ns;
        close_wait(run, v->player, end_ns);
        sim_track_end(&run->truth, v->track, end_ns);
    }
}

static struct sim_run_cpu run_measure_cpu(const struct sim_run *run)
{
    struct sim_run_cpu cpu = {.work_ns = run->work_ns};
    for (uint32_t i = 0; i < run->thread_count; i++) {
        const struct sim_vthread *v = run->threads[i];
        uint64_t all = sim_cpu_ns(v->thread), ours = v->tracer_ns < all ? v->tracer_ns : all;
        cpu.app_ns += all - ours;
        cpu.tracer_ns += ours;
        cpu.held_ns += v->thread->held_ns;
    }
    if (run->tracer && run->tracer->sampler)
        cpu.tracer_ns += sim_cpu_ns(run->tracer->sampler);
    return cpu;
}

static enum strobe_status run_fail(struct strobe_error *error, const char *what, enum strobe_status status)
{
    strobe_error_set(error, "%s", what);
    return status;
}

static bool open_run(struct sim_run *run)
{
    const struct sim_scenario *s = run->scenario;
    struct sim_kernel_options kernel = {
        .seed = run->options.seed,
        .cores = s->cores,
        .schedule = run->options.schedule,
        .switch_ns = SWITCH_NS,
        .signal_ns = (uint64_t)(run->options.costs.suspend / 2),
        .limit_ns = s->duration_ns,
        .slice_ns = (uint64_t)run->options.costs.slice,
    };
    struct sim_observer observer = {on_core, run};
    sim_costs_machine(&run->options.costs, &kernel.machine);
    run->world = malloc(sizeof *run->world);
    run->faults = sim_faults_open(s, run->options.seed);
    if (!run->world || !run->faults || !sim_world_open(run->world, run))
        return false;
    run->kernel = sim_kernel_open(&kernel, &observer);
    return run->kernel && sim_others_start(run->kernel, s->busy);
}

/* Describes a failed start; most likely the session file failed, so errno is reported. */
static enum strobe_status describe_failed_start(const struct sim_run *run, struct strobe_error *error,
                                                enum strobe_status status)
{
    const char *path = run->options.session_path;
    strobe_error_set(error, "%s: %s", path ? path : "the policy could not start",
                     status == STROBE_EXISTS        ? "exists already"
                     : status == STROBE_IO && errno ? strerror(errno)
                                                    : strobe_status_text(status));
    return status;
}

/* Lets the tracer end in order: see `settle`. The adversary's runs end where they stand, like a killed process. */
static void settle_tracer(struct sim_run *run)
{
    if (run->end != SIM_END_LIMIT || run->options.schedule != SIM_FAIR || !run->tracer || !run->tracer->settle)
        return;
    run->truth.closed = true;
    run->tracer->settle(run->tracer, run);
    run->truth.closed = false;
}

enum strobe_status sim_run_play(struct sim_run *run, const struct sim_scenario *scenario,
                                const struct sim_run_options *options, struct sim_tracer *tracer,
                                struct strobe_error *error)
{
    *run = (struct sim_run){.scenario = scenario, .options = *options, .tracer = tracer};
    sim_tracks_open(&run->truth);
    if (!open_run(run))
        return run_fail(error, "out of memory", STROBE_IO);
    if (tracer && tracer->start) {
        errno = 0;
        enum strobe_status status = tracer->start(tracer, run);
        if (status != STROBE_OK)
            return describe_failed_start(run, error, status);
    }
    start_threads(run->world);
    struct strobe_error end = {""};
    run->end = sim_kernel_run(run->kernel, &end);
    run->end_ns = sim_now();
    if (run->world->failed)
        return run_fail(error, run->end_why, run->world->failed);
    strobe_error_copy(&end, run->end_why, sizeof run->end_why);
    close_truth(run);
    run->cpu = run_measure_cpu(run);
    settle_tracer(run);
    if (run->truth.failed || run->end == SIM_END_MEMORY)
        return run_fail(error, "out of memory", STROBE_IO);
    return STROBE_OK;
}

void sim_run_close(struct sim_run *run)
{
    if (run->kernel)
        sim_kernel_close(run->kernel);
    for (uint32_t i = 0; i < run->thread_count; i++) {
        struct sim_player *p = run->threads[i]->player;
        free(p->v.frames);
        free(p->acts);
        free(p);
    }
    free(run->threads);
    if (run->world)
        sim_world_close(run->world);
    free(run->world);
    sim_faults_close(run->faults);
    sim_tracks_close(&run->truth);
    *run = (struct sim_run){0};
}

bool sim_run_kill(struct sim_run *run, struct sim_vthread *v)
{
    const struct sim_player *p = v->player;
    if (sim_self() && sim_self()->debt_ns)
        sim_compute(0); /* the thread runs until the killer's own time has passed */
    if (v->ended || p->held)
        return false;
    sim_kill(v->thread);
    if (v->ended)
        return false;
    if (v->life != SIM_LIFE_AFTER) {
        uint64_t now = sim_player_now(p);
        close_wait(run, p, now);
        sim_track_end(&run->truth, v->track, now);
    }
    v->cpu_ns = sim_run_own_cpu_ns(v);
    v->life = SIM_LIFE_AFTER;
    v->ended = true;
    sim_stack_give(&run->world->stacks, v);
    return true;
}
