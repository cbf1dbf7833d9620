/* Reads a session for all later stages: its records sorted by thread and time, its threads, images and clocks, and its
 * losses. Only the reader interprets a session's contents; report and timeline use the reader.
 *
 * A session may be closed, cut off by a kill, or still growing, and may be damaged in any way. The reader checks all
 * contents: the values in struct strobe_reader are within bounds and safe to use.
 *
 * Not thread-safe; allocates; never writes to the session. Reading half only. */
#ifndef STROBE_TRACE_SESSION_READER_H
#define STROBE_TRACE_SESSION_READER_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/store/session.h"
#include "engine/trace/session/sched_section.h"

#include <stddef.h>
#include <stdint.h>

/* One record of the ring. */
struct strobe_item {
    struct strobe_record record; /* ticks + duration does not wrap, count >= 1, kind and thread in range */
    uint32_t metrics;            /* index + 1 in struct strobe_reader's metrics; 0 = none */
    uint32_t slot;               /* its slot in the ring */
};

/* The end of a wait, from its WAKE record. */
struct strobe_reader_wake {
    uint32_t waiter;        /* index of the waiting thread */
    uint32_t waker;         /* index of the releaser, or STROBE_NO_THREAD: the wait timed out or was interrupted */
    uint32_t stack;         /* stack id of the waker at the release; 0 = unknown */
    uint64_t release_ticks; /* time of the release, within the wait; the wait's end when waker is STROBE_NO_THREAD */
    uint64_t end_ticks;     /* end of the wait and of its scope record, which is present */
    uint64_t what;          /* arg of the scope record */
};
#define STROBE_NO_THREAD UINT32_MAX

/* A value of the process at one time, from a COUNTER record. */
struct strobe_reader_counter {
    uint64_t ticks, value;
    uint32_t thread; /* index of the thread of the record: the main thread */
    enum strobe_series what;
};

/* The system call in which a thread waited at one time, from a COUNTER record. */
struct strobe_reader_wait_call {
    uint64_t ticks, call; /* call: see strobe_wait_call */
    uint32_t thread;
};

/* A turn of the main run loop that took too long, from HITCH records. */
struct strobe_reader_hitch {
    uint64_t begin_ticks, end_ticks; /* end_ticks may be the session's end if the turn lasted longer */
    uint32_t thread;                 /* index of the loop's thread */
    uint32_t stack;                  /* stack id sampled during the turn; 0 = none */
    enum strobe_hitch how;
};

/* A section's begin or end, or a counter's value, from an ANNOTATION record. */
struct strobe_reader_annotation {
    uint64_t ticks, value; /* value: of a counter; the depth of a section, 0 = not known */
    uint64_t duration;     /* of a section that is recorded whole; else 0 */
    uint32_t thread;       /* index of the thread that reported it */
    uint32_t stack;        /* of its name: see strobe_reader_annotation_name; 0 for an END without a begin */
    uint32_t slot;         /* of the ring: orders annotations of equal times */
    enum strobe_annotation what;
};

/* Outcomes of events, of one thread and kind or a sum over several. Field names as in struct strobe_account. */
struct strobe_tally {
    uint64_t requests; /* all requests, including re-entrant ones */
    uint64_t sampled, gated, paused, reentrant, unwind_failed, dropped;
    int64_t in_flight;   /* requests minus all outcomes: requests that were in progress when the process died */
    uint64_t records;    /* records present in the ring */
    uint64_t present;    /* samples in those records, including merged ones */
    int64_t overwritten; /* sampled - present */
};

/* Entries of the call log, each an entry or exit of a function. recorded = present + overwritten + refused. */
struct strobe_reader_calls {
    uint64_t recorded, present, refused;
    int64_t overwritten; /* neither present nor refused; below 0 only after a kill or damage */
};

/* One entry of the call log: its time, and the function's address with STROBE_CALL_EXIT, as in struct
 * strobe_call_entry. */
