/* Session file: all that a capture leaves behind, in one file that is the engine's shared memory while it runs.
 *
 * The file is mapped shared by the traced process, so what was committed survives a kill -9 at any
 * instruction. Whoever starts a capture creates the file with its blocks reserved (a full disk is refused then,
 * not met later as a SIGBUS) and the config inside; the traced process attaches to it.
 *
 *   0        struct strobe_session_header          one page
 *   region   STROBE_REGION_THREADS   struct strobe_thread_entry[]
 *            STROBE_REGION_IMAGES    struct strobe_image_entry[]
 *            STROBE_REGION_STACKS    stack table, see stack_table.h
 *            STROBE_REGION_RING      record ring, see ring.h
 *
 *            calls                   behind the others, where config.call_units says so; see call_log.h
 *            names                   behind that, where config.names_bytes says so; see names.h
 *
 * Regions are page-aligned and sparse where the file system allows. Little-endian only.
 */
#ifndef STROBE_STORE_SESSION_H
#define STROBE_STORE_SESSION_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"
#include "engine/store/call_log.h"
#include "engine/store/names.h"
#include "engine/store/record.h"
#include "engine/store/ring.h"
#include "engine/store/stack_table.h"
#include "engine/store/stops.h"

#include <stddef.h>
#include <stdint.h>

#define STROBE_SESSION_MAGIC "STROBE\r\n"   /* written last: a file without it was never finished */
enum {
    STROBE_SESSION_VERSION = 2,
    STROBE_THREADS_MAX_DEFAULT = 8192,
    STROBE_IMAGES_MAX_DEFAULT = 1024,
    STROBE_PATH_BYTES = 440,
    STROBE_NAMES_BYTES_MIN = 4096,
    STROBE_NAMES_BYTES_MAX = 1 << 30,
    STROBE_CALL_UNIT_BYTES = 1 << 16,
    STROBE_BUILD_ID_BYTES = 20,
};

enum strobe_unwind { STROBE_UNWIND_FP = 0, STROBE_UNWIND_DWARF = 1 };

enum {
    STROBE_METRIC_CPU = 1,        /* thread CPU time */
    STROBE_METRIC_ALLOC = 2,      /* allocation count and bytes */
    STROBE_METRIC_FAULTS = 4,     /* minor and major page faults */
    STROBE_METRIC_SWITCHES = 8,   /* voluntary and involuntary context switches */
};

/* How calls are told to the call log: bits. */
enum {
    STROBE_CALLS_KEEP_OLDEST = 1, /* a full log refuses what comes; else the oldest blocks are overwritten */
    STROBE_CALLS_COARSE = 2,      /* times by a clock thread, 5 ms apart; else each entry reads the clock */
    STROBE_CALLS_ONLY = 4,        /* no samples are taken beside */
};

/* What to capture and how. Times in ns. Fixed once the session is created. */
struct strobe_config {
    uint64_t interval_main_ns;      /* gate: least time between samples of the main thread; 0 = every event */
    uint64_t interval_other_ns;     /* the same for other threads */
    uint64_t scope_min_ns;          /* a scope at least this long is recorded whatever the gate says */
    uint64_t merge_gap_ns;          /* equal samples further apart than this are not merged */
    uint64_t metrics_interval_ns;   /* least time between reads of the metrics that cost a system call */
    uint64_t async_interval_ns;     /* period of the sampler thread: main is seen in each, others in every second; 0 =
    none */
    uint64_t refresh_main_ns;       /* a thread unseen for this long is sampled although it did little */
    uint64_t refresh_other_ns;
    uint64_t active_cpu_ns;         /* CPU time within one async interval that makes a thread active */
    uint64_t suspend_timeout_ns;    /* a thread not stopped by then is skipped and counted */
    uint32_t metrics;               /* STROBE_METRIC_* */
    uint32_t unwind;                /* enum strobe_unwind */
    uint32_t ring_slots;
    uint32_t ring_subs;
    uint32_t ring_mode;             /* enum strobe_ring_mode */
    uint32_t stack_nodes;
    uint32_t threads_max;
    uint32_t images_max;
    uint32_t depth_max;             /* frames kept of one stack, at most STROBE_STACK_DEPTH_MAX */
    uint32_t follow;                /* 1: children are traced into sessions of their own, in the folder of this one */
    uint32_t skip_max;              /* gate: most events in a row judged without reading the clock */
    uint32_t suspend_signal;        /* 0 = chosen at start */
    uint8_t message_per_poll;       /* 1: each return from a poll-like call begins a new message */
    uint8_t calls;                  /* STROBE_CALLS_* */
    uint16_t call_units;            /* room for calls, in units of STROBE_CALL_UNIT_BYTES; 0 = none are told */
    uint32_t names_bytes;           /* room for names of managed methods; 0 = none */
    uint64_t delay_ns;              /* capture is paused for this long after start */
    uint64_t seed;                  /* of the sampler's jitter; 0 = chosen by the host at start */
};

