/* Parses the text of /proc/PID/stat and /proc/PID/sched in captures. The text may be cut off anywhere.
 *
 * The name of a program may contain blanks and brackets, so fields are counted from the last ')' on. Matrix splits the
 * line at blanks, so that a blank in the name shifts all fields. Format: proc(5). Any thread; allocates nothing. */
#ifndef STROBE_WATCH_PROC_STAT_H
#define STROBE_WATCH_PROC_STAT_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_proc_stat {
    uint32_t pid;
    char comm[64]; /* cut to fit */
    char state;
    uint64_t minor_faults, major_faults;
    uint64_t user_ticks, system_ticks; /* in units of USER_HZ, 100 a second */
    int64_t priority, nice;
    int64_t thread_count;
    uint64_t start_ticks; /* after boot */
    uint64_t vm_bytes;
    int64_t rss_pages;
};

/* Parses a line of stat. STROBE_BAD_INPUT: the text ends before the last of these fields, or a field is not a number in
 * range. *out is then undefined. */
enum strobe_status strobe_proc_stat_read(const char *text, size_t bytes, struct strobe_proc_stat *out);

/* Returns the number after `key` from lines of "key   :   number" as sched has them. The result is in millionths,
 * because some numbers have six decimals; further decimals are cut off. A line without newline is ignored, because it
 * may be cut off. STROBE_NO_ENTRY: there is no such key. STROBE_BAD_INPUT: the key has no number, or one out of
 * range. */
enum strobe_status strobe_proc_sched_read(const char *text, size_t bytes, const char *key, int64_t *millionths);

#endif
