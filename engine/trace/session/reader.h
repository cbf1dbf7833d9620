/* Reads a session for everything that comes after capture: its records sorted by thread and time, threads, images,
 * clocks, and what was lost on the way. The one place that knows how to look into a session; report and timeline build
 * on it.
 *
 * A session may be closed, cut off by a kill, or still growing, and may have been damaged in any way after that.
 * Nothing is believed before it is checked: what the struct holds is within bounds and safe to use.
 *
 * Not thread-safe; allocates; never writes to the session. Reading half only. */
#ifndef STROBE_TRACE_SESSION_READER_H
#define STROBE_TRACE_SESSION_READER_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/store/session.h"

#include <stddef.h>
#include <stdint.h>

/* One record of the ring. */
struct strobe_item {
    struct strobe_record record; /* ticks + duration does not wrap, count >= 1, kind and thread in range */
    uint32_t metrics;            /* index + 1 in struct strobe_reader's metrics; 0 = none */
    uint32_t slot;               /* where in the ring it stood */
};

/* Who ended a wait, as its WAKE record says. */
struct strobe_reader_wake {
    uint32_t waiter;        /* index of its thread */
    uint32_t waker;         /* the same, or STROBE_NOBODY: the wait timed out or was interrupted */
    uint32_t stack;         /* the waker's, at the release; 0 = not known */
    uint64_t release_ticks; /* within the wait; its end when nobody released */
    uint64_t end_ticks;     /* of the wait, and of its scope's record, which is there */
    uint64_t what;          /* arg of that record */
};
#define STROBE_NOBODY UINT32_MAX

/* A value of the process at an instant, as a COUNTER record says. */
struct strobe_reader_counter {
    uint64_t ticks, value;
    uint32_t thread; /* that it is written for: the main thread, by index */
    enum strobe_series what;
};

/* A turn of the main run loop that took too long, as HITCH records say. */
struct strobe_reader_hitch {
    uint64_t begin_ticks, end_ticks; /* the end may be that of the session: it lasted longer */
    uint32_t thread;                 /* index of the thread whose loop it is */
    uint32_t stack;                  /* seen in it; 0 = none */
    enum strobe_hitch how;
};

/* A section's begin or end, or a counter's value, as ANNOTATION records say. */
struct strobe_reader_annotation {
    uint64_t ticks, value;
    uint32_t thread; /* index of the thread that reported it */
    uint32_t stack;  /* of its name: see strobe_reader_annotation_name; 0 for an END */
    uint32_t slot;   /* of the ring: orders annotations of equal times */
    enum strobe_annotation what;
};

/* Where events went; one thread and kind, or a sum over any of them. Field names as in struct strobe_account. */
struct strobe_tally {
    uint64_t requests; /* re-entrant ones included */
    uint64_t sampled, gated, paused, reentrant, unwind_failed, dropped;
    int64_t in_flight;   /* requests less all outcomes: begun when the process died; else 0 */
    uint64_t records;    /* present in the ring */
    uint64_t present;    /* samples in those records, merged ones counted */
    int64_t overwritten; /* sampled - present */
};

/* Entries of the call log: entries and exits of functions, each one. told = present + overwritten + refused. */
struct strobe_reader_calls {
    uint64_t told, present, refused;
    int64_t overwritten; /* what is neither present nor refused: below 0 only if killed or damaged */
};

/* One of them: the time, and as in struct strobe_call_entry the function's address with STROBE_CALL_EXIT. */
struct strobe_reader_call {
    uint64_t ticks, word;
};

/* A block of the log, as it was when the session was opened. */
struct strobe_reader_block {
    uint64_t ticket;
    uint32_t index, thread, count;
};

struct strobe_reader_thread {
    const struct strobe_item *items; /* by begin (longer first, then ring order, when equal) */
    size_t item_count;
    const struct strobe_reader_wake *woken; /* of its waits, by end */
    size_t woken_count;
    const uint32_t *wakes; /* of its releases: indices in struct strobe_reader's wakes, by release */
    size_t wake_count;
    size_t first_cpu, first_metrics; /* first item that knows its CPU time, that has metrics; or item_count */
    uint32_t tid, generation;
    int is_main;
    enum strobe_thread_state state;
    uint64_t start_ticks, end_ticks; /* end 0 = was alive at the end of the session */
    uint64_t last_ticks;             /* end of its last record; start_ticks when it has none */
    enum strobe_kind open_kind;      /* blocking call it was in at the end of the session; NONE = none known */
    uint64_t open_begin_ticks;
    uint64_t alloc_count, alloc_bytes;      /* totals at the end of the session */
    uint64_t short_waits, short_wait_ticks; /* blocking calls that were too short to be recorded */
    uint64_t overwrote;                     /* samples of any thread that its writes overwrote */
    char name[33];                          /* never empty: "thread 123" when unknown */
    struct strobe_reader_calls calls;
    const struct strobe_reader_block *blocks; /* of its calls, by claim */
    size_t block_count;
    uint64_t last_call_ticks;           /* 0 when it has none */
    uint64_t final_ticks, final_cpu_ns; /* CPU time as the session ended, and when it was read; ticks 0 = not known */
    struct strobe_tally kind[STROBE_KIND_COUNT];
    struct strobe_tally all;       /* sum over kinds */
    uint64_t samples;              /* present: all.present less what is no sample */
    uint64_t dropped, overwritten; /* of all, without what is of time series */
};

