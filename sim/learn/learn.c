#include "sim/learn/learn.h"
#include "engine/base/error_format.h"

#include "engine/trace/model/function_tree.h"
#include "sim/app/scenario.h"
#include "sim/learn/fit.h"
#include "sim/runtime/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEARN_TUNINGS = 8, LEARN_TUNINGS_LEAST = 4, LEARN_WOKEN_ROUNDS = 2, LEARN_CORES_DEFAULT = 4 };

/* Parts of rounds and messages, and values of lists, in a scenario of any length and in a brief one. The first fold of
 * a brief one takes contexts with less than this part of all threads' time. */
enum {
    LEARN_PARTS = 32,
    LEARN_SINGLES = 256,
    LEARN_BRIEF_VALUES = 8,
    LEARN_BRIEF_LEAST_PART = 10000,
    LEARN_BRIEF_FIRST_PART = 100000,
    LEARN_BRIEF_LAST_PART = 30
};

/* What is learnt from, and with what. */
struct learning {
    struct learn_app app;
    struct learn_tuning tuning;
    uint64_t held_least[STROBE_KIND_COUNT], held_most[STROBE_KIND_COUNT]; /* bounds of tuning.held_ns so far */
    struct learn_plan plan;
    struct learn_folded folded;
    const struct sim_learn_options *options;
    struct strobe_error *error;
};

/* ---- replay ---- */

/* Plays one seed and takes its truth over. */
static enum strobe_status replay_seed(const struct sim_scenario *s, uint64_t seed, struct sim_tracks *truth,
                                      struct strobe_error *error)
{
    struct sim_run run = {0};
    struct sim_run_options options = {.seed = seed, .schedule = SIM_FAIR, .costs = sim_costs_default};
    enum strobe_status status = sim_run_play(&run, s, &options, NULL, error);
    if (status == STROBE_OK && run.end == SIM_END_DEADLOCK) {
        strobe_error_set(error, "the learnt scenario does not play: %s", run.end_why);
        status = STROBE_BAD_INPUT;
    }
    if (status == STROBE_OK) {
        *truth = run.truth;
        truth->end_ns = truth->end_ns > run.end_ns ? truth->end_ns : run.end_ns;
        sim_tracks_open(&run.truth);
    }
    sim_run_close(&run);
    return status;
}

static enum strobe_status compare_replays(const struct learning *l, const struct sim_tracks *truths,
                                          struct learn_distances *out)
{
    struct learn_app replay;
    *out = (struct learn_distances){.threads = {0}};
    bool fine = sim_learn_app_open(&replay, truths, l->options->replays) && sim_learn_compare(&l->app, &replay, out);
    sim_learn_app_close(&replay);
    return fine ? STROBE_OK : STROBE_IO;
}

static enum strobe_status replay_scenario(const struct learning *l, const struct sim_scenario *s,
                                          struct learn_distances *out)
{
    struct sim_tracks *truths = calloc(l->options->replays + 1, sizeof *truths);
    enum strobe_status status = truths ? STROBE_OK : STROBE_IO;
    *out = (struct learn_distances){.threads = {0}};
    for (uint32_t i = 0; status == STROBE_OK && i < l->options->replays; i++)
        status = replay_seed(s, i + 1, &truths[i], l->error);
    if (status == STROBE_OK)
        status = compare_replays(l, truths, out);
    for (uint32_t i = 0; truths && i < l->options->replays; i++)
        sim_tracks_close(&truths[i]);
    free(truths);
    return status;
}

static enum strobe_status replay_text(const struct learning *l, const char *text, struct learn_distances *out)
{
    struct sim_scenario *s = NULL;
    *out = (struct learn_distances){.threads = {0}};
    enum strobe_status status = sim_scenario_parse(text, "learnt scenario", &s, l->error);
    if (status == STROBE_OK)
        status = replay_scenario(l, s, out);
    sim_scenario_free(s);
    return status;
}

/* ---- tuning ---- */

static bool kind_has_waker(enum strobe_kind kind)
{
    return kind == STROBE_KIND_COND || kind == STROBE_KIND_SEM || kind == STROBE_KIND_PARK;
}

