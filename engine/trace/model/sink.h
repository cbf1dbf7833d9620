/* The sink interface: a timeline passes its events to a sink, and each output format is one sink. The timeline calls
 * the sink in this order:
 *
 *   start
 *     any of value (by series, then by time), then any of hitch (by time), then any of mark (by track, then by time)
 *     for each thread:   thread_begin
 *                          any of slice_begin, slice_end, instant, wake, samples, message, cpu
 *                        thread_end
 *   finish               once, also after an error
 *
 * Within a thread, times of slice_begin, slice_end, instant, wake and message never decrease. Slices nest, each is
 * longer than zero, and all end before thread_end. Pointers passed to a call are valid during that call only, except
 * those passed to start, which are valid until finish returns. Names are ids of the function tree.
 *
 * A sink that does not use values, hitches, marks, instants, wakes, samples, messages, shares of CPU time or ends of
 * threads leaves the pointer NULL.
 *
 * For several sessions, one per process, the calls from start on are repeated, in the order in which the processes
 * began. finish comes after the last session. The tree switches to the next session before its start
 * (strobe_function_tree_enter).
 *
 * A timeline that does not come from a session (calls_timeline.h) has a reader of which only pid, exe, command, begin
 * and threads are set. The version of its session is 0.
 *
 * Calls return nothing. A sink that fails keeps its first error, ignores later calls, and returns the error from
 * finish. Reading half only. */
#ifndef STROBE_TRACE_MODEL_SINK_H
#define STROBE_TRACE_MODEL_SINK_H

#include "engine/base/status.h"
#include "engine/trace/model/function_tree.h"
#include "engine/trace/session/reader.h"

#include <stdint.h>

enum strobe_counter {
    STROBE_COUNTER_ALLOC_BYTES,
    STROBE_COUNTER_ALLOCS,
    STROBE_COUNTER_MINOR_FAULTS,
    STROBE_COUNTER_MAJOR_FAULTS,
    STROBE_COUNTER_SWITCHES,    /* voluntary: the thread waited */
    STROBE_COUNTER_PREEMPTIONS, /* involuntary */
    STROBE_COUNTER_COUNT
};

/* A point in time of one thread, with its totals so far. */
struct strobe_moment {
    uint64_t time_ns;                       /* CLOCK_BOOTTIME */
    uint64_t cpu_ns;                        /* CPU time used so far; never decreases, never grows faster than time_ns */
    uint64_t counter[STROBE_COUNTER_COUNT]; /* totals so far, never decreasing */
};

enum strobe_slice_class {
    STROBE_SLICE_FUNCTION,
    STROBE_SLICE_WAIT,        /* a blocking call, from its begin to its end */
    STROBE_SLICE_GAP,         /* no sample for too long */
    STROBE_SLICE_PLACEHOLDER, /* stands for missing frames */
    STROBE_SLICE_OFF_CPU,     /* the thread was off its processor, in the slice around this one */
    STROBE_SLICE_CLASS_COUNT,
};

struct strobe_slice {
    uint32_t name;
    uint32_t node;  /* of the function tree: the path of this slice and those around it */
    uint32_t depth; /* 1 for the outermost */
    enum strobe_slice_class class;
    int unfinished;   /* of a wait: it had not ended at the end of the session; at slice_end of a call:
                       * its end is synthesized */
    int no_wait;      /* at slice_end of a wait: see STROBE_FLAG_NO_WAIT */
    uint64_t arg;     /* of a wait: the argument of struct strobe_record; else 0 */
    uint64_t samples; /* at slice_end: samples within the slice, including those of slices in it */
    struct strobe_moment begin;
};

/* Samples of one stack, evenly spread from first to last. */
struct strobe_samples {
    uint64_t first_ns, last_ns;
    uint64_t count;      /* at least 1 */
    uint32_t stack;      /* stack id; 0 = none */
    unsigned incomplete; /* STROBE_STACK_* bits of function_tree.h */
};

/* A number that belongs to an instant. */
struct strobe_note {
    const char *key;
    uint64_t value;
};

/* The end of a wait by another thread: a flow from the waker's track to the waiter's. The sink gets it once among the
 * events of each of the two threads. The waiter's comes right before slice_end of its wait, with no slice open inside.
 * The waker's comes at the time of the release. If the wait timed out or was interrupted, only the waiter's comes. */
