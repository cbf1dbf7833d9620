/* Counts samples per line of source: the line at which the innermost function of a sample's stack was.
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_REPORT_SOURCE_LINES_H
#define STROBE_TRACE_REPORT_SOURCE_LINES_H

#include "engine/base/status.h"
#include "engine/trace/model/function_tree.h"
#include "engine/trace/model/sink.h"
#include "engine/util/idmap.h"
#include "engine/util/text_pool.h"

struct strobe_source_line {
    uint32_t name; /* of the function tree: the function */
    const char *file;
    uint32_t line;
    uint64_t samples;
};

struct strobe_source_lines {
    struct strobe_source_line *lines;
    size_t count, room;
    uint64_t samples, unknown;    /* all samples; samples in functions without debug information */
    struct strobe_idmap by_place; /* (name, line << 32 | file) -> lines */
    struct strobe_text_pool files;
    int failed;
};

/* Adds samples of one stack. `symbols` must give lines (no STROBE_SYMBOLS_NO_LINES), and must be the resolver of
 * `tree`. A zeroed struct is empty. */
void strobe_source_lines_add(struct strobe_source_lines *lines, struct strobe_function_tree *tree,
                             const struct strobe_stack_table *table, struct strobe_symbols *symbols,
                             const struct strobe_samples *samples);

void strobe_source_lines_free(struct strobe_source_lines *lines);

#endif
