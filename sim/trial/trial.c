#include "sim/trial/trial.h"
#include "engine/base/error_format.h"

#include "engine/trace/model/function_tree.h"
#include "sim/player/real.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- invariants ---- */

/* Returns the reconstructed track of the same thread. Both sides are usually in order of start, so the search begins at
 * index `near`. */
static const struct sim_track *trial_track_of(const struct sim_tracks *reconstruction, const struct sim_track *truth,
                                              size_t near)
{
    for (size_t i = 0; i < reconstruction->track_count; i++) {
        const struct sim_track *c = &reconstruction->tracks[(near + i) % reconstruction->track_count];
        if (c->tid == truth->tid && c->generation == truth->generation)
            return c;
    }
    return NULL;
}

/* Checks the invariants of every run, whatever the scenario. `error` describes the first broken one. */
static bool trial_keeps_invariants(struct sim_run *run, struct strobe_error *error)
{
    struct sim_tracer *t = run->tracer;
    if (run->end == SIM_END_DEADLOCK || run->end == SIM_END_FORBIDDEN || run->end == SIM_END_MEMORY) {
        strobe_error_set(error, "%s", run->end_why);
        return false;
    }
    if (t && t->check && !t->check(t, run, error))
        return false;
    return true;
}

/* True when the releases of such an object are in one order, so that the waker of a wait is certain. Readers, and
 * threads that post or notify, can run at the same time: hooks do not show which of them ended a wait. */
static bool has_certain_waker(enum strobe_kind kind)
{
    return kind == STROBE_KIND_MUTEX || kind == STROBE_KIND_MONITOR || kind == STROBE_KIND_THREAD ||
           kind == STROBE_KIND_GC;
}

/* True when the truth has a wait like the reconstructed one, ended by the same thread. */
static bool is_true_wait(const struct sim_track *truth, const struct sim_wait *reconstructed,
                         const struct sim_track *waker, const struct sim_tracks *all)
{
    for (size_t i = 0; i < truth->wait_count; i++) {
        const struct sim_wait *w = &truth->waits[i];
        if (w->kind != reconstructed->kind || w->end_ns < reconstructed->begin_ns ||
            w->begin_ns > reconstructed->end_ns || w->waker == SIM_NOBODY)
            continue;
        const struct sim_track *by = &all->tracks[w->waker];
        if (by->tid == waker->tid && by->generation == waker->generation)
            return true;
    }
    return false;
}

/* True when the truth knows the waker of a wait. It does not in these cases:
 *
 *   - A thread found a lock taken, but lost its core before it blocked. It gets the lock from the releaser, but no
 *     thread woke it.
 *   - In a runtime, a wait for a condition ends with entering its monitor again. For the engine this is a separate
 *     wait.
 *   - The wait was under way at the end of the run. */
static bool knows_waker(const struct sim_track *truth, const struct sim_wait *reconstructed)
{
    for (size_t i = 0; i < truth->wait_count; i++) {
        const struct sim_wait *w = &truth->waits[i];
        if (w->kind == reconstructed->kind && w->blocked && w->end_ns < truth->end_ns &&
            w->end_ns >= reconstructed->begin_ns && w->begin_ns <= reconstructed->end_ns)
            return true;
    }
    return false;
}

/* An additional invariant of the engine with hooks: each waker that it names is the true one. It holds only when the
 * engine knows all threads: releases of threads beyond its capacity are not recorded. */
static bool names_true_wakers(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                              struct strobe_error *error)
{
    for (size_t i = 0; i < truth->track_count; i++) {
        const struct sim_track *t = &truth->tracks[i], *c = trial_track_of(reconstruction, t, i);
        for (size_t k = 0; c && k < c->wait_count; k++) {
            const struct sim_wait *w = &c->waits[k];
            if (w->waker == SIM_NOBODY || !has_certain_waker(w->kind) || !knows_waker(t, w) ||
                is_true_wait(t, w, &reconstruction->tracks[w->waker], truth))
                continue;
            strobe_error_set(error, "wrong waker: %s did not end the %s of %s from %llu to %llu ns",
                             reconstruction->tracks[w->waker].name, strobe_wait_name(w->kind), t->name,
                             (unsigned long long)w->begin_ns, (unsigned long long)w->end_ns);
            return false;
        }
    }
    return true;
}

/* True when a fault makes the engine's only clock jump. Times are then not comparable. */
static bool scenario_clock_jumps(const struct sim_scenario *s)
{
    for (uint32_t i = 0; i < s->fault_count; i++)
        if (s->faults[i].kind == SIM_FAULT_CLOCK_BACK || s->faults[i].kind == SIM_FAULT_CLOCK_FORWARD)
            return true;
    return false;
}

