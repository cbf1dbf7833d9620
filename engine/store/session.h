/* Session file: one file that holds everything that a capture produces. While the capture runs, the file is the
 * engine's shared memory.
 *
 * The traced process maps the file shared. Data that a thread has committed therefore survives a kill -9 at any
 * instruction. The process that starts a capture creates the file, with its blocks reserved and the config inside. A
 * full disk is thus refused at the start, and does not cause a SIGBUS later. The traced process attaches to the file.
 *
 *   0        struct strobe_session_header          one page
 *   region   STROBE_REGION_THREADS   struct strobe_thread_entry[]
 *            STROBE_REGION_IMAGES    struct strobe_image_entry[]
 *            STROBE_REGION_STACKS    stack table, see stack_table.h
 *            STROBE_REGION_RING      record ring, see ring.h
 *
 *            calls                   after the regions, if config.call_units is not 0; see call_log.h
 *            names                   after the calls, if config.names_bytes is not 0; see names.h
 *
 * Regions are page-aligned, and sparse where the file system supports holes. Little-endian only.
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

#define STROBE_SESSION_MAGIC "STROBE\r\n" /* stored last: without it the creation of the file was not completed */
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
    STROBE_METRIC_CPU = 1,      /* thread CPU time */
    STROBE_METRIC_ALLOC = 2,    /* allocation count and bytes */
    STROBE_METRIC_FAULTS = 4,   /* minor and major page faults */
    STROBE_METRIC_SWITCHES = 8, /* voluntary and involuntary context switches */
};

/* Bits of config.calls: how the call log records calls. */
enum {
    STROBE_CALLS_KEEP_OLDEST = 1, /* a full log refuses new entries; else they overwrite the oldest blocks */
    STROBE_CALLS_COARSE = 2,      /* a clock thread stores the time every 5 ms; else each entry reads the clock */
    STROBE_CALLS_ONLY = 4,        /* the capture records calls only, no samples */
};

/* What to capture and how. Times are in ns. The config does not change after the session is created. */
struct strobe_config {
    uint64_t interval_main_ns;    /* gate: shortest time between samples of the main thread; 0 = every event */
    uint64_t interval_other_ns;   /* the same for other threads */
    uint64_t scope_min_ns;        /* a scope at least this long is recorded whatever the gate decides */
    uint64_t merge_gap_ns;        /* equal samples further apart than this are not merged */
    uint64_t metrics_interval_ns; /* shortest time between reads of the metrics that need a system call */
    uint64_t async_interval_ns;   /* period of the sampler thread; 0 = no sampler. The sampler polls each
                                     thread in each period. Where CPU clocks tick, it polls threads
                                     other than main in every second period */
    uint64_t refresh_main_ns;     /* a main thread without a sample for this long is sampled even if it was idle */
    uint64_t refresh_other_ns;    /* the same for other threads */
    uint64_t active_cpu_ns;       /* CPU time within one async interval that makes a thread active */
    uint64_t suspend_timeout_ns;  /* a thread that does not stop within this time is skipped and counted */
    uint32_t metrics;             /* STROBE_METRIC_* */
    uint32_t unwind;              /* enum strobe_unwind */
    uint32_t ring_slots;
    uint32_t ring_subs;
    uint32_t ring_mode; /* enum strobe_ring_mode */
    uint32_t stack_nodes;
    uint32_t threads_max;
    uint32_t images_max;
    uint32_t depth_max;       /* frames kept of one stack, at most STROBE_STACK_DEPTH_MAX */
    uint32_t follow;          /* 1: each child gets a session of its own, in the folder of this session */
    uint32_t skip_max;        /* gate: most successive events judged without reading the clock */
    uint32_t suspend_signal;  /* 0 = chosen at start */
    uint8_t message_per_poll; /* 1: each return from a poll-like call begins a new message */
    uint8_t calls;            /* STROBE_CALLS_* */
    uint16_t call_units;      /* size of the call log, in units of STROBE_CALL_UNIT_BYTES; 0 = no call log */
    uint32_t names_bytes;     /* size of the region for names of managed methods; 0 = no region */
    uint64_t delay_ns;        /* capture is paused for this long after start */
    uint64_t seed;            /* seed of the sampler's jitter; 0 = chosen by the host at start */
};

