/* The states of threads over time, from the kernel's scheduling events: running, runnable, sleeping, uninterruptible.
 * Events may come in any order, as different processors write them; strobe_sched_states_finish sorts them. Only threads
 * that are watched are kept. Then strobe_sched_states_between adds up the states of a thread between two times, by
 * prefix sums, in logarithmic time.
 *
 * A thread's state before its first event is unknown, and so is that after its exit; neither is counted. The state of
 * its last event lasts to the end of the recording: the latest time of any event, or of strobe_sched_states_extend.
 *
 * Times are ns of CLOCK_BOOTTIME. Zeroed memory has no threads. Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_MODEL_SCHED_STATES_H
#define STROBE_TRACE_MODEL_SCHED_STATES_H

#include "engine/util/idmap.h"

#include <stdint.h>

enum strobe_sched_state {
    STROBE_SCHED_RUNNING,
    STROBE_SCHED_RUNNABLE,
    STROBE_SCHED_SLEEPING,
    STROBE_SCHED_UNINTERRUPTIBLE,
    STROBE_SCHED_STATE_COUNT,
    STROBE_SCHED_UNKNOWN = STROBE_SCHED_STATE_COUNT /* not created yet, or exited */
};

struct strobe_sched_states {
    struct strobe_idmap by_tid; /* index of `threads` */
    struct strobe_sched_thread *threads;
    size_t thread_count, thread_room;
    uint64_t last_ns;
    int failed; /* memory ran out */
};

/* The state of a thread that leaves its processor, by the kernel's text of it: `S`, `D|K`, `R+`. */
enum strobe_sched_state strobe_sched_state_of(const char *text, size_t bytes);

/* The same, by the number of sched_switch. */
enum strobe_sched_state strobe_sched_state_of_number(uint64_t number);

/* Keeps the states of this thread. Call it before the thread's events. */
void strobe_sched_states_watch(struct strobe_sched_states *s, uint32_t tid);

/* The thread `prev` leaves a processor and is in `state` from then on. The thread `next` gets the processor. */
void strobe_sched_states_switch(struct strobe_sched_states *s, uint64_t time_ns, uint32_t prev,
                                enum strobe_sched_state state, uint32_t next);

/* The thread is woken: it is runnable unless it runs. */
void strobe_sched_states_wake(struct strobe_sched_states *s, uint64_t time_ns, uint32_t tid);

/* The recording lasts until `time_ns` at least, without events at its end. */
void strobe_sched_states_extend(struct strobe_sched_states *s, uint64_t time_ns);

/* Ends the input. Returns 0 when memory ran out, now or before. */
int strobe_sched_states_finish(struct strobe_sched_states *s);

/* Adds up the time that the thread spent in each state within [begin_ns, end_ns). Returns 0 when nothing is known of
 * the thread in that time. */
int strobe_sched_states_between(const struct strobe_sched_states *s, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
                                uint64_t out[STROBE_SCHED_STATE_COUNT]);

/* Stores the time of the last switch of the thread to a processor that is at `time_ns` or before. Returns 0 when there
 * is none. */
int strobe_sched_states_switched_in(const struct strobe_sched_states *s, uint32_t tid, uint64_t time_ns, uint64_t *out);

void strobe_sched_states_free(struct strobe_sched_states *s);

#endif
