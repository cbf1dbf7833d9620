/* The emulated kernel: one task, its threads, port names, time.
 *
 * A guest thread is a saved context of the processor. The scheduler (schedule.c) runs one at a time for a drawn number
 * of instructions, so a thread may stop between any two; what happens is a function of the images and the seed. Time is
 * virtual: threads that can run do so side by side, each on a processor of its own that takes ns_per_instruction; when
 * none can, time goes on to the next thing that is waited for.
 *
 *   RUNS      ready for a processor, unless suspends > 0
 *   KERNEL    in a call that takes until kernel_until: a suspend does not stop it there; the call is done at its end
 *   WAITS     for a word, a time, or both
 *   ENDING    its end is under way: its stack is gone, calls on it answer KERN_TERMINATED, its port is not dead yet
 *   ENDED     its names are dead
 *   KILLED    never runs again, and nothing else happens to it: what a lost sampler looks like
 *
 * What is not decided by the guest is drawn from the seed: the length of slices, and which calls take a time. */
#ifndef STROBE_EMULATE_HOST_KERNEL_H
#define STROBE_EMULATE_HOST_KERNEL_H

#include "tests/emulate/calls.h"
#include "tests/emulate/host/image.h"
#include "tests/emulate/host/machine.h"

#include <mach/mach.h>

enum { THREADS_MAX = 512, PORTS_MAX = 1024, SHADOW_MAX = 512 };
#define NEVER UINT64_MAX

enum thread_state { THREAD_RUNS, THREAD_KERNEL, THREAD_WAITS, THREAD_ENDING, THREAD_ENDED, THREAD_KILLED };

struct call {
    uint64_t number, a[8];
};

struct thread {
    uc_context *context; /* its registers while it is not current */
    uint64_t id, pthread;
    enum thread_state state;
    uint32_t suspends;
    struct thread *suspender;          /* who did so last */
    uint32_t holds;                    /* suspensions of others that it has made and not undone */
    struct call call;                  /* while KERNEL or WAITS */
    uint64_t kernel_until_ns;          /* also while ENDING */
    uint64_t wait_word, wait_until_ns; /* 0, NEVER: none */
    mach_port_name_t wait_owner;       /* of the lock at wait_word, or 0 */
    uint64_t cpu_ns;
    uint32_t looked_at; /* how often another thread has read its registers */
    char name[MAXTHREADNAMESIZE];
};

enum port_kind { PORT_FREE, PORT_TASK, PORT_THREAD, PORT_DEAD };
struct port {
    enum port_kind kind;
    uint32_t generation, refs;
    struct thread *thread;
};

/* How a run ended: what the program's exit status says. */
enum outcome { RUN_FINE = 0, RUN_BROKEN = 1, RUN_DEADLOCK = 3, RUN_FORBIDDEN = 4 };

struct kernel;

/* What a test wants to see and to decide; each may be NULL. */
struct observer {
    /* Before each instruction. */
    void (*instruction)(struct kernel *k, struct thread *t, uint64_t pc);
    /* After a successful call of that kind by `by` on `of`. */
    void (*called)(struct kernel *k, enum emulated_call call, struct thread *by, struct thread *of);
    void (*named)(struct kernel *k, struct thread *t);
    /* Most instructions that the thread may run now; 0: it is held back, as if its instruction took long. */
    uint64_t (*allows)(struct kernel *k, const struct thread *t);
};

struct kernel {
    struct machine machine;
    struct images images;
    const struct observer *observer;
    uint64_t ns_per_instruction;
    const char *const *environment; /* NAME=VALUE, ends with NULL */
    bool strict;                    /* calls that are allowed, but never right for a sampler, end the run */
    bool guard, graph;              /* forbidden calls are caught; deadlocks are */

    struct thread *threads[THREADS_MAX]; /* all that have not ENDED */
    size_t thread_count;
    struct thread *current;
    struct port ports[PORTS_MAX]; /* by index; a name is index + 1 in the upper 24 bits, generation in the lower 8 */
    uint64_t next_id, random, now_ns;
    uint64_t until_ns; /* a run that lasts longer has failed */

    uint64_t budget, drawn; /* of the slice under way: instructions left, and at first */
    uint64_t side_by_side;  /* threads that could run when it began */
    uint64_t instructions;  /* in all */
    uint64_t calls[128];    /* by enum emulated_call */
    bool over;
    enum outcome outcome;
    uint64_t status; /* what the guest gave to exit */
};

/* kernel.c */

/* Draws a number below `below`. */
uint64_t kernel_draw(struct kernel *k, uint64_t below);

/* The time as it is now, in the middle of a slice; and CPU time of a thread. */
uint64_t kernel_now(const struct kernel *k);
uint64_t kernel_cpu(const struct kernel *k, const struct thread *t);

/* Ends the run with a line on stderr and the guest's stack. */
void kernel_end(struct kernel *k, enum outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct thread *kernel_add_thread(struct kernel *k, uint64_t pc, uint64_t argument, uint64_t sp, uint64_t pthread);

/* Begins the end of a thread; completes it when its time has come: no name of it is alive then. */
void kernel_end_thread(struct kernel *k, struct thread *t);
void kernel_bury(struct kernel *k, struct thread *t);

/* Registers of a thread, current or not. */
uint64_t kernel_register(const struct kernel *k, const struct thread *t, int id);
void kernel_set_register(const struct kernel *k, const struct thread *t, int id, uint64_t value);

/* One more right for a thread, or the task when it is NULL. */
mach_port_name_t kernel_take_right(struct kernel *k, struct thread *of);
struct port *kernel_port(struct kernel *k, mach_port_name_t name); /* NULL: nothing has that name */
uint32_t kernel_rights(const struct kernel *k);                    /* references that the task holds, in all */

/* What thread_info says of its state. */
int kernel_run_state(const struct thread *t);

/* calls.c: does what a thread asks for. False: it waits, or is over; the answer comes later. */
bool calls_perform(struct kernel *k, struct thread *t, const struct call *c, uint64_t *answer);

/* thread_calls.c, memory_calls.c: answers of the calls they are named after. */
uint64_t threads_answer(struct kernel *k, struct thread *t, const struct call *c);
uint64_t memory_answer(struct kernel *k, struct thread *t, const struct call *c);

/* schedule.c: runs the guest until it exits, or the run is over. */
void schedule_run(struct kernel *k);

/* guard.c */

/* Learns which functions may be called by who holds another thread: a list of names; all others of the first image, the
 * guest's libSystem, are forbidden. */
void guard_init(struct kernel *k);
bool guard_forbids(const struct kernel *k, uint64_t pc);

/* Looks whether who waits for whom goes in a circle from `t` on; ends the run if so. */
void guard_check_circle(struct kernel *k, struct thread *t);

/* Stack of a thread by its frame records, as text, a frame a line. */
void guard_print_stack(const struct kernel *k, const struct thread *t);

#endif
