/* The played process: threads that act, and what they share. For sim/player only.
 *
 * All that the player does for itself - memory, clocks, its own waiting - goes by calls that the engine does not hook.
 * What is shared is atomic by C11, not by the lab's atomics, which are made for one real thread. */
#ifndef STROBE_SIM_PLAYER_PLAY_H
#define STROBE_SIM_PLAYER_PLAY_H

#include "sim/player/executor.h"
#include "sim/player/frames.h"
#include "sim/player/notes.h"
#include "sim/player/probes.h"
#include "sim/player/work.h"
#include "sim/runtime/message_heap.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { SIM_ACTORS_MAX = 65535 };

/* Adds to what only the calling thread writes. */
static inline void sim_real_add(_Atomic uint64_t *sum, uint64_t n)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Held for some instructions only. */
struct sim_spin {
    atomic_flag taken;
};

static inline void sim_spin_lock(struct sim_spin *s)
{
    while (atomic_flag_test_and_set_explicit(&s->taken, memory_order_acquire))
        sim_work_yield();
}

static inline void sim_spin_unlock(struct sim_spin *s)
{
    atomic_flag_clear_explicit(&s->taken, memory_order_release);
}

/* Who let go last, and when: ns since the begin of the run << 16 | track + 1. 0 = nobody yet. */
struct sim_handoff {
    _Atomic uint64_t word;
};

struct sim_actor;

struct sim_real_lock {
    pthread_mutex_t mutex; /* by kind one of the two */
    pthread_rwlock_t rwlock;
    void *object;                    /* instead of the mutex: a managed runtime's; NULL = none */
    bool shared;                     /* several conditions are waited for with it */
    struct sim_actor *_Atomic owner; /* of the mutex, or the writer */
    uint32_t depth;                  /* the owner's */
    _Atomic uint32_t readers;
    struct sim_handoff released;
};

/* Who waits for a condition, the longest first. Each waits on a condition variable of its own, as threads of ART do: so
 * it is known who let whom go. */
struct sim_real_cond {
    struct sim_spin spin;
    struct sim_actor *first, *last;
};

/* Posts that nobody has had yet, in order; words as in struct sim_handoff. */
enum { SIM_POSTS = 1024 };
struct sim_real_sem {
    sem_t sem;
    struct sim_spin spin;
    uint32_t first, count;
    bool lost; /* there were too many: who posted what is not known any more */
    uint64_t posts[SIM_POSTS];
};

struct sim_real_queue {
    const struct sim_queue *about;
    struct sim_spin spin;
    struct sim_messages messages;
    uint64_t next_frame_ns;    /* 0: no looper yet */
    struct sim_actor *waiting; /* loopers that wait, the longest first, by next_waiter; not those called */
};

struct sim_art_play; /* executor_art.c's */
struct sim_real_runtime;

struct sim_real_play {
    const struct sim_scenario *scenario;
    const struct sim_executor *executor;
    const struct sim_real_runtime *runtime;      /* NULL = none */
    struct sim_art_play *art;                    /* of the runtime's executor */
    const struct sim_probe_policy *probe_policy; /* who listens to probes; NULL = nobody */
    const uint32_t *probes;                      /* by method: the id that its probes tell; 0 = it has none */
    const char *policy;                          /* what captures; NULL = the engine */
    uint64_t seed, turns_per_ms, begin_ns;
    struct sim_real_lock *locks;
    struct sim_real_cond *conds;
    struct sim_real_sem *sems;
    struct sim_real_queue *queues;
    struct sim_spin spin;      /* of actors and started */
    struct sim_actor **actors; /* in order of start: their tracks */
    _Atomic uint32_t actor_count;
    uint32_t *started;         /* by thread spec */
    _Atomic uint32_t living;   /* actors, and those still to be started */
    _Atomic uint32_t over;     /* 1: everybody goes home. A futex */
    pthread_mutex_t collector; /* held while there is a collection */
    _Atomic uint32_t collecting;
    struct sim_handoff collected;
    _Atomic int failed; /* 1: what the scenario asks for can't be done; said already */
};

/* An activation: a block of operations being played. */
enum sim_level_kind {
    SIM_LEVEL_BODY, /* of a method, in a frame of its own; `count` calls of itself before */
    SIM_LEVEL_PLAIN,
    SIM_LEVEL_REPEAT, /* `count` rounds to go, this one counted */
    SIM_LEVEL_FOREVER,
    SIM_LEVEL_LOCKED, /* by operation `op` */
    SIM_LEVEL_CATCH,
    SIM_LEVEL_LOOP,
};

struct sim_level {
    enum sim_level_kind kind;
    uint32_t next, first, end; /* operations */
    uint32_t op;               /* that made it; of a BODY its method */
    uint64_t count;
};

/* An allocation. */
struct sim_kept {
    void *object;
    bool managed;
};

