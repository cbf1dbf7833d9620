/* Where a scenario is played: what differs between real frames on pthreads and methods in an Android runtime. For
 * sim/player only. All but open and close by the acting thread itself. */
#ifndef STROBE_SIM_PLAYER_EXECUTOR_H
#define STROBE_SIM_PLAYER_EXECUTOR_H

#include "sim/app/scenario.h"

#include <poll.h>
#include <stdbool.h>
#include <time.h>

struct sim_actor;
struct sim_real_lock;

struct sim_executor {
    /* The thread comes on, plays from its first method to the end of it, goes off. False: it can't come on. */
    bool (*enter)(struct sim_actor *a, const char *name);
    void (*perform)(struct sim_actor *a);
    void (*leave)(struct sim_actor *a);

    /* Exceptions are the runtime's: a throw is a step of its own (SIM_NEXT_THROW), and each frame that it meets asks
     * sim_real_caught. Else the step unwinds, and methods return. */
    bool throws;

    void (*lock)(struct sim_actor *a, struct sim_real_lock *l);
    void (*unlock)(struct sim_actor *a, struct sim_real_lock *l);

    /* Lets the lock go, `depth` times, until a->notifier is set or the time is over (0 = never); has it again. */
    void (*wait)(struct sim_actor *a, struct sim_real_lock *l, uint32_t depth, uint64_t timeout_ns);
    void (*wake)(struct sim_actor *a, struct sim_actor *waiter); /* whose notifier is set */

    enum strobe_kind park_kind;                             /* of wait */
    bool (*park)(struct sim_actor *a, uint64_t timeout_ns); /* false: the time was over */
    void (*unpark)(struct sim_actor *a, struct sim_actor *parked);

    /* What a managed method allocates: kept until it is released, or garbage at once (NULL). *bytes becomes what the
     * object really has. */
    void *(*allocate)(struct sim_actor *a, uint64_t *bytes);
    void (*release)(struct sim_actor *a, void *object);

    void (*collect)(struct sim_actor *a, uint64_t amount_ns);
    void (*wait_for)(struct sim_actor *a, enum sim_op_kind kind, uint64_t latency_ns); /* i/o, ipc, load */
    void (*sleep)(struct sim_actor *a, uint64_t ns);
    void (*poll)(struct sim_actor *a, struct pollfd *p, const struct timespec *patience);
};

extern const struct sim_executor sim_executor_frames, sim_executor_art;

#endif
