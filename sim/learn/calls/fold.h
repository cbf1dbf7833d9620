/* Makes the trees of calls smaller, for a scenario of a limited length: methods in which little time passes become part
 * of their callers.
 *
 * A context is a method under one path of callers, in one group of threads. Its own time is the time of its calls
 * without that of the methods they call; waits count. A folded context's own time counts as its caller's.
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_LEARN_CALLS_FOLD_H
#define STROBE_SIM_LEARN_CALLS_FOLD_H

#include "sim/learn/calls/calls.h"

struct learn_folded {
    uint64_t contexts, kept;
    uint64_t ns;      /* own time of the folded contexts */
    uint64_t lock_ns; /* waits for locks that are left out */
};

/* Makes waits for messages parts of the method that takes the messages: methods around a poll that call nothing else
 * are folded, as MessageQueue.next and its native method. Call it before the loops are looked for. False: out of
 * memory. */
bool sim_learn_hoist_polls(struct learn_app *a);

/* Folds each context with less own time than `least_ns`. Outermost methods, methods that take messages, and the
 * messages' methods stay, and contexts that wait for locks for 1 % of the threads' time. Other waits for locks are left
 * out: where few are seen, it is not known for how long the locks are held. Call it between sim_learn_app_open and
 * sim_learn_app_mark. False: out of memory. */
bool sim_learn_fold(struct learn_app *a, uint64_t least_ns, struct learn_folded *out);

#endif
