/* The virtual kernel: threads as fibers on virtual cores, in virtual time.
 *
 * Time stands still while a fiber runs and moves only between: a thread that computes asks for so many ns of a core
 * (sim_compute) and gets control back when it has had them, however often it was preempted, stopped or waited for a
 * core meanwhile. So a whole run is a function of its options and of what the threads do, to the bit, on every machine.
 *
 *   NEW -> READY <-> RUNNING -> BLOCKED -> READY ...        -> ENDED
 *   a stop (sim_stop) lies over any of these: the thread keeps its state but does not move until sim_continue
 *
 * Schedulers. FAIR: a realtime thread goes before all others, on the core where it was last. Of the others, where the
 * machine's turn_ns is 0: least virtual run time first (as CFS), weighted by niceness, with a slice, from one line for
 * all cores; the thread that a realtime thread takes a core from stands until that one goes; a woken thread preempts
 * one that has run much longer. Else each core has a line of its own, as in EEVDF (lines.c). ADVERSARIAL: every choice
 * that the real world leaves open (who runs next, on which core, how long, which waiter is woken, and whether to switch
 * at an atomic operation of the engine, see sim/kernel/atomic.h) is drawn from the seed.
 *
 * All of it is one operating-system thread: not thread-safe; one kernel runs at a time. Calls marked "fiber" are made
 * by the virtual thread that is running; "any" also from outside and from timer callbacks. Units: ns of virtual
 * time. */
#ifndef STROBE_SIM_KERNEL_KERNEL_H
#define STROBE_SIM_KERNEL_KERNEL_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/kernel/lateness.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_schedule { SIM_FAIR, SIM_ADVERSARIAL };

/* How late a machine is, in the fair schedule; the adversary has its own ways. */
struct sim_machine {
    struct sim_span_lateness sleep;  /* the end of a sleep or timeout of an ordinary thread, by its length */
    struct sim_lateness realtime;    /* the same of a realtime thread */
    struct sim_span_lateness device; /* the end of a wait for a device, by its length */
    struct sim_span_lateness wake;   /* a thread that another wakes, by how long the core that it gets was idle */
    struct sim_span_cost wake_call;  /* CPU time of the one that wakes it, by the same */
    struct sim_span_cost wait_call;  /* CPU time of the woken thread, in its wait, by the same */
    struct sim_lateness stop;        /* a stop by signal of a thread that runs on another core; none: signal_ns */
    uint64_t start_own_ns;           /* CPU time of a thread that another one starts, before its own code */
    uint64_t end_own_ns;             /* ... of a thread at its end, after its own code */
    uint64_t turn_ns;                /* a thread's turn where each core has a line of its own; 0: all share one line */
};

struct sim_kernel_options {
    uint64_t seed;
    uint32_t cores; /* 1 .. 64 */
    enum sim_schedule schedule;
    uint64_t slice_ns;  /* 0 = 3 ms */
    uint64_t switch_ns; /* what a switch costs the core; charged to nobody */
    uint64_t signal_ns; /* from sim_stop's request until a running thread stops */
    uint64_t limit_ns;  /* the run ends then at the latest */
    struct sim_machine machine;
};

enum sim_end {
    SIM_END_DONE,      /* all threads that are no daemons have ended */
    SIM_END_LIMIT,     /* limit_ns reached */
    SIM_END_ASKED,     /* sim_kernel_end was called */
    SIM_END_DEADLOCK,  /* nothing can move any more, or a cycle of threads waits for itself */
    SIM_END_FORBIDDEN, /* sim_forbidden was called */
    SIM_END_MEMORY,    /* the host has no memory left */
};

/* How a blocking call came to its end. */
enum sim_wake {
    SIM_WAKE_NONE,   /* it did not block */
    SIM_WAKE_THREAD, /* handed over by self->waker at self->woken_ns */
    SIM_WAKE_TIMEOUT,
    SIM_WAKE_INTERRUPT, /* a signal, or sim_interrupt */
    SIM_WAKE_DEVICE,    /* I/O completed, or a callback of sim_at posted or unparked */
    SIM_WAKE_SPURIOUS,  /* by the adversary: a condition wait that nobody ended */
};

enum sim_state { SIM_NEW, SIM_READY, SIM_RUNNING, SIM_BLOCKED, SIM_ENDED };