/* Writes the waits of a kind as timeouts from now on. */
static void time_kind(struct learning *l, enum strobe_kind kind)
{
    for (uint32_t i = 0; i < l->app.object_count; i++)
        l->tuning.timed[i] |= l->app.objects[i].kind == kind;
}

static bool kind_is_lock(enum strobe_kind kind)
{
    return kind == STROBE_KIND_MUTEX || kind == STROBE_KIND_MONITOR || kind == STROBE_KIND_RWLOCK;
}

/* Searches the duration up to which methods hold locks of a kind: the waits are longer when it is larger. Returns true
 * when it changed. */
static bool tune_lock(struct learning *l, const struct learn_wait_row *r)
{
    const uint64_t first_ns = 1000000, least_ns = 500;
    uint64_t *now = &l->tuning.held_ns[r->kind], was = *now;
    if (r->error < 0.02)
        return false;
    if (r->ns[1] > r->ns[0])
        l->held_most[r->kind] = *now;
    else
        l->held_least[r->kind] = *now;
    uint64_t low = l->held_least[r->kind], high = l->held_most[r->kind];
    if (low == UINT64_MAX)
        return false;
    if (high == UINT64_MAX)
        *now = low ? low * 8 : first_ns;
    else
        *now = low ? (low + high) / 2 : high / 8;
    if (low && high != UINT64_MAX)
        while (*now / 2 > low) /* in steps of a factor */
            *now /= 2;
    *now = *now > least_ns ? *now : least_ns;
    return *now != was;
}

/* Moves the durations of each kind of wait by the difference of the means. Returns true when more rounds may help. */
static bool tune(struct learning *l, const struct learn_distances *d, unsigned round)
{
    bool goes_on = round + 1 < LEARN_TUNINGS_LEAST;
    for (size_t i = 0; i < d->wait_count; i++) {
        const struct learn_wait_row *r = &d->waits[i];
        if (!r->count[0] || !r->count[1])
            continue;
        if (kind_has_waker(r->kind) && round == LEARN_WOKEN_ROUNDS - 1 && r->error > 0.03)
            time_kind(l, r->kind);
        else
            l->tuning.shift_ns[r->kind] += (int64_t)(r->ns[1] / r->count[1]) - (int64_t)(r->ns[0] / r->count[0]);
        if (kind_is_lock(r->kind) && (r->ns[0] > r->ns[1] ? r->ns[0] : r->ns[1]) * 200 > d->all_ns)
            goes_on |= tune_lock(l, r);
    }
    return goes_on;
}

/* ---- learning ---- */

/* True when a capture names wakers of the object at all. */
static void choose_timed(struct learning *l)
{
    for (uint32_t i = 0; i < l->app.object_count; i++)
        l->tuning.timed[i] = l->app.objects[i].wakes * 10 < l->app.objects[i].waits;
}

static uint32_t cores_of(const struct learn_app *a)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < a->thread_count; i++)
        for (size_t k = 0; k < a->threads[i].track->cpu_count; k++)
            most = a->threads[i].track->cpu[k].value >= most ? a->threads[i].track->cpu[k].value + 1 : most;
    return most ? (most < 64 ? most : 64) : LEARN_CORES_DEFAULT;
}

static uint64_t count_timed(const struct learning *l)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < l->app.object_count; i++)
        count += l->tuning.timed[i] && l->app.objects[i].wakes && kind_has_waker(l->app.objects[i].kind);
    return count;
}

/* How far a replay is off, in one number. */
static double badness_of(const struct learn_distances *d)
{
    return 4 * d->variation + d->wait_error + d->message_error / 4;
}

/* Takes over a scenario that is nearer than the one before. */
static void keep_learnt(struct learning *l, struct sim_learnt *out, char *text, struct learn_distances *d)
{
    if (out->text && badness_of(d) >= badness_of(&out->distances)) {
        free(text);
        sim_learn_distances_close(d);
        return;
    }
    free(out->text);
    sim_learn_distances_close(&out->distances);
    out->text = text;
    out->distances = *d;
    out->losses = l->plan.losses;
    out->folded = l->folded;
    out->timed = count_timed(l);
    out->is_replayed = true;
}

