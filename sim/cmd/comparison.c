#include "sim/cmd/comparison.h"

#include "engine/util/json.h"

#include <string.h>

/* Columns of the first policy. */
static const struct {
    const char *field, *title;
} columns[] = {
    {"agreement", "exact"},           {"agreement_resolved", "resolved"}, {"blocked_error", "blocked"},
    {"waker_precision", "precision"}, {"waker_recall", "recall"},         {"overhead", "overhead"},
};
enum { COLUMNS = sizeof columns / sizeof *columns, NAME_WIDTH = 20, WIDTH = 10, BESIDE = 2 /* of other policies */ };

struct sim_cell *sim_cell_at(const struct sim_cells *c, uint32_t backend, uint32_t scenario, uint32_t policy)
{
    return &c->cells[((size_t)backend * c->scenario_count + scenario) * c->policy_count + policy];
}

/* Prints medians, or dashes when nothing was played. */
static void print_cell(const struct sim_cell *cell, unsigned count, FILE *out)
{
    for (unsigned i = 0; i < count; i++) {
        struct sim_spread v;
        if (sim_summary_spread(&cell->summary, columns[i].field, &v))
            fprintf(out, "%*.2f %%", WIDTH - 2, 100 * v.median);
        else
            fprintf(out, "%*s", WIDTH, "-");
    }
}

static void print_titles(const struct sim_cells *c, FILE *out)
{
    fprintf(out, "  %-*s", NAME_WIDTH, "");
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(out, "%*s", WIDTH, columns[i].title);
    for (uint32_t p = 1; p < c->policy_count; p++)
        fprintf(out, "%*.9s%*s", WIDTH, c->policies[p], WIDTH, columns[1].title);
    fputc('\n', out);
}

static void print_backend(const struct sim_cells *c, uint32_t b, FILE *out)
{
    unsigned played = 0, refused = 0, failed = 0;
    fprintf(out, "%s%s: %s, policy %s\n", b ? "\n" : "", c->backends[b].name, c->backends[b].title, c->policies[0]);
    print_titles(c, out);
    for (uint32_t s = 0; s < c->scenario_count; s++) {
        const struct sim_cell *first = sim_cell_at(c, b, s, 0);
        fprintf(out, "  %-*s", NAME_WIDTH, c->scenarios[s]);
        if (first->refused[0]) {
            fprintf(out, "  %s: %s\n", first->is_failed ? "FAILED" : "not played", first->refused);
            first->is_failed ? failed++ : refused++;
            continue;
        }
        played++;
        print_cell(first, COLUMNS, out);
        for (uint32_t p = 1; p < c->policy_count; p++)
            print_cell(sim_cell_at(c, b, s, p), BESIDE, out);
        fputc('\n', out);
    }
    fprintf(out, "  %u played, %u cannot be played here, %u failed\n", played, refused, failed);
}

void sim_cells_print(const struct sim_cells *c, FILE *out)
{
    for (uint32_t b = 0; b < c->backend_count; b++)
        print_backend(c, b, out);
}

void sim_cells_print_brief(const struct sim_cells *c, FILE *out)
{
    fprintf(out, "%-*s", NAME_WIDTH, "exact, %");
    for (uint32_t b = 0; b < c->backend_count; b++)
        fprintf(out, "%8s", c->backends[b].name);
    fputc('\n', out);
    for (uint32_t s = 0; s < c->scenario_count; s++) {
        fprintf(out, "%-*s", NAME_WIDTH, c->scenarios[s]);
        for (uint32_t b = 0; b < c->backend_count; b++) {
            const struct sim_cell *cell = sim_cell_at(c, b, s, 0);
            struct sim_spread v;
            if (cell->refused[0] || !sim_summary_spread(&cell->summary, columns[0].field, &v))
                fprintf(out, "%8s", cell->is_failed ? "FAILED" : "-");
            else
                fprintf(out, "%8.1f", 100 * v.median);
        }
        fputc('\n', out);
    }
}

void sim_cells_print_policies(const struct sim_cells *c, FILE *out)
{
    const struct sim_summary *before = NULL;
    for (size_t i = 0; i < (size_t)c->scenario_count * c->policy_count; i++) {
        const struct sim_summary *s = &c->cells[i].summary;
        if (!s->count)
            continue;
        sim_summary_print_row(s, before, out);
        before = s;
    }
}

static void print_cell_json(const struct sim_cells *c, uint32_t b, uint32_t s, uint32_t p, FILE *out)
{
    const struct sim_cell *cell = sim_cell_at(c, b, s, p);
    struct strobe_json j = {.out = out, .one_line = 1};
    if (cell->summary.count) {
        fprintf(out, "{\"runtime\": \"%s\", \"summary\":\n", c->backends[b].name);
        sim_summary_print_json(&cell->summary, out);
        fputs("}", out);
        return;
    }
    strobe_json_object(&j, NULL);
    strobe_json_text(&j, "runtime", c->backends[b].name);
    strobe_json_text(&j, "scenario", c->scenarios[s]);
    strobe_json_text(&j, "policy", c->policies[p]);
    strobe_json_text(&j, cell->is_failed ? "failed" : "refused", cell->refused);
    strobe_json_object_end(&j);
}

void sim_cells_print_json(const struct sim_cells *c, bool names_backends, FILE *out)
{
    fputc('[', out);
    for (uint32_t b = 0; b < c->backend_count; b++)
        for (uint32_t s = 0; s < c->scenario_count; s++)
            for (uint32_t p = 0; p < c->policy_count; p++) {
                fputs(b || s || p ? ",\n" : "\n", out);
                if (names_backends)
                    print_cell_json(c, b, s, p, out);
                else
                    sim_summary_print_json(&sim_cell_at(c, b, s, p)->summary, out);
            }
    fputs("]\n", out);
}
