/* The kernel's internals, shared by its files: the data of threads, cores and kernel, and the functions that the files
 * call in each other.
 *
 * One fiber runs at a time. When its thread gives up control (sim_leave), the kernel handles events in time order, on
 * the stack of that same fiber, until some thread can run. It then switches directly to that thread's fiber, or does
 * not switch when it is the same fiber. While events are handled `running` is NULL, so sim_self returns NULL in
 * callbacks. */
#ifndef STROBE_SIM_KERNEL_INSIDE_H
#define STROBE_SIM_KERNEL_INSIDE_H

#include "engine/base/error.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/heap.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/random.h"

#include <assert.h>

enum sim_event { SIM_EVENT_CORE, SIM_EVENT_TIMER, SIM_EVENT_SIGNAL, SIM_EVENT_CALL, SIM_EVENT_LIMIT };

enum sim_wait {
    SIM_WAIT_NONE,
    SIM_WAIT_SLEEP,
    SIM_WAIT_COND,
    SIM_WAIT_SEM,
    SIM_WAIT_PARK, /* interruptible */
    SIM_WAIT_IO,
    SIM_WAIT_MUTEX,
    SIM_WAIT_READ,
    SIM_WAIT_WRITE,
    SIM_WAIT_JOIN,
    SIM_WAIT_STOP,
};

struct sim_core {
    struct sim_node event;
    uint32_t index;
    struct sim_thread_inside *thread;    /* on it, or arriving; NULL: idle */
    struct sim_thread_inside *last;      /* the last thread on it */
    struct sim_thread_inside *displaced; /* the thread that a realtime thread displaced; it returns when the realtime
                                            thread leaves */
    bool arriving;                       /* the switch to `thread` is not paid yet */
    uint64_t slice_end_ns;
    uint64_t idle_since_ns; /* while it has no thread */

    /* Its run queue ("line"), in a schedule with a line for each core (lines.c). */
    struct sim_thread_inside *line_first, *line_last;
    uint32_t line_ready;      /* runnable threads in the line */
    uint64_t average_ns;      /* virtual time due to each thread of the line, as last computed */
    uint64_t balance_ns;      /* when the core next balances its line with others */
    uint32_t failed_balances; /* attempts in a row that found too much load elsewhere but no thread to take */
    bool fell_idle;           /* the core became idle and has not tried to pull from other lines since */
    bool gives_way;           /* a thread that preempts `thread` has entered the line */
};

struct sim_thread_inside {
    struct sim_thread shown;
    struct sim_kernel *kernel;
    struct sim_thread_inside *next_all;
    struct sim_fiber fiber;
    void (*entry)(void *arg);
    void *arg;
    bool realtime, daemon;
    bool was_started; /* by another thread, during the run */

    /* CPU time. */
    struct sim_core *core, *last_core;
    uint64_t left_ns;  /* of debt and compute, at since_ns */
    uint64_t since_ns; /* on the core; accounted up to here */
    uint64_t cpu_ns;
    uint64_t weight, fair_ns;        /* fair_ns: weighted CPU time */
    struct sim_node ready;           /* node in the common run queue */
    struct sim_core *displaced_from; /* waits to return to this core; is not in the run queue */
    bool woken_late;                 /* moving to an idle core after a wake-up by another thread */
    uint64_t rank;                   /* adversary: rank in the run queue, by priorities */
    struct sim_core *in_line;        /* the core in whose line it is (lines.c); NULL: in no line */
    struct sim_thread_inside *line_next, *line_previous;
    uint64_t deadline_ns, turn_end_ns; /* in units of fair_ns */
    int64_t lag_ns;                    /* when it left its line: time that was due to it less time that it got */
    uint64_t left_core_ns;
    bool lingers; /* in a line although it is blocked */
    int64_t load; /* part of the time for which it was runnable, a decaying average in units of 2^-20 (lines.c) */
    uint64_t load_at_ns;
    bool loads; /* runnable since load_at_ns */

