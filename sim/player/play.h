/* A player: its actors (the threads of the scenario) and the state that they share. For sim/player only.
 *
 * The player allocates, reads clocks and waits for its own purposes only by calls that the engine does not hook
 * (work.h). Shared state uses C11 atomics. The lab's atomics (sim/kernel/atomic.h) work in a single thread only. */
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

/* Adds `n` to a sum that only the calling thread writes. */
static inline void sim_real_add(_Atomic uint64_t *sum, uint64_t n)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n, memory_order_relaxed);
}

/* A spin lock. A thread holds it for a few instructions only. */
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

/* The latest release of an object: ns since the begin of the run << 16 | track of the releasing thread + 1. 0 = no
 * release yet. */
struct sim_handoff {
    _Atomic uint64_t word;
};

struct sim_actor;

struct sim_real_lock {
    pthread_mutex_t mutex; /* the lock's kind selects mutex or rwlock */
    pthread_rwlock_t rwlock;
    void *object;                    /* replaces the mutex: object of an Android runtime; NULL = none */
    bool shared;                     /* several conditions use this lock */
    struct sim_actor *_Atomic owner; /* owner of the mutex, or the writer */
    uint32_t depth;                  /* how many times the owner holds the mutex */
    _Atomic uint32_t readers;
    struct sim_handoff released;
};

/* Waiters of a condition, the longest waiter first. Each waiter has a private condition variable, as in ART. The player
 * therefore knows which notify woke which waiter. */
struct sim_real_cond {
    struct sim_spin spin;
    struct sim_actor *first, *last;
};

/* A semaphore and its posts that no waiter has consumed, oldest first. A post has the form of struct sim_handoff. */
enum { SIM_POSTS = 1024 };
struct sim_real_sem {
    sem_t sem;
    struct sim_spin spin;
    uint32_t first, count;
    bool lost; /* more than SIM_POSTS posts: wakers are unknown from then on */
    uint64_t posts[SIM_POSTS];
};

struct sim_real_queue {
    const struct sim_queue *about;
    struct sim_spin spin;
    struct sim_messages messages;
    uint64_t next_frame_ns;    /* 0 = no looper yet */
    struct sim_actor *waiting; /* waiting loopers whose event is not written, longest waiter first, by next_waiter */
};

struct sim_art_play; /* art.h */
struct sim_real_runtime;

struct sim_real_play {
    const struct sim_scenario *scenario;
    const struct sim_executor *executor;
    const struct sim_real_runtime *runtime;      /* NULL = none */
    struct sim_art_play *art;                    /* state of sim_executor_art */
    const struct sim_probe_policy *probe_policy; /* policy that receives probes; NULL = none */
    const uint32_t *probes;                      /* by method: id that its probes report; 0 = no probes */
    const char *policy;                          /* capture policy; NULL = the engine */
    const char *frames;                          /* functions of native methods: sim_real_frames, or libapp.so's */
    uint64_t seed, turns_per_ms, begin_ns;
    struct sim_real_lock *locks;
    struct sim_real_cond *conds;
    struct sim_real_sem *sems;
    struct sim_real_queue *queues;
    struct sim_spin spin;      /* protects actors and started */
    struct sim_actor **actors; /* in order of start; the index is the track */
    _Atomic uint32_t actor_count;
    uint32_t *started;         /* by thread spec: number of threads started */
    _Atomic uint32_t living;   /* actors that have not ended, and planned starts */
    _Atomic uint32_t over;     /* 1 = the run is over: all actors end. A futex */
    pthread_mutex_t collector; /* held during a collection */
    _Atomic uint32_t collecting;
    struct sim_handoff collected;
    _Atomic int failed; /* 1 = an operation is impossible; the player has printed a message */
};

/* An activation: a block of operations that an actor plays. */
enum sim_level_kind {
    SIM_LEVEL_BODY, /* a method, which has a stack frame; `count`: calls of itself before its first operation */
    SIM_LEVEL_PLAIN,
    SIM_LEVEL_REPEAT, /* `count`: remaining rounds, including the current one */
    SIM_LEVEL_FOREVER,
    SIM_LEVEL_LOCKED, /* holds the lock of operation `op` */
    SIM_LEVEL_CATCH,
    SIM_LEVEL_LOOP,
};

