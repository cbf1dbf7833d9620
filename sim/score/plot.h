/* Plots as SVG in an HTML page, and the tables that go with them. Series (policies) are told apart by shape as well as
 * by colour, every mark has a tooltip, and every plot a title that a screen reader finds. Same input, same bytes. For
 * the page only. */
#ifndef STROBE_SIM_SCORE_PLOT_H
#define STROBE_SIM_SCORE_PLOT_H

#include "engine/util/outfile.h"
#include "sim/score/fields.h"

enum { SIM_PLOT_SERIES_MOST = 12 }; /* shapes and colours begin anew after that many */

/* Formats into the page; the text must be HTML already. */
void sim_plot_put(struct strobe_outfile *out, const char *format, ...);

/* A text as it stands in HTML. */
void sim_plot_text(struct strobe_outfile *out, const char *text);

/* Numbers by row and series: at[row * series_count + series], NAN where there is none. */
struct sim_plot_matrix {
    const char *title, *row_title;
    const char **rows, **series;
    size_t row_count, series_count;
    const double *at;
    enum sim_field_unit unit;
    double low, high; /* of the axis; both 0 = as the numbers need, 0 included */
};

/* A row of marks for each row, one a series, on a common axis. */
void sim_plot_dots(struct strobe_outfile *out, const struct sim_plot_matrix *m);
void sim_plot_table(struct strobe_outfile *out, const struct sim_plot_matrix *m);

struct sim_plot_point {
    double x, y;
    size_t series;
    bool faint;
}; /* faint: one of many, beside their median */

/* Points on two axes. Series without a point that is not faint are left out of the legend. */
struct sim_plot_cloud {
    const char *title, *x_title, *y_title;
    enum sim_field_unit x_unit, y_unit;
    const char **series;
    size_t series_count;
    const struct sim_plot_point *points;
    size_t point_count;
    double y_high; /* upper end of the axis; 0 = as the points need */
};

void sim_plot_cloud(struct strobe_outfile *out, const struct sim_plot_cloud *c);

#endif
