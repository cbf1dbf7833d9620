/* Record: the format of one sample, in memory and in a session file. Little-endian, fixed size.
 *
 * A record occupies one slot of the ring. With metrics it occupies two neighbouring slots of one chunk:
 *
 *   slot i     struct strobe_record        (flag STROBE_FLAG_METRICS: slot i+1 belongs to it)
 *   slot i+1   struct strobe_metrics
 *
 * Forms of record:
 *   point   one or more merged samples of one stack: ticks = first, ticks + duration = last, count >= 1
 *   scope   a call that may block: ticks = begin, ticks + duration = end, count = 1, STROBE_FLAG_SCOPE
 *   asynchronous
 *           a point or a scope of kind ASYNC: the sampler took it, not the thread itself
 *   tick    a point of kind CPU: the thread itself took it when its CPU clock had advanced by one interval. cpu_ns is
 *           always valid; arg = time in ticks that the thread has spent so far in short calls that were not recorded.
 *           Samples are merged only if the thread was on its processor all the time between them
 *   wake    the thread that ended a wait (kind WAKE); not a sample. The waiting thread writes it directly after the
 *           scope's record:
 *             ticks        time of the release by the waker, within the scope; without a waker, the end of the wait
 *             duration     from ticks to the end of the wait
 *             arg          the object of the wait, as in the scope
 *             stack        the waker's stack at the release; 0 = not known
 *             cpu_span_ns  the waker's thread index + 1; 0 = no waker: the wait timed out or was interrupted
 *             message      the waiter's message
 *             count 1, all else 0
 *   series  a value of the process over time (kinds COUNTER, HITCH); not a sample, and not an event of the thread that
 *           it is written for. The sampler writes it, see engine/capture/series.h:
 *             COUNTER   a value at an instant: ticks, arg = the value, cpu_span_ns = enum strobe_series. A value of
 *                       STROBE_SERIES_END_CPU_NS or STROBE_SERIES_WAIT_CALL belongs to `thread`
 *             HITCH     a turn of the main thread's run loop that took too long: ticks = begin, duration, arg = enum
 *                       strobe_hitch; stack = a stack seen during the turn; 0 = none. Several records of one thread
 *                       may have the same begin: the longest is valid, and the others were written during the turn
 *             thread = the process's main thread unless stated above; count 1, all else 0
 *   annotation
 *           what the program itself reports (kind ANNOTATION); not a sample. The thread itself writes it, see
 *           engine/capture/annotate.h. cpu_span_ns is its enum strobe_annotation, and all else is 0 except:
 *             COUNTER, THREAD_COUNTER
 *                      ticks = when it was reported; arg = the value, a signed number; stack = the name; count 1
 *             BEGIN    ticks = begin of a section; arg = its depth, 1 for the outermost; stack = the name; count 1.
 *                      When the section ends while its thread still owns the record, the thread sets the duration and
 *                      count 2: the record then stands for begin and end
 *             END      else, the end of a section is a record of its own with the ticks, depth and name of the begin,
 *                      the duration, and count 1. Where the thread does not know the begin: ticks = the end,
 *                      duration 0, stack 0; arg = the depth, 0 when the thread has no open section
 *           A name is a stack table id whose words hold the text, see strobe_annotation_pack. In sessions of older
 *           versions depth and duration are 0: an END then ends the section begun last.
 *
 * Any context. */
#ifndef STROBE_STORE_RECORD_H
#define STROBE_STORE_RECORD_H

#include <stdint.h>

/* The event that caused a sample. Stored as a byte: append only. */
enum strobe_kind {
    STROBE_KIND_NONE = 0,
    STROBE_KIND_ASYNC, /* the sampler stopped the thread */
    STROBE_KIND_ALLOC, /* malloc calloc realloc posix_memalign ... */
    STROBE_KIND_FREE,
    STROBE_KIND_MUTEX, /* mutex lock */
    STROBE_KIND_RWLOCK,
    STROBE_KIND_COND, /* condition variable wait, barrier wait */
    STROBE_KIND_SEM,
    STROBE_KIND_UNLOCK, /* any release of the above: unlock, signal, broadcast, post */
    STROBE_KIND_READ,   /* read pread readv mq_receive */
    STROBE_KIND_WRITE,  /* write pwrite writev mq_send */
    STROBE_KIND_OPEN,   /* open openat creat */
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
    STROBE_KIND_GC,      /* stopped for the garbage collector */
    STROBE_KIND_IPC,     /* call into another process */
    STROBE_KIND_WAKE,    /* not an event of the program: the thread that ended a wait */
    STROBE_KIND_COUNTER, /* not an event of the program: a value of the process at an instant */
    STROBE_KIND_HITCH,   /* not an event of the program: its run loop was late */
    STROBE_KIND_CPU,     /* the thread's own CPU clock ticked: see strobe_sample_interrupted */
    /* not a sample: a section or a counter of the program's own */
    STROBE_KIND_ANNOTATION,
    STROBE_KIND_COUNT,
    STROBE_KIND_ROOM = 32 /* number of accounts in a thread entry: greater than needed, so that kinds can be added */
};
_Static_assert(STROBE_KIND_COUNT <= STROBE_KIND_ROOM, "every kind has its account");

