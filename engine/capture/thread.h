/* A traced thread's private state, and the guard against re-entry of the engine.
 *
 * Each thread finds its state through one thread-local pointer. The thread is registered when it starts, or when it
 * first calls a hook. Only the thread itself uses its state, except for the fields whose comments name the sampler
 * or other threads. */
#ifndef STROBE_CAPTURE_THREAD_H
#define STROBE_CAPTURE_THREAD_H

#include "engine/base/hint.h"
#include "engine/capture/call_cpu.h"
#include "engine/capture/engine.h"
#include "engine/capture/gate.h"
#include "engine/store/ring_slot.h"

enum { STROBE_SCOPES_MAX = 8 };

enum {
#ifdef STROBE_SMALL
    STROBE_SECTIONS_MAX = 2, /* for exploration */
#else
    STROBE_SECTIONS_MAX = 32, /* sections of a thread whose begins it keeps */
#endif
};

/* Where a hook was called from. `frame` is the hook's frame address: the hook's frame record is at that address.
 * `caller` is the hook's return address. */
struct strobe_site {
    uint64_t frame, caller;
};

/* Waits in a ms of CPU time from which on a thread waits often, and below which a thread with sparse ticks waits
 * seldom.
 */
enum { STROBE_WAITS_OFTEN = 8, STROBE_WAITS_SELDOM = 4 };

/* Thread counters at one instant. `has` holds the groups that were read (STROBE_METRIC_*). */
struct strobe_snapshot {
    uint32_t has;
    uint64_t cpu_ns;
    struct strobe_usage usage;
    uint64_t alloc_count, alloc_bytes;
};

/* The wait of a scope, and its result. Used by blocking.c. */
struct strobe_wait {
    uint32_t state;  /* 0: the thread waits for no known object */
    uint32_t waiter; /* index in its bucket */
    uint64_t what, ticket;
    uint32_t waker, waker_stack;
    uint64_t release_ticks;
};

/* A call that may block and has not returned. */
struct strobe_scope {
    uint64_t frame; /* frame of its hook: identifies a scope that was left by longjmp */
    uint32_t kind;  /* enum strobe_kind */
    uint64_t arg;
    uint64_t begin_ticks;
    struct strobe_snapshot begin;
    struct strobe_wait wait;
    bool released;      /* the call ended another thread's wait, and does not wait itself */
    uint64_t voluntary; /* of a call of kind GC: times that the thread had given up its processor */
};

/* A section that the thread has begun and not ended. */
struct strobe_section {
    uint64_t begin_ticks;
    struct strobe_ring_place place; /* of its record; zero: it was not recorded */
    uint32_t stack;                 /* its name */
};

/* A record that the next equal sample may extend in place. */
struct strobe_pending {
    struct strobe_record record;
    struct strobe_metrics metrics;
    uint32_t open;         /* 0: none */
    uint64_t first_cpu_ns; /* CPU time at the record's first sample */
};

/* The sampler's state of a thread. Sampler only. "Poll" means: the sampler reads the thread's CPU time. "Tick"
 * means: a signal of the thread's CPU clock. */
struct strobe_sampled {
    uint64_t cpu_seen_ns;     /* CPU time at the last poll; 0: the thread has ticked since */
    uint64_t polled_ticks;    /* time of the last poll, or of the last tick seen */
    uint64_t cpu_ticked_ns;   /* CPU time at the first poll after its last tick or suspension */
    uint64_t cpu_sampled_ns;  /* CPU time at the sampler's last record of it */
    uint64_t seen_ticks;      /* when the sampler last took its stack, requested it, or saw a tick */
    uint64_t scope_ticks;     /* begin of the scope it was in at the last poll */
    uint64_t waiting_ticks;   /* begin of the scope in which its stack was taken last */
    uint64_t retry_ticks;     /* it could not be suspended: no new attempt before this time */
    uint32_t ticks_seen;      /* ticks_taken at the last pass that saw a tick */
    uint64_t period_ns;       /* current period of its CPU clock */
    int64_t period_offset_ns; /* period_ns - interval; of a sparse period: in proportion */
    uint32_t period_began;    /* ticks_taken when this period began */
    bool sparse;              /* ticks are sparse in this period */
    uint32_t rated, often;    /* ticks_rated and ticks_often when the period was last chosen */
    bool rung;                /* the sampler has requested a tick of it */
    uint32_t rung_taken;      /* ticks_taken at the last such request */
    bool tickless;            /* the host cannot make its CPU clock send signals */
    uint32_t refusals;        /* failed suspensions in a row */
    uint32_t async_samples;   /* samples that the sampler has recorded of it */
    uint32_t sync_seen;       /* sync_samples when the sampler made its last record of the thread */
    uint32_t stack, message;  /* of that record, and those of its flags that describe the stack */
    uint16_t stack_flags;
    bool ready_asked;           /* since that record the sampler has asked whether the thread waits for a processor */
    uint64_t call_asked_cpu_ns; /* CPU time when the sampler last asked in which system call the thread waits */
    uint64_t call_asked_ticks;  /* and when that was */
    uint64_t call;              /* the system call recorded last; 0 = none */
    uint32_t call_samples;      /* number of samples of the thread then */
};

