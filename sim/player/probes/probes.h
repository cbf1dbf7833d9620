/* Capture policies by probes in a player, and the files that they write. A policy without a published format writes the
 * structs below, because the same build on the same machine writes and reads the file. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_PROBES_PROBES_H
#define STROBE_SIM_PLAYER_PROBES_PROBES_H

#include "sim/player/probes.h"

/* Head of matrix's file. `count` entries follow it (engine/method/matrix/matrix_entry.h). */
struct sim_probe_matrix_head {
    uint64_t base_ns; /* CLOCK_MONOTONIC when the log's clock was 0 */
    uint64_t count, lost;
    uint32_t tid; /* 0 = no main thread has started */
    char name[32];
};

/* rheatrace writes its raw log (engine/method/rhea/rhea_log.h). btrace2 writes its log
 * (engine/trace/import/btrace/btrace2.h), with the number of struct sim_probe_thread in place of the thread's id. */

extern const struct sim_probe_policy sim_probe_policy_matrix, sim_probe_policy_rheatrace,
    sim_probe_policy_rheatrace_main, sim_probe_policy_btrace2;

#endif