/* The quantity of a COUNTER. Stored: append only. */
enum strobe_series {
    STROBE_SERIES_CPU_NS,          /* CPU time of the whole process so far, the sampler's included */
    STROBE_SERIES_FOOTPRINT_BYTES, /* memory private to the process, as the system counts it; see the backend */
    STROBE_SERIES_THREADS,         /* number of its threads, the sampler included */
    STROBE_SERIES_MACH_TRAPS,      /* calls of the Mach kernel by the process so far, the engine's included */
    STROBE_SERIES_COUNT,
    STROBE_SERIES_WAIT_CALL = 254, /* not a series: the system call in which the record's thread waited, outside of
                                      recorded calls; see strobe_wait_call */
    STROBE_SERIES_END_CPU_NS = 255 /* not a series: CPU time of the record's thread when the session ended. The thread
                                      was alive, and not in a recorded call */
};

/* Returns the value that stands for a system call: its number on a machine (e_machine of ELF, not 0). Any context. */
static inline uint64_t strobe_wait_call(uint32_t machine, uint32_t number)
{
    return (uint64_t)machine << 32 | number;
}

/* What an ANNOTATION reports. Stored: append only. */
enum strobe_annotation {
    STROBE_ANNOTATION_BEGIN,          /* a section begins on this thread; sections nest */
    STROBE_ANNOTATION_END,            /* a section ends whose BEGIN cannot hold its duration */
    STROBE_ANNOTATION_COUNTER,        /* a counter of the process has a new value */
    STROBE_ANNOTATION_THREAD_COUNTER, /* a counter of the thread has a new value */
    STROBE_ANNOTATION_COUNT
};

/* The severity of a late turn of a run loop. Stored: append only. */
enum strobe_hitch {
    STROBE_HITCH_FRAME, /* hitch: frames were late */
    STROBE_HITCH_HANG,  /* hang: the app did not respond */
    STROBE_HITCH_COUNT
};

enum {
    STROBE_FLAG_SCOPE = 1,       /* a call with begin and end, not a point */
    STROBE_FLAG_METRICS = 2,     /* the next slot holds its struct strobe_metrics */
    STROBE_FLAG_CUT = 4,         /* the stack is cut: outermost frames are missing */
    STROBE_FLAG_DOUBTFUL = 8,    /* the unwinder stopped at a frame that failed its checks */
    STROBE_FLAG_CPU = 16,        /* cpu_ns is valid */
    STROBE_FLAG_TABLE_FULL = 32, /* the stack table was full: stack is the longest prefix that it holds */
    STROBE_FLAG_FORCED = 64,     /* taken whatever the gate decided */
    STROBE_FLAG_BEGIN_CPU = 128, /* cpu_span_ns is valid */
    STROBE_FLAG_ASKED = 256,     /* a call that is recorded only because the sampler polled the thread during it, or
                                    because short calls added up to an interval: the record stands for its time as an
                                    asynchronous sample does. On a tick (kind CPU): the sampler requested it, so it
                                    stands for no period of the CPU clock */
    STROBE_FLAG_GAVE_WAY = 512,  /* on a tick (kind CPU): since the previous tick the thread gave up its processor in a
                                    call that no hook saw. Without the flag, it was off its processor only in recorded
                                    calls, in calls that `arg` counts, or because other threads had the processor */
    STROBE_FLAG_STOOD = 1024,    /* on a tick: the thread was at this place for all of the time that it waited for a
                                    processor since the previous sample */
    STROBE_FLAG_READY = 2048,    /* on a sample of the sampler: the thread was not on a processor but waited for one */
    STROBE_FLAG_NO_WAIT = 4096,  /* on a call: the thread did not wait in it, because the call ended another thread's
                                    wait, or because the thread did not give up its processor. If it was off its
                                    processor, other threads had the processor */
    STROBE_FLAG_SPARSE = 8192,   /* on a tick: the period of the CPU clock is STROBE_SPARSE_NS, because the thread gives
                                    up its processor often. The first such tick may end a period of one interval, and
                                    less CPU time then precedes it */
};

