/* The scheduling of a session's process, as the kernel recorded it (`strobe record --sched`): a section of the
 * session's file, behind its last region. Sessions without scheduling end there.
 *
 *   file_bytes      struct strobe_sched_head     file_bytes of the session's header; page-aligned
 *   +64             struct strobe_sched_event[]  by time
 *                   struct strobe_sched_name[]   by tid: of wakers, where they are known
 *
 * The recording process appends the section after the program has ended, and stores its magic last. Events are
 * consistent for each thread: IN follows OUT or WAKE, and WAKE follows an OUT by which the thread sleeps.
 *
 * Times are ns of CLOCK_BOOTTIME. Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_SESSION_SCHED_SECTION_H
#define STROBE_TRACE_SESSION_SCHED_SECTION_H

#include "engine/base/status.h"
#include "engine/trace/model/sched_states.h"
#include "engine/util/outfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STROBE_SCHED_MAGIC "SCHED\r\n"

/* What recorded the events. Stored: append only. */
enum strobe_sched_source {
    STROBE_SCHED_BY_SWITCHES = 1,    /* perf's switch records: no wake-ups, and all sleep is SLEEPING */
    STROBE_SCHED_BY_TRACEPOINTS = 2, /* the kernel's tracepoints, too: wake-ups, wakers, uninterruptible sleep */
};

/* Stored: append only. */
enum strobe_sched_what {
    STROBE_SCHED_IN,   /* the thread gets a processor */
    STROBE_SCHED_OUT,  /* the thread leaves its processor, and is in `state` from then on */
    STROBE_SCHED_WAKE, /* the thread is runnable: `other` has woken it, or has created it */
    STROBE_SCHED_END,  /* the thread has ended */
    STROBE_SCHED_WHAT_COUNT
};

enum {
    STROBE_SCHED_IN_INTERRUPT = 1, /* of a WAKE: an interrupt on the processor of `other`, not `other` itself */
    STROBE_SCHED_PREEMPTED = 2,    /* of an OUT: the thread could have run on */
    STROBE_SCHED_CPUS_MAX = 8192,
};

struct strobe_sched_event {
    uint64_t time_ns;
    uint32_t tid;
    uint32_t other; /* of a WAKE: the waker; else 0. 0 is also the idle task */
    uint16_t cpu;   /* on which the event was recorded */
    uint8_t what;   /* enum strobe_sched_what */
    uint8_t state;  /* of an OUT: enum strobe_sched_state; else 0 */
    uint32_t flags;
};
_Static_assert(sizeof(struct strobe_sched_event) == 24, "the size in files");

/* The name of a thread that has woken others, of any process: the last one, if it has changed. */
struct strobe_sched_name {
    uint32_t tid;
    char name[16]; /* as the kernel has it; ends with a zero byte, zeros behind it */
};
_Static_assert(sizeof(struct strobe_sched_name) == 20, "the size in files");

struct strobe_sched_head {
    char magic[8];
    uint32_t source; /* enum strobe_sched_source */
    uint32_t event_bytes;
    uint64_t count;
    uint64_t lost;    /* the kernel's buffers were full */
    uint64_t refused; /* beyond the most events that are kept */
    uint64_t names;   /* behind the events */
    uint64_t zeros[2];
};
_Static_assert(sizeof(struct strobe_sched_head) == 64, "the size in files");

/* The section of an open session. All 0 when it has none. */
struct strobe_sched_section {
    struct strobe_sched_head head;
    const struct strobe_sched_event *events; /* checked: by time, with values in range */
    size_t count;                            /* head.count, less what is damaged */
    uint64_t damaged;                        /* events from the first invalid one on */
    const struct strobe_sched_name *names;   /* checked: by tid. None when an event is damaged or missing */
    size_t name_count;
    void *mapped;
    size_t mapped_bytes;
};

/* Maps the section of the session at `path`, whose header states `file_bytes`. Returns without a section if there is
 * none. STROBE_IO with errno. */
enum strobe_status strobe_sched_section_open(const char *path, uint64_t file_bytes, struct strobe_sched_section *out);
void strobe_sched_section_close(struct strobe_sched_section *section);

/* A run of events in a file: by time, and later than the run before. */
struct strobe_sched_run {
    uint64_t first; /* index of the first event */
    uint32_t count;
    uint32_t owner; /* for the caller */
};

/* An event that is not in a run, because a later one of the same owner was stored before. */
struct strobe_sched_late {
    struct strobe_sched_event event;
    uint32_t owner, order; /* for the caller */
};

/* The events of these runs, and the late ones, that are in [from_ns, to_ns). A late event follows the events of the
 * runs that have its time. */
struct strobe_sched_part {
    int fd;
    const struct strobe_sched_run *runs;
    size_t run_count;
    const struct strobe_sched_late *late; /* by time */
    size_t late_count;
    const struct strobe_sched_name *names; /* by tid; those of wakers of the events are stored */
    size_t name_count;
    uint64_t from_ns, to_ns;
};

/* Appends a section to the session's file. The section gets the numbers of *head, but for the counts. On failure the
 * session is as before: STROBE_IO with errno, or the status of opening the session. */
enum strobe_status strobe_sched_section_append(const char *path, const struct strobe_sched_head *head,
                                               const struct strobe_sched_part *part);

/* Writes the section behind the regions of a copy of its session. Writes nothing if there is none. */
void strobe_sched_section_write(const struct strobe_sched_section *section, struct strobe_outfile *out);

/* Returns the name of the waker, or NULL. */
const char *strobe_sched_section_name(const struct strobe_sched_section *section, uint32_t tid);

/* Adds the events of the watched threads to `states`, which last to the session's end at `end_ns`. When further events
 * were recorded and are not kept, they last to the last event. */
void strobe_sched_section_add_states(const struct strobe_sched_section *section, uint64_t end_ns,
                                     struct strobe_sched_states *states);

#endif
