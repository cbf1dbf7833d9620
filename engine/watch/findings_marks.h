/* Converts findings into annotations of a trace: slices, or instants when they have no length. They lie on tracks of
 * the process, called "findings". Findings that overlap lie on separate tracks. Allocates memory; not thread-safe.
 * Reading half only. */
#ifndef STROBE_WATCH_FINDINGS_MARKS_H
#define STROBE_WATCH_FINDINGS_MARKS_H

#include "engine/trace/model/sink.h"
#include "engine/watch/findings.h"

struct strobe_findings_marks {
    struct strobe_mark *marks; /* by track, then by time, as the timeline's options require */
    size_t count;
    struct strobe_mark_note *notes;
    struct strobe_text_pool texts;
};

/* Converts a sorted list, which must outlive the result. STROBE_IO: memory ran out. The caller frees the result in any
 * case. */
enum strobe_status strobe_findings_marks(const struct strobe_findings *f, struct strobe_findings_marks *out);
void strobe_findings_marks_free(struct strobe_findings_marks *m);

#endif
