/* Parses one line of ftrace's text form (kernel Documentation/trace/ftrace.rst, with and without latency fields):
 *
 *   task-tid  (tgid) [cpu] flags seconds.fraction: event: payload
 *
 * Blanks and tabs separate the fields. The task may contain blanks, dashes and brackets. The tgid may be dashes
 * (unknown) or absent. The flags may be absent. The fraction has up to nine digits. Any context. */
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
    struct strobe_ftrace_text task; /* without padding */
    uint32_t tid, tgid;             /* tgid 0 = unknown */
    uint32_t cpu;
    uint64_t time_ns;
    struct strobe_ftrace_text event, payload;
    struct strobe_ftrace_text flags; /* empty if absent */
};

/* Parses [line, end), without the line's end. Returns false if it is not an event (a comment, or another text). */
bool strobe_ftrace_line_parse(const char *line, const char *end, struct strobe_ftrace_line *out);

/* Parses a number of decimal digits only, at most `most`. */
bool strobe_ftrace_number(struct strobe_ftrace_text text, uint64_t most, uint64_t *out);

#endif
