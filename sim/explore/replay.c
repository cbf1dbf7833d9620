/* Runs a saved execution again, with a chooser that makes each choice as in the file. Operations run in the file's
 * order. Operations after its last one, which the program may make before it fails, run in any order. */
#include "engine/base/error_format.h"
#include "sim/explore/machine.h"
#include "sim/explore/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_STEP UINT32_MAX

struct guide {
    const struct explore_saved *saved;
    uint32_t *first;                     /* by step: the number of its first event in its thread */
    uint32_t *step[EXPLORE_THREADS_MAX]; /* by number of an event: its step */
    uint32_t events[EXPLORE_THREADS_MAX];
    bool silent_first; /* threads without an operation run before the last step */
    uint32_t wrong;    /* step at which the program does something else; NO_STEP: none */
};

/* Returns the number of events of a step. An update is a load and a store; plain operations are not in the graph. */
static uint32_t events_of(const struct explore_step *s)
{
    switch (s->operation) {
    case EXPLORE_UPDATE: return 2;
    case EXPLORE_LOAD:
    case EXPLORE_STORE:
    case EXPLORE_FENCE:
    case EXPLORE_CHOICE: return 1;
    default: return 0;
    }
}

static bool guide_open(struct guide *g, const struct explore_saved *saved)
{
    uint32_t count = saved->failure.step_count;
    *g = (struct guide){.saved = saved, .wrong = NO_STEP, .first = calloc(count + 1, sizeof *g->first)};
    bool good = g->first != NULL;
    for (uint32_t t = 0; t < EXPLORE_THREADS_MAX; t++)
        good = (g->step[t] = calloc(2 * count + 1, sizeof *g->step[t])) && good;
    for (uint32_t i = 0; i < count && good; i++) {
        const struct explore_step *s = &saved->failure.step[i];
        g->first[i] = g->events[s->thread];
        for (uint32_t n = events_of(s); n; n--)
            g->step[s->thread][g->events[s->thread]++] = i;
    }
    return good;
}

static void guide_close(struct guide *g)
{
    free(g->first);
    for (uint32_t t = 0; t < EXPLORE_THREADS_MAX; t++)
        free(g->step[t]);
}

/* Returns the step that an event belongs to, or NO_STEP after the last one. */
static uint32_t step_of(const struct guide *g, uint16_t event)
{
    const struct explore_event *e = &explore_machine_graph()->event[event];
    return e->number < g->events[e->thread] ? g->step[e->thread][e->number] : NO_STEP;
}

static bool replay_step_took_place(const struct guide *g, uint32_t step)
{
    const struct explore_step *s = &g->saved->failure.step[step];
    return explore_machine_graph()->count[s->thread] >= g->first[step] + events_of(s);
}

/* Returns the event of a step's store. */
static uint16_t store_of(const struct guide *g, uint32_t step)
{
    const struct explore_step *s = &g->saved->failure.step[step];
    return explore_machine_graph()->index[s->thread][g->first[step] + events_of(s) - 1];
}

static uint32_t replay_differs(struct guide *g, uint32_t step)
{
    if (g->wrong == NO_STEP)
        g->wrong = step;
    return EXPLORE_GIVE_UP;
}

static uint32_t place_in(const uint16_t *list, uint32_t count, uint16_t wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == wanted)
            return i;
    return EXPLORE_GIVE_UP;
}

/* ---- choices */

static uint32_t replay_choose_thread(void *ctx, uint32_t runnable, uint32_t last)
{
    const struct guide *g = ctx;
    const struct explore_failure *f = &g->saved->failure;
    uint32_t lowest = 0;
    for (uint32_t t = 0; g->silent_first && t < EXPLORE_THREADS_MAX; t++)
        if (!g->events[t] && t != f->step[f->step_count - 1].thread && (runnable >> t & 1))
            return t;
    for (uint32_t i = 0; i < f->step_count; i++) {
        bool ahead = events_of(&f->step[i]) ? !replay_step_took_place(g, i) : i + 1 == f->step_count;
        if (ahead && (runnable >> f->step[i].thread & 1))
            return f->step[i].thread;
    }
    if (last < EXPLORE_THREADS_MAX && (runnable >> last & 1))
        return last;
    while (!(runnable >> lowest & 1))
        lowest++;
    return lowest;
}

static uint32_t choose_load(void *ctx, uint16_t event, const uint16_t *from, uint32_t count)
{
    struct guide *g = ctx;
    uint32_t step = step_of(g, event);
    if (step == NO_STEP)
        return 0;
    const struct explore_step *s = &g->saved->failure.step[step];
    if (s->operation != EXPLORE_LOAD && s->operation != EXPLORE_UPDATE)
        return replay_differs(g, step);
    if (s->from != NO_STEP && !replay_step_took_place(g, s->from))
        return replay_differs(g, step);
    uint32_t chosen = place_in(from, count, s->from == NO_STEP ? EXPLORE_INITIAL : store_of(g, s->from));
    return chosen == EXPLORE_GIVE_UP ? replay_differs(g, step) : chosen;
}

