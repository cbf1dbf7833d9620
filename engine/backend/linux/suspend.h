/* Stopping threads on Linux: the host's suspend, settle and resume. See host_linux.h for how and why. */
#ifndef STROBE_BACKEND_LINUX_SUSPEND_H
#define STROBE_BACKEND_LINUX_SUSPEND_H

#include "engine/host/host.h"

enum strobe_status strobe_linux_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                        struct strobe_regs *out);
void strobe_linux_settle(void *ctx, uint32_t tid);
enum strobe_status strobe_linux_resume(void *ctx, uint32_t tid);

#endif
