/* Sums up the callers and callees of one function, which a profile does not contain. The input is the slices of one
 * thread after the other.
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_REPORT_BREAKDOWN_H
#define STROBE_TRACE_REPORT_BREAKDOWN_H

#include "engine/base/status.h"
#include "engine/trace/model/sink.h"

#include <stddef.h>
#include <stdint.h>

/* Time in one caller or callee of the function. For a caller: slices of the function in that caller. For a callee:
 * slices of the callee directly in the function. Recursion is counted once, by its outermost slice. */
struct strobe_relation {
    uint64_t ns, cpu_ns, slices;
};

struct strobe_breakdown {
    struct strobe_relation *callers; /* by name + 1; 0: no caller, the function was outermost */
    struct strobe_relation *callees; /* by name */
    size_t caller_room, callee_room;
    struct strobe_relation function; /* the function itself */

    const char *of; /* name of the function; NULL = none */
    struct strobe_function_tree *tree;
    unsigned char *matches; /* by name: 0 not yet compared, 1 the function, 2 another function */
    size_t match_room;
    struct strobe_breakdown_slice *open;
    size_t depth, room;
    int failed;
};

/* Prepares a breakdown of the function `of`, as reports show its name, with or without its parameters. NULL: no
 * function; nothing is summed up. `of` and the tree must outlive the breakdown. */
void strobe_breakdown_open(struct strobe_breakdown *b, struct strobe_function_tree *tree, const char *of);
void strobe_breakdown_close(struct strobe_breakdown *b);

/* Adds the begin or the end of a slice, as in struct strobe_sink. */
void strobe_breakdown_begin(struct strobe_breakdown *b, const struct strobe_slice *slice);
void strobe_breakdown_end(struct strobe_breakdown *b, const struct strobe_moment *now);

/* Adds CPU time of a node, as in struct strobe_sink. The slice of the node need not be open. */
void strobe_breakdown_cpu(struct strobe_breakdown *b, const struct strobe_cpu_share *share);

/* STROBE_IO: an earlier call ran out of memory. */
enum strobe_status strobe_breakdown_status(const struct strobe_breakdown *b);

#endif
