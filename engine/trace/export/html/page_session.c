#include "engine/trace/export/html/page_session.h"

#include "engine/base/error_format.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/export/html/page_flame.h"
#include "engine/trace/export/html/page_tracks.h"
#include "engine/trace/model/sink_threads.h"
#include "engine/trace/model/sink_window.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Amounts of a path of the function tree. */
struct page_weights {
    uint64_t wall_ns, cpu_ns;
};

struct strobe_page_session {
    struct strobe_sink sink;
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_function_tree *tree;
    struct strobe_allocation_sum allocations;
    uint64_t origin_ns, begin_ns, end_ns; /* origin: of the session. The part, since then */

    struct strobe_page_tracks tracks;
    struct strobe_page_names names;
    struct strobe_page_flame flame;
    unsigned char *classes; /* by name of the tree: class of its slices */
    size_t class_room;
    struct page_weights *weights; /* by node of the tree */
    size_t weight_room;

    uint32_t node; /* of the thread: innermost since `since` */
    struct strobe_moment first, since;
    int has_slice; /* `first` is set */
    uint32_t open; /* open slices */
    uint64_t open_ns;
    int failed;
};

static struct page_weights *weights_of(struct strobe_page_session *s, uint32_t node)
{
    static struct page_weights lost; /* takes amounts when memory is short */
    if (strobe_array_reserve_zeroed(&s->weights, &s->weight_room, (size_t)node + 1))
        return &s->weights[node];
    s->failed = 1;
    return &lost;
}

/* Adds the time since the last change to the innermost path, and makes `node` innermost. */
static void enter_page_node(struct strobe_page_session *s, const struct strobe_moment *now, uint32_t node)
{
    if (s->node && now->time_ns > s->since.time_ns)
        weights_of(s, s->node)->wall_ns += now->time_ns - s->since.time_ns;
    s->since = *now;
    s->node = node;
}

static void page_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    struct strobe_page_session *s = (struct strobe_page_session *)sink;
    s->node = s->open = 0;
    s->has_slice = 0;
    s->open_ns = 0;
    s->since = (struct strobe_moment){0};
    strobe_page_track_begin(&s->tracks, thread);
}

static void page_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct strobe_page_session *s = (struct strobe_page_session *)sink;
    if (!s->has_slice)
        s->first = slice->begin;
    s->has_slice = 1;
    s->open++;
    enter_page_node(s, &slice->begin, slice->node);
    if (strobe_array_reserve_zeroed(&s->classes, &s->class_room, (size_t)slice->name + 1))
        s->classes[slice->name] = (unsigned char)slice->class;
    else
        s->failed = 1;
}

static void page_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    struct strobe_page_session *s = (struct strobe_page_session *)sink;
    uint64_t begin_ns = slice->begin.time_ns > s->origin_ns ? slice->begin.time_ns - s->origin_ns : 0;
    uint64_t length_ns = now->time_ns > slice->begin.time_ns ? now->time_ns - slice->begin.time_ns : 0;
    enter_page_node(s, now, strobe_function_tree_node(s->tree, slice->node)->parent);
    strobe_page_track_slice(&s->tracks, slice->depth, begin_ns, begin_ns + length_ns, slice->name);
    if (s->open && !--s->open)
        s->open_ns += length_ns;
}

static void page_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *share)
{
    struct strobe_page_session *s = (struct strobe_page_session *)sink;
    if (share->node)
        weights_of(s, share->node)->cpu_ns += share->cpu_ns;
}

static void page_thread_end(struct strobe_sink *sink)
{
    struct strobe_page_session *s = (struct strobe_page_session *)sink;
    uint64_t cpu_ns = s->has_slice ? s->since.cpu_ns - s->first.cpu_ns : 0;
    strobe_page_track_end(&s->tracks, cpu_ns, s->open_ns);
}

static void page_start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    (void)sink;
    (void)reader;
    (void)tree;
}

static enum strobe_status page_finish(struct strobe_sink *sink)
{
    struct strobe_page_session *s = (struct strobe_page_session *)sink;
    enum strobe_status status = strobe_page_tracks_finish(&s->tracks);
    return s->failed ? STROBE_IO : status;
}

static int page_in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    return strobe_symbols_in_syscall(ctx, return_address, out);
}

static uint32_t page_name_of(void *ctx, uint32_t name)
{
    struct strobe_page_session *s = ctx;
    const struct strobe_name *n = strobe_function_tree_name(s->tree, name);
    unsigned class = name < s->class_room ? s->classes[name] : STROBE_SLICE_FUNCTION;
    return strobe_page_name(&s->names, name, n->text, n->image, (enum strobe_slice_class) class);
}

enum { PAGE_WALL, PAGE_CPU, PAGE_ALLOC };

static void page_path_of(void *ctx, uint32_t path, uint32_t *parent, double amounts[STROBE_PAGE_COLUMNS_MOST])
{
    struct strobe_page_session *s = ctx;
    *parent = strobe_function_tree_node(s->tree, path)->parent;
    if (path < s->weight_room) {
        amounts[PAGE_WALL] = (double)s->weights[path].wall_ns;
        amounts[PAGE_CPU] = (double)s->weights[path].cpu_ns;
    }
    if (path < s->allocations.node_room)
        amounts[PAGE_ALLOC] = (double)s->allocations.of_node[path].bytes;
}

static uint32_t page_path_name(void *ctx, uint32_t path)
{
    struct strobe_page_session *s = ctx;
    return page_name_of(s, strobe_function_tree_node(s->tree, path)->name);
}

