/* A runtime in the played process: what this player plays in when it is told to, instead of real frames on pthreads.
 * The player is compiled several times, each with a runtime of its own: Android's (art.c), the fake Mach's (mach.c).
 * For sim/player and sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_RUNTIME_H
#define STROBE_SIM_PLAYER_RUNTIME_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/player/play.h"

struct sim_real_runtime {
    const struct sim_executor *executor;
    size_t stack_bytes; /* of a thread */

    /* Starts it in the calling thread, which becomes the main thread. With a session, capture begins. `error` has one
     * line when it does not. */
    enum strobe_status (*open)(struct sim_real_play *p, const char *name, const char *session,
                               struct strobe_error *error);
    void (*end)(struct sim_real_play *p); /* of the capture, if there is one. Any thread */
    uint64_t (*charged_ns)(void);         /* CPU time that the engine has been charged so far; 0 = not known */
    uint32_t (*tid)(void);                /* by which the engine knows the caller; NULL: the system's */
};
extern const struct sim_real_runtime sim_real_runtime;

#endif