struct strobe_reader_call {
    uint64_t ticks, word;
};

/* A block of the call log, as it was when the session was opened. */
struct strobe_reader_block {
    uint64_t ticket;
    uint32_t index, thread, count;
};

struct strobe_reader_thread {
    const struct strobe_item *items; /* by begin; at equal begins by falling duration, then in ring order */
    size_t item_count;
    const struct strobe_reader_wake *woken; /* wakes of the thread's waits, by end */
    size_t woken_count;
    const uint32_t *wakes; /* its releases, by time: indices in struct strobe_reader's wakes */
    size_t wake_count;
    const struct strobe_reader_wait_call *wait_calls; /* system calls in which it waited, by time */
    size_t wait_call_count;
    size_t first_cpu, first_metrics; /* first item with CPU time, first item with metrics; or item_count */
    uint32_t tid, generation;
    int is_main;
    enum strobe_thread_state state;
    uint64_t start_ticks, end_ticks; /* end_ticks 0 = alive at the end of the session */
    uint64_t last_ticks;             /* end of its last record; start_ticks if it has no record */
    enum strobe_kind open_kind;      /* blocking call that it was in at the end of the session; NONE = none known */
    uint64_t open_begin_ticks;
    uint64_t alloc_count, alloc_bytes;      /* totals at the end of the session */
    uint64_t short_waits, short_wait_ticks; /* blocking calls too short to be recorded */
    uint64_t overwrote;                     /* samples, of any thread, that its writes overwrote */
    char name[33];                          /* never empty: "thread 123" if unknown */
    struct strobe_reader_calls calls;
    const struct strobe_reader_block *blocks; /* blocks of its calls, by ticket */
    size_t block_count;
    uint64_t last_call_ticks;           /* 0 if it has no calls */
    uint64_t final_ticks, final_cpu_ns; /* CPU time at the session's end, read at final_ticks; ticks 0 = unknown */
    struct strobe_tally kind[STROBE_KIND_COUNT];
    struct strobe_tally all;       /* sum over kinds */
    uint64_t samples;              /* all.present without kinds that are not samples */
    uint64_t dropped, overwritten; /* of `all`, without time series */
};

struct strobe_reader {
    struct strobe_session session;
    int closed;                           /* 1: the session was closed; else see session.header->state */
    struct strobe_reader_thread *threads; /* index = struct strobe_record.thread */
    uint32_t thread_count;
    uint32_t image_count;      /* length of session.images; see strobe_reader_image */
    struct strobe_item *items; /* all samples and scopes, ordered by thread */
    size_t item_count;
    struct strobe_reader_wake *wakes; /* ordered by waiter */
    size_t wake_count;
    uint32_t *wakes_by_waker;
    struct strobe_reader_counter *counters; /* by series, then by time */
    size_t counter_count;
    struct strobe_reader_wait_call *wait_calls; /* by thread, by time */
    size_t wait_call_count;
    struct strobe_reader_hitch *hitches; /* by begin; at most one per thread and begin */
    size_t hitch_count;
    struct strobe_reader_annotation *annotations; /* by thread, by time, by depth */
    size_t annotation_count;
    struct strobe_metrics *metrics;
    size_t metrics_count;
    struct strobe_reader_block *blocks; /* of the call log, ordered by thread */
    size_t block_count;
    struct strobe_reader_calls calls; /* sum over threads */
    uint64_t calls_overwrote;         /* overwritten entries, as counted by the overwriting threads */
    uint64_t call_blocks_taken;       /* blocks that were being claimed when writing stopped; their entries are lost */
    uint64_t call_blocks_damaged, call_entries_damaged; /* blocks and entries with invalid contents, left out */
    uint64_t first_ticks, last_ticks; /* range of the session: from its begin to its close, or to its last record */

