/* The virtual kernel: threads as fibers on virtual cores, in virtual time.
 *
 * Virtual time stands still while a fiber runs. A thread asks for ns of a core with sim_compute, and gets control back
 * after it has had them, however often it was preempted, was stopped or waited for a core meanwhile. A run is therefore
 * a deterministic function of its options and of the threads' actions, on every machine.
 *
 *   NEW -> READY <-> RUNNING -> BLOCKED -> READY ...        -> ENDED
 *   A stop (sim_stop) applies in any of these states: the thread keeps its state but does not run until
 *   sim_continue.
 *
 * Schedulers:
 *
 *   - FAIR: a realtime thread goes before all others, on the core where it was last. When the machine's turn_ns is
 *     0, the other threads share one run queue for all cores. The thread with the least virtual run time goes first
 *     (as in CFS), weighted by niceness, with a slice. A thread that a realtime thread displaces from a core waits
 *     until the realtime thread leaves. A woken thread preempts one that has run much longer. When turn_ns is not 0,
 *     each core has a separate run queue, as in EEVDF (lines.c).
 *   - ADVERSARIAL: the seed decides every choice that a real system leaves open: which thread runs next, on which
 *     core, for how long, which waiter is woken, and whether to switch at an atomic operation of the engine
 *     (sim/kernel/atomic.h).
 *
 * All fibers belong to one operating-system thread: not thread-safe. One kernel runs at a time. Context of calls:
 * "fiber" means the virtual thread that is running; "any" includes calls from outside and from timer callbacks. Units:
 * ns of virtual time. */
#ifndef STROBE_SIM_KERNEL_KERNEL_H
#define STROBE_SIM_KERNEL_KERNEL_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/kernel/lateness.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_schedule { SIM_FAIR, SIM_ADVERSARIAL };

/* Lateness of a machine, in the fair schedule. The adversary draws delays in other ways. */
struct sim_machine {
    struct sim_span_lateness sleep;  /* end of a sleep or timeout of an ordinary thread, by its length */
    struct sim_lateness realtime;    /* end of a sleep or timeout of a realtime thread */
    struct sim_span_lateness device; /* end of a wait for a device, by its length */
    struct sim_span_lateness wake;   /* start of a thread that another one wakes, by idle time of the core that it
                                        gets */
    struct sim_span_cost wake_call;  /* CPU time of the thread that wakes it, by the same */
    struct sim_span_cost wait_call;  /* CPU time of the woken thread, in its wait, by the same */
    struct sim_lateness stop;        /* a stop by signal of a thread that runs on another core; all 0: signal_ns */
    uint64_t start_own_ns;           /* CPU time of a thread that another one starts, before its own code */
    uint64_t end_own_ns;             /* CPU time of a thread at its end, after its own code */
    uint64_t turn_ns;                /* a thread's turn where each core has a separate run queue; 0: all cores share
                                        one */
};

struct sim_kernel_options {
    uint64_t seed;
    uint32_t cores; /* 1 .. 64 */
    enum sim_schedule schedule;
    uint64_t slice_ns;   /* 0: 3 ms */
    uint64_t switch_ns;  /* cost of a switch to the core; charged to no thread */
    uint64_t signal_ns;  /* time from sim_stop's request until a running thread stops */
    uint64_t limit_ns;   /* the run ends at this time at the latest */
    bool weighs_wakeups; /* where each core has a separate run queue: see lines.c */
    struct sim_machine machine;
};

enum sim_end {
    SIM_END_DONE,      /* all threads that are not daemons have ended */
    SIM_END_LIMIT,     /* limit_ns reached */
    SIM_END_ASKED,     /* sim_kernel_end was called */
    SIM_END_DEADLOCK,  /* no thread can move any more, or a cycle of threads waits for itself */
    SIM_END_FORBIDDEN, /* sim_forbidden was called */
    SIM_END_MEMORY,    /* out of memory on the host */
};

/* How a blocking call ended. */
enum sim_wake {
    SIM_WAKE_NONE,   /* it did not block */
    SIM_WAKE_THREAD, /* handed over by self->waker at self->woken_ns */
    SIM_WAKE_TIMEOUT,
    SIM_WAKE_INTERRUPT, /* a signal, or sim_interrupt */
    SIM_WAKE_DEVICE,    /* I/O completed, or a callback of sim_at posted or unparked */
    SIM_WAKE_SPURIOUS,  /* by the adversary: no thread notified this condition wait */
};

enum sim_state { SIM_NEW, SIM_READY, SIM_RUNNING, SIM_BLOCKED, SIM_ENDED };

struct sim_kernel;

