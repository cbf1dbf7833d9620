#include "sim/score/plot.h"

#include <math.h> /* NAN and isnan, which need no library */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 860, LEFT = 230, RIGHT = 30, ROW = 22, TOP = 76, BOTTOM = 46, CLOUD_HEIGHT = 340, TICKS_MOST = 24 };

void sim_plot_put(struct strobe_outfile *out, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    strobe_outfile_text(out, text);
}

void sim_plot_text(struct strobe_outfile *out, const char *text)
{
    for (; *text; text++) {
        const char *as = *text == '<'   ? "&lt;"
                         : *text == '>' ? "&gt;"
                         : *text == '&' ? "&amp;"
                         : *text == '"' ? "&quot;"
                                        : NULL;
        if (as)
            strobe_outfile_text(out, as);
        else if ((unsigned char)*text >= ' ')
            strobe_outfile_write(out, text, 1);
    }
}

/* ---- axes */

struct axis {
    double low, high, step;
    int from, to; /* positions of low and high in the picture */
};

static double plot_axis_position(const struct axis *a, double value)
{
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

/* Rounds low and high outwards to a step of 1, 2 or 5 times a power of ten, chosen so that few steps fit in. */
static struct axis make_axis(double low, double high, int from, int to)
{
    static const double factor[] = {2, 2.5, 2};
    double step = 1e-12;
    if (!(high > low))
        high = low + 1e-9;
    for (unsigned i = 0; (high - low) / step > 7; i++)
        step *= factor[i % 3];
    struct axis a = {0, 0, step, from, to};
    double steps = low / step;
    int64_t first = (int64_t)steps;
    first -= (double)first > steps;
    steps = high / step;
    int64_t last = (int64_t)steps;
    last += (double)last < steps - 1e-9;
    a.low = (double)first * step;
    a.high = (double)last * step;
    return a;
}

static unsigned tick_count(const struct axis *a)
{
    unsigned count = (unsigned)((a->high - a->low) / a->step + 1.5);
    return count < TICKS_MOST ? count : TICKS_MOST;
}

/* Formats a tick's label without decimals that the step does not need. */
static void tick_text(const struct axis *a, double value, enum sim_field_unit unit, char *text, size_t bytes)
{
    char full[SIM_FIELD_TEXT_BYTES];
    double shown = value == 0 ? 0 : value;
    if (unit == SIM_FIELD_SHARE)
        snprintf(text, bytes,
                 a->step >= 0.01 - 1e-12    ? "%.0f %%"
                 : a->step >= 0.001 - 1e-12 ? "%.1f %%"
                                            : "%.3f %%",
                 100 * shown);
    else
        snprintf(text, bytes, "%s", sim_field_text(unit, shown, full));
}

static void vertical_lines(struct strobe_outfile *out, const struct axis *x, enum sim_field_unit unit, int top,
                           int bottom)
{
    char text[SIM_FIELD_TEXT_BYTES];
    for (unsigned i = 0; i < tick_count(x); i++) {
        double value = x->low + i * x->step, at = plot_axis_position(x, value);
        value = fabs(value) < x->step / 2 ? 0 : value;
        tick_text(x, value, unit, text, sizeof text);
        sim_plot_put(out,
                     "<path class=\"%s\" d=\"M%.1f %dV%d\"/><text class=\"tick\" x=\"%.1f\" y=\"%d\" "
                     "text-anchor=\"middle\">%s</text>\n",
                     value == 0 ? "zero" : "grid", at, top, bottom, at, bottom + 16, text);
    }
}

static void horizontal_lines(struct strobe_outfile *out, const struct axis *y, enum sim_field_unit unit, int left,
                             int right)
{
    char text[SIM_FIELD_TEXT_BYTES];
    for (unsigned i = 0; i < tick_count(y); i++) {
        double value = y->low + i * y->step, at = plot_axis_position(y, value);
        tick_text(y, value, unit, text, sizeof text);
        sim_plot_put(out,
                     "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick\" x=\"%d\" y=\"%.1f\" "
                     "text-anchor=\"end\">%s</text>\n",
                     left, at, right, left - 8, at + 4, text);
    }
}

/* ---- marks */

static void plot_put_symbol(struct strobe_outfile *out, size_t series, double x, double y, bool faint)
{
    static const char *const shape[SIM_PLOT_SERIES_MOST] = {
        "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
        "m-4.5-4.5h9v9h-9z",
        "m0-6.5l6 6.5l-6 6.5l-6-6.5z",
        "m0-6l6 10.5h-12z",
        "m0 6l6-10.5h-12z",
        "m-1.8-6h3.6v4.2h4.2v3.6h-4.2v4.2h-3.6v-4.2h-4.2v-3.6h4.2z",
        "m-6 0l3-5.2h6l3 5.2l-3 5.2h-6z",
        "m-6-2.5h12v5h-12z",
        "m-2.5-6h5v12h-5z",
        "m-5-5l5 3l5-3l-3 5l3 5l-5-3l-5 3l3-5z",
        "m-6-5h12l-4 5l4 5h-12l4-5z",
        "m-5-6l10 6l-10 6z",
    };
    sim_plot_put(out, "<path class=\"s%u%s\" d=\"M%.1f %.1f%s\">", (unsigned)(series % SIM_PLOT_SERIES_MOST),
                 faint ? " faint" : "", x, y, shape[series % SIM_PLOT_SERIES_MOST]);
}

/* Writes the tooltip of a mark. */
static void plot_put_tooltip(struct strobe_outfile *out, const char *what, const char *series, enum sim_field_unit unit,
                             double value)
{
    char text[SIM_FIELD_TEXT_BYTES];
    strobe_outfile_text(out, "<title>");
    sim_plot_text(out, series);
    strobe_outfile_text(out, ", ");
    sim_plot_text(out, what);
    sim_plot_put(out, ": %s</title></path>\n", sim_field_text(unit, value, text));
}

static void legend(struct strobe_outfile *out, const char **series, size_t count, const bool *shown)
{
    int x = 8;
    for (size_t i = 0; i < count; i++) {
        if (shown && !shown[i])
            continue;
        plot_put_symbol(out, i, x, 42, false);
        strobe_outfile_text(out, "</path>");
        sim_plot_put(out, "<text x=\"%d\" y=\"46\">", x + 10);
        sim_plot_text(out, series[i]);
        strobe_outfile_text(out, "</text>\n");
        x += 28 + 7 * (int)strlen(series[i]);
    }
}

static void open_picture(struct strobe_outfile *out, const char *title, int height)
{
    sim_plot_put(out, "<figure><svg role=\"img\" viewBox=\"0 0 %d %d\"><title>", WIDTH, height);
    sim_plot_text(out, title);
    strobe_outfile_text(out, "</title>\n<text class=\"title\" x=\"0\" y=\"18\">");
    sim_plot_text(out, title);
    strobe_outfile_text(out, "</text>\n");
}

static void close_picture(struct strobe_outfile *out)
{
    strobe_outfile_text(out, "</svg></figure>\n");
}

/* ---- plots */

static void plot_widen_range(double value, double *low, double *high)
{
    if (isnan(value))
        return;
    *low = value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

void sim_plot_dots(struct strobe_outfile *out, const struct sim_plot_matrix *m)
{
    double low = m->low, high = m->high;
    int bottom = TOP + (int)m->row_count * ROW;
    for (size_t i = 0; m->low == m->high && i < m->row_count * m->series_count; i++)
        plot_widen_range(m->at[i], &low, &high);
    struct axis x = make_axis(low, high, LEFT, WIDTH - RIGHT);
    open_picture(out, m->title, bottom + BOTTOM);
    legend(out, m->series, m->series_count, NULL);
    vertical_lines(out, &x, m->unit, TOP, bottom);
    for (size_t r = 0; r < m->row_count; r++) {
        int y = TOP + (int)r * ROW + ROW / 2;
        sim_plot_put(out, "<path class=\"row\" d=\"M%d %dH%d\"/><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT, y,
                     WIDTH - RIGHT, LEFT - 10, y + 4);
        sim_plot_text(out, m->rows[r]);
        strobe_outfile_text(out, "</text>\n");
        for (size_t s = 0; s < m->series_count; s++) {
            double value = m->at[r * m->series_count + s];
            if (isnan(value))
                continue;
            plot_put_symbol(out, s, plot_axis_position(&x, value), y, false);
            plot_put_tooltip(out, m->rows[r], m->series[s], m->unit, value);
        }
    }
    close_picture(out);
}

void sim_plot_table(struct strobe_outfile *out, const struct sim_plot_matrix *m)
{
    char text[SIM_FIELD_TEXT_BYTES];
    strobe_outfile_text(out, "<div class=\"wide\"><table><caption>");
    sim_plot_text(out, m->title);
    strobe_outfile_text(out, "</caption>\n<thead><tr><th scope=\"col\">");
    sim_plot_text(out, m->row_title);
    for (size_t s = 0; s < m->series_count; s++) {
        strobe_outfile_text(out, "</th><th scope=\"col\">");
        sim_plot_text(out, m->series[s]);
    }
    strobe_outfile_text(out, "</th></tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < m->row_count; r++) {
        strobe_outfile_text(out, "<tr><th scope=\"row\">");
        sim_plot_text(out, m->rows[r]);
        strobe_outfile_text(out, "</th>");
        for (size_t s = 0; s < m->series_count; s++) {
            double value = m->at[r * m->series_count + s];
            sim_plot_put(out, "<td>%s</td>", isnan(value) ? "" : sim_field_text(m->unit, value, text));
        }
        strobe_outfile_text(out, "</tr>\n");
    }
    strobe_outfile_text(out, "</tbody></table></div>\n");
}

void sim_plot_cloud(struct strobe_outfile *out, const struct sim_plot_cloud *c)
{
    enum { SHOWN_MOST = 64 };
    double x_high = 0, y_low = INFINITY, y_high = c->y_high, none = 0;
    bool shown[SHOWN_MOST] = {false};
    for (size_t i = 0; i < c->point_count; i++) {
        plot_widen_range(c->points[i].x, &none, &x_high);
        plot_widen_range(c->points[i].y, &y_low, &y_high);
        if (!c->points[i].faint && c->points[i].series < SHOWN_MOST)
            shown[c->points[i].series] = true;
    }
    struct axis x = make_axis(0, x_high, LEFT, WIDTH - RIGHT);
    struct axis y = make_axis(y_low < y_high ? y_low : 0, y_high, TOP + CLOUD_HEIGHT, TOP);
    open_picture(out, c->title, TOP + CLOUD_HEIGHT + BOTTOM + 18);
    legend(out, c->series, c->series_count < SHOWN_MOST ? c->series_count : SHOWN_MOST, shown);
    vertical_lines(out, &x, c->x_unit, TOP, TOP + CLOUD_HEIGHT);
    horizontal_lines(out, &y, c->y_unit, LEFT, WIDTH - RIGHT);
    sim_plot_put(out, "<text class=\"tick\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT,
                 TOP + CLOUD_HEIGHT + 36);
    sim_plot_text(out, c->x_title);
    sim_plot_put(out, "</text><text class=\"tick\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8, TOP - 14);
    sim_plot_text(out, c->y_title);
    strobe_outfile_text(out, "</text>\n");
    for (int faint = 1; faint >= 0; faint--)
        for (size_t i = 0; i < c->point_count; i++) {
            const struct sim_plot_point *p = &c->points[i];
            if (p->faint != faint)
                continue;
            plot_put_symbol(out, p->series, plot_axis_position(&x, p->x), plot_axis_position(&y, p->y), p->faint);
            plot_put_tooltip(out, c->y_title, c->series[p->series], c->y_unit, p->y);
        }
    close_picture(out);
}
