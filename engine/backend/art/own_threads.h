/* The engine's two threads in a runtime: the sampler, and the watchdog. The watchdog resumes a thread that the sampler
 * has suspended and does not resume. Both are attached to the runtime as daemons and never traced. Start and end only.
 */
#ifndef STROBE_BACKEND_ART_OWN_THREADS_H
#define STROBE_BACKEND_ART_OWN_THREADS_H

#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

/* Starts both threads. Returns true when both run and are attached. Else neither runs, and `error` has one phrase. */
bool strobe_art_own_threads_start(struct strobe_error *error);

/* Asks both threads to end and waits for them, for a few seconds at most. Returns true when they have ended. The
 * function does nothing when there are none. */
bool strobe_art_own_threads_stop(void);

/* Stores what the sampler leaves for the end. The threads have ended, and the engine is quiet. */
void strobe_art_own_threads_finish(void);

#endif