struct strobe_wake_flow {
    uint64_t id;                 /* from 1; equal at both ends, and unique among flows */
    int at_waker;                /* 1: the waker's end of the flow; 0: the waiter's */
    uint32_t waiter, waker;      /* thread indices; waker STROBE_NO_THREAD: the wait timed out or was interrupted */
    uint64_t time_ns;            /* of this end */
    uint64_t release_ns, end_ns; /* when the waker released, when the wait ended */
    uint64_t what;               /* the object waited for: arg of the wait */
    uint32_t stack;              /* stack id of the waker at the release; 0 = unknown */
};

/* With an id that is not 0, the thread's loop begins a message: after slices of the previous message have ended and
 * before slices of its own begin. With id 0, the loop ends the current message. A message that begins also ends the
 * previous one. */
struct strobe_loop_message {
    uint64_t time_ns;
    uint32_t id;
};

/* CPU time of the thread that belongs to `node` of the function tree, used between the two times: see cpu_shares.h. The
 * times are equal if it belongs to one sample. Ends never decrease. A thread with known calls has no shares. */
struct strobe_cpu_share {
    uint64_t begin_ns, end_ns;
    uint32_t node;
    uint64_t cpu_ns;
};

/* A value of the process at one time. */
struct strobe_value {
    enum strobe_series what;
    uint64_t time_ns, value;
};

/* Names of the series, with their units, by enum strobe_series. They are the names of tracks. */
extern const char *const strobe_series_name[STROBE_SERIES_COUNT];

/* A turn of a run loop that took too long. Turns do not overlap, and each is longer than zero. */
struct strobe_late {
    uint64_t begin_ns, end_ns;
    enum strobe_hitch how;
    uint32_t thread; /* index of the loop's thread */
    uint32_t node;   /* of the function tree: a stack sampled during the turn; 0 = none */
};
extern const char *const strobe_hitch_name[STROBE_HITCH_COUNT];

/* Text that belongs to a mark. */
struct strobe_mark_note {
    const char *key, *text;
};

/* An event of the process that is not a call: a counter's value, or an asynchronous slice. A slice that the program
 * itself reported (a section) has the thread that reported it.
 * Findings are marks too: they have a lane, and their begin and end may be equal. */
struct strobe_mark {
    uint32_t track; /* from 0: a counter, or a lane in which slices of one name follow one another */
    int is_counter;
    const char *name;
    uint64_t begin_ns, end_ns;                 /* of a counter: equal */
    int64_t value;                             /* of a counter */
    const char *lane;                          /* name of the track; NULL = `name` */
    const struct strobe_reader_thread *thread; /* the track belongs to this thread's; NULL = to the process */
    const struct strobe_mark_note *notes;      /* of marks with a lane */
    size_t note_count;
};

/* Returns the category of a section, and its length: what stands before ": " in its name, as `net` of `net: fetch`. "":
 * the name has none, or the mark is no section. The category is not terminated by NUL. */
const char *strobe_mark_category(const struct strobe_mark *mark, size_t *bytes);

struct strobe_sink {
    void (*start)(struct strobe_sink *, const struct strobe_reader *, struct strobe_function_tree *);
    void (*thread_begin)(struct strobe_sink *, const struct strobe_reader_thread *);
    void (*slice_begin)(struct strobe_sink *, const struct strobe_slice *);
    void (*slice_end)(struct strobe_sink *, const struct strobe_slice *, const struct strobe_moment *now);
    void (*instant)(struct strobe_sink *, uint64_t time_ns, const char *name, const struct strobe_note *notes,
                    size_t note_count);
    void (*samples)(struct strobe_sink *, const struct strobe_samples *);
    void (*thread_end)(struct strobe_sink *);
    enum strobe_status (*finish)(struct strobe_sink *);
    void (*wake)(struct strobe_sink *, const struct strobe_wake_flow *);
    void (*value)(struct strobe_sink *, const struct strobe_value *);
    void (*hitch)(struct strobe_sink *, const struct strobe_late *);
    void (*mark)(struct strobe_sink *, const struct strobe_mark *);
    void (*message)(struct strobe_sink *, const struct strobe_loop_message *);
    void (*cpu)(struct strobe_sink *, const struct strobe_cpu_share *);
    int several; /* set before start: the trace has several processes, which the output must distinguish */
};

/* Returns the name of the process: the last part of the path of its program's file, or "program" when unknown. An app
 * of Android has the first word of its command line, such as `com.example.app:sync`. *bytes is the name's length; the
 * name is not terminated by NUL. */
const char *strobe_sink_process_name(const struct strobe_session_header *header, size_t *bytes);

#endif
