/* A traced thread's private state, and the guard that keeps the engine out of itself.
 *
 * Each thread finds its state through one thread-local pointer; the state is registered when the thread starts or
 * when it first meets a hook. Everything here is used by its own thread, except what is marked for the sampler. */
#ifndef STROBE_CAPTURE_THREAD_H
#define STROBE_CAPTURE_THREAD_H

#include "engine/base/hint.h"
#include "engine/capture/engine.h"
#include "engine/capture/gate.h"
#include "engine/capture/walk_again.h"

enum { STROBE_SCOPES_MAX = 8 };

/* A thread may run on a signal stack or a coroutine's, whose bounds are unknown: what is read of such a stack at most,
 * by a safe copy. */
enum { STROBE_FOREIGN_STACK_BYTES = 2048 };

/* Where a hook was called from: its own frame address (the hook's frame record is at that address) and its return
 * address. */
struct strobe_site { uint64_t frame, caller; };

/* Thread counters at one instant. `has` says which groups were read (STROBE_METRIC_*). */
struct strobe_snapshot {
    uint32_t has;
    uint64_t cpu_ns;
    struct strobe_usage usage;
    uint64_t alloc_count, alloc_bytes;
};

/* What a thread waits for in a scope, and what came of it. Used by blocking.c. */
struct strobe_wait {
    uint32_t state;                /* 0: it waits for nothing known */
    uint32_t waiter;               /* in its bucket */
    uint64_t what, ticket;
    uint32_t waker, waker_stack;
    uint64_t release_ticks;
};

/* A call that may block and has not returned. */
struct strobe_scope {
    uint64_t frame;                /* of its hook: tells a scope that was left by longjmp */
    uint32_t kind;                 /* enum strobe_kind */
    uint64_t arg;
    uint64_t begin_ticks;
    struct strobe_snapshot begin;
    struct strobe_wait wait;
};

/* A record that the next equal sample may extend in place. */
struct strobe_pending {
    struct strobe_record record;
    struct strobe_metrics metrics;
    uint32_t open;                 /* 0: none */
    uint64_t first_cpu_ns;         /* CPU time at the record's first sample */
};

/* What the sampler remembers of a thread. Sampler only. */
struct strobe_sampled {
    uint64_t cpu_seen_ns;          /* CPU time at the last pass that looked */
    uint64_t looked_ticks;         /* when that was */
    uint64_t cpu_ticked_ns;        /* CPU time at the first look after its last tick or stop */
    uint64_t cpu_sampled_ns;       /* CPU time when the sampler last stopped it */
    uint64_t seen_ticks;           /* when the sampler last took its stack, or asked for it */
    uint64_t scope_ticks;          /* begin of the scope it was in at the last pass */
    uint64_t waiting_ticks;        /* begin of the scope in which its stack was taken last */
    uint64_t retry_ticks;          /* not before this time: it could not be stopped */
    uint32_t ticks_seen;           /* ticks_taken at the last pass */
    uint64_t period_ns;            /* of its CPU clock at present, */
    int64_t period_offset_ns;      /* by which that differs from the interval, */
    uint32_t period_began;         /* since it had handled so many ticks */
    bool rung;                     /* the sampler has asked it for a tick, */
    uint32_t rung_taken;           /* last when ticks_taken was this */
    bool tickless;                 /* the host can't make its CPU clock send signals */
    uint32_t refusals;             /* in a row */
    uint32_t sync_seen;            /* the thread's own sample count when the sampler's last record was made */
};