    /* Its CPU timer. */
    struct sim_cpu_timer clock; /* period_ns == 0: no timer */
    uint64_t clock_due_ns;      /* in CPU time of the thread */
    bool clock_rings;           /* fn must be called as soon as the thread has control and is in no system call */
    bool clock_busy;            /* fn is running */
    bool in_kernel;             /* its current compute belongs to a system call */
    struct sim_cpu_timer_stats clock_stats;

    /* The current wait. */
    enum sim_wait waits;
    const void *object;
    struct sim_waiters *line;
    struct sim_thread_inside *next, *previous;
    struct sim_node timer;
    enum sim_wake wake;
    uint64_t leaves_wait_ns; /* CPU time that it still needs to leave its wait */
    bool spurious;           /* its timer ends the wait spuriously */
    bool delayed;            /* ready, but only after its timer */
    bool permit;             /* permit of sim_park */
    enum sim_wait taking;    /* woken to take a lock: the kind of lock, and the lock */
    void *taken;
    struct sim_waiters joiners;

    /* Stops. */
    struct sim_thread_inside *stopper;  /* the thread that waits for this thread to stop */
    struct sim_thread_inside *stopping; /* as stopper: the target */
    enum strobe_status stop_status;     /* as stopper: the result */
    struct sim_node signal;             /* signal that is under way to this thread */
    bool stop_due;                      /* stops when it is next on a core */
    bool errand;                        /* blocked, and in the run queue only to handle the signal */
    bool stopped;
    const struct sim_thread *held_by; /* stopped: the thread that is expected to continue it */
    uint64_t held_since_ns;

    /* The last search for a cycle of waits that reached this thread, the thread it came from, and the next thread to
     * visit. */
    uint64_t search;
    struct sim_thread_inside *search_from, *search_next;
};

struct sim_call;

struct sim_kernel {
    struct sim_kernel_options options;
    struct sim_observer observer;
    uint64_t now_ns;
    struct sim_thread_inside *running; /* the executing thread; NULL while events are handled */
    struct sim_heap events;
    struct sim_core *due_now;    /* a core whose event comes before all events in the heap */
    struct sim_heap_entry taken; /* the next event, already removed from the heap; node NULL: none */
    struct sim_heap ready;
    struct sim_core cores[64];
    bool has_lines;                 /* each core has a separate line */
    uint32_t idle_cores, displaced; /* displaced: number of threads that wait to return to a core */
    uint64_t fair_floor_ns;         /* no runnable thread has a lower fair_ns */
    struct sim_fiber outside;
    struct sim_fiber *host;    /* the fiber that executes or handles events */
    struct sim_fiber *remains; /* fiber of an ended thread, to be closed after the next switch */
    struct sim_thread_inside *all, **all_end;
    struct sim_call *calls; /* free list */
    uint32_t calls_due;
    uint32_t count, alive, awaited; /* threads ever started; not ended; not ended and no daemon */
    uint32_t next_tid, stopped;
    uint64_t searches;
    struct sim_node limit;
    bool ended;
    enum sim_end end;
    struct strobe_error error; /* of a run that ended in a deadlock or by a forbidden call */
    struct sim_kernel_stats stats;
    struct sim_random random; /* of the adversary */
    struct sim_random chance; /* of the lateness */
    int64_t busy_average;     /* average number of busy cores, in units of 2^-20 core (lines.c) */
    uint64_t busy_since_ns;   /* end of the time that the average covers */
    bool by_priority;
    uint64_t fuse_scale, lowest_rank;
    uint64_t walk_turn; /* adversary: number of keys of a random walk so far */
};

/* ---- schedule.c */

