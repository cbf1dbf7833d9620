/* From captures to findings: tells watchers what a timeline shows of the main thread.
 *
 * The thread is the session's main one; of several, the first. Others are passed over: no watcher of calls asks about
 * them, and so memory is one path of open calls, whatever the session's length, in time order without any sorting.
 * Messages are the session's. Where its main thread has none, turns of the run loop that were too long (hitches and
 * hangs) are its messages, and without those, messages are known by name (watch_feed.h).
 *
 * Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_WATCH_TIMELINE_H
#define STROBE_WATCH_WATCH_TIMELINE_H

#include "engine/base/error.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/model/sink.h"
#include "engine/watch/findings.h"
#include "engine/watch/watch_feed.h"

/* How well the timeline of `reader` can see: all calls, to the ns, where they are known; else sampled, times to within
 * what counts as a gap between samples. */
struct strobe_watch_view strobe_watch_view_of(const struct strobe_reader *reader,
                                              const struct strobe_timeline_options *options);

/* A sink that tells `watcher`, which stays the caller's, about the main thread: to be given to strobe_timeline_build,
 * frees itself at finish. Times are those of the timeline. `seen` (may be NULL) is complete after finish. NULL: out of
 * memory. */
struct strobe_sink *strobe_watch_sink(struct strobe_watcher *watcher, const char *frames,
                                      struct strobe_watch_seen *seen);

/* What to look for in a session. */
struct strobe_findings_options {
    struct strobe_watch_options watch;
    const char *frames;  /* as in struct strobe_watch_feed_options */
    uint32_t refresh_hz; /* of the display; 0 = 60 */
    unsigned symbols;    /* STROBE_SYMBOLS_* */
    struct strobe_timeline_options timeline;
};

/* Finds all in a session file. On STROBE_OK the caller closes *out; else it is NULL, and `error` has one line without
 * the path. */
enum strobe_status strobe_findings_of_session(const char *path, const struct strobe_findings_options *options,
                                              struct strobe_findings **out, struct strobe_error *error);

/* The same of a text: of events (watch_text.h), or of threads as ART writes it: deadlocks. The text is changed.
 * STROBE_BAD_INPUT with `error`, STROBE_IO: out of memory. */
enum strobe_status strobe_findings_of_text(char *text, const struct strobe_findings_options *options,
                                           struct strobe_findings **out, struct strobe_error *error);

void strobe_findings_close(struct strobe_findings *f); /* NULL is fine */

#endif
