/* Takes the lines of `perf script` apart; see perf_read.h for their forms. Any thread. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_PERF_PERF_LINE_H
#define STROBE_TRACE_IMPORT_PERF_PERF_LINE_H

#include "engine/util/cursor.h"

#include <stdbool.h>
#include <stdint.h>

/* The line of a sample or of another record. Cursors are empty where a field is missing. */
struct strobe_perf_line {
    struct strobe_cursor comm, event, rest; /* rest: the text behind the event */
    struct strobe_cursor record;            /* "PERF_RECORD_..." and all behind it */
    bool has_tid, has_pid, has_time, has_period;
    uint32_t pid, tid;
    uint64_t time_ns, period;
};

/* Returns false when the line has no tid, no time and no event, and is no record: `comm` is then the whole line without
 * the blanks around it. */
bool strobe_perf_take_line(struct strobe_cursor line, struct strobe_perf_line *out);

struct strobe_perf_frame {
    struct strobe_cursor symbol; /* without its offset; empty when it is not known */
    struct strobe_cursor dso;    /* empty when it is not known */
    uint64_t ip;                 /* 0 when it is missing */
};

/* Takes `ip symbol+offset (dso)`, with leading blanks. False: the text has another form. */
bool strobe_perf_take_frame(struct strobe_cursor text, struct strobe_perf_frame *out);

/* Returns true when the event's text is `name`, or `name` with modifiers behind a colon. */
bool strobe_perf_event_is(struct strobe_cursor event, const char *name);

#endif
