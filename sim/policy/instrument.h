/* The instrumentation pass: which methods of a simulated app get probes, and what that adds to its code.
 *
 * As a build plugin for Android sees the app: of managed code in the app's own images, methods that are worth it by
 * Matrix's rules (engine/trace/matrix_map.h); native code and the system's images (named boot...) are not the app's to
 * change. What a scenario says of a method stands for its byte code: an operation but for computing is a call, a body
 * without one is a loop or an accessor.
 *
 * Code grows by `probe_bytes` at each probe: one at the enter, one at the return, and at each throw where these are
 * probed too. Matrix's probe is a constant and a static call, 12 bytes of dex code (const, invoke-static); one that
 * names its method by a text is 10 (const-string, invoke-static) and the text, which is written once a method, with its
 * length; btrace 2.0's enter keeps the time in a register (invoke-static, move-result-wide), and its exit takes it as
 * an argument. */
#ifndef STROBE_SIM_POLICY_INSTRUMENT_H
#define STROBE_SIM_POLICY_INSTRUMENT_H

#include "sim/app/scenario.h"
#include "sim/score/view.h"

enum sim_skipped {
    SIM_SKIPPED_NATIVE,          /* no byte code */
    SIM_SKIPPED_SYSTEM,          /* of an image of the system */
    SIM_SKIPPED_EMPTY,
    SIM_SKIPPED_SMALL,           /* calls nothing: an accessor, or a loop */
    SIM_SKIPPED_KINDS
};

struct sim_instrument_options {
    uint32_t probe_bytes;
    bool names;                  /* probes carry their method's name */
    bool throws;                 /* throws are probed */
};

struct sim_instrument {
    uint32_t *id;                /* by method of the scenario: from 1, in order; 0 = no probes */
    uint32_t *method;            /* by id */
    uint32_t count;              /* methods with probes */
    uint32_t skipped[SIM_SKIPPED_KINDS];
    uint64_t code_bytes;
};

/* False: out of memory. Close it in any case. */
bool sim_instrument_open(struct sim_instrument *out, const struct sim_scenario *scenario,
                         const struct sim_instrument_options *options);
void sim_instrument_close(struct sim_instrument *i);

/* What a policy with these probes can tell; the methods' names are the scenario's. False: out of memory. */
bool sim_instrument_view(const struct sim_instrument *i, const struct sim_scenario *scenario, struct sim_tracks *truth,
                         bool main_only, struct sim_view *out);

#endif
