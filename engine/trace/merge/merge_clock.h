/* Finds by how much the times of an ftrace text differ from CLOCK_BOOTTIME, the clock of traces. In this order:
 *
 *   --offset     as given
 *   header       the text states trace_clock: boot, mono, mono_raw
 *   markers      `trace_event_clock_sync: parent_ts=S` states CLOCK_MONOTONIC, and `realtime_ts=MS` the date, at a line
 *   sections     sections of a session that are markers of the text, too, on the same thread and as often
 *   overlap      the times overlap those of the other inputs, taken as BOOTTIME, else as MONOTONIC; a guess
 *
 * MONOTONIC and the date become BOOTTIME by a snapshot of these clocks in another input. Source of the markers:
 * Android's atrace, as studied. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_MERGE_MERGE_CLOCK_H
#define STROBE_TRACE_MERGE_MERGE_CLOCK_H

#include "engine/trace/model/sched_states.h"
#include "engine/util/text_pool.h"

#include <stdbool.h>
#include <stdint.h>

#define STROBE_MERGE_UNKNOWN UINT64_MAX

/* The begin of a section, or of a marker's slice. */
struct strobe_merge_section {
    uint32_t tid, name; /* number in the pool */
    uint64_t begin_ns;
};

struct strobe_merge_wait {
    uint32_t tid;
    uint64_t end_ns;
};

/* Clocks, sections and waits of the sessions and Perfetto traces of a merge. Zeroed at first. */
struct strobe_merge_reference {
    uint64_t boot_ns, mono_ns, real_ns; /* one instant; 0 = not known */
    uint64_t first_ns, last_ns;         /* BOOTTIME of all inputs; 0 = none */
    struct strobe_text_pool names;      /* of sections; the first section_names of them are of sessions */
    size_t section_names;
    struct strobe_merge_section *sections;
    size_t section_count, section_room;
    struct strobe_merge_wait *waits;
    size_t wait_count, wait_room;
};

/* Times, clock markers and sections of a text. Zeroed at first. */
struct strobe_merge_timing {
    const char *clock;                 /* as its header states it; "" = not stated */
    uint64_t first_ns, last_ns;        /* of its events */
    uint64_t parents;                  /* markers of MONOTONIC */
    int64_t parent_least, parent_most; /* MONOTONIC minus the text's time at them */
    uint64_t dates;                    /* markers of the date */
    int64_t date_most;                 /* date minus the text's time */
    struct strobe_merge_section *sections;
    size_t section_count, section_room;
};

struct strobe_merge_alignment {
    int64_t offset_ns;
    uint64_t error_ns; /* STROBE_MERGE_UNKNOWN = not known */
    const char *how;   /* half a line for a person */
};

/* Adds a snapshot, unless there is one with as many clocks. */
void strobe_merge_reference_add_clocks(struct strobe_merge_reference *k, uint64_t boot_ns, uint64_t mono_ns,
                                       uint64_t real_ns);

/* Takes a time of an input into the range. */
void strobe_merge_reference_add_time(struct strobe_merge_reference *k, uint64_t boot_ns);

/* Reads a marker of the text for its clocks. `time_ns` is the text's time of it. */
void strobe_merge_read_clock_marker(struct strobe_merge_timing *h, uint64_t time_ns, const char *at, size_t bytes);

/* Finds the offset; 0 when no other input has a clock. Returns false when nothing shows it. */
bool strobe_merge_align(const struct strobe_merge_reference *reference, struct strobe_merge_timing *timing,
                        struct strobe_merge_alignment *out);

/* Estimates the error from the sessions' waits: the median time from when the kernel switched the thread in to the
 * wait's end. *count is the number of waits that show it. Returns STROBE_MERGE_UNKNOWN when there are few. */
uint64_t strobe_merge_error_by_waits(const struct strobe_merge_reference *reference,
                                     const struct strobe_sched_states *states, size_t *count);

void strobe_merge_reference_free(struct strobe_merge_reference *k);

#endif
