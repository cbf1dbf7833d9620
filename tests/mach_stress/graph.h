/* Functions that call each other in known ways, so that a captured stack can be checked to be possible:
 *
 *   begin -> trunk <-> branch <-> twig        down to a depth that is drawn
 *            any of these -> bottom -> compute, allocate, lock, unfair, ask, wait
 *
 * graph.c is compiled without optimisation and without a sanitizer: a frame record is in place at every instruction of
 * it but the first two and the last. At first all calls are made, and where each returns to is learnt: a stack is a
 * path of the graph when each of its return addresses is one to which the function further in returns. */
#ifndef STROBE_MACH_STRESS_GRAPH_H
#define STROBE_MACH_STRESS_GRAPH_H

#include "sim/fake/mach/app.h"

#include <stdatomic.h>

enum { GRAPH_DEPTH_MAX = 56 }; /* most calls of trunk, branch and twig in one stack */

/* What the threads share. */
struct graph_place {
    struct fake_mach_app *app; /* through whose pointers all calls are made */
    pthread_mutex_t mutex;
    os_unfair_lock unfair;
};

/* A thread that runs through the graph. Its own. */
struct graph_walker {
    struct graph_place *place;
    uint64_t random, sum;
    uint32_t runs;       /* left to do */
    uint32_t rest_us;    /* it sleeps after each, and within some, for up to twice that */
    _Atomic bool *rests; /* true while it does */
    void (*begins)(struct graph_walker *w, uint64_t frame); /* of the thread's outermost function */
    void (*ends)(struct graph_walker *w);
};

/* A pthread's function: the outermost of the graph. Calls begins, then runs, then ends, which may free the walker. */
void *graph_begin(void *walker);

/* Learns where calls return to. On one thread, before there are others. */
void graph_learn(struct graph_place *place);

enum graph_verdict {
    GRAPH_WHOLE,     /* from the outermost function of the graph on */
    GRAPH_PART,      /* a path, but its outermost functions are missing */
    GRAPH_ELSEWHERE, /* innermost is code of others, which may keep no frame records: what is there of
                        the graph is a path, but may lack its innermost functions, or all */
    GRAPH_IMPOSSIBLE,
};

/* Of frames outermost first, all return addresses but the innermost, which is an instruction + `innermost`. *depth: how
 * many of the graph. Any thread. */
enum graph_verdict graph_judge(const uint64_t *frames, uint32_t count, uint64_t innermost, uint32_t *depth);

/* Prints a stack, innermost first. */
void graph_print(const uint64_t *frames, uint32_t count);

#endif
