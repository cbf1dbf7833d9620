/* The emulated kernel: one task, its threads, port names, time.
 *
 * A guest thread is a saved context of the processor. The scheduler (schedule.c) runs one at a time for a drawn number
 * of instructions, so a thread may stop between any two instructions. A run is a function of the images and the seed.
 * Time is virtual. Threads that can run do so side by side, each on a separate processor, and each instruction takes
 * ns_per_instruction. When no thread can run, time moves to the end of the next wait.
 *
 *   RUNS      ready for a processor, unless suspends > 0
 *   KERNEL    in a call that ends at kernel_until_ns. A suspend does not stop the call; its effect comes at the end
 *   WAITS     waits for a word, a time, or both
 *   ENDING    is ending: its stack is unmapped, calls on it return KERN_TERMINATED, its port is not dead yet
 *   ENDED     has ended: its names are dead
 *   KILLED    never runs again, and does not end: a lost sampler
 *
 * The seed determines the random draws: the length of slices, and which calls take time. */
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
    struct thread *suspender;          /* the thread that suspended it last */
    uint32_t holds;                    /* suspensions of other threads that it has not resumed */
    struct call call;                  /* while KERNEL or WAITS */
    uint64_t kernel_until_ns;          /* also while ENDING */
    uint64_t wait_word, wait_until_ns; /* without a wait: 0, NEVER */
    mach_port_name_t wait_owner;       /* owner of the lock at wait_word, or 0 */
    uint64_t cpu_ns;
    uint32_t looked_at; /* number of reads of its registers by other threads */
    char name[MAXTHREADNAMESIZE];
};

enum port_kind { PORT_FREE, PORT_TASK, PORT_THREAD, PORT_DEAD };
struct port {
    enum port_kind kind;
    uint32_t generation, refs;
    struct thread *thread;
};

/* The result of a run, and the program's exit status. */
enum outcome { RUN_FINE = 0, RUN_BROKEN = 1, RUN_DEADLOCK = 3, RUN_FORBIDDEN = 4 };

struct kernel;

/* Callbacks of a test; each may be NULL. */
struct observer {
    /* Before each instruction. */
    void (*instruction)(struct kernel *k, struct thread *t, uint64_t pc);
    /* After a successful call of this number by thread `by` on thread `of`. */
    void (*called)(struct kernel *k, enum emulated_call call, struct thread *by, struct thread *of);
    void (*named)(struct kernel *k, struct thread *t);
    /* Returns how many instructions the thread may run now; 0: it is held back, as if its instruction took long. */
    uint64_t (*allows)(struct kernel *k, const struct thread *t);
};

struct kernel {
    struct machine machine;
    struct images images;
    const struct observer *observer;
    uint64_t ns_per_instruction;
    const char *const *environment; /* NAME=VALUE, ends with NULL */
    bool strict;                    /* permitted calls that are wrong for a sampler end the run */
    bool guard, graph;              /* guard: catches forbidden calls; graph: catches deadlocks */

    struct thread *threads[THREADS_MAX]; /* threads that have not ENDED */
    size_t thread_count;
    struct thread *current;
    struct port ports[PORTS_MAX]; /* by index; a name is index + 1 in the upper 24 bits, generation in the lower 8 */
    uint64_t next_id, random, now_ns;
    uint64_t until_ns; /* a run that lasts longer has failed */

    uint64_t budget, drawn; /* current slice: instructions left, and drawn */
    uint64_t side_by_side;  /* threads that could run when the slice began */
    uint64_t instructions;  /* total */
    uint64_t calls[128];    /* by enum emulated_call */
    bool over;
    enum outcome outcome;
    uint64_t status; /* the guest's argument of exit */
};

/* kernel.c */

/* Draws a number below `below`. */
uint64_t kernel_draw(struct kernel *k, uint64_t below);

/* Return the current time, within a slice, and the CPU time of a thread. */
uint64_t kernel_now(const struct kernel *k);
uint64_t kernel_cpu(const struct kernel *k, const struct thread *t);

/* Ends the run with a line on stderr and the guest's stack. */
void kernel_end(struct kernel *k, enum outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));

struct thread *kernel_add_thread(struct kernel *k, uint64_t pc, uint64_t argument, uint64_t sp, uint64_t pthread);

/* kernel_end_thread begins the end of a thread. kernel_retire_thread completes it later; then all its names are
 * dead. */
void kernel_end_thread(struct kernel *k, struct thread *t);
void kernel_retire_thread(struct kernel *k, struct thread *t);

/* Read and write registers of a thread, current or not. */
uint64_t kernel_register(const struct kernel *k, const struct thread *t, int id);
void kernel_set_register(const struct kernel *k, const struct thread *t, int id, uint64_t value);

/* Adds a right for a thread, or for the task when `of` is NULL. */
mach_port_name_t kernel_take_right(struct kernel *k, struct thread *of);
struct port *kernel_port(struct kernel *k, mach_port_name_t name); /* NULL: no such name */
uint32_t kernel_rights(const struct kernel *k);                    /* number of references that the task holds */

/* Returns the run state that thread_info reports. */
int kernel_run_state(const struct thread *t);

/* calls.c: performs a call. Returns false when the thread waits or ends; the answer then comes later. */
bool calls_perform(struct kernel *k, struct thread *t, const struct call *c, uint64_t *answer);

/* thread_calls.c, memory_calls.c: perform the calls on threads, or on memory and files. */
uint64_t threads_answer(struct kernel *k, struct thread *t, const struct call *c);
uint64_t memory_answer(struct kernel *k, struct thread *t, const struct call *c);

/* schedule.c: runs the guest until it exits, or the run is over. */
void schedule_run(struct kernel *k);

/* guard.c */

/* Finds the functions that a thread may call while it holds another thread suspended, by a list of names. All other
 * functions of the first image, the guest's libSystem, are forbidden. */
void guard_init(struct kernel *k);
bool guard_forbids(const struct kernel *k, uint64_t pc);

/* Ends the run when `t` is in a cycle of threads that wait for each other. */
void guard_check_circle(struct kernel *k, struct thread *t);

/* Prints the stack of a thread by its frame records, one frame per line. */
void guard_print_stack(const struct kernel *k, const struct thread *t);

#endif
