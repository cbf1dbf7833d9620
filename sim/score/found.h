/* Findings of tracks: what watchers find in a truth and in a reconstructed timeline. Both reach the watchers through
 * the same adapter (engine/watch/watch_feed.h). Differences therefore come from what the tracer could see. */
#ifndef STROBE_SIM_SCORE_FOUND_H
#define STROBE_SIM_SCORE_FOUND_H

#include "engine/watch/findings.h"
#include "sim/score/tracks.h"

/* Returns the view of a truth: complete, with a resolution of 1 ns. */
struct strobe_watch_view sim_truth_view(void);

/* Reports the first main track to `watcher`. Times are those of the tracks. `seen` may be NULL. STROBE_IO: out of
 * memory. */
enum strobe_status sim_tracks_watch(const struct sim_tracks *t, struct strobe_watcher *watcher,
                                    struct strobe_watch_seen *seen);

/* Returns the view of a reconstructed timeline whose policy samples each interval_ns: its resolution is what counts as
 * a gap between samples. With `exact`, the policy records all calls, with a clock that ticks each interval_ns. */
struct strobe_watch_view sim_reconstruction_view(uint64_t interval_ns, bool exact);

/* Appends all findings to `out`, sorted, and sets out->view to `view`. STROBE_IO: out of memory. */
enum strobe_status sim_tracks_find(const struct sim_tracks *t, const struct strobe_watch_options *options,
                                   const struct strobe_watch_view *view, struct strobe_findings *out);

/* Pairs findings of a reconstructed timeline with findings of the truth. The two of a pair have the same kind, and
 * their begins and ends differ by at most within_ns. Each finding is in at most one pair. of[i] is the index in the
 * truth + 1 for the i-th reconstructed finding, or 0. Returns the number of pairs. */
size_t sim_findings_pair(const struct strobe_findings *truth, const struct strobe_findings *reconstruction,
                         uint64_t within_ns, uint32_t *of);

/* Findings of a truth and of a reconstruction of it. */
struct sim_found {
    struct strobe_findings truth, reconstruction;
};

/* Returns all findings of both, with Matrix's thresholds. NULL: out of memory. */
struct sim_found *sim_found_of(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                               const struct strobe_watch_view *reconstruction_view);
void sim_found_free(struct sim_found *f); /* NULL is allowed */

#endif
