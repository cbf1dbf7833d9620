/* Threads that already exist when strobe_start begins a capture.
 *
 * Such a thread registers at its first hook. A thread that computes calls no hook, so the sampler sends it a signal
 * whose handler registers it. Only a running thread gets the signal, because a signal could end the system call of a
 * sleeping thread with EINTR. A thread is running when its CPU clock has advanced between two polls. In a program that
 * `strobe attach` has entered, the thread must also have used 10 ms of CPU time without a hook. The sampler
 * removes a thread from the list when the thread is registered or has ended. */
#ifndef STROBE_BACKEND_LINUX_PRELOAD_LATE_THREADS_H
#define STROBE_BACKEND_LINUX_PRELOAD_LATE_THREADS_H

/* Lists the threads of the process, except the caller. The list holds at most STROBE_LATE_THREADS_MAX threads; further
 * threads register only at their first hook. Start only. */
enum { STROBE_LATE_THREADS_MAX = 4096 };
void strobe_late_threads_list(void);

/* Polls the listed threads, and sends the signal to those that run. Sampler, between passes. */
void strobe_late_threads_ask(void);

#endif
