#include "engine/watch/findings.h"

#include "engine/util/json.h"
#include "engine/watch/finding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES_MOST = 64, BLAME_LEAST = 24, REST_BYTES = 512, LINE_BYTES = 4096 };

struct cell {
    char text[24];
};

static struct cell span_cell(uint64_t ns)
{
    struct cell c;
    if (ns < 1000000000)
        snprintf(c.text, sizeof c.text, "%.1f ms", (double)ns / 1e6);
    else
        snprintf(c.text, sizeof c.text, "%.3f s", (double)ns / 1e9);
    return c;
}

static uint64_t ns_since_origin(const struct strobe_findings *f, uint64_t time_ns)
{
    return time_ns > f->origin_ns ? time_ns - f->origin_ns : 0;
}

void strobe_findings_unseen(const struct strobe_findings *f, struct strobe_unseen_lines *out)
{
    const struct strobe_watch_view *v = &f->view;
    const struct strobe_watch_seen *s = &f->seen;
    size_t n = 0;
    if (f->of_text) {
        out->line[n++] = "all but deadlocks: the input is a thread dump, not a capture";
        out->count = n;
        return;
    }
    if (!s->calls)
        out->line[n++] = s->messages ? "the method to blame in a message: no call of the main thread is known"
                                     : "most kinds of findings: no call of a main thread is known";
    if (s->calls && !s->messages)
        out->line[n++] = "evil methods, lags, ANRs: no message of the main thread's loop is known";
    if (s->calls && !s->frames)
        out->line[n++] = "dropped frames: no known call draws a frame (--frames NAMES)";
    if (s->calls && !s->activities)
        out->line[n++] = "starts: no creation of an activity is known";
    if (!v->knows_due)
        out->line[n++] = "how long messages and frames waited before they began: their due times are unknown";
    if (!f->of_events)
        out->line[n++] = "idle handlers, touches, signals, priorities and thread dumps: a session has none";
    if (v->unseen_below_ns) {
        snprintf(out->room, sizeof out->room,
                 "calls shorter than %g ms, and times closer than that: the main thread was sampled",
                 (double)v->unseen_below_ns / 1e6);
        out->line[n++] = out->room;
    }
    out->count = n;
}

/* ---- table */

/* Writes "key value" for all values except the cost. */
static const char *finding_rest(const struct strobe_finding *f, char *text)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < f->value_count && used < REST_BYTES; i++) {
        const struct strobe_finding_value *v = &f->values[i];
        if (!strcmp(v->key, "cost_ms") || v->value == 0)
            continue;
        int bytes = snprintf(text + used, REST_BYTES - used, "%s%s %.6g", used ? ", " : "", v->key, v->value);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return text;
}

/* Returns the number of a note, from 1, or 0 when there are too many notes. Notes are printed after the table. */
static size_t number_of_note(const char **notes, size_t *count, const char *note)
{
    size_t i = 0;
    while (i < *count && strcmp(notes[i], note))
        i++;
    if (i == NOTES_MOST)
        return 0;
    if (i == *count)
        notes[(*count)++] = note;
    return i + 1;
}

