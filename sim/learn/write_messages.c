/* Messages: kinds, frames, posts. */
#include "sim/learn/writer.h"

#include "sim/app/syntax.h"

#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_LEAST = 8, FRAME_GAP_MAX = 8, BURST_LEAST = 3, BURST_MOST = 200 };
#define FRAME_PERIOD_MAX_NS 1000000000

uint32_t sim_learn_queue_of(const struct learn_app *a, uint32_t group)
{
    for (uint32_t g = 0; g < group; g++)
        if (a->groups[g].loops && a->groups[g].queue == a->groups[group].queue && a->groups[g].queue != LEARN_NONE)
            return g;
    return group;
}

static struct learn_posted *find_posted(struct learn_writer *w, uint32_t name, uint32_t queue)
{
    for (size_t i = 0; i < w->posted_count; i++)
        if (w->posted[i].name == name && w->posted[i].group == queue)
            return &w->posted[i];
    if (!strobe_array_reserve(&w->posted, &w->posted_room, w->posted_count + 1))
        return NULL;
    w->posted[w->posted_count] = (struct learn_posted){.name = name, .group = queue};
    sim_learn_new_key(w, name, w->posted[w->posted_count].key);
    return &w->posted[w->posted_count++];
}

static bool add_message(struct learn_writer *w, uint32_t call, uint32_t queue)
{
    struct learn_posted *p = find_posted(w, w->a->calls[call].name, queue);
    if (!p || !strobe_array_reserve(&p->spans, &p->room, p->count + 1))
        return false;
    p->spans[p->count++] = sim_learn_span_of(w->a, call);
    p->messages++;
    return true;
}

/* Adds the messages of a loop: its calls from the first poll on. */
static bool add_messages_of(struct learn_writer *w, uint32_t loop, uint32_t queue)
{
    bool polls = false;
    for (uint32_t c = w->a->calls[loop].first; c != LEARN_NONE; c = w->a->calls[c].next) {
        const struct sim_wait *wait = sim_learn_wait_of(w->a, &w->a->calls[c]);
        polls |= wait && wait->kind == STROBE_KIND_POLL;
        if (polls && w->a->calls[c].class == SIM_CALL_METHOD && !add_message(w, c, queue))
            return false;
    }
    return true;
}

static uint64_t distance_to_grid(uint64_t gap_ns, uint64_t period_ns)
{
    uint64_t rest = gap_ns % period_ns;
    return rest < period_ns - rest ? rest : period_ns - rest;
}

/* Returns the period of a kind of message whose begins lie on a grid; 0: it has none. */
static uint64_t find_period(const struct learn_app *a, const struct learn_posted *p)
{
    uint64_t *gaps = malloc((p->count + 1) * sizeof *gaps), period = 0, sum = 0, ticks = 0;
    size_t count = 0, near = 0;
    for (uint32_t i = 1; gaps && i < p->count; i++)
        if (a->calls[p->spans[i].call].thread == a->calls[p->spans[i - 1].call].thread)
            gaps[count++] = p->spans[i].begin_ns - p->spans[i - 1].begin_ns;
    if (gaps && count >= FRAMES_LEAST) {
        sim_fit_sort(gaps, count);
        period = gaps[count / 2];
    }
    for (size_t i = 0; period && i < count; i++) {
        uint64_t n = (gaps[i] + period / 2) / period;
        bool is_near = n && n <= FRAME_GAP_MAX && distance_to_grid(gaps[i], period) * 8 < period;
        near += is_near;
        sum += is_near ? gaps[i] : 0;
        ticks += is_near ? n : 0;
    }
    free(gaps);
    if (!period || near * 10 < count * 7 || !ticks)
        return 0;
    period = sum / ticks;
    return period >= SIM_VSYNC_MIN_NS && period <= FRAME_PERIOD_MAX_NS ? period : 0;
}

/* True for messages that are better posted one by one at their times than by one another. */
static bool is_burst(const struct learn_app *a, const struct learn_posted *p)
{
    uint64_t last = 0, gap = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        last = p->spans[i].begin_ns > last ? p->spans[i].begin_ns : last;
        if (i && p->spans[i].begin_ns > p->spans[i - 1].begin_ns &&
            p->spans[i].begin_ns - p->spans[i - 1].begin_ns > gap)
            gap = p->spans[i].begin_ns - p->spans[i - 1].begin_ns;
    }
    return p->count <= BURST_LEAST || (p->count <= BURST_MOST && last + 2 * gap < a->end_ns);
}

/* Finds how messages are posted: by whom the capture names; else by the display, once for each queue. */
static void find_posters(struct learn_writer *w)
{
    const struct learn_app *a = w->a;
    for (uint32_t m = 0; m < a->mark_count; m++)
        for (size_t i = 0; i < w->posted_count; i++)
            w->posted[i].marks += a->marks[m].kind == LEARN_MARK_POST && a->marks[m].object == w->posted[i].name;
    for (size_t i = 0; i < w->posted_count; i++) {
        struct learn_posted *p = &w->posted[i];
        bool has_frames = false;
        for (size_t k = 0; k < w->posted_count; k++)
            has_frames |= w->posted[k].group == p->group && w->posted[k].period_ns;
        if (p->marks * 3 < p->messages)
            p->marks = 0;
        if (!p->marks && !has_frames)
            p->period_ns = find_period(a, p);
        p->is_burst = !p->marks && !p->period_ns && is_burst(a, p);
        w->plan->losses.odd_messages += p->marks || p->period_ns ? 0 : p->messages;
    }
}

