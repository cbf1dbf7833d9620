/* Records the scheduling of processes by perf events, from outside: nothing runs in them.
 *
 *   switch records   of a dummy event: when threads get and leave a processor, are created and end. Allowed for own
 *                    processes when kernel.perf_event_paranoid is at most 2
 *   tracepoints      sched_switch of the threads, and sched_waking of all processes: the states of threads that leave
 *                    a processor, and wakers. They need CAP_PERFMON or kernel.perf_event_paranoid -1, a mounted
 *                    tracefs, and the first PID namespace
 *
 * There is one buffer for each processor, which the kernel fills and strobe_sched_perf_drain empties. Records that find
 * no space are counted by the kernel. The events go to sched_family.h.
 *
 * Sources: perf_event_open(2); the kernel's include/uapi/linux/perf_event.h; tracefs's events/sched/NAME/format. Not
 * thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_SCHED_PERF_H
#define STROBE_CMD_RECORD_SCHED_PERF_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/cmd/record/sched_family.h"

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
    bool from_exec;            /* the events begin when the process executes a program */
    bool ended;

    struct strobe_sched_ring *rings; /* of the processors that are online */
    size_t ring_count;
    struct pollfd *polled; /* by ring, and one before them for the caller */
    struct strobe_sched_tracepoint switched, waking;
    int *events; /* descriptors; of each thread the same number for each ring */
    size_t event_count, event_room;

    uint64_t boot_ahead_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC, the clock of records */
    bool has_boot_ahead;
    uint64_t lost; /* events that found the buffers full */
    struct strobe_sched_family family;
};

/* Opens the events of process `pid`, which begin when it executes a program; with `family` also those of its child
 * processes. Without the right to switch records it returns STROBE_UNSUPPORTED, and `why` has half a line for a person.
 * STROBE_IO with errno. On failure there is nothing to close. */
enum strobe_status strobe_sched_perf_open(struct strobe_sched_perf *p, pid_t pid, bool family,
                                          struct strobe_error *why);

/* Opens the events of a process that runs: of its threads, which are stored with what they do, and of those that they
 * create. They begin at once. Raises the limit of open files. Returns as strobe_sched_perf_open. */
enum strobe_status strobe_sched_perf_attach(struct strobe_sched_perf *p, pid_t pid, struct strobe_error *why);

/* Waits until a buffer is to be emptied or p->polled[0], which the caller sets, has an event; at most `most_ns`
 * (UINT64_MAX: without end). Then it empties the buffers. */
void strobe_sched_perf_wait(struct strobe_sched_perf *p, uint64_t most_ns);

/* Moves what the kernel has recorded to p->family. */
void strobe_sched_perf_drain(struct strobe_sched_perf *p);

/* Ends the recording: the events stop, and all records are in p->family. A second call does nothing. */
void strobe_sched_perf_end(struct strobe_sched_perf *p);

void strobe_sched_perf_close(struct strobe_sched_perf *p);

/* ---- for sched_threads.c and tracefs/ */

/* Opens the buffers, and the events that are not of a thread. only_pid: 0 = with child processes. */
enum strobe_status strobe_sched_perf_open_buffers(struct strobe_sched_perf *p, uint32_t only_pid, bool from_exec,
                                                  struct strobe_error *why);

/* Opens the events of a thread, on all processors, or none. What the thread creates inherits them. STROBE_NO_ENTRY: the
 * thread does not exist; otherwise as strobe_sched_perf_open. */
enum strobe_status strobe_sched_perf_open_thread(struct strobe_sched_perf *p, pid_t tid, struct strobe_error *why);

/* Returns the processor on which a thread has run since its events were opened; -1: on none. They are the last ones,
 * from `first_event` on. */
int strobe_sched_perf_processor_of(const struct strobe_sched_perf *p, size_t first_event);

/* Moves what the kernel has recorded to the pending events. */
void strobe_sched_perf_collect(struct strobe_sched_perf *p);

/* Returns the state of a thread as /proc has it, `R` also of one that waits for a processor, and stores the processor
 * on which it ran last. 0: it has ended. */
char strobe_sched_read_task(pid_t pid, pid_t tid, unsigned *cpu);

/* Returns whether this process has the thread ids that the kernel's tracepoints have. */
bool strobe_sched_perf_has_own_ids(void);

/* Returns the time of now, of CLOCK_BOOTTIME. */
uint64_t strobe_sched_perf_now_ns(const struct strobe_sched_perf *p);

#endif
