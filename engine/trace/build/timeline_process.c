#include "engine/trace/build/timeline_process.h"

static void emit_values(const struct strobe_reader *r, struct strobe_sink *sink, struct strobe_timeline_stats *stats)
{
    for (size_t i = 0; i < r->counter_count && sink->value; i++) {
        const struct strobe_reader_counter *c = &r->counters[i];
        struct strobe_value v = {c->what, strobe_reader_ns(r, c->ticks), c->value};
        sink->value(sink, &v);
        stats->values++;
    }
}

static void emit_hitches(const struct strobe_reader *r, struct strobe_function_tree *tree, struct strobe_sink *sink,
                         struct strobe_timeline_stats *stats)
{
    for (size_t i = 0; i < r->hitch_count && sink->hitch; i++) {
        const struct strobe_reader_hitch *h = &r->hitches[i];
        struct strobe_late l = {strobe_reader_ns(r, h->begin_ticks), strobe_reader_ns(r, h->end_ticks), h->how,
                                h->thread, 0};
        if (i + 1 < r->hitch_count && h[1].begin_ticks < h->end_ticks)
            l.end_ns = strobe_reader_ns(r, h[1].begin_ticks);
        if (l.end_ns <= l.begin_ns)
            continue;
        l.node = h->stack ? strobe_function_tree_of_stack(tree, h->stack, 0) : 0;
        sink->hitch(sink, &l);
        stats->hitches++;
    }
}

void strobe_timeline_process(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                             struct strobe_sink *sink, struct strobe_timeline_stats *stats)
{
    emit_values(reader, sink, stats);
    emit_hitches(reader, tree, sink, stats);
}
