/* What a profile does not keep: callers and callees of one function. Fed with the slices of one thread after the other.
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_REPORT_BREAKDOWN_H
#define STROBE_TRACE_REPORT_BREAKDOWN_H

#include "engine/base/status.h"
#include "engine/trace/model/sink.h"

#include <stddef.h>
#include <stdint.h>

/* Time in one caller or callee of the function: of slices of the function in that caller, or of the callee's slices
 * directly in the function. Recursion is counted once, as the outermost. */
struct strobe_relation {
    uint64_t ns, cpu_ns, slices;
};

struct strobe_breakdown {
    struct strobe_relation *callers; /* by name + 1; 0 stands for none: an outermost function has no caller */
    struct strobe_relation *callees; /* by name */
    size_t caller_room, callee_room;
    struct strobe_relation function; /* of which these are */

    const char *of; /* its name; NULL = none is asked for */
    struct strobe_function_tree *tree;
    unsigned char *matches; /* by name: 0 not looked at, 1 is the function, 2 is not */
    size_t match_room;
    struct strobe_breakdown_slice *open;
    size_t depth, room;
    int failed;
};

/* Begins. `of` names a function as it is shown, with or without its parameters; NULL: none, and nothing is added up. It
 * must outlive the breakdown, as must the tree. */
void strobe_breakdown_open(struct strobe_breakdown *b, struct strobe_function_tree *tree, const char *of);
void strobe_breakdown_close(struct strobe_breakdown *b);

/* A slice begins, or ends, as in struct strobe_sink. */
void strobe_breakdown_begin(struct strobe_breakdown *b, const struct strobe_slice *slice);
void strobe_breakdown_end(struct strobe_breakdown *b, const struct strobe_moment *now);

/* CPU time that belongs to a node, as in struct strobe_sink. `node` need not be open. */
void strobe_breakdown_cpu(struct strobe_breakdown *b, const struct strobe_cpu_share *share);

/* STROBE_IO: memory ran out on the way. */
enum strobe_status strobe_breakdown_status(const struct strobe_breakdown *b);

#endif
