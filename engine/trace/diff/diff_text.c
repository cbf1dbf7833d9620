/* Prints a comparison as aligned text. */
#include "engine/trace/diff/diff.h"
#include "engine/trace/report/report_cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BEGINS = 66, NAME_LEAST = 24, LENGTHS_DIFFER_PERCENT = 2 };

static const char *const titles[STROBE_DIFF_TABLES] = {
    [STROBE_DIFF_SELF_WALL] = "Methods by self time",
    [STROBE_DIFF_SELF_CPU] = "Methods by self CPU time",
    [STROBE_DIFF_TOTAL_WALL] = "Methods by inclusive time",
    [STROBE_DIFF_TOTAL_CPU] = "Methods by inclusive CPU time",
    [STROBE_DIFF_PATH_WALL] = "Call paths by self time",
    [STROBE_DIFF_PATH_CPU] = "Call paths by self CPU time",
    [STROBE_DIFF_WAITS] = "Blocking calls",
    [STROBE_DIFF_ALLOCS] = "Allocated bytes",
    [STROBE_DIFF_SECTIONS] = "Sections",
    [STROBE_DIFF_FIGURES] = "Whole captures",
};

/* ---- cells */

static struct strobe_cell cell_of_amount(double amount, const char *unit)
{
    struct strobe_cell c;
    double size = fabs(amount);
    if (isnan(amount))
        snprintf(c.text, sizeof c.text, "-");
    else if (!strcmp(unit, "ns"))
        c = strobe_cell_span(size < 0x1p63 ? (uint64_t)(size + 0.5) : UINT64_MAX);
    else if (!strcmp(unit, "bytes"))
        c = strobe_cell_bytes(size < 0x1p63 ? (uint64_t)(size + 0.5) : UINT64_MAX);
    else
        snprintf(c.text, sizeof c.text, "%.5g", size);
    return c;
}

static struct strobe_cell cell_of_change(double change, const char *unit)
{
    struct strobe_cell size = cell_of_amount(change, unit), c;
    const char *sign = isnan(change) ? "" : change < 0 ? "-" : "+";
    snprintf(c.text, sizeof c.text, "%s%.22s", sign, size.text);
    return c;
}

static struct strobe_cell cell_of_percent(double percent)
{
    struct strobe_cell c;
    if (isinf(percent))
        snprintf(c.text, sizeof c.text, "new");
    else if (isnan(percent))
        snprintf(c.text, sizeof c.text, "-");
    else
        snprintf(c.text, sizeof c.text, "%+.1f %%", percent);
    return c;
}

static const char *verdict_of(const struct strobe_diff_row *r)
{
    return r->real ? "real" : r->tested ? "-" : "?";
}

/* ---- names */

static void print_path_names(const struct strobe_diff *d, uint32_t path, FILE *out)
{
    if (d->book.paths[path].parent) {
        print_path_names(d, d->book.paths[path].parent, out);
        fputs(" > ", out);
    }
    fputs(d->book.methods[d->book.paths[path].method].name, out);
}

static void print_row_name(const struct strobe_diff *d, const struct strobe_diff_row *r, FILE *out)
{
    if (r->path)
        print_path_names(d, r->path, out);
    else
        fputs(r->name, out);
    if (r->place[0])
        fprintf(out, " in %s", r->place);
    if (r->table == STROBE_DIFF_WAITS)
        fprintf(out, ", %.4g calls, now %.4g", r->calls[STROBE_DIFF_BASE], r->calls[STROBE_DIFF_NEW]);
    if (!r->path && r->image[0] && strcmp(r->image, r->name) != 0)
        fprintf(out, r->image[0] == '[' ? "  %s" : "  [%s]", r->image);
}