struct strobe_thread {
    struct strobe_engine *engine;
    struct strobe_thread_entry *entry;
    uint32_t index;
    uint64_t (*ticks)(void *ctx);  /* the host's, at hand: chasing pointers to it would cost more than the gate */
    void *ticks_ctx;
    strobe_a32 ready;              /* 1, with release: the rest is set up, the sampler may look */
    bool cut_short;                /* it was cancelled inside of the engine: an event may have no outcome */
    strobe_a32 inside;             /* 1 while the thread runs engine code; read by others at stop and by the sampler */
    struct strobe_gate gate;
    strobe_a32 asked;              /* 1: record the scope the thread is in, for the sampler came by; set by the
    sampler */
    strobe_a64 scope_frame;        /* frame of the hook of the blocking call it is in; read by the sampler */
    strobe_a64 points_yield_until; /* the sampler sees to this thread until then; written by the sampler */
    strobe_a32 ticks_taken;        /* signals of its CPU clock that it has handled; read by the sampler */
    strobe_a32 ticking;            /* 1: its CPU clock sends signals; written by the sampler */
    strobe_a64 rung_cpu_ns;        /* its CPU time when the sampler saw it wait for a processor and asked it for a tick;
                                      0 = not, or that tick has come */
    strobe_a32 sync_samples;       /* samples taken by the thread itself; read by the sampler */
    uint64_t handed_ticks;         /* when it last took a forced sample of a release */
    uint32_t blocking_kinds;       /* bit k: the last scope of kind k was recorded for how long it took */
    uint64_t stack_low, stack_high;
    uint64_t root_frame;           /* frames at or above belong to the thread's outermost code; 0: not known */
    uint32_t scope_count;
    struct strobe_scope scope[STROBE_SCOPES_MAX];   /* outermost first */
    uint64_t metrics_due_ticks;
    struct { uint64_t ticks, cpu_ns, voluntary, waits; uint32_t message; } tick;   /* at the last; see sample.c */
    uint64_t waits;                /* calls that the thread may have given its processor away in, that hooks saw */
    uint64_t brief_ticks;      /* until then calls too short to be recorded in any case have used up their rate */
    uint64_t short_call_ticks; /* time in calls too short to be recorded, since one last stood for an interval of it */
    struct strobe_ring_writer writer;
    struct strobe_pending pending; /* the record written last, while it may still be merged with */
    struct strobe_sampled sampled;
    struct strobe_stack_cursor cursor;
    struct strobe_stack_cursor tick_cursor;   /* of ticks: hooks and ticks alternate, and differ in most frames */
    struct strobe_walk_memory walk;
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint64_t copy[STROBE_FOREIGN_STACK_BYTES / 8];   /* of a stack that is not the thread's own */
};

/* Thread-local root. `busy` guards a thread that has no state yet or must never have one. */
struct strobe_local {
    struct strobe_thread *thread;
    uint32_t busy;                 /* 1: this thread is in the engine, or belongs to it */
    uint32_t capture;              /* which one `thread` is of, for a backend that has several in a process, in turn */
};
extern _Thread_local struct strobe_local strobe_local;

/* A thread's stack: its memory [low, high), and where its outermost code's frames begin (see struct strobe_window). All
 * 0 when not known: its memory is then read by safe copies only. */
struct strobe_stack_bounds { uint64_t low, high, root_frame; };

/* Registers the calling thread: takes a thread entry for it and sets strobe_local.thread. NULL when the table is full
 * (the caller then counts its events as untracked). Any thread, once. */
struct strobe_thread *strobe_thread_attach(struct strobe_engine *e, uint32_t tid, bool is_main, const char *name,
                                           const struct strobe_stack_bounds *stack);

/* Marks the calling thread as ending: no more samples, never suspended again, its chunk given back. Explored, as is
 * attaching: thread/register, thread/file, thread/reuse, thread/chunk. */
void strobe_thread_detach(struct strobe_thread *t);

/* Updates the name shown for a thread. Its own thread. */
void strobe_thread_rename(struct strobe_thread *t, const char *name);

/* The account of one kind. */
static inline struct strobe_account *strobe_account_of(struct strobe_thread *t, enum strobe_kind kind)
{
    return &t->entry->account[kind];
}

/* Enters the engine on behalf of a hook: false when already inside, which is then counted as re-entrant. */
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

/* Who sees the thread outside sees all that it did inside. */
static inline void strobe_thread_leave(struct strobe_thread *t)
{
    strobe_store_release(&t->inside, 0);
}

#endif
