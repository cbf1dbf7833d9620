/* CPU clocks of threads that interrupt them: the host's clock_keep and clock_end.
 *
 * A software task clock of the thread (perf_event_open(2), PERF_COUNT_SW_TASK_CLOCK) counts its CPU time by the
 * kernel's high-resolution timers and sends the thread a signal after each period. Measured on a kernel with a tick of
 * 250 Hz, two processors and a load of 11: 985 signals in a second of CPU time for a period of 1 ms. A POSIX timer on
 * the same clock is checked at kernel ticks only (130 to 220 in a second), and its signal may arrive inside a system
 * call: poll, epoll_wait, nanosleep and others then fail with EINTR, whatever SA_RESTART says. So there is no such
 * second way: where perf events are refused, threads are stopped from outside.
 *
 * The event counts user code only (exclude_kernel, which an ordinary user may ask for at perf_event_paranoid 2). The
 * kernel then drops a period that ends inside a system call, so that the signal arrives in the program's own code and
 * interrupts no call.
 *
 * Descriptors belong to the sampler's own table (strobe_linux_sampler_begins): the program sees none of them.
 *
 * Signals that a thread does not take, because it blocks them by a system call of its own or has taken the disposition,
 * queue up, and a full queue would turn them into SIGIO, which ends most programs. So an event has credit for a bounded
 * number of signals (PERF_EVENT_IOC_REFRESH), which clock_keep restores only as far as the thread has taken them: at
 * most STROBE_CPU_CLOCK_CREDIT are under way for a thread, and none where RLIMIT_SIGPENDING leaves too little room. */
#ifndef STROBE_BACKEND_LINUX_CPU_CLOCK_H
#define STROBE_BACKEND_LINUX_CPU_CLOCK_H

#include "engine/host/host.h"

#include <signal.h>
#include <stdbool.h>

/* The sampler may be kept from the processor for a tenth of a second before ticks of a thread that computes are
 * missing. */
enum { STROBE_CPU_CLOCK_CREDIT = 128 };

struct strobe_linux;

/* Prepares for `threads_max` threads. False when there is no memory, or no room for signals: no clock will tick. Start
 * only, after strobe_linux_take_signal. */
bool strobe_linux_clocks_begin(struct strobe_linux *l, uint32_t threads_max);

/* The host's. Sampler, in its own descriptor table. */
enum strobe_status strobe_linux_clock_keep(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken);
enum strobe_status strobe_linux_clock_ring(void *ctx, uint32_t index, uint32_t tid);
void strobe_linux_clock_end(void *ctx, uint32_t index);

/* True when a signal of our number comes from a thread's CPU clock, or from strobe_linux_clock_ring. In the handler. */
bool strobe_linux_clock_sent(const struct strobe_linux *l, const siginfo_t *info);

/* True when the signal comes from strobe_linux_clock_ring. In the handler. */
bool strobe_linux_clock_rang(const siginfo_t *info);

/* False when `info` names another descriptor than that of the clock of thread `index`: the program has asked for this
 * signal when a descriptor of its own becomes ready. In the handler, after strobe_linux_clock_sent. */
bool strobe_linux_clock_is_of(uint32_t index, const siginfo_t *info);

/* Opens the event of a thread of this process, which does not count yet: its descriptor, or -1 with errno. `tid` 0: the
 * calling thread. Any thread; engine/backend/linux/task_clock.c. */
int strobe_linux_open_task_clock(uint32_t tid, uint64_t period_ns);

/* Whether this process may have such clocks for its own threads: opens one for the calling thread and closes it. 0, or
 * the errno of the refusal. Any thread; uses a descriptor meanwhile. */
int strobe_linux_clock_refusal(void);

#endif
