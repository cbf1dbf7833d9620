#include "engine/trace/export/jsonl/sink_jsonl.h"

#include "engine/util/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const strobe_jsonl_kind_name[STROBE_JSONL_KINDS] = {"capture", "slice",   "sample",
                                                                "wait",    "section", "finding"};

/* Time and CPU time of the slices directly in an open slice. */
struct jsonl_within {
    uint64_t ns, cpu_ns;
};

struct jsonl_sink {
    struct strobe_sink sink;
    struct strobe_jsonl *j;
    unsigned kinds;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    const struct strobe_reader_thread *thread;
    struct jsonl_within *within; /* by depth */
    size_t within_room;
    uint32_t *path; /* names of a node and of those around it, innermost first */
    size_t path_room;
    struct strobe_wake_flow wake; /* of the wait that ends next; its waiter is STROBE_NO_THREAD when there is none */
    bool failed;
};

/* ---- lines */

void strobe_jsonl_key(struct strobe_jsonl *j, const char *key)
{
    strobe_outfile_text(j->out, ",\"");
    strobe_outfile_text(j->out, key);
    strobe_outfile_text(j->out, "\":");
}

static void jsonl_quote(struct strobe_jsonl *j, const char *text)
{
    strobe_outfile_text(j->out, "\"");
    strobe_outfile_json(j->out, text);
    strobe_outfile_text(j->out, "\"");
}

void strobe_jsonl_text(struct strobe_jsonl *j, const char *key, const char *text)
{
    strobe_jsonl_key(j, key);
    if (text)
        jsonl_quote(j, text);
    else
        strobe_outfile_text(j->out, "null");
}

void strobe_jsonl_number(struct strobe_jsonl *j, const char *key, uint64_t number)
{
    strobe_jsonl_key(j, key);
    strobe_outfile_number(j->out, number);
}

void strobe_jsonl_bool(struct strobe_jsonl *j, const char *key, bool value)
{
    strobe_jsonl_key(j, key);
    strobe_outfile_text(j->out, value ? "true" : "false");
}

void strobe_jsonl_null(struct strobe_jsonl *j, const char *key)
{
    strobe_jsonl_text(j, key, NULL);
}

void strobe_jsonl_real(struct strobe_jsonl *j, double value)
{
    char digits[32] = "null";
    if (isfinite(value))
        snprintf(digits, sizeof digits, "%.15g", value);
    strobe_outfile_text(j->out, digits);
}

void strobe_jsonl_time(struct strobe_jsonl *j, const char *key, uint64_t time_ns)
{
    strobe_jsonl_number(j, key, time_ns > j->begin_ns ? time_ns - j->begin_ns : 0);
}

void strobe_jsonl_begin(struct strobe_jsonl *j, enum strobe_jsonl_kind kind)
{
    strobe_outfile_text(j->out, "{\"kind\":\"");
    strobe_outfile_text(j->out, strobe_jsonl_kind_name[__builtin_ctz(kind)]);
    strobe_outfile_text(j->out, "\"");
    for (size_t i = 0; i < j->label_count; i++)
        strobe_jsonl_text(j, j->labels[i].key, j->labels[i].value);
    strobe_jsonl_number(j, "pid", j->pid);
}

void strobe_jsonl_end(struct strobe_jsonl *j)
{
    strobe_outfile_text(j->out, "}\n");
}

/* ---- fields that several kinds have */

static void jsonl_thread(struct jsonl_sink *s, const struct strobe_reader_thread *thread)
{
    strobe_jsonl_number(s->j, "tid", thread->tid);
    strobe_jsonl_text(s->j, "thread", thread->name);
    strobe_jsonl_bool(s->j, "is_main", thread->is_main);
}

/* Writes the names from the outermost to that of `node`. */
static void jsonl_path(struct jsonl_sink *s, const char *key, uint32_t node)
{
    const struct strobe_function_node *nodes = strobe_function_tree_node(s->tree, 0);
    size_t depth = nodes[node].depth, at = 0;
    strobe_jsonl_key(s->j, key);
    if (!strobe_array_reserve(&s->path, &s->path_room, depth)) {
        s->failed = true;
        depth = 0;
    }
    for (; at < depth; node = nodes[node].parent)
        s->path[at++] = nodes[node].name;
    strobe_outfile_text(s->j->out, "[");
    while (at--) {
        jsonl_quote(s->j, strobe_function_tree_name(s->tree, s->path[at])->text);
        strobe_outfile_text(s->j->out, at ? "," : "");
    }
    strobe_outfile_text(s->j->out, "]");
}

