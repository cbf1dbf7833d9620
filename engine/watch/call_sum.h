/* Sums up the calls of a thread by call path, over a span of any length. Each path has its time and its number of
 * calls. The startup watcher finds the method to blame with it. blame.h does this for spans within one message.
 *
 * The sum leaves out paths beyond STROBE_CALL_SUM_PATHS, with all calls in them. Not thread-safe; allocates memory.
 * Reading half only. */
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
    uint32_t left_out; /* open calls in it that have no path */
    char *text;        /* result of strobe_call_sum_stack */
    bool failed;       /* out of memory */
};

/* Frees the memory and leaves an empty sum. */
void strobe_call_sum_free(struct strobe_call_sum *s);

/* Begins a call. Equal names must have one address `text`, which stays valid as long as the sum. */
void strobe_call_sum_begin(struct strobe_call_sum *s, const char *text, uint64_t time_ns);

/* Ends the innermost open call. Has no effect when no call is open. */
void strobe_call_sum_end(struct strobe_call_sum *s, uint64_t time_ns);

/* Returns the sum up to `time_ns`, with open calls, as lines of "depth,method,count,ms". It shows the longest paths,
 * each with its callers. *blame is the innermost method that has half of its caller's time or more. Both are valid
 * until the next call of this function, and "" when there is none. */
const char *strobe_call_sum_stack(struct strobe_call_sum *s, uint64_t time_ns, const char **blame);

#endif
