#include "engine/util/json.h"

#include "engine/util/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

static void json_indent(struct strobe_json *j)
{
    if (j->one_line)
        return;
    putc('\n', j->out);
    for (unsigned i = 0; i < j->depth; i++)
        fputs("  ", j->out);
}

static void json_print_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t n = strobe_utf8_bytes(p, 4);
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

static void json_begin_value(struct strobe_json *j, const char *key)
{
    if (j->started)
        putc(',', j->out);
    if (j->depth)
        json_indent(j);
    j->started = 1;
    if (key) {
        json_print_quoted(j->out, key);
        fputs(": ", j->out);
    }
}

static void json_open_value(struct strobe_json *j, const char *key, char bracket)
{
    json_begin_value(j, key);
    putc(bracket, j->out);
    j->depth++;
    j->started = 0;
}

static void json_close_value(struct strobe_json *j, char bracket)
{
    j->depth--;
    if (j->started)
        json_indent(j);
    putc(bracket, j->out);
    j->started = 1;
    if (!j->depth)
        putc('\n', j->out);
}

void strobe_json_object(struct strobe_json *j, const char *key)
{
    json_open_value(j, key, '{');
}

void strobe_json_object_end(struct strobe_json *j)
{
    json_close_value(j, '}');
}

void strobe_json_array(struct strobe_json *j, const char *key)
{
    json_open_value(j, key, '[');
}

void strobe_json_array_end(struct strobe_json *j)
{
    json_close_value(j, ']');
}

void strobe_json_text(struct strobe_json *j, const char *key, const char *text)
{
    json_begin_value(j, key);
    if (text)
        json_print_quoted(j->out, text);
    else
        fputs("null", j->out);
}

void strobe_json_uint(struct strobe_json *j, const char *key, uint64_t value)
{
    json_begin_value(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void strobe_json_int(struct strobe_json *j, const char *key, int64_t value)
{
    json_begin_value(j, key);
    fprintf(j->out, "%" PRId64, value);
}

void strobe_json_real(struct strobe_json *j, const char *key, double value)
{
    json_begin_value(j, key);
    if (isfinite(value))
        fprintf(j->out, "%.6g", value);
    else
        fputs("null", j->out);
}

void strobe_json_bool(struct strobe_json *j, const char *key, int value)
{
    json_begin_value(j, key);
    fputs(value ? "true" : "false", j->out);
}