static enum strobe_status learn_rounds(struct learning *l, struct sim_learnt *out)
{
    for (unsigned r = 0; r < LEARN_TUNINGS; r++) {
        struct learn_distances d;
        char *text = sim_learn_write_scenario(&l->app, &l->plan);
        if (!text)
            return STROBE_IO;
        if (!l->options->replays) {
            out->text = text;
            out->losses = l->plan.losses;
            out->folded = l->folded;
            out->timed = count_timed(l);
            return STROBE_OK;
        }
        enum strobe_status status = replay_text(l, text, &d);
        if (status != STROBE_OK) {
            free(text);
            return status;
        }
        bool goes_on = tune(l, &d, r);
        keep_learnt(l, out, text, &d);
        if (!goes_on)
            break;
    }
    return STROBE_OK;
}

static void learning_close(struct learning *l)
{
    free(l->tuning.timed);
    l->tuning.timed = NULL;
    sim_learn_app_close(&l->app);
}

/* Builds the trees, without contexts of less own time. False: out of memory. */
static bool open_learning(struct learning *l, const struct sim_tracks *captures, uint32_t count, uint64_t least_ns,
                          struct learn_folded *folded)
{
    if (!sim_learn_app_open(&l->app, captures, count) || (least_ns && !sim_learn_fold(&l->app, least_ns, folded)) ||
        !sim_learn_app_mark(&l->app))
        return false;
    l->tuning.timed = calloc(l->app.object_count + 1, sizeof *l->tuning.timed);
    if (l->tuning.timed)
        choose_timed(l);
    return l->tuning.timed != NULL;
}

static uint32_t count_lines(const char *text)
{
    uint32_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* One way to make a scenario short: with how many runs (node.h) and parts by duration. Fewer of them leave lines for
 * more methods. */
struct brief_form {
    uint32_t runs, parts;
};

/* Folds more and more contexts until the text is short enough. *fits: it is. */
static bool open_brief_learning(struct learning *l, const struct sim_tracks *captures, uint32_t count,
                                struct brief_form form, struct learn_folded *folded, bool *fits)
{
    l->plan.parts_most = form.parts;
    l->plan.singles_most = 0;
    l->plan.list_most = LEARN_BRIEF_VALUES;
    for (uint64_t least_ns = 1;;) {
        if (!open_learning(l, captures, count, least_ns, folded))
            return false;
        l->app.runs = form.runs;
        l->plan.least_ns = l->app.thread_ns / LEARN_BRIEF_LEAST_PART + 1;
        char *text = sim_learn_write_scenario(&l->app, &l->plan);
        if (!text)
            return false;
        *fits = count_lines(text) <= l->options->lines;
        free(text);
        if (*fits || least_ns > l->app.thread_ns / LEARN_BRIEF_LAST_PART)
            return true;
        uint64_t first_ns = l->app.thread_ns / LEARN_BRIEF_FIRST_PART;
        least_ns = least_ns < first_ns ? first_ns : least_ns + least_ns / 3;
        learning_close(l);
    }
}

static void reset_tuning(struct learning *l)
{
    memset(l->tuning.shift_ns, 0, sizeof l->tuning.shift_ns);
    for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++) {
        l->held_least[kind] = 0;
        l->tuning.held_ns[kind] = l->held_most[kind] = UINT64_MAX;
    }
}

/* Learns in each form that is short enough, or in the last one, and keeps the nearest. */
static enum strobe_status learn_brief(struct learning *l, const struct sim_tracks *captures, uint32_t count,
                                      struct sim_learnt *out)
{
    static const struct brief_form forms[] = {{LEARN_RUNS, 4}, {LEARN_RUNS, 1}, {1, 4}, {1, 1}};
    enum strobe_status status = STROBE_OK;
    size_t last = sizeof forms / sizeof *forms - 1;
    for (size_t i = 0; i <= last && status == STROBE_OK; i++) {
        bool fits = false;
        struct learn_folded folded = {0};
        reset_tuning(l);
        if (!open_brief_learning(l, captures, count, forms[i], &folded, &fits))
            return STROBE_IO;
        l->plan.cores = l->options->cores ? l->options->cores : cores_of(&l->app);
        l->folded = folded;
        if (fits || (i == last && !out->text))
            status = learn_rounds(l, out);
        learning_close(l);
        if (out->text && !l->options->replays)
            break;
    }
    return status;
}

