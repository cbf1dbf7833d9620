/* Finds problems in a session: converts the timeline of its main thread into events for watchers.
 *
 * The thread is the session's main thread, or the first of several. Other threads are skipped, because no watcher of
 * calls needs them. Memory is therefore one path of open calls, whatever the session's length, and no sorting is
 * needed. Messages come from the session. When the main thread has none, the run loop's overlong turns (hitches and
 * hangs) are its messages. When there are none of these, messages are recognised by name (watch_feed.h).
 *
 * Allocates memory; not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_WATCH_TIMELINE_H
#define STROBE_WATCH_WATCH_TIMELINE_H

#include "engine/base/error.h"
#include "engine/trace/build/timeline.h"
#include "engine/trace/model/sink.h"
#include "engine/watch/findings.h"
#include "engine/watch/watch_feed.h"

/* Returns how precise the timeline of `reader` is. When calls were recorded, every call is known to the ns. Otherwise
 * the timeline is sampled, and times are exact to the length that counts as a gap between samples. */
struct strobe_watch_view strobe_watch_view_of(const struct strobe_reader *reader,
                                              const struct strobe_timeline_options *options);

/* Returns a sink for strobe_timeline_build that passes events of the main thread to `watcher`. The caller keeps
 * ownership of `watcher`. The sink frees itself at finish. Times are those of the timeline. `seen` (may be NULL) is
 * complete after finish. Returns NULL when memory runs out. */
struct strobe_sink *strobe_watch_sink(struct strobe_watcher *watcher, const char *frames,
                                      struct strobe_watch_seen *seen);

/* Options of a search in a session. */
struct strobe_findings_options {
    struct strobe_watch_options watch;
    const char *frames;  /* see struct strobe_watch_feed_options */
    uint32_t refresh_hz; /* of the display; 0 = 60 */
    unsigned symbols;    /* STROBE_SYMBOLS_* */
    struct strobe_timeline_options timeline;
};

/* Finds all problems in a session file. On STROBE_OK the caller closes *out. Otherwise *out is NULL, and `error` has
 * one line without the path. */
enum strobe_status strobe_findings_of_session(const char *path, const struct strobe_findings_options *options,
                                              struct strobe_findings **out, struct strobe_error *error);

/* Finds all problems in a session that is open already. `tree` folds the reader's stack table. STROBE_IO: memory ran
 * out, and *out is NULL. */
enum strobe_status strobe_findings_of_reader(const struct strobe_reader *reader, struct strobe_function_tree *tree,
                                             const struct strobe_findings_options *options,
                                             struct strobe_findings **out);

/* Finds all problems in a text: events (watch_text.h), or a dump of threads in ART's format, which shows deadlocks. The
 * text is changed. STROBE_BAD_INPUT: see `error`. STROBE_IO: memory ran out. */
enum strobe_status strobe_findings_of_text(char *text, const struct strobe_findings_options *options,
                                           struct strobe_findings **out, struct strobe_error *error);

void strobe_findings_close(struct strobe_findings *f); /* accepts NULL */

#endif
