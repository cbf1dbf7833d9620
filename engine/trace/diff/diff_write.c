/* Writes a comparison for programs: JSON, and folded stacks with two columns. */
#include "engine/trace/diff/diff.h"
#include "engine/util/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON */

static const char *const keys[STROBE_DIFF_TABLES] = {
    [STROBE_DIFF_SELF_WALL] = "methods_self",
    [STROBE_DIFF_SELF_CPU] = "methods_self_cpu",
    [STROBE_DIFF_TOTAL_WALL] = "methods_inclusive",
    [STROBE_DIFF_TOTAL_CPU] = "methods_inclusive_cpu",
    [STROBE_DIFF_PATH_WALL] = "paths",
    [STROBE_DIFF_PATH_CPU] = "paths_cpu",
    [STROBE_DIFF_WAITS] = "waits",
    [STROBE_DIFF_ALLOCS] = "allocations",
    [STROBE_DIFF_SECTIONS] = "sections",
    [STROBE_DIFF_FIGURES] = "figures",
};

static void write_path_names(const struct strobe_diff *d, uint32_t path, struct strobe_json *j)
{
    if (!path)
        return;
    write_path_names(d, d->book.paths[path].parent, j);
    strobe_json_text(j, NULL, d->book.methods[d->book.paths[path].method].name);
}

static void write_diff_row(const struct strobe_diff *d, const struct strobe_diff_row *r, struct strobe_json *j)
{
    double percent = strobe_diff_percent(r);
    strobe_json_object(j, NULL);
    strobe_json_text(j, "name", r->name);
    if (r->image[0])
        strobe_json_text(j, "image", r->image);
    if (r->place[0])
        strobe_json_text(j, "place", r->place);
    if (r->path) {
        strobe_json_array(j, "path");
        write_path_names(d, r->path, j);
        strobe_json_array_end(j);
    }
    strobe_json_text(j, "unit", r->unit);
    strobe_json_real(j, "base", r->mean[STROBE_DIFF_BASE]);
    strobe_json_real(j, "new", r->mean[STROBE_DIFF_NEW]);
    if (r->table == STROBE_DIFF_WAITS) {
        strobe_json_real(j, "base_calls", r->calls[STROBE_DIFF_BASE]);
        strobe_json_real(j, "new_calls", r->calls[STROBE_DIFF_NEW]);
    }
    strobe_json_real(j, "change", r->change.change);
    strobe_json_real(j, "percent", percent);
    strobe_json_real(j, "half_width", r->change.half_width);
    strobe_json_real(j, "p", r->tested ? r->change.p : NAN);
    strobe_json_real(j, "adjusted_p", r->tested ? r->adjusted : NAN);
    strobe_json_bool(j, "tested", r->tested);
    strobe_json_bool(j, "real", r->real);
    strobe_json_object_end(j);
}

static void write_diff_side(const struct strobe_diff_side *s, const char *key, struct strobe_json *j)
{
    strobe_json_object(j, key);
    strobe_json_uint(j, "blocks", s->block_count);
    strobe_json_array(j, "captures");
    for (size_t i = 0; i < s->capture_count; i++) {
        strobe_json_object(j, NULL);
        strobe_json_text(j, "file", s->captures[i].path);
        strobe_json_real(j, "seconds", s->captures[i].seconds);
        strobe_json_text(j, "source", s->captures[i].is_trace ? "trace" : "session");
        strobe_json_object_end(j);
    }
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

void strobe_diff_print_json(const struct strobe_diff *d, FILE *out)
{
    struct strobe_json j = {.out = out};
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "per", d->options.whole ? "total" : "second");
    strobe_json_real(&j, "false_discovery_rate", STROBE_DIFF_RATE);
    strobe_json_real(&j, "least_share", STROBE_DIFF_LEAST_SHARE);
    strobe_json_bool(&j, "names_only", d->options.names_only);
    strobe_json_uint(&j, "tested", d->tested);
    strobe_json_uint(&j, "real", d->real);
    write_diff_side(&d->sides[STROBE_DIFF_BASE], "base", &j);
    write_diff_side(&d->sides[STROBE_DIFF_NEW], "new", &j);
    for (unsigned table = 0; table < STROBE_DIFF_TABLES; table++) {
        strobe_json_array(&j, keys[table]);
        for (size_t i = d->table_begin[table]; i < d->table_begin[table + 1]; i++)
            write_diff_row(d, &d->rows[i], &j);
        strobe_json_array_end(&j);
    }
    strobe_json_object_end(&j);
}

/* ---- folded stacks */

/* Writes a frame. The separators of frames and lines become a colon and a blank. */
static void write_diff_frame(struct strobe_outfile *out, const char *text)
{
    for (size_t n; *text; text += n) {
        n = strcspn(text, ";\n\r");
        strobe_outfile_write(out, text, n);
        if (text[n])
            strobe_outfile_text(out, text[n++] == ';' ? ":" : " ");
    }
}

static void write_diff_stack(const struct strobe_diff *d, uint32_t path, struct strobe_outfile *out)
{
    if (d->book.paths[path].parent) {
        write_diff_stack(d, d->book.paths[path].parent, out);
        strobe_outfile_text(out, ";");
    }
    write_diff_frame(out, d->book.methods[d->book.paths[path].method].name);
}

void strobe_diff_write_folded(const struct strobe_diff *d, enum strobe_diff_amount amount, struct strobe_outfile *out)
{
    double unit = amount == STROBE_DIFF_ALLOC ? 1 : 1e3;
    for (uint32_t p = 1; p < d->book.path_count; p++) {
        uint64_t base = (uint64_t)(d->path_means[amount][STROBE_DIFF_BASE][p] / unit + 0.5);
        uint64_t new = (uint64_t)(d->path_means[amount][STROBE_DIFF_NEW][p] / unit + 0.5);
        if (!base && !new)
            continue;
        write_diff_stack(d, p, out);
        strobe_outfile_text(out, " ");
        strobe_outfile_number(out, base);
        strobe_outfile_text(out, " ");
        strobe_outfile_number(out, new);
        strobe_outfile_text(out, "\n");
    }
}
