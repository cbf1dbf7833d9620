#include "engine/trace/import/matrix/matrix_events.h"

#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_stack.h"
#include "engine/util/array.h"
#include "engine/util/cursor.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The rest of a line, and what was expected at its begin. */
struct reading {
    struct strobe_cursor c;
    const char *expected;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Parses a number. The place of the error for a number that is too large is its begin. */
static bool number(struct reading *r, uint64_t most, const char *expected, uint64_t *out)
{
    r->expected = expected;
    return strobe_cursor_take_number(&r->c, most, out);
}

/* Parses the fields behind I or O. */
static bool parse_event(struct reading *r, bool enter, uint64_t *entry)
{
    uint64_t id = STROBE_MATRIX_DISPATCH, ms;
    if (!strobe_cursor_take(&r->c, "D") && !number(r, STROBE_MATRIX_ID_MASK, "D or a method's id, 0 to 1048575", &id))
        return false;
    r->expected = "@ and a time";
    if (!strobe_cursor_take(&r->c, "@"))
        return false;
    if (!number(r, STROBE_MATRIX_MS_MAX, "a time, ms of 0 to 8796093022207", &ms))
        return false;
    *entry = strobe_matrix_entry(enter, (uint32_t)id, ms);
    return true;
}

static bool end_time(struct reading *r, int64_t *out)
{
    uint64_t value;
    bool negative = strobe_cursor_take(&r->c, "-");
    if (!number(r, STROBE_MATRIX_MS_MAX, "a time, ms", &value))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool add_event_entry(struct strobe_matrix_events *e, uint64_t entry)
{
    if (!strobe_array_reserve(&e->entries, &e->room, e->count + 1))
        return false;
    e->entries[e->count++] = entry;
    return true;
}

enum strobe_status strobe_matrix_events_parse(const char *line, size_t bytes, struct strobe_matrix_events *out,
                                              size_t *column, const char **expected)
{
    struct reading r = {.c = strobe_cursor(line, bytes)};
    struct strobe_cursor *c = &r.c;
    bool ended = false, well = true;
    out->count = 0;
    out->end_ms = STROBE_MATRIX_NO_END;
    while (well) {
        while (c->at < c->end && is_blank(*c->at))
            c->at++;
        if (c->at == c->end)
            return STROBE_OK;
        r.expected = ended ? "the end of the line" : "I or O and a method's id, or end=";
        if (!ended && (*c->at == 'I' || *c->at == 'O')) {
            uint64_t entry;
            c->at++;
            well = parse_event(&r, c->at[-1] == 'I', &entry);
            if (well && !add_event_entry(out, entry))
                return STROBE_IO;
        } else if (!ended && strobe_cursor_take(c, "end=")) {
            well = ended = end_time(&r, &out->end_ms);
        } else {
            well = false;
        }
        if (well && c->at < c->end && !is_blank(*c->at)) {
            r.expected = "a blank";
            well = false;
        }
    }
    *column = (size_t)(c->at - line) + 1;
    *expected = r.expected;
    return STROBE_BAD_INPUT;
}

void strobe_matrix_events_free(struct strobe_matrix_events *e)
{
    free(e->entries);
    *e = (struct strobe_matrix_events){0};
}
