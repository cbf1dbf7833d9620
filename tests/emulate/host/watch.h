/* What tests do to a run, and what they look at. */
#ifndef STROBE_EMULATE_HOST_WATCH_H
#define STROBE_EMULATE_HOST_WATCH_H

#include "tests/emulate/host/kernel.h"

/* A sample at every instruction of the thread that names itself "exact": it goes on by one instruction whenever
 * somebody has read its registers. A shadow stack, kept from its calls and returns, says what its stack is then. */
void watch_exactly(struct kernel *k);

/* Of an exact run, after it: compares the samples of the session with what the stacks were. Prints how many there were,
 * and the first that differ; false when any does. */
bool watch_compare(const char *session_path);

/* The thread that has stopped another one is never run again after it has done `instructions` meanwhile. */
void watch_kill(struct kernel *k, uint64_t instructions);

/* Whether that came true; and how long the thread that it had stopped then stood, in ns, NEVER: it stands yet. */
bool watch_killed(uint64_t *stood_ns);

/* How many instructions the sampler does in its first stop of a thread, up to the system's resume. After watch_kill. */
uint64_t watch_first_stop(void);

#endif
