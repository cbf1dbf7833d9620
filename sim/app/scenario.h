/* A scenario: an app as text (`strobe help scenario` describes the language), and in memory as this tree.
 *
 * A scenario has objects by number (methods, locks, queues, threads, ...) and blocks of operations. An operation refers
 * to its objects and its nested blocks by number; block 0 is empty. Names are unique in their table. There is at least
 * one image, and exactly one thread spec is main.
 *
 * In a scenario that was read, no method always leads back to itself, and no `forever` can repeat without time passing.
 * The player has to handle the rest: recursion through choices, of unknown depth; messages that post themselves without
 * delay; exceptions without a handler. */
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
    SIM_OP_RECURSE,   /* object: method, called recursively to depth amount; its body runs at the bottom */
    SIM_OP_REPEAT,    /* amount times block */
    SIM_OP_FOREVER,   /* block, until the run ends */
    SIM_OP_CHOOSE,    /* one of arms[first .. first + count), by weight */
    SIM_OP_ALLOC,     /* amount bytes, kept by the thread */
    SIM_OP_FREE,      /* frees the last `amount` allocations of the thread, or all if there are fewer */
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
    SIM_OP_CLOCK, /* reads the clock: a hook without a wait */
    SIM_OP_JNI,   /* object: native method, called through the JNI stub: a hook, then the call */
    SIM_OP_POST,  /* object: queue, method: what to run; amount: delay; priority */
    SIM_OP_LOOP,  /* object: queue; runs its messages until the thread ends */
    SIM_OP_THROW, /* unwinds to the innermost CATCH of the thread, over any number of frames */
    SIM_OP_CATCH, /* block is tried, other_block runs when something was thrown in it */
    SIM_OP_LOAD,  /* object: image; amount: time it takes; its methods may be called from then on */
    SIM_OP_GC,    /* stops all managed threads at their next operation, for amount */
    SIM_OP_SPAWN, /* object: thread template; starts one more thread of it */
    SIM_OP_JOIN,  /* object: thread template; waits for the thread that this thread spawned last */
    SIM_OP_EXIT,  /* the thread ends here */
    SIM_OP_SPIN,  /* object: mutex; tries it until it has it, computing amount between tries; block runs with it held */
    SIM_OP_FAULT, /* object: index in faults, after those armed from the start; arms the fault */
    SIM_OP_KINDS
};

struct sim_op {
    enum sim_op_kind kind;
    uint32_t line, column;  /* place of its word in the file, from 1 */
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
    uint64_t start, bytes; /* load address, the same in every run */
    bool loaded_at_start;
};

struct sim_method {
    const char *name; /* as stacks show it */
    const char *key;  /* as the scenario's text calls it; the same, unless the declaration has `as` */
    uint32_t image;
    uint64_t address, bytes; /* its code */
    bool managed;            /* false: native */
    bool frameless;          /* a leaf without a frame record */
    uint32_t frame_bytes;    /* bytes of stack besides the record; a multiple of 16 */
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

/* A message queue with an optional source of frames: a vsync that posts `frame_method` every period until the run
 * ends. */
struct sim_queue {
    const char *name;
    uint64_t vsync_period_ns; /* 0: no vsync */
    uint32_t frame_method;    /* run at each vsync; input, animation and traversal are methods that it calls */
};

/* Threads to start: `count` of them, each at a time drawn from `start`, running method `entry`. */
struct sim_thread_spec {
    const char *name; /* with several threads, the k-th is "name-k" */
    uint32_t entry;   /* method */
    uint32_t count;   /* 0: started by SPAWN only */
    uint64_t tid;     /* 0: the next free tid; else this one (tid reuse, tids beyond 65535) */
    bool reuse_tid;   /* uses the tid of an ended thread of the same spec */
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
    uint64_t at_ns;  /* earliest time */
    uint32_t times;  /* 0: no limit */
    double chance;   /* probability at each opportunity; 1: always */
    uint32_t thread; /* thread spec + 1; 0: any thread */
    uint64_t amount; /* ns, bytes, ... depending on the kind; 0: the kind's default */
};

/* `expect NAME POLICY [on RUNTIME] LOW..HIGH`: the score NAME (as in the JSON) of that policy lies within the bounds at
 * every seed of the fair schedule. */
struct sim_expect {
    const char *score, *policy;
    const char *runtime; /* the only runtime in which the line is judged; "fake": every fake Android runtime; NULL: the
                            simulated host */
    double low, high;
    uint32_t line, column;
};

struct sim_scenario {
    const char *name, *about;
    const char *path; /* path of the file; "random" when generated */
    uint64_t duration_ns;
    uint32_t cores;
    uint32_t busy;               /* number of threads of other programs that compute all the time, on the same cores */
    struct strobe_config config; /* the engine's configuration, with the settings of the scenario's `config` lines */
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

/* Returns true when the line is judged in this runtime. NULL: on the simulated host. */
bool sim_expect_covers(const struct sim_expect *e, const char *runtime);

/* Reads a scenario file and its includes. On failure *out is NULL and `error` holds one line: "FILE:LINE:COLUMN: what
 * was expected, and what is there". STROBE_BAD_INPUT, STROBE_IO. */
enum strobe_status sim_scenario_read(const char *path, struct sim_scenario **out, struct strobe_error *error);

/* The same for text in memory. `path` is the name for errors and the base of relative includes. */
enum strobe_status sim_scenario_parse(const char *text, const char *path, struct sim_scenario **out,
                                      struct strobe_error *error);

/* Returns a random valid scenario of about `size` operations, the same for the same seed everywhere. It ends by itself,
 * and cannot deadlock unless `may_deadlock`. NULL: out of memory. */
struct sim_scenario *sim_scenario_random(uint64_t seed, uint32_t size, bool may_deadlock);

/* Returns the scenario as text that reads back as the same tree; allocated with malloc. NULL: out of memory. */
char *sim_scenario_print(const struct sim_scenario *s);

void sim_scenario_free(struct sim_scenario *s);

/* The word of an operation or fault in the language. */
const char *sim_op_word(enum sim_op_kind kind);
const char *sim_fault_word(enum sim_fault_kind kind);

/* The page that `strobe help scenario` prints. */
extern const char sim_scenario_help[];

#endif
