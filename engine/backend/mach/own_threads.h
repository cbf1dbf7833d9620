/* The engine's two threads in an app: the sampler, of time-constraint policy, and the watchdog that lets go of a thread
 * that the sampler has suspended and forgotten. Neither is ever traced. Start and end only. */
#ifndef STROBE_BACKEND_MACH_OWN_THREADS_H
#define STROBE_BACKEND_MACH_OWN_THREADS_H

#include "engine/backend/mach/events.h"

/* Both are running, or neither is: false. The engine must be set up. */
bool strobe_mach_own_threads_start(void);

/* Asks both to end and waits for them, for a few seconds at most: true when they have ended. Harmless when there are
 * none. */
bool strobe_mach_own_threads_stop(void);

/* Notes what the sampler leaves for the end: with the engine quiet, after they have ended. */
void strobe_mach_own_threads_finish(void);

#endif
