/* A scenario: an app as text (the language is told by `strobe help scenario`), and in memory as this tree.
 *
 * A scenario is objects by number (methods, locks, queues, threads, ...) and blocks of operations. An operation names
 * its objects by number and its nested blocks by number; block 0 is empty. All names are unique in their table. There
 * is at least one image, and exactly one thread spec is main.
 *
 * A scenario that was read has no method that always leads back to itself, and no `forever` that could go round without
 * time passing. What is left to whoever plays it: recursion through choices, of which no depth is known, messages
 * that post themselves without delay, exceptions that nobody catches. */
#ifndef STROBE_SIM_APP_SCENARIO_H
#define STROBE_SIM_APP_SCENARIO_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/store/session.h"
#include "sim/app/dist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_op_kind {
    SIM_OP_COMPUTE,   /* amount ns of CPU */
    SIM_OP_CALL,      /* object: method */
    SIM_OP_RECURSE,   /* object: method, called by itself amount deep, its body run at the bottom */
    SIM_OP_REPEAT,    /* amount times block */
    SIM_OP_FOREVER,   /* block, until the thread ends with the scenario */
    SIM_OP_CHOOSE,    /* one of arms[first .. first + count), by weight */
    SIM_OP_ALLOC,     /* amount bytes, kept by the thread */
    SIM_OP_FREE,      /* frees the amount last allocations of the thread, as far as there are */
    SIM_OP_LOCK,      /* object: mutex; block runs with it held */
    SIM_OP_MONITOR,   /* object: monitor (recursive); block runs with it held */
    SIM_OP_READ_LOCK, /* object: rwlock; block */
    SIM_OP_WRITE_LOCK,
    SIM_OP_WAIT,   /* object: cond, other: the mutex or monitor, held; amount: timeout, 0 = none */
    SIM_OP_NOTIFY, /* object: cond */
    SIM_OP_NOTIFY_ALL,
    SIM_OP_SEM_WAIT, /* object: semaphore; amount: timeout, 0 = none */
    SIM_OP_SEM_POST,
    SIM_OP_PARK,   /* amount: timeout, 0 = none */
    SIM_OP_UNPARK, /* object: thread */
    SIM_OP_READ,   /* amount: latency; size bytes */
    SIM_OP_WRITE,
    SIM_OP_OPEN,
    SIM_OP_SYNC,
    SIM_OP_NET,
    SIM_OP_IPC,   /* binder or Mach message round trip: amount latency */
    SIM_OP_SLEEP, /* amount */
    SIM_OP_CLOCK, /* reads the clock: a hook without wait */
    SIM_OP_JNI,   /* object: native method, called through the JNI stub: a hook, then the call */
    SIM_OP_POST,  /* object: queue, method: what to run; amount: delay; priority */
    SIM_OP_LOOP,  /* object: queue; runs its messages until the thread ends */
    SIM_OP_THROW, /* unwinds to the innermost CATCH of the thread, over any number of frames */
    SIM_OP_CATCH, /* block is tried, other_block runs when something was thrown in it */
    SIM_OP_LOAD,  /* object: image; amount: time it takes; its methods may be called from then on */
    SIM_OP_GC,    /* stops all managed threads at their next operation, for amount */
    SIM_OP_SPAWN, /* object: thread template; one more thread of it starts */
    SIM_OP_JOIN,  /* object: thread template; waits for the one spawned last by this thread */
    SIM_OP_EXIT,  /* the thread ends here */
    SIM_OP_SPIN,  /* object: mutex; tries it until it has it, computing amount between; block with it held */
    SIM_OP_FAULT, /* object: index in faults, behind those armed from the start; armed from here on */
    SIM_OP_KINDS
};

struct sim_op {
    enum sim_op_kind kind;
    uint32_t line, column;  /* of its word in the file, from 1 */
    uint32_t object, other; /* see each kind */
    uint32_t block, other_block;
    uint32_t method;       /* of POST */
    uint32_t first, count; /* arms of CHOOSE */
    int priority;          /* of POST: higher first */
    struct sim_dist amount, size;
};

struct sim_arm {
    uint32_t weight, block;
};

struct sim_block {
    uint32_t first, count;
}; /* ops[first .. first + count) */

struct sim_image {
    const char *name;
    uint64_t start, bytes; /* where it is loaded: the same in every run */
    bool loaded_at_start;
};

struct sim_method {
    const char *name;
    uint32_t image;
    uint64_t address, bytes; /* its code */
    bool managed;            /* else native */
    bool frameless;          /* a leaf without a frame record */
    uint32_t frame_bytes;    /* stack it takes beyond the record; a multiple of 16 */
    uint32_t block;          /* body */
};

enum sim_lock_kind { SIM_LOCK_MUTEX, SIM_LOCK_MONITOR, SIM_LOCK_RWLOCK };
struct sim_lock {
    const char *name;
    enum sim_lock_kind kind;
};
struct sim_named {
    const char *name;
};
struct sim_semaphore {
    const char *name;
    uint32_t count;
};

