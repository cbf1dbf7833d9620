#include "sim/learn/measure.h"

#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"
#include "sim/learn/fit.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGES_LEAST = 20 };
const double sim_learn_percentiles[LEARN_PERCENTILES] = {0.5, 0.9, 0.95, 0.99};

/* Durations of the calls of one name. */
struct durations {
    uint64_t *ns;
    size_t count, room;
    bool is_message;
};

/* Sums of one side, by number of the name among the names of both. */
struct side {
    uint64_t *self_ns;
    struct durations *calls;
    uint64_t count[STROBE_KIND_COUNT], wait_ns[STROBE_KIND_COUNT];
    uint64_t all_ns; /* threads' time on processors and in waits */
    size_t names;
};

static bool open_side(struct side *s, size_t names)
{
    *s = (struct side){
        .self_ns = calloc(names + 1, sizeof *s->self_ns), .calls = calloc(names + 1, sizeof *s->calls), .names = names};
    return s->self_ns && s->calls;
}

static void close_side(struct side *s)
{
    for (size_t i = 0; s->calls && i < s->names; i++)
        free(s->calls[i].ns);
    free(s->calls);
    free(s->self_ns);
}

static bool add_duration(struct durations *d, uint64_t ns)
{
    if (!strobe_array_reserve(&d->ns, &d->room, d->count + 1))
        return false;
    d->ns[d->count++] = ns;
    return true;
}

/* Returns the time of a call that counts: of a wait, its length; of a method, its time on a processor. */
static uint64_t counted_ns(const struct learn_app *a, const struct learn_call *c, uint32_t class)
{
    if (class != SIM_CALL_METHOD)
        return c->end_ns - c->begin_ns;
    return sim_learn_busy_ns(a, &a->threads[c->thread], c->begin_ns, c->end_ns);
}

static bool add_side_call(struct side *s, const struct learn_app *a, const uint32_t *number, uint32_t call)
{
    const struct learn_call *c = &a->calls[call];
    const struct sim_wait *w = sim_learn_wait_of(a, c);
    uint64_t ns = counted_ns(a, c, c->class), inner = 0;
    for (uint32_t i = c->first; i != LEARN_NONE; i = a->calls[i].next)
        inner += counted_ns(a, &a->calls[i], c->class);
    if (c->class == SIM_CALL_GAP)
        return true;
    s->self_ns[number[c->name]] += ns > inner ? ns - inner : 0;
    s->all_ns += ns > inner ? ns - inner : 0;
    if (w) {
        s->count[w->kind]++;
        s->wait_ns[w->kind] += ns;
    }
    struct durations *d = &s->calls[number[c->name]];
    d->is_message |= c->parent != LEARN_NONE && a->calls[c->parent].loops && c->class == SIM_CALL_METHOD;
    return c->class != SIM_CALL_METHOD || add_duration(d, c->end_ns - c->begin_ns);
}

static bool fill_side(struct side *s, const struct learn_app *a, const uint32_t *number)
{
    for (uint32_t i = 0; i < a->call_count; i++)
        if (a->threads[a->calls[i].thread].group != LEARN_NONE && !add_side_call(s, a, number, i))
            return false;
    for (size_t i = 0; i < s->names; i++)
        sim_fit_sort(s->calls[i].ns, s->calls[i].count);
    return true;
}

/* ---- distances ---- */

static double relative_error(double is, double was)
{
    double apart = is > was ? is - was : was - is;
    return was > 0 ? apart / was : is > 0;
}

static double share_in(const struct side *s, size_t name)
{
    return s->all_ns ? (double)s->self_ns[name] / (double)s->all_ns : 0;
}

static void compare_shares(const struct side *was, const struct side *is, const struct strobe_text_pool *names,
                           struct learn_distances *out)
{
    for (size_t i = 0; i < was->names; i++) {
        double apart = share_in(is, i) - share_in(was, i);
        apart = apart < 0 ? -apart : apart;
        out->variation += apart / 2;
        if (apart > out->largest_share) {
            out->largest_share = apart;
            out->largest_method = names->texts[i];
        }
    }
}

