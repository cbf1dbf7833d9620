#include "engine/base/error_format.h"
#include "engine/trace/diff/take.h"

#include "engine/trace/build/timeline.h"
#include "engine/trace/model/allocations.h"
#include "engine/trace/model/sink_threads.h"
#include "engine/trace/session/session_set.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sink that adds the timeline of a session to a side. */
struct session_taker {
    struct strobe_sink sink;
    struct strobe_diff *d;
    struct strobe_diff_side *side;
    unsigned side_number;
    const struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_function_tree *tree;
    struct {
        uint32_t number; /* of the book, + 1; 0 = not looked up yet */
        uint8_t class;   /* enum strobe_slice_class */
    } * methods;         /* by name of the tree */
    size_t method_room;
    uint32_t *paths; /* by node of the tree: number of the book; 0 = not looked up yet */
    size_t path_room;
    uint32_t path; /* of the innermost slice */
    struct strobe_moment since;
    int failed;
};

static void note_class(struct session_taker *t, uint32_t name, enum strobe_slice_class class)
{
    if (strobe_array_reserve_zeroed(&t->methods, &t->method_room, (size_t)name + 1))
        t->methods[name].class = (uint8_t) class;
    else
        t->failed = 1;
}

static uint32_t number_of_name(struct session_taker *t, uint32_t name)
{
    if (!strobe_array_reserve_zeroed(&t->methods, &t->method_room, (size_t)name + 1)) {
        t->failed = 1;
        return 0;
    }
    if (!t->methods[name].number) {
        const struct strobe_name *n = strobe_function_tree_name(t->tree, name);
        enum strobe_slice_class class = name < STROBE_KIND_COUNT ? STROBE_SLICE_WAIT : t->methods[name].class;
        t->methods[name].number =
            strobe_diff_book_method(&t->d->book, n->text, n->image, strobe_diff_kind_of(class, n->text)) + 1;
    }
    return t->methods[name].number - 1;
}

/* Returns the book's path of a node. Looks the nodes around it up first. */
static uint32_t path_of_node(struct session_taker *t, uint32_t node)
{
    if (node && !strobe_array_reserve_zeroed(&t->paths, &t->path_room, (size_t)node + 1))
        t->failed = 1;
    if (!node || t->failed)
        return 0;
    for (uint32_t unknown; !t->paths[node];) {
        const struct strobe_function_node *nodes = strobe_function_tree_node(t->tree, 0);
        for (unknown = node; nodes[unknown].parent && !t->paths[nodes[unknown].parent];)
            unknown = nodes[unknown].parent;
        uint32_t parent = nodes[unknown].parent;
        t->paths[unknown] =
            strobe_diff_book_path(&t->d->book, parent ? t->paths[parent] : 0, number_of_name(t, nodes[unknown].name));
        if (t->failed || t->d->book.failed)
            return 0;
    }
    return t->paths[node];
}

/* Adds the time since the last change to the innermost slice's path. A trace has the CPU time of slices only. Beside
 * one, the CPU time of a session is that of slices too. */
static void spend_time(struct session_taker *t, const struct strobe_moment *now)
{
    const struct strobe_moment *since = &t->since;
    if (t->path && now->time_ns > since->time_ns) {
        strobe_diff_side_add(t->side, &t->side->wall, t->path, since->time_ns, now->time_ns,
                             (double)(now->time_ns - since->time_ns));
        if (t->d->options.names_only && now->cpu_ns > since->cpu_ns)
            strobe_diff_side_add(t->side, &t->side->cpu, t->path, since->time_ns, now->time_ns,
                                 (double)(now->cpu_ns - since->cpu_ns));
    }
    t->since = *now;
}

static void taker_start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    (void)sink, (void)reader, (void)tree;
}

static void taker_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *thread)
{
    (void)thread;
    ((struct session_taker *)sink)->path = 0;
}

static void taker_slice_begin(struct strobe_sink *sink, const struct strobe_slice *slice)
{
    struct session_taker *t = (struct session_taker *)sink;
    spend_time(t, &slice->begin);
    note_class(t, slice->name, slice->class);
    t->path = path_of_node(t, slice->node);
    strobe_diff_side_call(t->side, t->path);
}

static void taker_slice_end(struct strobe_sink *sink, const struct strobe_slice *slice, const struct strobe_moment *now)
{
    struct session_taker *t = (struct session_taker *)sink;
    spend_time(t, now);
    t->path = path_of_node(t, strobe_function_tree_node(t->tree, slice->node)->parent);
}

static void taker_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    struct session_taker *t = (struct session_taker *)sink;
    uint32_t path = path_of_node(t, s->node);
    if (path && !t->d->options.names_only)
        strobe_diff_side_add(t->side, &t->side->cpu, path, s->begin_ns, s->end_ns, (double)s->cpu_ns);
}

