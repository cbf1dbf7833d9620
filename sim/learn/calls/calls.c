#include "sim/learn/calls/calls.h"

#include "engine/trace/model/function_tree.h"
#include "engine/util/array.h"
#include "sim/learn/calls/fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEARN_CALLS_MAX = 1 << 28,
    START_LATE_NS = 500000, /* a thread begins to run so late at most, mostly */
};

/* ---- calls ---- */

/* Copies a thread's name without the number at its end. */
static void stem_of(const char *name, char *out, size_t bytes)
{
    size_t length = strnlen(name, bytes - 1), end = length;
    while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    while (end && end < length &&
           (name[end - 1] == '-' || name[end - 1] == '_' || name[end - 1] == ' ' || name[end - 1] == '#' ||
            name[end - 1] == ':'))
        end--;
    end = end ? end : length;
    memcpy(out, name, end);
    out[end] = 0;
}

static uint32_t learn_name_of(struct learn_app *a, const struct sim_tracks *from, uint32_t name)
{
    const char *text = from->names.texts[name];
    uint32_t number = strobe_text_number(&a->names, text, strlen(text));
    a->failed |= number == UINT32_MAX;
    return number == UINT32_MAX ? 0 : number;
}

static struct learn_call *append_learn_call(struct learn_app *a, const struct learn_call *call)
{
    if (a->call_count >= LEARN_CALLS_MAX || !strobe_array_reserve(&a->calls, &a->call_room, a->call_count + 1)) {
        a->failed = true;
        return NULL;
    }
    a->calls[a->call_count] = *call;
    return &a->calls[a->call_count++];
}

/* The open calls of a thread while its events are read, with the last two calls in each. */
struct open_path {
    uint32_t call, last, before_last;
};

/* Waits are in order of their ends, and of two that end together the inner one comes first. */
static void give_wait(const struct sim_track *track, struct learn_call *c, size_t *next)
{
    while (*next < track->wait_count && track->waits[*next].end_ns < c->end_ns)
        ++*next;
    for (size_t i = *next; i < track->wait_count && track->waits[i].end_ns == c->end_ns; i++)
        if (track->waits[i].begin_ns == c->begin_ns) {
            c->wait = (uint32_t)i + 1;
            return;
        }
}

/* Appends a call to its parent's. */
static void link_call(struct learn_app *a, struct open_path *in, uint32_t call)
{
    if (in->last != LEARN_NONE)
        a->calls[in->last].next = call;
    else
        a->calls[in->call].first = call;
    a->calls[call].parent = in->call;
    in->before_last = in->last;
    in->last = call;
}

static uint32_t last_call_in(const struct learn_app *a, uint32_t call)
{
    uint32_t last = a->calls[call].first;
    while (last != LEARN_NONE && a->calls[last].next != LEARN_NONE)
        last = a->calls[last].next;
    return last;
}

/* When a method begins again right after unseen time, its last call goes on: it takes the unseen time in. Returns that
 * call, or LEARN_NONE. */
static uint32_t reopen_call(struct learn_app *a, struct open_path *in, uint32_t name, uint64_t time_ns)
{
    uint32_t gap = in->last, call = in->before_last;
    if (gap == LEARN_NONE || call == LEARN_NONE || a->calls[gap].class != SIM_CALL_GAP ||
        a->calls[gap].end_ns != time_ns || a->calls[call].class != SIM_CALL_METHOD || a->calls[call].name != name ||
        a->calls[call].end_ns != a->calls[gap].begin_ns)
        return LEARN_NONE;
    struct open_path inner = {call, last_call_in(a, call), LEARN_NONE};
    a->calls[call].next = LEARN_NONE;
    link_call(a, &inner, gap);
    in->last = call;
    in->before_last = LEARN_NONE;
    return call;
}

/* Between two samples of hooks in one call, a capture shows the caller for about this long at most: the first hook's
 * sample holds for 1 us, and its work takes time. */
enum { HOOK_HOLDS_NS = 3000 };

/* When a method begins again right after the sample of a hook in its caller, its last call goes on. Returns that call,
 * or LEARN_NONE. */
static uint32_t resume_call(struct learn_app *a, const struct learn_thread *t, const struct open_path *in,
                            uint32_t name, uint64_t time_ns)
{
    uint32_t call = in->last;
    if (t->track->cpu_count || call == LEARN_NONE || a->calls[call].class != SIM_CALL_METHOD ||
        a->calls[call].name != name || a->calls[call].end_ns >= time_ns ||
        a->calls[call].end_ns + HOOK_HOLDS_NS < time_ns)
        return LEARN_NONE;
    return call;
}