/* A virtual thread. The fields above the line may be read from any context; `inside` is private to the kernel. */
struct sim_thread {
    uint32_t tid;    /* may be that of a thread that has ended (tid reuse) */
    uint32_t serial; /* unique in the run, from 0 */
    enum sim_state state;
    const char *name;
    void *user;               /* set by the starter */
    struct sim_thread *waker; /* thread that ended its last blocking call, NULL when no thread did. For a mutex: the
                                 thread that released it last before this thread got it */
    uint64_t woken_ns;        /* time of that release (not of the return) */
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t held_ns;         /* time it was stopped while it would have run */
    uint64_t compute_ns;      /* current sim_compute: time asked for ... */
    uint64_t compute_left_ns; /* ... and time left, as of the last stop or switch */
    uint64_t debt_ns;         /* charged, not yet computed */
    /* ---- */
    struct sim_thread_inside *inside;
};

struct sim_thread_options {
    const char *name; /* kept by pointer */
    uint32_t tid;     /* 0: the next tid never used before, from 1. Tids above 2^30 do not advance that counter */
    int nice;         /* -20 .. 19 */
    bool realtime;
    bool daemon;              /* the run does not wait for it */
    void (*entry)(void *arg); /* the thread ends when it returns */
    void *arg;
    void *user;
};

/* Callbacks of the kernel; each may be NULL. Called in time order per thread. They must not call the kernel. */
struct sim_observer {
    /* The thread came on core `core` (0 ..), or left it (core = -1). `blocked`: it left because it waits; else it was
     * preempted, was stopped, or ended. */
    void (*core)(void *ctx, struct sim_thread *t, int core, bool blocked, uint64_t now_ns);
    void *ctx;
};

/* NULL: out of memory. The observer may be NULL. */
struct sim_kernel *sim_kernel_open(const struct sim_kernel_options *options, const struct sim_observer *observer);

/* Frees the kernel and all threads. Fibers that have not returned are discarded. */
void sim_kernel_close(struct sim_kernel *k);

/* Starts a thread. In the fair schedule, a thread that another one starts reaches an idle core as late as a woken
 * thread does. Any. NULL: out of memory, or more than 2^20 threads alive. */
struct sim_thread *sim_thread_start(struct sim_kernel *k, const struct sim_thread_options *options);

/* Runs until the end. `error` then describes it in one line; for a deadlock: the cycle, with threads and locks by
 * name. */
enum sim_end sim_kernel_run(struct sim_kernel *k, struct strobe_error *error);

/* Continues a run that has ended at its limit, until `limit_ns`. Called where sim_kernel_run may be called. */
void sim_kernel_go_on(struct sim_kernel *k, uint64_t limit_ns);

/* Ends the run at the present time. Any. */
void sim_kernel_end(struct sim_kernel *k);

/* Ends the run because the running thread did something forbidden; `error` gets `why`. Does not return. Fiber. */
_Noreturn void sim_forbidden(const char *why);

/* The kernel opened or run last, until it is closed; and the running thread. NULL: none. Any. */
extern struct sim_kernel *sim_kernel_current;
struct sim_thread *sim_self(void);

/* Returns the lowest address of the running thread's stack, and its size. Fiber. */
void *sim_stack(size_t *bytes);

/* Returns the place in the kernel's calls where a thread stands that is not running. False: it runs or has ended, or
 * the place is unknown on this machine. Any. */
struct sim_fiber_place;
bool sim_place(const struct sim_thread *t, struct sim_fiber_place *out);

/* What ends the wait of a thread that is blocked. */
enum sim_blocked_by { SIM_BLOCKED_BY_NOTHING, SIM_BLOCKED_BY_TIME, SIM_BLOCKED_BY_DEVICE, SIM_BLOCKED_BY_THREAD };

/* Returns what a thread waits for; SIM_BLOCKED_BY_NOTHING for a thread that is not blocked. A wait for a thread may
 * also end by a timeout. Any. */
enum sim_blocked_by sim_blocked_by(const struct sim_thread *t);

/* Sets the niceness, -20 .. 19. Any. */
void sim_renice(struct sim_thread *t, int nice);

/* Makes the running thread a realtime thread. Fiber. */
void sim_become_realtime(void);

/* ---- time ---- */

/* Returns the time as the running thread sees it, its charges included. Any. */
uint64_t sim_now(void);

/* Uses a core for `ns`, and for earlier charges. Fiber. */
void sim_compute(uint64_t ns);

/* Charges the running thread `ns` without a switch. The thread's own time advances at once. Time advances for other
 * threads when this thread next computes, ends, or makes a call that others can notice: such calls begin by computing
 * the charges. Fiber; no effect outside. */
