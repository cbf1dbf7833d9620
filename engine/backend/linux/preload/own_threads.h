/* The engine's own threads inside a recorded program: the sampler and the clock thread. They must not keep the process
 * alive, and must not change how it ends.
 *
 * A process ends in one of two ways:
 *
 *   exit     a thread calls exit, or the last thread that the C library counts returns, and the library calls exit(0).
 *            The C library counts threads in `__nptl_nthreads`. The engine's threads are subtracted from that count,
 *            so the program's last thread runs the exit handlers as in a run without Strobe.
 *   threads  the last thread ends by SYS_exit, of which the C library does not know. The engine's threads detect that
 *            only they are left, and end by SYS_exit, too, with the same status.
 *
 * Where the C library does not export the counter, an engine thread that is alone returns from its start routine. The
 * library then counts it down like any other thread, and calls exit(0) as it would have done for the program's last
 * thread. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_OWN_THREADS_H
#define STROBE_BACKEND_LINUX_PRELOAD_OWN_THREADS_H

#include "engine/capture/engine.h"

#include <stdbool.h>

/* True while the calling thread starts an engine thread. The hook of pthread_create then only calls through. */
extern _Thread_local bool strobe_own_thread_starts;

/* Starts a detached thread that runs `routine`, with all signals blocked. Hooks on it only call through. Returns false
 * on failure. At most two such threads at a time. Start only. */
bool strobe_own_thread_start(void (*routine)(void));

/* The same for a thread that outlives the capture. strobe_own_threads_running and strobe_own_threads_stop do not
 * include it. It must end by itself when strobe_own_threads_alone returns true. */
bool strobe_own_thread_start_lasting(void (*routine)(void));

/* The same for a thread of the C library that runs `run`, which calls begin_lasting first and end_lasting last, and
 * then returns to the C library. For an attached library. */
bool strobe_own_thread_start_helper(void *(*run)(void *));
void strobe_own_thread_begin_lasting(void);
void strobe_own_thread_end_lasting(void);

/* Gives the threads that are started from now on their stacks: one after another, `bytes` each, from `memory`. They are
 * counted by the C library, whose bookkeeping of a thread ends only when the thread returns to it. Start only. */
void strobe_own_threads_use_stacks(void *memory, size_t bytes);

/* Returns true when only threads of the engine are left in the process. Engine threads. */
bool strobe_own_threads_alone(void);

/* Returns true from the start of an engine thread until its hooks only call through. A sanitizer's runtime makes hooked
 * calls before that. Hooks therefore must not register an unknown thread while this is true: it may be the engine's.
 * Any context. */
bool strobe_own_thread_newborn(void);

/* Returns true while an engine thread of the capture has not ended. Any context. */
bool strobe_own_threads_running(void);

/* Asks an engine thread to close the session, and to end when only engine threads are left. Returns at once. Any
 * context. */
void strobe_own_threads_ask_to_close(void);

/* Sets sampler_stop of strobe_preload.engine, and returns when the kernel has no engine thread of the capture any more,
 * or after 2 s. Returns true when all have ended. The threads return to the C library, which releases their stacks. Not
 * on an engine thread of the capture. */
bool strobe_own_threads_stop(void);

/* Returns true when the thread is an engine thread that outlives captures. Any context. */
bool strobe_own_threads_outlive(uint32_t tid);

/* Replaces the host's sleep_until and rest_until, which only the engine's threads call. The replacements check for
 * other threads of the process. When only the engine's threads are left, they set sampler_stop of strobe_preload.engine
 * and return early. A sleep is cut into steps of 20 ms for that. A check takes about 2 us, and there is at most one in
 * 4 ms. Start only. */
void strobe_own_threads_watch(struct strobe_host *host);

/* Records that the calling thread of the program is about to end by SYS_exit with this status. Newer kernels (since
 * 5.16) give the process the status of the thread that ends last, older ones that of the leader. An engine thread that
 * ends last repeats the status that was recorded last. Any context. */
void strobe_own_threads_note_exit(uint32_t status);

/* Discards the parent's threads. In the child of a fork. */
void strobe_own_threads_forget(void);

#endif
