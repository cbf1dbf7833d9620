#include "engine/trace/import/matrix/matrix_events.h"

#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_stack.h"
#include "engine/util/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at, *end;
    const char *expected;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits for a number of at most `most`. A number that is too large is at fault where it begins. */
static bool number(struct cursor *c, uint64_t most, const char *expected, uint64_t *out)
{
    const char *begin = c->at;
    uint64_t value = 0;
    c->expected = expected;
    if (c->at == c->end || !is_digit(*c->at))
        return false;
    for (; c->at < c->end && is_digit(*c->at); c->at++) {
        uint64_t digit = (uint64_t)(*c->at - '0');
        if (value > (most - digit) / 10) {
            c->at = begin;
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* What stands behind I or O. */
static bool event(struct cursor *c, bool enter, uint64_t *entry)
{
    uint64_t id = STROBE_MATRIX_DISPATCH, ms;
    if (c->at < c->end && *c->at == 'D')
        c->at++;
    else if (!number(c, STROBE_MATRIX_ID_MASK, "D or a method's id, 0 to 1048575", &id))
        return false;
    c->expected = "@ and a time";
    if (c->at == c->end || *c->at != '@')
        return false;
    c->at++;
    if (!number(c, STROBE_MATRIX_MS_MAX, "a time, ms of 0 to 8796093022207", &ms))
        return false;
    *entry = strobe_matrix_entry(enter, (uint32_t)id, ms);
    return true;
}

static bool end_time(struct cursor *c, int64_t *out)
{
    uint64_t value;
    bool negative = c->at < c->end && *c->at == '-';
    c->at += negative;
    if (!number(c, STROBE_MATRIX_MS_MAX, "a time, ms", &value))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool add(struct strobe_matrix_events *e, uint64_t entry)
{
    if (!strobe_array_reserve(&e->entries, &e->room, e->count + 1))
        return false;
    e->entries[e->count++] = entry;
    return true;
}

enum strobe_status strobe_matrix_events_parse(const char *line, size_t bytes, struct strobe_matrix_events *out,
                                              size_t *column, const char **expected)
{
    static const char end[] = "end=";
    struct cursor c = {.at = line, .end = line + bytes};
    bool ended = false, well = true;
    out->count = 0;
    out->end_ms = STROBE_MATRIX_NO_END;
    while (well) {
        while (c.at < c.end && is_blank(*c.at))
            c.at++;
        if (c.at == c.end)
            return STROBE_OK;
        c.expected = ended ? "the end of the line" : "I or O and a method's id, or end=";
        if (!ended && (*c.at == 'I' || *c.at == 'O')) {
            uint64_t entry;
            c.at++;
            well = event(&c, c.at[-1] == 'I', &entry);
            if (well && !add(out, entry))
                return STROBE_IO;
        } else if (!ended && (size_t)(c.end - c.at) >= sizeof end - 1 && !memcmp(c.at, end, sizeof end - 1)) {
            c.at += sizeof end - 1;
            well = ended = end_time(&c, &out->end_ms);
        } else {
            well = false;
        }
        if (well && c.at < c.end && !is_blank(*c.at)) {
            c.expected = "a blank";
            well = false;
        }
    }
    *column = (size_t)(c.at - line) + 1;
    *expected = c.expected;
    return STROBE_BAD_INPUT;
}

void strobe_matrix_events_free(struct strobe_matrix_events *e)
{
    free(e->entries);
    *e = (struct strobe_matrix_events){0};
}