/* Fills in the defaults described in `strobe help record`. Any context. */
void strobe_config_default(struct strobe_config *config);

/* The same instant on several clocks, ns each. ticks are what records hold. */
struct strobe_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t boottime_ns;
    uint64_t realtime_ns;
};

struct strobe_region { uint64_t offset, bytes; };
enum strobe_region_id {
    STROBE_REGION_THREADS, STROBE_REGION_IMAGES, STROBE_REGION_STACKS, STROBE_REGION_RING,
    STROBE_REGION_COUNT
};

enum strobe_session_state {
    STROBE_SESSION_CREATED = 0,   /* no process has attached yet */
    STROBE_SESSION_RUNNING = 1,   /* being written, or its process died */
    STROBE_SESSION_CLOSED = 2,    /* ended in order */
    STROBE_SESSION_EXITED = 3,    /* not closed; its process has exited, by a system call of its own */
    STROBE_SESSION_KILLED = 4,    /* not closed; a signal has ended its process */
};

struct strobe_session_header {
    strobe_a64 magic;              /* the text STROBE_SESSION_MAGIC; published with release */
    uint32_t version;
    uint32_t header_bytes;         /* sizeof this struct, as its writer knew it */
    uint64_t file_bytes;
    strobe_a32 state;              /* enum strobe_session_state */
    uint32_t pid;
    uint64_t ticks_per_second;     /* 10^9 until the process that attaches says otherwise; never 0 */
    struct strobe_region region[STROBE_REGION_COUNT];
    struct strobe_config config;
    struct strobe_clock_pair begin;
    struct strobe_clock_pair end;  /* zero unless CLOSED */
    strobe_a32 thread_count;       /* entries handed out; may run past the table when it is full */
    strobe_a32 image_count;        /* the same for images */
    strobe_a64 events_untracked;   /* hook events of threads beyond the table */
    strobe_a64 suspends, resumes;  /* equal whenever no thread is stopped */
    strobe_a64 suspend_late;       /* threads not stopped in time: skipped */
    strobe_a64 suspend_gone;       /* threads that ended before they could be stopped */
    strobe_a64 suspend_moved;      /* threads that turned out unfit after they stopped: let go unread */
    strobe_a64 async_passes;       /* sampler wake-ups */
    strobe_a64 async_late_passes;  /* wake-ups so late that whole intervals were missed */
    strobe_a64 async_lag_ticks;    /* sum of how late they were */
    strobe_a64 async_overwrote_samples;   /* samples that the sampler's own writes overwrote */
    char command[1024];            /* what was run, arguments joined by blanks, NUL-terminated, cut if long */
    char exe[STROBE_PATH_BYTES];   /* path of the program's file, NUL-terminated */
    struct strobe_stops stops;     /* how long threads stood; where header_bytes ends before it, nobody counted */
    uint64_t pid_namespace;        /* inode of the namespace that `pid` is of; 0 = not known */
    strobe_a32 signal_taken;       /* the stop signal's number, once the program's handler has taken its place; or 0 */
    strobe_a32 children_left;      /* child processes that were started and not followed; the same rule */
};
_Static_assert(sizeof(struct strobe_session_header) <= 4096, "header stays within its page");

/* Where each event of one thread and one kind went. One writer each: the thread itself, or for kinds ASYNC, COUNTER
 * and HITCH the sampler; only `reentrant` may be bumped by several (signal handlers) and is added atomically.
 *
 *   requests = sampled + gated + paused + reentrant + unwind_failed + dropped  [+ in flight when killed or cancelled]
 *   sampled  = present in the ring + overwritten since
 */
struct strobe_account {
    strobe_a64 requests;       /* events that did not meet the re-entrancy guard; see strobe_account_requests */
    strobe_a64 sampled;        /* samples committed, merged ones included */
    strobe_a64 gated;
    strobe_a64 paused;
    strobe_a64 reentrant;      /* hooks reached inside the engine: not taken */
    strobe_a64 unwind_failed;  /* no frame at all could be found */
    strobe_a64 dropped;        /* refused by the ring */
};

/* Events in all: the reentrant ones are counted apart so that the guarded path needs no locked add. */
static inline uint64_t strobe_account_requests(const struct strobe_account *a)
{
    return strobe_load_relaxed(&a->requests) + strobe_load_relaxed(&a->reentrant);
}

