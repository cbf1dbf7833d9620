/* The player of a thread performs the operations of its methods one after another. It uses a stack of activations in
 * the heap, so neither recursion of the app nor a throw over many frames uses the host's stack. For sim/runtime only.
 * Kinds of activation:
 *
 *   BODY       body of a method; at its end `count` frames return (more than one for RECURSE)
 *   PLAIN      an arm of CHOOSE, or a handler of an exception
 *   REPEAT     `count` rounds left, the current one included
 *   FOREVER    a block without end
 *   LOCKED     a block under the lock of operation `op`
 *   CATCH      a block whose exceptions end here
 *   LOOP       takes messages without end */
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
    uint32_t next, first, end; /* operations: the current one, first and end of the block */
    uint32_t op;               /* operation that created the activation */
    uint64_t count;
};

struct sim_player {
    struct sim_vthread v; /* the part that other threads see */
    struct sim_world *world;
    struct sim_run *run;
    struct sim_act *acts;
    uint32_t act_count, act_room;
    struct sim_random random;
    struct sim_vthread *parent;
    uint32_t message_count; /* number of ids assigned */
    uint64_t kept;          /* allocations not freed */
    uint32_t held;          /* number of locks and collections that it holds: while not 0, killing it would leave
                               waiters blocked for ever */
    uint64_t forever_ns;    /* when the current round of FOREVER began */
    uint64_t call_begin_ns; /* begin of the call that it waits in, including its hook */
    uint64_t wait_span_ns;  /* of a timed wait: its intended length */
    uint64_t wait_begin_ns, wait_what;
    struct sim_sem collected; /* posted at the end of the collection that stopped it */
    struct sim_player *next_stopped;
    uint32_t token;    /* the tracer's, for the current scope */
    bool in_scope;     /* the tracer knows of the current scope */
    bool calls_looper; /* the next WRITE is a post's call of a looper */
    char name[32];
};

/* Entry of a thread's fiber; arg: its struct sim_player. Plays the whole life of the thread. */
void sim_player_main(void *arg);

/* ---- truth ---- */

/* Returns the thread's time for the truth. Charges let a thread run ahead of its core's slices; the result never goes
 * back. */
uint64_t sim_player_now(const struct sim_player *p);

/* Performs the work that an operation asks for. */
void sim_play_work(struct sim_player *p, uint64_t ns);

/* ---- waits (play_wait.c) ---- */

/* Enclose a call that may block: they notify the tracer, record the truth and push and pop frames. A call that did not
 * block and took no time is no wait in the truth. */
void sim_wait_begin(struct sim_player *p, enum strobe_kind kind, uint64_t what);
void sim_wait_end(struct sim_player *p, enum sim_wake how);

/* Report a release or a point event to the tracer. */
void sim_report_release(struct sim_player *p, uint64_t what, enum strobe_release how);
void sim_report_point(struct sim_player *p, enum strobe_kind kind, uint64_t arg);

/* Perform the operations that wait, or that end waits of others. sim_play_lock returns false when the lock cannot be
 * acquired. */
bool sim_play_lock(struct sim_player *p, const struct sim_op *op);
void sim_play_unlock(struct sim_player *p, const struct sim_op *op);
void sim_play_wait_op(struct sim_player *p, const struct sim_op *op, uint64_t amount);

/* Wakes a looper through its event. This is a write that takes as long as waking the looper. */
void sim_play_call_looper(struct sim_player *p, struct sim_sem *event);

/* Ends the current message, waits for the next one, takes it and sets *method to the method that it runs. */
void sim_play_next_message(struct sim_player *p, uint32_t queue, uint32_t *method);
void sim_play_post(struct sim_player *p, const struct sim_op *op, uint64_t delay_ns);

/* Perform a collection; and stop a managed thread during one. */
void sim_play_collect(struct sim_player *p, uint64_t amount);
void sim_play_safepoint(struct sim_player *p);

#endif
