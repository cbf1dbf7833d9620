/* Stopping threads on Linux: the host's suspend, settle and resume. See host_linux.h for how and why. */
#ifndef STROBE_BACKEND_LINUX_SUSPEND_H
#define STROBE_BACKEND_LINUX_SUSPEND_H

#include "engine/host/host.h"

struct strobe_linux;

/* True when the thread is neither on a processor nor asleep. False also where its state can't be told. Sampler. */
bool strobe_linux_waits_for_processor(struct strobe_linux *l, uint32_t tid);

enum strobe_status strobe_linux_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out);
void strobe_linux_settle(void *ctx, uint32_t tid);
enum strobe_status strobe_linux_resume(void *ctx, uint32_t tid);

/* Whether the kernel still has our handler for the stop signal. False for ever once a program has put its own there by
 * a system call, which no hook sees: a signal of ours would then be taken for one of the program's. Takes a tenth of a
 * microsecond. Any thread. */
bool strobe_linux_owns_signal(struct strobe_linux *l);

#endif
