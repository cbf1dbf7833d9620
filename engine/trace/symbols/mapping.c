#include "engine/trace/symbols/mapping.h"
#include "engine/base/error_format.h"
#include "engine/util/array.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const char *at;
    size_t bytes;
};

struct class
{
    struct text before, after;
    const char *members, *end;
};

struct strobe_mapping {
    char *content;
    struct class *classes; /* by `after` */
    size_t count, room;
};

/* ---- text ---- */

static struct text span_text(const char *from, const char *to)
{
    return (struct text){from, (size_t)(to - from)};
}

static struct text trimmed(struct text t)
{
    while (t.bytes && strchr(" \t\r", t.at[0]))
        t.at++, t.bytes--;
    while (t.bytes && strchr(" \t\r", t.at[t.bytes - 1]))
        t.bytes--;
    return t;
}

static bool is_equal_text(struct text a, struct text b)
{
    return a.bytes == b.bytes && memcmp(a.at, b.at, a.bytes) == 0;
}

static int compare(struct text a, struct text b)
{
    int order = memcmp(a.at, b.at, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* Returns the position of `part` in t, or NULL. */
static const char *find_part(struct text t, const char *part)
{
    return memmem(t.at, t.bytes, part, strlen(part));
}

static const char *find_last(struct text t, char c)
{
    return t.bytes ? memrchr(t.at, c, t.bytes) : NULL;
}

/* Removes the next line from *rest. Returns false at the end. */
static bool next_line(struct text *rest, struct text *line)
{
    if (!rest->bytes)
        return false;
    const char *end = memchr(rest->at, '\n', rest->bytes);
    size_t bytes = end ? (size_t)(end - rest->at) : rest->bytes;
    *line = (struct text){rest->at, bytes};
    bytes += end != NULL;
    rest->at += bytes;
    rest->bytes -= bytes;
    return true;
}

/* ---- growing text ---- */

struct string {
    char *at;
    size_t bytes, room;
    bool failed;
};

static void append(struct string *s, struct text t)
{
    if ((s->failed |= !strobe_array_reserve(&s->at, &s->room, s->bytes + t.bytes + 1)))
        return;
    memcpy(s->at + s->bytes, t.at, t.bytes);
    s->bytes += t.bytes;
    s->at[s->bytes] = '\0';
}

static void append_word(struct string *s, const char *word)
{
    append(s, (struct text){word, strlen(word)});
}

/* ---- reading ---- */

static int by_after(const void *a, const void *b)
{
    return compare(((const struct class *)a)->after, ((const struct class *)b)->after);
}

static bool add_class(struct strobe_mapping *m, struct class c)
{
    if (!strobe_array_reserve(&m->classes, &m->room, m->count + 1))
        return false;
    m->classes[m->count++] = c;
    return true;
}

static enum strobe_status fail_expecting(const char *path, size_t line, const char *what, struct strobe_error *error)
{
    strobe_error_set(error, "%s:%zu: expected %s", path, line, what);
    return STROBE_BAD_INPUT;
}

/* "before -> after:" */
static bool class_line(struct text line, struct class *out)
{
    const char *arrow = find_part(line, " -> ");
    if (!arrow || line.bytes < 2 || line.at[line.bytes - 1] != ':')
        return false;
    out->before = trimmed(span_text(line.at, arrow));
    out->after = trimmed(span_text(arrow + 4, line.at + line.bytes - 1));
    return out->before.bytes && out->after.bytes;
}

static enum strobe_status read_classes(struct strobe_mapping *m, size_t bytes, const char *path,
                                       struct strobe_error *error)
{
    struct text rest = {m->content, bytes}, line;
    for (size_t number = 1; next_line(&rest, &line); number++) {
        bool indented = line.bytes && (line.at[0] == ' ' || line.at[0] == '\t');
        struct text t = trimmed(line);
        struct class c = {.members = rest.at};
        if (!t.bytes || t.at[0] == '#')
            continue;
        if (indented && !m->count)
            return fail_expecting(path, number, "a class, \"NAME -> NEW:\", before its members", error);
        if (indented && !find_part(t, " -> "))
            return fail_expecting(path, number, "a member, \"TYPE NAME -> NEW\"", error);
        if (indented)
            continue;
        if (!class_line(t, &c))
            return fail_expecting(path, number, "a class, \"NAME -> NEW:\"", error);
        if (m->count)
            m->classes[m->count - 1].end = line.at;
        if (!add_class(m, c))
            return STROBE_IO;
    }
    if (!m->count)
        return fail_expecting(path, 1, "a class, \"NAME -> NEW:\"", error);
    m->classes[m->count - 1].end = m->content + bytes;
    qsort(m->classes, m->count, sizeof *m->classes, by_after);
    return STROBE_OK;
}

enum strobe_status strobe_mapping_parse(const char *text, size_t bytes, const char *path, struct strobe_mapping **out,
                                        struct strobe_error *error)
{
    struct strobe_mapping *m = calloc(1, sizeof *m);
    *out = NULL;
    strobe_error_set(error, "out of memory");
    if (!m)
        return STROBE_IO;
    m->content = malloc(bytes + 1);
    enum strobe_status status = STROBE_IO;
    if (m->content) {
        memcpy(m->content, text, bytes);
        m->content[bytes] = '\0';
        status = read_classes(m, bytes, path, error);
    }
    if (status == STROBE_OK)
        *out = m;
    else
        strobe_mapping_free(m);
    return status;
}

enum strobe_status strobe_mapping_read(const char *path, struct strobe_mapping **out, struct strobe_error *error)
{
    char *text;
    size_t bytes;
    *out = NULL;
    enum strobe_status status = strobe_whole_file_read(path, SIZE_MAX, &text, &bytes);
    if (status == STROBE_OK)
        status = strobe_mapping_parse(text, bytes, path, out, error);
    else
        strobe_error_set(error, "%s: cannot read: %s", path, strerror(errno));
    free(text);
    return status;
}

void strobe_mapping_free(struct strobe_mapping *m)
{
    if (!m)
        return;
    free(m->classes);
    free(m->content);
    free(m);
}

/* ---- members ---- */

/* The parts of "[1:5:]TYPE NAME(PARAMETERS)[:10[:14]] -> NEW". */
struct member {
    struct text lines, type, name, parameters, after;
};

static bool member_line(struct text line, struct member *out)
{
    const char *arrow = find_part(line, " -> "), *open, *close, *blank;
    if (!arrow || line.at[0] == '#')
        return false;
    struct text before = span_text(line.at, arrow);
    open = find_part(before, "(");
    close = find_part(before, ")");
    if (!open || !close || close < open)
        return false; /* a field */
    out->after = trimmed(span_text(arrow + 4, line.at + line.bytes));
    out->parameters = span_text(open + 1, close);
    blank = find_part(span_text(before.at, open), " ");
    if (!blank)
        return false;
    out->name = trimmed(span_text(blank + 1, open));
    struct text type = span_text(before.at, blank);
    const char *colon = find_last(type, ':');
    out->lines = colon ? span_text(type.at, colon) : (struct text){type.at, 0};
    out->type = colon ? span_text(colon + 1, blank) : type;
    return true;
}

static const struct class *find_original_class(const struct strobe_mapping *m, struct text after)
{
    struct class key = {.after = after};
    return m->count ? bsearch(&key, m->classes, m->count, sizeof key, by_after) : NULL;
}

/* Appends the original of a type: "a.d[]" by its class. */
static void append_type(const struct strobe_mapping *m, struct string *out, struct text type)
{
    type = trimmed(type);
    const char *array = find_part(type, "[");
    struct text element = array ? span_text(type.at, array) : type;
    const struct class *c = find_original_class(m, element);
    append(out, c ? c->before : element);
    if (array)
        append(out, span_text(array, type.at + type.bytes));
}

/* Appends the originals of types that are separated by commas, separated by `comma`. */
static void append_types(const struct strobe_mapping *m, struct string *out, struct text types, const char *comma)
{
    for (bool more = trimmed(types).bytes > 0; more;) {
        const char *end = memchr(types.at, ',', types.bytes);
        append_type(m, out, end ? span_text(types.at, end) : types);
        more = end != NULL;
        if (!more)
            break;
        append_word(out, comma);
        types = span_text(end + 1, types.at + types.bytes);
    }
}

/* Appends the originals of the method `name` with these original parameters, each candidate once. Successive entries of
 * the same lines are one method: the last is the method, and those before it were inlined into it. Returns the number
 * of candidates. */
static unsigned append_candidates(const struct class *c, struct text name, const char *parameters, struct text type,
                                  struct string *out)
{
    struct text rest = span_text(c->members, c->end), line;
    struct member m = {0}, next, seen = {0};
    bool pending = false;
    unsigned count = 0;
    for (bool more = true; more;) {
        more = next_line(&rest, &line);
        bool is_method = more && member_line(trimmed(line), &next) && is_equal_text(next.after, name);
        if (more && !is_method)
            continue;
        bool inlined = more && pending && next.lines.bytes && is_equal_text(next.lines, m.lines);
        bool fits = pending && !inlined && is_equal_text(m.parameters, (struct text){parameters, strlen(parameters)});
        if (fits && !(count && is_equal_text(m.name, seen.name))) {
            if (count)
                append_word(out, " or ");
            append(out, type);
            append_word(out, " ");
            if (!memchr(m.name.at, '.', m.name.bytes)) {
                append(out, c->before);
                append_word(out, ".");
            }
            append(out, m.name);
            seen = m;
            count++;
        }
        m = next;
        pending = more;
    }
    return count;
}

/* ---- a method's text ---- */

/* "TYPE CLASS.NAME(PARAMETERS)" */
static bool split_method(struct text t, struct text *type, struct text *class, struct text *name,
                         struct text *parameters)
{
    const char *open = find_part(t, "("), *close = find_last(t, ')');
    if (!open || !close || close < open)
        return false;
    const char *blank = find_last(span_text(t.at, open), ' ');
    struct text whole = span_text(blank ? blank + 1 : t.at, open);
    const char *dot = find_last(whole, '.');
    if (!dot || !blank)
        return false;
    *type = span_text(t.at, blank);
    *class = span_text(whole.at, dot);
    *name = span_text(dot + 1, open);
    *parameters = span_text(open + 1, close);
    return true;
}

char *strobe_mapping_method(const struct strobe_mapping *m, const char *method)
{
    struct text t = {method, strlen(method)}, type, class, name, parameters;
    struct string out = {0}, types = {0}, key = {0}, result = {0};
    if (!split_method(t, &type, &class, &name, &parameters))
        return strdup(method);
    append_word(&types, "");
    append_word(&key, "");
    append_type(m, &result, type);
    append_types(m, &types, parameters, ", ");
    append_types(m, &key, parameters, ",");
    const struct class *c = find_original_class(m, class);
    bool failed = types.failed || key.failed || result.failed;
    struct text now = {result.at, result.bytes};
    if (!failed && (!c || !append_candidates(c, name, key.at, now, &out))) {
        append(&out, now);
        append_word(&out, " ");
        append(&out, c ? c->before : class);
        append_word(&out, ".");
        append(&out, name);
    }
    append_word(&out, "(");
    append_word(&out, failed ? "" : types.at);
    append_word(&out, ")");
    failed |= out.failed;
    free(types.at);
    free(key.at);
    free(result.at);
    if (failed) {
        free(out.at);
        return NULL;
    }
    return out.at;
}
