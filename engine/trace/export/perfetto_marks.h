/* What a program told beside its calls, in a Perfetto trace: each counter, and each lane of asynchronous slices, is a
 * track of the process, described when it is first told. Part of sink_perfetto.h; allocates. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_MARKS_H
#define STROBE_TRACE_EXPORT_PERFETTO_MARKS_H

#include "engine/trace/export/packets.h"
#include "engine/trace/model/sink.h"

/* Zeroed memory is none; the first three are the caller's to set for each process, and `tracks` to clear then and to
 * free. */
struct strobe_perfetto_marks {
    uint64_t key;           /* what ids of tracks follow from, see perfetto_ids.h */
    uint64_t process_track; /* the parent of all */
    uint32_t sequence;      /* of all packets */
    uint64_t *tracks;       /* by mark's track: that of the trace; 0 = not described yet */
    size_t room;
    int failed; /* memory ran out */
};

/* Writes a mark. New tracks are numbered from *next_track on. */
void strobe_perfetto_mark(struct strobe_perfetto_marks *marks, struct strobe_packets *packets, uint64_t *next_track,
                          const struct strobe_mark *mark);

#endif
