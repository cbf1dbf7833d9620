/* Findings of tracks: what watchers find in a truth, and in a claim. Both are told to the watchers by the same adapter
 * (engine/watch/watch_feed.h), so that what differs is what the tracer could see. */
#ifndef STROBE_SIM_SCORE_FOUND_H
#define STROBE_SIM_SCORE_FOUND_H

#include "engine/watch/findings.h"
#include "sim/score/tracks.h"

/* How well a truth sees: all of it, to the ns. */
struct strobe_watch_view sim_truth_view(void);

/* Tells `watcher` about the first main track; times are those of the tracks. *seen may be NULL. STROBE_IO: out of
 * memory. */
enum strobe_status sim_tracks_watch(const struct sim_tracks *t, struct strobe_watcher *watcher,
                                    struct strobe_watch_seen *seen);

/* How well a claim sees whose policy samples each interval_ns: to within what counts as a gap between samples; or,
 * `exact`, tells all calls with a clock that ticks each interval_ns. */
struct strobe_watch_view sim_reconstruction_view(uint64_t interval_ns, bool exact);

/* Appends all that is found to `out`, sorted; out->view is `view`. STROBE_IO: out of memory. */
enum strobe_status sim_tracks_find(const struct sim_tracks *t, const struct strobe_watch_options *options,
                                   const struct strobe_watch_view *view, struct strobe_findings *out);

/* Pairs what is found in a claim with what is in the truth: of one kind, begin and end no more than within_ns apart,
 * each at most once. of[i] = index in the truth of the claim's i-th + 1; 0 = none. Returns how many pairs there are. */
size_t sim_findings_pair(const struct strobe_findings *truth, const struct strobe_findings *reconstruction,
                         uint64_t within_ns, uint32_t *of);

/* Findings of a truth and of a claim about it. */
struct sim_found {
    struct strobe_findings truth, reconstruction;
};

/* All that is found in both, with Matrix's thresholds. NULL: out of memory. */
struct sim_found *sim_found_of(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                               const struct strobe_watch_view *reconstruction_view);
void sim_found_free(struct sim_found *f); /* NULL is fine */

#endif
