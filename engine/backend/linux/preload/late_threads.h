/* Threads that exist when a capture starts in the middle of a program's life (strobe_start).
 *
 * Such a thread registers at its first hook. A thread that computes calls no hook: it is asked to register by a signal.
 * Only a thread that runs is asked, one whose CPU clock has moved between two looks: a signal to a thread that sleeps
 * could end its system call with EINTR. A thread leaves the list when it is registered or has ended. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_LATE_THREADS_H
#define STROBE_BACKEND_LINUX_PRELOAD_LATE_THREADS_H

/* Lists the threads of the process, except the caller. At most STROBE_LATE_THREADS_MAX; others register at a hook.
 * Start only. */
enum { STROBE_LATE_THREADS_MAX = 4096 };
void strobe_late_threads_list(void);

/* Asks the threads on the list that run. Sampler, between passes. */
void strobe_late_threads_ask(void);

#endif
