#include "sim/score/json_read.h"
#include "engine/base/error_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sim_json_fail(struct sim_json *j, const char *at, const char *expected)
{
    if (!j->failed)
        strobe_error_set(j->error, "column %zu: expected %s", (size_t)(at - j->line) + 1, expected);
    j->failed = true;
    return false;
}

static void sim_json_skip_blanks(struct sim_json *j)
{
    j->p += strspn(j->p, " \t\r\n");
}

bool sim_json_accept(struct sim_json *j, char c)
{
    sim_json_skip_blanks(j);
    if (j->failed || *j->p != c)
        return false;
    j->p++;
    return true;
}

bool sim_json_expect(struct sim_json *j, char c)
{
    char expected[] = {'\'', c, '\'', 0};
    return sim_json_accept(j, c) || sim_json_fail(j, j->p, expected);
}

bool sim_json_end(struct sim_json *j)
{
    sim_json_skip_blanks(j);
    return !j->failed && (!*j->p || sim_json_fail(j, j->p, "the end of the line"));
}

/* Writes a code point as UTF-8. */
static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* Reads the escape after a backslash at p; NULL when it is invalid. The lab writes no surrogate pairs, so this reads
 * none. */
static const char *read_escape(const char *p, char **to)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *at = *p ? strchr(from, *p) : NULL;
    unsigned code = 0;
    if (at) {
        *(*to)++ = into[at - from];
        return p + 1;
    }
    if (*p++ != 'u')
        return NULL;
    for (int i = 0; i < 4; i++, p++) {
        const char *digit = *p ? strchr(digits, *p) : NULL;
        if (!digit)
            return NULL;
        code = code << 4 | (unsigned)((digit - digits) & 15);
    }
    if (!code || (code >= 0xd800 && code < 0xe000))
        return NULL;
    *to = put_utf8(*to, code);
    return p;
}

bool sim_json_text(struct sim_json *j, char **out)
{
    *out = NULL;
    sim_json_skip_blanks(j);
    if (j->failed || *j->p != '"')
        return sim_json_fail(j, j->p, "a text in quotes");
    const char *p = ++j->p;
    char *text = malloc(strlen(p) + 1), *to = text;
    if (!text) {
        j->no_memory = j->failed = true;
        return false;
    }
    while (*p != '"') {
        const char *next = *p == '\\' ? read_escape(p + 1, &to) : (unsigned char)*p < 0x20 ? NULL : p + 1;
        if (!next) {
            free(text);
            return sim_json_fail(j, p, *p == '\\' ? "an escape of JSON" : "the text's closing quote");
        }
        if (*p != '\\')
            *to++ = *p;
        p = next;
    }
    *to = 0;
    j->p = p + 1;
    *out = text;
    return true;
}

bool sim_json_uint(struct sim_json *j, uint64_t *out)
{
    uint64_t value = 0;
    sim_json_skip_blanks(j);
    size_t digits = strspn(j->p, "0123456789");
    if (j->failed || !digits || (digits > 1 && *j->p == '0') || strchr(".eE", j->p[digits] ? j->p[digits] : ' '))
        return sim_json_fail(j, j->p, "a whole number");
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)(j->p[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return sim_json_fail(j, j->p, "a number below 2^64");
        value = value * 10 + digit;
    }
    j->p += digits;
    *out = value;
    return true;
}

/* Returns the end of a number in the syntax of RFC 8259, or p when there is none. */
static const char *number_end(const char *p)
{
    const char *at = p + (*p == '-'), *digits = at;
    at += strspn(at, "0123456789");
    if (at == digits || (*digits == '0' && at > digits + 1))
        return p;
    if (*at == '.') {
        size_t decimals = strspn(at + 1, "0123456789");
        if (!decimals)
            return p;
        at += 1 + decimals;
    }
    if (*at == 'e' || *at == 'E') {
        const char *power = at + 1 + (at[1] == '-' || at[1] == '+');
        size_t count = strspn(power, "0123456789");
        if (!count)
            return p;
        at = power + count;
    }
    return at;
}

bool sim_json_real(struct sim_json *j, double *out)
{
    sim_json_skip_blanks(j);
    const char *end = number_end(j->p);
    if (j->failed || end == j->p)
        return sim_json_fail(j, j->p, "a number");
    *out = strtod(j->p, NULL);
    j->p = end;
    return true;
}

bool sim_json_object(struct sim_json *j, bool (*member)(struct sim_json *j, const char *key, void *ctx), void *ctx)
{
    if (!sim_json_expect(j, '{'))
        return false;
    if (sim_json_accept(j, '}'))
        return true;
    do {
        char *key;
        bool ok = sim_json_text(j, &key) && sim_json_expect(j, ':') && member(j, key, ctx);
        free(key);
        if (!ok)
            return false;
    } while (sim_json_accept(j, ','));
    return sim_json_accept(j, '}') || sim_json_fail(j, j->p, "',' or '}'");
}

bool sim_json_array(struct sim_json *j, bool (*item)(struct sim_json *j, void *ctx), void *ctx)
{
    if (!sim_json_expect(j, '['))
        return false;
    if (sim_json_accept(j, ']'))
        return true;
    do {
        if (!item(j, ctx))
            return false;
    } while (sim_json_accept(j, ','));
    return sim_json_accept(j, ']') || sim_json_fail(j, j->p, "',' or ']'");
}