    struct strobe_tally all; /* sum over threads and kinds */
    uint64_t samples;        /* sum over threads */
    uint64_t overwrote;      /* samples overwritten by the threads' and the sampler's writes */
    uint64_t dropped;        /* sum over threads, without time series */
    uint32_t largest;        /* largest number of samples in one record */
    uint64_t half_written;   /* slots in the middle of a write: at most one record per writer */
    uint64_t malformed;      /* records with invalid contents: damaged, left out */
    uint64_t untracked;      /* events of threads beyond the thread table */
    uint64_t stacks_refused; /* samples whose stack was cut because the stack table was full */
    uint64_t suspends, resumes;

    struct strobe_sched_section sched; /* scheduling, if it was recorded */

    void *own_stacks;    /* memory of session.stacks if code_split.h has rebuilt the table; else NULL */
    uint64_t tick_scale; /* ns = ticks * tick_scale / 2^tick_shift; 0 = ticks are ns */
    unsigned tick_shift;
};

/* Writes to `error` why the session cannot be opened, without the path: what `status` of strobe_session_open means for
 * the file at `path`. STROBE_IO: errno holds the reason. */
void strobe_reader_say_status(const char *path, enum strobe_status status, struct strobe_error *error);

/* Opens and reads the session. On failure *out is NULL, and `error` (may be NULL) has one line that says what was
 * expected, without the path. Status as for strobe_session_open; STROBE_IO with errno ENOMEM when memory runs out. */
enum strobe_status strobe_reader_open(const char *path, struct strobe_reader **out, struct strobe_error *error);

void strobe_reader_close(struct strobe_reader *reader);

/* Returns the time of `ticks` in ns of CLOCK_BOOTTIME, the clock of traces. Ticks before the session's begin give the
 * begin. */
uint64_t strobe_reader_ns(const struct strobe_reader *reader, uint64_t ticks);

/* Returns a span of ticks in ns. */
uint64_t strobe_reader_span_ns(const struct strobe_reader *reader, uint64_t ticks);

/* Returns image `index` (0 .. image_count - 1), or NULL if its entry is incomplete. The path ends within its array. */
const struct strobe_image_entry *strobe_reader_image(const struct strobe_reader *reader, uint32_t index);

/* Reads the calls of thread `thread` (below thread_count), in time order. The caller frees *out. Needs 16 bytes per
 * entry, and twice that if calls of signal handlers must be sorted in. A caller that takes the threads one by one
 * therefore needs memory for one thread's part of the log. STROBE_IO: out of memory. */
enum strobe_status strobe_reader_thread_calls(const struct strobe_reader *reader, uint32_t thread,
                                              struct strobe_reader_call **out, size_t *count);

/* Checks the identities that the engine guarantees:
 *
 *   each thread and kind   requests = sampled + gated + paused + reentrant + unwind_failed + dropped + in flight.
 *                          In flight is 0 if the session is closed and the thread was not cut short; otherwise 0 .. 2
 *                          per thread
 *   the whole session      sampled = present + overwrote, exactly if the session is closed and undamaged and no thread
 *                          was cut short. Otherwise the difference is at most what interrupted writes can have
 *                          replaced: two records per writer, none larger than the largest record present
 *   the whole session      suspends = resumes; one more suspend is valid if the session is not closed
 *   calls of the session   recorded = present + overwritten + refused, exactly if the session is closed. Otherwise the
 *                          difference is at most one block, which was being claimed or finished, per writer
 *
 * Returns 1 if all hold. Otherwise returns 0, and `error` (may be NULL) describes the first violation with its
 * numbers. */
int strobe_reader_check(const struct strobe_reader *reader, struct strobe_error *error);

/* Stores the name of a BEGIN or COUNTER. Returns 0 when the stack table does not hold a text there: the session is
 * damaged. Any context. */
int strobe_reader_annotation_name(const struct strobe_reader *reader, const struct strobe_reader_annotation *annotation,
                                  char name[STROBE_ANNOTATION_NAME_BYTES + 1]);

#endif
