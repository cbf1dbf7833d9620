/* Reads ftrace text of any length, piece by piece: splits it into lines, and passes each event to a visitor. The other
 * lines are counted by what they are. Accepts what trace_pipe, `trace-cmd report`, Perfetto's `traceconv systrace`,
 * atrace and systrace write; ftrace_line.h has the form of a line. It also reads the tables of processes that systrace
 * adds ("USER PID TID CMD", "USER PID PPID VSZ ... CMD").
 *
 * Memory: one line. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_TEXT_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_TEXT_H

#include "engine/trace/import/ftrace/ftrace_line.h"

/* A row of a table of processes. */
struct strobe_ftrace_process {
    uint32_t pid, parent; /* of a process; */
    uint32_t tid;         /* of a thread: not 0 */
    struct strobe_ftrace_text name;
};

struct strobe_ftrace_visitor {
    void *ctx;
    void (*event)(void *ctx, const struct strobe_ftrace_line *line);
    void (*process)(void *ctx, const struct strobe_ftrace_process *process); /* may be NULL */
};

enum strobe_ftrace_table { STROBE_FTRACE_NO_TABLE, STROBE_FTRACE_THREADS, STROBE_FTRACE_PROCESSES };

struct strobe_ftrace_reader {
    const struct strobe_ftrace_visitor *visitor;
    char *rest; /* begin of a line whose end has not come yet */
    size_t rest_bytes, rest_room;
    enum strobe_ftrace_table table;
    int failed; /* memory ran out */

    uint64_t lines, events;
    uint64_t headers;     /* comments, headers, empty lines, rows of tables */
    uint64_t others;      /* lines of no known form */
    uint64_t first_other; /* line number of the first */
    uint64_t lost_events; /* that the kernel's buffer lost, by its own report */
    uint64_t cut;         /* 1: the last line has no line end, and is left out because it may be truncated */
    uint64_t long_lines;  /* left out: longer than STROBE_FTRACE_LINE_BYTES */
    char clock[16];       /* trace_clock as a header states it; "" = not stated */
};

enum { STROBE_FTRACE_LINE_BYTES = 1 << 16 };

void strobe_ftrace_text_open(struct strobe_ftrace_reader *r, const struct strobe_ftrace_visitor *visitor);
void strobe_ftrace_text_feed(struct strobe_ftrace_reader *r, const char *text, size_t bytes);

/* Ends the text and frees the memory. The counts stay. */
void strobe_ftrace_text_close(struct strobe_ftrace_reader *r);

#endif
