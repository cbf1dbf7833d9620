/* Making findings: a blank one, its values, and the sentence that says what a capture could not have seen.
 * Reading half; allocates nothing. */
#ifndef STROBE_WATCH_FINDING_H
#define STROBE_WATCH_FINDING_H

#include "engine/watch/watch.h"

/* No texts, no values; its scene is NULL: that of when it is handed over. An end before the begin counts as the
 * begin. */
struct strobe_finding strobe_finding(enum strobe_finding_kind kind, uint64_t begin_ns, uint64_t end_ns);

/* A value more. `key` is kept by address. Those above the room are left out. */
void strobe_finding_add(struct strobe_finding *f, const char *key, double value);

/* The same in ms, of ns. */
void strobe_finding_add_ms(struct strobe_finding *f, const char *key, uint64_t ns);

/* The value of a key; NaN: not there. */
double strobe_finding_value(const struct strobe_finding *f, const char *key);

/* A name as lines of a stack show it, cut to `room` - 1 bytes: what would end or hide the line is a blank. Returns its
 * bytes. */
size_t strobe_finding_line_name(const char *name, char *to, size_t room);

/* Reasons, joined by "; ". What does not fit is left out whole. */
struct strobe_unseen {
    char text[400];
};

void strobe_unseen_add(struct strobe_unseen *u, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the view says that matters where times, calls, or the time something was due are judged. */
enum { STROBE_NEEDS_TIMES = 1, STROBE_NEEDS_CALLS = 2, STROBE_NEEDS_DUE = 4 };
void strobe_unseen_view(struct strobe_unseen *u, const struct strobe_watch_view *view, unsigned needs);

#endif
