/* CPU clocks that interrupt their threads: the host's clock_keep, clock_ring and clock_end.
 *
 * The clock of a thread is a software task clock (perf_event_open(2), PERF_COUNT_SW_TASK_CLOCK). It counts the thread's
 * CPU time by the kernel's high-resolution timers and sends the thread a signal after each period. Measured on a kernel
 * with a tick of 250 Hz, two processors and a load of 11: 985 signals in a second of CPU time for a period of 1 ms.
 *
 * A POSIX timer on the same clock is no alternative. The kernel checks it at kernel ticks only (130 to 220 in a
 * second). Its signal may arrive inside a system call, and poll, epoll_wait, nanosleep and others then fail with EINTR
 * even with SA_RESTART. Where perf events are refused, the sampler stops threads from outside instead.
 *
 * The event counts user code only (exclude_kernel, which an ordinary user may request at perf_event_paranoid 2). The
 * kernel then drops a period that ends inside a system call. The signal therefore arrives in the program's own code and
 * interrupts no call.
 *
 * Descriptors belong to the sampler's own table (strobe_linux_sampler_begins), so the program sees none of them.
 *
 * Signals queue up when a thread does not take them: when it blocks them by a system call of its own, or has changed
 * the disposition. The kernel sends SIGIO when the queue is full, which ends most programs. So an event has credit for
 * a bounded number of signals (PERF_EVENT_IOC_REFRESH). clock_keep renews the credit only by the number of signals that
 * the thread has taken. At most STROBE_CPU_CLOCK_CREDIT signals of the clock, and one of clock_ring, are pending for a
 * thread. There is no clock when RLIMIT_SIGPENDING is too small. */
#ifndef STROBE_BACKEND_LINUX_CPU_CLOCK_H
#define STROBE_BACKEND_LINUX_CPU_CLOCK_H

#include "engine/host/host.h"

#include <signal.h>
#include <stdbool.h>

/* Signals that may be pending for one thread. The sampler renews the credit when half of it is used. It may therefore
 * be late by about 64 periods before a thread that computes loses ticks. */
enum { STROBE_CPU_CLOCK_CREDIT = 128 };

struct strobe_linux;

/* Prepares for `threads_max` threads. Returns false when there is no memory, no stop signal, or a too small limit of
 * pending signals; no clock ticks then. Start only, after strobe_linux_take_signal. */
bool strobe_linux_clocks_begin(struct strobe_linux *l, uint32_t threads_max);

/* Unmaps what strobe_linux_clocks_begin has mapped. When the sampler has ended, and no signal of a clock can come. */
void strobe_linux_clocks_release(uint32_t threads_max);

/* The host's clock_keep, clock_ring and clock_end. Sampler, in its own descriptor table. */
enum strobe_status strobe_linux_clock_keep(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken);
enum strobe_status strobe_linux_clock_ring(void *ctx, uint32_t index, uint32_t tid);
void strobe_linux_clock_end(void *ctx, uint32_t index);

/* Returns true when an instance of the stop signal comes from a thread's CPU clock, or from strobe_linux_clock_ring. In
 * the handler. */
bool strobe_linux_clock_sent(const struct strobe_linux *l, const siginfo_t *info);

/* Returns true when the signal comes from strobe_linux_clock_ring. In the handler. */
bool strobe_linux_clock_rang(const siginfo_t *info);

/* Returns false when `info` names another descriptor than that of the clock of thread `index`. The program has then
 * requested this signal for a descriptor of its own. In the handler, after strobe_linux_clock_sent. */
bool strobe_linux_clock_is_of(uint32_t index, const siginfo_t *info);

/* Opens a disabled task clock event for a thread of this process. Returns its descriptor, or -1 with errno. `tid` 0 is
 * the calling thread. Any thread; engine/backend/linux/task_clock.c. */
int strobe_linux_open_task_clock(uint32_t tid, uint64_t period_ns);

/* Returns 0 when this process may open such clocks for its own threads, else the errno of the refusal. Opens a clock
 * for the calling thread and closes it. Any thread; uses a descriptor meanwhile. */
int strobe_linux_clock_refusal(void);

#endif
