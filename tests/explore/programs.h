/* Groups of explored programs. Each array ends with a NULL. */
#ifndef STROBE_EXPLORE_PROGRAMS_H
#define STROBE_EXPLORE_PROGRAMS_H

#include "sim/explore/program.h"

extern const struct explore_program *const explore_artcode_programs[];
extern const struct explore_program *const explore_artthreads_programs[];
extern const struct explore_program *const explore_blocking_programs[];
extern const struct explore_program *const explore_calls_programs[];
extern const struct explore_program *const explore_gate_programs[];
extern const struct explore_program *const explore_hold_programs[];
extern const struct explore_program *const explore_life_programs[];
extern const struct explore_program *const explore_machthreads_programs[];
extern const struct explore_program *const explore_machwatch_programs[];
extern const struct explore_program *const explore_matrix_programs[];
extern const struct explore_program *const explore_netease_programs[];
extern const struct explore_program *const explore_packet_programs[];
extern const struct explore_program *const explore_sample_programs[];
extern const struct explore_program *const explore_sampler_programs[];
extern const struct explore_program *const explore_stackmap_programs[];
extern const struct explore_program *const explore_suspend_programs[];
extern const struct explore_program *const explore_table_programs[];
extern const struct explore_program *const explore_ring_programs[];
extern const struct explore_program *const explore_session_programs[];
extern const struct explore_program *const explore_thread_programs[];
extern const struct explore_program *const explore_unwind_programs[];

#endif
