/* Runs one execution of a program: its threads are fibers, its operations events of a graph.
 *
 * An execution begins with a graph, which is empty or the result of an earlier execution. The threads run along it, and
 * each load returns the value in the graph. Beyond the graph, a chooser decides: which thread runs, which store a load
 * reads, where a store is placed. A strategy consists of a chooser and of what it does between executions.
 *
 * One machine; not thread-safe. */
#ifndef STROBE_SIM_EXPLORE_MACHINE_H
#define STROBE_SIM_EXPLORE_MACHINE_H

#include "sim/explore/explore.h"
#include "sim/explore/graph.h"

#define EXPLORE_GIVE_UP UINT32_MAX /* in place of a choice: abandon this execution */

struct explore_chooser {
    void *ctx;

    /* Returns one of the threads in the set `runnable` (bit i), which is not empty. `last` ran before, or is none. */
    uint32_t (*thread)(void *ctx, uint32_t runnable, uint32_t last);

    /* The event is the last one in the graph and has no edge. Each function returns an index into the list of what is
     * allowed. A load's list has at least one entry; a store's list may be empty. explore_machine_read makes a load
     * read one of them before a graph is saved. */
    uint32_t (*load)(void *ctx, uint16_t event, const uint16_t *from, uint32_t count);
    uint32_t (*store)(void *ctx, uint16_t event, const uint16_t *before, uint32_t count);
    uint32_t (*choice)(void *ctx, uint16_t event, uint32_t count);

    /* A spinning thread continues when there is a store that it has not read. Otherwise it is abandoned: another
     * execution lets it read that store at once. */
    bool resumes;
};

enum explore_end {
    EXPLORE_ENDED,  /* all threads that are not frozen have ended */
    EXPLORE_STUCK,  /* some threads wait for a store of another execution */
    EXPLORE_LEFT,   /* the chooser gave up, or the memory model's final axioms do not hold */
    EXPLORE_FAILED, /* see explore_machine_failure */
    EXPLORE_TOO_LARGE,
};

/* Prepares for a program. All options must be set. Returns false when memory runs out. */
bool explore_machine_open(const struct explore_program *program, const struct explore_options *options);
void explore_machine_close(void);

/* Freezes or interrupts a thread in all executions from now on; NULL: none. */
void explore_machine_disturb(const struct explore_at *frozen, const struct explore_at *interrupted);

/* Returns the graph that the next execution follows, and that the current one builds. */
struct explore_graph *explore_machine_graph(void);

enum explore_end explore_machine_run(const struct explore_chooser *chooser);

/* Returns true when the thread to be frozen or interrupted reached that step in the last execution. */
bool explore_machine_disturbed(void);

/* Makes a load read `from`, and updates its value and whether an update stores. */
void explore_machine_read(uint16_t event, uint16_t from);

uint64_t explore_machine_operations(void); /* since open */

/* Returns the failure of the last execution; its steps are allocated. Returns false when memory runs out. */
bool explore_machine_failure(struct explore_failure *out);

#endif
