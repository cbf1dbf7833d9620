#include "engine/trace/report/report_sections.h"

#include "engine/trace/report/report_cells.h"
#include "engine/util/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct strobe_section_span {
    uint64_t begin_ns, end_ns;
    uint32_t thread, section;
};

/* ---- marks */

static void add_section(struct strobe_section_sum *s, const struct strobe_mark *m)
{
    uint32_t number = strobe_text_number(&s->names, m->name, strlen(m->name));
    uint64_t ns = m->end_ns - m->begin_ns;
    if (number == UINT32_MAX || !strobe_array_reserve(&s->sections, &s->section_room, (size_t)number + 1) ||
        !strobe_array_reserve(&s->spans, &s->span_room, s->span_count + 1)) {
        s->failed = 1;
        return;
    }
    if (number == s->section_count)
        s->sections[s->section_count++] = (struct strobe_report_section){.name = s->names.texts[number]};
    struct strobe_report_section *to = &s->sections[number];
    to->count++;
    to->total_ns += ns;
    to->longest_ns = ns > to->longest_ns ? ns : to->longest_ns;
    s->spans[s->span_count++] =
        (struct strobe_section_span){m->begin_ns, m->end_ns, (uint32_t)(m->thread - s->reader->threads), number};
}

static void add_counter(struct strobe_section_sum *s, const struct strobe_mark *m)
{
    char key[STROBE_ANNOTATION_NAME_BYTES + 32];
    uint32_t thread = m->thread ? (uint32_t)(m->thread - s->reader->threads) + 1 : 0;
    int bytes = snprintf(key, sizeof key, "%" PRIu32 " %s", thread, m->name);
    uint32_t number = strobe_text_number(&s->counter_names, key, (size_t)bytes);
    if (number == UINT32_MAX || !strobe_array_reserve(&s->counters, &s->counter_room, (size_t)number + 1)) {
        s->failed = 1;
        return;
    }
    if (number == s->counter_count)
        s->counters[s->counter_count++] =
            (struct strobe_report_counter){.name = strchr(s->counter_names.texts[number], ' ') + 1,
                                           .thread = m->thread ? m->thread->name : NULL,
                                           .tid = m->thread ? m->thread->tid : 0,
                                           .least = m->value,
                                           .most = m->value};
    struct strobe_report_counter *to = &s->counters[number];
    to->count++;
    to->last = m->value; /* marks of one counter come by time */
    to->least = m->value < to->least ? m->value : to->least;
    to->most = m->value > to->most ? m->value : to->most;
}

void strobe_sections_mark(struct strobe_section_sum *s, const struct strobe_mark *m)
{
    if (m->is_counter)
        add_counter(s, m);
    else if (m->thread)
        add_section(s, m);
}

/* ---- CPU time */

