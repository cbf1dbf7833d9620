/* The costs of a tracer, in ns of one core each. bench/costs/costs.c measures them on a real machine (`make bench`
 * shows them, `make costs` stores them in fixtures/costs). Virtual time charges them.
 *
 * The table also describes the machine: the lateness of wake-ups and stops, the cost of a call that blocks, and how
 * long a thread keeps a core that others want.
 *
 * A table is a JSON file with one object. It has the members of struct sim_costs by name, each once, and the texts
 * "machine" and "measured_with" for people. Other members are not allowed. The value of a member depends on its type:
 *
 *   double                     a number >= 0
 *   struct sim_span_cost       a list of such numbers, one for each of the SIM_WAIT_SPANS lengths of a wait
 *   struct sim_lateness        a list of SIM_LATENESS_POINTS whole numbers of ns, not decreasing
 *   struct sim_span_lateness   a list of such lists, one for each length of a wait */
#ifndef STROBE_SIM_RUNTIME_COSTS_H
#define STROBE_SIM_RUNTIME_COSTS_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/kernel/lateness.h"

#include <stddef.h>
#include <stdint.h>

struct sim_costs {
    double hook;           /* entry to a hook and return, with a skipped event */
    double clock;          /* one clock read: an event that reaches the gate */
    double thread_clock;   /* one read of a thread's CPU clock */
    double usage;          /* one getrusage */
    double scope;          /* begin and end of a scope that is not recorded, without its clock reads */
    double sample;         /* a sample at a hook: walk, intern, record; without its frames */
    double frame;          /* each frame that is walked and interned and differs from the last sample */
    double frame_known;    /* each frame that equals the last sample's */
    double release;        /* a release that a thread waits for, without its sample */
    double look;           /* sampler: poll of one thread, without its clock read */
    double suspend;        /* sampler: request until the thread is stopped */
    double suspend_target; /* target: entry and exit of the handler */
    double tick;           /* target: a signal of its CPU clock: the timer's interrupt, entry and exit of the handler */
    double tick_sample;    /* ... the engine in that handler, with cold caches since the last tick; without its clock
                              reads and frames */
    double copy;           /* sampler: copy of a stack while the thread is stopped, fixed part */
    double copy_kib;       /* ... for each KiB */
    double resume;
    double unwind_frame; /* sampler: each frame of a copied stack, interned */
    double probe;        /* enter or exit of an instrumented method, into a log whose clock another thread updates */
    double probe_other;  /* ... on a thread that the log does not follow */
    double mark;         /* an enter or exit written with its name into a ring, without its clock read */
    double call_record;  /* a record of a call at its exit, without its clock reads */
    double stop_far;     /* suspend, suspend_target and resume of a thread on another core */
    double stop_far_target;
    double resume_far;
    double sampler_wake;      /* sampler: a sleep of 4 ms and the pass after it, over one thread without new samples */
    double sampler_wake_soon; /* ... a sleep of 1 ms: the caches are warmer */
    double start_call;        /* start of a thread: CPU time of the starter */
    double start_own;         /* ... of the new thread, before its own code; mostly in the kernel */
    double end_own;           /* ... of the ending thread, after its own code; mostly in the kernel */
    double attach;            /* begin of a recorded thread: registration, and the sample taken then */
    double detach;            /* end of a recorded thread, with the sample taken then */
    double clock_start;       /* sampler: starts a ticking CPU clock for a thread */
    double clock_end;         /* ... removes it after the thread's end */
    double slice;             /* how long a thread keeps its core while another thread wants it */
    double turn;              /* the turn that a thread requests from its core; 0: all cores share one run queue */
    struct sim_span_cost wait_record;    /* the hooks of a wait in total; their code leaves the caches meanwhile */
    struct sim_span_cost tick_wait;      /* a wait of a thread with a CPU clock, whose timer is stopped and set again */
    struct sim_span_cost sleep_call;     /* the app's thread: a sleep, in the kernel */
    struct sim_span_cost device_call;    /* ... a read that waits */
    struct sim_span_cost wake_call;      /* ... a call that wakes a thread on an idle core */
    struct sim_span_cost wait_call;      /* ... a wait that another thread ends */
    struct sim_lateness sampler_late;    /* lateness of the sampler's wake-up */
    struct sim_lateness stop_late;       /* from the sampler's request until a thread on another core is stopped */
    struct sim_span_lateness sleep_late; /* lateness of the end of a sleep */
    struct sim_span_lateness device_late; /* lateness of the end of a wait for a device */
    struct sim_span_lateness wake_late;   /* lateness of a thread that another one wakes */
};

/* Reads a table, which must have every member. `error` gets "FILE: what was expected". */
enum strobe_status sim_costs_read(const char *path, struct sim_costs *out, struct strobe_error *error);

/* Fills in the kernel's part of a table. */
struct sim_machine;
void sim_costs_machine(const struct sim_costs *costs, struct sim_machine *out);

/* The default table: the same as fixtures/costs/x86-64.json, built in. */
extern const struct sim_costs sim_costs_default;

#endif