/* A message queue with an optional source of frames: a vsync that posts `frame` every period while there is time. */
struct sim_queue {
    const char *name;
    uint64_t vsync_period_ns; /* 0 = none */
    uint32_t frame_method;    /* run for each vsync; input, animation and traversal are methods it calls */
};

/* Threads to start: `count` of them at `start` (each drawn), running method `entry`. */
struct sim_thread_spec {
    const char *name; /* the k-th of several is "name-k" */
    uint32_t entry;   /* method */
    uint32_t count;   /* 0 = only by SPAWN */
    uint64_t tid;     /* 0 = the next; else this one (tid reuse, tids beyond 65535) */
    bool reuse_tid;   /* takes the tid of a thread of the same spec that has ended */
    bool is_main;
    int nice;
    struct sim_dist start;
};

enum sim_fault_kind {
    SIM_FAULT_SUSPEND_REFUSED,
    SIM_FAULT_SUSPEND_LATE,
    SIM_FAULT_RESUME_LOST,
    SIM_FAULT_EXIT_BEFORE_SUSPEND,
    SIM_FAULT_EXIT_IN_SUSPEND,
    SIM_FAULT_EXIT_BEFORE_READ,
    SIM_FAULT_UNREADABLE_STACK,
    SIM_FAULT_CORRUPT_STACK,
    SIM_FAULT_CLOCK_BACK,
    SIM_FAULT_CLOCK_FORWARD,
    SIM_FAULT_SAMPLER_STALL,
    SIM_FAULT_SAMPLER_KILLED,
    SIM_FAULT_SIGNAL_STORM,
    SIM_FAULT_HOOK_INSIDE,
    SIM_FAULT_SHORT_WRITE,
    SIM_FAULT_WRITE_INTERRUPTED,
    SIM_FAULT_NO_SPACE,
    SIM_FAULT_UNWRITABLE,
    SIM_FAULT_KINDS
};

struct sim_fault {
    enum sim_fault_kind kind;
    uint32_t line, column;
    uint64_t at_ns;  /* not before */
    uint32_t times;  /* 0 = no limit */
    double chance;   /* at each opportunity; 1 = always */
    uint32_t thread; /* thread spec + 1 it is about; 0 = any */
    uint64_t amount; /* ns, bytes, ...: what the kind needs; 0 = its default */
};

/* `expect NAME POLICY LOW..HIGH`: the score NAME (as in the JSON) of that policy lies within, at any seed of the fair
 * schedule. */
struct sim_expect {
    const char *score, *policy;
    double low, high;
    uint32_t line, column;
};

struct sim_scenario {
    const char *name, *about;
    const char *path; /* of the file; "random" when generated */
    uint64_t duration_ns;
    uint32_t cores;
    uint32_t busy;               /* threads of other programs that compute all the time, on the same cores */
    struct strobe_config config; /* the engine's, with what the scenario's `config` lines say */
    struct sim_op *ops;
    uint32_t op_count;
    struct sim_block *blocks;
    uint32_t block_count;
    struct sim_arm *arms;
    uint32_t arm_count;
    struct sim_image *images;
    uint32_t image_count;
    struct sim_method *methods;
    uint32_t method_count;
    struct sim_lock *locks;
    uint32_t lock_count;
    struct sim_named *conds;
    uint32_t cond_count;
    struct sim_semaphore *sems;
    uint32_t sem_count;
    struct sim_queue *queues;
    uint32_t queue_count;
    struct sim_thread_spec *threads;
    uint32_t thread_count;
    struct sim_fault *faults;
    uint32_t fault_count;
    struct sim_expect *expects;
    uint32_t expect_count;
    struct sim_scenario_memory *memory; /* owns all of the above */
};

/* Reads a scenario file and what it includes. On failure *out is NULL and `error` holds one line: "FILE:LINE:COLUMN:
 * what was expected, and what is there". STROBE_BAD_INPUT, STROBE_IO. */
enum strobe_status sim_scenario_read(const char *path, struct sim_scenario **out, struct strobe_error *error);

/* The same for text in memory; `path` is what errors call it and what includes are relative to. */
enum strobe_status sim_scenario_parse(const char *text, const char *path, struct sim_scenario **out,
                                      struct strobe_error *error);

/* A random valid scenario of about `size` operations: the same for the same seed everywhere. Ends by itself; cannot
 * deadlock unless `may_deadlock`. NULL: out of memory. */
struct sim_scenario *sim_scenario_random(uint64_t seed, uint32_t size, bool may_deadlock);

/* The scenario as text that reads back as the same tree; allocated with malloc. NULL: out of memory. */
char *sim_scenario_print(const struct sim_scenario *s);

void sim_scenario_free(struct sim_scenario *s);

/* The word of an operation or fault in the language. */
const char *sim_op_word(enum sim_op_kind kind);
const char *sim_fault_word(enum sim_fault_kind kind);

/* The page that `strobe help scenario` prints. */
extern const char sim_scenario_help[];

#endif
