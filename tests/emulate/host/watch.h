/* Actions of tests on a run, and their observations. */
#ifndef STROBE_EMULATE_HOST_WATCH_H
#define STROBE_EMULATE_HOST_WATCH_H

#include "tests/emulate/host/kernel.h"

/* Samples the thread that names itself "exact" at each of its instructions: the thread runs one instruction each
 * time another thread has read its registers. A shadow stack, updated at its calls and returns, is the true stack. */
void watch_exactly(struct kernel *k);

/* After an exact run, compares the samples of the session with the true stacks. Prints the number of samples and the
 * first wrong ones. Returns false when one is wrong. */
bool watch_compare(const char *session_path);

/* Loses the sampler: the thread that has stopped another one never runs again after `instructions` more
 * instructions. */
void watch_kill(struct kernel *k, uint64_t instructions);

/* Returns true when this has happened. Stores for how long the stopped thread then stayed suspended, in ns; NEVER:
 * it still is. */
bool watch_killed(uint64_t *stood_ns);

/* Returns the number of the sampler's instructions in its first stop of a thread, up to the system's resume. After
 * watch_kill. */
uint64_t watch_first_stop(void);

#endif
