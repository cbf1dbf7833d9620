/* The report of a session, or of a trace made from one: threads, methods, waits, losses, and whether the accounting is
 * consistent. It is built completely, and then printed as a table or as JSON.
 *
 * Times are in ns. In JSON the numbers of the structs below have the fields' names as keys, with few exceptions
 * (`recorded` of the call log is `told`). They are in `process`, `threads`, `methods`, `wait_kinds`, `waits`,
 * `sections`, `counters`, `scheduling`, `events`, `events_by_kind`, `calls`, `stacks`, `ring`, `sampler`, `recorded`,
 * `warnings`.
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_REPORT_REPORT_H
#define STROBE_TRACE_REPORT_REPORT_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/model/allocations.h"
#include "engine/trace/model/calls_repair.h"
#include "engine/trace/report/profile.h"
#include "engine/trace/session/reader.h"
#include "engine/util/text_pool.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { STROBE_REPORT_WAITS_MAX = 1000 };

enum strobe_report_by { STROBE_BY_WALL, STROBE_BY_CPU, STROBE_BY_ALLOC };

struct strobe_report_options {
    uint32_t top;              /* number of methods and waits; 0 = all methods, and STROBE_REPORT_WAITS_MAX waits */
    enum strobe_report_by by;  /* rank methods by wall time, CPU time, or allocated bytes (of a session only) */
    const char *thread;        /* of a session only: count only this thread, by name or tid; NULL = all */
    uint64_t from_ns, to_ns;   /* of a session only: count only this part, since its begin; to_ns 0 = to its end */
    const char *function;      /* of a session only: give callers and callees of this function; NULL = none */
    int lines;                 /* of a session only: give lines of source */
    unsigned symbols;          /* STROBE_SYMBOLS_*; of a session only */
    uint64_t gap_ns;           /* as in struct strobe_timeline_options; of a session only */
    enum strobe_repair repair; /* as in struct strobe_timeline_options; of a session only */
    int verbose;               /* add the outcome of events and the sampler's figures; JSON always has them */
    uint32_t width;            /* maximum columns of the table; 0 = unlimited */
};

struct strobe_report_thread {
    const char *name;
    uint32_t tid, generation;
    int is_main;
    uint64_t wall_ns; /* from its first slice to the end of its last */
    uint64_t cpu_ns;
    uint64_t wait_ns; /* of the wall time: in blocking calls, ... */
    uint64_t off_ns;  /* ... off the processor elsewhere: runnable, or in calls that no hook sees, ... */
    uint64_t gap_ns;  /* ... unseen */
    uint64_t slices, waits, samples, lost;
    uint64_t restricted_ns; /* time since the session's begin at which seccomp ended its recording; 0 = it did not */
};

struct strobe_report_method {
    const char *name, *image; /* image: its file; "" if unknown */
    uint64_t self_ns, total_ns, self_cpu_ns, total_cpu_ns, slices;
    uint64_t alloc_self_bytes, alloc_self_count, alloc_total_bytes, alloc_total_count; /* see allocations.h */
};

/* A caller or callee of the selected function. The caller "" means that the function was outermost. */
struct strobe_report_relation {
    const char *name;
    uint64_t ns, cpu_ns, slices;
};

/* Allocations at one stack. */
struct strobe_report_stack {
    const char *path; /* names, outermost first, separated by ; */
    uint64_t bytes, count;
};

/* A line of source in a method, with the number of samples at that line. */
struct strobe_report_line {
    const char *method, *file;
    uint32_t line;
    uint64_t samples;
};

/* All waits of one kind, or one wait. */
struct strobe_report_wait {
    const char *kind, *thread, *method; /* thread and method: of a single wait; else NULL */
    uint32_t tid;
    uint64_t begin_ns; /* since the session's begin */
    uint64_t duration_ns, count, arg;
    int unfinished;    /* had not ended at the end of the session */
    const char *waker; /* name of the thread that ended a single wait; "" = unknown or none */
    uint32_t waker_tid;
    int nobody; /* the wait timed out or was interrupted */
};

