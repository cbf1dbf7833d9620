/* Writes a program's marks to a Perfetto trace: each counter, and each lane of asynchronous slices, is a track of the
 * process. Lanes of sections are tracks of their thread, and their slices have the category of the section's name
 * (strobe_mark_category), or "section". A track is described at its first mark. Part of sink_perfetto.h; allocates.
 * Reading half only. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_MARKS_H
#define STROBE_TRACE_EXPORT_PERFETTO_MARKS_H

#include "engine/trace/export/packets.h"
#include "engine/trace/model/sink.h"

/* State of the marks of one process; starts zeroed. For each process, the caller sets the first three fields and clears
 * `tracks`. The caller frees `tracks`. */
struct strobe_perfetto_marks {
    uint64_t key;           /* key of the process, see perfetto_ids.h */
    uint64_t process_track; /* parent of tracks of marks without a thread */
    uint32_t sequence;      /* of all packets */
    uint64_t *tracks;       /* by a mark's track: track id in the trace; 0 = not described yet */
    size_t room;
    int failed; /* memory ran out */
};

/* Writes a mark. New tracks are numbered from *next_track on. `thread_track` is the track of the mark's thread, or 0.
 */
void strobe_perfetto_mark(struct strobe_perfetto_marks *marks, struct strobe_packets *packets, uint64_t *next_track,
                          uint64_t thread_track, const struct strobe_mark *mark);

#endif
