#include "engine/trace/import/matrix/matrix_map.h"
#include "engine/base/error_format.h"

#include "engine/method/matrix/matrix_entry.h"
#include "engine/util/array.h"
#include "engine/util/cursor.h"
#include "engine/util/idmap.h"
#include "engine/util/outfile.h"
#include "engine/util/text_pool.h"
#include "engine/util/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Methods, by the number of their text in the pool. */
struct strobe_matrix_map {
    struct strobe_text_pool names;
    struct strobe_matrix_method *methods;
    size_t count, room;
    struct strobe_idmap by_id; /* id -> number */
    uint32_t largest;          /* largest id, except the dispatch's */
};

struct place {
    const char *path;
    size_t line;
    struct strobe_error *error;
};

static enum strobe_status report_expected(const struct place *p, const char *what)
{
    strobe_error_set(p->error, "%s:%zu: expected %s", p->path, p->line, what);
    return STROBE_BAD_INPUT;
}

static enum strobe_status no_memory(const struct place *p)
{
    strobe_error_set(p->error, "%s: not enough memory", p->path);
    return STROBE_IO;
}

/* ---- mappings */

void strobe_matrix_map_close(struct strobe_matrix_map *m)
{
    if (!m)
        return;
    strobe_text_pool_free(&m->names);
    free(m->methods);
    strobe_idmap_free(&m->by_id);
    free(m);
}

/* Adds a method. Its text and id must be new. */
static bool add_method(struct strobe_matrix_map *m, uint32_t id, uint32_t access, const char *name, size_t bytes)
{
    if (!strobe_array_reserve(&m->methods, &m->room, m->count + 1))
        return false;
    uint32_t number = strobe_text_number(&m->names, name, bytes);
    if (number == UINT32_MAX || !strobe_idmap_add(&m->by_id, id, 0, number))
        return false;
    m->methods[m->count++] = (struct strobe_matrix_method){id, access, m->names.texts[number]};
    if (id > m->largest && id != STROBE_MATRIX_DISPATCH)
        m->largest = id;
    return true;
}

static const char dispatch[] = "android.os.Handler dispatchMessage (Landroid.os.Message;)V";

static bool add_dispatch(struct strobe_matrix_map *m)
{
    return strobe_idmap_get(&m->by_id, STROBE_MATRIX_DISPATCH, 0) ||
           add_method(m, STROBE_MATRIX_DISPATCH, 1, dispatch, sizeof dispatch - 1);
}

struct strobe_matrix_map *strobe_matrix_map_open(void)
{
    struct strobe_matrix_map *m = calloc(1, sizeof(struct strobe_matrix_map));
    if (m && !add_dispatch(m)) {
        strobe_matrix_map_close(m);
        return NULL;
    }
    return m;
}

size_t strobe_matrix_map_count(const struct strobe_matrix_map *m)
{
    return m->count;
}

const struct strobe_matrix_method *strobe_matrix_map_at(const struct strobe_matrix_map *m, size_t number)
{
    return &m->methods[number];
}

const struct strobe_matrix_method *strobe_matrix_map_of(const struct strobe_matrix_map *m, uint32_t id)
{
    const uint32_t *number = strobe_idmap_get(&m->by_id, id, 0);
    return number ? &m->methods[*number] : NULL;
}

enum strobe_status strobe_matrix_map_id(struct strobe_matrix_map *m, uint32_t access, const char *name, uint32_t *id)
{
    uint32_t number = strobe_text_number(&m->names, name, strlen(name));
    if (number == UINT32_MAX)
        return STROBE_IO;
    if (number < m->count) {
        *id = m->methods[number].id;
        return STROBE_OK;
    }
    if (m->largest == STROBE_MATRIX_ID_MAX)
        return STROBE_FULL;
    *id = m->largest + 1;
    return add_method(m, *id, access, name, strlen(name)) ? STROBE_OK : STROBE_IO;
}

/* Parses a decimal number and the comma behind it. */
static bool number_field(struct strobe_cursor *c, uint64_t most, uint64_t *out)
{
    return strobe_cursor_take_number(c, most, out) && strobe_cursor_take(c, ",");
}

