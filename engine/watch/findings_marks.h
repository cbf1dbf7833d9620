/* Findings as marks of a trace: slices, or instants where they have no length, on tracks of the process called
 * "findings". Those that overlap are in lanes of their own. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_WATCH_FINDINGS_MARKS_H
#define STROBE_WATCH_FINDINGS_MARKS_H

#include "engine/trace/model/sink.h"
#include "engine/watch/findings.h"

struct strobe_findings_marks {
    struct strobe_mark *marks; /* by track, then by time: as the timeline's options take them */
    size_t count;
    struct strobe_mark_note *notes;
    struct strobe_text_pool texts;
};

/* Makes marks of a sorted list, which must outlive them. STROBE_IO: out of memory. Free it in any case. */
enum strobe_status strobe_findings_marks(const struct strobe_findings *f, struct strobe_findings_marks *out);
void strobe_findings_marks_free(struct strobe_findings_marks *m);

#endif