/* Time series of the process. All 0 if the backend does not record them. */
struct strobe_report_process {
    uint64_t values;          /* number of values */
    uint64_t cpu_ns, span_ns; /* from the first value of CPU time to the last: CPU time, and time */
    uint64_t footprint_peak_bytes, threads_max;
    uint64_t mach_traps;                   /* calls of the Mach kernel from the first value to the last */
    uint64_t hitches, hangs, late_ns;      /* turns of the run loop that took too long, and their total time */
    uint64_t longest_begin_ns, longest_ns; /* the longest turn; begin since the session's begin */
    const char *longest_in;                /* innermost method or wait that covers at least half of it; "" = none */
};

/* All sections of one name that the program reported. A section's own CPU time is the thread's outside of the sections
 * in it; 0 for threads whose calls are known. */
struct strobe_report_section {
    const char *name;
    uint64_t count, total_ns, self_cpu_ns, longest_ns;
};

/* A counter that the program reported, of the process or of a thread. */
struct strobe_report_counter {
    const char *name, *thread; /* thread: NULL = of the process */
    uint32_t tid;
    uint64_t count; /* values */
    int64_t last, least, most;
};

/* The call log. All 0 if the session has none. recorded = present + overwritten + refused. */
struct strobe_report_calls {
    uint64_t recorded, present, overwritten, refused; /* entries and exits */
    uint64_t calls;                                   /* slices of threads with known calls */
    uint64_t repaired;                                /* of these, calls with a synthesized end */
    uint64_t unmatched;                               /* exits without an entry: left out */
};

/* The scheduling of a thread, as the kernel recorded it. Without wake-ups, `sleeping` includes the time from a wake-up
 * to the switch, and uninterruptible sleep. */
struct strobe_report_sched_thread {
    const char *name;
    uint32_t tid;
    uint64_t begin_ns, wall_ns; /* of the thread's life that the numbers below describe; since the session's begin */
    uint64_t running_ns, runnable_ns, sleeping_ns, uninterruptible_ns;
    uint64_t switches;    /* times that it left its processor; */
    uint64_t preempted;   /* of these, while it could have run on */
    uint64_t moves;       /* switches to another processor than before */
    uint64_t wakes;       /* wake-ups */
    const char *waker;    /* the thread that woke it most often; NULL = none */
    uint32_t waker_tid;   /* 0 = interrupts */
    uint64_t waker_wakes; /* wake-ups by it */
};

/* All 0 if the session has no scheduling. */
struct strobe_report_sched {
    uint32_t source; /* enum strobe_sched_source */
    uint64_t events, lost, damaged;
    struct strobe_report_sched_thread *threads; /* by time running, most first */
    size_t thread_count;
};

struct strobe_report_fact {
    const char *key;
    uint64_t value;
};

struct strobe_report {
    const char *source;        /* "session" or "trace" */
    const char *command, *exe; /* "" when unknown */
    uint32_t pid;
    int closed;         /* of a session: it ended normally */
    int exited, killed; /* of a session that was not closed: how its process ended, if known */
    uint64_t begin_ns, wall_ns, cpu_ns;
    struct strobe_report_process process;
    struct strobe_report_calls calls;

    struct strobe_report_thread *threads; /* busiest first */
    size_t thread_count;
    struct strobe_report_method *methods;   /* by self time; contains the first `top` of each ranking */
    struct strobe_report_method *inclusive; /* the same methods by inclusive time */
    size_t method_count, method_count_in_all;
    struct strobe_report_wait *wait_kinds; /* longest first */
    size_t wait_kind_count;
    struct strobe_report_wait *waits;
    size_t wait_count;

    /* Of a session only. */
    struct strobe_report_section *sections; /* longest total time first */
    size_t section_count;
    struct strobe_report_counter *counters; /* by name */
    size_t counter_count;

    struct strobe_report_sched sched;

