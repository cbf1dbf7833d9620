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

/* Appends all that is found to `out`, sorted; out->view is `view`. STROBE_IO: out of memory. */
enum strobe_status sim_tracks_find(const struct sim_tracks *t, const struct strobe_watch_options *options,
                                   const struct strobe_watch_view *view, struct strobe_findings *out);

#endif
