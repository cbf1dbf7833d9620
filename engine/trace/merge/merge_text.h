/* ftrace texts as inputs of a merge, in any file that systrace_read.h reads. A text is read twice: once for its clock,
 * and once for its events. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_MERGE_MERGE_TEXT_H
#define STROBE_TRACE_MERGE_MERGE_TEXT_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/export/packets.h"
#include "engine/trace/merge/merge_clock.h"
#include "engine/util/whole_file.h"

#include <stdbool.h>
#include <stdio.h>

struct strobe_merge_text {
    struct strobe_whole_file file; /* the caller opens it */
    struct strobe_merge_timing timing;
    struct strobe_merge_alignment alignment;
    char clock[16];
    uint64_t events;
    bool has_methods; /* there is a marker E: or T: of RheaTrace */
    bool has_io;      /* there is a read or write of a file */
};

/* Reads the text for its clock, and for sections that `reference` has, too. STROBE_BAD_INPUT: no event; `error` states
 * what was expected. STROBE_IO: out of memory. */
enum strobe_status strobe_merge_text_scan(struct strobe_merge_text *t, struct strobe_merge_reference *reference,
                                          struct strobe_error *error);

struct strobe_merge_text_options {
    uint32_t sequence;
    int states_of_4_14, no_calls;       /* see ftrace_convert.h */
    struct strobe_sched_states *states; /* get the scheduling; may be NULL */
    const char *name;                   /* of the file, for `report` */
    FILE *report; /* gets a line for each thing that is not in the trace, or not as an event of its kind; may be NULL */
};

/* Writes the events, with the times of the alignment. STROBE_IO: out of memory. */
enum strobe_status strobe_merge_text_write(struct strobe_merge_text *t, struct strobe_packets *packets,
                                           const struct strobe_merge_text_options *options);

void strobe_merge_text_close(struct strobe_merge_text *t);

#endif
