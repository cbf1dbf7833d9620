/* The control server in an iOS or macOS app (engine/backend/common/embed/control.h): TCP on the loopback address, with
 * a token. Its descriptors are in the app's table. */
#ifndef STROBE_BACKEND_MACH_CONTROL_THREAD_H
#define STROBE_BACKEND_MACH_CONTROL_THREAD_H

#include "engine/backend/common/embed/control.h"

extern const struct strobe_control_host strobe_mach_control;

/* A thread of the engine beside a capture. It lives as long as the process. */
struct strobe_mach_own_work {
    const char *name;
    void (*work)(void);
};

/* Starts a detached thread that does the work, with all signals blocked. It is never traced. Returns false when it does
 * not start. */
bool strobe_mach_run_own_work(struct strobe_mach_own_work *own, void (*work)(void));

#endif