/* True for the engine's policies with hooks. A sampler alone sees neither messages nor wakers. */
static bool has_engine_hooks(const char *policy)
{
    return !strcmp(policy, "strobe") || !strcmp(policy, "sync-only");
}

/* Checks the scenario's expectations. They apply to the fair schedule only: an adversary may starve any thread. */
static bool meets_expectations(const struct sim_scenario *s, const struct sim_trial_options *o,
                               const struct sim_result *r, struct strobe_error *error)
{
    if (o->schedule != SIM_FAIR)
        return true;
    for (uint32_t i = 0; i < s->expect_count; i++) {
        const struct sim_expect *e = &s->expects[i];
        double value;
        if (strcmp(e->policy, r->policy) || !sim_expect_covers(e, o->runtime) || !sim_result_value(r, e->score, &value))
            continue;
        if (value >= e->low && value <= e->high)
            continue;
        strobe_error_set(error, "%s:%u:%u: expected %s of %s%s%s in %.6g..%.6g, and it is %.6g", s->path, e->line,
                         e->column, e->score, e->policy, o->runtime ? " on " : "", o->runtime ? o->runtime : "", e->low,
                         e->high, value);
        return false;
    }
    return true;
}

static void set_violation(struct sim_result *r, const char *why)
{
    char *text = strdup(why);
    if (!text)
        return;
    free(r->violation);
    r->violation = text;
}

static void judge_trial(const struct sim_trial_options *o, struct sim_run *run, const struct sim_tracks *reconstruction,
                        struct sim_result *r)
{
    const struct sim_scenario *s = run->scenario;
    struct strobe_error error = {""};
    bool good = trial_keeps_invariants(run, &error) &&
                (!has_engine_hooks(r->policy) || scenario_clock_jumps(s) ||
                 reconstruction->track_count < run->truth.track_count ||
                 names_true_wakers(&run->truth, reconstruction, &error)) &&
                meets_expectations(s, o, r, &error);
    if (!good)
        set_violation(r, error.text);
}

/* ---- files ---- */

static enum strobe_status path_in(char *out, size_t bytes, const char *folder, const char *name,
                                  struct strobe_error *error)
{
    int n = snprintf(out, bytes, "%s/%s", folder, name);
    if (n >= 0 && (size_t)n < bytes)
        return STROBE_OK;
    strobe_error_set(error, "%s: path too long", folder);
    return STROBE_IO;
}

static enum strobe_status save_truth(const struct sim_tracks *truth, const struct sim_scenario *scenario,
                                     const struct sim_trial_options *o, struct strobe_error *error)
{
    char path[4096];
    if (path_in(path, sizeof path, o->folder, "truth.pftrace", error) != STROBE_OK)
        return STROBE_IO;
    enum strobe_status status = sim_tracks_write(truth, scenario->name, path, o->replace);
    if (status != STROBE_OK)
        strobe_error_set(error, "%s: %s", path, status == STROBE_EXISTS ? "exists already" : strerror(errno));
    return status;
}

static enum strobe_status save_trial_files(struct sim_run *run, const struct sim_trial_options *o,
                                           struct strobe_error *error)
{
    struct sim_tracer *t = run->tracer;
    enum strobe_status status = save_truth(&run->truth, run->scenario, o, error);
    return status == STROBE_OK && t && t->save ? t->save(t, run, o->folder, error) : status;
}

/* ---- the trial ---- */

static uint64_t *samples_by_spec(const struct sim_scenario *scenario, const struct sim_tracks *truth,
                                 const struct sim_tracks *reconstruction)
{
    uint64_t *out = calloc(scenario->thread_count + 1u, sizeof *out);
    for (size_t i = 0; out && i < truth->track_count; i++) {
        const struct sim_track *c = trial_track_of(reconstruction, &truth->tracks[i], i);
        out[truth->tracks[i].spec] += c ? c->samples : 0;
    }
    return out;
}

static enum strobe_status score_reconstruction(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                                               const struct sim_view *view, const struct sim_score_options *options,
                                               struct sim_run_cpu cpu, const struct sim_scenario *scenario,
                                               const struct sim_trial_options *o, struct sim_trial *out)
{
    struct sim_score score;
    enum strobe_status status = sim_score(truth, reconstruction, options, &score);
    if (status != STROBE_OK)
        return status;
    status = sim_view_score(truth, reconstruction, view, &score);
    if (status != STROBE_OK) {
        sim_score_free(&score);
        return status;
    }
    score.work_ns = cpu.work_ns;
    sim_score_costs(&score, cpu.app_ns, cpu.tracer_ns, cpu.held_ns);
    status = sim_result_of(&score, truth, scenario->name, o->policy, o->seed, &out->result);
    sim_score_free(&score);
    out->result.interval_ns = options->interval_ns;
    if (status == STROBE_OK && o->keep)
        status = o->keep(o->keep_ctx, truth, reconstruction);
    if (status == STROBE_OK && o->findings) {
        struct strobe_watch_view sees = sim_reconstruction_view(options->interval_ns, view && view->is_limited);
        out->result.found = sim_found_of(truth, reconstruction, &sees);
        status = out->result.found ? STROBE_OK : STROBE_IO;
    }
    return status;
}