struct call_reader {
    struct open_path *path; /* path[0] is the call around the thread's outermost calls */
    size_t depth, room, next_wait;
};

static void push_path(struct learn_app *a, struct call_reader *r, struct open_path p)
{
    if (strobe_array_reserve(&r->path, &r->room, r->depth + 1))
        r->path[r->depth++] = p;
    else
        a->failed = true;
}

/* Opens a call again, with its last two calls. */
static void reopen_path(struct learn_app *a, struct call_reader *r, uint32_t call)
{
    uint32_t last = last_call_in(a, call), before = a->calls[call].first;
    while (before != last && a->calls[before].next != last)
        before = a->calls[before].next;
    push_path(a, r, (struct open_path){call, last, before == last ? LEARN_NONE : before});
}

static void read_call_begin(struct learn_app *a, struct call_reader *r, uint32_t thread, const struct sim_event *e)
{
    const struct learn_thread *t = &a->threads[thread];
    uint32_t name = learn_name_of(a, &a->captures[t->capture], e->name);
    uint32_t call = e->class == SIM_CALL_METHOD ? reopen_call(a, &r->path[r->depth - 1], name, e->time_ns) : LEARN_NONE;
    if (call == LEARN_NONE && e->class == SIM_CALL_METHOD)
        call = resume_call(a, t, &r->path[r->depth - 1], name, e->time_ns);
    if (call != LEARN_NONE) {
        reopen_path(a, r, call);
        return;
    }
    struct learn_call fresh = {.begin_ns = e->time_ns,
                               .end_ns = t->track->end_ns,
                               .name = name,
                               .class = e->class,
                               .thread = thread,
                               .first = LEARN_NONE,
                               .next = LEARN_NONE};
    call = a->call_count;
    if (!append_learn_call(a, &fresh))
        return;
    link_call(a, &r->path[r->depth - 1], call);
    push_path(a, r, (struct open_path){call, LEARN_NONE, LEARN_NONE});
}

/* Removes the call around the outermost calls when there is only one. */
static void peel_thread(struct learn_app *a, struct learn_thread *t, uint32_t around)
{
    uint32_t first = a->calls[around].first;
    if (first == LEARN_NONE || a->calls[first].next != LEARN_NONE || a->calls[first].class != SIM_CALL_METHOD) {
        if (first != LEARN_NONE)
            a->calls[around].begin_ns =
                t->track->begin_ns < a->calls[first].begin_ns ? t->track->begin_ns : a->calls[first].begin_ns;
        return;
    }
    a->calls[first].parent = LEARN_NONE;
    t->first_call++;
}

static bool read_calls(struct learn_app *a, uint32_t number)
{
    struct learn_thread *t = &a->threads[number];
    const struct sim_track *track = t->track;
    struct call_reader r = {0};
    char name[64], stem[32];
    stem_of(track->name, stem, sizeof stem);
    snprintf(name, sizeof name, "thread %s", stem);
    struct learn_call around = {.begin_ns = track->begin_ns,
                                .end_ns = track->end_ns,
                                .name = strobe_text_number(&a->names, name, strlen(name)),
                                .thread = number,
                                .parent = LEARN_NONE,
                                .first = LEARN_NONE,
                                .next = LEARN_NONE};
    if (!track->event_count)
        return true;
    uint32_t outer = a->call_count;
    if (append_learn_call(a, &around))
        push_path(a, &r, (struct open_path){outer, LEARN_NONE, LEARN_NONE});
    for (size_t i = 0; i < track->event_count && !a->failed; i++) {
        const struct sim_event *e = &track->events[i];
        if (e->name != SIM_CALL_END) {
            read_call_begin(a, &r, number, e);
            continue;
        }
        struct learn_call *c = &a->calls[r.path[--r.depth].call];
        c->end_ns = e->time_ns;
        if (c->class == SIM_CALL_WAIT)
            give_wait(track, c, &r.next_wait);
    }
    free(r.path);
    if (!a->failed)
        peel_thread(a, t, outer);
    return !a->failed;
}

const struct sim_wait *sim_learn_wait_of(const struct learn_app *a, const struct learn_call *c)
{
    return c->wait ? &a->threads[c->thread].track->waits[c->wait - 1] : NULL;
}

uint32_t sim_learn_last_begun(const struct learn_app *a, const struct learn_thread *t, uint64_t at)
{
    uint32_t low = t->first_call, high = t->end_call;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->calls[middle].begin_ns <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > t->first_call ? low - 1 : LEARN_NONE;
}