static void jsonl_span(struct strobe_jsonl *j, uint64_t begin_ns, uint64_t end_ns)
{
    strobe_jsonl_time(j, "begin_ns", begin_ns);
    strobe_jsonl_time(j, "end_ns", end_ns);
    strobe_jsonl_number(j, "duration_ns", end_ns - begin_ns);
}

static void jsonl_cpu(struct jsonl_sink *s, const char *key, uint64_t cpu_ns)
{
    if (s->thread->first_cpu < s->thread->item_count)
        strobe_jsonl_number(s->j, key, cpu_ns);
    else
        strobe_jsonl_null(s->j, key);
}

/* ---- the sink */

static void jsonl_start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    s->reader = reader;
    s->tree = tree;
}

static void jsonl_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    s->thread = thread;
    s->wake.waiter = STROBE_NO_THREAD;
}

static void jsonl_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    if (!strobe_array_reserve(&s->within, &s->within_room, (size_t)slice->depth + 1))
        s->failed = true;
    else
        s->within[slice->depth] = (struct jsonl_within){0};
}

static void jsonl_wait(struct jsonl_sink *s, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    const struct strobe_wake_flow *wake = s->wake.waiter == STROBE_NO_THREAD ? NULL : &s->wake;
    const struct strobe_reader_thread *waker =
        wake && wake->waker < s->reader->thread_count ? &s->reader->threads[wake->waker] : NULL;
    char object[24];
    snprintf(object, sizeof object, "0x%" PRIx64, slice->arg);
    strobe_jsonl_begin(s->j, STROBE_JSONL_WAIT);
    jsonl_thread(s, s->thread);
    strobe_jsonl_text(s->j, "name", strobe_function_tree_name(s->tree, slice->name)->text);
    jsonl_path(s, "path", slice->node);
    jsonl_span(s->j, slice->begin.time_ns, now->time_ns);
    jsonl_cpu(s, "cpu_ns", now->cpu_ns - slice->begin.cpu_ns);
    strobe_jsonl_text(s->j, "object", slice->arg ? object : NULL);
    strobe_jsonl_bool(s->j, "unfinished", slice->unfinished);
    strobe_jsonl_bool(s->j, "blocked", !slice->no_wait);
    strobe_jsonl_text(s->j, "outcome", !wake ? NULL : waker ? "woken" : "not woken");
    strobe_jsonl_text(s->j, "waker_thread", waker ? waker->name : NULL);
    if (waker) {
        strobe_jsonl_number(s->j, "waker_tid", waker->tid);
        strobe_jsonl_time(s->j, "release_ns", wake->release_ns);
    } else {
        strobe_jsonl_null(s->j, "waker_tid");
        strobe_jsonl_null(s->j, "release_ns");
    }
    if (waker && wake->stack)
        jsonl_path(s, "waker_path", strobe_function_tree_of_stack(s->tree, wake->stack, 0));
    else
        strobe_jsonl_null(s->j, "waker_path");
    strobe_jsonl_end(s->j);
}

