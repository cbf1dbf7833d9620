#include "engine/trace/export/sinks.h"

#include "engine/trace/model/allocations.h"
#include "engine/util/array.h"

#include <stdlib.h>
#include <string.h>

struct folded {
    struct strobe_sink sink;
    struct strobe_outfile *out;
    struct strobe_function_tree *tree;
    const struct strobe_reader_thread *thread;
    struct strobe_folded_options options;
    const struct strobe_reader *reader;
    uint64_t *weight_of; /* by node of the function tree: time in ns as innermost node of this thread, or bytes */
    size_t node_room;
    uint32_t *touched; /* nodes that got weight in this thread */
    size_t touched_count, touched_room;
    struct strobe_moment since; /* `node` is innermost since this moment */
    uint32_t node;
    int failed;
};

static void add_weight(struct folded *f, uint32_t node, uint64_t weight)
{
    if (node && weight &&
        !(f->failed |= !strobe_array_reserve_zeroed(&f->weight_of, &f->node_room, (size_t)node + 1)) &&
        !(f->failed |= !strobe_array_reserve_zeroed(&f->touched, &f->touched_room, f->touched_count + 1))) {
        if (!f->weight_of[node])
            f->touched[f->touched_count++] = node;
        f->weight_of[node] += weight;
    }
}

/* Adds the time since the last change to the innermost node, and makes `node` innermost. */
static void advance_to(struct folded *f, const struct strobe_moment *now, uint32_t node)
{
    uint64_t wall_ns = now->time_ns > f->since.time_ns ? now->time_ns - f->since.time_ns : 0;
    uint64_t cpu_ns = now->cpu_ns > f->since.cpu_ns ? now->cpu_ns - f->since.cpu_ns : 0;
    switch (f->options.weight) {
    case STROBE_WEIGHT_WALL: add_weight(f, f->node, wall_ns); break;
    case STROBE_WEIGHT_CPU: break;
    case STROBE_WEIGHT_OFF_CPU: add_weight(f, f->node, wall_ns > cpu_ns ? wall_ns - cpu_ns : 0); break;
    case STROBE_WEIGHT_ALLOC: break;
    }
    f->since = *now;
    f->node = node;
}

static void folded_start(struct strobe_sink *sink, const struct strobe_reader *reader,
                         struct strobe_function_tree *tree)
{
    struct folded *f = (struct folded *)sink;
    f->reader = reader;
    f->tree = tree;
}

static void folded_thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct folded *f = (struct folded *)sink;
    f->thread = t;
    f->node = 0;
    f->touched_count = 0;
}

static void folded_slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    advance_to((struct folded *)sink, &s->begin, s->node);
}

static void folded_slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct folded *f = (struct folded *)sink;
    advance_to(f, now, strobe_function_tree_node(f->tree, s->node)->parent);
}

static void folded_cpu(struct strobe_sink *sink, const struct strobe_cpu_share *s)
{
    add_weight((struct folded *)sink, s->node, s->cpu_ns);
}

/* Writes a frame's name of at most `bytes` bytes. The separators of frames and lines become a colon and a blank. */
static void write_frame_text(struct folded *f, const char *text, size_t bytes)
{
    for (size_t i = 0, from = 0; i <= bytes; i++) {
        if (i < bytes && !strchr(";\n\r", text[i]))
            continue;
        strobe_outfile_write(f->out, text + from, i - from);
        if (i < bytes)
            strobe_outfile_text(f->out, text[i] == ';' ? ":" : " ");
        from = i + 1;
    }
}

static void write_folded_frame(struct folded *f, const char *text)
{
    write_frame_text(f, text, strlen(text));
}

/* If there are several processes, the root of a stack is the program's name. */
static void write_root(struct folded *f)
{
    size_t bytes;
    const char *name = strobe_sink_process_name(f->reader->session.header, &bytes);
    write_frame_text(f, name, bytes);
    strobe_outfile_text(f->out, ";");
}

static void write_line(struct folded *f, uint32_t leaf)
{
    uint32_t depth = strobe_function_tree_node(f->tree, leaf)->depth;
    uint32_t *path = malloc(((size_t)depth + 1) * sizeof *path);
    if (!path) {
        f->failed = 1;
        return;
    }
    for (uint32_t i = depth, node = leaf; i--; node = strobe_function_tree_node(f->tree, node)->parent)
        path[i] = strobe_function_tree_node(f->tree, node)->name;
    if (f->sink.several)
        write_root(f);
    write_folded_frame(f, f->thread->name);
    for (uint32_t i = 0; i < depth; i++) {
        strobe_outfile_text(f->out, ";");
        write_folded_frame(f, strobe_function_tree_name(f->tree, path[i])->text);
    }
    free(path);
    strobe_outfile_text(f->out, " ");
    int bytes = f->options.weight == STROBE_WEIGHT_ALLOC;
    strobe_outfile_number(f->out, bytes ? f->weight_of[leaf] : (f->weight_of[leaf] + 500) / 1000);
    strobe_outfile_text(f->out, "\n");
}

static void add_allocation_weights(struct folded *f)
{
    struct strobe_allocation_sum sum = {0};
    if (strobe_allocations_add(&sum, f->reader, f->thread, f->tree, f->options.from_ns, f->options.to_ns) != STROBE_OK)
        f->failed = 1;
    for (size_t i = 0; i < sum.node_room; i++)
        add_weight(f, (uint32_t)i, sum.of_node[i].bytes);
    strobe_allocations_free(&sum);
}

static void folded_thread_end(struct strobe_sink *sink)
{
    struct folded *f = (struct folded *)sink;
    if (f->options.weight == STROBE_WEIGHT_ALLOC)
        add_allocation_weights(f);
    uint64_t least = f->options.weight == STROBE_WEIGHT_ALLOC ? 1 : 500;
    for (size_t i = 0; i < f->touched_count; i++) {
        if (f->weight_of[f->touched[i]] >= least)
            write_line(f, f->touched[i]);
        f->weight_of[f->touched[i]] = 0;
    }
}

static enum strobe_status folded_finish(struct strobe_sink *sink)
{
    struct folded *f = (struct folded *)sink;
    enum strobe_status status = f->failed ? STROBE_IO : STROBE_OK;
    free(f->weight_of);
    free(f->touched);
    free(f);
    return status;
}

struct strobe_sink *strobe_sink_folded(struct strobe_outfile *out)
{
    return strobe_sink_folded_by(out, &(struct strobe_folded_options){STROBE_WEIGHT_WALL, 0, UINT64_MAX});
}

struct strobe_sink *strobe_sink_folded_by(struct strobe_outfile *out, const struct strobe_folded_options *options)
{
    struct folded *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->sink = (struct strobe_sink){.start = folded_start,
                                   .thread_begin = folded_thread_begin,
                                   .slice_begin = folded_slice_begin,
                                   .slice_end = folded_slice_end,
                                   .thread_end = folded_thread_end,
                                   .finish = folded_finish,
                                   .cpu = options->weight == STROBE_WEIGHT_CPU ? folded_cpu : NULL};
    f->out = out;
    f->options = *options;
    return &f->sink;
}
