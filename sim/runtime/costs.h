/* What the tracer's work costs the app, ns of one core each: measured on a real machine by bench/costs/costs.c (`make
 * bench` shows them, `make costs` stores them in fixtures/costs), charged in virtual time.
 *
 * It also holds how the machine itself takes time: how late threads are woken and stopped, what a call that blocks
 * costs, how long a thread keeps a processor that others want.
 *
 * A table is a JSON file of one object: the members of struct sim_costs by name, each once, and the texts "machine" and
 * "measured_with" for people. Nothing else may be in the object. A member is, by its type:
 *
 *     double                     a number not below 0
 *     struct sim_span_cost       a list of such numbers, one for each of the SIM_WAIT_SPANS lengths of a wait
 *     struct sim_lateness        a list of its SIM_LATENESS_POINTS figures: whole numbers of ns that do not fall
 *     struct sim_span_lateness   a list of such lists, one for each length of a wait */
#ifndef STROBE_SIM_RUNTIME_COSTS_H
#define STROBE_SIM_RUNTIME_COSTS_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "sim/kernel/lateness.h"

#include <stddef.h>
#include <stdint.h>

struct sim_costs {
    double hook;           /* getting to a hook and back, with a skipped event */
    double clock;          /* one clock read: an event that the gate looks at */
    double thread_clock;   /* one read of a thread's CPU clock */
    double usage;          /* one getrusage */
    double scope;          /* begin and end of a scope that is not recorded, without its clock reads */
    double sample;         /* a sample at a hook: walk, intern, record, without its frames */
    double frame;          /* each frame that is walked and interned anew */
    double frame_known;    /* each frame that is as it was */
    double release;        /* a release that somebody waits for, without its sample */
    double look;           /* the sampler's look at one thread, without its clock read */
    double suspend;        /* sampler: request until the thread is stopped */
    double suspend_target; /* target: handler's entry and exit */
    double tick;           /* target: a signal of its CPU clock: the timer's interrupt, handler's entry and exit */
    double tick_sample;    /* ... the engine in that handler, whose code and data the caches have lost since the tick
                            * before; without its clock reads and frames */
    double copy;           /* sampler: copy of a stack while the thread is stopped, fixed part */
    double copy_kib;       /* ... for each KiB */
    double resume;
    double unwind_frame; /* sampler: each frame of a copied stack, interned */
    double probe;        /* an instrumented method's enter or exit, into a log whose clock others keep */
    double probe_other;  /* ... of a thread that the log does not follow */
    double mark;         /* an enter or exit written with its name into a ring, without its clock read */
    double call_record;  /* a record of a call at its exit, without its clock reads */
    double stop_far;     /* as suspend, suspend_target and resume, of a thread on another processor */
    double stop_far_target;
    double resume_far;
    double sampler_wake;      /* sampler: a sleep of 4 ms and the pass after it, over one thread that has no news */
    double sampler_wake_soon; /* ... of 1 ms: the caches hold more of what a pass needs */
    double start_call;        /* the start of a thread: of the one that starts it */
    double start_own;         /* ... of the thread itself, before its own code */
    double end_own;           /* ... and after it; both in the kernel for the most part */
    double attach;            /* a recorded thread's begin: it is registered, with the sample that is taken then */
    double detach;            /* its end, with the sample that is taken then */
    double clock_start;       /* sampler: gives a thread a CPU clock that ticks */
    double clock_end;         /* ... takes it back after the thread's end */
    double slice;             /* how long a thread keeps its processor while another wants it */
    double turn;              /* what a thread asks its processor for at a time; 0: the processors share one line */
    struct sim_span_cost wait_record;    /* the hooks of a wait, all in all: the caches lose their code meanwhile */
    struct sim_span_cost tick_wait;      /* a wait of a thread with a CPU clock, whose timer is stopped and set again */
    struct sim_span_cost sleep_call;     /* the app's thread: a sleep, in the kernel */
    struct sim_span_cost device_call;    /* ... a read that waits */
    struct sim_span_cost wake_call;      /* ... a call that wakes a thread on an idle processor */
    struct sim_span_cost wait_call;      /* ... a wait that another thread ends */
    struct sim_lateness sampler_late;    /* the sampler's wake-up */
    struct sim_lateness stop_late;       /* from the sampler's request until a thread on another processor stands */
    struct sim_span_lateness sleep_late; /* the end of a sleep */
    struct sim_span_lateness device_late; /* the end of a wait for a device */
    struct sim_span_lateness wake_late;   /* a thread that another one wakes */
};

/* Reads a table; every member must be there. `error` gets "FILE: what was expected". */
enum strobe_status sim_costs_read(const char *path, struct sim_costs *out, struct strobe_error *error);

/* What the kernel needs of it. */
struct sim_machine;
void sim_costs_machine(const struct sim_costs *costs, struct sim_machine *out);

/* The table that is used when none is named: the same as fixtures/costs/x86-64.json, built in. */
extern const struct sim_costs sim_costs_default;

#endif
