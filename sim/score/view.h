/* The view of a policy: the threads and methods whose calls it can record. Instrumentation records only the methods
 * that have probes, with the precision of its clock. A score over all methods says little about it. Some scores are
 * therefore computed twice: over everything, and in view.
 *
 *   unseen             share of thread time at which the reconstruction cannot be right. The reconstruction shows
 *                      nothing or a placeholder, or the innermost true call is out of view: its method has no probe,
 *                      or the policy does not follow its thread
 *   agreement_seen     over the lives of threads that the policy follows, with calls out of view folded into their
 *                      callers: the share of time at which both paths are equal, of the time at which at least one
 *                      path is not empty; 0 when both are always empty. For an unlimited view: the agreement
 *   timed_calls        reconstructed calls that can be compared with true ones. These are the calls of methods that
 *                      have as many calls in a thread's reconstruction as in its truth; the n-th is compared with
 *                      the n-th. Only for policies with a limited view. Calls that ended by an exception or are open
 *                      at the end of the thread's life are left out
 *   call_error_ns      mean error of the lengths of these calls
 *   call_error_most_ns the largest such error
 *
 * Allocates; not thread-safe. */
#ifndef STROBE_SIM_SCORE_VIEW_H
#define STROBE_SIM_SCORE_VIEW_H

#include "sim/score/score.h"

struct sim_view {
    bool is_limited; /* false: the policy can record everything, and the rest has no meaning */
    bool main_only;  /* follows main threads only */
    bool *recorded;  /* by name of the truth: calls of that name can be recorded; calloc'ed */
    size_t recorded_count;
    uint64_t methods_in, methods_out; /* number of methods with and without probes */
    uint64_t code_bytes;              /* growth of the app's code */
};

/* Allocates `recorded` for all names that the truth has so far, all false. False: out of memory. */
bool sim_view_open(struct sim_view *v, const struct sim_tracks *truth);
void sim_view_close(struct sim_view *v);

/* Fills in the members of a score that are described above, and the code's growth. `view` may be NULL: not limited.
 * STROBE_IO: out of memory. */
enum strobe_status sim_view_score(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                                  const struct sim_view *view, struct sim_score *out);

#endif
