/* The reference policy: it samples the truth at evenly spaced times and sees the whole path of calls, without cost. The
 * samples are stored as the sampler's records in a session, and the trace is built like any other. So its only errors
 * are between its samples.
 *
 * The lives of a spec's threads count as one long life, end to end, with a phase from the seed. So short threads get
 * their share as well. */
#include "engine/base/error_format.h"
#include "engine/trace/build/timeline.h"
#include "engine/util/array.h"
#include "sim/policy/policy.h"
#include "sim/policy/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_BYTES = 16 }; /* size of a name's code; names have addresses */
#define ORIGIN_NS ((uint64_t)1000000000)

struct ideal {
    struct sim_tracer tracer;
    uint64_t *samples; /* by thread spec: wanted number */
    uint64_t *period_ns;
    uint32_t spec_count;
    const struct sim_tracks *truth;
    const struct sim_scenario *scenario;
    uint64_t seed;
    struct strobe_session session;
    char path[STROBE_PATH_BYTES];
    struct strobe_reader *reader;
};

/* A position in a track that moves forward. */
struct view {
    const struct sim_track *track;
    size_t next;    /* next event */
    uint32_t *path; /* names, outermost first */
    size_t depth, room;
};

/* ---- samples ---- */

static bool ideal_advance_view(struct view *v, uint64_t time_ns)
{
    for (; v->next < v->track->event_count && v->track->events[v->next].time_ns <= time_ns; v->next++) {
        uint32_t name = v->track->events[v->next].name;
        if (name == SIM_CALL_END) {
            v->depth--;
            continue;
        }
        if (!strobe_array_reserve(&v->path, &v->room, v->depth + 1))
            return false;
        v->path[v->depth++] = name;
    }
    return true;
}

/* Interns the innermost frames, up to the maximum depth of a stack. */
static uint16_t ideal_intern_stack(const struct ideal *d, struct strobe_stack_cursor *cursor, const struct view *v,
                                   uint32_t *stack)
{
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count = v->depth < STROBE_STACK_DEPTH_MAX ? (uint32_t)v->depth : STROBE_STACK_DEPTH_MAX;
    for (uint32_t i = 0; i < count; i++)
        frames[i] = ((uint64_t)v->path[v->depth - count + i] + 1) * CODE_BYTES;
    uint16_t flags = count < v->depth ? STROBE_FLAG_CUT : 0;
    if (strobe_stack_intern(&d->session.stacks, cursor, frames, count, stack) == STROBE_FULL)
        flags |= STROBE_FLAG_TABLE_FULL;
    return flags;
}

/* Samples a track at *next, *next + period, ... These are times of the spec's long life, in which the track begins at
 * `offset`. */
static bool sample_track(struct ideal *d, struct strobe_ring_writer *w, struct strobe_stack_cursor *cursor,
                         uint32_t number, uint64_t offset, uint64_t *next)
{
    const struct sim_track *track = &d->truth->tracks[number];
    struct strobe_account *a = &d->session.threads[number].account[STROBE_KIND_ASYNC];
    uint64_t life = track->end_ns - track->begin_ns, period = d->period_ns[track->spec];
    struct view v = {.track = track};
    bool good = true;
    for (; good && *next - offset < life; *next += period) {
        uint64_t time_ns = track->begin_ns + (*next - offset);
        struct strobe_record r = {
            .ticks = ORIGIN_NS + time_ns, .thread = number, .kind = STROBE_KIND_ASYNC, .count = 1};
        good = ideal_advance_view(&v, time_ns);
        if (!good || v.depth == 0)
            continue;
        r.flags = ideal_intern_stack(d, cursor, &v, &r.stack);
        good = strobe_ring_write(&d->session.ring, w, &r, NULL) == STROBE_OK;
        strobe_bump(&a->requests, 1);
        strobe_bump(&a->sampled, 1);
    }
    free(v.path);
    return good;
}

static bool sample_spec(struct ideal *d, struct strobe_ring_writer *w, struct strobe_stack_cursor *cursor,
                        uint32_t spec)
{
    struct sim_random random = sim_random_seed(d->seed, UINT64_MAX - spec);
    uint64_t offset = 0, next = d->period_ns[spec] ? sim_random_below(&random, d->period_ns[spec]) : UINT64_MAX;
    for (uint32_t i = 0; i < d->truth->track_count && next != UINT64_MAX; i++) {
        const struct sim_track *t = &d->truth->tracks[i];
        if (t->spec != spec)
            continue;
        if (!sample_track(d, w, cursor, i, offset, &next))
            return false;
        offset += t->end_ns - t->begin_ns;
    }
    return true;
}

