#include "engine/trace/export/html/page_flame.h"

#include <stdlib.h>
#include <string.h>

/* The paths of the caller, while the tree is made. */
struct page_cut {
    uint32_t *parents;
    double *self, *whole; /* by path, then by column: amounts of the path; with those below it */
    uint32_t *below;      /* number of paths below */
    uint32_t *kept;       /* number in the new tree + 1; 0 = left out */
};

static uint32_t has_amount(const struct page_cut *c, size_t columns, uint32_t path)
{
    for (size_t k = 0; k < columns; k++)
        if (c->whole[path * columns + k] > 0)
            return 1;
    return 0;
}

static enum strobe_status sum_page_paths(struct page_cut *c, const struct strobe_page_paths *p)
{
    size_t columns = p->columns;
    c->parents = calloc(p->count, sizeof *c->parents);
    c->self = calloc(p->count, columns * sizeof *c->self);
    c->whole = calloc(p->count, columns * sizeof *c->whole);
    c->below = calloc(p->count, sizeof *c->below);
    c->kept = calloc(p->count, sizeof *c->kept);
    if (!c->parents || !c->self || !c->whole || !c->below || !c->kept)
        return STROBE_IO;
    for (uint32_t i = p->count; i-- > 0;) {
        double amounts[STROBE_PAGE_COLUMNS_MOST] = {0};
        p->path(p->ctx, i, &c->parents[i], amounts);
        for (size_t k = 0; k < columns; k++) {
            c->self[i * columns + k] = amounts[k];
            c->whole[i * columns + k] += amounts[k];
            if (i)
                c->whole[c->parents[i] * columns + k] += c->whole[i * columns + k];
        }
        if (i)
            c->below[c->parents[i]] += c->below[i] + has_amount(c, columns, i);
    }
    return STROBE_OK;
}

static int is_large_path(const struct page_cut *c, size_t columns, uint32_t path, double share)
{
    for (size_t k = 0; k < columns; k++)
        if (c->whole[path * columns + k] > 0 && c->whole[path * columns + k] >= share * c->whole[k])
            return 1;
    return path == 0;
}

/* Numbers the paths to keep. A path is at least as large as those below it, so its parent is kept, too. */
static uint32_t number_page_paths(struct page_cut *c, const struct strobe_page_paths *p, double *share)
{
    for (*share = STROBE_PAGE_LEAST_SHARE;; *share *= 2) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < p->count; i++)
            c->kept[i] = is_large_path(c, p->columns, i, *share) ? ++count : 0;
        if (count <= STROBE_PAGE_PATHS_MOST)
            return count;
    }
}

static enum strobe_status copy_page_paths(struct strobe_page_flame *f, const struct page_cut *c,
                                          const struct strobe_page_paths *p)
{
    size_t columns = p->columns, row = columns * sizeof *f->amounts;
    f->parents = calloc(f->count, sizeof *f->parents);
    f->names = calloc(f->count, sizeof *f->names);
    f->amounts = calloc(f->count, row);
    f->others = calloc(f->count, sizeof *f->others);
    f->other_amounts = calloc(f->count, row);
    if (!f->parents || !f->names || !f->amounts || !f->others || !f->other_amounts)
        return STROBE_IO;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t parent = c->kept[c->parents[i]];
        if (c->kept[i]) {
            uint32_t to = c->kept[i] - 1;
            f->parents[to] = i ? parent - 1 : 0;
            f->names[to] = i ? p->name(p->ctx, i) : 0;
            memcpy(f->amounts + to * columns, c->self + i * columns, row);
        } else if (parent && has_amount(c, columns, i)) {
            f->others[parent - 1] += c->below[i] + 1;
            f->left_out += c->below[i] + 1;
            for (size_t k = 0; k < columns; k++)
                f->other_amounts[(parent - 1) * columns + k] += c->whole[i * columns + k];
        }
    }
    return STROBE_OK;
}

enum strobe_status strobe_page_flame_build(struct strobe_page_flame *f, const struct strobe_page_paths *p)
{
    struct page_cut cut = {0};
    *f = (struct strobe_page_flame){.columns = p->columns};
    memcpy(f->column_names, p->column_names, sizeof f->column_names);
    enum strobe_status status = p->count ? sum_page_paths(&cut, p) : STROBE_OK;
    if (status == STROBE_OK && p->count) {
        f->count = number_page_paths(&cut, p, &f->share);
        status = copy_page_paths(f, &cut, p);
    }
    free(cut.parents);
    free(cut.self);
    free(cut.whole);
    free(cut.below);
    free(cut.kept);
    return status;
}

/* Writes the amounts of one column, rounded: of all paths, or of those with others below them. */
static void write_page_column(const struct strobe_page_flame *f, unsigned column, int others, struct strobe_json *j)
{
    const double *from = others ? f->other_amounts : f->amounts;
    strobe_json_array(j, NULL);
    for (uint32_t i = 0; i < f->count; i++)
        if (!others || f->others[i])
            strobe_json_uint(j, NULL, (uint64_t)(from[(size_t)i * f->columns + column] + 0.5));
    strobe_json_array_end(j);
}

void strobe_page_flame_write(const struct strobe_page_flame *f, const char *key, struct strobe_json *j)
{
    strobe_json_object(j, key);
    strobe_json_real(j, "share", f->share);
    strobe_json_uint(j, "left_out", f->left_out);
    strobe_json_array(j, "columns");
    for (unsigned k = 0; k < f->columns; k++)
        strobe_json_text(j, NULL, f->column_names[k]);
    strobe_json_array_end(j);
    strobe_json_array(j, "parent");
    for (uint32_t i = 0; i < f->count; i++)
        strobe_json_uint(j, NULL, f->parents[i]);
    strobe_json_array_end(j);
    strobe_json_array(j, "name");
    for (uint32_t i = 0; i < f->count; i++)
        strobe_json_uint(j, NULL, f->names[i]);
    strobe_json_array_end(j);
    strobe_json_array(j, "self");
    for (unsigned k = 0; k < f->columns; k++)
        write_page_column(f, k, 0, j);
    strobe_json_array_end(j);
    strobe_json_array(j, "other_of");
    for (uint32_t i = 0; i < f->count; i++)
        if (f->others[i])
            strobe_json_uint(j, NULL, i);
    strobe_json_array_end(j);
    strobe_json_array(j, "other_paths");
    for (uint32_t i = 0; i < f->count; i++)
        if (f->others[i])
            strobe_json_uint(j, NULL, f->others[i]);
    strobe_json_array_end(j);
    strobe_json_array(j, "other_self");
    for (unsigned k = 0; k < f->columns; k++)
        write_page_column(f, k, 1, j);
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

void strobe_page_flame_free(struct strobe_page_flame *f)
{
    free(f->parents);
    free(f->names);
    free(f->amounts);
    free(f->others);
    free(f->other_amounts);
    *f = (struct strobe_page_flame){0};
}
