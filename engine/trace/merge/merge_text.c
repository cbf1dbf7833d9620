#include "engine/trace/merge/merge_text.h"

#include "engine/base/error_format.h"
#include "engine/trace/import/ftrace/ftrace_convert.h"
#include "engine/trace/import/systrace/systrace_read.h"
#include "engine/util/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A pass over the text. */
struct pass {
    struct strobe_merge_text *text;
    struct strobe_merge_reference *reference; /* of the first pass */
    struct strobe_ftrace_reader reader;
    struct strobe_ftrace_visitor visitor;
    struct strobe_systrace_stats parts;
    struct strobe_ftrace_convert convert; /* of the second pass */
    int failed;                           /* memory ran out */
};

static void feed_text(void *ctx, const char *at, size_t bytes)
{
    struct pass *p = ctx;
    struct strobe_whole_file *file = &p->text->file;
    strobe_ftrace_text_feed(&p->reader, at, bytes);
    if (at >= file->at && at < file->at + file->bytes)
        strobe_whole_file_pass(file, at);
}

static enum strobe_status read_parts(struct pass *p)
{
    const struct strobe_systrace_sink sink = {p, feed_text};
    strobe_ftrace_text_open(&p->reader, &p->visitor);
    enum strobe_status status = strobe_systrace_read(p->text->file.at, p->text->file.bytes, &sink, &p->parts);
    strobe_ftrace_text_close(&p->reader);
    return p->reader.failed || p->failed ? STROBE_IO : status;
}

/* ---- the first pass */

/* Takes the begin of a section `B|pid|name` if a session has one of that name. */
static void hear_section(struct pass *p, const struct strobe_ftrace_line *line)
{
    struct strobe_merge_timing *h = &p->text->timing;
    const char *bar = memchr(line->payload.at + 2, '|', line->payload.bytes - 2);
    size_t known_names = p->reference->section_names;
    if (!bar)
        return;
    const char *name = bar + 1;
    uint32_t number =
        strobe_text_number(&p->reference->names, name, (size_t)(line->payload.at + line->payload.bytes - name));
    if (number == UINT32_MAX ||
        (number < known_names && !strobe_array_reserve(&h->sections, &h->section_room, h->section_count + 1))) {
        p->failed = 1;
        return;
    }
    if (number < known_names)
        h->sections[h->section_count++] = (struct strobe_merge_section){line->tid, number, line->time_ns};
}

static void hear_event(void *ctx, const struct strobe_ftrace_line *line)
{
    struct pass *p = ctx;
    struct strobe_merge_timing *h = &p->text->timing;
    h->first_ns = !h->last_ns || line->time_ns < h->first_ns ? line->time_ns : h->first_ns;
    h->last_ns = line->time_ns > h->last_ns ? line->time_ns : h->last_ns;
    if (!strobe_ftrace_is_marker(line->event)) {
        p->text->has_io |= *line->event.at == 'a' && strobe_ftrace_is_read(line);
        return;
    }
    p->text->has_methods |= strobe_ftrace_is_rhea(line);
    strobe_merge_read_clock_marker(h, line->time_ns, line->payload.at, line->payload.bytes);
    if (p->reference->section_count && line->payload.bytes > 3 && !memcmp(line->payload.at, "B|", 2))
        hear_section(p, line);
}

enum strobe_status strobe_merge_text_scan(struct strobe_merge_text *t, struct strobe_merge_reference *reference,
                                          struct strobe_error *error)
{
    struct pass *p = calloc(1, sizeof *p);
    if (!p)
        return STROBE_IO;
    p->text = t;
    p->reference = reference;
    p->visitor = (struct strobe_ftrace_visitor){.ctx = p, .event = hear_event};
    enum strobe_status status = read_parts(p);
    memcpy(t->clock, p->reader.clock, sizeof t->clock);
    t->timing.clock = t->clock;
    if (status == STROBE_OK && !p->reader.events) {
        status = STROBE_BAD_INPUT;
        if (p->parts.damaged)
            strobe_error_set(error, "its compressed part is damaged at its begin");
        else if (strobe_systrace_is_html(t->file.at, t->file.bytes) && !p->parts.parts)
            strobe_error_set(error, "HTML without ftrace text, expected a script element of class trace-data");
        else
            strobe_error_set(error,
                             "line %" PRIu64 ": expected a session, a Perfetto trace, or ftrace text such as "
                             "`task-1 [000] 12.345: event: ...`",
                             p->reader.first_other ? p->reader.first_other : 1);
    }
    free(p);
    return status;
}