/* Prints the name of a row, cut to the width. The begin is cut, because the end of a name is more informative. */
static int print_cut_name(const struct strobe_diff *d, const struct strobe_diff_row *r, uint32_t width, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0, room = width > NAME_BEGINS + NAME_LEAST ? width - NAME_BEGINS : NAME_LEAST;
    FILE *whole = open_memstream(&text, &bytes);
    if (whole)
        print_row_name(d, r, whole);
    int failed = !whole || fclose(whole) || !text;
    if (!failed && (!width || bytes <= room))
        fprintf(out, "%s\n", text);
    else if (!failed)
        fprintf(out, "...%s\n", text + bytes - (room - 3));
    free(text);
    return !failed;
}

/* ---- tables */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median half width of the tested rows of a table that are not real; NaN: there are none, or no memory. */
static double median_half_width(const struct strobe_diff *d, enum strobe_diff_table table)
{
    size_t begin = d->table_begin[table], end = d->table_begin[table + 1], count = 0;
    double *widths = malloc((end - begin + 1) * sizeof *widths), median = NAN;
    for (size_t i = begin; widths && i < end; i++)
        if (d->rows[i].tested && !d->rows[i].real)
            widths[count++] = d->rows[i].change.half_width;
    if (count) {
        qsort(widths, count, sizeof *widths, compare_doubles);
        median = widths[count / 2];
    }
    free(widths);
    return median;
}

static int print_diff_row(const struct strobe_diff *d, const struct strobe_diff_row *r, uint32_t width, FILE *out)
{
    struct strobe_cell interval = {"?"};
    if (r->tested)
        interval = cell_of_amount(r->change.half_width, r->unit);
    fprintf(out, "%11s %11s %12s %11s %9s %5s  ", cell_of_amount(r->mean[STROBE_DIFF_BASE], r->unit).text,
            cell_of_amount(r->mean[STROBE_DIFF_NEW], r->unit).text, cell_of_change(r->change.change, r->unit).text,
            interval.text, cell_of_percent(strobe_diff_percent(r)).text, verdict_of(r));
    return print_cut_name(d, r, width, out);
}

/* Prints what is known of the rows that are not listed. */
static void print_unlisted(const struct strobe_diff *d, enum strobe_diff_table table, size_t more, size_t same,
                           size_t open, FILE *out)
{
    double typical = median_half_width(d, table);
    if (more)
        fprintf(out, "%11s %zu more\n", "...", more);
    if (same) {
        fprintf(out, "%11s %zu without a real difference", "", same);
        if (!isnan(typical))
            fprintf(out, " (+- %s in the middle)", cell_of_amount(typical, d->rows[d->table_begin[table]].unit).text);
        putc('\n', out);
    }
    if (open)
        fprintf(out, "%11s %zu not decidable\n", "", open);
}

static int print_diff_table(const struct strobe_diff *d, enum strobe_diff_table table,
                            const struct strobe_diff_shown *shown, FILE *out)
{
    size_t begin = d->table_begin[table], end = d->table_begin[table + 1];
    size_t listed = 0, wanted = 0, same = 0, open = 0;
    if (begin == end)
        return 1;
    for (size_t i = begin; i < end; i++) {
        wanted += shown->all || d->rows[i].real;
        same += !shown->all && d->rows[i].tested && !d->rows[i].real;
        open += !shown->all && !d->rows[i].tested;
    }
    fprintf(out, "\n%s\n", titles[table]);
    if (wanted)
        fprintf(out, "%11s %11s %12s %11s %9s %5s  name\n", "base", "new", "change", "+- 95 %", "percent", "");
    for (size_t i = begin; i < end && listed < wanted && (!shown->top || listed < shown->top); i++, listed++)
        if (!print_diff_row(d, &d->rows[i], shown->width, out))
            return 0;
    print_unlisted(d, table, wanted - listed, same, open, out);
    return 1;
}

/* ---- heading */

static void print_side(const struct strobe_diff *d, unsigned side, const char *name, FILE *out)
{
    const struct strobe_diff_side *s = &d->sides[side];
    fprintf(out, "%s  %s", name, s->captures[0].path);
    if (s->capture_count > 1)
        fprintf(out, " and %zu more", s->capture_count - 1);
    fprintf(out, ", %s", strobe_cell_span((uint64_t)(s->seconds * 1e9)).text);
    if (s->capture_count > 1)
        fprintf(out, " in all");
    putc('\n', out);
}

