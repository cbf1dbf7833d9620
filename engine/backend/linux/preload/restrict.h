/* Threads under seccomp. From the time at which a thread restricts its system calls, the engine makes no system call on
 * that thread.
 *
 * The engine does not know which calls a filter permits, and a forbidden call may end the thread or the process. So a
 * thread that enters strict mode or installs a filter is no longer recorded. Its entry in the session gets the state
 * STROBE_THREAD_RESTRICTED, the sampler sends it no stop signal, and hooks on it only call through. Threads that it
 * starts and processes that it forks inherit the filter, and are not recorded either. A filter for all threads
 * (SECCOMP_FILTER_FLAG_TSYNC) would apply to the sampler, too. Before such a filter is installed, the session is closed
 * and the engine's threads end.
 *
 * Ticks of the thread's CPU clock are not recorded either: the handler reads the CPU time by a system call (the vDSO
 * does not provide it), and reads stacks of unknown bounds by process_vm_readv. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_RESTRICT_H
#define STROBE_BACKEND_LINUX_PRELOAD_RESTRICT_H

#include <stdbool.h>

/* True when the engine must make no system call on the calling thread. */
extern _Thread_local bool strobe_restricted;

/* strobe_restrict_by_prctl and strobe_restrict_by_seccomp take the arguments of prctl(2) and seccomp(2), and return
 * true when such a call restricts system calls. The hook then makes the call between strobe_restrict_begin and
 * strobe_restrict_end. `done` is true when the call succeeded. After a failed call for one thread, the thread is
 * registered again as a new one. After a failed call for all threads, the session stays closed. Any thread. */
bool strobe_restrict_by_prctl(int option, unsigned long mode);
bool strobe_restrict_by_seccomp(unsigned long operation);
void strobe_restrict_begin(bool all_threads);
void strobe_restrict_end(bool all_threads, bool done);

/* Marks the calling thread as restricted. At the begin of a thread or process that a restricted thread started. */
void strobe_restrict_inherit(void);

/* Asks an engine thread to close the session, and waits for that without a system call, for at most some tenths of a
 * second. At the end of a process, by a restricted thread. */
void strobe_restrict_close(void);

#endif
