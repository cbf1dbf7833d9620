/* Compares two captures, or two sets of captures, and says which differences are real.
 *
 * Tables are compared row by row: methods by self and inclusive time, call paths, waits by kind and place, allocations,
 * sections, and figures of whole captures. Methods are the same if name and image are (book.h).
 *
 *   noise      with several captures on a side: the spread between them. With one capture: the spread between blocks of
 *              its time, which contains that of sampling (statistics.h). The spread between runs is then unknown, so
 *              "real" means that these two captures differ, not that their causes do
 *   test       Welch's test for each row, two-sided
 *   real       the false discovery rate is limited to 5 % over all tested rows of all tables (Benjamini, Hochberg)
 *   tested     rows with at least 0.1 % of their table's sum, averaged over both sides. This choice does not depend on
 *              the change, so it does not bias the test
 *   unit       ns or bytes per second of recording, or per capture
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_DIFF_DIFF_H
#define STROBE_TRACE_DIFF_DIFF_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/diff/book.h"
#include "engine/trace/diff/side.h"
#include "engine/trace/diff/statistics.h"
#include "engine/util/outfile.h"

#include <stdio.h>

#define STROBE_DIFF_RATE        0.05  /* the false discovery rate */
#define STROBE_DIFF_LEAST_SHARE 0.001 /* of a table's sum: smaller rows are not tested */

enum { STROBE_DIFF_BASE, STROBE_DIFF_NEW, STROBE_DIFF_SIDES };

/* What the grids of a side hold (side.h). */
enum strobe_diff_amount { STROBE_DIFF_WALL, STROBE_DIFF_CPU, STROBE_DIFF_ALLOC, STROBE_DIFF_AMOUNTS };

enum strobe_diff_table {
    STROBE_DIFF_SELF_WALL,  /* methods: time as the innermost function */
    STROBE_DIFF_SELF_CPU,   /* ... CPU time */
    STROBE_DIFF_TOTAL_WALL, /* methods: time on the stack */
    STROBE_DIFF_TOTAL_CPU,
    STROBE_DIFF_PATH_WALL, /* call paths: self time of the innermost function */
    STROBE_DIFF_PATH_CPU,
    STROBE_DIFF_WAITS,    /* by kind and by the function that waited */
    STROBE_DIFF_ALLOCS,   /* methods: allocated bytes */
    STROBE_DIFF_SECTIONS, /* that the program reported */
    STROBE_DIFF_FIGURES,  /* of whole captures */
    STROBE_DIFF_TABLES
};

struct strobe_diff;
struct strobe_diff_options {
    int whole;          /* compare amounts of whole captures; 0: amounts per second of recording */
    const char *thread; /* of sessions only: count only this thread, by name or tid; NULL = all */
    unsigned symbols;   /* STROBE_SYMBOLS_* */
    int names_only;     /* match methods by name only, because an input is a trace, which has no images */

    /* Called for each session after it was read; may add figures. STROBE_IO: out of memory. NULL = none. */
    enum strobe_status (*visit)(struct strobe_diff *d, unsigned side, const struct strobe_reader *reader,
                                struct strobe_function_tree *tree);
};

/* A row of a table. Times in ns, amounts in bytes: per second or per capture. */
struct strobe_diff_row {
    enum strobe_diff_table table;
    const char *name, *image; /* of a method, section or figure; of a path: its innermost method. Image "" = none */
    const char *place;        /* of a wait: the function that waited; else "" */
    const char *unit;         /* "ns", "bytes" or "" */
    uint32_t path;            /* of a path; else 0 */
    double mean[STROBE_DIFF_SIDES];
    double calls[STROBE_DIFF_SIDES]; /* of a wait: number, in the same way */
    struct strobe_comparison change;
    double adjusted; /* p, adjusted for the number of rows */
    int tested, real;
};

/* A number that a caller knows of each capture, such as frames. */
struct strobe_diff_figure {
    const char *name, *unit;
    int is_amount;                     /* it grows with the length of the capture */
    double *values[STROBE_DIFF_SIDES]; /* by capture: a sum; of figures that are no amounts: a mean, NaN = not known */
    uint32_t *counts[STROBE_DIFF_SIDES]; /* by capture: numbers that were added */
};

