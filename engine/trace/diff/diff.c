#include "engine/trace/diff/diff.h"
#include "engine/base/error_format.h"

#include "engine/store/session.h"
#include "engine/trace/diff/take.h"
#include "engine/trace/session/session_set.h"
#include "engine/util/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int strobe_diff_is_session(const char *path, int *empty)
{
    char magic[sizeof STROBE_SESSION_MAGIC - 1];
    *empty = 0;
    if (strobe_session_set_is_folder(path))
        return 1;
    FILE *f = fopen(path, "rbe");
    size_t got = f ? fread(magic, 1, sizeof magic, f) : 0;
    int failed = !f || ferror(f), error = errno;
    if (f)
        fclose(f);
    errno = error;
    if (failed)
        return -1;
    *empty = !got;
    return got && !memcmp(magic, STROBE_SESSION_MAGIC, got);
}

void strobe_diff_open(struct strobe_diff *d, const struct strobe_diff_options *options, uint32_t base, uint32_t new)
{
    *d = (struct strobe_diff){.options = *options, .book.names_only = options->names_only};
    strobe_diff_side_open(&d->sides[STROBE_DIFF_BASE], base, base == 1 && new == 1);
    strobe_diff_side_open(&d->sides[STROBE_DIFF_NEW], new, base == 1 && new == 1);
}

enum strobe_status strobe_diff_add(struct strobe_diff *d, unsigned side, const char *path, struct strobe_error *error)
{
    int empty, session = strobe_diff_is_session(path, &empty);
    if (session < 0) {
        strobe_error_set(error, "%s", strerror(errno));
        return STROBE_IO;
    }
    if (empty) {
        strobe_error_set(error, "byte 0: an empty file, expected a session or a Perfetto trace");
        return STROBE_BAD_INPUT;
    }
    if (!session && d->options.thread) {
        strobe_error_set(error, "is a trace: --thread is for sessions");
        return STROBE_BAD_INPUT;
    }
    return session ? strobe_diff_take_sessions(d, side, path, error) : strobe_diff_take_trace(d, side, path, error);
}

static void free_diff_figure(struct strobe_diff_figure *f)
{
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        free(f->values[side]);
        free(f->counts[side]);
    }
}

/* Returns the figure of that name; adds it if needed. NULL: out of memory. */
static struct strobe_diff_figure *figure_named(struct strobe_diff *d, const char *name, const char *unit, int is_amount)
{
    for (size_t i = 0; i < d->figure_count; i++)
        if (!strcmp(d->figures[i].name, name))
            return &d->figures[i];
    struct strobe_diff_figure f = {.name = name, .unit = unit, .is_amount = is_amount};
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        f.values[side] = malloc((d->sides[side].expected + 1) * sizeof *f.values[side]);
        f.counts[side] = calloc(d->sides[side].expected + 1, sizeof *f.counts[side]);
        for (uint32_t i = 0; f.values[side] && i < d->sides[side].expected; i++)
            f.values[side][i] = is_amount ? 0 : NAN;
    }
    if (!f.values[STROBE_DIFF_BASE] || !f.values[STROBE_DIFF_NEW] || !f.counts[STROBE_DIFF_BASE] ||
        !f.counts[STROBE_DIFF_NEW] || !strobe_array_reserve(&d->figures, &d->figure_room, d->figure_count + 1)) {
        free_diff_figure(&f);
        return NULL;
    }
    d->figures[d->figure_count] = f;
    return &d->figures[d->figure_count++];
}

void strobe_diff_add_figure(struct strobe_diff *d, unsigned side, const char *name, const char *unit, int is_amount,
                            double value)
{
    struct strobe_diff_figure *f = figure_named(d, name, unit, is_amount);
    if (!f) {
        d->sides[side].failed = 1;
        return;
    }
    size_t capture = d->sides[side].capture_count - 1;
    double *at = &f->values[side][capture];
    uint32_t count = ++f->counts[side][capture];
    if (count == 1)
        *at = value;
    else
        *at += is_amount ? value : (value - *at) / count;
}

double strobe_diff_percent(const struct strobe_diff_row *row)
{
    double base = row->mean[STROBE_DIFF_BASE];
    if (base != 0)
        return 100 * row->change.change / fabs(base);
    return row->change.change > 0 ? INFINITY : row->change.change < 0 ? -INFINITY : 0;
}

const struct strobe_diff_row *strobe_diff_over(const struct strobe_diff *d, double percent, int upwards_only)
{
    const struct strobe_diff_row *most = NULL;
    for (size_t i = 0; i < d->row_count; i++) {
        const struct strobe_diff_row *r = &d->rows[i];
        double size = upwards_only ? strobe_diff_percent(r) : fabs(strobe_diff_percent(r));
        double largest = !most ? percent : upwards_only ? strobe_diff_percent(most) : fabs(strobe_diff_percent(most));
        if (r->real && size > largest)
            most = r;
    }
    return most;
}

void strobe_diff_close(struct strobe_diff *d)
{
    for (size_t i = 0; i < d->figure_count; i++)
        free_diff_figure(&d->figures[i]);
    free(d->figures);
    free(d->rows);
    for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
        for (unsigned what = 0; what < STROBE_DIFF_AMOUNTS; what++)
            free(d->path_means[what][side]);
        strobe_diff_side_free(&d->sides[side]);
    }
    strobe_diff_book_free(&d->book);
    *d = (struct strobe_diff){0};
}
