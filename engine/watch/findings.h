/* Findings as a list that keeps its texts: what reports, traces and pages are made from. Allocates; not thread-safe;
 * the first lack of memory sticks in `failed`. Reading half only. */
#ifndef STROBE_WATCH_FINDINGS_H
#define STROBE_WATCH_FINDINGS_H

#include "engine/util/text_pool.h"
#include "engine/watch/watch.h"
#include "engine/watch/watch_feed.h"

#include <stdio.h>

struct strobe_findings {
    struct strobe_finding *at; /* by begin, longer ones first, then as found, once sorted */
    size_t count, room;
    struct strobe_text_pool texts;
    struct strobe_watch_view view;
    struct strobe_watch_seen seen;
    uint64_t origin_ns; /* times are printed since then: the session's begin */
    bool of_text;       /* of a text of threads: there is no view, and nothing was seen */
    bool of_events;     /* of a text of events (watch_text.h): any of them may be told */
    bool failed;        /* out of memory */
};

/* Zeroed memory is an empty list. */
void strobe_findings_free(struct strobe_findings *f);

/* Adds to the list whatever it is told. */
struct strobe_finding_sink strobe_findings_sink(struct strobe_findings *f);

void strobe_findings_sort(struct strobe_findings *f);

/* Cost of a finding in ns: the value "cost_ms" or the like where there is one, else its length. */
uint64_t strobe_finding_cost_ns(const struct strobe_finding *f);

/* What no finding of this list could have been about, line by line. Texts are good as long as *out is where it was. */
struct strobe_unseen_lines {
    const char *line[8];
    size_t count;
    char room[160];
};
void strobe_findings_unseen(const struct strobe_findings *f, struct strobe_unseen_lines *out);

/* Prints them: a table for people, at most `width` columns (0 = any number), or one JSON object. `source` is the file's
 * name. Errors are the stream's. */
void strobe_findings_print(const struct strobe_findings *f, const char *source, uint32_t width, FILE *out);
void strobe_findings_print_json(const struct strobe_findings *f, const char *source, FILE *out);

#endif
