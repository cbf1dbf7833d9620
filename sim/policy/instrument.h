/* The instrumentation pass: decides which methods of a simulated app get probes, and by how much its code grows.
 *
 * The pass sees the app like a build plugin for Android. For all schemes it uses Matrix's rules, by the engine's own
 * pass (engine/trace/import/matrix/matrix_map.h). The scenario stands for byte code as follows:
 *
 *   - A method that is not managed is native.
 *   - An image named boot... belongs to the system and is on every black list.
 *   - Every operation except computing is a call. A body without a call is empty, an accessor, or a loop without
 *     calls.
 *
 * Each probe adds `probe_bytes` of code: one probe at the enter, one at the return, and one at each throw when throws
 * are probed. A probe of Matrix is a constant and a static call, 12 bytes of dex code (const, invoke-static). A probe
 * with its method's name is 10 bytes (const-string, invoke-static), and the text, with its length, is stored once per
 * method. A probe of btrace 2.0 takes a constant and the enter's time from a register (const, invoke-static,
 * move-result-wide at the enter; const, invoke-static at the exit: 13 on average, counted as 14). */
#ifndef STROBE_SIM_POLICY_INSTRUMENT_H
#define STROBE_SIM_POLICY_INSTRUMENT_H

#include "engine/base/error.h"
#include "engine/trace/import/matrix/matrix_map.h"
#include "sim/app/scenario.h"
#include "sim/score/view.h"

struct sim_instrument_options {
    uint32_t probe_bytes;
    bool names;  /* probes carry their method's name */
    bool throws; /* throws are probed */
};

struct sim_instrument {
    uint32_t *id;                              /* by method of the scenario: ids from 1, in order; 0: no probes */
    uint32_t *method;                          /* by id */
    uint32_t count;                            /* number of methods with probes */
    uint32_t verdicts[STROBE_MATRIX_VERDICTS]; /* number of methods by verdict of the pass */
    uint64_t code_bytes;
};

/* False: out of memory. Close it in any case. */
bool sim_instrument_open(struct sim_instrument *out, const struct sim_scenario *scenario,
                         const struct sim_instrument_options *options);
void sim_instrument_close(struct sim_instrument *i);

/* Writes the pass's files into a folder, as the build plugin does: methodMapping.txt with the ids, and
 * ignoreMethodMapping.txt with the methods without probes. On failure `error` names the file and the reason. */
enum strobe_status sim_instrument_save(const struct sim_scenario *scenario, const char *folder, bool replace,
                                       struct strobe_error *error);

/* Fills in the view of a policy with these probes; methods have the scenario's names. False: out of memory. */
bool sim_instrument_view(const struct sim_instrument *i, const struct sim_scenario *scenario, struct sim_tracks *truth,
                         bool main_only, struct sim_view *out);

#endif
