/* Who ended whose wait.
 *
 * Whoever waits says so before it looks at the lock again, and whoever releases looks who waits before it lets go; so
 * each release that hands over is seen by the one who was handed to, and no other (but for a few instructions at the
 * begin of a wait, see blocking.c). What is waited for has an identity of 64 bits (the address of the lock, or any
 * number that the backend keeps unique; never 0), compared whole; a release counts for a wait only when it came after
 * that wait's begin, so an address that is used again leads to nobody (S-72). A thing that can be waited for in two
 * ways (a monitor's entry and its wait set) has two identities.
 *
 *   waiter    strobe_scope_begin, strobe_wait_begin, [the blocking call], strobe_wait_end, strobe_scope_end
 *   releaser  strobe_release, [the call that releases]
 *
 * The waiter's wait_end finds the release that was really its own (see enum strobe_release) and scope_end leaves a
 * record of kind WAKE: who, when, from where. A wait that timed out or was interrupted has no waker (S-77). A wait
 * whose release is not found, since it never really blocked, woke by itself, or the release fell out of the table,
 * leaves none. Waits nest (S-74), one in each scope; any thread may wait for any (S-75, S-76).
 *
 * Shared state is a table of fixed size in the engine's memory, lock-free: a stopped or dead thread holds up nobody,
 * and a table that is too small costs wakers, never wrong ones (explored: blocking/frozen, blocking/torn,
 * blocking/full). */
#ifndef STROBE_CAPTURE_BLOCKING_H
#define STROBE_CAPTURE_BLOCKING_H

#include "engine/capture/sample.h"

/* How a blocking call ended. */
enum strobe_wake {
    STROBE_WAKE_NONE,        /* it never blocked, or nothing is known */
    STROBE_WAKE_RELEASED,    /* somebody let it go on: a waker is looked for */
    STROBE_WAKE_TIMEOUT,
    STROBE_WAKE_INTERRUPTED,
};

/* Which waits a release can end. */
enum strobe_release {
    STROBE_RELEASE_LOCK,     /* mutex, monitor, writer: the last before the waiter had the lock is the one */
    STROBE_RELEASE_SHARED,   /* a reader: can end the wait of a writer only */
    STROBE_RELEASE_ONE,      /* notify, signal, post: ends one wait; each is claimed once. Meant for the longest waiter;
    if another comes back for whom there is none, it was meant for that one, unless there are several it could be */
    STROBE_RELEASE_ALL,      /* notifyAll, broadcast, end of a thread: ends all waits begun before it */
    STROBE_RELEASE_TARGET,   /* unpark, message: the first after the wait's begin is the one */
};

enum {
#ifdef STROBE_SMALL      /* for exploration: the algorithm does not depend on these */
    STROBE_BLOCKS_LOG2 = 1,
    STROBE_BLOCK_WAITERS = 3,
    STROBE_BLOCK_RELEASES = 2,
#else
    STROBE_BLOCKS_LOG2 = 10,
    STROBE_BLOCK_WAITERS = 30,
    STROBE_BLOCK_RELEASES = 16,
#endif
    STROBE_BLOCKS = 1 << STROBE_BLOCKS_LOG2,
};

/* A thread that waits; free while what is 0. See blocking.c for who may write what. */
struct strobe_waiter {
    strobe_a64 what;
    strobe_a64 ticket;       /* of its begin << 1 | 1 when a release meant for it has been noted; 0 = not told yet */
    strobe_a64 begin_ticks;
};

/* What releases look at first. */
struct strobe_block {
    strobe_a32 waiting;      /* threads that wait for what falls in this bucket */
    strobe_a32 beyond;       /* those of them that found no free struct strobe_waiter */
    strobe_a64 tickets;      /* handed out to begins and releases: what came after what */
    strobe_a64 lost;         /* ticket of the latest release that may have ended a wait and has no note any more */
};

/* A release that somebody waited for. */
struct strobe_release_note {
    strobe_a64 seq;          /* ticket << 1 | being written */
    strobe_a64 what;
    strobe_a64 ticks;
    strobe_a64 who;          /* thread index << 32 | stack id */
    strobe_a64 how;          /* enum strobe_release */
    strobe_a64 meant_for;    /* ticket of a wait's begin; 0 = nobody in particular */
    strobe_a64 claim;        /* ticket << 1 | claimed */
};

struct strobe_blocking {
    struct strobe_block block[STROBE_BLOCKS];
    struct strobe_waiter waiter[STROBE_BLOCKS][STROBE_BLOCK_WAITERS];
    struct strobe_release_note note[STROBE_BLOCKS][STROBE_BLOCK_RELEASES];   /* the latest */
};

static inline uint32_t strobe_block_index(uint64_t what)
{
    return (uint32_t)(what * 0x9e3779b97f4a7c15u >> (64 - STROBE_BLOCKS_LOG2));   /* Fibonacci hashing (Knuth, 6.4) */
}

/* The calling thread is about to wait for `what`, in the scope it opened last. Async-signal-safe (explored:
 * sample/interrupted); not while suspended. No effect when no scope could be opened. */
void strobe_wait_begin(struct strobe_thread *t, uint64_t what);

/* The wait for `what` is over. `shared`: a reader waited, so a reader's release did not end it. Before
 * strobe_scope_end; without it the wait ends there with nothing known. */
void strobe_wait_end(struct strobe_thread *t, uint64_t what, enum strobe_wake how, bool shared);

/* True when a release has been noted as meant for the thread's wait for `what`, or when that is not known: it may have
 * ended it. False when none has. Between strobe_wait_begin and strobe_wait_end. */
bool strobe_wait_is_told(const struct strobe_thread *t, uint64_t what);

/* Takes back what a wait has told, that was left without strobe_wait_end. By the scope's own thread, or when that is
 * proven to have ended. Harmless when there is none. */
void strobe_wait_drop(struct strobe_thread *t, struct strobe_scope *s);

/* The same for all scopes of a thread. */
void strobe_wait_drop_all(struct strobe_thread *t);

/* What is to be recorded of a scope's wait, which ended at `now`, but for thread and message; false when nothing is. */
bool strobe_wait_record(const struct strobe_scope *s, uint64_t now, struct strobe_record *r);

/* The slow part of strobe_hand_over: somebody waits for what falls in the same bucket. */
uint64_t strobe_hand_over_noted(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                                struct strobe_site site);

/* To be called right before a release. When a thread waits for `what`, leaves word who released, and returns the time
 * in ticks, never 0, which is for strobe_release_end. When that thread has waited so long that its wait will be
 * recorded (scope_min_ns), a sample of kind UNLOCK is forced, at most four in an interval, so that the word says from
 * where; else the event passes the gate like others. Returns 0, at the cost of one load, when no thread waits: the
 * release is then an event like others, and the caller's to report. */
static STROBE_ALWAYS_INLINE uint64_t strobe_hand_over(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                                                      struct strobe_site site)
{
    struct strobe_block *b = &t->engine->blocking->block[strobe_block_index(what)];
    if (strobe_unlikely(strobe_load_seq_cst(&b->waiting)))
        return strobe_hand_over_noted(t, what, how, site);
    return 0;
}

/* The calling thread is about to release `what`: strobe_hand_over, and when nobody waits an ordinary point event of
 * kind UNLOCK. */
void strobe_release(struct strobe_thread *t, uint32_t on, uint64_t what, enum strobe_release how,
                    struct strobe_site site);

#endif
