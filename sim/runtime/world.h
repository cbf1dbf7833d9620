/* What the threads of one run share: the scenario's objects as the kernel keeps them, the code of its methods, message
 * queues, the collector, the pool of stacks. Made by sim_run_play, gone with sim_run_close; for sim/runtime only. */
#ifndef STROBE_SIM_RUNTIME_WORLD_H
#define STROBE_SIM_RUNTIME_WORLD_H

#include "sim/runtime/message_heap.h"
#include "sim/runtime/run.h"
#include "sim/runtime/vstack.h"

#define SIM_STARTER_TID UINT32_C(0xfffffff1) /* of the thread that starts others later; none of the app's */

struct sim_message_queue {
    struct sim_world *world;
    const struct sim_queue *about;
    uint32_t number;
    struct sim_messages messages;
    struct sim_sem wake;
    uint32_t waiting, woken; /* loopers asleep, and of those, how many are called */
    uint32_t loopers;        /* threads that loop over it */
    bool ticks;              /* its source of frames has started */
    bool frame_pending;      /* a frame is posted only when the one before has begun */
};

/* A thread that the scenario starts, with its draws as they stand after that of the time. */
struct sim_start {
    uint64_t time_ns;
    uint32_t spec, index;
    struct sim_random random;
};

struct sim_world {
    struct sim_run *run;
    const struct sim_scenario *scenario;
    struct sim_code *code; /* by method */
    uint32_t *by_address;  /* methods in order of address */
    bool *last_of_body;    /* by operation: it is the last of a method's body */
    uint32_t wait_name[STROBE_KIND_COUNT];
    struct sim_stacks stacks;
    struct sim_mutex *mutexes; /* by lock, and so are: */
    struct sim_rwlock *rwlocks;
    struct sim_cond *conds;
    struct sim_sem *sems;
    struct sim_message_queue *queues;
    uint32_t *started; /* by thread spec: how many there have been */
    uint32_t *by_tid;  /* hash table: index of the thread that had the tid last + 1 */
    uint32_t tid_mask, next_tid;
    uint32_t collecting;                        /* threads that collect now */
    uint32_t collection;                        /* the latest, from 1 */
    struct sim_player *stopped, **last_stopped; /* for it, in order of arrival */
    struct sim_start *starts;                   /* threads that start later than the run, in order of time */
    uint32_t start_count;
    bool loops;                /* some thread loops over a queue, or did */
    enum strobe_status failed; /* what ended the run early, told in run->end_why */
};

/* Makes everything but the kernel's part. False: no memory. */
bool sim_world_open(struct sim_world *w, struct sim_run *run);
void sim_world_close(struct sim_world *w);

/* Starts a thread of the scenario, or one more of a spec on behalf of another thread. NULL: failed, and the run
 * ends. */
struct sim_vthread *sim_world_start(struct sim_world *w, const struct sim_start *start);
struct sim_vthread *sim_world_spawn(struct sim_world *w, uint32_t spec, struct sim_vthread *parent);

/* Ends the run for a reason that is no end of the app. `op`: the operation at fault, NULL = none. */
void sim_world_fail(struct sim_world *w, enum strobe_status status, const struct sim_op *op, const char *what);

/* Queues. A message may be posted from anywhere; `from` is who does, NULL a device. */
void sim_queue_post(struct sim_message_queue *q, struct sim_message m, struct sim_vthread *from);

/* The next message that is due at now_ns. */
bool sim_queue_take(struct sim_message_queue *q, uint64_t now_ns, struct sim_message *out);

/* When the next one will be due; UINT64_MAX: none. */
uint64_t sim_queue_next_ns(const struct sim_message_queue *q);

/* A thread begins to loop over it: its source of frames starts. False: no memory. */
bool sim_queue_begin(struct sim_message_queue *q);

#endif
