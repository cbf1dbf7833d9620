/* Calls of a thread summed up by path, for spans of any length and any number of calls: each path once, with the time
 * in it and how often it was called. What startup and such blame; spans within one message have blame.h.
 *
 * Paths beyond STROBE_CALL_SUM_PATHS are left out, with all they call. Not thread-safe; allocates. Reading half
 * only. */
#ifndef STROBE_WATCH_CALL_SUM_H
#define STROBE_WATCH_CALL_SUM_H

#include "engine/watch/watch.h"

enum { STROBE_CALL_SUM_PATHS = 65536, STROBE_CALL_SUM_LINES = 30 };

struct strobe_call_path;

/* Zeroed memory is an empty sum. */
struct strobe_call_sum {
    struct strobe_call_path *paths; /* [0] is the root */
    uint32_t count, room;
    uint32_t at;       /* path of the innermost open call */
    uint32_t left_out; /* open calls without a path, within it */
    char *text;        /* of strobe_call_sum_stack */
    bool failed;       /* out of memory */
};

void strobe_call_sum_free(struct strobe_call_sum *s);

/* `text` has one address for each content, and lasts as long as the sum. */
void strobe_call_sum_begin(struct strobe_call_sum *s, const char *text, uint64_t time_ns);

/* The innermost call that the sum was told of ends; none, nothing. */
void strobe_call_sum_end(struct strobe_call_sum *s, uint64_t time_ns);

/* What was summed up to now, open calls included: lines of "depth,method,count,ms", the longest paths and never one
 * without its callers; and the method to blame: the innermost one that has half of its caller's time or more. Both good
 * until the next call of it; "" = nothing there. */
const char *strobe_call_sum_stack(struct strobe_call_sum *s, uint64_t time_ns, const char **blame);

#endif
