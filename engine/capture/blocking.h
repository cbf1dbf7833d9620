/* Wakers: which release ended which wait, and which thread made that release.
 *
 * A waiting thread registers its wait before it checks the lock again. A releasing thread checks for registered
 * waits before it releases. So the waiter that got the lock finds the release that handed it over, and no other
 * release. The exception is a window of a few instructions at the begin of a wait (see blocking.c).
 *
 * The object that a thread waits for has an identity of 64 bits: the address of the lock, or any number that the
 * backend keeps unique; never 0. Identities are compared in full. A release counts for a wait only when it came
 * after that wait's begin, so the reuse of an address yields no wrong waker (S-72). An object with two kinds of
 * waits (a monitor's entry and its wait set) has two identities.
 *
 *   waiter    strobe_scope_begin, strobe_wait_begin, [the blocking call], strobe_wait_end, strobe_scope_end
 *   releaser  strobe_release, [the call that releases]
 *
 * strobe_wait_end finds the release that ended the wait (see enum strobe_release). strobe_scope_end then writes a
 * record of kind WAKE: the waker's thread, the time of the release and the waker's stack. The record of a wait that
 * timed out or was interrupted has no waker (S-77). A wait has no WAKE record when its release is not found, for one
 * of these reasons:
 *
 *   - the wait did not really block
 *   - the thread woke by itself
 *   - the release is no longer in the table
 *
 * Each scope holds at most one wait, and waits nest as scopes do (S-74). Any thread may wait for any other (S-75,
 * S-76).
 *
 * The shared state is a table of fixed size in the engine's memory. It is lock-free: a suspended or dead thread
 * delays no other thread. A table that is too small loses wakers and never yields a wrong one (explored:
 * blocking/frozen, blocking/torn, blocking/full). */
#ifndef STROBE_CAPTURE_BLOCKING_H
#define STROBE_CAPTURE_BLOCKING_H

#include "engine/capture/sample.h"

/* How a blocking call ended. */
enum strobe_wake {
    STROBE_WAKE_NONE,     /* the call did not block, or its result is unknown */
    STROBE_WAKE_RELEASED, /* another thread released it: strobe_wait_end searches for the waker */
    STROBE_WAKE_TIMEOUT,
    STROBE_WAKE_INTERRUPTED,
};

/* Which waits a release can end. */
enum strobe_release {
    STROBE_RELEASE_LOCK,   /* mutex, monitor, writer: the waker is the last release before the waiter got the lock */
    STROBE_RELEASE_SHARED, /* a reader's release: can end the wait of a writer only */
    STROBE_RELEASE_ONE,    /* notify, signal, post: ends one wait. Each release is claimed once. It is meant for
                              the longest waiter. When another waiter returns and no release is meant for it, it
                              claims this one, unless several releases are possible */
    STROBE_RELEASE_ALL,    /* notifyAll, broadcast, end of a thread: ends all waits begun before it */
    STROBE_RELEASE_TARGET, /* unpark, message: the waker is the first release after the wait's begin */
};

