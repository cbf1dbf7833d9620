#include "sim/score/page_found.h"

#include "sim/score/plot.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 60 };

static void show_values(struct strobe_outfile *out, const struct strobe_finding *f)
{
    for (size_t i = 0, shown = 0; i < f->value_count; i++)
        if (f->values[i].value != 0)
            sim_plot_put(out, "%s%s %.6g", shown++ ? ", " : "", f->values[i].key, f->values[i].value);
}

static void show_row(struct strobe_outfile *out, const struct strobe_finding *f, const char *in_truth)
{
    sim_plot_put(out, "<tr><th scope=\"row\">%s</th><td>%.1f ms</td><td>%.1f ms</td><td>%s</td><td class=\"text\">",
                 strobe_finding_name[f->kind], (double)f->begin_ns / 1e6, (double)strobe_finding_cost_ns(f) / 1e6,
                 in_truth);
    if (f->stack[0])
        strobe_outfile_text(out, "<details><summary>");
    sim_plot_text(out, f->blame[0] ? f->blame : "-");
    if (f->stack[0]) {
        strobe_outfile_text(out, "</summary><pre>depth,method,count,ms\n");
        sim_plot_text(out, f->stack);
        strobe_outfile_text(out, "</pre></details>");
    }
    strobe_outfile_text(out, "</td><td class=\"text\">");
    show_values(out, f);
    strobe_outfile_text(out, "</td><td class=\"text\">");
    sim_plot_text(out, f->unseen);
    strobe_outfile_text(out, "</td></tr>\n");
}

static void show_head(struct strobe_outfile *out, const char *caption, size_t count, const char *of_truth)
{
    sim_plot_put(out,
                 "<div class=\"wide\"><table><caption>%s: %zu%s</caption>\n<thead><tr><th scope=\"col\">kind</th>"
                 "<th scope=\"col\">at</th><th scope=\"col\">cost</th><th scope=\"col\">%s</th>"
                 "<th scope=\"col\">to blame</th><th scope=\"col\">values</th><th scope=\"col\">unseen</th></tr>"
                 "</thead>\n<tbody>\n",
                 caption, count, count > ROWS_MOST ? ", the first of them" : "", of_truth);
}

/* Lists the findings of the truth that are paired with no reconstructed one. */
static size_t list_missed_findings(const struct sim_found *found, const uint32_t *of, size_t *indexes)
{
    size_t count = 0;
    for (size_t k = 0; k < found->truth.count; k++) {
        size_t i = 0;
        while (i < found->reconstruction.count && of[i] != k + 1)
            i++;
        if (i == found->reconstruction.count)
            indexes[count++] = k;
    }
    return count;
}

void sim_page_found(struct strobe_outfile *out, const struct sim_found *found)
{
    const struct strobe_findings *reconstruction = &found->reconstruction;
    uint32_t *of = calloc(reconstruction->count + 1, sizeof *of);
    size_t *indexes = calloc(found->truth.count + 1, sizeof *indexes);
    uint64_t within_ns = 2 * reconstruction->view.resolution_ns;
    if (of && indexes) {
        sim_findings_pair(&found->truth, reconstruction, within_ns, of);
        show_head(out, "Findings in the claim", reconstruction->count, "in the truth");
        for (size_t i = 0; i < reconstruction->count && i < ROWS_MOST; i++)
            show_row(out, &reconstruction->at[i], of[i] ? "yes" : "no");
        strobe_outfile_text(out, "</tbody></table></div>\n");
        size_t count = list_missed_findings(found, of, indexes);
        if (count)
            show_head(out, "Findings of the truth that are not in the claim", count, "in the claim");
        for (size_t i = 0; i < count && i < ROWS_MOST; i++)
            show_row(out, &found->truth.at[indexes[i]], "no");
        strobe_outfile_text(out, count ? "</tbody></table></div>\n" : "");
        struct strobe_unseen_lines unseen;
        strobe_findings_unseen(reconstruction, &unseen);
        strobe_outfile_text(out, "<p>The claim could not have shown: ");
        for (size_t i = 0; i < unseen.count; i++) {
            sim_plot_text(out, unseen.line[i]);
            strobe_outfile_text(out, i + 1 < unseen.count ? "; " : ".</p>\n");
        }
    }
    free(of);
    free(indexes);
}
