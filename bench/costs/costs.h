/* The parts of bench/costs/costs.c: each measures some members of struct sim_costs in short rounds.
 *
 * A round takes a few ms and stores one figure for each member that the part measures. main runs many rounds of all
 * parts in turn and takes medians. A busy period of the machine therefore spoils a few rounds of each part, and not
 * all rounds of one part. Main thread only. Figures are ns of CPU time. */
#ifndef STROBE_BENCH_COSTS_COSTS_H
#define STROBE_BENCH_COSTS_COSTS_H

#include "sim/runtime/costs.h"

#include <stdbool.h>

/* Costs at hooks: clocks, scopes, samples, looks, copies. */
void costs_engine_prepare(void);
void costs_engine_round(struct sim_costs *out);

/* Costs of stopping a thread. Does not change `look` and the figures of costs_engine_round. */
void costs_stop_prepare(void);
void costs_stop_round(struct sim_costs *out);

/* CPU clocks that send signals; 0 where the machine does not permit them. */
void costs_tick_prepare(void);
void costs_tick_round(struct sim_costs *out);

/* The start and the end of a thread: the cost of the call in the starting thread, and the new thread's costs before
 * and after its own code. */
struct costs_start {
    double call, begin, end;
};
void costs_start_round(struct sim_costs *out);

/* In a recorded process, measures the engine's part. Returns false in other processes. */
bool costs_start_recorded(struct costs_start *out);

/* Probes of instrumented methods. */
void costs_method_prepare(void);
void costs_method_round(struct sim_costs *out);

/* Lateness of wake-ups and stops; calls that block; slices. */
void costs_wake_prepare(void);
void costs_wake_round(struct sim_costs *out);

/* The length of turn that the kernel gives a thread when threads share a processor. */
void costs_line_round(struct sim_costs *out);

/* Measures in a separate process with the preloaded library: runs `self` again under `strobe record`, which is in the
 * folder above. Returns false when the process failed. `what`:
 *
 *   hook               the hook itself
 *   pass, soon         the sampler's pass, with a sleep of 4 ms or 1 ms before it
 *   wait 0 ... wait 4  the engine's part of a wait of one of the SIM_WAIT_SPANS lengths
 *   attach, detach     a thread's begin and end */
enum { COSTS_CHILD_ROUNDS = 201 };
bool costs_child_measure(const char *self, const char *what, double figures[COSTS_CHILD_ROUNDS]);

/* The main function of that process: writes its figures to the file. Returns an exit status. */
int costs_child(const char *what, const char *path);

#endif
