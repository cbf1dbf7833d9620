#include "engine/include/strobe/session.h"

#include "engine/store/stack_table.h"
#include "engine/trace/session/reader.h"
#include "engine/trace/symbols/symbols.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert((unsigned)STROBE_VIEW_INLINES == STROBE_SYMBOLS_INLINES, "options pass through");
_Static_assert((unsigned)STROBE_VIEW_NO_LINES == STROBE_SYMBOLS_NO_LINES, "options pass through");

struct strobe_view {
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_view_info info;
    struct strobe_view_thread *threads;
};

/* Returns the time of `ticks` in ns. Ticks after the session's end give its end. */
static uint64_t view_time_ns(const struct strobe_reader *r, uint64_t ticks)
{
    return strobe_reader_ns(r, ticks < r->last_ticks ? ticks : r->last_ticks);
}

static void view_describe_session(struct strobe_view *view)
{
    const struct strobe_reader *r = view->reader;
    view->info = (struct strobe_view_info){.pid = r->session.header->pid,
                                           .program = r->session.header->exe,
                                           .begin_ns = strobe_reader_ns(r, r->first_ticks),
                                           .end_ns = strobe_reader_ns(r, r->last_ticks),
                                           .threads = r->thread_count,
                                           .closed = r->closed,
                                           .samples = r->samples,
                                           .lost = r->overwrote + r->dropped};
}

static void view_describe_threads(struct strobe_view *view)
{
    for (uint32_t i = 0; i < view->info.threads; i++) {
        const struct strobe_reader_thread *t = &view->reader->threads[i];
        view->threads[i] = (struct strobe_view_thread){.tid = t->tid,
                                                       .name = t->name,
                                                       .is_main = t->is_main,
                                                       .begin_ns = view_time_ns(view->reader, t->start_ticks),
                                                       .end_ns = t->end_ticks ? view_time_ns(view->reader, t->end_ticks)
                                                                              : view->info.end_ns,
                                                       .records = t->item_count,
                                                       .samples = t->samples,
                                                       .lost = t->dropped + t->overwritten};
    }
}

enum strobe_status strobe_view_open(const char *path, unsigned options, struct strobe_view **out,
                                    struct strobe_error *error)
{
    *out = NULL;
    strobe_error_clear(error);
    struct strobe_view *view = calloc(1, sizeof *view);
    enum strobe_status status = view ? strobe_reader_open(path, &view->reader, error) : STROBE_NO_MEMORY;
    if (status == STROBE_OK)
        status = strobe_symbols_open(&view->reader->session, options & (STROBE_VIEW_INLINES | STROBE_VIEW_NO_LINES),
                                     &view->symbols);
    if (status == STROBE_OK) {
        view_describe_session(view);
        view->threads = calloc((size_t)view->info.threads + 1, sizeof *view->threads);
        status = view->threads ? STROBE_OK : STROBE_NO_MEMORY;
    }
    if (status == STROBE_OK) {
        view_describe_threads(view);
        *out = view;
        return STROBE_OK;
    }
    if (status == STROBE_IO && errno == ENOMEM)
        status = STROBE_NO_MEMORY;
    if (!strobe_error_is_set(error))
        strobe_error_join(error, strobe_status_text(status), "");
    int failure = errno;
    strobe_view_close(view);
    errno = failure;
    return status;
}

void strobe_view_close(struct strobe_view *view)
{
    if (!view)
        return;
    strobe_symbols_close(view->symbols);
    strobe_reader_close(view->reader);
    free(view->threads);
    free(view);
}

const struct strobe_view_info *strobe_view_get_info(const struct strobe_view *view)
{
    return &view->info;
}

enum strobe_status strobe_view_check(const struct strobe_view *view, struct strobe_error *error)
{
    return strobe_reader_check(view->reader, error) ? STROBE_OK : STROBE_BAD_INPUT;
}

const struct strobe_view_thread *strobe_view_get_thread(const struct strobe_view *view, uint32_t thread)
{
    return thread < view->info.threads ? &view->threads[thread] : NULL;
}

struct strobe_view_record strobe_view_get_record(const struct strobe_view *view, uint32_t thread, size_t index)
{
    const struct strobe_view_thread *t = strobe_view_get_thread(view, thread);
    if (!t || index >= t->records)
        return (struct strobe_view_record){.kind = strobe_kind_name(STROBE_KIND_NONE)};
    const struct strobe_record *r = &view->reader->threads[thread].items[index].record;
    return (struct strobe_view_record){.begin_ns = strobe_reader_ns(view->reader, r->ticks),
                                       .duration_ns = strobe_reader_span_ns(view->reader, r->duration),
                                       .kind = strobe_kind_name(r->kind),
                                       .is_call = (r->flags & STROBE_FLAG_SCOPE) != 0,
                                       .samples = r->count,
                                       .stack = r->stack,
                                       .subject = r->arg,
                                       .cpu_ns = r->flags & STROBE_FLAG_CPU ? r->cpu_ns : 0};
}

enum strobe_status strobe_view_get_frames(struct strobe_view *view, uint32_t stack, struct strobe_view_frame *out,
                                          size_t capacity, size_t *count)
{
    uint64_t addresses[STROBE_STACK_DEPTH_MAX];
    uint32_t depth = 0;
    *count = 0;
    if (strobe_stack_frames(&view->reader->session.stacks, stack, addresses, STROBE_STACK_DEPTH_MAX, &depth) !=
        STROBE_OK)
        return STROBE_NO_ENTRY;
    for (uint32_t i = 0; i < depth; i++) {
        struct strobe_symbol symbols[STROBE_SYMBOLS_FRAMES_MAX];
        size_t n = strobe_symbols_resolve(view->symbols, addresses[i], symbols, STROBE_SYMBOLS_FRAMES_MAX);
        for (size_t k = 0; k < n; k++) {
            if (*count == capacity)
                return STROBE_FULL;
            out[(*count)++] = (struct strobe_view_frame){.function = symbols[k].function,
                                                         .image = symbols[k].image,
                                                         .file = symbols[k].file,
                                                         .line = symbols[k].line,
                                                         .address = addresses[i]};
        }
    }
    return STROBE_OK;
}
