/* Sessions as inputs of a merge: what must be known of them before any is written. Part of merge.h. Allocates; not
 * thread-safe. Reading half only. */
#ifndef STROBE_TRACE_MERGE_MERGE_SESSIONS_H
#define STROBE_TRACE_MERGE_MERGE_SESSIONS_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/merge/merge_clock.h"

struct strobe_merge_session {
    char *path;
    size_t input;              /* sessions of one folder have one number */
    uint64_t key;              /* see perfetto_ids.h */
    uint64_t begin_ns, end_ns; /* BOOTTIME */
    uint32_t pid;
    uint32_t id_offset; /* see struct strobe_perfetto_ids */
    uint32_t threads;
    bool has_sched; /* it holds scheduling of its own */
};

/* Returns 1 if the file's content is a session. */
int strobe_merge_is_session(const char *at, size_t bytes);

/* Reads the session at s->path: watches its threads in `states`, adds its own scheduling to `own`, and its clocks,
 * sections and waits to *reference. On failure `error` has one line with the path. */
enum strobe_status strobe_merge_session_scan(struct strobe_merge_session *s, struct strobe_merge_reference *reference,
                                             struct strobe_sched_states *states, struct strobe_sched_states *own,
                                             struct strobe_error *error);

#endif
