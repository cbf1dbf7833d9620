/* For tests of watchers: all of them over one stream, and the findings they made, kept whole. Times in ms. */
#ifndef STROBE_UNIT_SUPPORT_WATCH_RIG_H
#define STROBE_UNIT_SUPPORT_WATCH_RIG_H

#include "engine/watch/finding.h"

enum { WATCH_RIG_FINDINGS = 4000 };

struct watch_rig {
    struct strobe_watch_options options;
    struct strobe_watch_view view;
    struct strobe_watcher *watcher;
    struct strobe_finding found[WATCH_RIG_FINDINGS]; /* texts are kept too */
    size_t count;
};

/* Defaults, and a view that sees all; both may be changed before the first event. */
void watch_rig_open(struct watch_rig *r);
void watch_rig_close(struct watch_rig *r);

/* The rig of the test at hand: opened before it and closed behind it. */
extern struct watch_rig rig;
int watch_rig_start(void **state);
int watch_rig_stop(void **state);

/* Forgets what was found, and the watchers: the next event opens new ones. */
void watch_rig_again(struct watch_rig *r);

void watch_notify(struct watch_rig *r, const struct strobe_watch_event *e);
void watch_notify_ns(struct watch_rig *r, enum strobe_watch_what what, uint64_t ns, const char *text);
void watch_notify_ms(struct watch_rig *r, enum strobe_watch_what what, double ms, const char *text);

/* A message of the main thread, due when it begins, and what is printed of it at both its ends. */
void watch_message(struct watch_rig *r, double begin_ms, double end_ms, const char *text);

/* Of an activity: its focus. */
void watch_focus(struct watch_rig *r, double ms, const char *name);

/* The stream ends. */
void watch_end(struct watch_rig *r, double ms);

/* How many findings of a kind there are; the n-th of them, which must be. */
size_t watch_count(const struct watch_rig *r, enum strobe_finding_kind kind);
const struct strobe_finding *watch_found(const struct watch_rig *r, enum strobe_finding_kind kind, size_t n);

/* A value of a finding, which must have it. */
double watch_value(const struct strobe_finding *f, const char *key);

#endif