/* ---- the session ---- */

static uint64_t life_of(const struct sim_tracks *truth, uint32_t spec)
{
    uint64_t life = 0;
    for (size_t i = 0; i < truth->track_count; i++)
        if (truth->tracks[i].spec == spec)
            life += truth->tracks[i].end_ns - truth->tracks[i].begin_ns;
    return life;
}

static uint32_t ideal_power_of_two(uint64_t least, uint32_t from, uint32_t most)
{
    uint32_t n = from;
    while (n < least && n < most)
        n *= 2;
    return n;
}

/* Computes the periods and the capacity for all samples. */
static struct strobe_config ideal_plan_config(struct ideal *d)
{
    enum { NODES_PER_SAMPLE = 8, NODES_MAX = 1 << 22, SLOTS_MAX = 1 << 26 };
    struct strobe_config c = d->scenario->config;
    uint64_t all = 0;
    c.interval_main_ns = c.interval_other_ns = 1;
    for (uint32_t i = 0; i < d->spec_count; i++) {
        uint64_t life = life_of(d->truth, i);
        d->period_ns[i] = d->samples[i] ? life / d->samples[i] : 0;
        if (!d->period_ns[i])
            continue;
        uint64_t *interval = d->scenario->threads[i].is_main ? &c.interval_main_ns : &c.interval_other_ns;
        *interval = d->period_ns[i] > *interval ? d->period_ns[i] : *interval;
        all += life / d->period_ns[i] + 1;
    }
    c.ring_subs = 1;
    c.ring_mode = STROBE_KEEP_OLDEST;
    c.ring_slots = ideal_power_of_two(all + STROBE_CHUNK_SLOTS, 1024, SLOTS_MAX);
    c.stack_nodes = ideal_power_of_two(all * NODES_PER_SAMPLE, 1 << 14, NODES_MAX);
    c.threads_max = d->truth->track_count ? (uint32_t)d->truth->track_count : 1;
    c.images_max = 1;
    d->tracer.interval_main_ns = c.interval_main_ns;
    d->tracer.interval_other_ns = c.interval_other_ns;
    return c;
}

static bool ideal_add_threads(const struct ideal *d)
{
    for (size_t i = 0; i < d->truth->track_count; i++) {
        const struct sim_track *t = &d->truth->tracks[i];
        uint32_t index;
        if (strobe_session_add_thread(&d->session, t->tid, t->is_main, ORIGIN_NS + t->begin_ns, &index) != STROBE_OK)
            return false;
        d->session.threads[index].end_ticks = ORIGIN_NS + t->end_ns;
        memcpy(d->session.threads[index].name, t->name, sizeof t->name);
        strobe_store_release(&d->session.threads[index].state, STROBE_THREAD_ENDED);
    }
    return true;
}

static bool ideal_fill_session(struct ideal *d)
{
    struct strobe_stack_cursor *cursor = calloc(1, sizeof *cursor);
    struct strobe_ring_writer w = {0};
    uint64_t end = ORIGIN_NS + d->truth->end_ns;
    struct strobe_session_header *h = d->session.header;
    h->pid = 1;
    h->begin = (struct strobe_clock_pair){ORIGIN_NS, ORIGIN_NS, ORIGIN_NS, ORIGIN_NS};
    strobe_ring_writer_init(&d->session.ring, &w, 1);
    bool good = cursor && ideal_add_threads(d);
    for (uint32_t i = 0; good && i < d->spec_count; i++)
        good = sample_spec(d, &w, cursor, i);
    strobe_ring_writer_close(&d->session.ring, &w);
    strobe_session_finish(&d->session, &(struct strobe_clock_pair){end, end, end, end});
    free(cursor);
    return good;
}

/* ---- the trace ---- */

static size_t ideal_resolve_frame(void *ctx, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    const struct sim_tracks *truth = ctx;
    uint64_t name = return_address / CODE_BYTES - 1;
    if (max == 0)
        return 0;
    *out = (struct strobe_symbol){.function = truth->names.texts[name],
                                  .image = "",
                                  .file = "",
                                  .function_id = (uint32_t)name,
                                  .function_address = return_address - 1};
    return 1;
}

