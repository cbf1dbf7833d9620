/* The kernel's insides, shared by its files: what a thread, a core and the kernel are made of, and the steps that the
 * files ask of each other.
 *
 * One fiber runs at a time. When its thread gives up control (sim_leave), events are taken in order of time, on the
 * stack of that same fiber, until some thread is to go on; then the switch is straight to that thread's fiber, or
 * there is none when it is the same. While events are taken `running` is NULL, so that sim_self tells the truth to
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
    struct sim_thread_inside *thread;    /* on it, or on its way; NULL = idle */
    struct sim_thread_inside *last;      /* that was on it */
    struct sim_thread_inside *displaced; /* by a realtime thread, which comes back when that one goes */
    bool arriving;                       /* the switch to `thread` still costs */
    uint64_t slice_end_ns;
    uint64_t idle_since_ns; /* while it has no thread */

    /* Its line, in a schedule with a line for each core (lines.c). */
    struct sim_thread_inside *line_first, *line_last;
    uint32_t line_ready; /* threads in it that could run */
    uint64_t average_ns; /* what each of its threads is due, when it was looked at last */
    uint64_t balance_ns; /* when it compares its line with others again */
    bool fell_idle;      /* it has not looked at other lines since */
    bool gives_way;      /* a thread that preempts its thread has come to the line */
};

struct sim_thread_inside {
    struct sim_thread shown;
    struct sim_kernel *kernel;
    struct sim_thread_inside *next_all;
    struct sim_fiber fiber;
    void (*entry)(void *arg);
    void *arg;
    bool realtime, daemon;
    bool was_started; /* by another thread, not before the run */

    /* Processor time. */
    struct sim_core *core, *last_core;
    uint64_t left_ns;  /* of debt and compute, as of since_ns */
    uint64_t since_ns; /* on the core, up to here accounted */
    uint64_t cpu_ns;
    uint64_t weight, fair_ns;        /* fair_ns: CPU time weighted */
    struct sim_node ready;           /* in the line for a core */
    struct sim_core *displaced_from; /* not in the line, but to come back to this one */
    bool woken_late;                 /* on its way to an idle core, by another thread's call */
    uint64_t rank;                   /* adversary: in the line, by priorities */
    struct sim_core *in_line;        /* of the core: see lines.c; NULL = in none */
    struct sim_thread_inside *line_next, *line_previous;
    uint64_t deadline_ns, turn_end_ns; /* of fair_ns */
    int64_t lag_ns;                    /* when it left its line: what it was due and had not had */
    uint64_t left_core_ns;
    bool lingers; /* in a line although it waits */

    /* Its CPU timer. */
    struct sim_cpu_timer clock; /* period_ns == 0: it has none */
    uint64_t clock_due_ns;      /* of its CPU time */
    bool clock_rings;           /* fn is to be called once the thread is in control, in no system call */
    bool clock_busy;            /* fn is being called */
    bool in_kernel;             /* what it computes is a system call's */
    struct sim_cpu_timer_stats clock_stats;

    /* The wait it is in. */
    enum sim_wait waits;
    const void *object;
    struct sim_waiters *line;
    struct sim_thread_inside *next, *previous;
    struct sim_node timer;
    enum sim_wake wake;
    uint64_t leaves_wait_ns; /* CPU time that it needs yet to leave its wait */
    bool spurious;           /* its timer ends the wait for no reason */
    bool delayed;            /* ready, but not before its timer */
    bool permit;             /* park's */
    enum sim_wait taking;    /* woken to take a lock: which kind, and which */
    void *taken;
    struct sim_waiters joiners;

    /* Stops. */
    struct sim_thread_inside *stopper;  /* waits for this thread to stop */
    struct sim_thread_inside *stopping; /* as stopper: whom */
    enum strobe_status stop_status;     /* as stopper: what came of it */
    struct sim_node signal;             /* on its way to this thread */
    bool stop_due;                      /* stops when next on a core */
    bool errand;                        /* blocked, in line for a core for the signal only */
    bool stopped;
    const struct sim_thread *held_by; /* stopped: who is to let it go */
    uint64_t held_since_ns;

    /* The search for a circle of waits that met it last, and by way of whom; who is to be looked at after it. */
    uint64_t search;
    struct sim_thread_inside *search_from, *search_next;
};

struct sim_call;

struct sim_kernel {
    struct sim_kernel_options options;
    struct sim_observer observer;
    uint64_t now_ns;
    struct sim_thread_inside *running; /* executes; NULL while events are taken */
    struct sim_heap events;
    struct sim_core *due_now;    /* its event comes before all in the heap */
    struct sim_heap_entry taken; /* out of the heap already and next; no node: none is */
    struct sim_heap ready;
    struct sim_core cores[64];
    bool has_lines;                 /* each core has a line of its own */
    uint32_t idle_cores, displaced; /* displaced: threads that stand beside a core */
    uint64_t fair_floor_ns;         /* nobody who can run has had less */
    struct sim_fiber outside;
    struct sim_fiber *host;    /* the fiber that executes or takes events */
    struct sim_fiber *remains; /* of a thread that ended on it: to be closed after the next switch */
    struct sim_thread_inside *all, **all_end;
    struct sim_call *calls; /* for reuse */
    uint32_t calls_due;
    uint32_t count, alive, awaited; /* threads ever; not ended; of these no daemons */
    uint32_t next_tid, stopped;
    uint64_t searches;
    struct sim_node limit;
    bool ended;
    enum sim_end end;
    struct strobe_error error; /* of a run that ended in a deadlock or by a forbidden call */
    struct sim_kernel_stats stats;
    struct sim_random random; /* adversary */
    struct sim_random chance; /* lateness */
    int64_t busy_average;     /* cores that are busy, on average, in 2^-20 of one (lines.c) */
    uint64_t busy_since_ns;   /* up to here */
    bool by_priority;
    uint64_t fuse_scale, lowest_rank;
};

/* ---- schedule.c */

uint64_t sim_weight(int nice);
void sim_account(const struct sim_kernel *k, struct sim_thread_inside *t);
void sim_leave(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_make_ready(struct sim_kernel *k, struct sim_thread_inside *t);
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

/* The running thread of a call that is a fiber's, what it was charged computed. */
static inline struct sim_thread_inside *sim_enter(void)
{
    struct sim_kernel *k = sim_kernel_current;
    assert(k && k->running);
    if (k->running->shown.debt_ns)
        sim_pay_debt(k, k->running);
    return k->running;
}

/* The same for a call that anyone makes: NULL outside fibers. */
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
void sim_bury(struct sim_thread_inside *t, struct sim_thread_inside *by);

/* ---- deadlock.c */

void sim_deadlock_check(struct sim_kernel *k, struct sim_thread_inside *t);
void sim_deadlock_report_all(struct sim_kernel *k);

/* ---- adversary.c: what the real world leaves open */

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
