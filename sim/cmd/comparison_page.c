#include "sim/cmd/comparison_page.h"

#include "engine/cmd/arguments.h"
#include "engine/trace/export/html/page.h"
#include "engine/util/json.h"
#include "sim/page/page_source.h"
#include "sim/score/fields.h"

#include <math.h>
#include <stdlib.h>

struct cells_page_parts {
    const struct sim_cells_page *page;
    bool failed; /* out of memory */
};

static void write_cells_about(void *ctx, FILE *out)
{
    const struct sim_cells_page *p = ((struct cells_page_parts *)ctx)->page;
    struct strobe_json j = {.out = out, .one_line = 1};
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "page", "compare");
    strobe_json_text(&j, "version", STROBE_VERSION);
    strobe_json_uint(&j, "first_seed", p->first_seed);
    strobe_json_uint(&j, "seeds", p->seeds);
    strobe_json_object_end(&j);
}

/* Prints the command that makes the page of a cell's first seed. */
static void print_cell_command(const struct sim_cells_page *p, uint32_t b, uint32_t s, uint32_t policy, FILE *out)
{
    const struct sim_cells *c = p->cells;
    fputs("strobe-lab run ", out);
    strobe_print_word(out, p->paths[s]);
    fprintf(out, " --seed %llu --policy %s", (unsigned long long)p->first_seed, c->policies[policy]);
    if (c->backends[b].runtime)
        fprintf(out, " --runtime %s", c->backends[b].runtime);
    if (p->costs_path) {
        fputs(" --costs ", out);
        strobe_print_word(out, p->costs_path);
    }
    fprintf(out, " --html %s-%s%s%s.html", c->scenarios[s], c->policies[policy], p->names_backends ? "-" : "",
            p->names_backends ? c->backends[b].name : "");
}

static void write_cell_command(struct cells_page_parts *parts, uint32_t b, uint32_t s, uint32_t policy,
                               struct strobe_json *j)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) {
        parts->failed = true;
        return;
    }
    print_cell_command(parts->page, b, s, policy, stream);
    if (fclose(stream) == 0)
        strobe_json_text(j, "command", text);
    else
        parts->failed = true;
    free(text);
}

/* Writes one score: its median, and texts of the median, of half the range of the middle half as the tables have it,
 * and of least, quarter, three quarters and most. */
static void write_cell_score(const struct sim_field *f, const struct sim_spread *v, struct strobe_json *j)
{
    const struct {
        const char *key;
        double value;
    } texts[] = {{"text", v->median}, {"spread", (v->three_quarters - v->quarter) / 2},
                 {"least", v->least}, {"quarter", v->quarter},
                 {"most", v->most},   {"three_quarters", v->three_quarters}};
    char text[SIM_FIELD_TEXT_BYTES];
    strobe_json_object(j, f->name);
    strobe_json_real(j, "value", v->median);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        strobe_json_text(j, texts[i].key, sim_field_text(f->unit, texts[i].value, text));
    strobe_json_object_end(j);
}

/* Writes the method with the largest bias. Its interval is infinite when one seed has the method. */
static void write_largest_bias(const struct sim_summary *summary, struct strobe_json *j)
{
    const struct sim_bias_method *largest;
    struct sim_bias bias = summary->bias; /* the call below sorts */
    char text[SIM_FIELD_TEXT_BYTES];
    if (!sim_bias_methods(&bias, &largest))
        return;
    strobe_json_object(j, "bias");
    strobe_json_real(j, "value", fabs(largest->mean));
    snprintf(text, sizeof text, "%+.3f points", 100 * largest->mean);
    strobe_json_text(j, "text", text);
    snprintf(text, sizeof text, "%.3f points", 100 * largest->half_width);
    strobe_json_text(j, "spread", isfinite(largest->half_width) ? text : NULL);
    strobe_json_text(j, "method", largest->name);
    strobe_json_object_end(j);
}

static void write_matrix_cell(struct cells_page_parts *parts, uint32_t b, uint32_t s, uint32_t policy,
                              struct strobe_json *j)
{
    const struct sim_cell *cell = sim_cell_at(parts->page->cells, b, s, policy);
    struct sim_spread v;
    strobe_json_object(j, NULL);
    strobe_json_uint(j, "seeds", cell->summary.count);
    strobe_json_text(j, "refused", cell->refused[0] ? cell->refused : NULL);
    strobe_json_uint(j, "failed", cell->is_failed);
    write_cell_command(parts, b, s, policy, j);
    strobe_json_object(j, "scores");
    for (size_t i = 0; i < SIM_FIELD_HEADLINES; i++)
        if (sim_summary_spread(&cell->summary, sim_fields[i].name, &v))
            write_cell_score(&sim_fields[i], &v, j);
    if (cell->summary.count)
        write_largest_bias(&cell->summary, j);
    strobe_json_object_end(j);
    strobe_json_object_end(j);
}

static void write_matrix_row(struct cells_page_parts *parts, uint32_t b, uint32_t policy, struct strobe_json *j)
{
    const struct sim_cells *c = parts->page->cells;
    strobe_json_object(j, NULL);
    strobe_json_text(j, "policy", c->policies[policy]);
    strobe_json_text(j, "backend", parts->page->names_backends ? c->backends[b].name : NULL);
    strobe_json_array(j, "cells");
    for (uint32_t s = 0; s < c->scenario_count; s++)
        write_matrix_cell(parts, b, s, policy, j);
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

static void write_matrix(void *ctx, FILE *out)
{
    struct cells_page_parts *parts = ctx;
    const struct sim_cells *c = parts->page->cells;
    static const char *const units[] = {"share", "count", "ns", "bytes"}; /* by enum sim_field_unit */
    struct strobe_json json = {.out = out, .one_line = 1}, *j = &json;
    strobe_json_object(j, NULL);
    strobe_json_array(j, "scenarios");
    for (uint32_t s = 0; s < c->scenario_count; s++)
        strobe_json_text(j, NULL, c->scenarios[s]);
    strobe_json_array_end(j);
    strobe_json_object(j, "units");
    for (size_t i = 0; i < SIM_FIELD_HEADLINES; i++)
        strobe_json_text(j, sim_fields[i].name, units[sim_fields[i].unit]);
    strobe_json_object_end(j);
    strobe_json_array(j, "rows");
    for (uint32_t b = 0; b < c->backend_count; b++)
        for (uint32_t policy = 0; policy < c->policy_count; policy++)
            write_matrix_row(parts, b, policy, j);
    strobe_json_array_end(j);
    strobe_json_object_end(j);
}

enum strobe_status sim_cells_page_write(void *page, struct strobe_outfile *out)
{
    struct cells_page_parts ctx = {.page = page};
    const struct strobe_page_part parts[] = {{"about", write_cells_about, &ctx}, {"matrix", write_matrix, &ctx}};
    enum strobe_status status =
        strobe_page_write_with(out, "Policies and scenarios - Strobe", parts, sizeof parts / sizeof *parts,
                               &(struct strobe_page_source){sim_page_css, sim_page_js});
    return status == STROBE_OK && ctx.failed ? STROBE_IO : status;
}