struct strobe_reader {
    struct strobe_session session;
    int closed;                           /* ended in order; else see session.header->state */
    struct strobe_reader_thread *threads; /* index = struct strobe_record.thread */
    uint32_t thread_count;
    uint32_t image_count;      /* of session.images, all published; see strobe_reader_image */
    struct strobe_item *items; /* all samples and scopes, thread by thread */
    size_t item_count;
    struct strobe_reader_wake *wakes; /* waiter by waiter */
    size_t wake_count;
    uint32_t *wakes_by_waker;
    struct strobe_reader_counter *counters; /* by series, then by time */
    size_t counter_count;
    struct strobe_reader_hitch *hitches; /* by begin; one for each thread and begin */
    size_t hitch_count;
    struct strobe_reader_annotation *annotations; /* by thread, then by time */
    size_t annotation_count;
    struct strobe_metrics *metrics;
    size_t metrics_count;
    struct strobe_reader_block *blocks; /* of the call log, thread by thread */
    size_t block_count;
    struct strobe_reader_calls calls;                   /* sum over threads */
    uint64_t calls_overwrote;                           /* entries that were overwritten, as those count who did it */
    uint64_t call_blocks_taken;                         /* being claimed when writing stopped: what they held is lost */
    uint64_t call_blocks_damaged, call_entries_damaged; /* hold what no writer writes: left out */
    uint64_t first_ticks, last_ticks; /* range of the session: its begin to its close, or to its last record */

    struct strobe_tally all; /* sum over threads and kinds */
    uint64_t samples;        /* sum over threads */
    uint64_t overwrote;      /* sum of what the threads' and the sampler's writes overwrote */
    uint64_t dropped;        /* sum of the threads', without what is of time series */
    uint32_t largest;        /* samples of the record that holds most */
    uint64_t half_written;   /* slots in the middle of a write: at most one record a writer */
    uint64_t malformed;      /* records that hold what no writer writes: damaged, left out */
    uint64_t untracked;      /* events of threads beyond the thread table */
    uint64_t stacks_refused; /* samples whose stack was cut because the stack table was full */
    uint64_t suspends, resumes;

    void *own_stacks;    /* memory of session.stacks when code_split.h has made them anew, or NULL */
    uint64_t tick_scale; /* ns = ticks * tick_scale / 2^tick_shift; 0 = ticks are ns */
    unsigned tick_shift;
};

/* Writes to `error` why the session cannot be opened, without the path: what `status` of strobe_session_open means for
 * the file at `path`. STROBE_IO: errno holds the reason. */
void strobe_reader_say_status(const char *path, enum strobe_status status, struct strobe_error *error);

/* Opens the session and reads it whole. On failure *out is NULL and `error` (may be NULL) has one line that says
 * what was expected, without the path. Status as for strobe_session_open; STROBE_IO with errno ENOMEM when memory
 * runs out. */
enum strobe_status strobe_reader_open(const char *path, struct strobe_reader **out, struct strobe_error *error);

void strobe_reader_close(struct strobe_reader *reader);

/* Time of `ticks` in ns of CLOCK_BOOTTIME, the clock of traces. Ticks before the session's begin give the
 * begin. */
uint64_t strobe_reader_ns(const struct strobe_reader *reader, uint64_t ticks);

/* A span of ticks in ns. */
uint64_t strobe_reader_span_ns(const struct strobe_reader *reader, uint64_t ticks);

/* Image `index` (0 .. image_count - 1), or NULL when its entry is not whole. The path ends within its array. */
const struct strobe_image_entry *strobe_reader_image(const struct strobe_reader *reader, uint32_t index);

/* The calls of thread `thread`, below thread_count, in time order: *out is the caller's to free. Takes 16 bytes an
 * entry (twice that while handlers' calls are sorted in), never more than the thread's part of the log: whoever goes
 * from thread to thread needs memory for one. STROBE_IO: out of memory. */
enum strobe_status strobe_reader_thread_calls(const struct strobe_reader *reader, uint32_t thread,
                                              struct strobe_reader_call **out, size_t *count);

/* Checks the identities the engine promises:
 *
 *   of each thread and kind   requests = sampled + gated + paused + reentrant + unwind_failed + dropped + in flight
 *                             in flight = 0 when closed, 0 .. 2 a thread otherwise, and for a thread that
 *                             was cut short
 *   over all                  sampled = present + overwrote, exactly when closed, nothing is damaged and no thread
 *                             was cut short; otherwise
 *                             off by no more than the writes under way can have replaced: two records a
 *                             writer, none larger than the largest present
 *   over all                  suspends = resumes, one more when not closed
 *   of calls, over all        told = present + overwritten + refused, exactly when closed; otherwise off by no more
 *                             than a block a writer, which it was claiming or finishing
 *
 * Returns 1 when all hold; else 0 with the first that fails told in `error` (may be NULL) in words and numbers. */
int strobe_reader_check(const struct strobe_reader *reader, struct strobe_error *error);

/* Stores the name of a BEGIN or COUNTER. Returns 0 when the stack table does not hold a text there: the session is
 * damaged. Any context. */
int strobe_reader_annotation_name(const struct strobe_reader *reader, const struct strobe_reader_annotation *annotation,
                                  char name[STROBE_ANNOTATION_NAME_BYTES + 1]);

#endif
