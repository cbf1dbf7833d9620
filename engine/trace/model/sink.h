/* What a timeline tells whoever writes it down. A sink is one output format; the timeline calls it in this order:
 *
 *   start
 *     any of value (by series, then by time), then any of hitch (by time), then any of mark (by track, then by time)
 *     for each thread:   thread_begin
 *                          any of slice_begin, slice_end, instant, wake, samples, message, cpu
 *                        thread_end
 *   finish               once, also after an error
 *
 * Within a thread, times of slice_begin, slice_end, instant, wake and message never decrease; slices nest, each is
 * longer than zero, and all are ended before thread_end. Pointers handed over are good during the call only, except
 * those given to start, which last until finish returns. Names are ids of the function tree.
 *
 * A sink that has no use for values, hitches, marks, instants, wakes, samples, messages, shares of CPU time or ends of
 * threads leaves the pointer NULL.
 *
 * Of several sessions, one for each process, the calls from start on are repeated, in the order in which the processes
 * began, and finish comes after the last; the tree goes on to the next session (strobe_function_tree_enter).
 *
 * What comes from no session (calls_timeline.h) has a reader of which only pid, exe, command, begin and threads are
 * set; the version of its session is 0.
 *
 * Calls return nothing: a sink that fails remembers its first error, ignores what follows, and returns the error from
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

/* A point in a thread's life. */
struct strobe_moment {
    uint64_t time_ns;                       /* CLOCK_BOOTTIME */
    uint64_t cpu_ns;                        /* CPU time used so far; never decreases, never grows faster than time_ns */
    uint64_t counter[STROBE_COUNTER_COUNT]; /* totals so far, never decreasing */
};

enum strobe_slice_class {
    STROBE_SLICE_FUNCTION,
    STROBE_SLICE_WAIT,        /* a blocking call; covers it from begin to end */
    STROBE_SLICE_GAP,         /* no sample for too long */
    STROBE_SLICE_PLACEHOLDER, /* stands for frames that are missing */
    STROBE_SLICE_OFF_CPU,     /* the thread stood in the slice around this one, off its processor */
    STROBE_SLICE_CLASS_COUNT,
};

struct strobe_slice {
    uint32_t name;
    uint32_t node;  /* of the function tree: this slice and those it lies in */
    uint32_t depth; /* 1 for the outermost */
    enum strobe_slice_class class;
    int unfinished;   /* a wait that had not ended when the session did; at slice_end, a call
                       * whose end is made up */
    uint64_t arg;     /* of a wait: what the call was about, see struct strobe_record; else 0 */
    uint64_t samples; /* at slice_end: samples that saw it, or one in it */
    struct strobe_moment begin;
};

/* Samples of one stack, evenly spread from first to last. */
struct strobe_samples {
    uint64_t first_ns, last_ns;
    uint64_t count; /* at least 1 */
    uint32_t stack; /* stack id; 0 = none */
    unsigned way;   /* how to read it: STROBE_STACK_* of function_tree.h */
};

/* Numbers that go with an instant. */
struct strobe_note {
    const char *key;
    uint64_t value;
};

/* Who ended a wait: a flow from the waker's track to the waiter's, told among the events of both, once each. To the
 * waiter right before its wait's slice_end, with no other slice open in it; to the waker at the time of the release.
 * When nobody ended it, it is told to the waiter only. */
struct strobe_wake_flow {
    uint64_t id;                 /* from 1; the same at both ends, and no other's */
    int at_waker;                /* which end this is */
    uint32_t waiter, waker;      /* threads, by index; waker STROBE_NOBODY: it timed out or was interrupted */
    uint64_t time_ns;            /* of this end */
    uint64_t release_ns, end_ns; /* when the waker released, when the wait ended */
    uint64_t what;               /* what was waited for: arg of the wait */
    uint32_t stack;              /* stack id of the waker at the release; 0 = not known */
};

/* The thread's loop begins a message (id not 0), after the slices of the one before have ended and before its own
 * begin; or it ends the one it was busy with (0). One that begins ends the one before, too. */
struct strobe_loop_message {
    uint64_t time_ns;
    uint32_t id;
};

/* CPU time of the thread that belongs to `node` of the function tree, used between the two times: see cpu_shares.h. The
 * times are equal where it belongs to a sample. Ends never decrease. A thread of which calls are known has none. */
struct strobe_cpu_share {
    uint64_t begin_ns, end_ns;
    uint32_t node;
    uint64_t cpu_ns;
};

/* A value of the process at an instant. */
struct strobe_value {
    enum strobe_series what;
    uint64_t time_ns, value;
};

/* Names of the series, with their units in words, by enum strobe_series: what tracks are called. */
extern const char *const strobe_series_name[STROBE_SERIES_COUNT];

/* A turn of a run loop that took too long. They follow one another; each is longer than zero. */
struct strobe_late {
    uint64_t begin_ns, end_ns;
    enum strobe_hitch how;
    uint32_t thread; /* whose loop, by index */
    uint32_t node;   /* of the function tree: a stack seen in it; 0 = none */
};
extern const char *const strobe_hitch_name[STROBE_HITCH_COUNT];

/* Text that goes with a mark. */
struct strobe_mark_note {
    const char *key, *text;
};

/* What a program told beside its calls: a counter's value, or an asynchronous slice, which lies on no thread. Or what
 * somebody has to say of the program (findings): those have a lane, and may be instants. */
struct strobe_mark {
    uint32_t track; /* from 0: a counter, or a lane in which slices of one name follow one another */
    int is_counter;
    const char *name;
    uint64_t begin_ns, end_ns;            /* a counter's: equal */
    int64_t value;                        /* a counter's */
    const char *lane;                     /* what the track is called; NULL = `name` */
    const struct strobe_mark_note *notes; /* of those with a lane */
    size_t note_count;
};

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
    int several; /* set before start: there are several processes, to be told apart */
};

/* The name of the process's program: the last part of its file's path; "program" when it is not known. *bytes is its
 * length: nothing ends it. */
const char *strobe_sink_process_name(const struct strobe_session_header *header, size_t *bytes);

#endif
