#include "engine/trace/sinks.h"

#include <stdlib.h>
#include <string.h>

struct folded {
    struct strobe_sink sink;
    struct strobe_outfile *out;
    struct strobe_function_tree *tree;
    const struct strobe_reader_thread *thread;
    uint64_t *self_ns;           /* by node of the function tree: time it was innermost in this thread */
    size_t node_room;
    uint32_t *touched;           /* nodes with self_ns not 0 in this thread, or once so */
    size_t touched_count, touched_room;
    uint64_t since_ns;           /* innermost is `node` since then */
    uint32_t node;
    int failed;
};

static int grow(struct folded *f, void *array, size_t needed, size_t *room, size_t item_bytes)
{
    if (needed <= *room)
        return 1;
    size_t more = *room * 2 > needed ? *room * 2 : needed + 1024;
    char *bigger = realloc(*(void **)array, more * item_bytes);
    if (!bigger) {
        f->failed = 1;
        return 0;
    }
    memset(bigger + *room * item_bytes, 0, (more - *room) * item_bytes);
    *(void **)array = bigger;
    *room = more;
    return 1;
}

/* Gives the time up to now to the innermost path, and goes on to the next. */
static void turn(struct folded *f, uint64_t time_ns, uint32_t node)
{
    if (f->node && time_ns > f->since_ns &&
        grow(f, &f->self_ns, (size_t)f->node + 1, &f->node_room, sizeof *f->self_ns) &&
        grow(f, &f->touched, f->touched_count + 1, &f->touched_room, sizeof *f->touched)) {
        if (!f->self_ns[f->node])
            f->touched[f->touched_count++] = f->node;
        f->self_ns[f->node] += time_ns - f->since_ns;
    }
    f->since_ns = time_ns;
    f->node = node;
}

static void start(struct strobe_sink *sink, const struct strobe_reader *reader, struct strobe_function_tree *tree)
{
    (void)reader;
    ((struct folded *)sink)->tree = tree;
}

static void thread_begin(struct strobe_sink *sink, const struct strobe_reader_thread *t)
{
    struct folded *f = (struct folded *)sink;
    f->thread = t;
    f->node = 0;
    f->touched_count = 0;
}

static void slice_begin(struct strobe_sink *sink, const struct strobe_slice *s)
{
    turn((struct folded *)sink, s->begin.time_ns, s->node);
}

static void slice_end(struct strobe_sink *sink, const struct strobe_slice *s, const struct strobe_moment *now)
{
    struct folded *f = (struct folded *)sink;
    turn(f, now->time_ns, strobe_function_tree_node(f->tree, s->node)->parent);
}

/* A frame's name; what separates frames and lines in this format becomes a colon and a blank. */
static void frame(struct folded *f, const char *text)
{
    while (*text) {
        size_t plain = strcspn(text, ";\n\r");
        strobe_outfile_write(f->out, text, plain);
        text += plain;
        if (*text)
            strobe_outfile_text(f->out, *text++ == ';' ? ":" : " ");
    }
}

static void line(struct folded *f, uint32_t leaf)
{
    uint32_t depth = strobe_function_tree_node(f->tree, leaf)->depth;
    uint32_t *path = malloc(((size_t)depth + 1) * sizeof *path);
    if (!path) {
        f->failed = 1;
        return;
    }
    for (uint32_t i = depth, node = leaf; i--; node = strobe_function_tree_node(f->tree, node)->parent)
        path[i] = strobe_function_tree_node(f->tree, node)->name;
    frame(f, f->thread->name);
    for (uint32_t i = 0; i < depth; i++) {
        strobe_outfile_text(f->out, ";");
        frame(f, strobe_function_tree_name(f->tree, path[i])->text);
    }
    free(path);
    strobe_outfile_text(f->out, " ");
    strobe_outfile_number(f->out, (f->self_ns[leaf] + 500) / 1000);
    strobe_outfile_text(f->out, "\n");
}

static void thread_end(struct strobe_sink *sink)
{
    struct folded *f = (struct folded *)sink;
    for (size_t i = 0; i < f->touched_count; i++) {
        if (f->self_ns[f->touched[i]] >= 500)
            line(f, f->touched[i]);
        f->self_ns[f->touched[i]] = 0;
    }
}

static enum strobe_status finish(struct strobe_sink *sink)
{
    struct folded *f = (struct folded *)sink;
    enum strobe_status status = f->failed ? STROBE_IO : STROBE_OK;
    free(f->self_ns);
    free(f->touched);
    free(f);
    return status;
}

struct strobe_sink *strobe_sink_folded(struct strobe_outfile *out)
{
    struct folded *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->sink = (struct strobe_sink){.start = start, .thread_begin = thread_begin, .slice_begin = slice_begin,
                                   .slice_end = slice_end, .thread_end = thread_end, .finish = finish};
    f->out = out;
    return &f->sink;
}
