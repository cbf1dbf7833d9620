/* Makes the rows of a comparison from the grids of both sides. */
#include "engine/trace/diff/diff.h"

#include "engine/util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two grids of the same rows: one for each side. */
struct grid_pair {
    struct strobe_diff_grid *of[STROBE_DIFF_SIDES];
};

/* A wait by kind and place. */
struct wait_place {
    uint32_t wait, place; /* methods; place UINT32_MAX = none */
    double calls[STROBE_DIFF_SIDES];
};

struct comparer {
    struct strobe_diff *d;
    double *observed; /* of one row and side */
    struct wait_place *waits;
    size_t wait_count, wait_room;
    uint32_t *wait_of_path; /* by path: index of its wait + 1; 0 = none */
    int failed;
};

static struct grid_pair pair_of_amount(struct strobe_diff *d, enum strobe_diff_amount amount)
{
    struct strobe_diff_side *a = &d->sides[STROBE_DIFF_BASE], *b = &d->sides[STROBE_DIFF_NEW];
    return amount == STROBE_DIFF_WALL  ? (struct grid_pair){{&a->wall, &b->wall}}
           : amount == STROBE_DIFF_CPU ? (struct grid_pair){{&a->cpu, &b->cpu}}
                                       : (struct grid_pair){{&a->alloc, &b->alloc}};
}

static int is_function_path(const struct strobe_diff *d, uint32_t path)
{
    return path && d->book.methods[d->book.paths[path].method].kind == STROBE_DIFF_FUNCTION;
}

/* ---- observations */

static struct strobe_observations observe_row(struct comparer *c, unsigned side, const struct strobe_diff_grid *grid,
                                              uint32_t row)
{
    const struct strobe_diff_side *s = &c->d->sides[side];
    for (uint32_t i = 0; i < grid->columns; i++)
        c->observed[i] = row < grid->rows ? grid->at[(size_t)row * grid->columns + i] *
                                                strobe_diff_side_scale(s, grid, i, c->d->options.whole)
                                          : 0;
    return s->block_count ? strobe_observe_blocks(c->observed, grid->columns, 1)
                          : strobe_observe_runs(c->observed, grid->columns, 1);
}

static struct strobe_diff_row *append_row(struct comparer *c, struct strobe_diff_row row)
{
    struct strobe_diff *d = c->d;
    if (!strobe_array_reserve(&d->rows, &d->row_room, d->row_count + 1)) {
        c->failed = 1;
        return NULL;
    }
    d->rows[d->row_count] = row;
    return &d->rows[d->row_count++];
}

/* Adds a row of a table, unless its share of the table's sum is too small to be tested. */
static void compare_row(struct comparer *c, struct strobe_diff_row row, struct grid_pair grids, uint32_t at)
{
    struct strobe_diff *d = c->d;
    struct strobe_observations a = observe_row(c, STROBE_DIFF_BASE, grids.of[STROBE_DIFF_BASE], at);
    struct strobe_observations b = observe_row(c, STROBE_DIFF_NEW, grids.of[STROBE_DIFF_NEW], at);
    const double *sums = d->sums[row.table];
    if (a.mean + b.mean <= 0)
        return;
    if (a.mean + b.mean < STROBE_DIFF_LEAST_SHARE * (sums[STROBE_DIFF_BASE] + sums[STROBE_DIFF_NEW])) {
        d->small[row.table]++;
        return;
    }
    row.mean[STROBE_DIFF_BASE] = a.mean;
    row.mean[STROBE_DIFF_NEW] = b.mean;
    row.change = strobe_compare_means(a, grids.of[STROBE_DIFF_BASE]->columns, b, grids.of[STROBE_DIFF_NEW]->columns);
    row.tested = row.change.decidable;
    append_row(c, row);
}

/* Sums up each path's own amounts. */
static void sum_paths(struct comparer *c)
{
    struct strobe_diff *d = c->d;
    for (unsigned what = 0; what < STROBE_DIFF_AMOUNTS; what++)
        for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
            double *means = calloc((size_t)d->book.path_count + 1, sizeof *means);
            d->path_means[what][side] = means;
            if ((c->failed |= !means))
                return;
            for (uint32_t p = 1; p < d->book.path_count; p++)
                means[p] = observe_row(c, side, pair_of_amount(d, (enum strobe_diff_amount)what).of[side], p).mean;
        }
}