void sim_learn_find_messages(struct learn_writer *w)
{
    const struct learn_app *a = w->a;
    for (uint32_t i = 0; i < a->call_count && !w->failed; i++)
        if (a->calls[i].loops && a->threads[a->calls[i].thread].group != LEARN_NONE)
            w->failed |= !add_messages_of(w, i, sim_learn_queue_of(a, a->threads[a->calls[i].thread].group));
    find_posters(w);
}

/* ---- methods of messages ---- */

/* Puts the post of the next message of the kind, which keeps the rate. */
static void put_next_post(struct learn_writer *w, const struct learn_posted *p, struct sim_text *body)
{
    const struct learn_app *a = w->a;
    uint64_t *gaps = malloc((p->count + 1) * sizeof *gaps);
    size_t count = 0;
    for (uint32_t i = 1; gaps && i < p->count; i++) {
        uint64_t before = p->spans[i - 1].end_ns, begin = p->spans[i].begin_ns;
        if (a->calls[p->spans[i].call].thread == a->calls[p->spans[i - 1].call].thread)
            gaps[count++] = begin > before ? begin - before : 0;
    }
    w->failed |= !gaps;
    if (count) {
        sim_text_put(body, "    post");
        sim_learn_put_name(body, p->key);
        sim_text_put(body, " to queue_%u after", p->group);
        sim_learn_put_sample(w, body, gaps, count, 0);
        sim_text_put(body, "\n");
    }
    free(gaps);
}

static uint64_t messages_of_group(const struct learn_writer *w, uint32_t group)
{
    uint64_t count = 0;
    for (size_t i = 0; i < w->posted_count; i++)
        for (uint32_t k = 0; k < w->posted[i].count; k++)
            count += w->a->threads[w->a->calls[w->posted[i].spans[k].call].thread].group == group;
    return count;
}

void sim_learn_put_messages(struct learn_writer *w)
{
    for (size_t i = 0; i < w->posted_count && !w->failed; i++) {
        struct learn_posted *p = &w->posted[i];
        struct learn_span *spans = malloc((p->count + 1) * sizeof *spans);
        struct learn_node n;
        struct sim_text body = {0};
        if (spans)
            memcpy(spans, p->spans, p->count * sizeof *spans);
        w->group = w->a->threads[w->a->calls[p->spans[0].call].thread].group;
        sim_learn_put_allocations(w->a, w->group, messages_of_group(w, w->group), &body, 4);
        if (sim_learn_node_open(&n, w->a, p->name, spans, p->count))
            sim_learn_put_round(w, &n, true, &body, 4);
        else
            w->failed = true;
        sim_learn_node_close(&n);
        if (!p->marks && !p->period_ns && !p->is_burst)
            put_next_post(w, p, &body);
        sim_learn_put_method(w, p->name, p->key, &body);
    }
}

/* Puts a post at the time of a message since the begin of its loop. Of several loops on a queue, and of several
 * captures, each posts a part. */
static void put_first_post(struct learn_writer *w, const struct learn_posted *p, const struct learn_span *span,
                           uint32_t loops, struct sim_text *body, int indent)
{
    const struct learn_app *a = w->a;
    uint64_t begin = a->calls[a->calls[span->call].parent].begin_ns;
    uint64_t after = span->begin_ns > begin ? (span->begin_ns - begin) / 1000 * 1000 : 0;
    sim_text_put(body, loops > 1 ? "%*schoose { 1 { post" : "%*spost", indent, "");
    sim_learn_put_name(body, p->key);
    sim_text_put(body, " to queue_%u", p->group);
    if (after) {
        sim_text_put(body, " after ");
        sim_learn_put_time(body, after);
    }
    if (loops > 1)
        sim_text_put(body, " } %u { } }", loops - 1);
    sim_text_put(body, "\n");
}

void sim_learn_put_loop(struct learn_writer *w, uint32_t call, struct sim_text *body, int indent)
{
    const struct learn_app *a = w->a;
    uint32_t group = a->threads[a->calls[call].thread].group, queue = sim_learn_queue_of(a, group), loops = 0;
    for (uint32_t g = 0; g < a->group_count; g++)
        loops += a->groups[g].loops && sim_learn_queue_of(a, g) == queue ? a->groups[g].count : 0;
    for (size_t i = 0; i < w->posted_count; i++) {
        const struct learn_posted *p = &w->posted[i];
        if (p->group != queue || p->marks || p->period_ns)
            continue;
        for (uint32_t k = 0; k < (p->is_burst ? p->count : 1); k++)
            put_first_post(w, p, &p->spans[k], p->is_burst ? loops * a->capture_count : 1, body, indent);
    }
    sim_text_put(body, "%*sloop queue_%u\n", indent, "", queue);
}
