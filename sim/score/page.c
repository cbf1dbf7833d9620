#include "sim/score/page.h"

#include "engine/util/array.h"
#include "engine/util/text_pool.h"
#include "sim/score/page_found.h"
#include "sim/score/plot.h"
#include "sim/score/summary.h"

#include <math.h> /* NAN, which needs no library */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 12, POLICIES_MOST = 32 };

/* A thread or a method by name over all results of a scenario: sums by policy, and a weight that selects the rows to
 * show. */
struct row {
    double sum[POLICIES_MOST], base[POLICIES_MOST];
    double weight;
    uint32_t name;
};

struct rows {
    struct strobe_text_pool names;
    struct row *at; /* by number of the name, until sorted */
    size_t count, room;
};

struct page {
    struct strobe_outfile out;
    const struct sim_result *results;
    size_t result_count;
    const char *scenario;
    const char *policies[POLICIES_MOST]; /* of the scenario, in order of appearance */
    size_t policy_count;
    struct sim_summary summaries[POLICIES_MOST];
    bool failed;
};

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width\"/><title>Strobe: scores</title>\n<style>\n";
static const char preface[] =
    "</style></head>\n<body><h1>Strobe: scores</h1>\n<p>What traces claim, against what really happened. Resolved: "
    "calls shorter than twice the interval are folded into their caller. Faint marks are single seeds.</p>\n";
static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d2230;--soft:#5a6275;--line:#d7dbe4;--paper:#fff;--zero:#8a93a6;"
    "--s0:#1f5fbf;--s1:#c2410c;--s2:#15803d;--s3:#7e22ce;--s4:#a16207;--s5:#be123c;--s6:#0e7490;--s7:#4d5566;"
    "--s8:#5b7f0a;--s9:#9d174d;--s10:#6d4c2f;--s11:#3730a3}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8ebf2;--soft:#a3acbf;--line:#363c4a;--paper:#14171e;"
    "--zero:#77819a;--s0:#7db0ff;--s1:#ff9d66;--s2:#62d28c;--s3:#cf9bff;--s4:#e3bd4f;--s5:#ff8aa0;"
    "--s6:#5fd0e6;--s7:#b4bccd;--s8:#b5d65a;--s9:#f59ac6;--s10:#d2b48c;--s11:#a5a8ff}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:900px;margin:0 auto;"
    "padding:24px 20px 60px}\n"
    "h1{font-size:24px;margin:0 0 4px}h2{font-size:20px;margin:48px 0 8px;border-top:1px solid var(--line);"
    "padding-top:20px}p{color:var(--soft);margin:0 0 16px}figure{margin:24px 0 8px}svg{width:100%;height:auto;"
    "font:12px system-ui,sans-serif;fill:var(--ink)}\n"
    ".title{font-size:15px;font-weight:600}.tick{fill:var(--soft)}.grid,.row,.zero{stroke:var(--line);fill:none}"
    ".row{stroke-dasharray:1 3}.zero{stroke:var(--zero)}.faint{opacity:.25}\n"
    ".s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}.s4{fill:var(--s4)}"
    ".s5{fill:var(--s5)}.s6{fill:var(--s6)}.s7{fill:var(--s7)}.s8{fill:var(--s8)}"
    ".s9{fill:var(--s9)}.s10{fill:var(--s10)}.s11{fill:var(--s11)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:0 0 16px;min-width:60%}"
    "caption{text-align:left;color:var(--soft);padding:4px 0}th,td{padding:3px 12px 3px 0;text-align:right;"
    "border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums;white-space:nowrap}"
    "th:first-child{text-align:left;font-weight:400}thead th{font-weight:600}"
    "td.text{text-align:left;white-space:normal}pre{margin:4px 0;font-size:12px}summary{cursor:pointer}\n";

/* ---- collecting rows */

static bool page_has_result(const struct page *p, const struct sim_result *r)
{
    return !strcmp(r->scenario, p->scenario);
}

static size_t policy_of(const struct page *p, const struct sim_result *r)
{
    size_t i = 0;
    while (i < p->policy_count && strcmp(p->policies[i], r->policy))
        i++;
    return i;
}

static void page_collect_rows(struct page *p)
{
    p->policy_count = 0;
    for (size_t i = 0; i < p->result_count; i++) {
        const struct sim_result *r = &p->results[i];
        if (!page_has_result(p, r))
            continue;
        size_t policy = policy_of(p, r);
        if (policy == POLICIES_MOST)
            continue;
        if (policy == p->policy_count) {
            p->policies[p->policy_count++] = r->policy;
            sim_summary_open(&p->summaries[policy]);
        }
        p->failed |= sim_summary_add(&p->summaries[policy], r) != STROBE_OK;
    }
}