/* Sets the sums of the tables, by which small rows are left out. */
static void sum_tables(struct comparer *c)
{
    static const enum strobe_diff_table tables[STROBE_DIFF_AMOUNTS][3] = {
        {STROBE_DIFF_SELF_WALL, STROBE_DIFF_TOTAL_WALL, STROBE_DIFF_PATH_WALL},
        {STROBE_DIFF_SELF_CPU, STROBE_DIFF_TOTAL_CPU, STROBE_DIFF_PATH_CPU},
        {STROBE_DIFF_ALLOCS, STROBE_DIFF_ALLOCS, STROBE_DIFF_ALLOCS}};
    struct strobe_diff *d = c->d;
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        for (unsigned what = 0; what < STROBE_DIFF_AMOUNTS; what++) {
            double sum = 0;
            for (uint32_t p = 1; p < d->book.path_count; p++)
                sum += is_function_path(d, p) ? d->path_means[what][side][p] : 0;
            for (int i = 0; i < 3; i++)
                d->sums[tables[what][i]][side] = sum;
        }
        for (uint32_t p = 1; p < d->book.path_count; p++)
            d->sums[STROBE_DIFF_WAITS][side] += d->book.paths[p].wait ? d->path_means[STROBE_DIFF_WALL][side][p] : 0;
    }
}

/* ---- tables */

static struct strobe_diff_row row_of_method(const struct strobe_diff *d, enum strobe_diff_table table, uint32_t method,
                                            const char *unit)
{
    const struct strobe_diff_method *m = &d->book.methods[method];
    return (struct strobe_diff_row){.table = table, .name = m->name, .image = m->image, .place = "", .unit = unit};
}

static void compare_paths(struct comparer *c, enum strobe_diff_table table, enum strobe_diff_amount amount)
{
    struct strobe_diff *d = c->d;
    for (uint32_t p = 1; p < d->book.path_count && !c->failed; p++) {
        if (!is_function_path(d, p))
            continue;
        struct strobe_diff_row row = row_of_method(d, table, d->book.paths[p].method, "ns");
        row.path = p;
        compare_row(c, row, pair_of_amount(d, amount), p);
    }
}

/* Adds row `from` of a grid to row `to` of another one. */
static void add_grid_row(struct comparer *c, unsigned side, const struct strobe_diff_grid *grid, uint32_t from,
                         struct strobe_diff_grid *sum, uint32_t to)
{
    struct strobe_diff_side *s = &c->d->sides[side];
    if (from >= grid->rows)
        return;
    strobe_diff_grid_add(s, sum, to, 0, 0);
    if ((c->failed |= s->failed))
        return;
    for (uint32_t i = 0; i < grid->columns; i++)
        sum->at[(size_t)to * grid->columns + i] += grid->at[(size_t)from * grid->columns + i];
}

/* Compares a table of methods. `counts` selects the paths whose rows are added to their method's row. */
static void compare_methods_by(struct comparer *c, enum strobe_diff_table table, enum strobe_diff_amount amount,
                               const char *unit, int (*counts)(const struct strobe_diff *d, uint32_t path))
{
    struct strobe_diff *d = c->d;
    struct strobe_diff_grid sums[STROBE_DIFF_SIDES] = {{0}, {0}};
    struct grid_pair from = pair_of_amount(d, amount), pair = {{&sums[0], &sums[1]}};
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        sums[side].columns = from.of[side]->columns;
        for (uint32_t p = 1; p < d->book.path_count && !c->failed; p++)
            if (counts(d, p))
                add_grid_row(c, side, from.of[side], p, &sums[side], d->book.paths[p].method);
    }
    for (uint32_t m = 0; m < d->book.method_count && !c->failed; m++)
        if (d->book.methods[m].kind == STROBE_DIFF_FUNCTION)
            compare_row(c, row_of_method(d, table, m, unit), pair, m);
    free(sums[STROBE_DIFF_BASE].at);
    free(sums[STROBE_DIFF_NEW].at);
}

/* Returns 1 if no path around `path` has the same method: time of recursion counts once. */
static int is_outermost_of_method(const struct strobe_diff *d, uint32_t path)
{
    uint32_t method = d->book.paths[path].method;
    for (uint32_t p = d->book.paths[path].parent; p; p = d->book.paths[p].parent)
        if (d->book.paths[p].method == method)
            return 0;
    return 1;
}

/* Adds to each path the amounts of the paths that continue it. */
static void make_inclusive(struct comparer *c, enum strobe_diff_amount amount)
{
    struct strobe_diff *d = c->d;
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        struct strobe_diff_grid *grid = pair_of_amount(d, amount).of[side];
        for (uint32_t p = d->book.path_count; p-- > 1 && !c->failed;)
            if (d->book.paths[p].parent)
                add_grid_row(c, side, grid, p, grid, d->book.paths[p].parent);
    }
}

/* ---- waits */

/* Returns the method that waited, or UINT32_MAX. */
static uint32_t method_around(const struct strobe_diff *d, uint32_t path)
{
    uint32_t p = d->book.paths[path].parent;
    while (p && !is_function_path(d, p))
        p = d->book.paths[p].parent;
    return p ? d->book.paths[p].method : UINT32_MAX;
}

