/* Runs one execution of a program: its threads as fibers, its operations as events of a graph.
 *
 * An execution begins with a graph, empty or what an earlier one came to. The threads are run again along it, each load
 * returning what the graph says; where it ends, a chooser decides: which thread goes on, which store a load reads,
 * where a store stands. A strategy is a chooser and what it does between executions.
 *
 * One machine; not thread-safe. */
#ifndef STROBE_SIM_EXPLORE_MACHINE_H
#define STROBE_SIM_EXPLORE_MACHINE_H

#include "sim/explore/explore.h"
#include "sim/explore/graph.h"

#define EXPLORE_GIVE_UP UINT32_MAX /* instead of a choice: this execution leads nowhere */

struct explore_chooser {
    void *ctx;

    /* One of the threads in the set `runnable` (bit i), at least one; `last` ran before, or is none. */
    uint32_t (*thread)(void *ctx, uint32_t runnable, uint32_t last);

    /* The event stands last in the graph, without an edge; the place in the list of what is allowed. A load's list has
     * one entry at least; a store's may have none. explore_machine_read makes a load read one of them, to save it. */
    uint32_t (*load)(void *ctx, uint16_t event, const uint16_t *from, uint32_t count);
    uint32_t (*store)(void *ctx, uint16_t event, const uint16_t *before, uint32_t count);
    uint32_t (*choice)(void *ctx, uint16_t event, uint32_t count);

    /* A thread that spins goes on when there is a store that it has not seen; else it is left, since the execution in
     * which it reads that store at once is met on another way. */
    bool resumes;
};

enum explore_end {
    EXPLORE_ENDED,  /* all threads that are not frozen have */
    EXPLORE_STUCK,  /* some wait for what comes in another execution */
    EXPLORE_LEFT,   /* the chooser gave up, or the memory model's last axioms don't hold */
    EXPLORE_FAILED, /* see explore_machine_failure */
    EXPLORE_TOO_LARGE,
};

/* Prepares for a program. Options are those of the exploration, all set. False: no memory. */
bool explore_machine_open(const struct explore_program *program, const struct explore_options *options);
void explore_machine_close(void);

/* Freezes or interrupts a thread in all executions from now on; NULL: none. */
void explore_machine_disturb(const struct explore_at *frozen, const struct explore_at *interrupted);

/* The graph that the next execution follows, and that the present one makes. */
struct explore_graph *explore_machine_graph(void);

enum explore_end explore_machine_run(const struct explore_chooser *chooser);

/* Whether the thread that was to be frozen or interrupted got as far as that step in the last execution. */
bool explore_machine_disturbed(void);

/* Makes a load read `from`, with all that follows from what it then finds: its value, and whether an update is one. */
void explore_machine_read(uint16_t event, uint16_t from);

uint64_t explore_machine_operations(void); /* since open */

/* The failure of the last execution; its steps are allocated. False: no memory. */
bool explore_machine_failure(struct explore_failure *out);

#endif
