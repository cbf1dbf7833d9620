#include "engine/trace/report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The rankings of methods. Those by allocations come last. */
enum { TIME_ORDERS = 4, ORDERS = 6 };

static uint64_t sort_key(const struct strobe_report_method *m, int order)
{
    switch (order) {
    case 0: return m->self_ns;
    case 1: return m->self_cpu_ns;
    case 2: return m->total_ns;
    case 3: return m->total_cpu_ns;
    case 4: return m->alloc_self_bytes;
    default: return m->alloc_total_bytes;
    }
}

/* Largest first. Ties are broken by the other numbers and then by name, so that the order is deterministic. */
static int compare_methods(const struct strobe_report_method *a, const struct strobe_report_method *b, int order)
{
    uint64_t x = sort_key(a, order), y = sort_key(b, order);
    if (x != y)
        return x > y ? -1 : 1;
    for (int other = 0; other < ORDERS; other++)
        if (sort_key(a, other) != sort_key(b, other))
            return sort_key(a, other) > sort_key(b, other) ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names ? names : strcmp(a->image, b->image);
}

static int by_self(const void *a, const void *b)
{
    return compare_methods(a, b, 0);
}

static int by_self_cpu(const void *a, const void *b)
{
    return compare_methods(a, b, 1);
}

static int by_total(const void *a, const void *b)
{
    return compare_methods(a, b, 2);
}

static int by_total_cpu(const void *a, const void *b)
{
    return compare_methods(a, b, 3);
}

static int by_self_bytes(const void *a, const void *b)
{
    return compare_methods(a, b, 4);
}

static int by_total_bytes(const void *a, const void *b)
{
    return compare_methods(a, b, 5);
}

static int (*const ranking[ORDERS])(const void *, const void *) = {by_self,      by_self_cpu,   by_total,
                                                                   by_total_cpu, by_self_bytes, by_total_bytes};

/* The rankings of the two tables, by the option `by`. */
static const int self_order[] = {[STROBE_BY_WALL] = 0, [STROBE_BY_CPU] = 1, [STROBE_BY_ALLOC] = 4};
static const int total_order[] = {[STROBE_BY_WALL] = 2, [STROBE_BY_CPU] = 3, [STROBE_BY_ALLOC] = 5};

/* Keeps the methods that are among the first `top` of at least one ranking. */
static void keep_top(struct strobe_report *r)
{
    size_t kept = 0, top = r->options.top, count = r->method_count;
    struct strobe_report_method *list = r->methods;
    if (top && top < count) {
        uint64_t least[ORDERS];
        int order_count = r->options.by == STROBE_BY_ALLOC ? ORDERS : TIME_ORDERS;
        for (int order = 0; order < order_count; order++) {
            qsort(list, count, sizeof *list, ranking[order]);
            least[order] = sort_key(&list[top - 1], order);
        }
        for (size_t i = 0; i < count; i++) {
            int wanted = 0;
            for (int order = 0; order < order_count; order++)
                wanted |= sort_key(&list[i], order) > 0 && sort_key(&list[i], order) >= least[order];
            if (wanted)
                list[kept++] = list[i];
        }
        r->method_count = kept;
    }
    qsort(list, r->method_count, sizeof *list, ranking[self_order[r->options.by]]);
    memcpy(r->inclusive, list, r->method_count * sizeof *list);
    qsort(r->inclusive, r->method_count, sizeof *list, ranking[total_order[r->options.by]]);
}

static int longest_wait_first(const void *a, const void *b)
{
    const struct strobe_report_wait *x = a, *y = b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return strcmp(x->kind, y->kind);
}

static int busiest_first(const void *a, const void *b)
{
    const struct strobe_report_thread *x = a, *y = b;
    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns > y->cpu_ns ? -1 : 1;
    uint64_t busy_x = x->wall_ns - x->wait_ns - x->gap_ns - x->off_ns;
    uint64_t busy_y = y->wall_ns - y->wait_ns - y->gap_ns - y->off_ns;
    if (busy_x != busy_y)
        return busy_x > busy_y ? -1 : 1;
    return x->generation != y->generation ? (x->generation > y->generation) - (x->generation < y->generation)
                                          : (x->tid > y->tid) - (x->tid < y->tid);
}

/* Copies the waits. They refer to threads by the profile's numbers, which are indices of r->threads before it is
 * sorted. */
static void take_waits(struct strobe_report *r, const struct strobe_profile *p, const struct strobe_report_names *names)
{
    for (uint32_t i = 0; i < p->wait_count; i++) {
        const struct strobe_profile_wait *w = &p->waits[i];
        const struct strobe_report_thread *t = w->thread < r->thread_count ? &r->threads[w->thread] : NULL;
        const struct strobe_report_thread *waker =
            w->end == STROBE_END_BY_THREAD && w->waker < r->thread_count ? &r->threads[w->waker] : NULL;
        r->waits[r->wait_count++] = (struct strobe_report_wait){
            .kind = names->name_of(names->ctx, w->name),
            .thread = t ? t->name : "",
            .tid = t ? t->tid : 0,
            .method = w->method == UINT32_MAX ? "" : names->name_of(names->ctx, w->method),
            .begin_ns = w->begin_ns - (w->begin_ns > r->begin_ns ? r->begin_ns : w->begin_ns),
            .duration_ns = w->duration_ns,
            .count = 1,
            .arg = w->arg,
            .unfinished = w->unfinished,
            .waker = waker ? waker->name : "",
            .waker_tid = waker ? waker->tid : 0,
            .nobody = w->end == STROBE_END_BY_NOBODY,
        };
    }
}