struct sim_kernel;

/* A virtual thread. Fields above the line may be read by anyone; what is below is the kernel's. */
struct sim_thread {
    uint32_t tid;    /* may be that of a thread that has ended (tid reuse) */
    uint32_t serial; /* unique in the run, from 0 */
    enum sim_state state;
    const char *name;
    void *user;               /* the starter's */
    struct sim_thread *waker; /* who ended its last blocking call, NULL when no thread did; for a mutex, who released
                               * it last before this thread had it */
    uint64_t woken_ns;        /* when that was (the release, not the return) */
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t held_ns;         /* time it was stopped while it would have run */
    uint64_t compute_ns;      /* the sim_compute under way: asked for ... */
    uint64_t compute_left_ns; /* ... and still to have, as of its last stop or switch */
    uint64_t debt_ns;         /* charged, not yet computed */
    /* ---- */
    struct sim_thread_inside *inside;
};

struct sim_thread_options {
    const char *name; /* kept by pointer */
    uint32_t tid;     /* 0 = the next never used before, from 1; tids above 2^30 are not counted from */
    int nice;         /* -20 .. 19 */
    bool realtime;
    bool daemon;              /* the run does not wait for it */
    void (*entry)(void *arg); /* the thread ends when it returns */
    void *arg;
    void *user;
};

/* What the kernel tells as it happens; each may be NULL. Called in time order per thread; must not call back. */
struct sim_observer {
    /* The thread came on core `core` (0 ..), or with core = -1 went off it (`blocked`: since it waits; else it was
     * preempted, was stopped, or ended). */
    void (*core)(void *ctx, struct sim_thread *t, int core, bool blocked, uint64_t now_ns);
    void *ctx;
};

/* NULL: out of memory. The observer may be NULL. */
struct sim_kernel *sim_kernel_open(const struct sim_kernel_options *options, const struct sim_observer *observer);

/* Frees the kernel and all threads; fibers that have not returned are dropped as they stand. */
void sim_kernel_close(struct sim_kernel *k);

/* Starts a thread. In the fair schedule a thread that another one starts takes as long to come on an idle core as one
 * that is woken. Any. NULL: out of memory, or more than 2^20 alive. */
struct sim_thread *sim_thread_start(struct sim_kernel *k, const struct sim_thread_options *options);

/* Runs until the end; `error` then tells it in one line: for a deadlock the cycle, with threads and locks by name. */
enum sim_end sim_kernel_run(struct sim_kernel *k, struct strobe_error *error);

/* Asks the run to end at the present time. Any. */
void sim_kernel_end(struct sim_kernel *k);

/* The running thread has done what it must not: the run ends here, and `error` tells it. Does not return. Fiber. */
_Noreturn void sim_forbidden(const char *why);

/* The kernel opened or run last, until it is closed; and the running thread. NULL when there is none. Any. */
extern struct sim_kernel *sim_kernel_current;
struct sim_thread *sim_self(void);

/* The lowest byte of the running thread's stack, and how many there are. Fiber. */
void *sim_stack(size_t *bytes);

/* Where a thread that does not run stands in its code, inside the kernel's calls. False: it runs or has ended, or that
 * can't be told on this machine. Any. */
struct sim_fiber_place;
bool sim_place(const struct sim_thread *t, struct sim_fiber_place *out);

/* Another niceness, -20 .. 19, from now on. Any. */
void sim_renice(struct sim_thread *t, int nice);

/* ---- time ---- */

/* Now, as the running thread sees it: with what it has been charged. Any. */
uint64_t sim_now(void);

/* Uses a core for `ns`, and for what was charged before. Fiber. */
void sim_compute(uint64_t ns);

/* Charges the running thread `ns` without a switch: its time moves at once, everybody else's when it next computes,
 * ends or makes any call that others can notice: those begin by computing what was charged. Fiber; no effect
 * outside. */
void sim_charge(uint64_t ns);

/* CPU time of a thread so far, with the part of a compute under way. Any. */
uint64_t sim_cpu_ns(const struct sim_thread *t);

/* Uses a core for `ns` inside a system call: as sim_compute, but the thread is in the kernel meanwhile, which a CPU
 * timer takes note of. Fiber. */
void sim_compute_in_kernel(uint64_t ns);

