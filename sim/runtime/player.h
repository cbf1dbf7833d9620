/* Who plays a thread: the operations of its methods, one after another, on its own stack of activations, so that
 * neither recursion of the app nor a throw over many frames touches the host's stack. For sim/runtime only.
 *
 *   BODY       of a method; at its end `count` frames return (more than one for RECURSE)
 *   PLAIN      an arm of CHOOSE, or what is done about an exception
 *   REPEAT     `count` rounds to go, this one counted
 *   FOREVER
 *   LOCKED     a block under the lock of operation `op`
 *   CATCH      a block whose exceptions end here
 *   LOOP       takes messages for ever */
#ifndef STROBE_SIM_RUNTIME_PLAYER_H
#define STROBE_SIM_RUNTIME_PLAYER_H

#include "sim/runtime/world.h"

enum sim_act_kind {
    SIM_ACT_BODY,
    SIM_ACT_PLAIN,
    SIM_ACT_REPEAT,
    SIM_ACT_FOREVER,
    SIM_ACT_LOCKED,
    SIM_ACT_CATCH,
    SIM_ACT_LOOP,
};

struct sim_act {
    enum sim_act_kind kind;
    uint32_t next, first, end; /* operations: at hand, of the block */
    uint32_t op;               /* that made it */
    uint64_t count;
};

struct sim_player {
    struct sim_vthread v; /* what others see of it */
    struct sim_world *world;
    struct sim_run *run;
    struct sim_act *acts;
    uint32_t act_count, act_room;
    struct sim_random random;
    struct sim_vthread *parent;
    uint32_t message_count; /* ids handed out */
    uint64_t kept;          /* allocations not freed */
    uint32_t held;          /* what others may wait for in vain when it is killed: locks, a collection */
    uint64_t forever_ns;    /* when the FOREVER at hand last began */
    uint64_t call_begin_ns; /* of the call that it waits in, its hook included */
    uint64_t wait_span_ns;  /* of a wait by time: how long it was to last */
    uint64_t wait_begin_ns, wait_what;
    struct sim_sem collected; /* posted at the end of the collection that it has stopped for */
    struct sim_player *next_stopped;
    uint32_t token;    /* the tracer's, for the scope under way */
    bool heard;        /* the tracer was told of it */
    bool calls_looper; /* what it is about to do is a post's call of a looper */
    char name[32];
};

/* The life of a thread: entry of its fiber, arg: its struct sim_player. */
void sim_player_main(void *arg);

/* ---- truth ---- */

/* The thread's time for the truth: charges let a thread run ahead of its core's slices, which must not go back. */
uint64_t sim_player_now(const struct sim_player *p);

/* What an operation asks for. */
void sim_play_work(struct sim_player *p, uint64_t ns);

/* ---- waits (play_wait.c) ---- */

/* A call that may block, around the kernel's: tells tracer and truth, lays frames. What did not block and took no time
 * is no wait to the truth. */
void sim_wait_begin(struct sim_player *p, enum strobe_kind kind, uint64_t what);
void sim_wait_end(struct sim_player *p, enum sim_wake how);

/* Tells the tracer of a release, or of an event. */
void sim_report_release(struct sim_player *p, uint64_t what, enum strobe_release how);
void sim_report_point(struct sim_player *p, enum strobe_kind kind, uint64_t arg);

/* The operations that wait or let others go on. lock: false when it is not to be had. */
bool sim_play_lock(struct sim_player *p, const struct sim_op *op);
void sim_play_unlock(struct sim_player *p, const struct sim_op *op);
void sim_play_wait_op(struct sim_player *p, const struct sim_op *op, uint64_t amount);

/* Calls a looper by its event: a write that takes as long as it takes to wake the looper. */
void sim_play_call_looper(struct sim_player *p, struct sim_sem *event);

/* Takes the next message; false when the thread is to end. */
void sim_play_next_message(struct sim_player *p, uint32_t queue, uint32_t *method);
void sim_play_post(struct sim_player *p, const struct sim_op *op, uint64_t delay_ns);

/* A collection; and a managed thread's stop while there is one. */
void sim_play_collect(struct sim_player *p, uint64_t amount);
void sim_play_safepoint(struct sim_player *p);

#endif
