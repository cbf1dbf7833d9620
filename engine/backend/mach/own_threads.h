/* The engine's two threads in an app: the sampler, with time-constraint policy, and the watchdog, which resumes a
 * thread that the sampler has left suspended for too long. Neither is ever traced. Start and end only. */
#ifndef STROBE_BACKEND_MACH_OWN_THREADS_H
#define STROBE_BACKEND_MACH_OWN_THREADS_H

#include "engine/backend/mach/events.h"

/* Starts both threads. Returns false when one does not start; it then ends the other one. The engine must be
 * initialized. */
bool strobe_mach_own_threads_start(void);

/* Requests both threads to end, and waits for each for at most 5 seconds. Returns true when both have ended, or when
 * none was started. */
bool strobe_mach_own_threads_stop(void);

/* Writes the sampler's last records. With the engine quiet, after both threads have ended. */
void strobe_mach_own_threads_finish(void);

#endif