struct sim_level {
    enum sim_level_kind kind;
    uint32_t next, first, end; /* operation numbers */
    uint32_t op;               /* operation that opened the level; in SIM_LEVEL_BODY the method */
    uint64_t count;
};

/* An allocation that the actor has not freed. */
struct sim_kept {
    void *object;
    bool managed;
};

struct sim_actor {
    struct sim_real_play *play;
    void *env, *peer, *sleeper; /* JNI environment, thread object, lock for sleeps; NULL = none */
    void *probe_thread;         /* the probe policy's state of this thread; NULL = its probes are not reported */
    uint64_t latency_ns;        /* duration of the current call out of the runtime */
    uint64_t pause_ns;          /* duration of the current collection; 0 = none */
    uint32_t callee;            /* managed method that native code calls next */
    bool may_throw;             /* a call since the last look may have left an exception */
    struct pollfd *poll_what;   /* arguments of the current poll for a message */
    const struct timespec *poll_patience;
    struct sim_actor *parent;
    uint32_t spec, index, track, tid;
    uint32_t known_tid; /* id by which the engine knows the thread */
    bool is_main, joined;
    pthread_t thread;
    struct sim_random random;
    struct sim_notes notes;
    _Atomic uint64_t begin_ns, end_ns; /* begin_ns 0: not yet started; end_ns 0: not yet ended */
    struct sim_level *levels;
    uint32_t level_count, level_room;
    size_t stack_bytes; /* sum of the frames' sizes */
    bool throwing, leaving;
    uint32_t message, message_count;
    uint64_t forever_ns;
    _Atomic uint64_t work_ns; /* sum of the amounts computed so far; any thread may read these three sums */
    _Atomic uint64_t allocations, alloc_bytes;
    struct sim_kept *kept;
    uint32_t kept_count, kept_room;
    int device; /* argument of sim_work_device */
    int event;  /* eventfd that the actor polls as a looper; -1 = not a looper */
    sem_t parking;
    _Atomic uint32_t permit, parked;
    struct sim_handoff unparked;
    pthread_cond_t notified;
    struct sim_actor *next_waiter;
    _Atomic uint64_t notifier; /* release that ended its wait for a condition or message; see struct sim_handoff */
    struct sim_real_lock *waits_with;
    struct sim_real_cond *waits_for;
    struct {
        enum strobe_kind kind;
        uint64_t begin_ns;
        bool recorded;  /* SIM_NOTE_WAIT is noted */
        bool polls;     /* the thread has called sim_real_poll, */
        bool slept;     /* and a poll has given up the processor */
        uint64_t waits; /* of the thread before it, where the runtime counts them */
    } wait;
    uint64_t switches;        /* voluntary switches when last read */
    struct sim_totals totals; /* set when the thread ends, except allocations */
};

/* The next step of a thread's innermost method. `bytes`: size of the called method's frame. */
enum sim_next_kind { SIM_NEXT_CALL, SIM_NEXT_RETURN, SIM_NEXT_THROW };
struct sim_next {
    enum sim_next_kind kind;
    uint32_t method;
    size_t bytes;
};

/* ---- step.c ---- */

/* Plays operations up to the next call, return or throw. */
struct sim_next sim_real_next(struct sim_actor *a);

/* Returns the name of the actor's innermost method. */
const char *sim_real_method_name(const struct sim_actor *a);

/* Handles an exception that has reached the thread's innermost method. Only for an executor with `throws`. Returns true
 * when the method catches it, and false when the method has ended by it. */
bool sim_real_caught(struct sim_actor *a);

/* Frees the actor's allocations. Called at the thread's end. */
void sim_real_free_kept(struct sim_actor *a);

/* ---- play.c ---- */