void sim_charge(uint64_t ns);

/* CPU time of a thread so far, including the part of the current compute that is done. Any. */
uint64_t sim_cpu_ns(const struct sim_thread *t);

/* The same, read by a system call. Where each core has a separate run queue, this ends the turn of a thread that is on
 * a core and has used its turn, if another thread is due: the kernel brings the times of a thread up to date before it
 * returns them, and then checks its deadline (task_sched_runtime and update_curr of Linux since 6.12). Any. */
uint64_t sim_read_cpu_ns(const struct sim_thread *t);

/* Uses a core for `ns` inside a system call: like sim_compute, but the thread counts as in the kernel for its CPU
 * timer. Fiber. */
void sim_compute_in_kernel(uint64_t ns);

/* ---- CPU timers ----
 *
 * A thread has at most one CPU timer. The timer calls `fn` on the thread itself, like a signal handler, each time the
 * thread has used another period_ns of CPU. This happens in the middle of a sim_compute, or where the thread computes
 * its charges. While fn runs, compute_ns and compute_left_ns of the thread describe the interrupted compute. fn may
 * charge the thread and compute, but must not block. A period that ends while fn runs is lost. A request by
 * sim_cpu_timer_ring() is kept, like a signal that is blocked during its handler: fn is called again when it returns.
 */

enum sim_cpu_timer_mode {
    SIM_CPU_TIMER_EXACT, /* like a task-clock event that counts user mode only: fires when it is due. A period that ends
                            inside a system call is lost */
    SIM_CPU_TIMER_TICK,  /* like a POSIX timer on a thread's CPU clock: the kernel checks it only at its ticks, for the
                            thread that is on a core then. Inside a system call it fires at the call's end */
};

struct sim_cpu_timer {
    enum sim_cpu_timer_mode mode;
    uint64_t period_ns; /* in CPU time of the thread, from now on; 0: no timer any more */
    uint64_t tick_ns;   /* TICK: the kernel's tick, at multiples of this time; 0: 4 ms */
    uint64_t cost_ns;   /* charged to the thread before each fn: the signal's entry and exit */
    void (*fn)(struct sim_thread *self, void *ctx);
    void *ctx;
};

/* Sets, changes or ends (period_ns == 0) the timer of a thread, the caller's or another's. Any. STROBE_GONE: the thread
 * has ended. */
enum strobe_status sim_cpu_timer(struct sim_thread *t, const struct sim_cpu_timer *timer);

/* Calls the fn that sim_cpu_timer last set, with a period or without, as soon as the thread has a core again. This is
 * like a signal to a preempted thread; the timer's periods continue unchanged. STROBE_UNSUPPORTED: the thread does not
 * wait for a core in the middle of computing or of fn, or has no fn. STROBE_GONE: it has ended. Any. */
enum strobe_status sim_cpu_timer_ring(struct sim_thread *t);

/* Counts of the thread's timer: calls of fn, and ends of periods without a call. A period's end has no call when it
 * falls into a system call, or when another period ended before fn could be called. Any. */
struct sim_cpu_timer_stats {
    uint64_t fired, missed;
};
struct sim_cpu_timer_stats sim_cpu_timer_stats(const struct sim_thread *t);

/* ---- sleeping and yielding ---- */

/* Sleeps until the absolute time. Fiber. */
enum sim_wake sim_sleep_until(uint64_t deadline_ns);

/* Waits `latency_ns` for a device; not interruptible. Fiber. */
enum sim_wake sim_io(uint64_t latency_ns);

/* Gives up the core, to the end of the run queue. Fiber. */
void sim_yield(void);

/* Uses the core for the running thread's charges. A thread that it has woken and that preempts it runs first. Called
 * where a system call that wakes threads returns. Fiber. */
void sim_leave_kernel(void);

/* Calls fn(ctx) at that time, between fibers. Any. STROBE_IO: out of memory. */
enum strobe_status sim_at(struct sim_kernel *k, uint64_t time_ns, void (*fn)(void *ctx), void *ctx);

/* Ends an interruptible wait (sleep, condition, semaphore, park) of `t`. Has no effect when it is in no such wait.
 * Any. */
void sim_interrupt(struct sim_thread *t);

/* ---- locks and waits: fiber, unless said otherwise ----
 *
 * Objects are zero at first use except for their name, and live until the kernel closes. A timeout of UINT64_MAX waits
 * for ever. Timeouts are spans.
 *
 * Mutexes behave like those of the GNU C library (nptl/lowlevellock.h), whose word says whether a thread may wait. A
 * release frees the mutex and, when a thread may wait, wakes the longest waiter. A thread that takes the free mutex
 * meanwhile overtakes that waiter. Its own releases wake no thread until the waiter has run, found the mutex taken and
 * marked it as contended again. So at most one waiter of a mutex is woken at a time. */