enum strobe_status sim_learn(const struct sim_tracks *captures, uint32_t count, const struct sim_learn_options *options,
                             struct sim_learnt *out, struct strobe_error *error)
{
    struct learning l = {.options = options, .error = error};
    char about[64];
    enum strobe_status status = STROBE_IO;
    *out = (struct sim_learnt){0};
    strobe_error_clear(error);
    snprintf(about, sizeof about, "Learnt from %u capture%s", count, count > 1 ? "s" : "");
    l.plan = (struct learn_plan){.name = options->name,
                                 .about = about,
                                 .tuning = &l.tuning,
                                 .parts_most = LEARN_PARTS,
                                 .singles_most = LEARN_SINGLES,
                                 .list_most = SIM_FIT_LIST_MAX};
    reset_tuning(&l);
    if (options->lines) {
        status = learn_brief(&l, captures, count, out);
    } else if (open_learning(&l, captures, count, 0, &l.folded)) {
        l.plan.cores = options->cores ? options->cores : cores_of(&l.app);
        status = learn_rounds(&l, out);
    }
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    learning_close(&l);
    return status;
}

enum strobe_status sim_learn_check(const struct sim_tracks *captures, uint32_t count, const struct sim_scenario *s,
                                   uint32_t replays, struct sim_learnt *out, struct strobe_error *error)
{
    struct sim_learn_options options = {.replays = replays};
    struct learning l = {.options = &options, .error = error};
    enum strobe_status status = STROBE_IO;
    *out = (struct sim_learnt){0};
    strobe_error_clear(error);
    if (open_learning(&l, captures, count, 0, &out->folded))
        status = replay_scenario(&l, s, &out->distances);
    out->is_replayed = status == STROBE_OK;
    if (status == STROBE_IO && error && !error->text[0])
        strobe_error_set(error, "out of memory");
    learning_close(&l);
    return status;
}

void sim_learnt_free(struct sim_learnt *learnt)
{
    free(learnt->text);
    sim_learn_distances_close(&learnt->distances);
    *learnt = (struct sim_learnt){0};
}

/* ---- the report ---- */

void sim_learnt_print(const struct sim_learnt *learnt, FILE *out)
{
    const struct learn_losses *l = &learnt->losses;
    if (learnt->folded.ns)
        fprintf(out, "  folded                  %" PRIu64 " of %" PRIu64 " contexts of methods, %.3f ms\n",
                learnt->folded.contexts - learnt->folded.kept, learnt->folded.contexts,
                (double)learnt->folded.ns / 1e6);
    if (learnt->folded.lock_ns)
        fprintf(out, "  left out                %.3f ms of rare waits for locks\n",
                (double)learnt->folded.lock_ns / 1e6);
    if (l->left_out_ns)
        fprintf(out, "  left out                %.3f ms in short parts of methods\n", (double)l->left_out_ns / 1e6);
    if (l->methods)
        fprintf(out, "  part of their callers   %" PRIu64 " methods, %.3f ms\n", l->methods,
                (double)l->method_ns / 1e6);
    if (l->unseen)
        fprintf(out, "  unseen time             %" PRIu64 " times, %.3f ms: written as computing\n", l->unseen,
                (double)l->unseen_ns / 1e6);
    if (l->runnable_ns)
        fprintf(out, "  waits for a processor   %.3f ms: in the replay only where its own threads compete\n",
                (double)l->runnable_ns / 1e6);
    if (l->idle_ns)
        fprintf(out, "  off the processor       %.3f ms for an unknown cause: left out\n", (double)l->idle_ns / 1e6);
    for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++)
        if (l->as_others[kind])
            fprintf(out, "  written as sleeps       %" PRIu64 " of %s\n", l->as_others[kind], strobe_wait_name(kind));
    if (learnt->timed)
        fprintf(out, "  written as timeouts     the waits at %" PRIu64 " objects\n", learnt->timed);
    if (l->odd_messages)
        fprintf(out, "  posted by the previous  %" PRIu64 " messages: the capture does not show who posted them\n",
                l->odd_messages);
    if (learnt->is_replayed)
        sim_learn_print_distances(&learnt->distances, out);
}
