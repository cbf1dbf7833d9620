#include "engine/util/json_read.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES_MAX = 64 };

struct strobe_json_in strobe_json_in(const char *text, size_t bytes)
{
    return (struct strobe_json_in){text, text + bytes, false, true};
}

static void skip_json_space(struct strobe_json_in *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

static bool fail_json(struct strobe_json_in *j)
{
    j->bad = true;
    return false;
}

char strobe_json_peek(struct strobe_json_in *j)
{
    if (j->bad)
        return 0;
    skip_json_space(j);
    return j->at < j->end ? *j->at : 0;
}

static bool take_json_char(struct strobe_json_in *j, char what)
{
    if (strobe_json_peek(j) != what || !what)
        return fail_json(j);
    j->at++;
    return true;
}

bool strobe_json_enter(struct strobe_json_in *j, char what)
{
    j->first = true;
    return take_json_char(j, what);
}

/* Moves to the next element before `close`. */
static bool next_json_element(struct strobe_json_in *j, char close)
{
    bool first = j->first;
    j->first = false;
    if (strobe_json_peek(j) == close) {
        j->at++;
        return false;
    }
    return first ? !j->bad : take_json_char(j, ',');
}

bool strobe_json_key(struct strobe_json_in *j, struct strobe_cursor *key)
{
    return next_json_element(j, '}') && strobe_json_take_text(j, key) && take_json_char(j, ':');
}

bool strobe_json_item(struct strobe_json_in *j)
{
    return next_json_element(j, ']');
}

bool strobe_json_take_text(struct strobe_json_in *j, struct strobe_cursor *out)
{
    if (!take_json_char(j, '"'))
        return false;
    for (const char *at = j->at; at < j->end; at++) {
        if (*at == '"') {
            *out = (struct strobe_cursor){j->at, at};
            j->at = at + 1;
            return true;
        }
        at += *at == '\\';
    }
    return fail_json(j);
}

bool strobe_json_take_number(struct strobe_json_in *j, double *out)
{
    char text[NUMBER_BYTES_MAX + 1], *rest;
    size_t bytes = 0;
    strobe_json_peek(j);
    while (j->at + bytes < j->end && bytes < NUMBER_BYTES_MAX &&
           memchr("+-.eE0123456789", j->at[bytes], sizeof "+-.eE0123456789" - 1))
        bytes++;
    memcpy(text, j->at, bytes);
    text[bytes] = '\0';
    if (j->bad || !bytes || (*text != '-' && !strobe_is_digit(*text)))
        return fail_json(j);
    *out = strtod(text, &rest);
    if (rest != text + bytes)
        return fail_json(j);
    j->at += bytes;
    return true;
}

bool strobe_json_take_null(struct strobe_json_in *j)
{
    if (strobe_json_peek(j) != 'n' || j->end - j->at < 4 || memcmp(j->at, "null", 4) != 0)
        return false;
    j->at += 4;
    return true;
}

/* Skips an object or an array, whose first character is next. */
static bool skip_json_nested(struct strobe_json_in *j)
{
    struct strobe_cursor text;
    size_t depth = 0;
    while (j->at < j->end) {
        char c = *j->at;
        if (c == '"') {
            if (!strobe_json_take_text(j, &text))
                return false;
            continue;
        }
        j->at++;
        depth += c == '{' || c == '[';
        if ((c == '}' || c == ']') && !--depth)
            return true;
    }
    return fail_json(j);
}

bool strobe_json_skip(struct strobe_json_in *j)
{
    struct strobe_cursor text;
    switch (strobe_json_peek(j)) {
    case '{':
    case '[': return skip_json_nested(j);
    case '"': return strobe_json_take_text(j, &text);
    case 0:
    case ',':
    case ':':
    case '}':
    case ']': return fail_json(j);
    default:
        while (j->at < j->end && !memchr(",:]} \t\r\n", *j->at, sizeof ",:]} \t\r\n" - 1))
            j->at++;
        return true;
    }
}

bool strobe_json_is(struct strobe_cursor text, const char *word)
{
    return strobe_cursor_take(&text, word) && text.at == text.end;
}

/* Takes the four digits of \u. */
static bool take_unicode(struct strobe_cursor *text, uint32_t *out)
{
    uint64_t value;
    struct strobe_cursor digits = {text->at, text->at + 4};
    if (text->end - text->at < 4 || !strobe_cursor_take_hex(&digits, &value) || digits.at != digits.end)
        return false;
    *out = (uint32_t)value;
    text->at += 4;
    return true;
}

/* Writes the character as UTF-8. Returns its bytes. */
static size_t put_unicode(uint32_t c, char out[3])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3f));
    out[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

size_t strobe_json_unescape(struct strobe_cursor text, char *out, size_t bytes)
{
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    size_t used = 0;
    while (text.at < text.end) {
        char piece[3] = {*text.at++};
        size_t piece_bytes = 1;
        if (*piece == '\\' && text.at < text.end) {
            char *known = strchr(plain, *text.at);
            uint32_t unicode;
            struct strobe_cursor digits = {text.at + 1, text.end};
            if (known && *known) {
                *piece = meant[known - plain];
                text.at++;
            } else if (*text.at == 'u' && take_unicode(&digits, &unicode)) {
                piece_bytes = put_unicode(unicode, piece);
                text.at = digits.at;
            }
        }
        if (piece_bytes > bytes - used)
            break;
        memcpy(out + used, piece, piece_bytes);
        used += piece_bytes;
    }
    return used;
}
