/* One line of ftrace's text form (kernel Documentation/trace/ftrace.rst, "latency format" and the plain one):
 *
 *   task-tid  (tgid) [cpu] flags seconds.fraction: event: payload
 *
 * The task may hold blanks, dashes and brackets; the tgid may be dashes (not known) or absent, and so may the flags.
 * The fraction has up to nine digits. Any context. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_LINE_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_ftrace_text {
    const char *at;
    size_t bytes;
};

struct strobe_ftrace_line {
    struct strobe_ftrace_text task; /* without the blanks that pad it */
    uint32_t tid, tgid;             /* tgid 0 = not told */
    uint64_t time_ns;
    struct strobe_ftrace_text event, payload;
};

/* False: [line, end), which has no line's end, is no such line (a comment, a line of something else). */
bool strobe_ftrace_line_parse(const char *line, const char *end, struct strobe_ftrace_line *out);

/* A number of decimal digits only, at most `most`. */
bool strobe_ftrace_number(struct strobe_ftrace_text text, uint64_t most, uint64_t *out);

#endif
