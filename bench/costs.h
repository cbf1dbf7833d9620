/* What the pieces of bench/costs.c share: each measures some members of struct sim_costs, a short while at a time.
 *
 * A round takes a few ms and stores one figure for each member it knows; main runs many rounds of all pieces in turn
 * and takes medians, so that a busy stretch of the machine spoils some rounds of all and not all rounds of some.
 * Main thread only. Figures are ns of CPU time. */
#ifndef STROBE_BENCH_COSTS_H
#define STROBE_BENCH_COSTS_H

#include "sim/runtime/costs.h"

#include <stdbool.h>

/* Hooks' side: clocks, scopes, samples, looks, copies. */
void costs_engine_prepare(void);
void costs_engine_round(struct sim_costs *out);

/* Stopping a thread. `look` and what the engine's side measures is not touched. */
void costs_stop_prepare(void);
void costs_stop_round(struct sim_costs *out);

/* Probes of instrumented methods. */
void costs_method_prepare(void);
void costs_method_round(struct sim_costs *out);

/* The hook itself, which takes a process of its own with the library preloaded: `self` run again, under `strobe record`
 * from the folder above. False when that failed. */
enum { COSTS_HOOK_ROUNDS = 201 };
bool costs_hook_measure(const char *self, double figures[COSTS_HOOK_ROUNDS]);

/* That process: writes its figures to the file. Returns an exit status. */
int costs_hook_child(const char *path);

#endif
