#include "engine/watch/findings_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES_MOST = 16, NOTES_EACH = 5, TEXT_BYTES = 600 };

static const char *marks_keep_text(struct strobe_findings_marks *m, const char *text, bool *failed)
{
    const char *kept = strobe_text_keep(&m->texts, text, strlen(text));
    *failed |= !kept;
    return kept ? kept : "";
}

static const char *marks_finding_name(struct strobe_findings_marks *m, const struct strobe_finding *f, bool *failed)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%s%s%s", strobe_finding_name[f->kind], f->blame[0] ? ": " : "", f->blame);
    return marks_keep_text(m, text, failed);
}

static const char *marks_values_text(struct strobe_findings_marks *m, const struct strobe_finding *f, bool *failed)
{
    char text[TEXT_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < f->value_count && used < sizeof text; i++) {
        int bytes =
            snprintf(text + used, sizeof text - used, "%s%s %.6g", i ? ", " : "", f->values[i].key, f->values[i].value);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return marks_keep_text(m, text, failed);
}

static size_t take_notes(struct strobe_mark_note *notes, const struct strobe_finding *f, const char *values)
{
    const struct strobe_mark_note all[NOTES_EACH] = {
        {"values", values}, {"activity", f->scene}, {"stack", f->stack}, {"unseen", f->unseen}, {"key", f->key}};
    size_t count = 0;
    for (size_t i = 0; i < NOTES_EACH; i++)
        if (all[i].text[0])
            notes[count++] = all[i];
    return count;
}

/* Puts an annotation on the first track that is free at its begin. When all tracks are taken, it becomes an instant. */
static void place_mark(struct strobe_mark *m, uint64_t *ends)
{
    while (m->track < LANES_MOST && ends[m->track] > m->begin_ns)
        m->track++;
    if (m->track < LANES_MOST)
        ends[m->track] = m->end_ns;
    else
        m->end_ns = m->begin_ns;
}

static int compare_marks_by_track(const void *a, const void *b)
{
    const struct strobe_mark *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->notes < y->notes ? -1 : x->notes > y->notes;
}

enum strobe_status strobe_findings_marks(const struct strobe_findings *f, struct strobe_findings_marks *out)
{
    uint64_t ends[LANES_MOST] = {0};
    bool failed = false;
    *out = (struct strobe_findings_marks){.marks = calloc(f->count + 1, sizeof *out->marks),
                                          .notes = calloc((f->count + 1) * NOTES_EACH, sizeof *out->notes)};
    if (!out->marks || !out->notes)
        return STROBE_IO;
    for (size_t i = 0; i < f->count; i++) {
        const struct strobe_finding *from = &f->at[i];
        struct strobe_mark_note *notes = out->notes + i * NOTES_EACH;
        struct strobe_mark *mark = &out->marks[out->count++];
        *mark = (struct strobe_mark){.name = marks_finding_name(out, from, &failed),
                                     .lane = "findings",
                                     .begin_ns = from->begin_ns,
                                     .end_ns = from->end_ns,
                                     .notes = notes,
                                     .note_count = take_notes(notes, from, marks_values_text(out, from, &failed))};
        place_mark(mark, ends);
    }
    qsort(out->marks, out->count, sizeof *out->marks, compare_marks_by_track);
    return failed ? STROBE_IO : STROBE_OK;
}

void strobe_findings_marks_free(struct strobe_findings_marks *m)
{
    free(m->marks);
    free(m->notes);
    strobe_text_pool_free(&m->texts);
}