uint64_t sim_weight(int nice);
void sim_account(const struct sim_kernel *k, struct sim_thread_inside *t);
void sim_leave(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_make_ready(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_check_turn(struct sim_thread_inside *t);
void sim_off_core(struct sim_kernel *k, struct sim_thread_inside *t, bool blocked);
void sim_refill(struct sim_kernel *k);
void sim_leave_line(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_after_switch(struct sim_kernel *k);
uint32_t sim_events_most(const struct sim_kernel *k);
void sim_replan(struct sim_kernel *k, struct sim_core *core);
void sim_calls_free(struct sim_kernel *k);
void sim_finish_run(struct sim_kernel *k, enum sim_end end);
void sim_pay_debt(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_delay(struct sim_kernel *k, struct sim_thread_inside *t, uint64_t ns);

/* Returns the running thread, after it has computed its debt. For calls of context "fiber". */
static inline struct sim_thread_inside *sim_enter(void)
{
    struct sim_kernel *k = sim_kernel_current;
    assert(k && k->running);
    if (k->running->shown.debt_ns)
        sim_pay_debt(k, k->running);
    return k->running;
}

/* The same for calls of any context. Returns NULL outside fibers. */
static inline struct sim_thread_inside *sim_enter_any(struct sim_kernel *k)
{
    if (k->running && k->running->shown.debt_ns)
        sim_pay_debt(k, k->running);
    return k->running;
}

static inline uint64_t sim_later(uint64_t now_ns, uint64_t span_ns)
{
    return span_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + span_ns;
}

/* ---- lines.c */

void sim_line_open(struct sim_core *core);
void sim_line_add(struct sim_core *core, struct sim_thread_inside *t);
void sim_line_drop(struct sim_thread_inside *t);
struct sim_thread_inside *sim_line_take(const struct sim_kernel *k, struct sim_core *core);
bool sim_line_gives_way(const struct sim_kernel *k, struct sim_core *core, bool asked);
bool sim_line_preempts(const struct sim_kernel *k, struct sim_core *core, const struct sim_thread_inside *t);
void sim_line_leave(const struct sim_kernel *k, struct sim_thread_inside *t, bool blocked);
struct sim_core *sim_line_come(struct sim_kernel *k, struct sim_thread_inside *t);
struct sim_thread_inside *sim_line_pull(struct sim_kernel *k, struct sim_core *core);
void sim_line_note_busy(struct sim_kernel *k);
void sim_line_balance(struct sim_kernel *k, struct sim_core *core);

/* ---- cpu_timer.c */

uint64_t sim_cpu_timer_due(const struct sim_kernel *k, const struct sim_thread_inside *t);
bool sim_cpu_timer_check(struct sim_thread_inside *t);
void sim_cpu_timer_call(struct sim_thread_inside *t);

/* ---- sync.c */

enum sim_wake sim_block(struct sim_thread_inside *t, enum sim_wait wait, const void *object, struct sim_waiters *line,
                        uint64_t deadline_ns);
void sim_rouse(struct sim_thread_inside *t, enum sim_wake how, struct sim_thread_inside *waker);
void sim_end_wait(struct sim_thread_inside *t);
void sim_rouse_all(struct sim_waiters *line, struct sim_thread_inside *waker);
void sim_pass_on(struct sim_thread_inside *t);
static inline bool sim_interruptible(const struct sim_thread_inside *t)
{
    return t->waits >= SIM_WAIT_SLEEP && t->waits <= SIM_WAIT_PARK;
}

/* ---- stop.c */

void sim_stop_taken(struct sim_thread_inside *t);
void sim_stop_withdraw(struct sim_thread_inside *t);
void sim_signal_due(struct sim_thread_inside *t);
void sim_retire(struct sim_thread_inside *t, struct sim_thread_inside *by);

/* ---- deadlock.c */

void sim_deadlock_check(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_deadlock_report_all(struct sim_kernel *k);

/* ---- adversary.c: choices of the adversarial schedule */

void sim_adversary_open(struct sim_kernel *k);
void sim_adversary_meet(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_adversary_arm(struct sim_kernel *k);
void sim_adversary_rest(void);
uint64_t sim_adversary_slice(struct sim_kernel *k);
uint64_t sim_adversary_compute(struct sim_kernel *k, uint64_t ns);
uint64_t sim_adversary_line_key(struct sim_kernel *k, struct sim_thread_inside *t);
bool sim_adversary_preempts(struct sim_kernel *k, const struct sim_thread_inside *woken,
                            const struct sim_thread_inside *on_core);
bool sim_adversary_spurious(struct sim_kernel *k, uint64_t *after_ns);
struct sim_thread_inside *sim_adversary_waiter(struct sim_kernel *k, const struct sim_waiters *line);
uint64_t sim_adversary_signal(struct sim_kernel *k);
struct sim_core *sim_adversary_core(struct sim_kernel *k);

#endif
