/* The state word of a capture. A process has at most one capture of a kind at a time: a start refuses while the word is
 * not IDLE, and a stop does nothing while it is not RUNNING.
 *
 *   IDLE ------> STARTING   strobe_life_claim_start
 *   STARTING --> RUNNING    strobe_life_conclude_start: the capture has started
 *   STARTING --> IDLE       strobe_life_conclude_start: the start failed, and all threads of the capture have ended
 *   STARTING --> STUCK      strobe_life_conclude_start: the start failed, and a thread of the capture has not ended
 *   RUNNING ---> STOPPING   strobe_life_claim_stop
 *   STOPPING --> IDLE       strobe_life_conclude_stop: the capture's threads have ended
 *   STOPPING --> STUCK      strobe_life_conclude_stop: a thread of the capture has not ended, a thread of the app is
 *                           still inside the engine, or the backend could not undo all
 *
 * No function leaves STUCK: the process starts no other capture. A backend may store STUCK in a forked child, which has
 * its parent's state but not its parent's threads.
 *
 * The claims are compare-and-swaps, so one of several threads gets the claim (explored: life/starts, life/stops,
 * life/stuck). From its claim to its conclusion that thread owns the capture's plain variables. A claim acquires what
 * the last conclusion released (explored: life/restart).
 *
 * Any thread. The functions wait for nothing. */
#ifndef STROBE_BACKEND_COMMON_CAPTURE_LIFE_H
#define STROBE_BACKEND_COMMON_CAPTURE_LIFE_H

#include "engine/base/atomic.h"
#include "engine/base/error.h"

enum {
    STROBE_LIFE_IDLE, /* the initial value */
    STROBE_LIFE_STARTING,
    STROBE_LIFE_RUNNING,
    STROBE_LIFE_STOPPING,
    STROBE_LIFE_STUCK,
};

/* A stop waits this long, in steps, until no thread is inside the engine. Threads leave it within microseconds, unless
 * the kernel does not run them. The condition and the sleep are the backend's. */
enum { STROBE_QUIET_STEPS = 5000, STROBE_QUIET_STEP_NS = 200 * 1000 };

/* Claims the start. STROBE_EXISTS, with one line in `error`: a capture runs, starts or stops, or the word is STUCK. */
static inline enum strobe_status strobe_life_claim_start(strobe_a32 *life, struct strobe_error *error)
{
    uint32_t found = STROBE_LIFE_IDLE;
    if (strobe_cas_acquire(life, &found, STROBE_LIFE_STARTING))
        return STROBE_OK;
    strobe_error_join(
        error, "", found == STROBE_LIFE_STUCK ? "the last capture's threads have not ended" : "a capture is under way");
    return STROBE_EXISTS;
}

/* Concludes a claimed start. `started`: the result of the start. `ended`: after a failure, no thread of the capture is
 * left; ignored after a success. */
static inline void strobe_life_conclude_start(strobe_a32 *life, enum strobe_status started, bool ended)
{
    uint32_t failed = ended ? STROBE_LIFE_IDLE : STROBE_LIFE_STUCK;
    strobe_store_release(life, started == STROBE_OK ? STROBE_LIFE_RUNNING : failed);
}

/* Claims the stop of a running capture. Returns false when no capture runs. */
static inline bool strobe_life_claim_stop(strobe_a32 *life)
{
    uint32_t found = STROBE_LIFE_RUNNING;
    return strobe_cas_acquire(life, &found, STROBE_LIFE_STOPPING);
}

/* Concludes a claimed stop. `ended`: another capture may start. */
static inline void strobe_life_conclude_stop(strobe_a32 *life, bool ended)
{
    strobe_store_release(life, ended ? STROBE_LIFE_IDLE : STROBE_LIFE_STUCK);
}

#endif
