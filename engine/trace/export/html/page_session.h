/* What a page shows of a session beside its report: the timeline, and the call paths of all threads together with their
 * elapsed time, CPU time and allocated bytes. All of it is that of the timeline (timeline.h), as in the report.
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_EXPORT_HTML_PAGE_SESSION_H
#define STROBE_TRACE_EXPORT_HTML_PAGE_SESSION_H

#include "engine/base/error.h"
#include "engine/trace/report/report.h"

#include <stdio.h>

struct strobe_page_session;

/* Reads a session. Of the options, those count that select a part or affect the timeline. On failure *out is NULL and
 * `error` has one line without the path. */
enum strobe_status strobe_page_session_open(const char *path, const struct strobe_report_options *options,
                                            struct strobe_page_session **out, struct strobe_error *error);

/* Prints one JSON object: "begin_ns" and "end_ns" of the part that is shown, since the session's begin; "names"
 * (page_names.h), "timeline" (page_tracks.h), "flame" (page_flame.h). */
void strobe_page_session_print(struct strobe_page_session *s, FILE *out);

/* STROBE_IO: memory ran out, also while it was printed. */
enum strobe_status strobe_page_session_status(const struct strobe_page_session *s);

void strobe_page_session_close(struct strobe_page_session *s); /* accepts NULL */

#endif
