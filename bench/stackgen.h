/* A stream of call stacks shaped like samples of a real program, the same on every machine: integers only, one
 * seed decides it.
 *
 * A call tree is grown first: chains that reach depth 30 to 60, skewed fan-out (a few hot children), addresses from
 * a limited set of call sites so that one address stands under many parents. Samples are a random walk on it:
 * from the current leaf up a few frames, and down again along hot children. A share of them repeats the sample before
 * (`repeat`), another ends in a pair of frames never seen before (`fresh`).
 *
 * The stream opens with a warm-up: every stack the walk can end in, once. A table that has taken it in knows exactly
 * the share 1 - fresh of what follows. */
#ifndef STROBE_BENCH_STACKGEN_H
#define STROBE_BENCH_STACKGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STACKGEN_DEPTH_MAX = 64 };

/* Shares are in 1/1000. Zero in a count means the default. */
struct stackgen_options {
    uint32_t samples;    /* after the warm-up; default 200 000 */
    uint32_t tree_nodes; /* default 50 000 */
    uint32_t sites;      /* distinct addresses in the tree; default 8 000 */
    uint32_t fresh_permille;
    uint32_t repeat_permille;
    uint64_t seed;
};

struct stackgen_stack {
    const uint64_t *frames; /* outermost first; valid until the next call */
    uint32_t depth;
    bool warm_up;
};

struct stackgen;

/* Never NULL: aborts when memory runs out, as all benches do. */
struct stackgen *stackgen_new(const struct stackgen_options *options);
void stackgen_free(struct stackgen *g);

/* The next stack; false at the end of the stream. */
bool stackgen_next(struct stackgen *g, struct stackgen_stack *out);

/* A whole stream in memory: stack i is frames[start[i]] .. frames[start[i + 1]], the warm-up first. */
struct stackgen_stream {
    uint64_t *frames;
    size_t *start; /* count + 1 entries */
    uint32_t count;
    uint32_t warm_count;
    double mean_depth;  /* of the part after the warm-up, as the next three */
    double mean_shared; /* frames shared with the stack before */
    double repeats;     /* share equal to the stack before */
    double fresh;       /* share that ends in frames never seen before */
};

void stackgen_collect(const struct stackgen_options *options, struct stackgen_stream *out);
void stackgen_release(struct stackgen_stream *stream);

#endif