/* Places a store after the nearest earlier store that has taken place. Stores that have not taken place yet will be
 * inserted between the two. */
static uint32_t choose_store(void *ctx, uint16_t event, const uint16_t *before, uint32_t count)
{
    struct guide *g = ctx;
    const struct explore_step *steps = g->saved->failure.step;
    uint32_t step = step_of(g, event), left = g->saved->failure.step_count;
    if (step == NO_STEP)
        return count ? 0 : EXPLORE_GIVE_UP;
    const struct explore_step *s = &steps[step];
    if (s->operation != EXPLORE_STORE && s->operation != EXPLORE_UPDATE)
        return replay_differs(g, step);
    uint32_t to = s->operation == EXPLORE_UPDATE ? s->from : s->after;
    while (to != NO_STEP && !replay_step_took_place(g, to) && left--)
        to = steps[to].operation == EXPLORE_UPDATE ? steps[to].from : steps[to].after;
    uint16_t wanted = to == NO_STEP || !replay_step_took_place(g, to) ? EXPLORE_INITIAL : store_of(g, to);
    uint32_t chosen = place_in(before, count, wanted);
    return chosen == EXPLORE_GIVE_UP ? replay_differs(g, step) : chosen;
}

static uint32_t choose_value(void *ctx, uint16_t event, uint32_t count)
{
    struct guide *g = ctx;
    uint32_t step = step_of(g, event);
    if (step == NO_STEP)
        return 0;
    const struct explore_step *s = &g->saved->failure.step[step];
    return s->operation == EXPLORE_CHOICE && s->value < count ? (uint32_t)s->value : replay_differs(g, step);
}

/* ---- runs */

static enum strobe_status replay_run(struct guide *g, const struct explore_program *program,
                                     const struct explore_options *options, struct explore_result *out)
{
    const struct explore_failure *f = &g->saved->failure;
    const struct explore_chooser chooser = {.ctx = g,
                                            .thread = replay_choose_thread,
                                            .load = choose_load,
                                            .store = choose_store,
                                            .choice = choose_value,
                                            .resumes = true};
    if (!explore_machine_open(program, options))
        return STROBE_FULL;
    explore_machine_disturb(&f->frozen, &f->interrupted);
    enum explore_end end = explore_machine_run(&chooser);
    bool good = end != EXPLORE_FAILED || explore_machine_failure(&out->failure);
    out->failure.size = options->size;
    out->executions = 1;
    out->operations = explore_machine_operations();
    explore_machine_close();
    return good && end != EXPLORE_TOO_LARGE ? STROBE_OK : STROBE_FULL;
}

/* The places of a litmus test have the names in its file. */
static void replay_name_places(const struct guide *g, struct explore_failure *f)
{
    for (uint32_t i = 0; i < f->step_count; i++) {
        struct explore_step *s = &f->step[i];
        uint32_t step = s->thread < EXPLORE_THREADS_MAX && s->number < g->events[s->thread]
                            ? g->step[s->thread][s->number]
                            : NO_STEP;
        if (step != NO_STEP && s->place[0])
            memcpy(s->place, g->saved->failure.step[step].place, sizeof s->place);
    }
}

static enum strobe_status replay_saved(const struct explore_saved *saved, const struct explore_program *program,
                                       const char *path, struct explore_result *out, struct strobe_error *error)
{
    struct guide g;
    struct explore_options options = saved->options;
    enum strobe_status status = STROBE_FULL;
    options.size = explore_size_for(program, options.size);
    if (!options.steps_max)
        options.steps_max = EXPLORE_STEPS_DEFAULT;
    strobe_error_set(error, "%s: out of memory, or too large an execution", path);
    if (guide_open(&g, saved))
        status = replay_run(&g, program, &options, out);
    /* The file does not say whether a thread without operations had run by then. */
    if (status == STROBE_OK && strcmp(out->failure.message, saved->failure.message) != 0 && saved->failure.step_count) {
        explore_result_free(out);
        *out = (struct explore_result){0};
        g.silent_first = true;
        status = replay_run(&g, program, &options, out);
    }
    replay_name_places(&g, &out->failure);
    if (status == STROBE_OK && g.wrong != NO_STEP) {
        strobe_error_set(error, "%s:%u: expected what %s does there; it has changed since", path, saved->line[g.wrong],
                         program->name);
        explore_result_free(out);
        status = STROBE_BAD_INPUT;
    }
    guide_close(&g);
    return status;
}

enum strobe_status explore_replay(const char *path, const struct explore_program *(*find)(const char *name),
                                  struct explore_result *out, struct strobe_error *error)
{
    struct explore_saved saved;
    *out = (struct explore_result){0};
    enum strobe_status status = explore_saved_read(path, &saved, error);
    const struct explore_program *program = status == STROBE_OK ? find(saved.program) : NULL;
    if (program) {
        status = replay_saved(&saved, program, path, out, error);
    } else if (status == STROBE_OK) {
        strobe_error_set(error, "%s:2: expected the name of a program, not %s", path, saved.program);
        status = STROBE_BAD_INPUT;
    }
    explore_saved_free(&saved);
    return status;
}
