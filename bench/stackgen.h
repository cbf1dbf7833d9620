/* A stream of call stacks like samples of a real program. It is the same on each machine: it uses integers only, and
 * one seed determines it.
 *
 * The generator first builds a call tree: chains of depth 30 to 60, skewed fan-out (a few hot children), and addresses
 * from a limited set of call sites, so that one address has many parents. Samples are a random walk on the tree: from
 * the current leaf up a few frames, and down again along hot children. A share of the samples repeats the previous
 * sample (`repeat`). Another share ends in a new pair of frames (`fresh`).
 *
 * The stream begins with a warm-up: each stack at which the walk can end, once. A table that contains the warm-up
 * contains exactly the share 1 - fresh of the following samples. */
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

/* Makes a generator. Aborts when memory runs out, as all benches do. */
struct stackgen *stackgen_new(const struct stackgen_options *options);
void stackgen_free(struct stackgen *g);

/* Returns the next stack in *out; false at the end of the stream. */
bool stackgen_next(struct stackgen *g, struct stackgen_stack *out);

/* A whole stream in memory: stack i is frames[start[i]] .. frames[start[i + 1]], the warm-up first. */
struct stackgen_stream {
    uint64_t *frames;
    size_t *start; /* count + 1 entries */
    uint32_t count;
    uint32_t warm_count;
    double mean_depth;  /* this and the next three: without the warm-up */
    double mean_shared; /* frames shared with the previous stack */
    double repeats;     /* share of stacks equal to the previous one */
    double fresh;       /* share of stacks that end in new frames */
};

void stackgen_collect(const struct stackgen_options *options, struct stackgen_stream *out);
void stackgen_release(struct stackgen_stream *stream);

#endif