struct strobe_diff {
    struct strobe_diff_options options;
    struct strobe_diff_book book;
    struct strobe_diff_side sides[STROBE_DIFF_SIDES];
    struct strobe_diff_figure *figures;
    size_t figure_count, figure_room;
    struct strobe_diff_row *rows; /* by table; within it real ones first, then by the size of the change */
    size_t row_count, row_room;
    size_t table_begin[STROBE_DIFF_TABLES + 1]; /* indices of rows */
    uint64_t small[STROBE_DIFF_TABLES];         /* rows too small to be tested */
    double sums[STROBE_DIFF_TABLES][STROBE_DIFF_SIDES];
    double *path_means[STROBE_DIFF_AMOUNTS][STROBE_DIFF_SIDES]; /* self amounts by path */
    size_t tested, real;
};

/* Returns 1 if the file begins as a session does, 0 if not, and -1 with errno if it cannot be read. *empty is set for a
 * file without bytes. A directory counts as a session. */
int strobe_diff_is_session(const char *path, int *empty);

/* Prepares a comparison of `base` captures with `new` captures. Copies the options. */
void strobe_diff_open(struct strobe_diff *d, const struct strobe_diff_options *options, uint32_t base, uint32_t new);
void strobe_diff_close(struct strobe_diff *d);

/* Reads a capture of one side: a session, a directory of sessions (one capture), or a trace that Strobe wrote. `path`
 * must outlive the comparison. On failure `error` has one line without the path. */
enum strobe_status strobe_diff_add(struct strobe_diff *d, unsigned side, const char *path, struct strobe_error *error);

/* Adds to a figure of the capture that was added last. `name` and `unit` must outlive the comparison. */
void strobe_diff_add_figure(struct strobe_diff *d, unsigned side, const char *name, const char *unit, int is_amount,
                            double value);

/* Makes the rows. Call it once, after all captures were added. STROBE_IO: out of memory. */
enum strobe_status strobe_diff_compare(struct strobe_diff *d);

/* Returns the change of a row in percent of its base; infinite if the base is 0 and the new value is not. */
double strobe_diff_percent(const struct strobe_diff_row *row);

/* Returns a real row that changed by more than `percent`, in either direction, or upwards only; the largest change in
 * percent. NULL: none. */
const struct strobe_diff_row *strobe_diff_over(const struct strobe_diff *d, double percent, int upwards_only);

struct strobe_diff_shown {
    uint32_t top;   /* rows of a table; 0 = all */
    uint32_t width; /* columns of the terminal; 0 = no limit */
    int all;        /* also rows whose change is not shown to be real */
};

/* Prints tables, or one JSON object. Errors are those of the stream. STROBE_IO: out of memory. */
enum strobe_status strobe_diff_print(const struct strobe_diff *d, const struct strobe_diff_shown *shown, FILE *out);
void strobe_diff_print_json(const struct strobe_diff *d, FILE *out);

/* Writes folded stacks with two columns, `outermost;...;innermost BASE NEW`, as difffolded.pl of
 * https://github.com/brendangregg/FlameGraph does. Values are us, or bytes, per second or per capture. Errors
 * are those of `out`. */
void strobe_diff_write_folded(const struct strobe_diff *d, enum strobe_diff_amount amount, struct strobe_outfile *out);

/* Draws a differential flame graph as SVG, with the outermost functions on top. A frame is as wide as the mean of both
 * sides; it is red if it has more than in the base, and blue if less. Frames of less than 0.3 points are left out. Each
 * has its amounts as a tooltip. STROBE_IO: out of memory; other errors are those of `out`. */
enum strobe_status strobe_diff_write_svg(const struct strobe_diff *d, enum strobe_diff_amount amount,
                                         struct strobe_outfile *out);

/* Writes a page of HTML with the tables and the differential flame graph (engine/trace/export/html). STROBE_IO: out of
 * memory; other errors are those of `out`. */
enum strobe_status strobe_diff_write_page(const struct strobe_diff *d, struct strobe_outfile *out);

#endif
