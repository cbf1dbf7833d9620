/* Draws a differential flame graph as SVG (https://www.w3.org/TR/SVG11/). The file refers to no other file. */
#include "engine/trace/diff/diff.h"
#include "engine/trace/report/report_cells.h"
#include "engine/util/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1200, MARGIN = 10, ROW = 17, HEAD = 48, CHARACTER_MILLI = 7300, CELL_BYTES = 256 };
#define LEAST_WIDTH 0.3 /* narrower frames are left out */
#define FULL_CHANGE 0.3

/* A path in the picture. */
struct flame_frame {
    double amounts[STROBE_DIFF_SIDES]; /* inclusive */
    double x, width, cursor;           /* cursor: where its next frame goes */
    uint32_t depth;
};

static void write_xml(struct strobe_outfile *out, const char *text, size_t characters)
{
    while (*text && characters--) {
        size_t bytes = strobe_utf8_bytes(text, 4);
        unsigned char c = (unsigned char)*text;
        if (!bytes || c < ' ' || c == 0x7f)
            strobe_outfile_text(out, "\xef\xbf\xbd");
        else if (c == '&' || c == '<' || c == '>' || c == '"')
            strobe_outfile_text(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;");
        else
            strobe_outfile_write(out, text, bytes);
        text += bytes ? bytes : 1;
    }
}

static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text; count++) {
        size_t bytes = strobe_utf8_bytes(text, 4);
        text += bytes ? bytes : 1;
    }
    return count;
}

/* Sums up inclusive amounts. Path 0 holds the sum of all. */
static struct flame_frame *sum_frames(const struct strobe_diff *d, enum strobe_diff_amount amount)
{
    uint32_t count = d->book.path_count ? d->book.path_count : 1;
    struct flame_frame *frames = calloc(count, sizeof *frames);
    for (uint32_t p = count; frames && p-- > 0;)
        for (unsigned side = 0; side < STROBE_DIFF_SIDES; side++) {
            frames[p].amounts[side] += p ? d->path_means[amount][side][p] : 0;
            if (p)
                frames[d->book.paths[p].parent].amounts[side] += frames[p].amounts[side];
        }
    return frames;
}

/* Places the frames, each within its caller, by the mean of both sides. Returns the largest depth that is shown. */
static uint32_t place_frames(const struct strobe_diff *d, struct flame_frame *frames)
{
    double whole = frames[0].amounts[STROBE_DIFF_BASE] + frames[0].amounts[STROBE_DIFF_NEW];
    uint32_t deepest = 0;
    frames[0].x = frames[0].cursor = MARGIN;
    frames[0].width = WIDTH - 2 * MARGIN;
    for (uint32_t p = 1; p < d->book.path_count; p++) {
        struct flame_frame *f = &frames[p], *parent = &frames[d->book.paths[p].parent];
        double both = f->amounts[STROBE_DIFF_BASE] + f->amounts[STROBE_DIFF_NEW];
        f->depth = parent->depth + 1;
        f->x = f->cursor = parent->cursor;
        f->width = whole > 0 ? frames[0].width * both / whole : 0;
        parent->cursor += f->width;
        deepest = f->width >= LEAST_WIDTH && f->depth > deepest ? f->depth : deepest;
    }
    return deepest;
}

static void write_svg_part(struct strobe_outfile *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_svg_part(struct strobe_outfile *out, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    strobe_outfile_text(out, text);
}

static struct strobe_cell flame_cell(double amount, enum strobe_diff_amount what)
{
    uint64_t size = amount < 0x1p63 ? (uint64_t)(amount + 0.5) : UINT64_MAX;
    return what == STROBE_DIFF_ALLOC ? strobe_cell_bytes(size) : strobe_cell_span(size);
}

/* Writes a frame: red for more, blue for less. The color is full when an amount differs by FULL_CHANGE of the larger.
 */
static void write_frame(struct strobe_outfile *out, const struct flame_frame *f, const char *name,
                        enum strobe_diff_amount what)
{
    double base = f->amounts[STROBE_DIFF_BASE], new = f->amounts[STROBE_DIFF_NEW], most = base > new ? base : new;
    double part = most > 0 ? (new - base) / most : 0, full = fabs(part) / FULL_CHANGE;
    int faded = (int)(235 - 165 * (full < 1 ? full : 1));
    size_t room = (size_t)(f->width * 1000 / CHARACTER_MILLI), length = count_characters(name);
    int y = HEAD + (int)(f->depth - 1) * ROW;
    strobe_outfile_text(out, "<g><title>");
    write_xml(out, name, SIZE_MAX);
    write_svg_part(out, ": %s, now %s", flame_cell(base, what).text, flame_cell(new, what).text);
    if (base > 0)
        write_svg_part(out, " (%+.1f %%)", 100 * (new - base) / base);
    write_svg_part(out, "</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"rgb(%d,%d,%d)\"/>", f->x,
                   y, f->width, ROW - 1, part < 0 ? faded : 245, faded, part > 0 ? faded : 245);
    if (room >= 3) {
        write_svg_part(out, "<text x=\"%.2f\" y=\"%d\">", f->x + 3, y + ROW - 5);
        write_xml(out, name, length <= room ? length : room - 2);
        strobe_outfile_text(out, length <= room ? "</text>" : "..</text>");
    }
    strobe_outfile_text(out, "</g>\n");
}

enum strobe_status strobe_diff_write_svg(const struct strobe_diff *d, enum strobe_diff_amount amount,
                                         struct strobe_outfile *out)
{
    static const char *const titles[] = {"elapsed time", "CPU time", "allocated bytes"};
    struct flame_frame *frames = sum_frames(d, amount);
    if (!frames)
        return STROBE_IO;
    int height = HEAD + ROW * (int)place_frames(d, frames) + MARGIN;
    write_svg_part(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" ",
                   WIDTH, height, WIDTH, height);
    strobe_outfile_text(out, "font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                             "fill=\"#fff\"/>\n<text x=\"10\" y=\"18\" font-size=\"14\">");
    write_svg_part(out, "%s: %s", titles[amount], flame_cell(frames[0].amounts[STROBE_DIFF_BASE], amount).text);
    write_svg_part(out, ", now %s %s</text>\n", flame_cell(frames[0].amounts[STROBE_DIFF_NEW], amount).text,
                   d->options.whole ? "a capture" : "a second");
    strobe_outfile_text(out, "<text x=\"10\" y=\"36\">Width: mean of both sides. Red: more than in the base; blue: "
                             "less.</text>\n");
    for (uint32_t p = 1; p < d->book.path_count; p++)
        if (frames[p].width >= LEAST_WIDTH)
            write_frame(out, &frames[p], d->book.methods[d->book.paths[p].method].name, amount);
    strobe_outfile_text(out, "</svg>\n");
    free(frames);
    return STROBE_OK;
}
