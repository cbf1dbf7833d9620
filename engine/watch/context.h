/* What all watchers of one stream share: what they were asked for, how well the teller sees, and what is known of the
 * app at this moment. strobe_watch_all keeps it: `before` is told an event before the watchers are, `after` after them.
 * Not thread-safe; reading half only. */
#ifndef STROBE_WATCH_CONTEXT_H
#define STROBE_WATCH_CONTEXT_H

#include "engine/util/text_pool.h"
#include "engine/watch/blame.h"
#include "engine/watch/finding.h"
#include "engine/watch/looper.h"

struct strobe_watch_context {
    struct strobe_watch_options options;
    struct strobe_watch_view view; /* its refresh_hz is 1 to 1000 */
    struct strobe_finding_sink sink;
    struct strobe_text_pool texts; /* for texts that have to last; equal texts have one address */
    const char *scene;             /* class of the activity that took the focus last and still lives, or "" */
    int foreground;                /* 1, 0, or -1: not told */
    bool knows_nice;
    int64_t nice;                 /* of main */
    struct strobe_looper *looper; /* the main thread's; watchers may listen */
    struct strobe_blame blame;    /* its calls */
    uint64_t now_ns;              /* time of the event */
    bool failed;                  /* out of memory */
};

/* Whatever it returns, to be closed. STROBE_IO: out of memory. */
enum strobe_status strobe_watch_context_open(struct strobe_watch_context *c, const struct strobe_watch_options *options,
                                             const struct strobe_watch_view *view, struct strobe_finding_sink sink);
void strobe_watch_context_close(struct strobe_watch_context *c);

/* Listeners of the looper are told by `before`. */
void strobe_watch_before(struct strobe_watch_context *c, const struct strobe_watch_event *e);
void strobe_watch_after(struct strobe_watch_context *c, const struct strobe_watch_event *e);

/* A text that lasts as long as the context; "" when there is no memory for it. */
const char *strobe_watch_keep(struct strobe_watch_context *c, const char *text);

/* Gives a finding the calls of the main thread within its span: stack, blame and key, and what was not seen of them.
 * Where none is known the blame is the root, and the finding says so. Returns the longest item, ns. */
uint64_t strobe_watch_blame(struct strobe_watch_context *c, struct strobe_finding *f, const char *root,
                            struct strobe_unseen *unseen);

/* What the message itself leaves open: that its end was not seen, that ends before it were lost. */
void strobe_watch_unseen_of(const struct strobe_watch_context *c, const struct strobe_message *m,
                            struct strobe_unseen *unseen);

/* Hands a finding over; one whose scene is NULL gets that of now. */
void strobe_watch_found(struct strobe_watch_context *c, struct strobe_finding *f);

#endif