/* ---- CPU timers ----
 *
 * A thread has at most one. The timer calls `fn` on the thread itself, as a signal handler, each time the thread has
 * used another period_ns of CPU: in the middle of a sim_compute, or where the thread pays what it was charged. While fn
 * runs, compute_ns and compute_left_ns of the thread say how far the interrupted compute has come. fn may charge the
 * thread and compute, but must not block. A period that ends while fn runs is lost. */

enum sim_cpu_timer_way {
    SIM_CPU_TIMER_EXACT, /* as a task-clock event that counts user mode only: fires when it is due, but what falls due
                          * inside a system call is lost */
    SIM_CPU_TIMER_TICK,  /* as a POSIX timer on a thread's CPU clock: the kernel looks at it only at its ticks, of the
                          * thread that is on a core then; inside a system call it fires at the call's end */
};

struct sim_cpu_timer {
    enum sim_cpu_timer_way way;
    uint64_t period_ns; /* of the thread's CPU time, from now on; 0 = no timer any more */
    uint64_t tick_ns;   /* TICK: the kernel's tick, at multiples of this time; 0 = 4 ms */
    uint64_t cost_ns;   /* charged to the thread each time before fn: the signal's way in and out */
    void (*fn)(struct sim_thread *self, void *ctx);
    void *ctx;
};

/* Sets, changes or ends (period_ns == 0) the timer of a thread, be it the caller's or another's. Any. STROBE_GONE: the
 * thread has ended. */
enum strobe_status sim_cpu_timer(struct sim_thread *t, const struct sim_cpu_timer *timer);

/* Calls the fn that sim_cpu_timer was given last, with a period or without, as soon as the thread has a core again; its
 * periods go on as before. As a signal to a thread that was preempted. STROBE_UNSUPPORTED: the thread does not wait for
 * a core in the middle of computing, or no fn was given. STROBE_GONE: it has ended. Any. */
enum strobe_status sim_cpu_timer_ring(struct sim_thread *t);

/* How often the thread's timer has called fn, and how often a period's end called nothing: it fell into a system call,
 * or more than one ended before fn could be called. Any. */
struct sim_cpu_timer_stats {
    uint64_t fired, missed;
};
struct sim_cpu_timer_stats sim_cpu_timer_stats(const struct sim_thread *t);

/* ---- sleeping and giving way ---- */

/* Sleeps until the absolute time. Fiber. */
enum sim_wake sim_sleep_until(uint64_t deadline_ns);

/* Waits for a device, which takes `latency_ns`; not interruptible. Fiber. */
enum sim_wake sim_io(uint64_t latency_ns);

/* Gives the core away, to the end of the line. Fiber. */
void sim_yield(void);

/* Uses the core for what the running thread was charged; a thread that it has woken and that preempts it has the core
 * first. To be called where a system call that wakes threads returns. Fiber. */
void sim_leave_kernel(void);

/* Calls fn(ctx) at that time, between fibers. Any. STROBE_IO: out of memory. */
enum strobe_status sim_at(struct sim_kernel *k, uint64_t time_ns, void (*fn)(void *ctx), void *ctx);

/* Ends an interruptible wait (sleep, condition, semaphore, park) of `t`, if it is in one. Any. */
void sim_interrupt(struct sim_thread *t);

/* ---- locks and waits: fiber, unless said otherwise ----
 *
 * Objects are zero at first use but for their name, and live until the kernel closes. A timeout of UINT64_MAX waits for
 * ever; timeouts are spans.
 *
 * Mutexes are those of the GNU C library (nptl/lowlevellock.h), whose word says whether a thread may wait. A release
 * frees the mutex and, when a thread may wait, wakes the longest waiter. A thread that takes the free mutex meanwhile
 * overtakes that waiter, and its own releases wake nobody until the waiter has come, found the mutex taken and said so
 * again. So at most one waiter of a mutex is on its way at a time. */

struct sim_waiters {
    struct sim_thread_inside *first, *last;
};

struct sim_mutex {
    const char *name;
    bool recursive;
    struct sim_thread *owner;
    uint32_t depth;
    bool contended;                 /* a release is to wake a waiter */
    struct sim_thread *released_by; /* last, NULL at first */
    uint64_t released_ns;
    struct sim_waiters waiters;
};
enum sim_wake sim_mutex_lock(struct sim_mutex *m);
bool sim_mutex_trylock(struct sim_mutex *m);
void sim_mutex_unlock(struct sim_mutex *m); /* the caller must own it */

