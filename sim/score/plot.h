/* Plots as SVG in an HTML page, with their tables. Series (policies) differ in shape as well as in colour. Every mark
 * has a tooltip, and every plot has a title for screen readers. The same input gives the same bytes. For the page
 * only. */
#ifndef STROBE_SIM_SCORE_PLOT_H
#define STROBE_SIM_SCORE_PLOT_H

#include "engine/util/outfile.h"
#include "sim/score/fields.h"

enum { SIM_PLOT_SERIES_MOST = 12 }; /* with more series, shapes and colours repeat */

/* Formats into the page. The text must be HTML already. */
void sim_plot_put(struct strobe_outfile *out, const char *format, ...);

/* Writes a text with HTML's special characters escaped. */
void sim_plot_text(struct strobe_outfile *out, const char *text);

/* Numbers by row and series: at[row * series_count + series]. NAN: no value. */
struct sim_plot_matrix {
    const char *title, *row_title;
    const char **rows, **series;
    size_t row_count, series_count;
    const double *at;
    enum sim_field_unit unit;
    double low, high; /* ends of the axis; both 0: chosen to fit the numbers and 0 */
};

/* Plots one line of marks for each row, with one mark for each series, on a common axis. */
void sim_plot_dots(struct strobe_outfile *out, const struct sim_plot_matrix *m);
void sim_plot_table(struct strobe_outfile *out, const struct sim_plot_matrix *m);

struct sim_plot_point {
    double x, y;
    size_t series;
    bool faint;
}; /* faint: a single result; the median of the series is not faint */

/* Points on two axes. The legend leaves out series whose points are all faint. */
struct sim_plot_cloud {
    const char *title, *x_title, *y_title;
    enum sim_field_unit x_unit, y_unit;
    const char **series;
    size_t series_count;
    const struct sim_plot_point *points;
    size_t point_count;
    double y_high; /* upper end of the axis; 0: chosen to fit the points */
};

void sim_plot_cloud(struct strobe_outfile *out, const struct sim_plot_cloud *c);

#endif
