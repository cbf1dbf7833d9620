/* Runtime of a player, used with the option --runtime. Without it the player uses functions of frames.h on pthreads.
 * The player is compiled several times, each time with one runtime: Android (art.c) or the fake Mach (mach/runtime.c).
 * For sim/player and sim/player/virtual only. */
#ifndef STROBE_SIM_PLAYER_RUNTIME_H
#define STROBE_SIM_PLAYER_RUNTIME_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/player/play.h"

struct sim_real_runtime {
    const struct sim_executor *executor;
    size_t stack_bytes; /* stack of a thread */
    bool long_names;    /* names of threads may have more than 15 characters */

    /* Starts the runtime in the calling thread, which becomes its main thread. Starts the capture as well when
     * `session` is not NULL. On failure `error` has one line. */
    enum strobe_status (*open)(struct sim_real_play *p, const char *name, const char *session,
                               struct strobe_error *error);
    void (*end)(struct sim_real_play *p); /* ends the capture, if any. Any thread */
    uint64_t (*charged_ns)(void);         /* CPU time charged to the engine so far; 0 = unknown */
    uint32_t (*tid)(void);                /* id by which the engine knows the caller; NULL = the kernel's id */
};
extern const struct sim_real_runtime sim_real_runtime;

#endif
