#include "engine/util/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

static void indent(struct strobe_json *j)
{
    if (j->one_line)
        return;
    putc('\n', j->out);
    for (unsigned i = 0; i < j->depth; i++)
        fputs("  ", j->out);
}

/* Bytes of the well-formed UTF-8 sequence at p, 0 when it is none (Unicode 15, table 3-7). */
static size_t utf8_bytes(const unsigned char *p)
{
    static const struct {
        unsigned char first, last, low, high, more;
    } forms[] = {
        {0x20, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 0x80, 0xbf, 1}, {0xe0, 0xe0, 0xa0, 0xbf, 2},
        {0xe1, 0xec, 0x80, 0xbf, 2}, {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
        {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3}, {0xf4, 0xf4, 0x80, 0x8f, 3},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (p[0] < forms[i].first || p[0] > forms[i].last)
            continue;
        for (size_t k = 1; k <= forms[i].more; k++) {
            unsigned char low = k == 1 ? forms[i].low : 0x80, high = k == 1 ? forms[i].high : 0xbf;
            if (p[k] < low || p[k] > high)
                return 0;
        }
        return 1u + forms[i].more;
    }
    return 0;
}

static void quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t n = utf8_bytes(p);
        if (*p == '"' || *p == '\\') {
            putc('\\', out);
            putc(*p++, out);
        } else if (*p == '\n' || *p == '\t') {
            fputs(*p++ == '\n' ? "\\n" : "\\t", out);
        } else if (*p < 0x20) {
            fprintf(out, "\\u%04x", *p++);
        } else if (!n) {
            fputs("\\ufffd", out);
            p++;
        } else {
            fwrite(p, 1, n, out);
            p += n;
        }
    }
    putc('"', out);
}

static void before_value(struct strobe_json *j, const char *key)
{
    if (j->started)
        putc(',', j->out);
    if (j->depth)
        indent(j);
    j->started = 1;
    if (key) {
        quoted(j->out, key);
        fputs(": ", j->out);
    }
}

static void open_value(struct strobe_json *j, const char *key, char bracket)
{
    before_value(j, key);
    putc(bracket, j->out);
    j->depth++;
    j->started = 0;
}

static void close_value(struct strobe_json *j, char bracket)
{
    j->depth--;
    if (j->started)
        indent(j);
    putc(bracket, j->out);
    j->started = 1;
    if (!j->depth)
        putc('\n', j->out);
}

void strobe_json_object(struct strobe_json *j, const char *key)
{
    open_value(j, key, '{');
}

void strobe_json_object_end(struct strobe_json *j)
{
    close_value(j, '}');
}

void strobe_json_array(struct strobe_json *j, const char *key)
{
    open_value(j, key, '[');
}

void strobe_json_array_end(struct strobe_json *j)
{
    close_value(j, ']');
}

void strobe_json_text(struct strobe_json *j, const char *key, const char *text)
{
    before_value(j, key);
    if (text)
        quoted(j->out, text);
    else
        fputs("null", j->out);
}

void strobe_json_uint(struct strobe_json *j, const char *key, uint64_t value)
{
    before_value(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void strobe_json_int(struct strobe_json *j, const char *key, int64_t value)
{
    before_value(j, key);
    fprintf(j->out, "%" PRId64, value);
}

void strobe_json_real(struct strobe_json *j, const char *key, double value)
{
    before_value(j, key);
    if (isfinite(value))
        fprintf(j->out, "%.6g", value);
    else
        fputs("null", j->out);
}

void strobe_json_bool(struct strobe_json *j, const char *key, int value)
{
    before_value(j, key);
    fputs(value ? "true" : "false", j->out);
}