static void compare_learnt_waits(const struct side *was, const struct side *is, struct learn_distances *out)
{
    double scale = is->all_ns ? (double)was->all_ns / (double)is->all_ns : 0;
    for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++) {
        if (!was->count[kind] && !is->count[kind])
            continue;
        struct learn_wait_row *row = &out->waits[out->wait_count++];
        *row = (struct learn_wait_row){
            .kind = (enum strobe_kind)kind,
            .count = {was->count[kind], (uint64_t)((double)is->count[kind] * scale + 0.5)},
            .ns = {was->wait_ns[kind], (uint64_t)((double)is->wait_ns[kind] * scale + 0.5)},
        };
        row->error = relative_error((double)row->ns[1], (double)row->ns[0]);
        if (row->ns[0] * 100 >= was->all_ns && row->error > out->wait_error)
            out->wait_error = row->error;
    }
}

static void compare_messages(const struct side *was, const struct side *is, const struct strobe_text_pool *names,
                             struct learn_distances *out)
{
    for (size_t i = 0; i < was->names && out->message_count < LEARN_ROWS_MAX; i++) {
        const struct durations *a = &was->calls[i], *b = &is->calls[i];
        if (!a->is_message || a->count < MESSAGES_LEAST)
            continue;
        struct learn_message_row *row = &out->messages[out->message_count++];
        *row = (struct learn_message_row){.name = names->texts[i], .count = {a->count, b->count}};
        for (unsigned p = 0; p < LEARN_PERCENTILES; p++) {
            row->ns[0][p] = sim_fit_percentile(a->ns, a->count, sim_learn_percentiles[p]);
            row->ns[1][p] = sim_fit_percentile(b->ns, b->count, sim_learn_percentiles[p]);
            double error = relative_error((double)row->ns[1][p], (double)row->ns[0][p]);
            if (sim_learn_percentiles[p] < 0.96 && error > row->error)
                row->error = error;
        }
        out->message_error = row->error > out->message_error ? row->error : out->message_error;
    }
}

/* The methods with the largest shares. */
static void compare_durations(const struct side *was, const struct side *is, const struct strobe_text_pool *names,
                              struct learn_distances *out)
{
    double below = 2;
    size_t last = SIZE_MAX;
    while (out->duration_count < LEARN_ROWS_MAX) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < was->names; i++) {
            double share = share_in(was, i);
            bool is_next = share < below || (share == below && last != SIZE_MAX && i > last);
            if (was->calls[i].count >= MESSAGES_LEAST && is_next && share > 0.001 &&
                (best == SIZE_MAX || share > share_in(was, best)))
                best = i;
        }
        if (best == SIZE_MAX)
            return;
        below = share_in(was, best);
        last = best;
        const struct durations *a = &was->calls[best], *b = &is->calls[best];
        out->durations[out->duration_count++] =
            (struct learn_duration_row){.name = names->texts[best],
                                        .count = {a->count, b->count},
                                        .share = {share_in(was, best), share_in(is, best)},
                                        .distance = sim_fit_distance(a->ns, a->count, b->ns, b->count)};
    }
}

/* The truth of a replay knows all allocations, without saying so. */
static void compare_allocations(const struct learn_app *capture, const struct learn_app *replay, const struct side *was,
                                const struct side *is, struct learn_distances *out)
{
    double scale = is->all_ns ? (double)was->all_ns / (double)is->all_ns : 0;
    for (uint32_t i = 0; i < capture->thread_count; i++) {
        const struct sim_track *t = capture->threads[i].track;
        out->allocations[0] += t->known_alloc ? t->totals.allocations : 0;
        out->alloc_bytes[0] += t->known_alloc ? t->totals.alloc_bytes : 0;
    }
    for (uint32_t i = 0; i < replay->thread_count; i++) {
        out->allocations[1] += replay->threads[i].track->totals.allocations;
        out->alloc_bytes[1] += replay->threads[i].track->totals.alloc_bytes;
    }
    out->allocations[1] = (uint64_t)((double)out->allocations[1] * scale + 0.5);
    out->alloc_bytes[1] = (uint64_t)((double)out->alloc_bytes[1] * scale + 0.5);
}

static bool number_names(const struct learn_app *a, struct strobe_text_pool *names, uint32_t *number)
{
    for (size_t i = 0; i < a->names.count; i++) {
        number[i] = strobe_text_number(names, a->names.texts[i], strlen(a->names.texts[i]));
        if (number[i] == UINT32_MAX)
            return false;
    }
    return true;
}