/* Returns true for "class method" or "class method desc": words of printable characters, separated by single blanks. */
static bool is_method(const char *at, const char *end)
{
    int words = 1;
    const char *word = at;
    for (const char *p = at; p < end; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f || *p == ',')
            return false;
        if (*p != ' ')
            continue;
        if (p == word || ++words > 3)
            return false;
        word = p + 1;
    }
    return words >= 2 && word < end;
}

static void dotted(char *text)
{
    for (; *text; text++)
        if (*text == '/')
            *text = '.';
}

static enum strobe_status map_line(struct strobe_matrix_map *m, const char *at, const char *end, const struct place *p)
{
    struct strobe_cursor c = {at, end};
    uint64_t id, access;
    if (!number_field(&c, STROBE_MATRIX_DISPATCH, &id) || !id)
        return report_expected(p, "an id of 1 to 1048574 and a comma");
    if (!number_field(&c, UINT32_MAX, &access))
        return report_expected(p, "access flags and a comma");
    if (!is_method(c.at, end))
        return report_expected(p, "a class, a method and a descriptor");
    if (strobe_idmap_get(&m->by_id, id, 0))
        return report_expected(p, "an id that is not there already");
    char *name = strndup(c.at, (size_t)(end - c.at));
    if (!name)
        return no_memory(p);
    dotted(name);
    size_t known = m->names.count;
    enum strobe_status status = STROBE_OK;
    if (id != STROBE_MATRIX_DISPATCH && !strcmp(name, dispatch))
        status = report_expected(p, "the id 1048574 for the dispatch of messages");
    else if (strobe_text_number(&m->names, name, strlen(name)) < known)
        status = report_expected(p, "a method that is not there already");
    if (status == STROBE_OK && !add_method(m, (uint32_t)id, (uint32_t)access, name, strlen(name)))
        status = no_memory(p);
    free(name);
    return status;
}

/* Passes each line that is not a comment or empty to `line`, without blanks at its end. */
static enum strobe_status
each_line(const char *text, size_t bytes, const char *path, struct strobe_error *error,
          enum strobe_status (*line)(void *to, const char *at, const char *end, const struct place *p), void *to)
{
    struct place p = {.path = path, .error = error};
    enum strobe_status status = STROBE_OK;
    struct strobe_cursor c = strobe_cursor(text, bytes), l;
    while (status == STROBE_OK && strobe_cursor_take_line(&c, &l)) {
        p.line++;
        while (l.end > l.at && (l.end[-1] == '\r' || l.end[-1] == ' ' || l.end[-1] == '\t'))
            l.end--;
        if (l.end > l.at && *l.at != '#')
            status = line(to, l.at, l.end, &p);
    }
    return status;
}

static enum strobe_status map_line_of(void *to, const char *at, const char *end, const struct place *p)
{
    return map_line(to, at, end, p);
}

enum strobe_status strobe_matrix_map_parse(const char *text, size_t bytes, const char *path,
                                           struct strobe_matrix_map **out, struct strobe_error *error)
{
    struct strobe_matrix_map *m = calloc(1, sizeof(struct strobe_matrix_map));
    struct place whole = {.path = path, .error = error};
    *out = NULL;
    enum strobe_status status = m ? each_line(text, bytes, path, error, map_line_of, m) : no_memory(&whole);
    if (status == STROBE_OK && !add_dispatch(m))
        status = no_memory(&whole);
    if (status != STROBE_OK)
        strobe_matrix_map_close(m);
    else
        *out = m;
    return status;
}

enum strobe_status strobe_matrix_map_read(const char *path, struct strobe_matrix_map **out, struct strobe_error *error)
{
    char *text;
    size_t bytes;
    *out = NULL;
    enum strobe_status status = strobe_whole_file_read(path, SIZE_MAX, &text, &bytes);
    if (status == STROBE_OK)
        status = strobe_matrix_map_parse(text, bytes, path, out, error);
    else
        strobe_error_set(error, "%s: %s", path, strerror(errno));
    free(text);
    return status;
}

