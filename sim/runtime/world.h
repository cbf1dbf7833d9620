/* The state that the threads of one run share: the scenario's objects in the kernel, the code of its methods, message
 * queues, the collector, the pool of stacks. It lives from sim_run_play to sim_run_close. For sim/runtime only. */
#ifndef STROBE_SIM_RUNTIME_WORLD_H
#define STROBE_SIM_RUNTIME_WORLD_H

#include "sim/runtime/message_heap.h"
#include "sim/runtime/run.h"
#include "sim/runtime/vstack.h"

#define SIM_STARTER_TID UINT32_C(0xfffffff1) /* tid of the thread that starts others later; not a thread of the app */

struct sim_message_queue {
    struct sim_world *world;
    const struct sim_queue *about;
    uint32_t number;
    struct sim_messages messages;
    struct sim_sem wake;
    uint32_t waiting, woken; /* loopers asleep, and how many of them have been called */
    uint32_t loopers;        /* number of threads that loop over it */
    bool ticks;              /* its source of frames has started */
    bool frame_pending;      /* a frame is posted and has not begun: no other frame is posted */
};

/* A thread that the scenario starts later, with the state of its stream after the draw of the start time. */
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
    bool *last_of_body;    /* by operation: it is the last one of a method's body */
    uint32_t wait_name[STROBE_KIND_COUNT];
    struct sim_stacks stacks;
    struct sim_mutex *mutexes; /* by lock; the arrays below are by object, too */
    struct sim_rwlock *rwlocks;
    struct sim_cond *conds;
    struct sim_sem *sems;
    struct sim_message_queue *queues;
    uint32_t *started; /* by thread spec: number of threads started */
    uint32_t *by_tid;  /* hash table: index + 1 of the last thread with the tid */
    uint32_t tid_mask, next_tid;
    uint32_t collecting;                        /* number of threads that are collecting now */
    uint32_t collection;                        /* number of the latest collection, from 1 */
    struct sim_player *stopped, **last_stopped; /* threads stopped for the collection, in order of arrival */
    struct sim_start *starts;                   /* threads that start after the run's begin, in order of time */
    uint32_t start_count;
    bool loops;                /* some thread loops over a queue, or has done so */
    enum strobe_status failed; /* status that ended the run early; run->end_why describes it */
};

/* Creates everything except the kernel's part. False: out of memory. */
bool sim_world_open(struct sim_world *w, struct sim_run *run);
void sim_world_close(struct sim_world *w);

/* Start a thread of the scenario, or one more of a spec on behalf of another thread. NULL: failed, and the run ends. */
struct sim_vthread *sim_world_start(struct sim_world *w, const struct sim_start *start);
struct sim_vthread *sim_world_spawn(struct sim_world *w, uint32_t spec, struct sim_vthread *parent);

/* Ends the run because of a failure. `op`: the operation that failed, NULL: none. */
void sim_world_fail(struct sim_world *w, enum strobe_status status, const struct sim_op *op, const char *what);

/* Posts a message. Any context. `from`: the posting thread, NULL for a device. */
void sim_queue_post(struct sim_message_queue *q, struct sim_message m, struct sim_vthread *from);

/* Takes the next message that is due at now_ns. False: none. */
bool sim_queue_take(struct sim_message_queue *q, uint64_t now_ns, struct sim_message *out);

/* Returns when the next message is due; UINT64_MAX: there is none. */
uint64_t sim_queue_next_ns(const struct sim_message_queue *q);

/* Notes that a thread begins to loop over the queue; its source of frames starts. False: out of memory. */
bool sim_queue_begin(struct sim_message_queue *q);

#endif
