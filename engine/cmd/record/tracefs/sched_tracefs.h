/* Records the scheduling of processes by tracefs, for machines that refuse perf events. It makes an instance of its
 * own, instances/strobe-PID, with the id of this process. Nothing of other instances changes. The instance has the
 * events of all processes, and those of others are left out here: the cost depends on how busy the machine is.
 *
 * It needs write access to a mounted tracefs, as a rule root's, and the first PID namespace. The text has times in
 * microseconds, of the clock `boot`. Events that find the buffers full are counted by the kernel;
 * they may be of other processes.
 *
 * A recorder that is killed leaves its instance. strobe_sched_tracefs_visit_left finds and removes it.
 *
 * Sources: the kernel's Documentation/trace/ftrace.rst and kernel/trace/trace.c. Not thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_TRACEFS_SCHED_TRACEFS_H
#define STROBE_CMD_RECORD_TRACEFS_SCHED_TRACEFS_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/cmd/record/tracefs/sched_text.h"
#include "engine/trace/import/ftrace/ftrace_text.h"

#include <stdbool.h>
#include <sys/types.h>

enum { STROBE_SCHED_INSTANCE_BYTES = 64 };

struct strobe_sched_tracefs {
    char instance[STROBE_SCHED_INSTANCE_BYTES]; /* its directory; "" = none */
    int pipe;                                   /* trace_pipe of the instance */
    struct strobe_sched_text text;
    struct strobe_ftrace_visitor visitor;
    struct strobe_ftrace_reader reader;
    uint64_t held_until_ns; /* a thread that was found runnable and has no event until then runs */
    uint64_t lost;          /* events that found the buffers full */
    bool ended;
    struct strobe_sched_family family;
};

/* Makes the instance for process `pid`, whose events begin when it executes a program; with `family` also for its child
 * processes. *t must stay where it is. STROBE_UNSUPPORTED: not possible here, and `why` has half a line for a person.
 * STROBE_IO with errno. On failure there is nothing to close. */
enum strobe_status strobe_sched_tracefs_open(struct strobe_sched_tracefs *t, pid_t pid, bool family,
                                             struct strobe_error *why);

/* The same for a process that runs: for its threads, which are stored with what they do, and for those that they
 * create. The events begin at once. */
enum strobe_status strobe_sched_tracefs_attach(struct strobe_sched_tracefs *t, pid_t pid, struct strobe_error *why);

/* Moves what the kernel has recorded to t->family. */
void strobe_sched_tracefs_drain(struct strobe_sched_tracefs *t);

/* Ends the recording, and removes the instance: all events are in t->family. A second call does nothing. */
void strobe_sched_tracefs_end(struct strobe_sched_tracefs *t);

void strobe_sched_tracefs_close(struct strobe_sched_tracefs *t);

/* Returns the number of instances whose recorder does not exist any more. With `removes` it removes them. `path` gets
 * the directory of one of them. */
size_t strobe_sched_tracefs_visit_left(bool removes, char path[STROBE_SCHED_INSTANCE_BYTES]);

#endif