static void taker_hitch(struct strobe_sink *sink, const struct strobe_late *l)
{
    struct session_taker *t = (struct session_taker *)sink;
    double late_ns = (double)(l->end_ns - l->begin_ns);
    strobe_diff_add_figure(t->d, t->side_number, "run loop late", "ns", 1, late_ns);
}

static void taker_mark(struct strobe_sink *sink, const struct strobe_mark *m)
{
    struct session_taker *t = (struct session_taker *)sink;
    if (m->is_counter || !m->thread || (t->d->options.thread && !strobe_is_thread(m->thread, t->d->options.thread)))
        return;
    uint32_t section = strobe_text_number(&t->d->book.sections, m->name, strlen(m->name));
    if (section == UINT32_MAX)
        t->failed = 1;
    else
        strobe_diff_side_add(t->side, &t->side->sections, section, m->begin_ns, m->end_ns,
                             (double)(m->end_ns - m->begin_ns));
}

static enum strobe_status taker_finish(struct strobe_sink *sink)
{
    struct session_taker *t = (struct session_taker *)sink;
    return t->failed || t->side->failed || t->d->book.failed ? STROBE_IO : STROBE_OK;
}

static int taker_in_syscall(void *ctx, uint64_t return_address, struct strobe_symbol *out)
{
    return strobe_symbols_in_syscall(ctx, return_address, out);
}

/* Adds what a thread allocated in one column. */
static enum strobe_status take_thread_allocations(struct session_taker *t, const struct strobe_reader_thread *thread,
                                                  uint32_t column, uint64_t from_ns, uint64_t to_ns)
{
    struct strobe_allocation_sum sum = {0};
    enum strobe_status status = strobe_allocations_add(&sum, t->reader, thread, t->tree, from_ns, to_ns);
    for (uint32_t node = 1; status == STROBE_OK && node < sum.node_room; node++)
        if (sum.of_node[node].bytes)
            strobe_diff_grid_add(t->side, &t->side->alloc, path_of_node(t, node), column,
                                 (double)sum.of_node[node].bytes);
    strobe_allocations_free(&sum);
    return status;
}

static enum strobe_status take_allocations(struct session_taker *t)
{
    struct strobe_diff_side *s = t->side;
    uint64_t begin_ns = strobe_reader_ns(t->reader, t->reader->first_ticks);
    uint64_t late_ns = begin_ns > s->begin_ns ? begin_ns - s->begin_ns : 0; /* of a later process */
    double block_ns = s->block_ns * s->block_count / STROBE_DIFF_ALLOC_BLOCKS;
    uint32_t columns = s->block_count ? STROBE_DIFF_ALLOC_BLOCKS : 1;
    enum strobe_status status = STROBE_OK;
    for (uint32_t i = 0; i < t->reader->thread_count; i++) {
        const struct strobe_reader_thread *thread = &t->reader->threads[i];
        if (!t->reader->metrics_count || (t->d->options.thread && !strobe_is_thread(thread, t->d->options.thread)))
            continue;
        for (uint32_t c = 0; c < columns && status == STROBE_OK; c++) {
            uint64_t from_ns = c ? (uint64_t)(block_ns * c) : 0;
            uint64_t to_ns = c + 1 < columns ? (uint64_t)(block_ns * (c + 1)) : UINT64_MAX;
            if (to_ns > late_ns)
                status = take_thread_allocations(t, thread, s->block_count ? c : (uint32_t)s->capture_count - 1,
                                                 from_ns > late_ns ? from_ns - late_ns : 0,
                                                 to_ns == UINT64_MAX ? to_ns : to_ns - late_ns);
        }
    }
    return status;
}

/* A thread that the options select is in the session, or all are. */
static int has_selected_thread(const struct strobe_diff *d, const struct strobe_reader *reader)
{
    for (uint32_t i = 0; d->options.thread && i < reader->thread_count; i++)
        if (strobe_is_thread(&reader->threads[i], d->options.thread))
            return 1;
    return !d->options.thread;
}