struct sim_rwlock {
    const char *name;
    struct sim_thread *writer;
    uint32_t readers;
    struct sim_thread *released_by; /* by a writer, or the last reader */
    uint64_t released_ns;
    struct sim_thread *written_by; /* the last writer to release: who ended the waits of readers */
    uint64_t written_ns;
    struct sim_waiters waiters;
};
enum sim_wake sim_rwlock_read(struct sim_rwlock *l);
enum sim_wake sim_rwlock_write(struct sim_rwlock *l);
bool sim_rwlock_try_read(struct sim_rwlock *l);
bool sim_rwlock_try_write(struct sim_rwlock *l);
void sim_rwlock_unlock(struct sim_rwlock *l); /* of the writer, or one of the readers */

/* Waits, the mutex released meanwhile (to whatever depth it is held) and held again at return. THREAD: waker and
 * woken_ns are those of the notify; the way back into the mutex has no part in them. */
struct sim_cond {
    const char *name;
    struct sim_waiters waiters;
};
enum sim_wake sim_cond_wait(struct sim_cond *c, struct sim_mutex *m, uint64_t timeout_ns);
/* Threads woken. One: the longest waiter; by seed when adversarial. */
uint32_t sim_cond_notify(struct sim_cond *c);
uint32_t sim_cond_notify_all(struct sim_cond *c);

/* giver: who alone posts it, NULL when that is not known. */
struct sim_sem {
    const char *name;
    uint32_t count;
    struct sim_thread *giver;
    struct sim_waiters waiters;
};
enum sim_wake sim_sem_wait(struct sim_sem *s, uint64_t timeout_ns);
void sim_sem_post(struct sim_sem *s); /* any */

/* As Unsafe.park: one permit a thread. unpark: any. */
enum sim_wake sim_park(uint64_t timeout_ns);
void sim_unpark(struct sim_thread *t);

/* Waits for the end of a thread. */
enum sim_wake sim_join(struct sim_thread *t);

/* ---- stops ----
 *
 * What the engine's suspend is made of. The caller blocks until the target is stopped or the time is over. */

enum sim_stop_way {
    SIM_STOP_SIGNAL,  /* as a signal handler: takes effect signal_ns after, when the target is on a core; a blocked
                       * target is got out of bed for it, and if its wait is interruptible, that wait ends */
    SIM_STOP_AT_ONCE, /* as Mach's thread_suspend: in whatever state it is */
};

/* STROBE_OK: stopped, its compute_left_ns and registers stand. STROBE_LATE: not stopped in time, request withdrawn.
 * STROBE_GONE: it has ended. A thread is stopped by one at a time: LATE at once when it is stopped already, or
 * somebody else is about to. Not for oneself. Fiber. */
enum strobe_status sim_stop(struct sim_thread *t, enum sim_stop_way way, uint64_t timeout_ns);

/* Charges a stopped thread that will run on: it uses that much of a core before it goes on with what it computes.
 * False: it is not stopped, or waits. Any. */
bool sim_charge_stopped(struct sim_thread *t, uint64_t ns);

/* Lets it go on. STROBE_NO_ENTRY: it was not stopped. Any. */
enum strobe_status sim_continue(struct sim_thread *t);

/* From now on another than who stopped it is the one to let a stopped thread go (NULL: nobody in particular). Whoever
 * waits for what a stopped thread holds waits for that one: when it is itself, the run is a deadlock, though somebody
 * else might still come and let the thread go. Any. */
void sim_held_by(struct sim_thread *t, struct sim_thread *by);

/* Threads stopped at present. Any. */
uint32_t sim_stopped_count(const struct sim_kernel *k);

/* Ends a thread where it stands, as by pthread_kill of a crash: it runs no more, its locks stay locked. Any but
 * itself. */
void sim_kill(struct sim_thread *t);

/* ---- figures ---- */

struct sim_kernel_stats {
    uint64_t switches, events, preemptions, atomic_preemptions;
};
struct sim_kernel_stats sim_kernel_stats(const struct sim_kernel *k);

#endif