uint32_t sim_learn_method_at(const struct learn_app *a, const struct learn_thread *t, uint64_t time_ns)
{
    uint64_t at = time_ns ? time_ns - 1 : 0;
    uint32_t call = sim_learn_last_begun(a, t, at);
    while (call != LEARN_NONE && (a->calls[call].end_ns <= at || a->calls[call].class != SIM_CALL_METHOD))
        call = a->calls[call].parent;
    return call;
}

uint32_t sim_learn_running_at(const struct learn_app *a, const struct learn_thread *t, uint64_t time_ns)
{
    uint64_t at = time_ns ? time_ns - 1 : 0;
    uint32_t call = sim_learn_last_begun(a, t, at);
    while (call != LEARN_NONE && a->calls[call].end_ns <= at)
        call = a->calls[call].parent;
    bool waits = call != LEARN_NONE && a->calls[call].class == SIM_CALL_WAIT;
    return waits && a->calls[call].begin_ns + START_LATE_NS < at ? LEARN_NONE : sim_learn_method_at(a, t, time_ns);
}

uint32_t sim_learn_next_call_in(const struct learn_app *a, uint32_t call, uint64_t time_ns)
{
    const struct learn_thread *t = &a->threads[a->calls[call].thread];
    uint32_t low = t->first_call, high = t->end_call;
    if (time_ns <= a->calls[call].begin_ns)
        return a->calls[call].first;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->calls[middle].begin_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t at = low > t->first_call ? low - 1 : LEARN_NONE;
    while (at != LEARN_NONE && at != call && a->calls[at].parent != call)
        at = a->calls[at].parent;
    return at == LEARN_NONE ? LEARN_NONE : at == call ? a->calls[call].first : a->calls[at].next;
}

static bool takes_messages(const struct learn_app *a, uint32_t call)
{
    const struct learn_call *c = &a->calls[call];
    uint32_t polls = 0, messages = 0;
    if (c->class != SIM_CALL_METHOD)
        return false;
    for (uint32_t child = c->first; child != LEARN_NONE; child = a->calls[child].next) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[child]);
        polls += w && w->kind == STROBE_KIND_POLL && w->what;
        messages += polls && a->calls[child].class == SIM_CALL_METHOD;
    }
    return polls >= 2 && messages >= 2;
}

bool sim_learn_is_looper(const struct learn_app *a, uint32_t call)
{
    return a->calls[call].loops;
}

/* ---- time on a processor ---- */

static bool sum_spans(const struct sim_tracks *capture, struct learn_thread *t)
{
    const struct sim_track *track = t->track;
    bool has_cpu = track->cpu_count > 0;
    size_t count = has_cpu ? track->cpu_count : track->idle_count;
    uint64_t sum = 0;
    (void)capture;
    t->busy_before = malloc((count + 1) * sizeof *t->busy_before);
    if (!t->busy_before)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct sim_span *s = has_cpu ? &track->cpu[i] : &track->idle[i];
        t->busy_before[i] = sum;
        sum += s->end_ns - s->begin_ns;
    }
    t->busy_before[count] = sum;
    return true;
}