static void jsonl_slice(struct jsonl_sink *s, const struct strobe_slice *slice, const struct strobe_moment *now,
                        const struct jsonl_within *within)
{
    static const char *const classes[STROBE_SLICE_CLASS_COUNT] = {
        [STROBE_SLICE_FUNCTION] = "function",       [STROBE_SLICE_WAIT] = "wait",       [STROBE_SLICE_GAP] = "unseen",
        [STROBE_SLICE_PLACEHOLDER] = "placeholder", [STROBE_SLICE_OFF_CPU] = "off cpu",
    };
    const struct strobe_name *name = strobe_function_tree_name(s->tree, slice->name);
    uint64_t ns = now->time_ns - slice->begin.time_ns, cpu_ns = now->cpu_ns - slice->begin.cpu_ns;
    strobe_jsonl_begin(s->j, STROBE_JSONL_SLICE);
    jsonl_thread(s, s->thread);
    strobe_jsonl_text(s->j, "name", name->text);
    strobe_jsonl_text(s->j, "image", name->image[0] ? name->image : NULL);
    strobe_jsonl_text(s->j, "class", classes[slice->class]);
    strobe_jsonl_number(s->j, "depth", slice->depth);
    jsonl_path(s, "path", slice->node);
    jsonl_span(s->j, slice->begin.time_ns, now->time_ns);
    strobe_jsonl_number(s->j, "self_ns", ns - within->ns);
    jsonl_cpu(s, "cpu_ns", cpu_ns);
    jsonl_cpu(s, "self_cpu_ns", cpu_ns - within->cpu_ns);
    strobe_jsonl_number(s->j, "samples", slice->samples);
    strobe_jsonl_bool(s->j, "unfinished", slice->unfinished);
    strobe_jsonl_end(s->j);
}

static void jsonl_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    if (s->failed)
        return;
    if (s->kinds & STROBE_JSONL_SLICE)
        jsonl_slice(s, slice, now, &s->within[slice->depth]);
    if (slice->class == STROBE_SLICE_WAIT && s->kinds & STROBE_JSONL_WAIT)
        jsonl_wait(s, slice, now);
    s->wake.waiter = STROBE_NO_THREAD;
    if (slice->depth > 1) {
        s->within[slice->depth - 1].ns += now->time_ns - slice->begin.time_ns;
        s->within[slice->depth - 1].cpu_ns += now->cpu_ns - slice->begin.cpu_ns;
    }
}

static void jsonl_wake(struct strobe_sink *sink, const struct strobe_wake_flow *flow)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    if (!flow->at_waker)
        s->wake = *flow;
}

static void jsonl_samples(struct strobe_sink *sink, const struct strobe_samples *samples)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    if (s->failed || !(s->kinds & STROBE_JSONL_SAMPLE))
        return;
    strobe_jsonl_begin(s->j, STROBE_JSONL_SAMPLE);
    jsonl_thread(s, s->thread);
    jsonl_path(s, "path", strobe_function_tree_of_stack(s->tree, samples->stack, samples->incomplete));
    jsonl_span(s->j, samples->first_ns, samples->last_ns);
    strobe_jsonl_number(s->j, "count", samples->count);
    strobe_jsonl_bool(s->j, "incomplete", samples->incomplete != 0);
    strobe_jsonl_end(s->j);
}

static void jsonl_mark(struct strobe_sink *sink, const struct strobe_mark *mark)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    if (mark->is_counter || !mark->thread || !(s->kinds & STROBE_JSONL_SECTION))
        return;
    strobe_jsonl_begin(s->j, STROBE_JSONL_SECTION);
    jsonl_thread(s, mark->thread);
    strobe_jsonl_text(s->j, "name", mark->name);
    jsonl_span(s->j, mark->begin_ns, mark->end_ns);
    strobe_jsonl_end(s->j);
}

static void jsonl_thread_end(struct strobe_sink *sink)
{
    (void)sink;
}

static enum strobe_status jsonl_finish(struct strobe_sink *sink)
{
    struct jsonl_sink *s = (struct jsonl_sink *)sink;
    enum strobe_status status = s->failed ? STROBE_IO : STROBE_OK;
    free(s->within);
    free(s->path);
    free(s);
    return status;
}

struct strobe_sink *strobe_sink_jsonl(struct strobe_jsonl *j, unsigned kinds)
{
    struct jsonl_sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sink = (struct strobe_sink){.start = jsonl_start,
                                   .thread_begin = jsonl_thread_begin,
                                   .slice_begin = jsonl_slice_begin,
                                   .slice_end = jsonl_slice_end,
                                   .samples = jsonl_samples,
                                   .thread_end = jsonl_thread_end,
                                   .finish = jsonl_finish,
                                   .wake = jsonl_wake,
                                   .mark = jsonl_mark};
    s->j = j;
    s->kinds = kinds;
    return &s->sink;
}
