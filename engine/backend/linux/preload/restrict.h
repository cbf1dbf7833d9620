/* Threads under seccomp: from the moment that a thread restricts its system calls, the engine makes none on it.
 *
 * The engine does not know which calls a filter permits, and a call that it forbids may end the thread or the process.
 * So a thread that enters strict mode or installs a filter is recorded no longer: its entry in the session gets the
 * state STROBE_THREAD_RESTRICTED, no stop signal is sent to it, and hooks on it only call through. Threads that it
 * starts and processes that it forks inherit the filter, and are not recorded either. A filter for all threads
 * (SECCOMP_FILTER_FLAG_TSYNC) would hold for the sampler, too: the session is closed and the engine's threads end
 * before it is installed.
 *
 * Nor are ticks of its CPU clock recorded: the handler reads the CPU time by a system call (the vDSO does not have it),
 * and reads stacks of unknown bounds by process_vm_readv. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_RESTRICT_H
#define STROBE_BACKEND_LINUX_PRELOAD_RESTRICT_H

#include <stdbool.h>

/* The calling thread may make no system call but the program's own. */
extern _Thread_local bool strobe_restricted;

/* prctl(2) and seccomp(2), with the arguments as passed, where they restrict: true when the call is one of those. The
 * call is then to be made between `begin` and `end`, which takes its result. Any thread. */
bool strobe_restrict_by_prctl(int option, unsigned long mode);
bool strobe_restrict_by_seccomp(unsigned long operation);
void strobe_restrict_begin(bool all_threads);
void strobe_restrict_end(bool all_threads, bool done);

/* A thread or process that a restricted thread started begins its life. */
void strobe_restrict_inherit(void);

/* Has an engine thread close the session, and waits for it without a system call, some tenths of a second at most. At
 * the end of a process, by a restricted thread. */
void strobe_restrict_close(void);

#endif
