/* The instrumentation pass: which methods of a simulated app get probes, and what that adds to its code.
 *
 * As a build plugin for Android sees the app. The rules are Matrix's, by the engine's own pass (engine/trace/
 * matrix_map.h), for all schemes; what a scenario says stands for byte code: a method that is not managed is native; an
 * image named boot... is the system's, which every black list has; an operation but for computing is a call, so that a
 * body without one is empty, an accessor, or a loop that calls nothing.
 *
 * Code grows by `probe_bytes` at each probe: one at the enter, one at the return, and at each throw where these are
 * probed too. Matrix's probe is a constant and a static call, 12 bytes of dex code (const, invoke-static); one that
 * names its method by a text is 10 (const-string, invoke-static) and the text, which is written once a method, with its
 * length; btrace 2.0's takes a constant and the time that its enter left in a register (const, invoke-static,
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
    uint32_t *id;                              /* by method of the scenario: from 1, in order; 0 = no probes */
    uint32_t *method;                          /* by id */
    uint32_t count;                            /* methods with probes */
    uint32_t verdicts[STROBE_MATRIX_VERDICTS]; /* methods by what the pass said */
    uint64_t code_bytes;
};

/* False: out of memory. Close it in any case. */
bool sim_instrument_open(struct sim_instrument *out, const struct sim_scenario *scenario,
                         const struct sim_instrument_options *options);
void sim_instrument_close(struct sim_instrument *i);

/* Writes the pass's files to a folder, as the build plugin leaves them: methodMapping.txt, which names the ids, and
 * ignoreMethodMapping.txt, the methods without. On failure `error` says which and why. */
enum strobe_status sim_instrument_save(const struct sim_scenario *scenario, const char *folder, bool replace,
                                       struct strobe_error *error);

/* What a policy with these probes can tell; the methods' names are the scenario's. False: out of memory. */
bool sim_instrument_view(const struct sim_instrument *i, const struct sim_scenario *scenario, struct sim_tracks *truth,
                         bool main_only, struct sim_view *out);

#endif
