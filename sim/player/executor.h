/* Executor: performs a scenario's operations in a player. One executor uses functions of frames.h on pthreads
 * (executor_frames.c), another one uses methods of an Android runtime (executor_art.c). For sim/player only. Every
 * function runs on the thread of actor `a`. */
#ifndef STROBE_SIM_PLAYER_EXECUTOR_H
#define STROBE_SIM_PLAYER_EXECUTOR_H

#include "sim/app/scenario.h"

#include <poll.h>
#include <stdbool.h>
#include <time.h>

struct sim_actor;
struct sim_real_lock;

struct sim_executor {
    /* `enter` prepares the calling thread; false = it failed. `perform` runs the thread's first method until it
     * returns. `leave` undoes `enter`. */
    bool (*enter)(struct sim_actor *a, const char *name);
    void (*perform)(struct sim_actor *a);
    void (*leave)(struct sim_actor *a);

    /* True: the runtime throws exceptions. A throw is then a step (SIM_NEXT_THROW), and each frame that the exception
     * reaches calls sim_real_caught. False: sim_real_next unwinds, and methods return. */
    bool throws;

    void (*lock)(struct sim_actor *a, struct sim_real_lock *l);
    void (*unlock)(struct sim_actor *a, struct sim_real_lock *l);

    /* Releases the lock, which the thread holds `depth` times. Waits until a->notifier is set or timeout_ns is over
     * (0 = no timeout). Then acquires the lock `depth` times. */
    void (*wait)(struct sim_actor *a, struct sim_real_lock *l, uint32_t depth, uint64_t timeout_ns);
    void (*wake)(struct sim_actor *a, struct sim_actor *waiter); /* wakes `waiter`, whose notifier is already set */

    enum strobe_kind park_kind;                             /* kind of the wait of `park` */
    bool (*park)(struct sim_actor *a, uint64_t timeout_ns); /* false = timeout */
    void (*unpark)(struct sim_actor *a, struct sim_actor *parked);

    /* Allocates an object for a managed method. Returns the object, which stays until `release`, or NULL: it is garbage
     * at once. *bytes becomes the object's real size. A NULL function: the executor has no managed memory. */
    void *(*allocate)(struct sim_actor *a, uint64_t *bytes);
    void (*release)(struct sim_actor *a, void *object);

    /* Runs a garbage collection. `amount_ns`: its length, which a real Android runtime ignores. */
    void (*collect)(struct sim_actor *a, uint64_t amount_ns);
    void (*wait_for)(struct sim_actor *a, enum sim_op_kind kind, uint64_t latency_ns); /* I/O, IPC, load */
    void (*sleep)(struct sim_actor *a, uint64_t ns);
    void (*poll)(struct sim_actor *a, struct pollfd *p, const struct timespec *patience);

    /* Stores how often the calling thread has waited in calls of this kind, or of all such kinds. False: unknown. A
     * NULL function: always unknown. */
    bool (*count_waits)(const struct sim_actor *a, enum strobe_kind kind, uint64_t *out);
};

extern const struct sim_executor sim_executor_frames, sim_executor_art;

#endif
