/* What the pieces of bench/costs/costs.c share: each measures some members of struct sim_costs, a short while at a
 * time.
 *
 * A round takes a few ms and stores one figure for each member it knows; main runs many rounds of all pieces in turn
 * and takes medians, so that a busy stretch of the machine spoils some rounds of all and not all rounds of some.
 * Main thread only. Figures are ns of CPU time. */
#ifndef STROBE_BENCH_COSTS_COSTS_H
#define STROBE_BENCH_COSTS_COSTS_H

#include "sim/runtime/costs.h"

#include <stdbool.h>

/* Hooks' side: clocks, scopes, samples, looks, copies. */
void costs_engine_prepare(void);
void costs_engine_round(struct sim_costs *out);

/* Stopping a thread. `look` and what the engine's side measures is not touched. */
void costs_stop_prepare(void);
void costs_stop_round(struct sim_costs *out);

/* CPU clocks that send signals; 0 where the machine lets nobody have one. */
void costs_tick_prepare(void);
void costs_tick_round(struct sim_costs *out);

/* The start and the end of a thread: of the thread that starts it, and of itself before and after its own code. */
struct costs_start {
    double call, begin, end;
};
void costs_start_round(struct sim_costs *out);

/* In a recorded process: what the engine adds. False: it is none. */
bool costs_start_recorded(struct costs_start *out);

/* Probes of instrumented methods. */
void costs_method_prepare(void);
void costs_method_round(struct sim_costs *out);

/* How late wake-ups and stops are; calls that block; slices. */
void costs_wake_prepare(void);
void costs_wake_round(struct sim_costs *out);

/* How the kernel shares processors. */
void costs_line_round(struct sim_costs *out);

/* What takes a process of its own with the library preloaded: `self` run again, under `strobe record` from the folder
 * above. False when it failed. `what`:
 *
 *   hook               the hook itself
 *   pass, soon         the sampler's pass, with a sleep of 4 ms or 1 ms before it
 *   wait 0 ... wait 4  the engine's part of a wait of one of the SIM_WAIT_SPANS lengths
 *   attach, detach     a thread's begin and end */
enum { COSTS_CHILD_ROUNDS = 201 };
bool costs_child_measure(const char *self, const char *what, double figures[COSTS_CHILD_ROUNDS]);

/* That process: writes its figures to the file. Returns an exit status. */
int costs_child(const char *what, const char *path);

#endif