/* Sets the defaults that `strobe help record` describes. Any context. */
void strobe_config_default(struct strobe_config *config);

/* One instant on several clocks. Records hold times in ticks; the other clocks are in ns. */
struct strobe_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t boottime_ns;
    uint64_t realtime_ns;
};

struct strobe_region {
    uint64_t offset, bytes;
};
enum strobe_region_id {
    STROBE_REGION_THREADS,
    STROBE_REGION_IMAGES,
    STROBE_REGION_STACKS,
    STROBE_REGION_RING,
    STROBE_REGION_COUNT
};

enum strobe_session_state {
    STROBE_SESSION_CREATED = 0, /* no process has attached yet */
    STROBE_SESSION_RUNNING = 1, /* a process is writing it, or has died without closing it */
    STROBE_SESSION_CLOSED = 2,  /* its process closed it */
    STROBE_SESSION_EXITED = 3,  /* not closed; its process ended by its own exit call */
    STROBE_SESSION_KILLED = 4,  /* not closed; a signal ended its process */
};

/* What caused a dump of the flight recorder (engine/flight/flight.h). Stored: append only. */
enum strobe_trigger {
    STROBE_TRIGGER_NONE,    /* the session is no dump */
    STROBE_TRIGGER_STALL,   /* the main thread was blocked for too long */
    STROBE_TRIGGER_ANR,     /* SIGQUIT: Android asks for the stacks of an app that does not respond */
    STROBE_TRIGGER_CRASH,   /* a signal that ends the process */
    STROBE_TRIGGER_CALL,    /* the program asked for it: strobe_dump */
    STROBE_TRIGGER_CONTROL, /* a client of the control server asked for it */
    STROBE_TRIGGER_COUNT
};

/* Returns the lower-case name of a trigger, as configurations and reports have it; "unknown" when out of range. */
static inline const char *strobe_trigger_name(uint32_t trigger)
{
    static const char *const name[STROBE_TRIGGER_COUNT] = {"none", "stall", "anr", "crash", "call", "control"};
    return trigger < STROBE_TRIGGER_COUNT ? name[trigger] : "unknown";
}

/* Thread indices are + 1; 0 = no thread, or not known. */
struct strobe_dump_cause {
    uint32_t trigger;     /* enum strobe_trigger */
    uint32_t thread;      /* the main thread; of a crash, the thread that got the signal */
    uint64_t ticks;       /* when the trigger was seen */
    uint64_t begin_ticks; /* since when `thread` is blocked; 0 = it is not, or not known */
    uint64_t what;        /* the object that it waits for, as in the records of its call; 0 = none */
    uint32_t holder;      /* the thread that holds this lock */
    uint32_t number;      /* of the signal; 0 = none */
};

