/* A list of findings with copies of their texts, for reports, traces and pages. It allocates memory, is not
 * thread-safe, and sets `failed` when memory runs out. Reading half only. */
#ifndef STROBE_WATCH_FINDINGS_H
#define STROBE_WATCH_FINDINGS_H

#include "engine/util/text_pool.h"
#include "engine/watch/watch.h"
#include "engine/watch/watch_feed.h"

#include <stdio.h>

struct strobe_findings {
    struct strobe_finding *at; /* once sorted: by begin, longer ones first, then in the order found */
    size_t count, room;
    struct strobe_text_pool texts;
    struct strobe_watch_view view;
    struct strobe_watch_seen seen;
    uint64_t origin_ns; /* begin of the session; printed times are relative to it */
    bool of_text;       /* from a thread dump: there is no view and no counts */
    bool of_events;     /* from a text of events (watch_text.h), which may contain any event */
    bool failed;        /* out of memory */
};

/* Frees the memory and leaves an empty list. Zeroed memory is an empty list. */
void strobe_findings_free(struct strobe_findings *f);

/* Returns a sink that adds findings to the list. */
struct strobe_finding_sink strobe_findings_sink(struct strobe_findings *f);

/* Sorts the list as `at` describes. Sets `failed` when memory runs out. */
void strobe_findings_sort(struct strobe_findings *f);

/* Returns the cost of a finding in ns: its value "cost_ms" or the like, else its length. */
uint64_t strobe_finding_cost_ns(const struct strobe_finding *f);

/* Kinds of findings that this list cannot contain, with the reason, one line each. Texts are valid as long as *out
 * stays at its address. */
struct strobe_unseen_lines {
    const char *line[8];
    size_t count;
    char room[160];
};
void strobe_findings_unseen(const struct strobe_findings *f, struct strobe_unseen_lines *out);

/* Prints the list as a table of at most `width` columns (0 = no limit), or as one JSON object. `source` is the file
 * name. Errors are those of the stream. */
void strobe_findings_print(const struct strobe_findings *f, const char *source, uint32_t width, FILE *out);
void strobe_findings_print_json(const struct strobe_findings *f, const char *source, FILE *out);

#endif
