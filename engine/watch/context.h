/* State that all watchers of one stream share: the options, the precision of the event source, and the current state of
 * the app. strobe_watch_all keeps it. It calls strobe_watch_before before it passes an event to the watchers, and
 * strobe_watch_after after that. Not thread-safe; reading half only. */
#ifndef STROBE_WATCH_CONTEXT_H
#define STROBE_WATCH_CONTEXT_H

#include "engine/util/text_pool.h"
#include "engine/watch/blame.h"
#include "engine/watch/finding.h"
#include "engine/watch/looper.h"

struct strobe_watch_context {
    struct strobe_watch_options options;
    struct strobe_watch_view view; /* its refresh_hz is in 1 .. 1000 */
    struct strobe_finding_sink sink;
    struct strobe_text_pool texts; /* texts that must outlive an event; equal texts have one address */
    const char *scene;             /* class of the live activity that got the focus last, or "" */
    int foreground;                /* 1, 0, or -1 = unknown */
    bool knows_nice;
    int64_t nice;                 /* of the main thread */
    struct strobe_looper *looper; /* of the main thread; watchers may listen */
    struct strobe_blame blame;    /* calls of the main thread */
    uint64_t now_ns;              /* time of the current event */
    bool failed;                  /* out of memory */
};

/* Opens a context. The caller closes it, also after a failure. STROBE_IO: memory ran out. */
enum strobe_status strobe_watch_context_open(struct strobe_watch_context *c, const struct strobe_watch_options *options,
                                             const struct strobe_watch_view *view, struct strobe_finding_sink sink);
void strobe_watch_context_close(struct strobe_watch_context *c);

/* strobe_watch_before also notifies the listeners of the looper. */
void strobe_watch_before(struct strobe_watch_context *c, const struct strobe_watch_event *e);
void strobe_watch_after(struct strobe_watch_context *c, const struct strobe_watch_event *e);

/* Returns a copy of a text that stays valid as long as the context, or "" when memory runs out. */
const char *strobe_watch_keep(struct strobe_watch_context *c, const char *text);

/* Adds the calls of the main thread within the finding's span: stack, blame and key, and the reasons why calls may be
 * missing. When no call is known, the root is the blame, and the finding says so. Returns the longest item in ns. */
uint64_t strobe_watch_blame(struct strobe_watch_context *c, struct strobe_finding *f, const char *root,
                            struct strobe_unseen *unseen);

/* Adds the reasons why the message itself is uncertain: its end was not captured, or ends of earlier messages were
 * lost. */
void strobe_watch_unseen_of(const struct strobe_watch_context *c, const struct strobe_message *m,
                            struct strobe_unseen *unseen);

/* Reports a finding. A finding without a scene gets the current scene. */
void strobe_watch_found(struct strobe_watch_context *c, struct strobe_finding *f);

#endif