/* Starts thread `index` of a spec for `parent` (NULL = none). `drawn`: its random stream so far; NULL = a new one.
 * Returns NULL after a failure, which sim_real_fail has reported. */
struct sim_actor *sim_real_start(struct sim_real_play *p, uint32_t spec, uint32_t index, struct sim_actor *parent,
                                 const struct sim_random *drawn);

/* Returns the index of a spec's next thread. */
uint32_t sim_real_next_index(struct sim_real_play *p, uint32_t spec);

/* Prints what was expected and ends the run. `op`: the operation that failed, or NULL. Only the first call prints. */
void sim_real_fail(struct sim_real_play *p, const struct sim_op *op, const char *expected);

/* Computes for `ns` of work. */
void sim_real_work(struct sim_actor *a, uint64_t ns);

/* Makes room for one more item of *array. Returns false when there is no memory, and fails the run. */
bool sim_real_room(struct sim_actor *a, void *array, uint32_t count, uint32_t *room, size_t item_bytes);

/* ---- waits.c ---- */

void sim_real_wait_lock(struct sim_actor *a, const struct sim_op *op);
bool sim_real_wait_spin(struct sim_actor *a, const struct sim_op *op, uint64_t amount_ns); /* false: run is over */
void sim_real_wait_unlock(struct sim_actor *a, const struct sim_op *op);

/* Plays any other operation that may block or may wake another thread. */
void sim_real_wait_op(struct sim_actor *a, const struct sim_op *op, uint64_t amount);

void sim_real_wait_for_collector(struct sim_actor *a);

/* Locks and unlocks a mutex or monitor. */
void sim_real_lock_mutex(struct sim_actor *a, struct sim_real_lock *l);
void sim_real_unlock_mutex(struct sim_actor *a, struct sim_real_lock *l);

/* Waits for the semaphore. Returns false after timeout_ns (0 = no timeout). */
bool sim_real_sem_had(sem_t *s, uint64_t timeout_ns);

/* Notes a blocking call. sim_real_wait_begin precedes the call, sim_real_wait_end follows it.
 *
 * `likely`: the call is likely to block, so sim_real_wait_begin notes the wait at once. Otherwise the wait is noted
 * when sim_real_wait_record is called, or when the call took at least sim_work_limits.wait_ns. sim_real_wait_record is
 * for a call that turns out to block and may never return. `handoff`: the release that ended the wait, in the form of
 * struct sim_handoff; 0 = unknown. */
void sim_real_wait_begin(struct sim_actor *a, enum strobe_kind kind, bool likely);
void sim_real_wait_record(struct sim_actor *a);
void sim_real_wait_end(struct sim_actor *a, uint64_t handoff);

/* Polls in a wait that has begun. Such a wait blocked only when the poll itself gave up the processor: around the poll,
 * an Android runtime can hold the thread while the sampler takes its stack. A message can come in that time, and the
 * poll then returns at once. */
void sim_real_poll(struct sim_actor *a, struct pollfd *what, const struct timespec *patience);

/* Returns a release by this actor now. */
uint64_t sim_handoff_now(const struct sim_actor *a);

/* Stores a release by this actor now, right before the call that releases; sim_handed loads the latest one. */
void sim_hand_off(const struct sim_actor *a, struct sim_handoff *h);

/* Makes a waiting actor, unless it has been notified, the last waiter of its condition: a spurious wake-up has ended
 * its wait, and it waits again. */
void sim_real_wait_again(struct sim_actor *a);
uint64_t sim_handed(struct sim_handoff *h);

/* ---- queue.c ---- */

/* Posts the message of operation `op`. */
void sim_real_queue_put(struct sim_actor *a, const struct sim_op *op, uint64_t delay_ns);

/* Prepares the actor to loop over `q`. */
void sim_real_queue_begin_loop(struct sim_actor *a, struct sim_real_queue *q);

/* Waits for the next message. Returns false when the run is over. */
bool sim_real_queue_next(struct sim_actor *a, struct sim_real_queue *q, uint32_t *method);

#endif