enum strobe_status strobe_matrix_map_write(const struct strobe_matrix_map *m, const char *path, int replace)
{
    struct strobe_outfile out;
    enum strobe_status status = strobe_outfile_open(&out, path, replace);
    if (status != STROBE_OK)
        return status;
    for (uint32_t id = 1; id <= STROBE_MATRIX_DISPATCH; id++) {
        const struct strobe_matrix_method *method = strobe_matrix_map_of(m, id);
        if (!method)
            continue;
        strobe_outfile_number(&out, id);
        strobe_outfile_text(&out, ",");
        strobe_outfile_number(&out, method->access);
        strobe_outfile_text(&out, ",");
        strobe_outfile_text(&out, method->name);
        strobe_outfile_text(&out, "\n");
    }
    return strobe_outfile_finish(&out, 0);
}

/* ---- black lists */

struct listed {
    char *name;
    bool is_package;
};

struct strobe_matrix_blacklist {
    struct listed *at;
    size_t count, room;
};

void strobe_matrix_blacklist_close(struct strobe_matrix_blacklist *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        free(l->at[i].name);
    free(l->at);
    free(l);
}

static enum strobe_status blacklist_line(void *to, const char *at, const char *end, const struct place *p)
{
    static const char class_word[] = "-keepclass ", package_word[] = "-keeppackage ";
    struct strobe_matrix_blacklist *l = to;
    size_t bytes = (size_t)(end - at);
    if (*at == '[')
        return STROBE_OK;
    bool is_package = bytes > sizeof package_word - 1 && !memcmp(at, package_word, sizeof package_word - 1);
    if (!is_package && (bytes <= sizeof class_word - 1 || memcmp(at, class_word, sizeof class_word - 1)))
        return report_expected(p, "-keepclass and a class, or -keeppackage and a package");
    at += is_package ? sizeof package_word - 1 : sizeof class_word - 1;
    while (at < end && *at == ' ')
        at++;
    for (const char *c = at; c < end; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return report_expected(p, "one name");
    while (is_package && end > at && (end[-1] == '/' || end[-1] == '.'))
        end--;
    if (at == end)
        return report_expected(p, "a name");
    if (!strobe_array_reserve(&l->at, &l->room, l->count + 1))
        return no_memory(p);
    char *name = strndup(at, (size_t)(end - at));
    if (!name)
        return no_memory(p);
    dotted(name);
    l->at[l->count++] = (struct listed){name, is_package};
    return STROBE_OK;
}

enum strobe_status strobe_matrix_blacklist_parse(struct strobe_matrix_blacklist *l, const char *text, size_t bytes,
                                                 const char *path, struct strobe_error *error)
{
    return each_line(text, bytes, path, error, blacklist_line, l);
}

struct strobe_matrix_blacklist *strobe_matrix_blacklist_open(void)
{
    static const char usual[] = "-keeppackage android/\n-keeppackage com/tencent/matrix/\n";
    struct strobe_matrix_blacklist *l = calloc(1, sizeof *l);
    struct strobe_error error;
    if (l && strobe_matrix_blacklist_parse(l, usual, sizeof usual - 1, "usual", &error) != STROBE_OK) {
        strobe_matrix_blacklist_close(l);
        return NULL;
    }
    return l;
}

/* Returns true if `name` begins with `part` (with dots for slashes) and then ends or continues with `next`. */
static bool is_or_within(const char *name, const char *part, char next)
{
    for (; *part; part++, name++)
        if ((*name == '/' ? '.' : *name) != *part)
            return false;
    return !*name || (*name == '/' ? '.' : *name) == next;
}

bool strobe_matrix_blacklist_has(const struct strobe_matrix_blacklist *l, const char *class_name)
{
    for (size_t i = 0; i < l->count; i++)
        if (is_or_within(class_name, l->at[i].name, l->at[i].is_package ? '.' : '$'))
            return true;
    return false;
}
