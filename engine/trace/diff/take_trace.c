#include "engine/base/error_format.h"
#include "engine/trace/diff/take.h"

#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread of the trace, in the slice that is innermost now. */
struct trace_thread {
    uint32_t path;
    uint64_t since_ns, since_cpu_ns;
    int knows_cpu;
};

struct trace_taker {
    struct strobe_diff *d;
    struct strobe_diff_side *side;
    uint64_t first_ns, last_ns;
    struct trace_thread *threads;
    size_t thread_room;
    int failed;
};

static void note_range(void *ctx, const struct strobe_import_event *e)
{
    struct trace_taker *t = ctx;
    if (e->thread == STROBE_IMPORT_NO_THREAD)
        return;
    t->first_ns = e->time_ns < t->first_ns ? e->time_ns : t->first_ns;
    t->last_ns = e->time_ns > t->last_ns ? e->time_ns : t->last_ns;
}

static struct trace_thread *trace_thread_of(struct trace_taker *t, uint32_t thread)
{
    if (t->failed || thread == STROBE_IMPORT_NO_THREAD)
        return NULL;
    if (!strobe_array_reserve_zeroed(&t->threads, &t->thread_room, (size_t)thread + 1)) {
        t->failed = 1;
        return NULL;
    }
    return &t->threads[thread];
}

/* Adds the time since the thread's last event to its path. */
static void spend_trace_time(struct trace_taker *t, struct trace_thread *on, const struct strobe_import_event *e)
{
    uint64_t now_ns = e->time_ns > on->since_ns ? e->time_ns : on->since_ns;
    if (on->path && now_ns > on->since_ns) {
        strobe_diff_side_add(t->side, &t->side->wall, on->path, on->since_ns, now_ns, (double)(now_ns - on->since_ns));
        if (e->has_cpu && on->knows_cpu && e->cpu_ns > on->since_cpu_ns)
            strobe_diff_side_add(t->side, &t->side->cpu, on->path, on->since_ns, now_ns,
                                 (double)(e->cpu_ns - on->since_cpu_ns));
    }
    on->since_ns = now_ns;
    if (e->has_cpu) {
        on->since_cpu_ns = e->cpu_ns;
        on->knows_cpu = 1;
    }
}

static enum strobe_diff_kind kind_of_event(const struct strobe_import_event *e)
{
    static const struct {
        const char *category;
        enum strobe_slice_class class;
    } classes[] = {{"wait", STROBE_SLICE_WAIT}, {"gap", STROBE_SLICE_GAP}, {"off_cpu", STROBE_SLICE_OFF_CPU}};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (!strcmp(e->category, classes[i].category))
            return strobe_diff_kind_of(classes[i].class, e->name);
    return STROBE_DIFF_FUNCTION;
}

static void take_event_begin(void *ctx, const struct strobe_import_event *e)
{
    struct trace_taker *t = ctx;
    struct trace_thread *on = trace_thread_of(t, e->thread);
    if (!on)
        return;
    spend_trace_time(t, on, e);
    uint32_t method = strobe_diff_book_method(&t->d->book, e->name, "", kind_of_event(e));
    on->path = strobe_diff_book_path(&t->d->book, on->path, method);
    strobe_diff_side_call(t->side, on->path);
    t->failed |= t->d->book.failed || t->side->failed;
}

static void take_event_end(void *ctx, const struct strobe_import_event *e)
{
    struct trace_taker *t = ctx;
    struct trace_thread *on = trace_thread_of(t, e->thread);
    if (!on || !on->path)
        return;
    spend_trace_time(t, on, e);
    on->path = t->d->book.paths[on->path].parent;
}

/* Fails for a file that is no trace at all. */
static enum strobe_status check_trace(enum strobe_status status, const struct strobe_import_stats *stats,
                                      struct strobe_error *error)
{
    if (status == STROBE_BAD_INPUT && !stats->packets)
        strobe_error_set(error, "not a Strobe session or a Perfetto trace");
    return status;
}

enum strobe_status strobe_diff_take_trace(struct strobe_diff *d, unsigned side, const char *path,
                                          struct strobe_error *error)
{
    static const struct strobe_import_visitor range = {.slice_begin = note_range, .slice_end = note_range};
    static const struct strobe_import_visitor slices = {.slice_begin = take_event_begin, .slice_end = take_event_end};
    struct strobe_import_stats stats = {0};
    struct trace_taker t = {.d = d, .side = &d->sides[side], .first_ns = UINT64_MAX};
    enum strobe_status status = check_trace(strobe_import_perfetto(path, &range, &t, &stats, error), &stats, error);
    if (status != STROBE_OK)
        return status;
    if (!strobe_diff_side_begin(t.side, path, 1, t.first_ns, t.last_ns)) {
        strobe_error_set(error, "%s", strerror(ENOMEM));
        return STROBE_IO;
    }
    status = strobe_import_perfetto(path, &slices, &t, &stats, error);
    free(t.threads);
    if (status == STROBE_OK && (t.failed || t.side->failed)) {
        strobe_error_set(error, "%s", strerror(ENOMEM));
        status = STROBE_IO;
    }
    return status;
}
