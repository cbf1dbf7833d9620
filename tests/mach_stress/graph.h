/* Functions with a known call graph, so that a captured stack can be checked:
 *
 *   begin -> trunk <-> branch <-> twig        down to a random depth
 *            any of these -> bottom -> compute, allocate, lock, unfair, ask, wait
 *
 * graph.c is compiled without optimisation and without a sanitizer, so a function's frame record is in place at each
 * instruction except the first two and the last. At the begin graph_learn makes each call and stores its return
 * address. A stack is a path of the graph when each of its return addresses belongs to a call of the next inner
 * function. */
#ifndef STROBE_MACH_STRESS_GRAPH_H
#define STROBE_MACH_STRESS_GRAPH_H

#include "sim/fake/mach/app.h"

#include <stdatomic.h>

enum { GRAPH_DEPTH_MAX = 56 }; /* most calls of trunk, branch and twig in one stack */

/* Shared by the threads. */
struct graph_place {
    struct fake_mach_app *app; /* all calls are made through its pointers */
    pthread_mutex_t mutex;
    os_unfair_lock unfair;
};

/* The private state of a thread that runs through the graph. */
struct graph_walker {
    struct graph_place *place;
    uint64_t random, sum;
    uint32_t runs;       /* left to do */
    uint32_t rest_us;    /* it sleeps after each run, and within some runs, for up to twice this time */
    _Atomic bool *rests; /* true while it sleeps */
    void (*begins)(struct graph_walker *w, uint64_t frame); /* frame: of the outermost function */
    void (*ends)(struct graph_walker *w);
};

/* A pthread's function: the outermost of the graph. Calls begins, then runs, then ends, which may free the walker. */
void *graph_begin(void *walker);

/* Learns the return addresses of all calls. On one thread, before others start. */
void graph_learn(struct graph_place *place);

enum graph_verdict {
    GRAPH_WHOLE,     /* complete from the graph's outermost function */
    GRAPH_PART,      /* a path without its outermost functions */
    GRAPH_ELSEWHERE, /* the innermost function is not the graph's, and may keep no frame record: the graph's frames are
                        a path that may lack its innermost functions, or is empty */
    GRAPH_IMPOSSIBLE,
};

/* Judges a stack. Frames are outermost first. All are return addresses except the innermost one, which is an
 * instruction + `innermost`. *depth: the number of frames of the graph. Any thread. */
enum graph_verdict graph_judge(const uint64_t *frames, uint32_t count, uint64_t innermost, uint32_t *depth);

/* Prints a stack, innermost first. */
void graph_print(const uint64_t *frames, uint32_t count);

#endif
