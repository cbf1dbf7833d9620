/* Names of the threads that wake a recorded one. They may be of any process.
 *
 * A name comes with the kernel's records (strobe_sched_names_set), from the thread that created this one, or from
 * /proc/TID/comm. That file is read after the thread's first wake-up, its second, fourth, eighth and so on: threads
 * change their names, and reading a file for each wake-up would cost more than the recording. The last name counts. A
 * thread that has ended before its file is read, and of which there is no record, stays without a name.
 *
 * Zeroed memory is an empty list. A name for which there is no memory is left out. Not thread-safe; allocates. */
#ifndef STROBE_CMD_RECORD_SCHED_NAMES_H
#define STROBE_CMD_RECORD_SCHED_NAMES_H

#include "engine/trace/session/sched_section.h"
#include "engine/util/idmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strobe_sched_names {
    bool from_proc;             /* names are read from /proc */
    struct strobe_idmap by_tid; /* index of `names` and `seen`, until strobe_sched_names_finish */
    struct strobe_sched_name *names;
    struct strobe_sched_name_seen {
        uint64_t named_ns; /* the time of the name's record */
        uint32_t wakes;
    } * seen;
    size_t count, name_room, seen_room;
    uint32_t *due; /* threads whose file is to be read */
    size_t due_count, due_room;
};

/* Sets the thread's name at a time, on any one clock, to the first bytes of `text`, as many as the kernel keeps.
 * Records of several processors come out of order: one that is earlier than the record of the known name changes
 * nothing. */
void strobe_sched_names_set(struct strobe_sched_names *n, uint32_t tid, uint64_t at_ns, const char *text, size_t bytes);

/* Gives a new thread its creator's name, as the kernel does, under the same condition. It has no name when that of the
 * creator is not known, or `creator` is 0. */
void strobe_sched_names_inherit(struct strobe_sched_names *n, uint32_t tid, uint32_t creator, uint64_t at_ns);

/* Counts a wake-up by the thread. */
void strobe_sched_names_wake(struct strobe_sched_names *n, uint32_t tid);

/* Reads the files that are to be read. */
void strobe_sched_names_read(struct strobe_sched_names *n);

/* Ends the collection: `names` has those that are known, by tid. */
void strobe_sched_names_finish(struct strobe_sched_names *n);

void strobe_sched_names_free(struct strobe_sched_names *n);

#endif