struct strobe_session_header {
    strobe_a64 magic; /* the text STROBE_SESSION_MAGIC; stored with release */
    uint32_t version;
    uint32_t header_bytes; /* sizeof this struct in the version that wrote the file */
    uint64_t file_bytes;
    strobe_a32 state; /* enum strobe_session_state */
    uint32_t pid;
    uint64_t ticks_per_second; /* 10^9 until the attaching process stores its own rate; never 0 */
    struct strobe_region region[STROBE_REGION_COUNT];
    struct strobe_config config;
    struct strobe_clock_pair begin;
    struct strobe_clock_pair end; /* zero unless CLOSED */
    strobe_a32 thread_count;      /* entries taken; strobe_session_thread_count bounds it by the table */
    strobe_a32 image_count;       /* the same for images */
    strobe_a64 events_untracked;  /* hook events of threads that have no entry because the table is full */
    strobe_a64 suspends, resumes; /* equal whenever no thread is stopped */
    strobe_a64 suspend_late;      /* threads that did not stop in time and were skipped */
    strobe_a64 suspend_gone;      /* threads that ended before they could be stopped */
    strobe_a64 suspend_moved;     /* threads that stopped where they must not be sampled: resumed without a sample */
    strobe_a64 async_passes;      /* wake-ups of the sampler */
    strobe_a64 async_late_passes; /* wake-ups so late that whole intervals were missed */
    strobe_a64 async_lag_ticks;   /* sum of the delays of all wake-ups */
    strobe_a64 async_overwrote_samples; /* samples that the sampler's own writes overwrote */
    char command[1024];             /* the command line, arguments joined by blanks, NUL-terminated, cut if too long */
    char exe[STROBE_PATH_BYTES];    /* path of the program's file, NUL-terminated */
    struct strobe_stops stops;      /* lengths of suspended windows; not recorded when header_bytes ends before it */
    uint64_t pid_namespace;         /* inode of the namespace in which `pid` is valid; 0 = not known */
    strobe_a32 signal_taken;        /* number of the stop signal, once the program has replaced its handler; else 0 */
    strobe_a32 children_left;       /* child processes that were not followed; 0 in files of older versions */
    strobe_a64 native_gaps;         /* walks on Android that lost the native frames outside of managed code; the same */
    struct strobe_dump_cause cause; /* all 0 when the session is no dump; the same */
};
_Static_assert(sizeof(struct strobe_session_header) <= 4096, "header stays within its page");

/* Accounting of the events of one thread and one kind. Each account has one writer: the thread itself, or the sampler
 * for the kinds ASYNC, COUNTER and HITCH. Only `reentrant` may have several writers (signal handlers); they add to it
 * atomically.
 *
 *   requests = sampled + gated + paused + reentrant + unwind_failed + dropped
 *   sampled  = present in the ring + overwritten since
 *
 * Here requests is the result of strobe_account_requests. When a thread is killed or cancelled, the events that it was
 * processing are missing from the right-hand side of the first equation.
 */
struct strobe_account {
    strobe_a64 requests;      /* events that the re-entrancy guard let pass; see strobe_account_requests */
    strobe_a64 sampled;       /* samples committed, merged ones included */
    strobe_a64 gated;         /* events that the gate rejected */
    strobe_a64 paused;        /* events while capture was paused */
    strobe_a64 reentrant;     /* events of hooks that ran inside the engine: not recorded */
    strobe_a64 unwind_failed; /* events for which the unwinder found no frame */
    strobe_a64 dropped;       /* events whose record the ring refused */
};

/* Returns the number of all events. Reentrant events are counted apart, so that the guarded path needs no locked
 * add. */
static inline uint64_t strobe_account_requests(const struct strobe_account *a)
{
    return strobe_load_relaxed(&a->requests) + strobe_load_relaxed(&a->reentrant);
}

enum strobe_thread_state {
    STROBE_THREAD_FREE = 0,
    STROBE_THREAD_LIVE = 1,
    STROBE_THREAD_EXITING = 2, /* no longer suspended from this state on */
    STROBE_THREAD_ENDED = 3,
    STROBE_THREAD_RESTRICTED = 4, /* from end_ticks on, seccomp limits its system calls: it is not recorded */
    STROBE_THREAD_CUT_SHORT = 5,  /* cancelled inside the engine: one of its events may be uncounted */
};

/* One incarnation of a thread. (tid, generation) identifies it (S-45). */
struct strobe_thread_entry {
    uint32_t tid;
    uint32_t generation; /* unique in the session, from 1 */
    strobe_a32 state;    /* enum strobe_thread_state; LIVE is stored last, with release */
    uint32_t is_main;
    uint64_t start_ticks;  /* when the engine registered the thread */
    uint64_t end_ticks;    /* 0 while it is alive */
    char name[32];         /* its last known name, NUL-terminated */
    strobe_a32 scope_kind; /* kind of the blocking call that it is in now, or 0 */
    strobe_a32 message;    /* message that it is processing */
    strobe_a64 scope_begin_ticks;
    strobe_a64 last_sample_ticks;
    strobe_a64 overwrote_samples; /* samples of any thread that this thread's writes overwrote */
    strobe_a64 alloc_count, alloc_bytes;
    strobe_a64 short_waits;      /* number of blocking calls of 1 us or more that were not recorded */
    strobe_a64 short_wait_ticks; /* total time of the calls in short_waits */
    struct strobe_account account[STROBE_KIND_ROOM]; /* by kind */
};

