/* Selects the methods that get probes, and assigns their ids; see matrix_map.h. */
#include "engine/base/error_format.h"
#include "engine/method/matrix/matrix_entry.h"
#include "engine/trace/import/matrix/matrix_map.h"
#include "engine/util/outfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the class name without its package. */
static const char *simple_name(const char *class_name)
{
    const char *name = class_name;
    for (const char *p = class_name; *p; p++)
        if (*p == '.' || *p == '/')
            name = p + 1;
    return name;
}

/* Returns true for the class, or a class within it. */
static bool is_class(const char *simple, const char *name)
{
    size_t bytes = strlen(name);
    return !strncmp(simple, name, bytes) && (!simple[bytes] || simple[bytes] == '$');
}

static bool is_generated(const char *class_name)
{
    const char *simple = simple_name(class_name);
    return is_class(simple, "R") || is_class(simple, "Manifest") || is_class(simple, "BuildConfig");
}

/* A constructor with only fields also calls the superclass's constructor. */
static bool is_accessor(const struct strobe_matrix_candidate *c)
{
    uint32_t more = c->ops - (c->plain_ops < c->ops ? c->plain_ops : c->ops);
    return !more || (!strcmp(c->method, "<init>") && more == 1 && c->special_calls == 1 && c->calls == 1);
}

enum strobe_matrix_verdict strobe_matrix_judge(const struct strobe_matrix_blacklist *l,
                                               const struct strobe_matrix_candidate *c)
{
    if (c->class_is_abstract || c->access & (STROBE_ACCESS_NATIVE | STROBE_ACCESS_ABSTRACT))
        return STROBE_MATRIX_NO_BODY;
    if (strobe_matrix_blacklist_has(l, c->class_name))
        return STROBE_MATRIX_LISTED;
    if (is_generated(c->class_name))
        return STROBE_MATRIX_GENERATED;
    if (!c->ops)
        return STROBE_MATRIX_EMPTY;
    if (is_accessor(c))
        return STROBE_MATRIX_ACCESSOR;
    return c->calls ? STROBE_MATRIX_TRACED : STROBE_MATRIX_CALLS_NOTHING;
}

/* Returns "class method desc", with dots, allocated. NULL: out of memory. */
static char *whole_name(const struct strobe_matrix_candidate *c)
{
    bool has_desc = c->desc && *c->desc && !(c->access & STROBE_ACCESS_NATIVE);
    size_t bytes = strlen(c->class_name) + strlen(c->method) + (has_desc ? strlen(c->desc) + 1 : 0) + 2;
    char *name = malloc(bytes);
    if (!name)
        return NULL;
    snprintf(name, bytes, "%s %s%s%s", c->class_name, c->method, has_desc ? " " : "", has_desc ? c->desc : "");
    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '.';
    return name;
}

enum strobe_status strobe_matrix_assign(struct strobe_matrix_map *m, const struct strobe_matrix_blacklist *l,
                                        const struct strobe_matrix_candidate *candidates, size_t count, uint32_t *ids,
                                        struct strobe_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct strobe_matrix_candidate *c = &candidates[i];
        ids[i] = 0;
        if (strobe_matrix_judge(l, c) != STROBE_MATRIX_TRACED)
            continue;
        char *name = whole_name(c);
        enum strobe_status status = name ? strobe_matrix_map_id(m, c->access, name, &ids[i]) : STROBE_IO;
        if (status == STROBE_FULL)
            strobe_error_set(error, "%s: expected at most %d methods with ids, a log has no more", name,
                             STROBE_MATRIX_ID_MAX);
        else if (status != STROBE_OK)
            strobe_error_set(error, "not enough memory");
        free(name);
        if (status != STROBE_OK)
            return status;
    }
    return STROBE_OK;
}

/* ---- the file of ignored methods */

struct ignored {
    const char *class_name;
    char *name;
    size_t number;
};

static int by_class(const void *a, const void *b)
{
    const struct ignored *x = a, *y = b;
    int order = strcmp(x->class_name, y->class_name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

enum strobe_status strobe_matrix_ignored_write(const struct strobe_matrix_candidate *candidates, size_t count,
                                               const uint32_t *ids, const char *path, int replace)
{
    struct ignored *all = calloc(count + 1, sizeof *all);
    size_t used = 0;
    bool whole = all;
    for (size_t i = 0; i < count && whole; i++) {
        if (ids[i])
            continue;
        all[used] = (struct ignored){candidates[i].class_name, whole_name(&candidates[i]), i};
        whole = all[used++].name;
    }
    struct strobe_outfile out;
    enum strobe_status status = whole ? strobe_outfile_open(&out, path, replace) : STROBE_IO;
    if (status == STROBE_OK) {
        qsort(all, used, sizeof *all, by_class);
        strobe_outfile_text(&out, "ignore methods:\n");
        for (size_t i = 0; i < used; i++) {
            strobe_outfile_text(&out, all[i].name);
            strobe_outfile_text(&out, "\n");
        }
        status = strobe_outfile_finish(&out, 0);
    }
    for (size_t i = 0; i < used; i++)
        free(all[i].name);
    free(all);
    return status;
}
