/* Counts of ftrace's events by kind, for lines that say what a file's reader leaves out. Allocates; not thread-safe.
 * Reading half only. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_KINDS_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_KINDS_H

#include "engine/trace/import/ftrace/ftrace_line.h"
#include "engine/util/text_pool.h"

#include <stdbool.h>
#include <stdio.h>

/* Zeroed memory has no kinds. */
struct strobe_ftrace_kinds {
    struct strobe_text_pool names;
    uint64_t *counts; /* by the number of the name */
    size_t room;
};

/* Counts one event. Returns false when memory ran out. */
bool strobe_ftrace_kinds_count(struct strobe_ftrace_kinds *kinds, struct strobe_ftrace_text name);

/* Prints `FILE: left out: a 7, b 2`: the kinds, the most frequent first. Prints nothing if there are none. */
void strobe_ftrace_kinds_print_left_out(const struct strobe_ftrace_kinds *kinds, const char *file, FILE *out);

/* One kind of a list. */
struct strobe_ftrace_kind_count {
    const char *name;
    uint64_t count;
};

/* Ends a line with the kinds and their counts, the most frequent first: ` a 7, b 2`. Of more than 20 kinds it prints
 * 20. Sorts the list. */
void strobe_ftrace_print_kind_counts(struct strobe_ftrace_kind_count *list, size_t count, FILE *out);

void strobe_ftrace_kinds_free(struct strobe_ftrace_kinds *kinds);

#endif