struct sim_waiters {
    struct sim_thread_inside *first, *last;
};

struct sim_mutex {
    const char *name;
    bool recursive;
    struct sim_thread *owner;
    uint32_t depth;
    bool contended;                 /* the next release wakes a waiter */
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
    struct sim_thread *released_by; /* by a writer, or by the last reader */
    uint64_t released_ns;
    struct sim_thread *written_by; /* the last writer to release: the waker of readers */
    uint64_t written_ns;
    struct sim_waiters waiters;
};
enum sim_wake sim_rwlock_read(struct sim_rwlock *l);
enum sim_wake sim_rwlock_write(struct sim_rwlock *l);
bool sim_rwlock_try_read(struct sim_rwlock *l);
bool sim_rwlock_try_write(struct sim_rwlock *l);
void sim_rwlock_unlock(struct sim_rwlock *l); /* by the writer, or by one of the readers */

/* Waits with the mutex released (from whatever depth it is held), and returns with it held again. THREAD: waker and
 * woken_ns are those of the notify. Taking the mutex again does not change them. */
struct sim_cond {
    const char *name;
    struct sim_waiters waiters;
};
enum sim_wake sim_cond_wait(struct sim_cond *c, struct sim_mutex *m, uint64_t timeout_ns);
/* Return the number of threads woken. sim_cond_notify wakes the longest waiter; in the adversarial schedule the seed
 * selects it. */
uint32_t sim_cond_notify(struct sim_cond *c);
uint32_t sim_cond_notify_all(struct sim_cond *c);

/* giver: the only thread that posts it, NULL when unknown. */
struct sim_sem {
    const char *name;
    uint32_t count;
    struct sim_thread *giver;
    struct sim_waiters waiters;
};
enum sim_wake sim_sem_wait(struct sim_sem *s, uint64_t timeout_ns);
bool sim_sem_try(struct sim_sem *s);  /* false: there is no unit, and the thread does not wait */
void sim_sem_post(struct sim_sem *s); /* any */

/* Like Unsafe.park: one permit per thread. unpark: any. */
enum sim_wake sim_park(uint64_t timeout_ns);
void sim_unpark(struct sim_thread *t);

/* Waits for the end of a thread. */
enum sim_wake sim_join(struct sim_thread *t);

/* ---- stops ----
 *
 * The basis of the engine's suspend. The caller blocks until the target is stopped or the timeout passes. */

enum sim_stop_mode {
    SIM_STOP_SIGNAL,  /* like a signal handler: takes effect signal_ns later, when the target is on a core. A blocked
                         target is scheduled for it, and if its wait is interruptible, that wait ends */
    SIM_STOP_AT_ONCE, /* like Mach's thread_suspend: in any state */
};

/* STROBE_OK: stopped; compute_left_ns and registers do not change. STROBE_LATE: not stopped in time, and the request is
 * withdrawn. Also STROBE_LATE at once when the target is stopped already or another thread is stopping it. STROBE_GONE:
 * it has ended. The target must not be the caller. Fiber. */
enum strobe_status sim_stop(struct sim_thread *t, enum sim_stop_mode mode, uint64_t timeout_ns);

/* Charges a stopped thread that will run on: it uses `ns` of a core before its current compute continues. False: it is
 * not stopped, or it waits. Any. */
bool sim_charge_stopped(struct sim_thread *t, uint64_t ns);

/* Continues a stopped thread. STROBE_NO_ENTRY: it was not stopped. Any. */
enum strobe_status sim_continue(struct sim_thread *t);

/* Sets the thread that is expected to continue a stopped thread, instead of the thread that stopped it (NULL: no
 * particular thread). The deadlock search uses it: a thread that waits for what a stopped thread holds, waits for `by`.
 * If `by` itself waits so, the run ends as a deadlock, although another thread could still continue the stopped one.
 * Any. */
void sim_held_by(struct sim_thread *t, struct sim_thread *by);

/* Number of threads stopped now. Any. */
uint32_t sim_stopped_count(const struct sim_kernel *k);

/* Ends a thread where it stands, like a crash: it runs no more, and its locks stay locked. Any context except the
 * thread itself. */
void sim_kill(struct sim_thread *t);

/* ---- counters ---- */

struct sim_kernel_stats {
    uint64_t switches, events, preemptions, atomic_preemptions;
};
struct sim_kernel_stats sim_kernel_stats(const struct sim_kernel *k);

#endif