static enum strobe_status emit_page_timeline(struct strobe_page_session *s, const struct strobe_report_options *o)
{
    struct strobe_timeline_options timeline = {.gap_ns = o->gap_ns, .repair = o->repair, .no_samples = 1};
    struct strobe_window_stats written;
    struct strobe_sink *sink = &s->sink;
    s->sink = (struct strobe_sink){.start = page_start,
                                   .thread_begin = page_thread_begin,
                                   .slice_begin = page_slice_begin,
                                   .slice_end = page_slice_end,
                                   .thread_end = page_thread_end,
                                   .cpu = page_cpu,
                                   .finish = page_finish};
    if (o->from_ns || o->to_ns)
        sink = strobe_sink_window(sink, (struct strobe_window_times){o->from_ns, o->to_ns ? o->to_ns : UINT64_MAX},
                                  &written);
    if (sink && o->thread)
        sink = strobe_sink_threads(sink, o->thread);
    return sink ? strobe_timeline_build(s->reader, s->tree, &timeline, sink, NULL) : STROBE_IO;
}

static enum strobe_status add_page_allocations(struct strobe_page_session *s, const struct strobe_report_options *o)
{
    enum strobe_status status = STROBE_OK;
    for (uint32_t i = 0; i < s->reader->thread_count && status == STROBE_OK; i++)
        if (!o->thread || strobe_is_thread(&s->reader->threads[i], o->thread))
            status = strobe_allocations_add(&s->allocations, s->reader, &s->reader->threads[i], s->tree, o->from_ns,
                                            o->to_ns ? o->to_ns : UINT64_MAX);
    return status;
}

static enum strobe_status build_page_session(struct strobe_page_session *s, const struct strobe_report_options *o)
{
    const struct strobe_reader *r = s->reader;
    uint64_t span_ns = strobe_reader_span_ns(r, r->last_ticks - r->first_ticks);
    s->origin_ns = strobe_reader_ns(r, r->first_ticks);
    s->end_ns = o->to_ns && o->to_ns < span_ns ? o->to_ns : span_ns;
    s->begin_ns = o->from_ns < s->end_ns ? o->from_ns : s->end_ns;
    strobe_page_tracks_open(&s->tracks, s->end_ns - s->begin_ns);
    enum strobe_status status = strobe_symbols_open(&r->session, o->symbols | STROBE_SYMBOLS_NO_LINES, &s->symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&r->session.stacks, strobe_symbols_resolver(s->symbols), &s->tree);
    if (status == STROBE_OK)
        strobe_function_tree_show_syscalls(s->tree, page_in_syscall);
    if (status == STROBE_OK)
        status = emit_page_timeline(s, o);
    if (status == STROBE_OK)
        status = add_page_allocations(s, o);
    if (status == STROBE_OK)
        status = strobe_page_flame_build(&s->flame,
                                         &(struct strobe_page_paths){.count = strobe_function_tree_node_count(s->tree),
                                                                     .path = page_path_of,
                                                                     .name = page_path_name,
                                                                     .ctx = s,
                                                                     .columns = s->allocations.all.bytes ? 3 : 2,
                                                                     .column_names = {"wall", "cpu", "alloc"}});
    if (status == STROBE_OK)
        status = strobe_function_tree_status(s->tree);
    return status == STROBE_OK ? strobe_page_session_status(s) : status;
}

enum strobe_status strobe_page_session_open(const char *path, const struct strobe_report_options *options,
                                            struct strobe_page_session **out, struct strobe_error *error)
{
    struct strobe_page_session *s = *out = calloc(1, sizeof *s);
    enum strobe_status status = STROBE_IO;
    strobe_error_set(error, "%s", strerror(ENOMEM));
    if (s)
        status = strobe_reader_open(path, &s->reader, error);
    if (status == STROBE_OK) {
        status = build_page_session(s, options);
        if (status != STROBE_OK)
            strobe_error_set(error, "%s", strerror(ENOMEM));
    }
    if (status != STROBE_OK) {
        strobe_page_session_close(s);
        *out = NULL;
    }
    return status;
}

void strobe_page_session_print(struct strobe_page_session *s, FILE *out)
{
    struct strobe_json json = {.out = out, .one_line = 1}, *j = &json;
    strobe_json_object(j, NULL);
    strobe_json_uint(j, "begin_ns", s->begin_ns);
    strobe_json_uint(j, "end_ns", s->end_ns);
    strobe_page_tracks_write(&s->tracks, "timeline", j, page_name_of, s);
    strobe_page_flame_write(&s->flame, "flame", j);
    strobe_page_names_write(&s->names, "names", j); /* last, because the timeline adds names */
    strobe_json_object_end(j);
}

enum strobe_status strobe_page_session_status(const struct strobe_page_session *s)
{
    return s->failed || s->names.failed || s->tracks.failed ? STROBE_IO : STROBE_OK;
}

void strobe_page_session_close(struct strobe_page_session *s)
{
    if (!s)
        return;
    strobe_page_tracks_free(&s->tracks);
    strobe_page_names_free(&s->names);
    strobe_page_flame_free(&s->flame);
    strobe_allocations_free(&s->allocations);
    free(s->classes);
    free(s->weights);
    strobe_function_tree_close(s->tree);
    strobe_symbols_close(s->symbols);
    strobe_reader_close(s->reader);
    free(s);
}
