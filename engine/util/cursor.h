/* A cursor over text that need not end with NUL. The functions take numbers, words and lines off its front.
 *
 * Each strobe_cursor_take_* returns false when the text at the cursor has another form; the cursor and *out are then
 * as before. Numbers have the digits 0 to 9 only: no blanks, no plus sign, any number of leading zeros.
 *
 * The text stays the caller's and must outlive the cursor. Nothing is allocated. For the reading half and the lab,
 * never the capture half. */
#ifndef STROBE_UTIL_CURSOR_H
#define STROBE_UTIL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left of a text: from `at` to before `end`. */
struct strobe_cursor {
    const char *at, *end;
};

static inline struct strobe_cursor strobe_cursor(const char *text, size_t bytes)
{
    return (struct strobe_cursor){text, text + bytes};
}

static inline bool strobe_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool strobe_cursor_at_digit(const struct strobe_cursor *c)
{
    return c->at < c->end && strobe_is_digit(*c->at);
}

/* Takes a decimal number of at most `most`. */
static inline bool strobe_cursor_take_number(struct strobe_cursor *c, uint64_t most, uint64_t *out)
{
    struct strobe_cursor at = *c;
    uint64_t n = 0;
    for (; strobe_cursor_at_digit(&at); at.at++) {
        uint64_t digit = (uint64_t)(*at.at - '0');
        if (n > most / 10 || digit > most - n * 10)
            return false;
        n = n * 10 + digit;
    }
    if (at.at == c->at)
        return false;
    *out = n;
    *c = at;
    return true;
}

/* Takes a decimal number of -most - 1 to `most`, which may have a minus sign. */
static inline bool strobe_cursor_take_signed(struct strobe_cursor *c, int64_t most, int64_t *out)
{
    struct strobe_cursor at = *c;
    bool negative = at.at < at.end && *at.at == '-';
    uint64_t n;
    at.at += negative;
    if (!strobe_cursor_take_number(&at, (uint64_t)most + negative, &n))
        return false;
    *out = (int64_t)(negative ? 0 - n : n);
    *c = at;
    return true;
}

/* Takes a number of 1 to 16 hexadecimal digits of either case, without a prefix. */
static inline bool strobe_cursor_take_hex(struct strobe_cursor *c, uint64_t *out)
{
    struct strobe_cursor at = *c;
    uint64_t n = 0;
    for (; at.at < at.end; at.at++) {
        char lower = (char)(*at.at | 0x20);
        if (!strobe_is_digit(*at.at) && (lower < 'a' || lower > 'f'))
            break;
        if (at.at - c->at == 16)
            return false;
        n = n << 4 | (uint64_t)(strobe_is_digit(*at.at) ? *at.at - '0' : lower - 'a' + 10);
    }
    if (at.at == c->at)
        return false;
    *out = n;
    *c = at;
    return true;
}

/* Takes `word` where the text goes on with it. */
static inline bool strobe_cursor_take(struct strobe_cursor *c, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(c->end - c->at) < bytes || memcmp(c->at, word, bytes) != 0)
        return false;
    c->at += bytes;
    return true;
}

/* Takes a line with the newline behind it; `line` is without the newline. The last line may lack it. */
static inline bool strobe_cursor_take_line(struct strobe_cursor *c, struct strobe_cursor *line)
{
    if (c->at == c->end)
        return false;
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    *line = (struct strobe_cursor){c->at, newline ? newline : c->end};
    c->at = newline ? newline + 1 : c->end;
    return true;
}

/* Passes over blanks and tabs. */
static inline void strobe_cursor_skip_blanks(struct strobe_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

#endif
