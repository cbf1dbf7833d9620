/* Records the scheduling of a process by perf events, from outside: nothing runs in the process.
 *
 *   switch records   of a dummy event: when threads get and leave a processor, are created and end. Allowed for own
 *                    processes when kernel.perf_event_paranoid is at most 2
 *   tracepoints      sched_switch of the process, and sched_waking of all processes: the states of threads that leave
 *                    a processor, and wakers. They need CAP_PERFMON or kernel.perf_event_paranoid -1, a mounted
 *                    tracefs, and the first PID namespace
 *
 * There is one buffer for each processor, which the kernel fills and strobe_sched_perf_drain empties. Records that find
 * no space are counted by the kernel. The events go to a file without a name, ordered by time.
 *
 * Sources: perf_event_open(2); the kernel's include/uapi/linux/perf_event.h; tracefs's events/sched/NAME/format. Not
 * thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_SCHED_PERF_H
#define STROBE_CMD_RECORD_SCHED_PERF_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/session/sched_section.h"
#include "engine/util/idmap.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

/* Places of the fields of a tracepoint's record. */
struct strobe_sched_field {
    uint32_t offset, bytes;
};

struct strobe_sched_tracepoint {
    uint32_t id;
    struct strobe_sched_field common_flags, common_pid, pid, state; /* pid: of sched_waking; state: of sched_switch */
};

struct strobe_sched_perf {
    enum strobe_sched_source source;
    struct strobe_error limit; /* why not by tracepoints; "" = by tracepoints */
    uint32_t pid;

    struct strobe_sched_ring *rings; /* of the processors that are online */
    size_t ring_count;
    struct pollfd *polled; /* by ring, and one before them for the caller */
    struct strobe_sched_tracepoint switched, waking;

    uint64_t boot_ahead_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC, the clock of records */
    bool has_boot_ahead;
    struct strobe_sched_pending *pending; /* events that may still be out of order */
    size_t pending_count, pending_room;
    struct strobe_idmap by_tid;
    struct strobe_sched_task *tasks;
    size_t task_count, task_room;

    int file;                         /* of struct strobe_sched_event */
    struct strobe_sched_event *block; /* the last events of the file, not written yet */
    size_t block_count;
    struct strobe_sched_head head; /* counts */
    int error;                     /* errno of the first failure; the recording of events has ended */
};

/* Opens the events of process `pid`, which begin when it executes a program. Without the right to switch records it
 * returns STROBE_UNSUPPORTED, and `why` has half a line for a person. STROBE_IO with errno. On failure there is nothing
 * to close. */
enum strobe_status strobe_sched_perf_open(struct strobe_sched_perf *p, pid_t pid, struct strobe_error *why);

/* Creates the file of events in the directory of `beside`. STROBE_IO with errno. */
enum strobe_status strobe_sched_perf_create_file(struct strobe_sched_perf *p, const char *beside);

/* Waits until a buffer is to be emptied or p->polled[0], which the caller sets, has an event; at most `most_ns`
 * (UINT64_MAX: without end). Then it empties the buffers. */
void strobe_sched_perf_wait(struct strobe_sched_perf *p, uint64_t most_ns);

/* Moves what the kernel has recorded to the file. `last`: the process has ended. */
void strobe_sched_perf_drain(struct strobe_sched_perf *p, bool last);

void strobe_sched_perf_close(struct strobe_sched_perf *p);

#endif