static void print_unit(const struct strobe_diff *d, FILE *out)
{
    const struct strobe_diff_side *a = &d->sides[STROBE_DIFF_BASE], *b = &d->sides[STROBE_DIFF_NEW];
    double base = a->seconds / (double)a->capture_count, new = b->seconds / (double)b->capture_count;
    double longer = 100 * (new - base) / base;
    fprintf(out, d->options.whole ? "Amounts are those of a whole capture.\n"
                                  : "Amounts are per second of recording: 10 ms are 1 %% of one thread's time.\n");
    if (fabs(longer) <= LENGTHS_DIFFER_PERCENT)
        return;
    fprintf(out, "The captures of the new side are %.1f %% %s; ", fabs(longer), longer > 0 ? "longer" : "shorter");
    fprintf(out, d->options.whole ? "--per second compares rates.\n" : "--per total compares whole captures.\n");
}

static void print_noise(const struct strobe_diff *d, FILE *out)
{
    const struct strobe_diff_side *a = &d->sides[STROBE_DIFF_BASE], *b = &d->sides[STROBE_DIFF_NEW];
    if (a->capture_count > 1 && b->capture_count > 1)
        fprintf(out, "Noise: the spread between captures of a side (Welch's test).\n");
    else if (a->capture_count > 1 || b->capture_count > 1)
        fprintf(out, "Noise: the spread between captures of one side; the other side has one capture only.\n");
    else if (a->block_count && b->block_count)
        fprintf(out,
                "Noise: the spread between %" PRIu32 " and %" PRIu32
                " parts of each capture's time, which contains that of sampling.\n"
                "How much one run differs from the next is not known: several captures a side show that.\n",
                a->block_count, b->block_count);
    else
        fprintf(out,
                "Nothing is decidable: one capture a side, shorter than %d ms. Longer or several ones show more.\n",
                STROBE_DIFF_BLOCKS_LEAST * STROBE_DIFF_BLOCK_MS_LEAST);
}

static void print_decision(const struct strobe_diff *d, FILE *out)
{
    uint64_t small = 0;
    for (unsigned table = 0; table < STROBE_DIFF_TABLES; table++)
        small += d->small[table];
    if (d->options.names_only)
        fprintf(out, "Methods are matched by name only, because a trace does not have their files.\n");
    fprintf(out, "%zu of %zu tested differences are real (false discovery rate %.0f %%)", d->real, d->tested,
            100 * STROBE_DIFF_RATE);
    if (small)
        fprintf(out, "; %" PRIu64 " rows of less than %.1f %% are left out", small, 100 * STROBE_DIFF_LEAST_SHARE);
    putc('\n', out);
}

static int print_comparison(const struct strobe_diff *d, const struct strobe_diff_shown *shown, FILE *out)
{
    print_side(d, STROBE_DIFF_BASE, "base", out);
    print_side(d, STROBE_DIFF_NEW, "new ", out);
    print_unit(d, out);
    print_noise(d, out);
    print_decision(d, out);
    for (unsigned table = 0; table < STROBE_DIFF_TABLES; table++)
        if (!print_diff_table(d, (enum strobe_diff_table)table, shown, out))
            return 0;
    return 1;
}

/* Names come from the recorded programs, so control characters, which a terminal would interpret, become question
 * marks. */
enum strobe_status strobe_diff_print(const struct strobe_diff *d, const struct strobe_diff_shown *shown, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *whole = open_memstream(&text, &bytes);
    int printed = whole && print_comparison(d, shown, whole);
    if (!whole || fclose(whole) || !text || !printed) {
        free(text);
        return STROBE_IO;
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        putc((c < ' ' && c != '\n') || c == 0x7f ? '?' : c, out);
    }
    free(text);
    return STROBE_OK;
}