/* Collects the policy's samples of each thread, and scores the reconstructed timeline. */
static enum strobe_status assess(struct sim_run *run, struct sim_tracks *reconstruction,
                                 const struct sim_trial_options *o, struct sim_trial *out, struct strobe_error *error)
{
    struct sim_tracer *t = run->tracer;
    enum strobe_status status = t ? t->reconstruct(t, run, reconstruction, error) : STROBE_OK;
    if (status != STROBE_OK)
        return status;
    struct sim_score_options options = {.interval_ns = t ? t->interval_main_ns : 0,
                                        .other_interval_ns = t ? t->interval_other_ns : 0};
    status = score_reconstruction(&run->truth, reconstruction, t ? &t->view : NULL, &options, run->cpu, run->scenario,
                                  o, out);
    if (status != STROBE_OK)
        return status;
    out->samples = samples_by_spec(run->scenario, &run->truth, reconstruction);
    judge_trial(o, run, reconstruction, &out->result);
    return out->samples ? STROBE_OK : STROBE_IO;
}

static enum strobe_status play_trial(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                                     struct sim_tracer *tracer, struct sim_trial *out, struct strobe_error *error)
{
    char session[4096];
    struct sim_run run = {0};
    struct sim_run_options options = {.seed = o->seed,
                                      .schedule = o->schedule,
                                      .replace = o->replace,
                                      .costs = o->costs ? *o->costs : sim_costs_default};
    if (o->folder) {
        if (path_in(session, sizeof session, o->folder, "session.strobe", error) != STROBE_OK)
            return STROBE_IO;
        options.session_path = session;
    }
    struct sim_tracks reconstruction;
    sim_tracks_open(&reconstruction);
    enum strobe_status status = sim_run_play(&run, scenario, &options, tracer, error);
    if (status == STROBE_OK)
        status = assess(&run, &reconstruction, o, out, error);
    if (status == STROBE_OK && o->folder)
        status = save_trial_files(&run, o, error);
    sim_tracks_close(&reconstruction);
    sim_run_close(&run);
    return status;
}

/* ---- real mode ---- */

/* Checks that the files of real mode do not exist yet, unless they may be replaced. */
static enum strobe_status check_output_files(const struct sim_trial_options *o, struct strobe_error *error)
{
    const char *const names[] = {sim_real_file(o->policy), "trace.pftrace"};
    char path[4096];
    struct stat there;
    for (size_t i = 0; o->folder && !o->replace && i < sizeof names / sizeof *names; i++) {
        if (path_in(path, sizeof path, o->folder, names[i], error) != STROBE_OK)
            return STROBE_IO;
        if (stat(path, &there) == 0) {
            strobe_error_set(error, "%s: exists already", path);
            return STROBE_EXISTS;
        }
    }
    return STROBE_OK;
}

static bool has_virtual_time(const char *runtime)
{
    return strncmp(runtime, "art", 3) != 0;
}

/* In virtual time wakers are checked, and the expectations of the runtime. On real threads only those of genuine
 * runtimes are judged, which have no virtual time. */
static void judge_played(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                         const struct sim_tracks *truth, const struct sim_tracks *reconstruction, struct sim_result *r)
{
    struct strobe_error error;
    bool good =
        (!o->is_virtual || reconstruction->track_count < truth->track_count ||
         names_true_wakers(truth, reconstruction, &error)) &&
        (!o->runtime || (!o->is_virtual && has_virtual_time(o->runtime)) || meets_expectations(scenario, o, r, &error));
    if (!good)
        set_violation(r, error.text);
}

/* Returns the intervals for the score. The scenario sets the engine's; other policies have fixed ones. */
static struct sim_score_options real_intervals(const struct sim_scenario *scenario, const char *policy)
{
    const struct strobe_config *c = &scenario->config;
    uint64_t async_ns = c->async_interval_ns;
    struct sim_score_options options = {.interval_ns = c->interval_main_ns, .other_interval_ns = c->interval_other_ns};
    struct sim_tracer *tracer;
    if (strcmp(policy, "strobe") != 0 && sim_policy_open(policy, &tracer) == STROBE_OK) {
        options.interval_ns = tracer->interval_main_ns;
        options.other_interval_ns = tracer->interval_other_ns;
        tracer->close(tracer);
    } else if (options.other_interval_ns < async_ns) {
        options.other_interval_ns = async_ns;
    }
    return options;
}