static int by_begin_outermost_first(const void *left, const void *right)
{
    const struct strobe_section_span *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static void add_span_part(struct strobe_section_sum *s, uint64_t begin_ns, uint64_t end_ns, uint32_t section)
{
    if (end_ns <= begin_ns)
        return;
    if (!strobe_array_reserve(&s->parts, &s->part_room, s->part_count + 1)) {
        s->failed = 1;
        return;
    }
    s->parts[s->part_count++] = (struct strobe_section_span){begin_ns, end_ns, 0, section};
}

/* Cuts nested spans, outermost first, into parts that each have one innermost section. `open` has space for all. */
static void cut_spans(struct strobe_section_sum *s, const struct strobe_section_span *spans, size_t count, size_t *open)
{
    size_t depth = 0;
    uint64_t now = 0;
    for (size_t i = 0; i <= count; i++) {
        uint64_t until = i < count ? spans[i].begin_ns : UINT64_MAX;
        for (; depth && spans[open[depth - 1]].end_ns <= until; depth--) {
            const struct strobe_section_span *inner = &spans[open[depth - 1]];
            add_span_part(s, now, inner->end_ns, inner->section);
            now = inner->end_ns > now ? inner->end_ns : now;
        }
        if (i == count)
            return;
        if (depth)
            add_span_part(s, now, until, spans[open[depth - 1]].section);
        now = until;
        open[depth++] = i;
    }
}

void strobe_sections_thread_begin(struct strobe_section_sum *s, uint32_t thread)
{
    size_t first = 0, high = s->span_count;
    s->part_count = 0;
    while (first < high) { /* marks come by thread */
        size_t middle = first + (high - first) / 2;
        if (s->spans[middle].thread < thread)
            first = middle + 1;
        else
            high = middle;
    }
    size_t end = first;
    while (end < s->span_count && s->spans[end].thread == thread)
        end++;
    if (end == first)
        return;
    size_t *open = malloc((end - first) * sizeof *open);
    s->failed |= !open;
    if (!open)
        return;
    qsort(s->spans + first, end - first, sizeof *s->spans, by_begin_outermost_first);
    cut_spans(s, s->spans + first, end - first, open);
    free(open);
}

/* Returns the first part that ends after `ns`. */
static size_t find_span_part(const struct strobe_section_sum *s, uint64_t ns)
{
    size_t low = 0, high = s->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->parts[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void strobe_sections_cpu(struct strobe_section_sum *s, const struct strobe_cpu_share *share)
{
    uint64_t span_ns = share->end_ns - share->begin_ns;
    for (size_t i = find_span_part(s, share->begin_ns); i < s->part_count; i++) {
        const struct strobe_section_span *p = &s->parts[i];
        uint64_t begin_ns = p->begin_ns > share->begin_ns ? p->begin_ns : share->begin_ns;
        uint64_t end_ns = p->end_ns < share->end_ns ? p->end_ns : share->end_ns;
        if (begin_ns > share->end_ns || (span_ns && begin_ns == share->end_ns))
            return;
        double part = span_ns ? (double)(end_ns - begin_ns) / (double)span_ns : 1;
        s->sections[p->section].self_cpu_ns += (uint64_t)((double)share->cpu_ns * part);
        if (!span_ns)
            return;
    }
}

/* ---- the report */

static int by_section_total(const void *left, const void *right)
{
    const struct strobe_report_section *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_counter_name(const void *left, const void *right)
{
    const struct strobe_report_counter *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

static const char *keep_section_text(struct strobe_report *r, const char *text)
{
    const char *kept = strobe_text_keep(&r->texts, text, strlen(text));
    return kept ? kept : "";
}

enum strobe_status strobe_sections_finish(struct strobe_section_sum *s, struct strobe_report *r)
{
    for (size_t i = 0; i < s->section_count; i++)
        s->sections[i].name = keep_section_text(r, s->sections[i].name);
    for (size_t i = 0; i < s->counter_count; i++) {
        s->counters[i].name = keep_section_text(r, s->counters[i].name);
        s->counters[i].thread = s->counters[i].thread ? keep_section_text(r, s->counters[i].thread) : NULL;
    }
    if (s->section_count)
        qsort(s->sections, s->section_count, sizeof *s->sections, by_section_total);
    if (s->counter_count)
        qsort(s->counters, s->counter_count, sizeof *s->counters, by_counter_name);
    r->sections = s->sections;
    r->section_count = s->section_count;
    r->counters = s->counters;
    r->counter_count = s->counter_count;
    s->sections = NULL;
    s->counters = NULL;
    return s->failed || r->texts.failed ? STROBE_IO : STROBE_OK;
}

void strobe_sections_free(struct strobe_section_sum *s)
{
    strobe_text_pool_free(&s->names);
    strobe_text_pool_free(&s->counter_names);
    free(s->sections);
    free(s->counters);
    free(s->spans);
    free(s->parts);
}

static size_t shown_of(const struct strobe_report *r, size_t count)
{
    return r->options.top && r->options.top < count ? r->options.top : count;
}

void strobe_report_print_sections(const struct strobe_report *r, FILE *out)
{
    size_t sections = shown_of(r, r->section_count), counters = shown_of(r, r->counter_count);
    if (sections)
        fprintf(out, "\nSections of the program\n%11s %11s %11s %11s  %s\n", "count", "total", "self CPU", "longest",
                "section");
    for (size_t i = 0; i < sections; i++) {
        const struct strobe_report_section *s = &r->sections[i];
        fprintf(out, "%11" PRIu64 " %11s %11s %11s  %s\n", s->count, strobe_cell_span(s->total_ns).text,
                strobe_cell_span(s->self_cpu_ns).text, strobe_cell_span(s->longest_ns).text, s->name);
    }
    if (sections < r->section_count)
        fprintf(out, "%11s %zu more\n", "...", r->section_count - sections);
    if (counters)
        fprintf(out, "\nCounters of the program\n%11s %11s %11s %11s  %s\n", "values", "last", "least", "most",
                "counter");
    for (size_t i = 0; i < counters; i++) {
        const struct strobe_report_counter *c = &r->counters[i];
        fprintf(out, "%11" PRIu64 " %11" PRId64 " %11" PRId64 " %11" PRId64 "  %s", c->count, c->last, c->least,
                c->most, c->name);
        if (c->thread)
            fprintf(out, " of thread %s %" PRIu32, c->thread, c->tid);
        putc('\n', out);
    }
    if (counters < r->counter_count)
        fprintf(out, "%11s %zu more\n", "...", r->counter_count - counters);
}

void strobe_report_json_sections(const struct strobe_report *r, struct strobe_json *j)
{
    strobe_json_array(j, "sections");
    for (size_t i = 0; i < r->section_count; i++) {
        const struct strobe_report_section *s = &r->sections[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", s->name);
        strobe_json_uint(j, "count", s->count);
        strobe_json_uint(j, "total_ns", s->total_ns);
        strobe_json_uint(j, "self_cpu_ns", s->self_cpu_ns);
        strobe_json_uint(j, "longest_ns", s->longest_ns);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_array(j, "counters");
    for (size_t i = 0; i < r->counter_count; i++) {
        const struct strobe_report_counter *c = &r->counters[i];
        strobe_json_object(j, NULL);
        strobe_json_text(j, "name", c->name);
        strobe_json_text(j, "thread", c->thread);
        strobe_json_uint(j, "tid", c->tid);
        strobe_json_uint(j, "count", c->count);
        strobe_json_int(j, "last", c->last);
        strobe_json_int(j, "least", c->least);
        strobe_json_int(j, "most", c->most);
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
}