enum {
#ifdef STROBE_SMALL /* for exploration: the algorithm does not depend on these */
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

/* A registered wait. The entry is free while `what` is 0. blocking.c lists which thread may write which field. */
struct strobe_waiter {
    strobe_a64 what;
    strobe_a64 ticket; /* ticket of the wait's begin << 1 | (1: a release meant for this wait is noted); 0 = no
                          ticket yet */
    strobe_a64 begin_ticks;
};

/* The counters of a bucket. A releaser reads `waiting` first. */
struct strobe_block {
    strobe_a32 waiting; /* number of threads that wait for an object of this bucket */
    strobe_a32 beyond;  /* number of those for which no struct strobe_waiter was free */
    strobe_a64 tickets; /* last ticket drawn: begins of waits and releases draw tickets, which order them */
    strobe_a64 lost;    /* ticket of the latest release that may have ended a wait and whose note is missing */
};

/* A release of an object for which a thread waited. */
struct strobe_release_note {
    strobe_a64 seq; /* ticket << 1 | being written */
    strobe_a64 what;
    strobe_a64 ticks;
    strobe_a64 who;       /* releaser's thread index << 32 | stack id */
    strobe_a64 how;       /* enum strobe_release */
    strobe_a64 meant_for; /* ticket of the begin of the wait that it is meant for; 0 = no particular wait */
    strobe_a64 claim;     /* ticket << 1 | claimed */
};

struct strobe_blocking {
    struct strobe_block block[STROBE_BLOCKS];
    struct strobe_waiter waiter[STROBE_BLOCKS][STROBE_BLOCK_WAITERS];
    struct strobe_release_note note[STROBE_BLOCKS][STROBE_BLOCK_RELEASES]; /* latest */
};

static inline uint32_t strobe_block_index(uint64_t what)
{
    return (uint32_t)(what * 0x9e3779b97f4a7c15u >> (64 - STROBE_BLOCKS_LOG2)); /* Fibonacci hashing (Knuth, 6.4) */
}

/* Registers that the calling thread is about to wait for `what`, in the scope that it opened last. Has no effect
 * when that scope could not be opened. Async-signal-safe (explored: sample/interrupted). Not while the caller holds
 * a thread suspended. */
void strobe_wait_begin(struct strobe_thread *t, uint64_t what);

/* Ends the wait for `what`, before strobe_scope_end. `shared`: the waiter is a reader, so a reader's release did not
 * end the wait. Without this call, strobe_scope_end ends the wait, and the waker stays unknown. */
void strobe_wait_end(struct strobe_thread *t, uint64_t what, enum strobe_wake how, bool shared);

/* Ends a wait that a release or its timeout may have ended, where the system does not report which. The first release
 * up to `deadline_ticks` ended it, even when the thread got a processor only later. Without such a release, and after
 * the deadline, the timeout ended it. UINT64_MAX: no timeout. */
void strobe_wait_end_timed(struct strobe_thread *t, uint64_t what, uint64_t deadline_ticks);

/* Returns true when a release meant for the thread's wait for `what` is noted, so that the release may have ended
 * the wait. Also returns true when the wait found no free entry in the table, so that this is unknown. Returns false
 * when no such release is noted. Between strobe_wait_begin and strobe_wait_end. */
bool strobe_wait_has_release(const struct strobe_thread *t, uint64_t what);

/* Removes the registration of a wait that the thread left without strobe_wait_end. Has no effect when the scope has
 * no registered wait. Called by the scope's own thread, or by any thread once that one is proven to have ended. */
void strobe_wait_drop(struct strobe_thread *t, struct strobe_scope *s);

/* Does strobe_wait_drop for all scopes of a thread. */
void strobe_wait_drop_all(struct strobe_thread *t);

/* Fills in the WAKE record of a scope's wait, which ended at `now`, except for thread and message. Returns false
 * when the wait has no such record. */
bool strobe_wait_record(const struct strobe_scope *s, uint64_t now, struct strobe_record *r);

/* The slow part of strobe_hand_over, for the case that a thread waits for an object of the same bucket. */
uint64_t strobe_hand_over_noted(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                                struct strobe_site site);

/* Notes a release that the caller is about to make. Call it right before the release.
 *
 * Returns the time in ticks, never 0, when it has noted the release: a thread waits for `what`. The caller passes
 * that time to strobe_release_end. Returns 0 when no thread waits for `what`; the release is then an ordinary event,
 * and the caller reports it. This costs one load when no thread waits for an object of the same bucket. Also returns
 * 0, without a note, when a sample would be forced but the thread is in the engine already.
 *
 * When the waiter has waited long enough for its wait to be recorded (scope_min_ns), a sample of kind UNLOCK is
 * forced, at most two in an interval, so that the note has the releaser's stack. Otherwise the event passes the
 * gate as other events do. */
static STROBE_ALWAYS_INLINE uint64_t strobe_hand_over(struct strobe_thread *t, uint64_t what, enum strobe_release how,
                                                      struct strobe_site site)
{
    struct strobe_block *b = &t->engine->blocking->block[strobe_block_index(what)];
    if (strobe_unlikely(strobe_load_seq_cst(&b->waiting)))
        return strobe_hand_over_noted(t, what, how, site);
    return 0;
}

/* Reports that the calling thread is about to release `what`: calls strobe_hand_over. When no thread waits, it
 * reports an ordinary point event of kind UNLOCK. */
void strobe_release(struct strobe_thread *t, uint32_t on, uint64_t what, enum strobe_release how,
                    struct strobe_site site);

#endif