enum strobe_thread_state {
    STROBE_THREAD_FREE = 0,
    STROBE_THREAD_LIVE = 1,
    STROBE_THREAD_EXITING = 2,     /* never suspended again */
    STROBE_THREAD_ENDED = 3,
    STROBE_THREAD_RESTRICTED = 4,  /* it may make no call but its program's since end_ticks (seccomp): not recorded */
    STROBE_THREAD_CUT_SHORT = 5,   /* cancelled inside of the engine: an event may be in flight */
};

/* One thread incarnation: (tid, generation) is its identity (S-45). */
struct strobe_thread_entry {
    uint32_t tid;
    uint32_t generation;           /* unique in the session, from 1 */
    strobe_a32 state;              /* enum strobe_thread_state; published with release, LIVE last */
    uint32_t is_main;
    uint64_t start_ticks;          /* when first seen */
    uint64_t end_ticks;            /* 0 while it lives */
    char name[32];                 /* NUL-terminated, as last seen */
    strobe_a32 scope_kind;         /* blocking call it is in now, or 0 */
    strobe_a32 message;            /* message it is busy with */
    strobe_a64 scope_begin_ticks;
    strobe_a64 last_sample_ticks;
    strobe_a64 overwrote_samples;  /* samples of whichever thread that this thread's writes overwrote */
    strobe_a64 alloc_count, alloc_bytes;
    strobe_a64 short_waits;        /* blocking calls of 1 us or more that were not recorded, ... */
    strobe_a64 short_wait_ticks;   /* ... and the time they took in all */
    struct strobe_account account[STROBE_KIND_ROOM];   /* by kind */
};

/* One loaded file of executable code. */
struct strobe_image_entry {
    uint64_t start, end;           /* addresses of its loaded segments, [start, end) */
    uint64_t bias;                 /* address = bias + address in the file's symbol table */
    uint64_t load_ticks;
    strobe_a32 published;          /* 1 when the entry is whole */
    uint32_t build_id_bytes;
    uint8_t build_id[STROBE_BUILD_ID_BYTES];
    uint32_t path_cut;             /* 1 when path did not fit */
    char path[STROBE_PATH_BYTES];  /* NUL-terminated; "[vdso]" and the like for what is no file */
};

struct strobe_session;

/* What may be touched of a session of which only the first part has its blocks. */
struct strobe_session_limit {
    strobe_a32 threads, images;    /* entries; UINT32_MAX once all blocks are there */
    bool (*end)(const struct strobe_session *s);   /* has the rest reserved; false: there is no room. Any context. */
};

/* A process-local view of a mapped session. */
struct strobe_session {
    struct strobe_session_header *header;
    size_t mapped_bytes;
    struct strobe_thread_entry *threads;
    struct strobe_image_entry *images;
    struct strobe_stack_table stacks;
    struct strobe_ring ring;
    struct strobe_call_log calls;
    struct strobe_names names;
    struct strobe_session_limit *limit;   /* NULL: there is none */
    int fd;                        /* kept open by creators until closed; -1 otherwise */
};

/* Bytes of file that a session with this config reserves. Any context. */
uint64_t strobe_session_file_bytes(const struct strobe_config *config);

/* Creates the file `path` (mode 0600 less umask), reserves its blocks, lays out empty regions and the config, and
 * maps it. `command` may be NULL. With `replace` a new file takes the place of an existing regular one, else
 * STROBE_EXISTS.
 * STROBE_IO (errno: ENOSPC, EACCES, ...) leaves no file behind. STROBE_BAD_INPUT: config out of range.
 * Start only. */
enum strobe_status strobe_session_create(const char *path, const struct strobe_config *config, const char *command,
                                         int replace, struct strobe_session *out);

/* The same in an open, empty file that may have no name; it is the session's from then on, and closed on failure.
 * Blocks are not reserved: for files in memory, of which only what is used shall be taken. */
enum strobe_status strobe_session_create_in(int fd, const struct strobe_config *config, const char *command,
                                            struct strobe_session *out);

/* The first part of a session: what a short process uses of it, in STROBE_SESSION_PARTS pieces of the file. */
enum {
    STROBE_LIMIT_THREADS = 16, STROBE_LIMIT_IMAGES = 32, STROBE_LIMIT_CHUNKS = 32,
    STROBE_SESSION_PARTS = 2 + STROBE_STACK_TABLE_PARTS + STROBE_RING_PARTS,
};

/* Where these pieces are, whole pages in ascending order, none of them empty; returns how many. `config` is valid and
 * has no calls and no names. Any context. */