static double median(const struct page *p, size_t policy, const char *field)
{
    struct sim_spread spread;
    return sim_summary_spread(&p->summaries[policy], field, &spread) ? spread.median : NAN;
}

/* ---- rows by name */

static struct row *page_row_of(struct page *p, struct rows *rows, const char *name)
{
    uint32_t number = strobe_text_number(&rows->names, name, strlen(name));
    if (number == UINT32_MAX || !strobe_array_reserve(&rows->at, &rows->room, (size_t)number + 1)) {
        p->failed = true;
        return NULL;
    }
    if (number == rows->count)
        rows->at[rows->count++] = (struct row){.name = number};
    return &rows->at[number];
}

static void page_add_value(struct page *p, struct rows *rows, const char *name, size_t policy, double value,
                           double base, double weight)
{
    struct row *row = page_row_of(p, rows, name);
    if (!row)
        return;
    row->sum[policy] += value;
    row->base[policy] += base;
    row->weight += weight;
}

static int by_weight(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Plots and lists the rows of the largest weight. */
static void show_rows(struct page *p, struct rows *rows, struct sim_plot_matrix m)
{
    const char *names[ROWS_MOST];
    double at[ROWS_MOST * POLICIES_MOST];
    if (rows->count)
        qsort(rows->at, rows->count, sizeof *rows->at, by_weight);
    m.row_count = rows->count < ROWS_MOST ? rows->count : ROWS_MOST;
    m.series_count = p->policy_count;
    for (size_t i = 0; i < m.row_count; i++) {
        names[i] = rows->names.texts[rows->at[i].name];
        for (size_t s = 0; s < m.series_count; s++)
            at[i * m.series_count + s] = rows->at[i].base[s] > 0 ? rows->at[i].sum[s] / rows->at[i].base[s] : NAN;
    }
    m.rows = names;
    m.series = p->policies;
    m.at = at;
    if (m.row_count && !p->failed) {
        sim_plot_dots(&p->out, &m);
        sim_plot_table(&p->out, &m);
    }
    strobe_text_pool_free(&rows->names);
    free(rows->at);
}

static void show_threads(struct page *p)
{
    struct rows rows = {0};
    for (size_t i = 0; i < p->result_count; i++) {
        const struct sim_result *r = &p->results[i];
        if (!page_has_result(p, r) || policy_of(p, r) == p->policy_count)
            continue;
        for (size_t k = 0; k < r->thread_count; k++) {
            const struct sim_result_thread *t = &r->threads[k];
            double lived = (double)t->thread_ns;
            page_add_value(p, &rows, t->name, policy_of(p, r), t->agreement_resolved * lived, lived,
                           (double)t->running_ns);
        }
    }
    show_rows(p, &rows,
              (struct sim_plot_matrix){.title = "Resolved agreement by thread, those that ran most first",
                                       .row_title = "thread",
                                       .unit = SIM_FIELD_SHARE,
                                       .low = 0,
                                       .high = 1});
}

static void show_methods(struct page *p)
{
    struct rows rows = {0};
    for (size_t i = 0; i < p->result_count; i++) {
        const struct sim_result *r = &p->results[i];
        if (!page_has_result(p, r) || policy_of(p, r) == p->policy_count)
            continue;
        for (size_t k = 0; k < r->method_count; k++) {
            const struct sim_result_method *m = &r->methods[k];
            double error = m->claimed_self - m->true_self;
            page_add_value(p, &rows, m->name, policy_of(p, r), error, 1, error < 0 ? -error : error);
        }
    }
    show_rows(
        p, &rows,
        (struct sim_plot_matrix){.title = "Error of self time by method, as a share of thread time, largest first",
                                 .row_title = "method",
                                 .unit = SIM_FIELD_SHARE});
}

/* ---- policies */

/* Plots all results, and the median of each policy. The x axis is the interval when `interval` is set, else the
 * overhead. */
static void show_cloud(struct page *p, bool interval)
{
    struct sim_plot_point *points = calloc(p->result_count + p->policy_count + 1, sizeof *points);
    double interval_ns[POLICIES_MOST] = {0};
    size_t count = 0;
    if (!points) {
        p->failed = true;
        return;
    }
    for (size_t i = 0; i < p->result_count; i++) {
        const struct sim_result *r = &p->results[i];
        size_t policy = page_has_result(p, r) ? policy_of(p, r) : p->policy_count;
        if (policy == p->policy_count || (interval && !r->interval_ns))
            continue;
        interval_ns[policy] = (double)r->interval_ns;
        points[count++] = interval
                              ? (struct sim_plot_point){(double)r->interval_ns, r->score.overhead, policy, true}
                              : (struct sim_plot_point){r->score.overhead, r->score.agreement_resolved, policy, true};
    }
    for (size_t s = 0; s < p->policy_count; s++) {
        double overhead = median(p, s, "overhead");
        if (interval && interval_ns[s] > 0)
            points[count++] = (struct sim_plot_point){interval_ns[s], overhead, s, false};
        else if (!interval)
            points[count++] = (struct sim_plot_point){overhead, median(p, s, "agreement_resolved"), s, false};
    }
    struct sim_plot_cloud cloud = {.title = interval ? "Overhead against the interval of samples"
                                                     : "Resolved agreement against overhead",
                                   .x_title = interval ? "interval" : "overhead",
                                   .y_title = interval ? "overhead" : "resolved agreement",
                                   .x_unit = interval ? SIM_FIELD_NS : SIM_FIELD_SHARE,
                                   .y_unit = SIM_FIELD_SHARE,
                                   .series = p->policies,
                                   .series_count = p->policy_count,
                                   .points = points,
                                   .point_count = count,
                                   .y_high = interval ? 0 : 1};
    if (count)
        sim_plot_cloud(&p->out, &cloud);
    free(points);
}

static void show_losses(struct page *p)
{
    static const char *const title[] = {"share lost"};
    const char *series[] = {title[0]};
    double at[POLICIES_MOST];
    for (size_t s = 0; s < p->policy_count; s++) {
        double lost = median(p, s, "lost"), taken = median(p, s, "samples");
        at[s] = lost + taken > 0 ? lost / (lost + taken) : 0;
    }
    struct sim_plot_matrix m = {.title = "Samples lost, of those taken",
                                .row_title = "policy",
                                .rows = p->policies,
                                .series = series,
                                .row_count = p->policy_count,
                                .series_count = 1,
                                .at = at,
                                .unit = SIM_FIELD_SHARE};
    sim_plot_dots(&p->out, &m);
    sim_plot_table(&p->out, &m);
}

/* Shows all headline scores: medians by policy. */
static void show_scores(struct page *p)
{
    char text[SIM_FIELD_TEXT_BYTES];
    strobe_outfile_text(&p->out, "<div class=\"wide\"><table><caption>Medians over seeds</caption>\n<thead><tr>"
                                 "<th scope=\"col\">score</th>");
    for (size_t s = 0; s < p->policy_count; s++) {
        strobe_outfile_text(&p->out, "<th scope=\"col\">");
        sim_plot_text(&p->out, p->policies[s]);
        sim_plot_put(&p->out, " (%zu)</th>", p->summaries[s].count);
    }
    strobe_outfile_text(&p->out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < SIM_FIELD_HEADLINES; i++) {
        sim_plot_put(&p->out, "<tr><th scope=\"row\">%s</th>", sim_fields[i].name);
        for (size_t s = 0; s < p->policy_count; s++)
            sim_plot_put(&p->out, "<td>%s</td>",
                         sim_field_text(sim_fields[i].unit, median(p, s, sim_fields[i].name), text));
        strobe_outfile_text(&p->out, "</tr>\n");
    }
    strobe_outfile_text(&p->out, "</tbody></table></div>\n");
}

static void show_scenario(struct page *p, const char *scenario)
{
    p->scenario = scenario;
    page_collect_rows(p);
    if (!p->failed) {
        strobe_outfile_text(&p->out, "<section><h2>");
        sim_plot_text(&p->out, scenario);
        strobe_outfile_text(&p->out, "</h2>\n");
        show_cloud(p, false);
        show_scores(p);
        show_threads(p);
        show_methods(p);
        show_cloud(p, true);
        show_losses(p);
        for (size_t i = 0; i < p->result_count; i++)
            if (page_has_result(p, &p->results[i]) && p->results[i].found)
                sim_page_found(&p->out, p->results[i].found);
        strobe_outfile_text(&p->out, "</section>\n");
    }
    for (size_t s = 0; s < p->policy_count; s++)
        sim_summary_close(&p->summaries[s]);
}

/* True when no earlier result is of the same scenario. */
static bool is_first(const struct sim_result *results, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(results[k].scenario, results[i].scenario))
            return false;
    return true;
}

enum strobe_status sim_page_write(const struct sim_result *results, size_t count, const char *path, int replace)
{
    struct page p = {.results = results, .result_count = count};
    enum strobe_status status = strobe_outfile_open(&p.out, path, replace);
    if (status != STROBE_OK)
        return status;
    strobe_outfile_text(&p.out, head);
    strobe_outfile_text(&p.out, style);
    strobe_outfile_text(&p.out, preface);
    for (size_t i = 0; i < count && !p.failed; i++)
        if (is_first(results, i))
            show_scenario(&p, results[i].scenario);
    strobe_outfile_text(&p.out, "</body></html>\n");
    status = strobe_outfile_finish(&p.out, p.failed);
    return p.failed ? STROBE_IO : status;
}