struct strobe_thread {
    struct strobe_engine *engine;
    struct strobe_thread_entry *entry;
    uint32_t index;
    uint64_t (*ticks)(void *ctx); /* a copy of the host's: fetching it through pointers would cost more than the
                                     gate */
    void *ticks_ctx;
    strobe_a32 ready;  /* 1, set with release: the rest is set up, the sampler may access it */
    bool cut_short;    /* it was cancelled inside the engine: an event may have no outcome in the account */
    strobe_a32 inside; /* 1 while the thread runs engine code; read by the sampler, and by
                          strobe_engine_quiet */
    struct strobe_gate gate;
    strobe_a32 asked;              /* 1: record the scope that the thread is in, because the sampler would have
                                      sampled the thread there; set by the sampler */
    strobe_a64 scope_frame;        /* frame of the hook of the blocking call that it is in; read by the sampler */
    strobe_a64 scope_arg;          /* its argument: the lock that it waits for; read by the flight recorder */
    strobe_a64 points_yield_until; /* until then the sampler samples this thread, so its points are only counted;
                                      written by the sampler */
    strobe_a32 ticks_taken;        /* signals of its CPU clock that it has handled; read by the sampler */
    strobe_a32 ticking;            /* 1: its CPU clock sends signals; written by the sampler */
    strobe_a32 sparse;             /* 1: the period of that clock is STROBE_SPARSE_NS, or was one interval until just
                                      now; written by the sampler */
    strobe_a32 ticks_rated;        /* ticks of its clock at which it has computed the rate of its waits; read by the
                                      sampler */
    strobe_a32 ticks_often;        /* of these, ticks before which it has waited often; read by the sampler */
    strobe_a64 rung_cpu_ns;        /* its CPU time when the sampler saw it wait for a processor and requested a tick;
                                      0 = no request, or that tick has come */
    strobe_a32 sync_samples;       /* samples taken by the thread itself; read by the sampler */
    uint64_t handed_ticks;         /* when it last took a forced sample of a release */
    uint32_t blocking_kinds;       /* bit k: the last scope of kind k was recorded because of its duration */
    uint64_t stack_low, stack_high;
    uint64_t root_frame; /* frames at or above this address belong to the thread's outermost code; 0: not
                            known */
    uint32_t scope_count;
    struct strobe_scope scope[STROBE_SCOPES_MAX]; /* outermost first */
    uint32_t section_depth; /* sections begun and not ended; those beyond STROBE_SECTIONS_MAX are only counted */
    struct strobe_section section[STROBE_SECTIONS_MAX]; /* outermost first */
    uint64_t metrics_due_ticks;
    struct strobe_call_cpu call_cpu;
    struct {
        uint64_t ticks, cpu_ns, voluntary, waits;
        uint32_t message;
    } tick; /* at the last tick; see sample.c */
    struct {
        uint64_t cpu_ns, voluntary;
    } rated;                   /* at the last tick of its clock; see sample.c */
    uint64_t waits;            /* number of hooked calls that have ended, in which the thread may have released
                                  its processor */
    uint64_t brief_ticks;      /* until then the rate for brief calls (STROBE_BRIEF_NS) is used up */
    uint64_t short_call_ticks; /* time in calls that were too short to be recorded, less one interval for each call
                                  recorded to represent them */
    struct strobe_ring_writer writer;
    struct strobe_pending pending; /* the record written last, while the next sample may be merged into it */
    struct strobe_sampled sampled;
    struct strobe_buffers *buffers; /* NULL before its first stack, and when it has ended */
};

