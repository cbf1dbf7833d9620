/* Records the scheduling of processes: by perf events (sched_perf.h), or by tracefs (tracefs/sched_tracefs.h) where the
 * kernel refuses perf events. Zeroed memory records nothing. Not thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_SCHED_RECORDER_H
#define STROBE_CMD_RECORD_SCHED_RECORDER_H

#include "engine/cmd/record/sched_perf.h"
#include "engine/cmd/record/tracefs/sched_tracefs.h"

enum strobe_sched_way { STROBE_SCHED_NO_WAY, STROBE_SCHED_BY_PERF, STROBE_SCHED_BY_TRACEFS };

struct strobe_sched_recorder {
    enum strobe_sched_way way; /* NO_WAY: nothing is recorded */
    struct strobe_sched_perf perf;
    struct strobe_sched_tracefs tracefs;
    struct strobe_error refused; /* by tracefs: why not by perf events */
};

/* Opens as strobe_sched_perf_open, or else as strobe_sched_tracefs_open. STROBE_UNSUPPORTED: `why` has both reasons.
 * STROBE_IO with errno. *r must stay where it is. */
enum strobe_status strobe_sched_recorder_open(struct strobe_sched_recorder *r, pid_t pid, bool family,
                                              struct strobe_error *why);

/* The same for a process that runs. */
enum strobe_status strobe_sched_recorder_attach(struct strobe_sched_recorder *r, pid_t pid, struct strobe_error *why);

/* Returns whether `r`, which may be NULL, records. */
static inline bool strobe_sched_recorder_runs(const struct strobe_sched_recorder *r)
{
    return r && r->way != STROBE_SCHED_NO_WAY;
}

/* The functions below are of a recorder that records. */
struct strobe_sched_family *strobe_sched_recorder_family(struct strobe_sched_recorder *r);
enum strobe_sched_source strobe_sched_recorder_source(const struct strobe_sched_recorder *r);

/* Returns the events that found the kernel's buffers full. */
uint64_t strobe_sched_recorder_lost(const struct strobe_sched_recorder *r);

/* Waits until a buffer is to be emptied or `caller` has an event; at most `most_ns` (UINT64_MAX: without end). It may
 * return sooner. Then it empties the buffers. */
void strobe_sched_recorder_wait(struct strobe_sched_recorder *r, struct pollfd caller, uint64_t most_ns);

/* Empties the buffers. */
void strobe_sched_recorder_drain(struct strobe_sched_recorder *r);

/* Ends the recording: all events are in the family. A second call does nothing. */
void strobe_sched_recorder_end(struct strobe_sched_recorder *r);

/* Ends `r`, which may be one that does not record. */
void strobe_sched_recorder_close(struct strobe_sched_recorder *r);

#endif