/* One loaded file that contains executable code. */
struct strobe_image_entry {
    uint64_t start, end; /* addresses of its loaded segments, [start, end) */
    uint64_t bias;       /* address = bias + address in the file's symbol table */
    uint64_t load_ticks;
    strobe_a32 published; /* 1 when all fields are written */
    uint32_t build_id_bytes;
    uint8_t build_id[STROBE_BUILD_ID_BYTES];
    uint32_t path_cut;            /* 1 when path did not fit */
    char path[STROBE_PATH_BYTES]; /* NUL-terminated; a name such as "[vdso]" when the image is not a file */
};

struct strobe_session;

/* Bounds the accesses to a session whose blocks are reserved only in its first part. */
struct strobe_session_limit {
    strobe_a32 threads, images;                  /* entries; UINT32_MAX once all blocks are reserved */
    bool (*end)(const struct strobe_session *s); /* reserves the rest; false when the disk is full. Any context */
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
    struct strobe_session_limit *limit; /* NULL: no limit */
    int fd;                             /* a creator keeps it open until it unmaps; -1 otherwise */
};

/* Returns the bytes of the file of a session with this config. Any context. */
uint64_t strobe_session_file_bytes(const struct strobe_config *config);

/* Creates the file `path` (mode 0600 less umask), reserves its blocks, lays out empty regions and the config, and maps
 * it. `command` may be NULL. With `replace`, a new file replaces an existing regular file; without it, an existing file
 * gives STROBE_EXISTS. STROBE_IO (errno: ENOSPC, EACCES, ...): no file is left behind. STROBE_BAD_INPUT: the config is
 * out of range. Start only. */
enum strobe_status strobe_session_create(const char *path, const struct strobe_config *config, const char *command,
                                         int replace, struct strobe_session *out);

/* Creates a session as strobe_session_create does, in an open, empty file that may have no name. The session then owns
 * `fd`; on failure the function closes it. It reserves no blocks: it is for files in memory, which should occupy only
 * the pages in use. */
enum strobe_status strobe_session_create_in(int fd, const struct strobe_config *config, const char *command,
                                            struct strobe_session *out);

/* The first part of a session is what a short process uses of it. It consists of up to STROBE_SESSION_PARTS pieces of
 * the file. */
enum {
    STROBE_LIMIT_THREADS = 16,
    STROBE_LIMIT_IMAGES = 32,
    STROBE_LIMIT_CHUNKS = 32,
    STROBE_SESSION_PARTS = 2 + STROBE_STACK_TABLE_PARTS + STROBE_RING_PARTS,
};

/* Stores the pieces of the first part in `out`: whole pages, in ascending order, none of them empty. Returns their
 * number. `config` must be valid and have no calls and no names. Any context. */
uint32_t strobe_session_parts(const struct strobe_config *config, struct strobe_part out[STROBE_SESSION_PARTS]);

/* Limits a new session to these pieces. Writers of the ring and of the stack table count as lost what does not fit.
 * When a thread entry or an image entry does not fit, limit->end is called. Start only. */
void strobe_session_limit_to_parts(struct strobe_session *s, struct strobe_session_limit *limit);

/* Returns true when a good part of what the limit allows is in use: more than half of the thread entries, image entries
 * or chunks, more than a quarter of the stack nodes, or a stack was refused. Any context. */
bool strobe_session_nears_limit(const struct strobe_session *s);

/* Ends the limit. The blocks of the whole file must be reserved. One thread at a time. */
void strobe_session_end_limit(const struct strobe_session *s);

/* Lays out a session in `memory`. The memory must be zeroed, page-aligned, strobe_session_file_bytes() long, and shared
 * with the process that opens the session. The function stores the magic last, with release. STROBE_BAD_INPUT: the
 * config is out of range. Start only. */
