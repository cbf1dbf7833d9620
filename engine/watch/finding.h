/* Functions that make findings: an empty finding, its values, and the text about what a capture cannot show. Reading
 * half; allocates nothing. */
#ifndef STROBE_WATCH_FINDING_H
#define STROBE_WATCH_FINDING_H

#include "engine/watch/watch.h"

/* Returns a finding without texts and values. Its scene is NULL, so it gets the scene at the time of the report. An end
 * before the begin counts as the begin. */
struct strobe_finding strobe_finding(enum strobe_finding_kind kind, uint64_t begin_ns, uint64_t end_ns);

/* Adds a value. `key` must stay valid as long as the finding. Values beyond the capacity are dropped. */
void strobe_finding_add(struct strobe_finding *f, const char *key, double value);

/* Adds a value in ms for a time in ns. */
void strobe_finding_add_ms(struct strobe_finding *f, const char *key, uint64_t ns);

/* Returns the value of a key, or NaN when the finding has no such value. */
double strobe_finding_value(const struct strobe_finding *f, const char *key);

/* Copies a name as the lines of a stack show it, cut to `capacity` - 1 bytes. Control characters become blanks. Returns
 * the number of bytes. */
size_t strobe_finding_line_name(const char *name, char *to, size_t capacity);

/* Reasons, joined by "; ". A reason that does not fit is dropped as a whole. */
struct strobe_unseen {
    char text[400];
};

/* Adds a reason; `format` is a printf format. */
void strobe_unseen_add(struct strobe_unseen *u, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the limits of the view that matter for a finding that depends on times, calls or due times. */
enum { STROBE_NEEDS_TIMES = 1, STROBE_NEEDS_CALLS = 2, STROBE_NEEDS_DUE = 4 };
void strobe_unseen_view(struct strobe_unseen *u, const struct strobe_watch_view *view, unsigned needs);

#endif