    /* Of a session only; filled if the options select it. */
    struct strobe_report_relation function;           /* the selected function */
    struct strobe_report_relation *callers, *callees; /* longest first */
    size_t caller_count, callee_count;
    struct strobe_report_stack *stacks; /* the first `top` by allocated bytes */
    size_t stack_count;
    struct strobe_allocations allocated, unplaced; /* all allocations; those without a stack */
    struct strobe_report_line *lines;              /* the first `top` by samples */
    size_t line_count;
    uint64_t line_samples, line_unknown; /* all samples; samples without a line */

    /* Of a session only. */
    struct strobe_tally events; /* over all threads and kinds */
    struct strobe_tally by_kind[STROBE_KIND_COUNT];
    uint64_t overwrote, half_written, malformed, untracked;
    uint64_t suspends, resumes, suspend_late, suspend_gone, suspend_moved;
    uint32_t signal_taken;          /* the stop signal, if the program took it; from then on only hooks recorded */
    struct strobe_stop_times stops; /* times that threads were stopped, ns */
    uint64_t passes, late_passes, lag_ns;                 /* of the sampler; lag: sum over passes */
    uint64_t short_waits, short_wait_ns;                  /* waits too short to be recorded: number, total time */
    uint64_t stacks_cut, stacks_doubtful, stacks_refused; /* records with such a stack */
    uint64_t native_gaps;    /* walks that lost the native frames outside of managed ones */
    uint64_t engine_samples; /* taken while the engine ran in a hook; shown as the hook's caller */
    int balanced;            /* the accounting is consistent, see strobe_reader_check */
    char verdict[256];       /* if not balanced: the first violation */

    struct strobe_report_fact *facts; /* of a trace: facts about the recording that it contains */
    size_t fact_count;
    char **features; /* of a session of Android: a line each, whether it is in place and why not */
    size_t feature_count;
    char **warnings; /* reasons why names or numbers may be wrong */
    size_t warning_count;

    struct strobe_text_pool texts; /* of the names above */
    struct strobe_report_options options;
};

/* Builds the report of a session file. On failure *out is NULL and `error` has one line without the path. */
enum strobe_status strobe_report_session(const char *path, const struct strobe_report_options *options,
                                         struct strobe_report **out, struct strobe_error *error);

/* Builds the report of a Perfetto trace that strobe wrote. Methods of one name are one method there. */
enum strobe_status strobe_report_trace(const char *path, const struct strobe_report_options *options,
                                       struct strobe_report **out, struct strobe_error *error);

void strobe_report_close(struct strobe_report *report);

/* Prints the report. The stream keeps errors: check ferror afterwards. STROBE_IO: out of memory, and nothing is
 * printed. */
enum strobe_status strobe_report_print(const struct strobe_report *report, FILE *out);
void strobe_report_print_json(const struct strobe_report *report, FILE *out);

/* Sorts methods and waits and drops those beyond `top`: the last step of building. `profile` must be finished.
 * `name_of` and `image_of` return the texts of its names, valid as long as the report. STROBE_IO: out of memory. */
struct strobe_report_names {
    const char *(*name_of)(void *ctx, uint32_t name);
    const char *(*image_of)(void *ctx, uint32_t name);
    void *ctx;
    const struct strobe_allocations_by_name *allocations; /* NULL = not known */
};
enum strobe_status strobe_report_rank(struct strobe_report *report, const struct strobe_profile *profile,
                                      const struct strobe_report_names *names);

/* Warnings for a session that was not closed, or a trace of one. */
#define STROBE_REPORT_NOT_ENDED "the session did not end normally: the program was killed, or still runs"
#define STROBE_REPORT_KILLED    "the session did not end normally: the program was killed"

/* Adds a warning; format as for printf. STROBE_IO: out of memory. */
enum strobe_status strobe_report_warn(struct strobe_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a line about a feature of the capture, in the same way. */
enum strobe_status strobe_report_feature(struct strobe_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