/* ---- the second pass */

static void convert_event(void *ctx, const struct strobe_ftrace_line *line)
{
    struct pass *p = ctx;
    strobe_ftrace_convert_event(&p->convert, line);
}

static void convert_process(void *ctx, const struct strobe_ftrace_process *process)
{
    struct pass *p = ctx;
    strobe_ftrace_convert_process(&p->convert, process);
}

/* Prints the kinds whose events were kept as text. */
static void report_kinds(const struct strobe_ftrace_convert *c, const struct strobe_merge_text_options *o)
{
    struct strobe_ftrace_kind_count *kinds = calloc(c->names.count + 1, sizeof *kinds);
    size_t n = 0;
    uint64_t events = 0;
    for (size_t i = 0; kinds && i < c->names.count; i++) {
        if (c->kinds[i].unread)
            kinds[n++] = (struct strobe_ftrace_kind_count){c->names.texts[i], c->kinds[i].unread};
        events += c->kinds[i].unread;
    }
    if (n) {
        fprintf(o->report, "%s: not understood, kept as text: %" PRIu64 " event%s of %zu kind%s:", o->name, events,
                events == 1 ? "" : "s", n, n == 1 ? "" : "s");
        strobe_ftrace_print_kind_counts(kinds, n, o->report);
    }
    free(kinds);
}

static void report_count(const struct strobe_merge_text_options *o, uint64_t count, const char *what)
{
    if (count)
        fprintf(o->report, "%s: %s: %" PRIu64 "\n", o->name, what, count);
}

static void report_text(const struct pass *p, const struct strobe_merge_text_options *o)
{
    const struct strobe_ftrace_reader *r = &p->reader;
    char others[100];
    snprintf(others, sizeof others, "left out: lines of no known form, the first in line %" PRIu64, r->first_other);
    report_kinds(&p->convert, o);
    report_count(o, r->others, others);
    report_count(o, r->long_lines, "left out: lines that are too long");
    report_count(o, r->cut, "left out: lines that are cut off");
    report_count(o, r->lost_events, "events that the kernel lost, by its own report");
    report_count(o, p->parts.foreign, "left out: trace-data elements without ftrace text");
    report_count(o, p->parts.damaged, "compressed parts that are damaged, read up to there");
    report_count(o, p->convert.before_zero, "events that the clock's offset moves before time 0, put at time 0");
}

enum strobe_status strobe_merge_text_write(struct strobe_merge_text *t, struct strobe_packets *packets,
                                           const struct strobe_merge_text_options *options)
{
    struct strobe_ftrace_packets out;
    struct pass *p = calloc(1, sizeof *p);
    if (!p)
        return STROBE_IO;
    p->text = t;
    p->visitor = (struct strobe_ftrace_visitor){.ctx = p, .event = convert_event, .process = convert_process};
    strobe_ftrace_packets_open(&out, packets, options->sequence);
    strobe_ftrace_convert_open(&p->convert, &out, options->states);
    p->convert.offset_ns = t->alignment.offset_ns;
    p->convert.states_of_4_14 = options->states_of_4_14;
    p->convert.no_calls = options->no_calls;
    enum strobe_status status = read_parts(p);
    strobe_ftrace_convert_finish(&p->convert);
    strobe_ftrace_packets_close(&out);
    t->events = p->reader.events;
    if (p->convert.failed || out.failed || packets->failed)
        status = STROBE_IO;
    if (status == STROBE_OK && options->report)
        report_text(p, options);
    strobe_ftrace_convert_close(&p->convert);
    free(p);
    return status;
}

void strobe_merge_text_close(struct strobe_merge_text *t)
{
    free(t->timing.sections);
    strobe_whole_file_close(&t->file);
}
