/* Writes a scenario from the trees of a capture.
 *
 *   threads     a declaration for each group; a finite life is a loop with as many rounds as the threads had
 *   methods     one for each path of calls, shown under its function's name: `method NAME as FUNCTION`
 *   loops       what a thread's outermost methods repeat. A round begins after the most frequent wait there, or with
 *               the most frequent call
 *   messages    a queue, with a vsync when a message's begins lie on a grid; other messages are posted where the waker
 *               of the poll was, or else by the previous message of their kind, after a delay
 *   locks       a block around the part of the method between its wait for the lock and its release
 *   waits       with the wakers' operations where the capture names wakers; else as timeouts
 *   alternatives, counts, durations    weights of `choose`, counts of `repeat` and distributions (fit.h)
 *
 * When the parts of a round or a message are not independent of one another, its executions are divided into parts of
 * similar duration, with a choice among them. */
#ifndef STROBE_SIM_LEARN_WRITE_H
#define STROBE_SIM_LEARN_WRITE_H

#include "sim/app/text.h"
#include "sim/learn/calls/calls.h"

struct learn_tuning {
    int64_t shift_ns[STROBE_KIND_COUNT]; /* is subtracted from durations of waits of the kind: the machine's lateness */
    bool *timed;                         /* by object: its waits are written without wakers */
    /* By kind of lock. A method whose release nobody waited for holds the lock only when it lasted at most so long:
     * where samples are rare, a capture shows some short methods as long. */
    uint64_t held_ns[STROBE_KIND_COUNT];
};

/* What the language, or the learner, leaves out. */
struct learn_losses {
    uint64_t methods, method_ns;           /* too short to be methods of their own: part of their callers */
    uint64_t as_others[STROBE_KIND_COUNT]; /* waits that are written as those of another kind */
    uint64_t unseen, unseen_ns;            /* unseen time counts as computing */
    uint64_t idle_ns;                      /* off the processor for an unknown cause: left out */
    uint64_t runnable_ns;                  /* waiting for a processor: not learnt */
    uint64_t left_out_ns;                  /* parts of methods that are shorter in all than plan.least_ns */
    uint64_t odd_messages;                 /* posts without a poster */
};

struct learn_plan {
    const char *name, *about;
    uint32_t cores;
    const struct learn_tuning *tuning;
    uint32_t parts_most, singles_most; /* of a round or message: parts by duration, executions written one by one */
    uint64_t least_ns;                 /* parts of methods with less time in all are left out; 0: none */
    uint32_t list_most;                /* values in a list */
    struct learn_losses losses;        /* filled in */
};

/* Returns the scenario's text (malloc), or NULL: out of memory. */
char *sim_learn_write_scenario(const struct learn_app *a, struct learn_plan *plan);

#endif