/* Returns the sum of the spans up to a time. */
static uint64_t spans_until(const struct learn_thread *t, const struct sim_span *spans, size_t count, uint64_t time_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (spans[middle].begin_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const struct sim_span *last = &spans[low - 1];
    uint64_t end = last->end_ns < time_ns ? last->end_ns : time_ns;
    return t->busy_before[low - 1] + (end > last->begin_ns ? end - last->begin_ns : 0);
}

uint64_t sim_learn_busy_ns(const struct learn_app *a, const struct learn_thread *t, uint64_t from_ns, uint64_t to_ns)
{
    const struct sim_track *track = t->track;
    (void)a;
    if (track->cpu_count)
        return spans_until(t, track->cpu, track->cpu_count, to_ns) -
               spans_until(t, track->cpu, track->cpu_count, from_ns);
    uint64_t idle =
        spans_until(t, track->idle, track->idle_count, to_ns) - spans_until(t, track->idle, track->idle_count, from_ns);
    return to_ns - from_ns > idle ? to_ns - from_ns - idle : 0;
}

/* ---- groups ---- */

static uint32_t root_of(const struct learn_app *a, const struct learn_thread *t)
{
    return t->first_call < t->end_call ? a->calls[t->first_call].name : LEARN_NONE;
}

static uint32_t find_group(const struct learn_app *a, const char *stem, uint32_t root, bool is_main)
{
    for (uint32_t i = 0; i < a->group_count; i++)
        if (a->groups[i].is_main == is_main &&
            (is_main || (a->groups[i].root == root && !strcmp(a->groups[i].stem, stem))))
            return i;
    return LEARN_NONE;
}

static void name_group(struct learn_app *a, uint32_t group)
{
    struct learn_group *g = &a->groups[group];
    unsigned equal = 0;
    for (uint32_t i = 0; i < group; i++)
        equal += !strcmp(a->groups[i].stem, g->stem);
    if (equal)
        snprintf(g->name, sizeof g->name, "%s.%u", g->stem, equal + 1);
    else
        snprintf(g->name, sizeof g->name, "%s", g->stem[0] ? g->stem : "thread");
}

static bool add_to_group(struct learn_app *a, uint32_t thread)
{
    struct learn_thread *t = &a->threads[thread];
    char stem[32];
    stem_of(t->track->name, stem, sizeof stem);
    uint32_t root = root_of(a, t), g = find_group(a, stem, root, t->track->is_main);
    if (g == LEARN_NONE) {
        if (!strobe_array_reserve(&a->groups, &a->group_room, a->group_count + 1))
            return false;
        g = a->group_count++;
        a->groups[g] = (struct learn_group){.root = root, .is_main = t->track->is_main, .queue = LEARN_NONE};
        memcpy(a->groups[g].stem, stem, sizeof stem);
        name_group(a, g);
    }
    struct learn_group *group = &a->groups[g];
    if (!strobe_array_reserve(&group->threads, &group->thread_room, group->thread_count + 1))
        return false;
    group->threads[group->thread_count++] = thread;
    t->group = g;
    return true;
}

/* Threads without calls are left out. */
static bool group_threads(struct learn_app *a)
{
    for (uint32_t i = 0; i < a->thread_count; i++) {
        a->threads[i].group = LEARN_NONE;
        if (root_of(a, &a->threads[i]) != LEARN_NONE && !add_to_group(a, i))
            return false;
    }
    for (uint32_t g = 0; g < a->group_count; g++) {
        struct learn_group *group = &a->groups[g];
        group->count = (group->thread_count + a->capture_count / 2) / a->capture_count;
        group->count = group->count ? group->count : 1;
    }
    return true;
}

/* ---- open and close ---- */

static bool read_capture_threads(struct learn_app *a)
{
    for (uint32_t c = 0; c < a->capture_count; c++)
        for (size_t i = 0; i < a->captures[c].track_count; i++) {
            const struct sim_track *track = &a->captures[c].tracks[i];
            struct learn_thread *t = &a->threads[a->thread_count];
            uint64_t whole = a->captures[c].end_ns;
            *t = (struct learn_thread){.track = track, .capture = c, .first_call = a->call_count};
            t->ended = track->end_ns + whole / 50 < whole;
            if (!sum_spans(&a->captures[c], t) || !read_calls(a, a->thread_count++))
                return false;
            t->end_call = a->call_count;
            a->thread_ns += track->end_ns - track->begin_ns;
        }
    return true;
}

/* Where some calls take messages, every call that polls a queue does, however few messages it got. */
static void find_loopers(struct learn_app *a)
{
    bool any = false;
    for (uint32_t i = 0; i < a->call_count; i++)
        any |= a->calls[i].loops = takes_messages(a, i);
    for (uint32_t i = 0; any && i < a->call_count; i++) {
        const struct sim_wait *w = sim_learn_wait_of(a, &a->calls[i]);
        if (w && w->kind == STROBE_KIND_POLL && w->what && a->calls[i].parent != LEARN_NONE)
            a->calls[a->calls[i].parent].loops = true;
    }
}

bool sim_learn_app_open(struct learn_app *a, const struct sim_tracks *captures, uint32_t count)
{
    size_t threads = 0;
    *a = (struct learn_app){.captures = captures, .capture_count = count};
    for (uint32_t c = 0; c < count; c++) {
        threads += captures[c].track_count;
        a->end_ns += captures[c].end_ns / count;
    }
    a->threads = calloc(threads + 1, sizeof *a->threads);
    if (!a->threads || !read_capture_threads(a) || !group_threads(a) || !sim_learn_hoist_polls(a))
        return false;
    find_loopers(a);
    a->runs = LEARN_RUNS;
    a->is_sampled = true;
    for (uint32_t i = 0; i < a->thread_count; i++)
        a->is_sampled &= a->threads[i].track->cpu_count == 0;
    return true;
}

void sim_learn_app_close(struct learn_app *a)
{
    for (uint32_t i = 0; i < a->thread_count; i++)
        free(a->threads[i].busy_before);
    for (uint32_t g = 0; g < a->group_count; g++)
        free(a->groups[g].threads);
    strobe_text_pool_free(&a->names);
    strobe_idmap_free(&a->object_ids);
    free(a->threads);
    free(a->calls);
    free(a->marks);
    free(a->objects);
    free(a->groups);
    free(a->joins);
    *a = (struct learn_app){0};
}