enum strobe_status strobe_session_create_at(void *memory, const struct strobe_config *config, const char *command,
                                            struct strobe_session *out);

/* Opens a view of the session in `memory` of `bytes`. It makes the checks of strobe_session_open, except those of
 * texts. STROBE_BAD_INPUT also means that the magic is not stored yet. A caller may therefore poll while another
 * process creates the session (explored: session/create). Any context. */
enum strobe_status strobe_session_open_at(void *memory, size_t bytes, struct strobe_session *out);

/* Marks an opened session RUNNING, written by `pid`. STROBE_EXISTS: a process has already done so. When several
 * processes try, exactly one succeeds (explored: session/begin). Any context. */
enum strobe_status strobe_session_begin(struct strobe_session *s, uint32_t pid);

/* Maps an existing, newly created session for writing and marks it RUNNING by `pid`. STROBE_EXISTS: a process has
 * already attached. Other errors: STROBE_IO, STROBE_BAD_INPUT, STROBE_BAD_VERSION, STROBE_TRUNCATED. Allocates nothing
 * from the heap. Start only. */
enum strobe_status strobe_session_attach(const char *path, uint32_t pid, struct strobe_session *out);

/* Returns the inode of the calling process's PID namespace, or 0 when the system does not provide it. Any context. */
uint64_t strobe_session_namespace(void);

/* Maps a session for reading, whether it is running, closed or left behind by a dead process. The mapping is private:
 * nothing that is written through the view reaches the file. The function checks every offset and count that the views
 * rely on, and terminates every text within its array. It does not check what the regions hold: the reader must check
 * ids and indices in records and nodes. STROBE_IO, STROBE_BAD_INPUT, STROBE_BAD_VERSION, STROBE_TRUNCATED. */
enum strobe_status strobe_session_open(const char *path, struct strobe_session *out);

/* Marks the session CLOSED and stores its final clock pair. The session's process calls it at the end of capture. */
void strobe_session_finish(struct strobe_session *s, const struct strobe_clock_pair *end);

/* Records in a RUNNING session how its process ended: `how` is EXITED or KILLED. A session in another state is not
 * changed. The process that has waited for the session's process calls it, and only after that wait has returned.
 * Errors are those of strobe_session_attach, except STROBE_EXISTS. */
enum strobe_status strobe_session_note_end(const char *path, enum strobe_session_state how);

/* Unmaps the session, and closes its file if it is open. Does not change the file. */
void strobe_session_unmap(struct strobe_session *s);

/* Frees the file's blocks that hold only zeros (they become holes). The content reads the same. Call it after the
 * traced process has ended. STROBE_EXISTS, with nothing done, in these cases:
 *
 *   - a process with the id of the session's process exists
 *   - the session has not begun, so that a process may still attach
 *   - the process id belongs to another PID namespace, where it cannot be looked up
 *
 * STROBE_UNSUPPORTED: the file system cannot free blocks. */
enum strobe_status strobe_session_trim(const char *path);

/* Trims a session as strobe_session_trim does, without the checks of its three cases. The caller knows that no process
 * can write to the session any more. An example is a simulated session: the process id in its header does not name a
 * process of this machine. */
enum strobe_status strobe_session_trim_closed(const char *path);

/* Takes the next thread entry for `tid`. The entry is zero except for tid, generation, is_main, start_ticks and the
 * state LIVE. *index receives its index, as records use it. STROBE_FULL: no entry is left. Any thread, lock-free
 * (explored: session/threads, thread/frozen). */
enum strobe_status strobe_session_add_thread(const struct strobe_session *s, uint32_t tid, int is_main,
                                             uint64_t start_ticks, uint32_t *index);

/* Takes the next image entry. The caller fills it and publishes it by a release store of 1 to ->published. Returns NULL
 * when no entry is left. Any thread. */
struct strobe_image_entry *strobe_session_add_image(const struct strobe_session *s);

/* Return the number of entries taken, never more than the tables hold. Any context. */
uint32_t strobe_session_thread_count(const struct strobe_session *s);
uint32_t strobe_session_image_count(const struct strobe_session *s);

#endif
