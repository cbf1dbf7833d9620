#include "engine/cmd/diff_figures.h"

#include "engine/cmd/report_findings.h"
#include "engine/trace/session/session_set.h"
#include "engine/watch/finding.h"

#include <math.h>

static const struct {
    enum strobe_finding_kind kind;
    const char *key; /* of the finding; NULL: count findings */
    const char *name, *unit;
    int is_amount;
    double factor;
} figures_of_findings[] = {
    {STROBE_FINDING_FRAMES, "frames", "frames", "", 1, 1},
    {STROBE_FINDING_FRAMES, "dropped", "dropped frames", "", 1, 1},
    {STROBE_FINDING_EVIL, NULL, "long messages", "", 1, 1},
    {STROBE_FINDING_EVIL, "cost_ms", "time in long messages", "ns", 1, 1e6},
    {STROBE_FINDING_STARTUP, "application_ms", "start: until the application is created", "ns", 0, 1e6},
    {STROBE_FINDING_STARTUP, "first_screen_ms", "start: until the first screen", "ns", 0, 1e6},
    {STROBE_FINDING_STARTUP, "cold_ms", "cold start", "ns", 0, 1e6},
    {STROBE_FINDING_STARTUP, "warm_ms", "warm start", "ns", 0, 1e6},
};

enum strobe_status strobe_diff_add_findings(struct strobe_diff *d, unsigned side, const char *path,
                                            struct strobe_error *error)
{
    struct strobe_findings_options options;
    struct strobe_findings *found;
    const struct strobe_diff_side *s = &d->sides[side];
    if (strobe_session_set_is_folder(path) || s->captures[s->capture_count - 1].is_trace)
        return STROBE_OK;
    strobe_report_findings_defaults(&options);
    options.symbols = d->options.symbols;
    enum strobe_status status = strobe_findings_of_session(path, &options, &found, error);
    if (status != STROBE_OK)
        return status;
    for (size_t i = 0; i < found->count; i++)
        for (size_t k = 0; k < sizeof figures_of_findings / sizeof figures_of_findings[0]; k++) {
            const char *key = figures_of_findings[k].key;
            double value = key ? strobe_finding_value(&found->at[i], key) : 1;
            if (found->at[i].kind == figures_of_findings[k].kind && !isnan(value))
                strobe_diff_add_figure(d, side, figures_of_findings[k].name, figures_of_findings[k].unit,
                                       figures_of_findings[k].is_amount, value * figures_of_findings[k].factor);
        }
    strobe_findings_close(found);
    return STROBE_OK;
}
