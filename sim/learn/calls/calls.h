/* The calls of one or several captures as trees, in one form for all of `learn`: threads, calls with parents and
 * children, and the events that other threads caused (marks).
 *
 * Threads of one group run the same code: their names are equal but for a number at the end, and so is their outermost
 * method. An object is what threads wait for: a lock, a condition, a semaphore. Of several captures, objects with the
 * same kind and the same first waiter are one object.
 *
 * Times are in ns since the begin of the capture. All arrays are in an order that follows from the input alone.
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_LEARN_CALLS_CALLS_H
#define STROBE_SIM_LEARN_CALLS_CALLS_H

#include "engine/util/idmap.h"
#include "sim/score/tracks.h"

#define LEARN_NONE UINT32_MAX

enum { LEARN_RUNS = 4 };

struct learn_call {
    uint64_t begin_ns, end_ns;
    uint32_t name;        /* in names */
    uint32_t class;       /* enum sim_call_class */
    uint32_t thread;      /* in threads */
    uint32_t parent;      /* in calls; LEARN_NONE: outermost */
    uint32_t first, next; /* first call in it, next call in its parent; LEARN_NONE */
    uint32_t wait;        /* number in the track's waits + 1; 0: no wait, or without details */
    bool loops;           /* it takes messages of a queue: see sim_learn_is_looper */
};

/* What happens in a call besides calls. */
enum learn_mark_kind {
    LEARN_MARK_UNLOCK, /* a lock is released that another thread waits for; object */
    LEARN_MARK_WAKE,   /* a waiter at a condition or semaphore, or a parked thread, is woken; object */
    LEARN_MARK_POST,   /* a message is posted; object: the name of the message's method */
    LEARN_MARK_SPAWN,  /* a thread is started; object: its group */
    LEARN_MARK_GC,     /* a collection has ended; ns: how long threads have been stopped for it */
};

struct learn_mark {
    uint64_t time_ns, ns;
    uint32_t thread, object;
    enum learn_mark_kind kind;
};

struct learn_object {
    enum strobe_kind kind;
    uint32_t capture;
    uint64_t what;
    uint32_t waiter;       /* name of the method of the first wait */
    uint32_t group;        /* of the first waiter */
    uint64_t waits, wakes; /* waits, and those with a known waker */
    uint64_t wait_ns;
};

struct learn_thread {
    const struct sim_track *track;
    uint32_t capture, group;
    uint32_t first_call, end_call; /* its calls, in order of their begins */
    uint32_t first_mark, end_mark; /* its marks, in order of time */
    uint64_t *busy_before;         /* by span of `cpu` or `idle`: sum of the spans before it */
    bool ended;                    /* before the capture's end */
};

struct learn_group {
    char stem[32];  /* the name of its threads, without the number */
    char name[48];  /* the same, or with another number when several groups have one stem */
    uint32_t root;  /* name of the outermost method */
    uint32_t count; /* threads, on average of the captures */
    uint32_t *threads, thread_count, thread_room;
    bool is_main, is_spawned, managed, loops; /* loops: it takes messages of a queue */
    uint32_t queue;                           /* object of the queue; LEARN_NONE */
};

struct learn_app {
    const struct sim_tracks *captures;
    uint32_t capture_count;
    struct strobe_text_pool names;
    struct learn_thread *threads;
    uint32_t thread_count;
    struct learn_call *calls;
    uint32_t call_count, call_room;
    struct learn_mark *marks;
    uint32_t mark_count, mark_room;
    struct learn_object *objects;
    uint32_t object_count, object_room;
    struct strobe_idmap object_ids; /* (capture and kind, what) -> object */
    struct learn_group *groups;
    uint32_t group_count, group_room;
    bool *joins;        /* by two groups, the waiter's first: it waits for the end of threads of the second */
    uint64_t end_ns;    /* of the captures, on average */
    uint64_t thread_ns; /* lives of all threads */
    uint32_t runs;      /* of equal items in a method that are slots of their own: see node.h */
    bool is_sampled;    /* the captures lack spans on processors: they show samples, not all calls */
    bool failed;        /* out of memory */
};

/* Builds the trees. Time that a capture has not seen splits no call: parts of one path before and after it are one
 * call. A thread with several outermost calls gets a method "thread NAME" around them. The captures must outlive the
 * app. False: out of memory, or too many calls. */
bool sim_learn_app_open(struct learn_app *a, const struct sim_tracks *captures, uint32_t count);
void sim_learn_app_close(struct learn_app *a);

/* Adds the marks: needs all threads and groups. */
bool sim_learn_app_mark(struct learn_app *a);

/* Returns the CPU time of a thread between two times, as far as the capture knows: without the time in which it waited
 * for a processor. */
uint64_t sim_learn_busy_ns(const struct learn_app *a, const struct learn_thread *t, uint64_t from_ns, uint64_t to_ns);

/* Returns the last call of a thread that began at a time or before, or LEARN_NONE. */
uint32_t sim_learn_last_begun(const struct learn_app *a, const struct learn_thread *t, uint64_t at);

/* Returns the innermost method that was open right before a time, or LEARN_NONE. */
uint32_t sim_learn_method_at(const struct learn_app *a, const struct learn_thread *t, uint64_t time_ns);

/* The same; LEARN_NONE also when the thread has waited for a while: it has not started a thread that begins then. */
uint32_t sim_learn_running_at(const struct learn_app *a, const struct learn_thread *t, uint64_t time_ns);

/* Returns the first call in `call` that begins at the time or later, or LEARN_NONE. */
uint32_t sim_learn_next_call_in(const struct learn_app *a, uint32_t call, uint64_t time_ns);

/* Returns the wait of a call, or NULL. */
const struct sim_wait *sim_learn_wait_of(const struct learn_app *a, const struct learn_call *c);

/* Returns the object of a wait, or LEARN_NONE. */
uint32_t sim_learn_object_of(const struct learn_app *a, uint32_t capture, const struct sim_wait *w);

/* Returns the thread of a capture's track. */
uint32_t sim_learn_thread_of_track(const struct learn_app *a, uint32_t capture, int32_t track);

/* True when the call takes messages of a queue: the waits in it are polls of one, and its calls are messages. */
bool sim_learn_is_looper(const struct learn_app *a, uint32_t call);

#endif
