/* What the tracer's work costs the app, ns of one core each: measured on a real machine by bench/costs.c (`make
 * bench` shows them, `make costs` stores them in fixtures/costs), charged in virtual time.
 *
 * A table is a JSON file of one flat object: the members of struct sim_costs by name, numbers not below 0, each once,
 * and the texts "machine" and "measured_with" for people. Nothing else may be in it. */
#ifndef STROBE_SIM_RUNTIME_COSTS_H
#define STROBE_SIM_RUNTIME_COSTS_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sim_costs {
    double hook;             /* getting to a hook and back, with a skipped event */
    double clock;            /* one clock read: an event that the gate looks at */
    double thread_clock;     /* one read of a thread's CPU clock */
    double usage;            /* one getrusage */
    double scope;            /* begin and end of a scope that is not recorded, without its clock reads */
    double sample;           /* a sample at a hook: walk, intern, record, without its frames */
    double frame;            /* each frame that is walked and interned anew */
    double frame_known;      /* each frame that is as it was */
    double release;          /* a release that somebody waits for, without its sample */
    double look;             /* the sampler's look at one thread, without its clock read */
    double suspend;          /* sampler: request until the thread is stopped */
    double suspend_target;   /* target: handler's entry and exit */
    double copy;             /* sampler: copy of a stack while the thread is stopped, fixed part */
    double copy_kib;         /* ... for each KiB */
    double resume;
    double unwind_frame;     /* sampler: each frame of a copied stack, interned */
    double probe;            /* an instrumented method's enter or exit, into a log whose clock others keep */
    double probe_other;      /* ... of a thread that the log does not follow */
    double mark;             /* an enter or exit written with its name into a ring, without its clock read */
    double call_record;      /* a record of a call at its exit, without its clock reads */
};

/* Reads a table; every member must be there. `why` gets "FILE: what was expected". */
enum strobe_status sim_costs_read(const char *path, struct sim_costs *out, char *why, size_t why_bytes);

/* The table that is used when none is named: the same as fixtures/costs/x86-64.json, built in. */
extern const struct sim_costs sim_costs_default;

#endif
