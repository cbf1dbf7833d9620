/* The part of the public API (engine/include/strobe/capture.h) that is the same on all backends: options become a
 * session, and strobe_pause, strobe_resume, strobe_get_status, strobe_begin, strobe_end, strobe_counter and
 * strobe_thread_counter. A backend
 * defines strobe_start, strobe_stop and strobe_set_thread_name.
 *
 * strobe_get_status may run beside a start or a stop, also in a signal handler. It reads a view that the start has
 * published. There are two views, which captures use in turn. A view is valid for as long as the memory of its capture
 * is mapped: until the capture after the next starts (capture_memory.h). A reader that needs a session for longer pins
 * it:
 *
 *   reader   adds 1 to `pinned`, then loads the number of the view, with a full fence between them
 *   start    stores the number, then a full fence. The capture after the next unmaps the session; before that it waits
 *            while `pinned` is not 0. A reader that has loaded the old number has added its 1 before, so it is seen */
#ifndef STROBE_BACKEND_COMMON_EMBED_CAPTURE_API_H
#define STROBE_BACKEND_COMMON_EMBED_CAPTURE_API_H

#include "engine/capture/thread.h"
#include "engine/include/strobe/capture.h"
#include "engine/store/session.h"

/* Fills in a config from the options. STROBE_BAD_INPUT: an option is out of range, or there is no path; `error` has one
 * line. Start only. */
enum strobe_status strobe_capture_config(const struct strobe_capture_options *options, struct strobe_config *config,
                                         struct strobe_error *error);

/* Creates the session's file, for a process with this command line (may be NULL). The caller then attaches to it, and
 * in_memory->header is NULL. Without a path the session is in memory, and *in_memory is that session, begun by this
 * process. On failure there is no session, and `error` has one line: STROBE_EXISTS, STROBE_NO_MEMORY, or the codes of
 * strobe_session_create. Start only. */
enum strobe_status strobe_capture_create(const struct strobe_capture_options *options,
                                         const struct strobe_config *config, const char *command,
                                         struct strobe_session *in_memory, struct strobe_error *error);

/* Removes the file that strobe_capture_create has made, if any: the capture did not begin. Start only. */
void strobe_capture_discard(const struct strobe_capture_options *options);

/* Publishes the session of a capture that is about to begin; NULL: there is none, as in a forked child. `path`: of its
 * file; "" = not known. The thread that has claimed the start. */
void strobe_capture_publish(const struct strobe_session *session, const char *path);

/* A published session that a reader keeps from being unmapped. */
struct strobe_capture_view {
    const struct strobe_session *session;
    const char *path;
    uint32_t id; /* from 1 */
};

/* Pins the session published last: its memory stays until strobe_capture_unpin, which each reader calls once, also
 * after false: there is none. The reader waits for nothing of the app between the two calls, because a start may wait
 * for it. Any thread. */
bool strobe_capture_pin(struct strobe_capture_view *out);
void strobe_capture_unpin(void);

/* Waits until no session is pinned. Before a start unmaps the memory of an earlier capture. */
void strobe_capture_await_unpinned(void);

/* Defined by the backend: returns the calling thread's state, or NULL when its event is not recorded. `on`: the value
 * of the switch. Any context. */
struct strobe_thread *strobe_capture_thread(uint32_t on);

#endif
