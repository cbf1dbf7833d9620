/* Reads the values of an event's text by a form; see ftrace_forms.h. */
#include "engine/trace/import/ftrace/ftrace_forms.h"

#include "engine/util/cursor.h"

#include <string.h>

/* Texts are short in kernels (a command has 15 bytes). The limits bound the tries of a form with several texts. */
enum { SHORT_TEXT_BYTES = 64, LONG_TEXT_BYTES = 4096 };

static bool match_rest(const char *form, struct strobe_cursor at, struct strobe_ftrace_values *out);

static bool is_blank_at(struct strobe_cursor c)
{
    return c.at < c.end && (*c.at == ' ' || *c.at == '\t');
}

/* Takes one of the words, which ends at NULL. *number is its index. */
static bool take_word_of(struct strobe_cursor *c, const char *const *words, uint64_t *number)
{
    for (size_t i = 0; words[i]; i++) {
        struct strobe_cursor at = *c;
        if (strobe_cursor_take(&at, words[i]) && (at.at == at.end || is_blank_at(at))) {
            *number = i;
            *c = at;
            return true;
        }
    }
    return false;
}

static bool take_device(struct strobe_cursor *c, uint64_t *number)
{
    enum { MINOR_BITS = 20 };
    uint64_t major, minor;
    if (!strobe_cursor_take_number(c, (1 << 12) - 1, &major) || !strobe_cursor_take(c, ",") ||
        !strobe_cursor_take_number(c, (1 << MINOR_BITS) - 1, &minor))
        return false;
    *number = major << MINOR_BITS | minor;
    return true;
}

static bool take_state(struct strobe_cursor *c, struct strobe_ftrace_text *text)
{
    text->at = c->at;
    while (c->at < c->end && !is_blank_at(*c))
        c->at++;
    text->bytes = (size_t)(c->at - text->at);
    return text->bytes > 0;
}

static bool take_value(struct strobe_cursor *c, struct strobe_ftrace_value *v)
{
    static const char *const results[] = {"unhandled", "handled", NULL};
    static const char *const edges[] = {"end", "begin", NULL};
    static const char *const memory[] = {"min_flt", "maj_flt", "read_io",    "compaction",
                                         "reclaim", "swp_flt", "kern_alloc", NULL};
    static const char *const resident[] = {"MM_FILEPAGES", "MM_ANONPAGES", "MM_SWAPENTS", "MM_SHMEMPAGES", NULL};
    int64_t number;
    switch (v->type) {
    case 'd':
        if (strobe_cursor_take_signed(c, INT64_MAX, &number)) {
            v->number = (uint64_t)number;
            return true;
        }
        return strobe_cursor_take_number(c, UINT64_MAX, &v->number);
    case 'u': return strobe_cursor_take_number(c, UINT64_MAX, &v->number);
    case 'x': strobe_cursor_take(c, "0x"); return strobe_cursor_take_hex(c, &v->number);
    case 'v': return take_device(c, &v->number);
    case 't': return take_state(c, &v->text);
    case 'h': return take_word_of(c, results, &v->number);
    case 'b': return take_word_of(c, edges, &v->number);
    case 'm': return take_word_of(c, memory, &v->number);
    default: return take_word_of(c, resident, &v->number);
    }
}

/* Tries each place at which the text may end. At the form's end, the text is all of the rest. */
static bool match_text(const char *form, struct strobe_cursor at, size_t value, struct strobe_ftrace_values *out)
{
    struct strobe_ftrace_value *v = &out->at[value];
    size_t most = v->type == 's' ? SHORT_TEXT_BYTES : LONG_TEXT_BYTES, left = (size_t)(at.end - at.at);
    v->text.at = at.at;
    if (!*form) {
        v->text.bytes = left;
        return true;
    }
    for (const char *p = at.at; p <= at.at + (left < most ? left : most); p++) {
        if (p == at.end || (*p != *form && !(*form == ' ' && *p == '\t')))
            continue;
        out->count = value + 1;
        v->text.bytes = (size_t)(p - at.at);
        if (match_rest(form, (struct strobe_cursor){p, at.end}, out))
            return true;
    }
    return false;
}

static bool is_text_type(char type)
{
    return type == 's' || type == 'p' || type == 'f';
}

static bool match_rest(const char *form, struct strobe_cursor at, struct strobe_ftrace_values *out)
{
    while (*form) {
        if (*form == ' ') {
            if (!is_blank_at(at))
                return false;
            strobe_cursor_skip_blanks(&at);
            form++;
        } else if (*form != '%') {
            if (at.at == at.end || *at.at != *form)
                return false;
            at.at++;
            form++;
        } else {
            size_t value = out->count++;
            out->at[value] = (struct strobe_ftrace_value){.field = (uint32_t)(form[1] - '0'), .type = form[2]};
            form += 3;
            if (is_text_type(out->at[value].type))
                return match_text(form, at, value, out);
            if (!take_value(&at, &out->at[value]))
                return false;
        }
    }
    return at.at == at.end || is_blank_at(at);
}

bool strobe_ftrace_match(const char *form, struct strobe_ftrace_text text, struct strobe_ftrace_values *out)
{
    out->count = 0;
    return match_rest(form, strobe_cursor(text.at, text.bytes), out);
}

const struct strobe_ftrace_value *strobe_ftrace_value(const struct strobe_ftrace_values *values, uint32_t field)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->at[i].field == field)
            return &values->at[i];
    return NULL;
}