/* Prints text as far as *room allows, with blanks for control characters. */
static void print_within_width(FILE *out, const char *text, size_t *room)
{
    for (; *text && *room; text++, --*room)
        putc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void print_one(const struct strobe_findings *l, const struct strobe_finding *f, size_t note, size_t room,
                      FILE *out)
{
    char text[REST_BYTES], thread[16] = "main";
    if (f->thread)
        snprintf(thread, sizeof thread, "%" PRIu32, f->thread);
    fprintf(out, "%12s  %-12s %12s  %-6s  ", span_cell(ns_since_origin(l, f->begin_ns)).text,
            strobe_finding_name[f->kind], span_cell(strobe_finding_cost_ns(f)).text, thread);
    if (note)
        fprintf(out, "%5zu  ", note);
    else
        fputs("    -  ", out);
    print_within_width(out, f->blame[0] ? f->blame : "-", &room);
    if (f->scene[0]) {
        print_within_width(out, "  in ", &room);
        print_within_width(out, f->scene, &room);
    }
    print_within_width(out, "  ", &room);
    print_within_width(out, finding_rest(f, text), &room);
    putc('\n', out);
}

static void print_seen(const struct strobe_findings *f, const char *source, FILE *out)
{
    const struct strobe_watch_seen *s = &f->seen;
    if (f->count)
        fprintf(out, "%s: %zu finding%s", source, f->count, f->count == 1 ? "" : "s");
    else
        fprintf(out, "%s: nothing found", source);
    if (!f->of_text)
        fprintf(out,
                " in %s of the main thread: %" PRIu64 " calls, %" PRIu64 " messages, %" PRIu64 " frames, %" PRIu64
                " activities",
                span_cell(s->end_ns - s->begin_ns).text, s->calls, s->messages, s->frames, s->activities);
    putc('\n', out);
}

void strobe_findings_print(const struct strobe_findings *f, const char *source, uint32_t width, FILE *out)
{
    enum { BEFORE = 57 };
    const char *notes[NOTES_MOST];
    size_t note_count = 0, room = !width ? LINE_BYTES : width > BEFORE + BLAME_LEAST ? width - BEFORE : BLAME_LEAST;
    print_seen(f, source, out);
    if (f->count)
        fputs("\n        time  kind                 cost  thread  unseen  to blame\n", out);
    for (size_t i = 0; i < f->count; i++) {
        const char *unseen = f->at[i].unseen;
        print_one(f, &f->at[i], unseen[0] ? number_of_note(notes, &note_count, unseen) : 0, room, out);
    }
    if (note_count)
        fputs("\nunseen:\n", out);
    for (size_t i = 0; i < note_count; i++)
        fprintf(out, "%5zu  %s\n", i + 1, notes[i]);
    struct strobe_unseen_lines lines;
    strobe_findings_unseen(f, &lines);
    fputs("\nthis capture could not have shown:\n", out);
    for (size_t i = 0; i < lines.count; i++)
        fprintf(out, "       %s\n", lines.line[i]);
}

/* ---- JSON */

/* Prints a line of "depth,method,count,ms". The method may contain commas. */
static void print_frame(struct strobe_json *j, const char *line, size_t bytes)
{
    char text[LINE_BYTES];
    bytes = bytes < sizeof text - 1 ? bytes : sizeof text - 1;
    memcpy(text, line, bytes);
    text[bytes] = 0;
    char *method = strchr(text, ','), *ms = strrchr(text, ',');
    if (!method || ms == method)
        return;
    *ms = 0;
    char *count = strrchr(method, ',');
    if (count == method)
        return;
    *count = 0;
    strobe_json_object(j, NULL);
    strobe_json_uint(j, "depth", strtoull(text, NULL, 10));
    strobe_json_text(j, "method", method + 1);
    strobe_json_uint(j, "count", strtoull(count + 1, NULL, 10));
    strobe_json_uint(j, "ms", strtoull(ms + 1, NULL, 10));
    strobe_json_object_end(j);
}

static void finding_print_json(const struct strobe_findings *l, const struct strobe_finding *f, struct strobe_json *j)
{
    strobe_json_object(j, NULL);
    strobe_json_text(j, "kind", strobe_finding_name[f->kind]);
    strobe_json_uint(j, "begin_ns", ns_since_origin(l, f->begin_ns));
    strobe_json_uint(j, "end_ns", ns_since_origin(l, f->end_ns));
    strobe_json_uint(j, "cost_ns", strobe_finding_cost_ns(f));
    strobe_json_uint(j, "thread", f->thread);
    strobe_json_text(j, "scene", f->scene);
    strobe_json_text(j, "blame", f->blame);
    strobe_json_text(j, "key", f->key);
    strobe_json_text(j, "unseen", f->unseen);
    strobe_json_object(j, "values");
    for (size_t i = 0; i < f->value_count; i++)
        strobe_json_real(j, f->values[i].key, f->values[i].value);
    strobe_json_object_end(j);
    strobe_json_array(j, "stack");
    for (const char *line = f->stack; *line;) {
        size_t bytes = strcspn(line, "\n");
        print_frame(j, line, bytes);
        line += bytes + (line[bytes] != 0);
    }
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

void strobe_findings_print_json(const struct strobe_findings *f, const char *source, FILE *out)
{
    struct strobe_json json = {.out = out}, *j = &json;
    struct strobe_unseen_lines lines;
    strobe_json_object(j, NULL);
    strobe_json_text(j, "source", source);
    strobe_json_object(j, "seen");
    strobe_json_uint(j, "begin_ns", ns_since_origin(f, f->seen.begin_ns));
    strobe_json_uint(j, "end_ns", ns_since_origin(f, f->seen.end_ns));
    strobe_json_uint(j, "calls", f->seen.calls);
    strobe_json_uint(j, "messages", f->seen.messages);
    strobe_json_uint(j, "frames", f->seen.frames);
    strobe_json_uint(j, "activities", f->seen.activities);
    strobe_json_bool(j, "sampled", f->view.sampled);
    strobe_json_uint(j, "resolution_ns", f->view.resolution_ns);
    strobe_json_uint(j, "unseen_below_ns", f->view.unseen_below_ns);
    strobe_json_bool(j, "knows_due", f->view.knows_due);
    strobe_json_object_end(j);
    strobe_findings_unseen(f, &lines);
    strobe_json_array(j, "unseen");
    for (size_t i = 0; i < lines.count; i++)
        strobe_json_text(j, NULL, lines.line[i]);
    strobe_json_array_end(j);
    strobe_json_array(j, "findings");
    for (size_t i = 0; i < f->count; i++)
        finding_print_json(f, &f->at[i], j);
    strobe_json_array_end(j);
    strobe_json_object_end(j);
    putc('\n', out);
}
