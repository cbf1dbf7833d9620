#include "sim/score/score.h"

#include "sim/score/pairing.h"
#include "sim/score/sweep.h"
#include "sim/score/wait_calls.h"
#include "sim/score/waits.h"

#include <stdlib.h>

static bool score_pairs(const struct sim_pairing *p, const struct sim_score_options *options, struct sim_score *out)
{
    enum { BLOCKED_MIN_NS = 100000 };
    uint64_t blocked_min_ns = options->blocked_min_ns ? options->blocked_min_ns : BLOCKED_MIN_NS;
    struct sim_sweep *sweep = sim_sweep_open(p, out->methods);
    struct sim_spans off = {0};
    bool ok = sweep != NULL;
    for (size_t i = 0; ok && i < p->pair_count; i++) {
        const struct sim_pair *pair = &p->pairs[i];
        struct sim_thread_score *thread = pair->truth ? &out->threads[i] : NULL;
        off.count = 0;
        ok = (!pair->truth || sim_waits_off(pair->truth, &off)) &&
             sim_sweep_pair(sweep, pair, sim_pair_long_ns(pair, options), &off, out, thread) &&
             sim_wait_calls_score(p, pair, &off, out) && sim_waits_score(p, pair, blocked_min_ns, out, thread);
    }
    sim_sweep_close(sweep);
    free(off.at);
    return ok;
}

enum strobe_status sim_score(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                             const struct sim_score_options *options, struct sim_score *out)
{
    struct sim_pairing pairing = {0};
    bool ok = sim_score_open(out, truth) && sim_pairing_open(&pairing, truth, reconstruction) &&
              score_pairs(&pairing, options, out);
    if (ok) {
        sim_score_finish(&pairing, out);
    } else {
        sim_score_free(out);
    }
    sim_pairing_close(&pairing);
    return ok ? STROBE_OK : STROBE_IO;
}
