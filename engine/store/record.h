/* What one sample looks like in memory and in a session file. Little-endian, fixed size.
 *
 * A record takes one slot of the ring, or two neighbouring slots of one chunk when it carries metrics:
 *
 *   slot i     struct strobe_record        (flag STROBE_FLAG_METRICS says that slot i+1 belongs to it)
 *   slot i+1   struct strobe_metrics
 *
 * Five shapes of record:
 *   point   one or more merged samples of one stack: ticks = first, ticks + duration = last, count >= 1
 *   scope   a call that may block: ticks = begin, ticks + duration = end, count = 1, FLAG_SCOPE
 *   either  may be asynchronous (kind ASYNC): taken by the sampler, not by the thread itself
 *   tick    a point of kind CPU, taken by the thread itself when its CPU clock has advanced by one interval. cpu_ns is
 *           always known; arg = time in ticks that the thread has spent so far in short calls that were not recorded.
 *           Samples are merged only where the thread was on its processor all the time between them
 *   wake    who ended a wait (kind WAKE): no sample. Written by the thread that waited, right after the scope's
 *           record:
 *             ticks        when the waker released, within the scope; of a wait without a waker, its end
 *             duration     from there to the end of the wait
 *             arg          what was waited for, as in the scope
 *             stack        the waker's at the release; 0 = not known
 *             cpu_span_ns  the waker's thread index + 1; 0 = nobody: the wait timed out or was interrupted
 *             message      the waiter's
 *             count 1, all else 0
 *   series  the process over time (kinds COUNTER, HITCH): no sample, and no doing of the thread it is written for.
 *           Written by the sampler, see engine/capture/series.h:
 *             COUNTER   a value at an instant: ticks, arg = the value, cpu_span_ns = enum strobe_series. A value of
 *                       STROBE_SERIES_END_CPU_NS belongs to `thread`
 *             HITCH     a turn of the main thread's run loop that took too long: ticks = begin, duration,
 *                       arg 0 = hitch, 1 = hang (enum strobe_hitch); stack = one seen in it; 0 = none. Of several
 *                       records of one thread and begin the longest counts: the others were written while it lasted
 *             thread = the process's main thread, else as said above; count 1, all else 0
 *
 * Any context. */
#ifndef STROBE_STORE_RECORD_H
#define STROBE_STORE_RECORD_H

#include <stdint.h>

/* What made the thread take a sample. Stored as a byte: append only. */
enum strobe_kind {
    STROBE_KIND_NONE = 0,
    STROBE_KIND_ASYNC,   /* the sampler stopped the thread */
    STROBE_KIND_ALLOC,   /* malloc calloc realloc posix_memalign ... */
    STROBE_KIND_FREE,
    STROBE_KIND_MUTEX,   /* mutex lock */
    STROBE_KIND_RWLOCK,
    STROBE_KIND_COND,    /* condition variable wait, barrier wait */
    STROBE_KIND_SEM,
    STROBE_KIND_UNLOCK,  /* any release of the above: unlock, signal, broadcast, post */
    STROBE_KIND_READ,    /* read pread readv mq_receive */
    STROBE_KIND_WRITE,   /* write pwrite writev mq_send */
    STROBE_KIND_OPEN,    /* open openat creat */
    STROBE_KIND_CLOSE,
    STROBE_KIND_SYNC,    /* fsync fdatasync */
    STROBE_KIND_POLL,    /* poll select epoll_wait and kin */
    STROBE_KIND_NET,     /* connect accept send* recv* */
    STROBE_KIND_SLEEP,   /* nanosleep and kin */
    STROBE_KIND_CLOCK,   /* clock_gettime and kin */
    STROBE_KIND_THREAD,  /* thread start, end, join */
    STROBE_KIND_LOAD,    /* dlopen */
    STROBE_KIND_CHILD,   /* wait for a child process */
    STROBE_KIND_MONITOR, /* entry of a managed runtime's monitor */
    STROBE_KIND_PARK,    /* parked until unparked */
    STROBE_KIND_JNI,     /* call through JNI; a point */
    STROBE_KIND_GC,      /* stopped for the collector */
    STROBE_KIND_IPC,     /* call into another process */
    STROBE_KIND_WAKE,    /* no event of the program: who ended a wait */
    STROBE_KIND_COUNTER, /* no event of the program: a value of the process at an instant */
    STROBE_KIND_HITCH,   /* no event of the program: its run loop was late */
    STROBE_KIND_CPU,     /* the thread's own CPU clock ticked: see strobe_sample_interrupted */
    STROBE_KIND_COUNT,
    STROBE_KIND_ROOM = 32   /* accounts that a thread entry has room for, so that a new kind changes no layout */
};
_Static_assert(STROBE_KIND_COUNT <= STROBE_KIND_ROOM, "every kind has its account");

