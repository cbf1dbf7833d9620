/* The part of the public API (engine/include/strobe/capture.h) that is the same on all backends: options become a
 * session, and strobe_pause, strobe_resume, strobe_get_status, strobe_begin, strobe_end and strobe_counter. A backend
 * defines strobe_start, strobe_stop and strobe_set_thread_name.
 *
 * strobe_get_status may run beside a start or a stop, also in a signal handler. It reads a view that the start has
 * published. There are two views, which captures use in turn. A view is valid for as long as the memory of its capture
 * is mapped: until the capture after the next starts (capture_memory.h). */
#ifndef STROBE_BACKEND_COMMON_EMBED_CAPTURE_API_H
#define STROBE_BACKEND_COMMON_EMBED_CAPTURE_API_H

#include "engine/capture/thread.h"
#include "engine/include/strobe/capture.h"
#include "engine/store/session.h"

/* Fills in a config from the options. STROBE_BAD_INPUT: an option is out of range, or there is no path; `error` has one
 * line. Start only. */
enum strobe_status strobe_capture_config(const struct strobe_capture_options *options, struct strobe_config *config,
                                         struct strobe_error *error);

/* Creates the session's file, for a process with this command line (may be NULL). The caller then attaches to it. On
 * failure there is no file, and `error` has one line: STROBE_EXISTS, or the codes of strobe_session_create. Start
 * only. */
enum strobe_status strobe_capture_create(const struct strobe_capture_options *options,
                                         const struct strobe_config *config, const char *command,
                                         struct strobe_error *error);

/* Publishes the session of a capture that is about to begin; NULL: there is none, as in a forked child. The thread that
 * has claimed the start. */
void strobe_capture_publish(const struct strobe_session *session);

/* Defined by the backend: returns the calling thread's state, or NULL when its event is not recorded. `on`: the value
 * of the switch. Any context. */
struct strobe_thread *strobe_capture_thread(uint32_t on);

#endif
