/* Suspension of threads on Linux: the host's suspend, settle and resume. host_linux.h describes the design. */
#ifndef STROBE_BACKEND_LINUX_SUSPEND_H
#define STROBE_BACKEND_LINUX_SUSPEND_H

#include "engine/host/host.h"

struct strobe_linux;

/* Returns true when the thread is runnable but not on a processor. Returns false when it runs or sleeps, or when its
 * state is unknown. Sampler. */
bool strobe_linux_waits_for_processor(struct strobe_linux *l, uint32_t tid);

/* The host's wait_call, by TID/syscall in /proc. It keeps descriptors in the sampler's own table; without such a table
 * it returns 0. Where the file cannot be read (Android: SELinux, or a process that is not dumpable), it returns 0, and
 * opens nothing from the first failure on. Sampler. */
uint64_t strobe_linux_wait_call(void *ctx, uint32_t tid);

/* The same for a sampler that shares its descriptor table with the program: opens and closes the file. Sampler. */
uint64_t strobe_linux_wait_call_once(void *ctx, uint32_t tid);

enum strobe_status strobe_linux_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out);
void strobe_linux_settle(void *ctx, uint32_t tid);
enum strobe_status strobe_linux_resume(void *ctx, uint32_t tid);

/* Does the same, but does not ask whether the thread sleeps: the signal may end a call in which it does. */
enum strobe_status strobe_linux_interrupt(struct strobe_linux *l, uint32_t tid, const strobe_a32 *blocked,
                                          uint64_t timeout_ns, struct strobe_regs *out);

/* Returns true when a signal does not change what the thread does: the thread runs or is runnable, or it waits for a
 * futex without a timeout, a call that the kernel restarts. Opens and closes a file in /proc. Sampler, window. */
bool strobe_linux_may_interrupt(struct strobe_linux *l, uint32_t tid);

/* Returns true when the kernel still has the engine's handler for the stop signal. Returns false forever once the
 * program has installed its own handler by a system call, which no hook sees. From then on the engine sends no signal,
 * because the program's handler would receive it. Takes about 0.1 us. Any thread. */
bool strobe_linux_owns_signal(struct strobe_linux *l);

#endif
