/* The control server in an iOS or macOS app (engine/backend/common/embed/control.h): TCP on the loopback address, with
 * a token. Its descriptors are in the app's table. */
#ifndef STROBE_BACKEND_MACH_CONTROL_THREAD_H
#define STROBE_BACKEND_MACH_CONTROL_THREAD_H

#include "engine/backend/common/embed/control.h"
#include "engine/base/atomic.h"

extern const struct strobe_control_host strobe_mach_control;

/* A thread of the engine beside a capture. */
struct strobe_mach_own_work {
    const char *name;
    void (*work)(void);
    strobe_a32 tid; /* the engine's id of the thread; 0 = it does not run */
};

/* Starts a detached thread that does the work, with all signals blocked. It is never traced. Returns false when it does
 * not start. */
bool strobe_mach_run_own_work(struct strobe_mach_own_work *own, void (*work)(void));

/* Leaves the server's thread out of the capture that is about to begin. The thread outlives captures, and each has a
 * thread table of its own. Start only, before the calling
 * thread is registered and before the sampler's first scan. */
void strobe_mach_control_stay_out(void);

#endif