uint32_t strobe_session_parts(const struct strobe_config *config, struct strobe_part out[STROBE_SESSION_PARTS]);

/* Limits a new session to these pieces. The ring's and the stack table's writers count as lost what does not fit; for
 * entries of threads and images, limit->end is called. Start only. */
void strobe_session_limit_to_parts(struct strobe_session *s, struct strobe_session_limit *limit);

/* True when a good part of what the limit allows is used up. Any context. */
bool strobe_session_nears_limit(const struct strobe_session *s);

/* Ends the limit. One thread at a time. */
void strobe_session_end_limit(const struct strobe_session *s);

/* Lays a session out in `memory`: zeroed, page-aligned, strobe_session_file_bytes() long, and shared with whoever is
 * to open it. The magic comes last, with release. STROBE_BAD_INPUT: config out of range. Start only. */
enum strobe_status strobe_session_create_at(void *memory, const struct strobe_config *config, const char *command,
                                            struct strobe_session *out);

/* Opens a view of the session in `memory` of `bytes`, as checked as strobe_session_open's, but for texts.
 * STROBE_BAD_INPUT also as long as its magic is not there: it is safe to ask while another process creates it
 * (explored: session/create). Any context. */
enum strobe_status strobe_session_open_at(void *memory, size_t bytes, struct strobe_session *out);

/* Marks an opened session RUNNING by `pid`. STROBE_EXISTS when a process has done so before: of several that try,
 * one succeeds (explored: session/begin). Any context. */
enum strobe_status strobe_session_begin(struct strobe_session *s, uint32_t pid);

/* Maps an existing, just created session for writing and marks it RUNNING by `pid`. STROBE_EXISTS when a process has
 * attached before. Also STROBE_IO, STROBE_BAD_INPUT, STROBE_BAD_VERSION, STROBE_TRUNCATED. Start only; takes no
 * memory from the heap. */
enum strobe_status strobe_session_attach(const char *path, uint32_t pid, struct strobe_session *out);

/* Inode of the calling process's namespace of process ids; 0 where the system does not tell. Any context. */
uint64_t strobe_session_namespace(void);

/* Maps any session, running, closed or left behind, for reading (privately: nothing written through the view reaches
 * the file). Every offset and count that the views rely on is checked, and texts end within their arrays in the view.
 * What regions hold is as the file has it: ids and indices in records and nodes are the reader's to check. STROBE_IO,
 * STROBE_BAD_INPUT, STROBE_BAD_VERSION, STROBE_TRUNCATED. */
enum strobe_status strobe_session_open(const char *path, struct strobe_session *out);

/* Marks the session CLOSED with its final clock pair. At the end, by its process. */
void strobe_session_finish(struct strobe_session *s, const struct strobe_clock_pair *end);

/* Says of a RUNNING session how its process has ended: EXITED or KILLED. No other session is changed. By whoever has
 * waited for the process; not a moment earlier. Errors as those of strobe_session_attach. */
enum strobe_status strobe_session_note_end(const char *path, enum strobe_session_state how);

/* Unmaps. Does not change the file. */
void strobe_session_unmap(struct strobe_session *s);

/* Frees the file's blocks that hold nothing (holes in unused parts of the regions); the content reads the same.
 * After the traced process has ended: STROBE_EXISTS, and nothing is done, while a process of its id is there, or may
 * come (the session has not begun), or when its id is of another namespace, where it cannot be looked for. Best
 * effort: STROBE_UNSUPPORTED where the file system can't. */
enum strobe_status strobe_session_trim(const char *path);

/* The same for a session that nobody can write any more, whatever process its header names: a simulated one is none of
 * this machine's. */
enum strobe_status strobe_session_trim_closed(const char *path);

/* Takes the next thread entry for `tid`, zeroed but for tid, generation, is_main, start_ticks and LIVE state.
 * Index (for records) in *index. STROBE_FULL when the table is used up. Any thread, lock-free (explored:
 * session/threads, thread/frozen). */
enum strobe_status strobe_session_add_thread(const struct strobe_session *s, uint32_t tid, int is_main,
                                             uint64_t start_ticks, uint32_t *index);

/* Takes the next image entry; the caller fills it and publishes by a release store of 1 to ->published.
 * NULL when the table is full. Any thread. */
struct strobe_image_entry *strobe_session_add_image(const struct strobe_session *s);

/* Entries in use, never more than the tables hold. Any context. */
uint32_t strobe_session_thread_count(const struct strobe_session *s);
uint32_t strobe_session_image_count(const struct strobe_session *s);

#endif
