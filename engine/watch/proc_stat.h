/* What /proc/PID/stat and /proc/PID/sched say, as captures carry them along: text that may be cut off anywhere.
 *
 * The name of a program may hold blanks and brackets, so that fields are counted from the last ')' on: split at blanks,
 * as upstream does, a name with a blank shifts them all. Format: proc(5). Any thread; allocates nothing. */
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
    uint64_t user_ticks, system_ticks; /* of USER_HZ, 100 a second */
    int64_t priority, nice;
    int64_t thread_count;
    uint64_t start_ticks; /* after boot */
    uint64_t vm_bytes;
    int64_t rss_pages;
};

/* STROBE_BAD_INPUT: ends before the last of these fields, or one is no number in range; *out is undefined then. */
enum strobe_status strobe_proc_stat_read(const char *text, size_t bytes, struct strobe_proc_stat *out);

/* The number after `key` in lines of "key   :   number", as sched has them: in millionths, since some have six decimals
 * (rounded down where that is too much). A line without its newline is no line: it may be cut. STROBE_NO_ENTRY: no such
 * key; STROBE_BAD_INPUT: it has no number, or one out of range. */
enum strobe_status strobe_proc_sched_read(const char *text, size_t bytes, const char *key, int64_t *millionths);

#endif