/* Thread-local root. `busy` keeps hooks from using the engine on a thread that has no state yet or must never have
 * one. */
struct strobe_local {
    struct strobe_thread *thread;
    uint32_t busy;    /* 1: this thread is in the engine, or belongs to it */
    uint32_t capture; /* the capture that `thread` belongs to, for a backend that runs several captures
                         in a process, one after another */
};
extern _Thread_local struct strobe_local strobe_local;

/* A thread's stack: its memory [low, high), and the frame address from which its outermost code's frames begin (see
 * struct strobe_window). All fields are 0 when they are not known; the engine then reads the stack only by the
 * host's safe read. */
struct strobe_stack_bounds {
    uint64_t low, high, root_frame;
};

/* The number of threads that register now. A thread that registers has no state yet in which it could be seen
 * (`inside`). It therefore counts itself, then reads the switch, and registers only when a capture is on. The end of a
 * capture turns the switch off, then waits until no thread is counted (strobe_engine_quiet). Only then may the memory
 * of the capture be released. */
extern strobe_a32 strobe_registering;

/* Counts the calling thread. Returns NULL, and has not counted it, when no capture is on. Any context. */
static inline strobe_a32 *strobe_registration_begin(void)
{
    strobe_add_acq_rel(&strobe_registering, 1);
    strobe_fence_seq_cst(); /* the count is stored, then the switch is loaded; the end stores the switch, then loads
                               the count */
    if (strobe_load_acquire(strobe_switch) != STROBE_OFF) /* what the start has written is seen from here on */
        return &strobe_registering;
    strobe_add_acq_rel(&strobe_registering, UINT32_MAX);
    return NULL;
}

/* Ends the count that strobe_registration_begin has returned. For __attribute__((cleanup)): an asynchronous
 * cancellation may unwind a function at an instruction at which *counted is not set, and then it holds any value. */
static inline void strobe_registration_end(strobe_a32 *const *counted)
{
    if (*counted == &strobe_registering)
        strobe_add_acq_rel(*counted, UINT32_MAX);
}

/* Registers the calling thread: takes a thread entry for it and sets strobe_local.thread. Returns NULL when the
 * table is full; the caller then counts the thread's events as untracked. Any thread, once. */
struct strobe_thread *strobe_thread_attach(struct strobe_engine *e, uint32_t tid, bool is_main, const char *name,
                                           const struct strobe_stack_bounds *stack);

/* Marks the calling thread as ending. From then on it takes no samples and is never suspended, and its chunk of the
 * ring is sealed. Attaching and detaching are explored: thread/register, thread/file, thread/reuse, thread/chunk,
 * thread/buffers. */
void strobe_thread_detach(struct strobe_thread *t);

/* Changes the name shown for a thread. Called by that thread. */
void strobe_thread_rename(struct strobe_thread *t, const char *name);

/* Returns the calling thread's buffers; takes them at the first call. Between strobe_thread_enter and
 * strobe_thread_leave. */
static inline struct strobe_buffers *strobe_thread_buffers(struct strobe_thread *t)
{
    if (strobe_unlikely(!t->buffers))
        t->buffers = strobe_buffers_take(&t->engine->buffers);
    return t->buffers;
}

/* Returns the account of one kind of event. */
static inline struct strobe_account *strobe_account_of(struct strobe_thread *t, enum strobe_kind kind)
{
    return &t->entry->account[kind];
}

/* Enters the engine on behalf of a hook. Returns false when the thread is inside already; the event is then counted
 * as re-entrant. */
static inline bool strobe_thread_enter(struct strobe_thread *t, enum strobe_kind kind)
{
    if (strobe_unlikely(strobe_load_relaxed(&t->inside))) {
        strobe_add_relaxed(&strobe_account_of(t, kind)->reentrant, 1);
        return false;
    }
    strobe_store_relaxed(&t->inside, 1);
    strobe_fence_signal();
    return true;
}

/* Leaves the engine. A thread that loads `inside` as 0 (acquire) also sees all that this thread wrote inside. */
static inline void strobe_thread_leave(struct strobe_thread *t)
{
    strobe_store_release(&t->inside, 0);
}

#endif
