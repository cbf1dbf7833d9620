/* Learns a scenario from captures, replays it in virtual time, and compares the replay with the captures.
 *
 * The learner plays its own scenario a few times. It subtracts the lateness of the machine's wake-ups, which the
 * captured durations contain, from the durations of waits. When the waits for other threads' wake-ups do not last as
 * long as in the capture, it writes them as timeouts instead.
 *
 * The same captures and options give the same text on every machine. Allocates; not thread-safe. */
#ifndef STROBE_SIM_LEARN_LEARN_H
#define STROBE_SIM_LEARN_LEARN_H

#include "engine/base/error.h"
#include "sim/app/scenario.h"
#include "sim/learn/calls/fold.h"
#include "sim/learn/measure.h"
#include "sim/learn/write.h"

struct sim_learn_options {
    const char *name; /* of the scenario, a word of the language */
    uint32_t cores;   /* 0: as many as the capture shows, or 4 */
    uint32_t replays; /* seeds of each replay; 0: do not replay */
    uint32_t lines;   /* of the scenario, about at most; 0: no limit */
};

struct sim_learnt {
    char *text; /* the scenario; malloc */
    struct learn_losses losses;
    struct learn_distances distances; /* when it was replayed */
    bool is_replayed;
    struct learn_folded folded;
    uint64_t timed; /* objects whose waits are written as timeouts, although the capture has wakers */
};

/* STROBE_BAD_INPUT: the learnt scenario does not play; `error` has one line. STROBE_IO: out of memory. */
enum strobe_status sim_learn(const struct sim_tracks *captures, uint32_t count, const struct sim_learn_options *options,
                             struct sim_learnt *out, struct strobe_error *error);
/* Replays a scenario, and compares it with the captures: `out` has no text. */
enum strobe_status sim_learn_check(const struct sim_tracks *captures, uint32_t count, const struct sim_scenario *s,
                                   uint32_t replays, struct sim_learnt *out, struct strobe_error *error);

void sim_learnt_free(struct sim_learnt *learnt);

/* Prints what was left out, and the distances. */
void sim_learnt_print(const struct sim_learnt *learnt, FILE *out);

#endif
