/* What a policy can tell at all: whose calls, and of which methods. Instrumentation sees the methods it was built into,
 * and those as exactly as its clock; a score that asks it for all others says little about either. So the score is told
 * twice: over everything, and over what the policy could see.
 *
 *   unseen             share of thread time of which the claim could not be right: it shows nothing, or a placeholder;
 *                      or the innermost true call is one that the policy can't tell, or of a thread it doesn't follow
 *   agreement_seen     over the lives of threads that it follows, calls that it can't tell folded into their callers:
 *                      the share of time at which both paths are equal, of that at which one of them says anything;
 *                      0 when none ever does. Of a policy that can tell everything: its agreement
 *   timed_calls        calls it tells that can be held against true ones: of methods of which a thread's claim has as
 *                      many calls as its truth, the n-th against the n-th; only of policies with a view, and not of
 *                      calls left by an exception or open when the thread's life ends
 *   call_error_ns      mean of what the lengths of those are off by, and
 *   call_error_most_ns the largest
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_SCORE_VIEW_H
#define STROBE_SIM_SCORE_VIEW_H

#include "sim/score/score.h"

struct sim_view {
    bool is_limited; /* else it can tell everything, and the rest means nothing */
    bool main_only;  /* follows main threads only */
    bool *recorded;  /* by name of the truth: calls of that name can be told; calloc'ed */
    size_t recorded_count;
    uint64_t methods_in, methods_out; /* that have probes, and that have none */
    uint64_t code_bytes;              /* by which the app's code grew */
};

/* Room for all names that the truth has so far; all false. False: out of memory. */
bool sim_view_open(struct sim_view *v, const struct sim_tracks *truth);
void sim_view_close(struct sim_view *v);

/* Fills in the members of a score of the two that are told of above, and the code's growth. `view` may be NULL: not
 * limited. STROBE_IO: out of memory. */
enum strobe_status sim_view_score(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                                  const struct sim_view *view, struct sim_score *out);

#endif