static uint64_t calls_of_path(const struct strobe_diff_side *s, uint32_t path)
{
    return path < s->calls_room ? s->calls[path] : 0;
}

/* Numbers the waits by kind and place, and adds their calls up. */
static void find_waits(struct comparer *c)
{
    struct strobe_diff *d = c->d;
    struct strobe_idmap by_place = {0};
    c->wait_of_path = calloc((size_t)d->book.path_count + 1, sizeof *c->wait_of_path);
    c->failed |= !c->wait_of_path;
    for (uint32_t p = 1; p < d->book.path_count && !c->failed; p++) {
        if (d->book.paths[p].wait != p) {
            c->wait_of_path[p] = c->wait_of_path[d->book.paths[p].wait];
            continue;
        }
        int fresh = 0;
        struct wait_place w = {.wait = d->book.paths[p].method, .place = method_around(d, p)};
        uint32_t *number = strobe_idmap_put(&by_place, w.wait, w.place, &fresh);
        if (!number || !strobe_array_reserve(&c->waits, &c->wait_room, c->wait_count + 1)) {
            c->failed = 1;
            break;
        }
        if (fresh) {
            c->waits[c->wait_count++] = w;
            *number = (uint32_t)c->wait_count;
        }
        c->wait_of_path[p] = *number;
        for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
            const struct strobe_diff_side *s = &d->sides[side];
            double per = d->options.whole ? (double)s->capture_count : s->seconds;
            c->waits[*number - 1].calls[side] += (double)calls_of_path(s, p) / per;
        }
    }
    strobe_idmap_free(&by_place);
}

static void compare_waits(struct comparer *c)
{
    struct strobe_diff *d = c->d;
    struct strobe_diff_grid sums[STROBE_DIFF_SIDES] = {{0}, {0}};
    struct grid_pair pair = {{&sums[0], &sums[1]}};
    find_waits(c);
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        sums[side].columns = d->sides[side].wall.columns;
        for (uint32_t p = 1; p < d->book.path_count && !c->failed; p++)
            if (c->wait_of_path[p])
                add_grid_row(c, side, &d->sides[side].wall, p, &sums[side], c->wait_of_path[p] - 1);
    }
    for (uint32_t i = 0; i < c->wait_count && !c->failed; i++) {
        const struct wait_place *w = &c->waits[i];
        struct strobe_diff_row row = row_of_method(d, STROBE_DIFF_WAITS, w->wait, "ns");
        row.place = w->place == UINT32_MAX ? "" : d->book.methods[w->place].name;
        memcpy(row.calls, w->calls, sizeof row.calls);
        compare_row(c, row, pair, i);
    }
    free(sums[STROBE_DIFF_BASE].at);
    free(sums[STROBE_DIFF_NEW].at);
}

/* ---- sections and figures */

static void compare_sections(struct comparer *c)
{
    struct strobe_diff *d = c->d;
    struct grid_pair pair = {{&d->sides[STROBE_DIFF_BASE].sections, &d->sides[STROBE_DIFF_NEW].sections}};
    for (uint32_t i = 0; i < d->book.sections.count && !c->failed; i++) {
        struct strobe_diff_row row = {.table = STROBE_DIFF_SECTIONS, .image = "", .place = "", .unit = "ns"};
        row.name = d->book.sections.texts[i];
        compare_row(c, row, pair, i);
    }
}

/* Returns the observations of a figure on one side, and their number. Captures without a value are left out. */
static struct strobe_observations observe_figure(struct comparer *c, const struct strobe_diff_figure *f, unsigned side,
                                                 size_t *count)
{
    const struct strobe_diff_side *s = &c->d->sides[side];
    *count = 0;
    for (size_t i = 0; i < s->capture_count; i++) {
        double value = f->values[side][i];
        if (!isnan(value))
            c->observed[(*count)++] = f->is_amount && !c->d->options.whole ? value / s->captures[i].seconds : value;
    }
    return *count ? strobe_observe_runs(c->observed, *count, 1) : (struct strobe_observations){NAN, 0, 0};
}

static void compare_figures(struct comparer *c)
{
    for (size_t i = 0; i < c->d->figure_count && !c->failed; i++) {
        const struct strobe_diff_figure *f = &c->d->figures[i];
        struct strobe_diff_row row = {.table = STROBE_DIFF_FIGURES, .name = f->name, .image = "", .place = ""};
        size_t a_count, b_count;
        struct strobe_observations a = observe_figure(c, f, STROBE_DIFF_BASE, &a_count);
        struct strobe_observations b = observe_figure(c, f, STROBE_DIFF_NEW, &b_count);
        row.unit = f->unit;
        row.mean[STROBE_DIFF_BASE] = a.mean;
        row.mean[STROBE_DIFF_NEW] = b.mean;
        row.change = (struct strobe_comparison){.change = NAN, .half_width = INFINITY, .p = 1};
        if (a_count && b_count)
            row.change = strobe_compare_means(a, a_count, b, b_count);
        row.tested = row.change.decidable;
        append_row(c, row);
    }
}

