/* Brings the scheduling events of a family of processes into the order of their times, and keeps them by program: a
 * process that executes a program keeps its id, and begins a new one here.
 *
 * Events come from the buffers of several processors, so a later one may be given first. They are held until
 * strobe_sched_family_pass says that no earlier one can come. Then an event that does not follow from its thread's
 * state is left out: an event that was recorded twice, or what is behind a lost one.
 *
 * A late event is one that is older than an event which its program keeps already. It is kept unless its thread has
 * later events. The events of a program are by time all the same.
 *
 * The events go to a file without a name, in runs of one program each. Memory has the list of runs, of programs and of
 * threads, the names of wakers (sched_names.h), the late events, and the last events of programs that still run: at
 * most 24 KiB each.
 *
 * Times are ns of CLOCK_BOOTTIME. Zeroed memory, with file -1, is an empty family. Not thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_SCHED_FAMILY_H
#define STROBE_CMD_RECORD_SCHED_FAMILY_H

#include "engine/base/status.h"
#include "engine/cmd/record/sched_names.h"
#include "engine/trace/session/sched_section.h"
#include "engine/util/idmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum strobe_sched_note_kind {
    STROBE_SCHED_SEEN,     /* an event of a thread */
    STROBE_SCHED_FOUND,    /* IN or OUT: the thread was there when the recording began, and in this state */
    STROBE_SCHED_FORKED,   /* WAKE: the thread is new. The first one of a process has the process's id */
    STROBE_SCHED_EXECUTED, /* IN: a program begins; the process's threads of the program before have ended */
};

struct strobe_sched_note {
    struct strobe_sched_event event;
    uint32_t pid; /* 0: not known, of a WAKE */
    uint32_t kind, order;
};

/* A program that a process executes, or is a copy of. */
struct strobe_sched_program {
    uint64_t begin_ns, until_ns; /* until_ns: for the caller of strobe_sched_family_find; UINT64_MAX at first */
    uint32_t pid, earlier;       /* earlier: the program before with this pid, + 1; 0 = none */
    uint32_t live;               /* threads that have not ended */
    uint32_t block_count, block_room;
    struct strobe_sched_event *block; /* the last events, not written yet */
    uint64_t last_ns;                 /* time of the last event, without the late ones */
    size_t first_run, run_count;      /* of the family's runs; set by strobe_sched_family_finish, as are */
    size_t first_late, late_count;    /* those of its late events */
};

struct strobe_sched_family {
    uint32_t only_pid; /* other processes are left out; 0 = none is */

    struct strobe_sched_note *pending; /* events that may still be out of order */
    size_t pending_count, pending_room;
    struct strobe_idmap by_tid, by_pid; /* index of `tasks`; of the last one of `programs` */
    struct strobe_sched_task *tasks;
    size_t task_count, task_room;
    struct strobe_sched_program *programs;
    size_t program_count, program_room;

    int file;                      /* of struct strobe_sched_event; -1 = none */
    uint64_t kept, written;        /* events; events in the file */
    struct strobe_sched_run *runs; /* of the file */
    size_t run_count, run_room;
    struct strobe_sched_late *late; /* the owner is a program */
    size_t late_count, late_room;
    struct strobe_sched_names names; /* of wakers */
    uint64_t refused;                /* events beyond the most that are kept */
    int error;                       /* errno of the first failure; events after it are refused */
};

/* Creates the file of events in the directory of `beside`. STROBE_IO with errno. */
enum strobe_status strobe_sched_family_create_file(struct strobe_sched_family *f, const char *beside);

/* Adds an event. */
void strobe_sched_family_add(struct strobe_sched_family *f, const struct strobe_sched_note *note);

/* Keeps the events before `before_ns`, and reads the names of their wakers that are to be read. Of the events that are
 * added later, few may be older. */
void strobe_sched_family_pass(struct strobe_sched_family *f, uint64_t before_ns);

/* Ends the recording: writes all events to the file. Then programs can be found and appended. */
void strobe_sched_family_finish(struct strobe_sched_family *f);

/* Returns the program that process `pid` executes at that time, or NULL. */
struct strobe_sched_program *strobe_sched_family_find(struct strobe_sched_family *f, uint32_t pid, uint64_t time_ns);

/* Appends the events of the program in [from_ns, to_ns) to the session, as strobe_sched_section_append does. */
enum strobe_status strobe_sched_family_append(const struct strobe_sched_family *f,
                                              const struct strobe_sched_program *program,
                                              const struct strobe_sched_head *head, const char *path, uint64_t from_ns,
                                              uint64_t to_ns);

void strobe_sched_family_close(struct strobe_sched_family *f);

#endif
