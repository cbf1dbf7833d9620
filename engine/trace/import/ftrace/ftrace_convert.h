/* Converts ftrace text to the packets of a Perfetto trace (ftrace_packets.h), and to states of threads
 * (sched_states.h). An event whose form is known (ftrace_forms.h) becomes Perfetto's message for it. Markers become
 * messages with their text, which readers of traces interpret. Any other event is kept as a generic event with its
 * text, and counted by its kind.
 *
 * A thread belongs to the process that its lines state, else to the process that its first marker states. Its name is
 * that of its scheduling events; a thread without these has the name of its lines.
 *
 * Memory: threads, kinds, and names of functions. Allocates; not thread-safe. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_CONVERT_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_CONVERT_H

#include "engine/trace/export/ftrace_packets.h"
#include "engine/trace/import/ftrace/ftrace_read.h"
#include "engine/trace/import/ftrace/ftrace_text.h"
#include "engine/trace/model/sched_states.h"
#include "engine/util/text_pool.h"

/* Events of one kind. */
struct strobe_ftrace_kind {
    uint32_t first_form, form_count; /* in strobe_ftrace_forms; count 0 = no form is known */
    uint64_t events;
    uint64_t unread; /* of them, those that no form fits: kept as text */
};

struct strobe_ftrace_convert {
    struct strobe_ftrace_packets *out;
    struct strobe_sched_states *states; /* NULL = not wanted */
    int64_t offset_ns;                  /* added to the times of the text */
    int no_calls;                       /* events that ftrace_read.h reads are left out: calls stand for them */
    int states_of_4_14;                 /* states are numbered as kernels from 4.14 on do; else as kernel 4.4 */

    struct strobe_text_pool names;    /* of kinds */
    struct strobe_ftrace_kind *kinds; /* by the number of the name */
    size_t kind_room;
    struct strobe_text_pool tasks; /* names of threads */
    struct strobe_idmap by_tid;
    struct ftrace_thread *threads;
    size_t thread_count, thread_room;
    uint64_t last_ns;     /* of the events, with the offset */
    uint64_t before_zero; /* events that the offset would move before time 0: they get time 0 */
    int failed;           /* memory ran out */
};

/* Sets up. `out` and `states` must outlive it. Close it in any case. */
void strobe_ftrace_convert_open(struct strobe_ftrace_convert *c, struct strobe_ftrace_packets *out,
                                struct strobe_sched_states *states);

void strobe_ftrace_convert_event(struct strobe_ftrace_convert *c, const struct strobe_ftrace_line *line);
void strobe_ftrace_convert_process(struct strobe_ftrace_convert *c, const struct strobe_ftrace_process *process);

/* Writes what is known of threads only at the end. */
void strobe_ftrace_convert_finish(struct strobe_ftrace_convert *c);

void strobe_ftrace_convert_close(struct strobe_ftrace_convert *c);

/* Returns the number by which sched_switch states a task's state, from the text of it. */
uint64_t strobe_ftrace_state_number(struct strobe_ftrace_text state, int states_of_4_14);

/* Parses the process of a marker such as `B|123|name`. */
bool strobe_ftrace_marker_process(struct strobe_ftrace_text marker, uint32_t *pid);

/* Returns true if events of this kind are markers, which user space wrote. */
bool strobe_ftrace_is_marker(struct strobe_ftrace_text event);

#endif