/* ---- decision */

/* By table; within it real changes first, then by the size of the change, then by name. */
static int real_and_large_first(const void *a, const void *b)
{
    const struct strobe_diff_row *x = a, *y = b;
    double size_x = isnan(x->change.change) ? -1 : fabs(x->change.change);
    double size_y = isnan(y->change.change) ? -1 : fabs(y->change.change);
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->real != y->real)
        return x->real ? -1 : 1;
    if (size_x != size_y)
        return size_x > size_y ? -1 : 1;
    int names = strcmp(x->name, y->name), places = names ? names : strcmp(x->place, y->place);
    return places ? places : (x->path > y->path) - (x->path < y->path);
}

/* Decides which changes are real, over the tested rows of all tables together. */
static enum strobe_status decide(struct strobe_diff *d)
{
    double *p = malloc((d->row_count + 1) * sizeof *p), *adjusted = malloc((d->row_count + 1) * sizeof *adjusted);
    size_t count = 0;
    enum strobe_status status = STROBE_IO;
    for (size_t i = 0; p && i < d->row_count; i++)
        if (d->rows[i].tested)
            p[count++] = d->rows[i].change.p;
    if (p && adjusted)
        status = strobe_adjust_p(p, adjusted, count);
    count = 0;
    for (size_t i = 0; status == STROBE_OK && i < d->row_count; i++) {
        struct strobe_diff_row *r = &d->rows[i];
        r->adjusted = r->tested ? adjusted[count++] : 1;
        r->real = r->tested && r->adjusted <= STROBE_DIFF_RATE && r->change.change != 0;
        d->tested += r->tested != 0;
        d->real += r->real != 0;
    }
    free(p);
    free(adjusted);
    return status;
}

static void index_tables(struct strobe_diff *d)
{
    size_t at = 0;
    for (unsigned table = 0; table < STROBE_DIFF_TABLES; table++) {
        d->table_begin[table] = at;
        while (at < d->row_count && d->rows[at].table == table)
            at++;
    }
    d->table_begin[STROBE_DIFF_TABLES] = at;
}

static uint32_t most_columns(const struct strobe_diff *d)
{
    uint32_t most = STROBE_DIFF_BLOCKS;
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++)
        most = d->sides[side].expected > most ? d->sides[side].expected : most;
    return most;
}

enum strobe_status strobe_diff_compare(struct strobe_diff *d)
{
    struct comparer c = {.d = d, .observed = calloc(most_columns(d), sizeof *c.observed)};
    c.failed = !c.observed || d->book.failed || d->sides[STROBE_DIFF_BASE].failed || d->sides[STROBE_DIFF_NEW].failed;
    if (!c.failed)
        sum_paths(&c);
    if (!c.failed) {
        sum_tables(&c);
        compare_methods_by(&c, STROBE_DIFF_SELF_WALL, STROBE_DIFF_WALL, "ns", is_function_path);
        compare_methods_by(&c, STROBE_DIFF_SELF_CPU, STROBE_DIFF_CPU, "ns", is_function_path);
        compare_methods_by(&c, STROBE_DIFF_ALLOCS, STROBE_DIFF_ALLOC, "bytes", is_function_path);
        compare_paths(&c, STROBE_DIFF_PATH_WALL, STROBE_DIFF_WALL);
        compare_paths(&c, STROBE_DIFF_PATH_CPU, STROBE_DIFF_CPU);
        compare_waits(&c);
        compare_sections(&c);
        compare_figures(&c);
        make_inclusive(&c, STROBE_DIFF_WALL);
        make_inclusive(&c, STROBE_DIFF_CPU);
        compare_methods_by(&c, STROBE_DIFF_TOTAL_WALL, STROBE_DIFF_WALL, "ns", is_outermost_of_method);
        compare_methods_by(&c, STROBE_DIFF_TOTAL_CPU, STROBE_DIFF_CPU, "ns", is_outermost_of_method);
    }
    enum strobe_status status = c.failed ? STROBE_IO : decide(d);
    if (status == STROBE_OK && d->row_count)
        qsort(d->rows, d->row_count, sizeof *d->rows, real_and_large_first);
    index_tables(d);
    free(c.observed);
    free(c.waits);
    free(c.wait_of_path);
    return status;
}