/* The mean period of sparse ticks. Intervals of at least half of it have no sparse ticks. Stored sessions depend on it.
 */
enum { STROBE_SPARSE_NS = 8000000 };

/* 56 bytes behind the slot's 8-byte sequence word; see ring.h. */
struct strobe_record {
    uint64_t ticks;       /* first sample, or begin of the scope */
    uint64_t duration;    /* ticks from there to the last sample, or to the end of the scope */
    uint64_t cpu_ns;      /* thread CPU time at the last sample or end */
    uint64_t arg;         /* subject of the call: size, descriptor, address of the lock; else 0 */
    uint32_t stack;       /* stack table id at the last sample; 0 = none */
    uint32_t thread;      /* index in the session's thread table: one (tid, generation) */
    uint32_t message;     /* message that the thread was processing; 0 = not known */
    uint32_t count;       /* samples merged in this record, at least 1 */
    uint32_t cpu_span_ns; /* CPU time used between first and last; saturates at UINT32_MAX. WAKE, COUNTER: see above */
    uint8_t kind;         /* enum strobe_kind */
    uint8_t reserved;     /* 0 */
    uint16_t flags;       /* STROBE_FLAG_* */
};
_Static_assert(sizeof(struct strobe_record) == 56, "record and sequence word fill one cache line");

/* Counters of the thread, 56 bytes behind the slot's sequence word. Totals are as of the record's end. Spans are the
 * increases between the record's begin and its end; they saturate. Fields that the session's config does not collect
 * are 0. */
struct strobe_metrics {
    uint64_t alloc_count; /* allocations since the thread was first seen */
    uint64_t alloc_bytes;
    uint32_t minor_faults; /* since the thread began, as getrusage(2) RUSAGE_THREAD counts */
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

/* The name of an annotation takes the place of a stack's frames in the stack table. Each word holds 7 bytes of the
 * text, the first byte lowest, and STROBE_ANNOTATION_TAG in its highest byte, so that no word looks like an address.
 * Zeros fill the last word. */
enum {
#ifdef STROBE_SMALL
    STROBE_ANNOTATION_WORDS = 2, /* for exploration */
#else
    STROBE_ANNOTATION_WORDS = 18,
#endif
    STROBE_ANNOTATION_NAME_BYTES = 7 * STROBE_ANNOTATION_WORDS, /* a longer name is cut */
    STROBE_ANNOTATION_TAG = 0xaa,
};

/* Packs a text into `words`. Returns the number of words, at least 1. Any context. */
static inline uint32_t strobe_annotation_pack(const char *name, uint64_t words[STROBE_ANNOTATION_WORDS])
{
    uint32_t n = 0, used = 0;
    do {
        uint64_t word = 0;
        for (int i = 0; i < 7 && name[n]; i++)
            word |= (uint64_t)(unsigned char)name[n++] << 8 * i;
        words[used++] = word | (uint64_t)STROBE_ANNOTATION_TAG << 56;
    } while (name[n] && used < STROBE_ANNOTATION_WORDS);
    return used;
}

/* Unpacks `count` words into `name`. Returns 0 when they are not the words of a text. */
static inline int strobe_annotation_unpack(const uint64_t *words, uint32_t count,
                                           char name[STROBE_ANNOTATION_NAME_BYTES + 1])
{
    if (count < 1 || count > STROBE_ANNOTATION_WORDS)
        return 0;
    for (uint32_t i = 0; i < 7 * count; i++)
        name[i] = (char)(words[i / 7] >> i % 7 * 8);
    name[7 * count] = '\0';
    for (uint32_t i = 0; i < count; i++)
        if (words[i] >> 56 != STROBE_ANNOTATION_TAG)
            return 0;
    return 1;
}

/* Returns the stable lower-case name of a kind for reports and traces; "unknown" when out of range. */
static inline const char *strobe_kind_name(unsigned kind)
{
    static const char *const name[STROBE_KIND_COUNT] = {
        "none", "async", "alloc", "free", "mutex", "rwlock",  "cond",  "sem",    "unlock",     "read",  "write",
        "open", "close", "sync",  "poll", "net",   "sleep",   "clock", "thread", "load",       "child", "monitor",
        "park", "jni",   "gc",    "ipc",  "wake",  "counter", "hitch", "cpu",    "annotation",
    };
    return kind < STROBE_KIND_COUNT ? name[kind] : "unknown";
}

/* False for records that do not show where a thread was. */
static inline int strobe_kind_is_sample(unsigned kind)
{
    return kind != STROBE_KIND_WAKE && kind != STROBE_KIND_COUNTER && kind != STROBE_KIND_HITCH &&
           kind != STROBE_KIND_ANNOTATION;
}

#endif