static enum strobe_status take_timeline(struct session_taker *t)
{
    const struct strobe_timeline_options how = {.no_samples = 1};
    enum strobe_status status =
        strobe_symbols_open(&t->reader->session, t->d->options.symbols | STROBE_SYMBOLS_NO_LINES, &t->symbols);
    if (status == STROBE_OK)
        status = strobe_function_tree_open(&t->reader->session.stacks, strobe_symbols_resolver(t->symbols), &t->tree);
    if (status != STROBE_OK)
        return status;
    strobe_function_tree_show_syscalls(t->tree, taker_in_syscall);
    struct strobe_sink *sink = &t->sink;
    if (t->d->options.thread)
        sink = strobe_sink_threads(sink, t->d->options.thread);
    status = sink ? strobe_timeline_build(t->reader, t->tree, &how, sink, NULL) : STROBE_IO;
    if (status == STROBE_OK)
        status = take_allocations(t);
    if (status == STROBE_OK && t->d->options.visit)
        status = t->d->options.visit(t->d, t->side_number, t->reader, t->tree);
    return status == STROBE_OK && !t->failed && !t->side->failed && !t->d->book.failed
               ? strobe_function_tree_status(t->tree)
               : STROBE_IO;
}

static enum strobe_status take_session(struct strobe_diff *d, unsigned side, const struct strobe_reader *reader)
{
    struct session_taker t = {.sink = {.start = taker_start,
                                       .thread_begin = taker_thread_begin,
                                       .slice_begin = taker_slice_begin,
                                       .slice_end = taker_slice_end,
                                       .finish = taker_finish,
                                       .hitch = taker_hitch,
                                       .mark = taker_mark,
                                       .cpu = taker_cpu},
                              .d = d,
                              .side = &d->sides[side],
                              .side_number = side,
                              .reader = reader};
    enum strobe_status status = take_timeline(&t);
    strobe_function_tree_close(t.tree);
    strobe_symbols_close(t.symbols);
    free(t.methods);
    free(t.paths);
    return status;
}

static enum strobe_status say_no_memory(struct strobe_error *error)
{
    strobe_error_set(error, "%s", strerror(ENOMEM));
    return STROBE_IO;
}

/* Opens a session of a set. In the error of a directory's session, its file is named. */
static enum strobe_status open_of_set(const struct strobe_session_set *set, size_t i, struct strobe_reader **reader,
                                      struct strobe_error *error)
{
    struct strobe_error why = {""};
    enum strobe_status status = strobe_reader_open(set->paths[i], reader, &why);
    if (status != STROBE_OK && set->count > 1)
        strobe_error_set(error, "%s: %s", set->paths[i], why.text);
    else if (status != STROBE_OK)
        strobe_error_set(error, "%s", why.text);
    return status;
}

static void widen_set_range(uint64_t range[2], const struct strobe_reader *reader)
{
    uint64_t begin_ns = strobe_reader_ns(reader, reader->first_ticks);
    uint64_t end_ns = begin_ns + strobe_reader_span_ns(reader, reader->last_ticks - reader->first_ticks);
    range[0] = begin_ns < range[0] ? begin_ns : range[0];
    range[1] = end_ns > range[1] ? end_ns : range[1];
}

/* Reads the sessions of `set`. A first pass finds the time that they cover. It leaves the last session open, so that
 * the session of a set of one is opened once. */
static enum strobe_status take_set(struct strobe_diff *d, unsigned side, const char *path,
                                   const struct strobe_session_set *set, struct strobe_error *error)
{
    struct strobe_reader *reader = NULL;
    uint64_t range[2] = {UINT64_MAX, 0};
    enum strobe_status status = STROBE_OK;
    int found = 0;
    for (size_t i = 0; i < set->count && status == STROBE_OK; i++) {
        strobe_reader_close(reader);
        reader = NULL;
        status = open_of_set(set, i, &reader, error);
        if (status == STROBE_OK) {
            widen_set_range(range, reader);
            found |= has_selected_thread(d, reader);
        }
    }
    if (status == STROBE_OK && !found) {
        strobe_error_set(error, "no thread has the name or tid %s", d->options.thread);
        status = STROBE_NO_ENTRY;
    }
    if (status == STROBE_OK && !strobe_diff_side_begin(&d->sides[side], path, 0, range[0], range[1]))
        status = say_no_memory(error);
    for (size_t i = set->count; i-- > 0 && status == STROBE_OK;) {
        if (!reader)
            status = open_of_set(set, i, &reader, error);
        if (status == STROBE_OK && take_session(d, side, reader) != STROBE_OK)
            status = say_no_memory(error);
        strobe_reader_close(reader);
        reader = NULL;
    }
    strobe_reader_close(reader);
    return status;
}

enum strobe_status strobe_diff_take_sessions(struct strobe_diff *d, unsigned side, const char *path,
                                             struct strobe_error *error)
{
    struct strobe_session_set set;
    enum strobe_status status = strobe_session_set_list(path, &set);
    if (status != STROBE_OK) {
        strobe_error_set(error, "%s", status == STROBE_NO_ENTRY ? "a folder without sessions" : strerror(errno));
        return status;
    }
    status = take_set(d, side, path, &set, error);
    strobe_session_set_free(&set);
    return status;
}
