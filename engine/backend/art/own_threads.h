/* The engine's two threads in a runtime: the sampler, and the watchdog that lets go of a thread that the sampler has
 * suspended and forgotten. Both are attached to the runtime as daemons and never traced. Start and end only. */
#ifndef STROBE_BACKEND_ART_OWN_THREADS_H
#define STROBE_BACKEND_ART_OWN_THREADS_H

#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"

/* Both are running and attached, or neither is: false with one phrase in `error`. */
bool strobe_art_own_threads_start(struct strobe_error *error);

/* Asks both to end and waits for them, for a few seconds at most: true when they have ended. Harmless when there are
 * none. */
bool strobe_art_own_threads_stop(void);

/* Notes what the sampler leaves for the end: with the engine quiet, after they have ended. */
void strobe_art_own_threads_finish(void);

#endif
