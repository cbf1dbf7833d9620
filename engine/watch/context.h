/* What all watchers of one stream share: what they were asked for, how well the teller sees, and what is known of the
 * app at this moment. strobe_watch_all keeps it: `before` is told an event before the watchers are, `after` after them.
 * Not thread-safe; reading half only. */
#ifndef STROBE_WATCH_CONTEXT_H
#define STROBE_WATCH_CONTEXT_H

#include "engine/trace/text_pool.h"
#include "engine/watch/finding.h"

struct strobe_watch_context {
    struct strobe_watch_options options;
    struct strobe_watch_view view;       /* its refresh_hz is 1 to 1000 */
    struct strobe_finding_sink sink;
    struct strobe_text_pool texts;       /* for texts that have to last; equal texts have one address */
    const char *scene;                   /* class of the activity that took the focus last and still lives, or "" */
    int foreground;                      /* 1, 0, or -1: not told */
    bool knows_nice;
    int64_t nice;                        /* of main */
    uint64_t now_ns;                     /* time of the event */
    bool failed;                         /* out of memory */
};

void strobe_watch_context_open(struct strobe_watch_context *c, const struct strobe_watch_options *options,
                               const struct strobe_watch_view *view, struct strobe_finding_sink sink);
void strobe_watch_context_close(struct strobe_watch_context *c);

void strobe_watch_before(struct strobe_watch_context *c, const struct strobe_watch_event *e);
void strobe_watch_after(struct strobe_watch_context *c, const struct strobe_watch_event *e);

/* A text that lasts as long as the context; "" when there is no memory for it. */
const char *strobe_watch_keep(struct strobe_watch_context *c, const char *text);

/* Hands a finding over; one whose scene is NULL gets that of now. */
void strobe_watch_found(struct strobe_watch_context *c, struct strobe_finding *f);

#endif