/* What a COUNTER is the value of. Stored: append only. */
enum strobe_series {
    STROBE_SERIES_CPU_NS,           /* CPU time of the whole process so far, the sampler's included */
    STROBE_SERIES_FOOTPRINT_BYTES,  /* memory that is the process's own, by the system's account; see the backend */
    STROBE_SERIES_THREADS,          /* threads that it has, the sampler included */
    STROBE_SERIES_COUNT,
    STROBE_SERIES_END_CPU_NS = 255  /* no series: CPU time of the record's thread when the session ended. The thread was
                                       alive, and in no recorded call */
};

/* How late a run loop was. Stored: append only. */
enum strobe_hitch {
    STROBE_HITCH_FRAME,   /* frames were late */
    STROBE_HITCH_HANG,    /* the app did not answer */
    STROBE_HITCH_COUNT
};

enum {
    STROBE_FLAG_SCOPE = 1,       /* a call with begin and end, not a point */
    STROBE_FLAG_METRICS = 2,     /* the next slot holds its struct strobe_metrics */
    STROBE_FLAG_CUT = 4,         /* the stack is cut: outermost frames are missing */
    STROBE_FLAG_DOUBTFUL = 8,    /* the walk stopped at a frame that could not be believed */
    STROBE_FLAG_CPU = 16,        /* cpu_ns is valid */
    STROBE_FLAG_TABLE_FULL = 32, /* the stack table was full: stack is the longest prefix it holds */
    STROBE_FLAG_FORCED = 64,     /* taken whatever the gate said */
    STROBE_FLAG_BEGIN_CPU = 128, /* cpu_span_ns is valid */
    STROBE_FLAG_ASKED = 256,     /* the sampler came while the thread was in this call, or short calls added up to an
                                    interval: stands for its time as an asynchronous sample does. Of a tick (kind CPU):
                                    the sampler asked for it, so it stands for no period of the CPU clock */
    STROBE_FLAG_GAVE_WAY = 512,  /* of a tick (kind CPU): since the one before, the thread has given its processor away
                                    in  a call that no hook saw. Without it, it was off its processor only in recorded
                                    calls,  in those that `arg` counts, or because others had the processor */
    STROBE_FLAG_STOOD = 1024,    /* of a tick: the thread stood here for all of the time that it waited for a processor
                                    since the sample before */
};

/* 56 bytes behind the slot's 8-byte sequence word; see ring.h. */
struct strobe_record {
    uint64_t ticks;        /* first sample, or begin of the scope */
    uint64_t duration;     /* ticks from there to the last sample, or to the end of the scope */
    uint64_t cpu_ns;       /* thread CPU time at the last sample or end */
    uint64_t arg;          /* what the call was about: size, descriptor, address of the lock; else 0 */
    uint32_t stack;        /* stack table id at the last sample; 0 = none */
    uint32_t thread;       /* index in the session's thread table: one (tid, generation) */
    uint32_t message;      /* message the thread was busy with; 0 = none known */
    uint32_t count;        /* samples merged in this record, at least 1 */
    uint32_t cpu_span_ns;  /* CPU time used between first and last; saturates at UINT32_MAX. Of a WAKE: see above */
    uint8_t kind;          /* enum strobe_kind */
    uint8_t reserved;      /* 0 */
    uint16_t flags;        /* STROBE_FLAG_* */
};
_Static_assert(sizeof(struct strobe_record) == 56, "record and sequence word fill one cache line");

/* Counters of the thread, 56 bytes behind the slot's sequence word. Totals are as of the record's end;
 * spans are what was added between its begin and its end, saturating. What the session's config does
 * not collect stays 0. */
struct strobe_metrics {
    uint64_t alloc_count;       /* allocations since the thread was first seen */
    uint64_t alloc_bytes;
    uint32_t minor_faults;      /* since the thread began, as getrusage(2) RUSAGE_THREAD counts */
    uint32_t major_faults;
    uint32_t voluntary_switches;
    uint32_t involuntary_switches;
    uint32_t alloc_count_span;
    uint32_t alloc_bytes_span;
    uint32_t minor_faults_span;
    uint32_t major_faults_span;
    uint32_t voluntary_switches_span;
    uint32_t involuntary_switches_span;
};
_Static_assert(sizeof(struct strobe_metrics) == 56, "metrics and sequence word fill one cache line");

/* Stable lower-case name of a kind for reports and traces, "unknown" when out of range. */
static inline const char *strobe_kind_name(unsigned kind)
{
    static const char *const name[STROBE_KIND_COUNT] = {
        "none", "async", "alloc",  "free", "mutex", "rwlock", "cond",  "sem",    "unlock", "read",  "write",
        "open", "close", "sync",   "poll", "net",   "sleep",  "clock", "thread", "load",   "child", "monitor",
        "park", "jni",   "gc",     "ipc",  "wake",   "counter", "hitch", "cpu",
    };
    return kind < STROBE_KIND_COUNT ? name[kind] : "unknown";
}

/* False of records that tell of something else than where a thread was. */
static inline int strobe_kind_is_sample(unsigned kind)
{
    return kind != STROBE_KIND_WAKE && kind != STROBE_KIND_COUNTER && kind != STROBE_KIND_HITCH;
}

#endif