/* Replaces the engine's timeline by that of `ideal`, which takes as many samples and costs nothing. */
static enum strobe_status reconstruct_ideal(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                                            const struct sim_tracks *truth, struct sim_tracks *reconstruction,
                                            struct sim_score_options *options, struct sim_run_cpu *cpu,
                                            struct strobe_error *error)
{
    uint64_t *samples = samples_by_spec(scenario, truth, reconstruction);
    if (!samples)
        return STROBE_IO;
    sim_tracks_close(reconstruction);
    sim_tracks_open(reconstruction);
    cpu->tracer_ns = cpu->held_ns = 0;
    enum strobe_status status = sim_ideal_of_truth(truth, scenario, o->seed, samples, reconstruction, options, error);
    free(samples);
    return status;
}

static enum strobe_status play_real(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                                    struct sim_trial *out, struct strobe_error *error)
{
    bool ideal = !strcmp(o->policy, "ideal");
    struct sim_score_options options = real_intervals(scenario, ideal ? "strobe" : o->policy);
    struct sim_tracks truth, reconstruction;
    struct sim_view view;
    struct sim_run_cpu cpu;
    enum strobe_status status = check_output_files(o, error);
    if (status != STROBE_OK)
        return status;
    struct sim_real_options real = {.policy = ideal ? "strobe" : o->policy,
                                    .runtime = o->runtime,
                                    .is_virtual = o->is_virtual,
                                    .seed = o->seed,
                                    .schedule = o->schedule,
                                    .costs = o->costs ? o->costs : &sim_costs_default,
                                    .folder = ideal ? NULL : o->folder};
    status = sim_real_run(scenario, &real, &truth, &reconstruction, &view, &cpu, error);
    if (status == STROBE_OK && ideal)
        status = reconstruct_ideal(scenario, o, &truth, &reconstruction, &options, &cpu, error);
    if (status == STROBE_OK)
        status = score_reconstruction(&truth, &reconstruction, &view, &options, cpu, scenario, o, out);
    sim_view_close(&view);
    if (status == STROBE_OK)
        judge_played(scenario, o, &truth, &reconstruction, &out->result);
    if (status == STROBE_OK && o->folder)
        status = save_truth(&truth, scenario, o, error);
    if (status == STROBE_OK)
        out->samples = samples_by_spec(scenario, &truth, &reconstruction);
    sim_tracks_close(&truth);
    sim_tracks_close(&reconstruction);
    return status == STROBE_OK && !out->samples ? STROBE_IO : status;
}

/* ---- which of them ---- */

/* Opens `ideal` with as many samples of each thread as the engine takes. */
static enum strobe_status open_ideal(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                                     struct sim_tracer **out, struct strobe_error *error)
{
    if (o->ideal_samples)
        return sim_policy_ideal(o->ideal_samples, scenario->thread_count, out);
    struct sim_trial_options first = *o;
    struct sim_trial engine;
    first.policy = "strobe";
    first.folder = NULL;
    first.keep = NULL;
    enum strobe_status status = sim_trial_run(scenario, &first, &engine, error);
    if (status != STROBE_OK)
        return status;
    status = sim_policy_ideal(engine.samples, scenario->thread_count, out);
    sim_trial_free(&engine);
    return status;
}

static enum strobe_status play_policy(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                                      struct sim_trial *out, struct strobe_error *error)
{
    struct sim_tracer *tracer = NULL;
    enum strobe_status status = STROBE_OK;
    if (o->real)
        return play_real(scenario, o, out, error);
    if (!strcmp(o->policy, "ideal"))
        status = open_ideal(scenario, o, &tracer, error);
    else if (strcmp(o->policy, "none") != 0)
        status = sim_policy_open(o->policy, &tracer);
    if (status == STROBE_OK)
        status = play_trial(scenario, o, tracer, out, error);
    if (tracer)
        tracer->close(tracer);
    return status;
}

enum strobe_status sim_trial_run(const struct sim_scenario *scenario, const struct sim_trial_options *o,
                                 struct sim_trial *out, struct strobe_error *error)
{
    struct sim_scenario changed = *scenario;
    *out = (struct sim_trial){0};
    strobe_error_clear(error);
    if (o->cores)
        changed.cores = o->cores;
    if (o->sets_busy)
        changed.busy = o->busy;
    if (o->cores || o->sets_busy)
        changed.expect_count = 0; /* they apply to the unchanged scenario */
    enum strobe_status status = play_policy(&changed, o, out, error);
    if (status != STROBE_OK)
        sim_trial_free(out);
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    return status;
}

void sim_trial_free(struct sim_trial *trial)
{
    sim_result_free(&trial->result);
    free(trial->samples);
    *trial = (struct sim_trial){0};
}
