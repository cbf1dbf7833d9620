/* The engine's own threads inside a recorded program: the sampler and the clock thread. They must not keep the process
 * alive, and must not change how it ends.
 *
 * A process ends in one of two ways:
 *
 *   exit     a thread calls exit, or the last thread that the C library counts returns, and the library calls exit(0).
 *            The C library counts threads in `__nptl_nthreads`. The engine's threads are taken out of that count, so
 *            the program's last thread runs the exit handlers as in a bare run.
 *   threads  the last thread ends by SYS_exit without telling the C library. The engine's
 *            threads notice that only they are left, and end in the same way, with the same status.
 *
 * Where the C library has no such counter to reach, an engine thread that finds itself alone returns from its start
 * routine: the library then counts it down like any other thread, and calls exit(0) where the program's last thread
 * would have. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_OWN_THREADS_H
#define STROBE_BACKEND_LINUX_PRELOAD_OWN_THREADS_H

#include "engine/capture/engine.h"

#include <stdbool.h>

/* The calling thread is starting an engine thread: the hook of pthread_create calls through. */
extern _Thread_local bool strobe_own_thread_starts;

/* Starts a detached thread that runs `routine` to its end, with all signals blocked, and whose hooks call through. At
 * most two at a time. Start only. */
bool strobe_own_thread_start(void (*routine)(void));

/* True from the start of such a thread until its hooks call through. A sanitizer's runtime makes hooked calls before: a
 * thread that is not known is not to be registered meanwhile, for it may be this one. Any context. */
bool strobe_own_thread_newborn(void);

/* True while such a thread has not come to its end. Any context. */
bool strobe_own_threads_running(void);

/* Has an engine thread close the session, and end when only engine threads are left. Returns at once. Any context. */
void strobe_own_threads_ask_to_close(void);

/* Sets sampler_stop of strobe_preload.engine, and returns when the kernel knows the engine's threads no more (or after
 * 2 s). Not on an engine thread. */
void strobe_own_threads_stop(void);

/* Has the host's sleep_until and rest_until, which only the engine's threads call, look for other threads of the
 * process now and then: they set sampler_stop of strobe_preload.engine and return early once only the engine's threads
 * are left. A sleep is cut into steps of 20 ms for that; a look takes about 2 us, every 4 ms at most. Start only. */
void strobe_own_threads_watch(struct strobe_host *host);

/* The calling thread of the program is about to end by SYS_exit with this status. Newer kernels (since 5.16) give the
 * process the status of the thread that ends last, older ones that of the leader: an engine thread that is left
 * repeats the one that was noted last. Any context. */
void strobe_own_threads_note_exit(uint32_t status);

/* Forgets the parent's threads. In the child of a fork. */
void strobe_own_threads_forget(void);

#endif
