#include "engine/cmd/diff_figures.h"

#include "engine/cmd/report_findings.h"
#include "engine/watch/finding.h"
#include "engine/watch/watch_names.h"

#include <math.h>
#include <stdbool.h>

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

/* Returns whether watchers can find frames, messages or starts in the session. For programs that have none, the search
 * would take a third of the time of a comparison. */
static bool has_events_of_watchers(const struct strobe_reader *reader, const struct strobe_function_tree *tree)
{
    const unsigned roles =
        STROBE_ROLE_FRAME | STROBE_ROLE_LOOP | STROBE_ROLE_DISPATCH | STROBE_ROLE_ACTIVITY | STROBE_ROLE_COMPONENT;
    if (reader->hitch_count)
        return true;
    for (size_t i = 0; i < reader->item_count; i++)
        if (reader->items[i].record.message)
            return true;
    for (uint32_t i = 0; i < strobe_function_tree_name_count(tree); i++)
        if (strobe_name_roles(strobe_function_tree_name(tree, i)->text, NULL) & roles)
            return true;
    return false;
}

enum strobe_status strobe_diff_add_findings(struct strobe_diff *d, unsigned side, const struct strobe_reader *reader,
                                            struct strobe_function_tree *tree)
{
    struct strobe_findings_options options;
    struct strobe_findings *found;
    if (!has_events_of_watchers(reader, tree))
        return STROBE_OK;
    strobe_report_findings_defaults(&options);
    enum strobe_status status = strobe_findings_of_reader(reader, tree, &options, &found);
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