static struct strobe_report_method method_of(const struct strobe_report_names *names, uint32_t i, const char *name,
                                             const struct strobe_profile_method *m)
{
    const struct strobe_allocations_by_name *a = names->allocations;
    struct strobe_allocations none = {0, 0}, self = a && i < a->count ? a->self[i] : none;
    struct strobe_allocations total = a && i < a->count ? a->total[i] : none;
    return (struct strobe_report_method){.name = name,
                                         .image = names->image_of(names->ctx, i),
                                         .self_ns = m->self_ns,
                                         .total_ns = m->total_ns,
                                         .self_cpu_ns = m->self_cpu_ns,
                                         .total_cpu_ns = m->total_cpu_ns,
                                         .slices = m->slices,
                                         .alloc_self_bytes = self.bytes,
                                         .alloc_self_count = self.count,
                                         .alloc_total_bytes = total.bytes,
                                         .alloc_total_count = total.count};
}

/* Returns whether slices of the name are waits: blocking calls, or system calls in which the sampler saw the thread. */
static int names_wait(const struct strobe_profile_method *m, const char *name)
{
    return m->class == STROBE_SLICE_WAIT || (m->class == STROBE_SLICE_OFF_CPU && strcmp(name, STROBE_OFF_CPU_TEXT) &&
                                             strcmp(name, STROBE_RUNNABLE_TEXT));
}

/* A hooked call and a call that only the sampler saw can have one name, such as "[read]". */
static void add_wait_kind(struct strobe_report *r, const char *name, const struct strobe_profile_method *m)
{
    size_t i = 0;
    while (i < r->wait_kind_count && strcmp(r->wait_kinds[i].kind, name))
        i++;
    r->wait_kind_count += i == r->wait_kind_count;
    r->wait_kinds[i].kind = name;
    r->wait_kinds[i].duration_ns += m->total_ns;
    r->wait_kinds[i].count += m->slices;
}

enum strobe_status strobe_report_rank(struct strobe_report *r, const struct strobe_profile *p,
                                      const struct strobe_report_names *names)
{
    size_t room = p->method_count ? p->method_count : 1;
    r->methods = calloc(room, sizeof *r->methods);
    r->inclusive = calloc(room, sizeof *r->inclusive);
    r->wait_kinds = calloc(room, sizeof *r->wait_kinds);
    r->waits = calloc(p->wait_count ? p->wait_count : 1, sizeof *r->waits);
    if (!r->methods || !r->inclusive || !r->wait_kinds || !r->waits)
        return STROBE_IO;
    for (uint32_t i = 0; i < p->method_count; i++) {
        const struct strobe_profile_method *m = &p->methods[i];
        if ((!m->slices && !m->self_cpu_ns) || m->class == STROBE_SLICE_GAP)
            continue;
        const char *name = names->name_of(names->ctx, i);
        if (names_wait(m, name))
            add_wait_kind(r, name, m);
        else if (m->class != STROBE_SLICE_OFF_CPU)
            r->methods[r->method_count++] = method_of(names, i, name, m);
    }
    r->method_count_in_all = r->method_count;
    keep_top(r);
    qsort(r->wait_kinds, r->wait_kind_count, sizeof *r->wait_kinds, longest_wait_first);
    take_waits(r, p, names);
    if (r->thread_count)
        qsort(r->threads, r->thread_count, sizeof *r->threads, busiest_first);
    for (size_t i = 0; i < r->thread_count; i++)
        r->cpu_ns += r->threads[i].cpu_ns;
    return STROBE_OK;
}

/* Adds a formatted line to a list. */
static enum strobe_status add_report_line(char ***list, size_t *count, const char *format, va_list args)
{
    char *text = NULL;
    int bytes = vasprintf(&text, format, args);
    char **grown = bytes < 0 ? NULL : realloc(*list, (*count + 1) * sizeof *grown);
    if (!grown) {
        if (bytes >= 0)
            free(text);
        return STROBE_IO;
    }
    *list = grown;
    grown[(*count)++] = text;
    return STROBE_OK;
}

enum strobe_status strobe_report_warn(struct strobe_report *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    enum strobe_status status = add_report_line(&r->warnings, &r->warning_count, format, args);
    va_end(args);
    return status;
}

enum strobe_status strobe_report_feature(struct strobe_report *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    enum strobe_status status = add_report_line(&r->features, &r->feature_count, format, args);
    va_end(args);
    return status;
}

void strobe_report_close(struct strobe_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->warning_count; i++)
        free(r->warnings[i]);
    free(r->warnings);
    for (size_t i = 0; i < r->feature_count; i++)
        free(r->features[i]);
    free(r->features);
    free(r->facts);
    free(r->threads);
    free(r->methods);
    free(r->inclusive);
    free(r->wait_kinds);
    free(r->waits);
    free(r->sections);
    free(r->counters);
    free(r->sched.threads);
    free(r->callers);
    free(r->callees);
    free(r->stacks);
    free(r->lines);
    strobe_text_pool_free(&r->texts);
    free(r);
}
