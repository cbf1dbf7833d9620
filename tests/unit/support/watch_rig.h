/* For tests of watchers: runs all watchers over one stream of events and stores their findings. Times are in ms. */
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

/* Sets the defaults and a complete view. Both may be changed before the first event. */
void watch_rig_open(struct watch_rig *r);
void watch_rig_close(struct watch_rig *r);

/* The rig of the current test, opened before it and closed after it. */
extern struct watch_rig rig;
int watch_rig_start(void **state);
int watch_rig_stop(void **state);

/* Removes the findings and the watchers. The next event opens new watchers. */
void watch_rig_again(struct watch_rig *r);

void watch_notify(struct watch_rig *r, const struct strobe_watch_event *e);
void watch_notify_ns(struct watch_rig *r, enum strobe_watch_what what, uint64_t ns, const char *text);
void watch_notify_ms(struct watch_rig *r, enum strobe_watch_what what, double ms, const char *text);

/* Reports a message of the main thread that is due when it begins. `text` is the looper's text at its begin and end. */
void watch_message(struct watch_rig *r, double begin_ms, double end_ms, const char *text);

/* Reports that an activity gets the focus. */
void watch_focus(struct watch_rig *r, double ms, const char *name);

/* The stream ends. */
void watch_end(struct watch_rig *r, double ms);

/* Return the number of findings of a kind, and the n-th of them, which must exist. */
size_t watch_count(const struct watch_rig *r, enum strobe_finding_kind kind);
const struct strobe_finding *watch_found(const struct watch_rig *r, enum strobe_finding_kind kind, size_t n);

/* Returns a value of a finding, which must exist. */
double watch_value(const struct strobe_finding *f, const char *key);

#endif
