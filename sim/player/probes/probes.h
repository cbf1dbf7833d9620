/* Schemes that capture by probes, in the played process, and the files they leave: both ends are this program on this
 * machine, so a file's form is that of these structs where the scheme has no format of its own. For sim/player only. */
#ifndef STROBE_SIM_PLAYER_PROBES_PROBES_H
#define STROBE_SIM_PLAYER_PROBES_PROBES_H

#include "sim/player/probes.h"

/* matrix: this, and then `count` entries (engine/method/matrix/matrix_entry.h). */
struct sim_probe_matrix_head {
    uint64_t base_ns; /* CLOCK_MONOTONIC when the log's clock was 0 */
    uint64_t count, lost;
    uint32_t tid; /* 0: no main thread has come */
    char name[32];
};

/* rheatrace: its raw log (engine/method/rhea/rhea_log.h). btrace2: its log (engine/trace/import/btrace/btrace2.h), with
 * threads by their number in the run. */

extern const struct sim_probe_policy sim_probe_policy_matrix, sim_probe_policy_rheatrace,
    sim_probe_policy_rheatrace_main, sim_probe_policy_btrace2;

#endif