static enum strobe_status ideal_build_timeline(struct ideal *d, struct sim_tracks *out)
{
    /* Evenly spaced samples have no gap, whatever their distance. */
    struct strobe_timeline_options options = {.gap_ns = d->scenario->duration_ns + 1};
    struct strobe_function_tree *tree = NULL;
    struct strobe_sink *sink = sim_tracks_sink(out, ORIGIN_NS);
    struct strobe_resolver resolver = {.resolve = ideal_resolve_frame, .ctx = (void *)(uintptr_t)d->truth};
    if (!sink)
        return STROBE_IO;
    enum strobe_status status = strobe_function_tree_open(&d->reader->session.stacks, resolver, &tree);
    if (status == STROBE_OK)
        status = strobe_timeline_build(d->reader, tree, &options, sink, NULL);
    else
        sink->finish(sink);
    strobe_function_tree_close(tree);
    return status;
}

/* The generation of a reconstructed track is its number in the truth, from 1. */
static enum strobe_status ideal_sample_truth(struct ideal *d, struct sim_tracks *out, struct strobe_error *error)
{
    size_t first = out->track_count;
    struct strobe_config config = ideal_plan_config(d);
    enum strobe_status status = sim_scratch_session(&config, d->scenario->name, &d->session, d->path, sizeof d->path);
    if (status == STROBE_OK && !ideal_fill_session(d))
        status = STROBE_IO;
    if (status == STROBE_OK)
        status = strobe_reader_open(d->path, &d->reader, error);
    if (status == STROBE_OK)
        status = ideal_build_timeline(d, out);
    if (status != STROBE_OK) {
        strobe_error_set(error, "ideal: %s", strobe_status_text(status));
        return status;
    }
    for (size_t i = first; i < out->track_count; i++)
        out->tracks[i].generation = d->truth->tracks[out->tracks[i].generation - 1].generation;
    return STROBE_OK;
}

static enum strobe_status ideal_reconstruct(struct sim_tracer *t, struct sim_run *run, struct sim_tracks *out,
                                            struct strobe_error *error)
{
    struct ideal *d = (struct ideal *)t;
    d->truth = &run->truth;
    d->scenario = run->scenario;
    d->seed = run->options.seed;
    return ideal_sample_truth(d, out, error);
}

static void close_ideal(struct sim_tracer *t)
{
    struct ideal *d = (struct ideal *)t;
    strobe_reader_close(d->reader);
    if (d->session.header)
        strobe_session_unmap(&d->session);
    free(d->samples);
    free(d->period_ns);
    free(d);
}

enum strobe_status sim_policy_ideal(const uint64_t *samples, uint32_t spec_count, struct sim_tracer **out)
{
    struct ideal *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d)
        return STROBE_IO;
    d->session.fd = -1;
    d->spec_count = spec_count;
    d->tracer = (struct sim_tracer){.reconstruct = ideal_reconstruct, .close = close_ideal, .policy = "ideal"};
    d->samples = malloc((spec_count + 1) * sizeof *d->samples);
    d->period_ns = calloc(spec_count + 1, sizeof *d->period_ns);
    if (!d->samples || !d->period_ns) {
        close_ideal(&d->tracer);
        return STROBE_IO;
    }
    memcpy(d->samples, samples, spec_count * sizeof *samples);
    *out = &d->tracer;
    return STROBE_OK;
}

enum strobe_status sim_ideal_of_truth(const struct sim_tracks *truth, const struct sim_scenario *scenario,
                                      uint64_t seed, const uint64_t *samples, struct sim_tracks *out,
                                      struct sim_score_options *intervals, struct strobe_error *error)
{
    struct sim_tracer *tracer;
    enum strobe_status status = sim_policy_ideal(samples, scenario->thread_count, &tracer);
    if (status != STROBE_OK)
        return status;
    struct ideal *d = (struct ideal *)tracer;
    d->truth = truth;
    d->scenario = scenario;
    d->seed = seed;
    status = ideal_sample_truth(d, out, error);
    *intervals = (struct sim_score_options){.interval_ns = tracer->interval_main_ns,
                                            .other_interval_ns = tracer->interval_other_ns};
    tracer->close(tracer);
    return status;
}
