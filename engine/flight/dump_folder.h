/* The folder of the flight recorder's dumps: writes a dump under its limits, and deletes the oldest ones.
 *
 *   dump-00.strobe ... dump-99.strobe   whole sessions, in any order; their times of change say which is the oldest
 *   .partial                            a dump that is being written
 *   .day                                day (since 1970, UTC), dumps and bytes of that day
 *   .lock                               locked (flock) by the process that writes
 *
 * A dump gets its name by a rename, after all of it is written and synchronized. A process that is killed leaves at
 * most the file `.partial`, which the next writer overwrites. The numbers of the day are stored before the rename, so
 * they survive a restart, and a kill in between charges a dump too much and never one too few. When `.day` is lost or
 * damaged, the dumps of the day that are still in the folder count. An app may delete or move dumps at any time.
 *
 * The oldest dumps are deleted after the new one has its name. The folder may therefore exceed its limits by one dump
 * for a moment or, when the process is killed then, until the next dump.
 *
 * The functions use no heap and do not list the folder. The folder must be on a file system with flock. One thread of a
 * process at a time; several processes may share a folder. */
#ifndef STROBE_FLIGHT_DUMP_FOLDER_H
#define STROBE_FLIGHT_DUMP_FOLDER_H

#include "engine/base/error.h"

#include <stdint.h>

/* There is one more name than dumps, because a dump gets its name before the oldest one is deleted. */
enum {
    STROBE_DUMPS_MAX = 99,
    STROBE_DUMP_SLOTS = 100,
    STROBE_DUMP_FOLDER_BYTES = 512,
    STROBE_DUMP_PATH_BYTES = 512 + 16
};

struct strobe_dump_folder {
    char path[STROBE_DUMP_FOLDER_BYTES];
    uint32_t dumps, dumps_a_day; /* 1 to STROBE_DUMPS_MAX */
    uint64_t dump_bytes, bytes, bytes_a_day;
    uint64_t free_bytes; /* that the disk has at least after a dump */
};

/* Makes the folder (mode 0700) when it does not exist, and checks that a file can be written there. STROBE_IO, with one
 * line. Start only. */
enum strobe_status strobe_dump_folder_open(const struct strobe_dump_folder *f, struct strobe_error *error);

/* Stores the path of dump number `slot` in `out`. Any context. */
void strobe_dump_path(const struct strobe_dump_folder *f, uint32_t slot, char out[STROBE_DUMP_PATH_BYTES]);

/* Day of a time of CLOCK_REALTIME, since 1970, UTC. */
static inline uint64_t strobe_dump_day_of(uint64_t realtime_ns)
{
    return realtime_ns / ((uint64_t)24 * 3600 * 1000000000);
}

/* Returns the bytes of the dumps that count for the limit of the day. */
uint64_t strobe_dump_bytes_of_day(const struct strobe_dump_folder *f, uint64_t realtime_ns);

/* Writes a dump; *slot receives its number. `realtime_ns` is the time of CLOCK_REALTIME.
 *
 *   STROBE_FULL        a limit refuses it: the error names the limit. Nothing has changed
 *   STROBE_WOULD_BLOCK another process writes to the folder for a second already. Nothing has changed
 *   STROBE_IO          full disk, read-only folder, ... No dump has been deleted or left half-written
 */
enum strobe_status strobe_dump_write(const struct strobe_dump_folder *f, uint64_t realtime_ns, const void *bytes,
                                     uint64_t count, uint32_t *slot, struct strobe_error *error);

/* Replaces a dump that strobe_dump_write has written by a more complete one of the same moment. It counts as the same
 * dump of the day. STROBE_NO_ENTRY: it is gone. STROBE_FULL: the folder or the day has no space for the bytes that it
 * is longer. On a failure the dump stays as it was. */
enum strobe_status strobe_dump_rewrite(const struct strobe_dump_folder *f, uint32_t slot, uint64_t realtime_ns,
                                       const void *bytes, uint64_t count, struct strobe_error *error);

#endif