struct sim_actor {
    struct sim_real_play *play;
    void *env, *peer, *sleeper; /* of the managed runtime; NULL = none yet */
    void *probe_thread;         /* the scheme's own of this thread; NULL = its probes are not listened to */
    uint64_t latency_ns;        /* of what it is about to call out for */
    uint64_t pause_ns;          /* that the collection is to take which it is in */
    struct pollfd *poll_what;   /* the same for a message */
    const struct timespec *poll_patience;
    struct sim_actor *parent;
    uint32_t spec, index, track, tid;
    uint32_t known_tid; /* to the engine */
    bool is_main, joined;
    pthread_t thread;
    struct sim_random random;
    struct sim_notes notes;
    _Atomic uint64_t begin_ns, end_ns; /* begin 0: its thread has not come yet; end 0: it lives */
    struct sim_level *levels;
    uint32_t level_count, level_room;
    size_t stack_bytes; /* taken by frames */
    bool throwing, leaving;
    uint32_t message, message_count;
    uint64_t forever_ns;
    _Atomic uint64_t work_ns; /* asked for so far; this and the next two may be read at any time */
    _Atomic uint64_t allocations, alloc_bytes;
    struct sim_kept *kept;
    uint32_t kept_count, kept_room;
    int device; /* sim_work_device's */
    int event;  /* an eventfd that it polls as a looper; -1 = it is none */
    sem_t parking;
    _Atomic uint32_t permit, parked;
    struct sim_handoff unparked;
    pthread_cond_t notified;
    struct sim_actor *next_waiter;
    _Atomic uint64_t notifier; /* who ended its wait for a condition or message; as in struct sim_handoff */
    struct sim_real_lock *waits_with;
    struct {
        enum strobe_kind kind;
        uint64_t begin_ns;
        bool told;
    } wait;
    uint64_t switches;        /* voluntary ones when they were looked at last */
    struct sim_totals totals; /* at its end, less allocations */
};

/* What comes next in a thread's innermost method. */
enum sim_next_kind { SIM_NEXT_CALL, SIM_NEXT_RETURN, SIM_NEXT_THROW };
struct sim_next {
    enum sim_next_kind kind;
    uint32_t method;
    size_t bytes;
}; /* bytes: that its frame takes */

/* ---- step.c ---- */

struct sim_next sim_real_next(struct sim_actor *a);

/* Of the innermost method. */
const char *sim_real_method_name(const struct sim_actor *a);

/* An exception has come to the thread's innermost method, as one of an executor that throws: true when it is caught
 * there, else that method has ended by it. */
bool sim_real_caught(struct sim_actor *a);

/* At a thread's end: lets go what it has kept. */
void sim_real_free_kept(struct sim_actor *a);

/* ---- play.c ---- */

/* Starts one more thread of a spec for `parent`. NULL: failed. */
struct sim_actor *sim_real_start(struct sim_real_play *p, uint32_t spec, uint32_t index, struct sim_actor *parent,
                                 const struct sim_random *drawn);
uint32_t sim_real_next_index(struct sim_real_play *p, uint32_t spec);

/* Ends the run. `op`: at fault, or NULL. */
void sim_real_fail(struct sim_real_play *p, const struct sim_op *op, const char *expected);

/* Computes. */
void sim_real_work(struct sim_actor *a, uint64_t ns);

/* Makes room for one more item; false: no memory. */
bool sim_real_room(struct sim_actor *a, void *array, uint32_t count, uint32_t *room, size_t item_bytes);

/* ---- waits.c ---- */

void sim_real_wait_lock(struct sim_actor *a, const struct sim_op *op);
bool sim_real_wait_spin(struct sim_actor *a, const struct sim_op *op, uint64_t amount_ns); /* false: it is over */
void sim_real_wait_unlock(struct sim_actor *a, const struct sim_op *op);

/* Any other operation that may block or lets others go on. */
void sim_real_wait_op(struct sim_actor *a, const struct sim_op *op, uint64_t amount);

void sim_real_wait_for_collector(struct sim_actor *a);

/* The lock of a condition's waiter. */
void sim_real_lock_mutex(struct sim_actor *a, struct sim_real_lock *l);
void sim_real_unlock_mutex(struct sim_actor *a, struct sim_real_lock *l);

/* True when it was had, not when the time was over (0 = never). */
bool sim_real_sem_had(sem_t *s, uint64_t timeout_ns);

/* A wait around a call; see waits.c. */
void sim_real_wait_begin(struct sim_actor *a, enum strobe_kind kind, bool likely);
void sim_real_wait_goes_on(struct sim_actor *a); /* it is likely to block now: it may never come to its end */
void sim_real_wait_end(struct sim_actor *a, uint64_t handoff);
uint64_t sim_handoff_now(const struct sim_actor *a);
void sim_hand_off(const struct sim_actor *a, struct sim_handoff *h);
uint64_t sim_handed(struct sim_handoff *h);

/* ---- queue.c ---- */

void sim_real_queue_put(struct sim_actor *a, const struct sim_op *op, uint64_t delay_ns);
void sim_real_queue_begin_loop(struct sim_actor *a, struct sim_real_queue *q);

/* Waits for the next message; false when the run is over. */
bool sim_real_queue_next(struct sim_actor *a, struct sim_real_queue *q, uint32_t *method);

#endif