bool sim_learn_compare(const struct learn_app *capture, const struct learn_app *replay, struct learn_distances *out)
{
    struct side was = {0}, is = {0};
    uint32_t *a = malloc((capture->names.count + 1) * sizeof *a), *b = malloc((replay->names.count + 1) * sizeof *b);
    struct strobe_text_pool *names = &out->names;
    *out = (struct learn_distances){
        .threads = {capture->thread_count / capture->capture_count, replay->thread_count / replay->capture_count}};
    bool fine = a && b && number_names(capture, names, a) && number_names(replay, names, b) &&
                open_side(&was, names->count) && open_side(&is, names->count) && fill_side(&was, capture, a) &&
                fill_side(&is, replay, b);
    if (fine) {
        out->all_ns = was.all_ns;
        compare_allocations(capture, replay, &was, &is, out);
        compare_shares(&was, &is, names, out);
        compare_learnt_waits(&was, &is, out);
        compare_messages(&was, &is, names, out);
        compare_durations(&was, &is, names, out);
    }
    close_side(&was);
    close_side(&is);
    free(a);
    free(b);
    return fine;
}

void sim_learn_distances_close(struct learn_distances *d)
{
    strobe_text_pool_free(&d->names);
}

/* ---- the table ---- */

static double as_ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void print_waits(const struct learn_distances *d, FILE *out)
{
    if (d->wait_count)
        fprintf(out, "\n  %-24s %10s %10s %12s %12s %8s\n", "waits", "number", "replay", "ms", "replay", "error");
    for (size_t i = 0; i < d->wait_count; i++) {
        const struct learn_wait_row *r = &d->waits[i];
        fprintf(out, "  %-24s %10llu %10llu %12.3f %12.3f %6.1f %%\n", strobe_wait_name(r->kind),
                (unsigned long long)r->count[0], (unsigned long long)r->count[1], as_ms(r->ns[0]), as_ms(r->ns[1]),
                100 * r->error);
    }
}

static void print_messages(const struct learn_distances *d, FILE *out)
{
    if (d->message_count)
        fprintf(out, "\n  %-24s %8s %10s %10s %10s %10s %8s\n", "messages, ms", "number", "50 %", "90 %", "95 %",
                "99 %", "error");
    for (size_t i = 0; i < d->message_count; i++) {
        const struct learn_message_row *r = &d->messages[i];
        for (int side = 0; side < 2; side++)
            fprintf(out, "  %-24.24s %8llu %10.3f %10.3f %10.3f %10.3f", side ? "  replay" : r->name,
                    (unsigned long long)r->count[side], as_ms(r->ns[side][0]), as_ms(r->ns[side][1]),
                    as_ms(r->ns[side][2]), as_ms(r->ns[side][3])),
                side ? fprintf(out, " %6.1f %%\n", 100 * r->error) : fprintf(out, "\n");
    }
}

void sim_learn_print_distances(const struct learn_distances *d, FILE *out)
{
    fprintf(out, "  threads                 %llu, replay %llu\n", (unsigned long long)d->threads[0],
            (unsigned long long)d->threads[1]);
    fprintf(out, "  shares of time          total variation %.2f points, largest difference %.2f points%s%s\n",
            100 * d->variation, 100 * d->largest_share, d->largest_method ? ": " : "",
            d->largest_method ? d->largest_method : "");
    fprintf(out, "  waits                   largest error %.1f %% (of those with 1 %% of the time or more)\n",
            100 * d->wait_error);
    fprintf(out, "  messages                largest error %.1f %% (percentiles 50, 90 and 95)\n",
            100 * d->message_error);
    if (d->allocations[0])
        fprintf(out, "  allocations             %llu, replay %llu; %.3f MB, replay %.3f MB\n",
                (unsigned long long)d->allocations[0], (unsigned long long)d->allocations[1],
                (double)d->alloc_bytes[0] / 1e6, (double)d->alloc_bytes[1] / 1e6);
    print_waits(d, out);
    print_messages(d, out);
    if (d->duration_count)
        fprintf(out, "\n  %-32s %9s %9s %8s %8s %8s\n", "durations of calls", "share", "replay", "number", "replay",
                "distance");
    for (size_t i = 0; i < d->duration_count; i++) {
        const struct learn_duration_row *r = &d->durations[i];
        fprintf(out, "  %-32.32s %7.2f %% %7.2f %% %8llu %8llu %8.3f\n", r->name, 100 * r->share[0], 100 * r->share[1],
                (unsigned long long)r->count[0], (unsigned long long)r->count[1], r->distance);
    }
}
