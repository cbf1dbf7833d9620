/* NetEase Cloud Music's native capture of Java stacks: a thread is suspended by its id, walked by the runtime's own
 * StackVisitor, which stores pointers to methods and nothing else, and resumed. Pointers go into a fixed ring
 * (engine/method/netease/netease_ring.h); names are made at the end, of all methods in one batch.
 *
 *   start    runtime found (discover.h), ring reserved, sampler and watchdog attached. No hook is put anywhere
 *   sampler  each period, each thread: suspend, walk, resume, look, put
 *   stop     captures, names and counts go into a session, which is read as any other
 *
 * Suspend and resume are host_art.h's: a thread that does not stop in the runtime's time is not resumed, as it was
 * never suspended; the one that was is resumed by the sampler, or by the watchdog. A thread that ends in between is
 * told by the kernel. Several may hold a thread at once: the runtime counts.
 *
 * After the resume each pointer is read once by safe copy (those known from captures before are not): when one leads
 * nowhere, the whole capture is thrown away. What is unloaded later is told when names are made (names.h): it gets a
 * placeholder. A method that was unloaded, and whose place another one has by then, can't be told.
 *
 * Threads are met by a checkpoint, at start and every STROBE_NETEASE_LOOK_NS: one that lives for less may be missed.
 *
 * Source of the scheme: NetEase Cloud Music's article (its code is not public); suspend failures, illegal addresses and
 * stale pointers are handled as told there. */
#ifndef STROBE_METHOD_NETEASE_ART_NETEASE_H
#define STROBE_METHOD_NETEASE_ART_NETEASE_H

#include "engine/backend/art/art.h"
#include "engine/backend/art/host_art.h"
#include "engine/base/error.h"
#include "engine/method/netease/netease_ring.h"

#define STROBE_NETEASE_LOOK_NS UINT64_C(100000000)

enum {
    STROBE_NETEASE_FRAMES = 256,    /* of a capture, as the runtime's own traces have */
    STROBE_NETEASE_CAPACITY = 8192, /* captures, unless the caller says otherwise */
    STROBE_NETEASE_KNOWN = 1024,    /* pointers that are known to be good; a power of two */
    STROBE_NETEASE_THREADS = 1024,  /* captured at a time, at most */
};

/* What became of each wish to capture a thread:
 * wishes = captured + refused + not_stopped + gone + let_go + empty + illegal. Written by one sampler. */
struct strobe_netease_counts {
    uint64_t wishes;
    uint64_t captured;       /* in the ring, or overwritten since */
    uint64_t refused;        /* by the ring */
    uint64_t not_stopped;    /* in the runtime's own time, or it has left the runtime: nothing to resume */
    uint64_t gone;           /* it ended before it could be stopped */
    uint64_t let_go;         /* by the watchdog: what was walked counts for nothing */
    uint64_t empty;          /* no method was in its stack */
    uint64_t illegal;        /* a pointer led nowhere: the whole capture was thrown away */
    uint64_t stops, resumes; /* equal whenever no thread is held */
};

/* One who captures. */
struct strobe_netease_sampler {
    struct strobe_art_host host; /* first: the host's calls are handed a pointer to it */
    const struct strobe_netease_ring *ring;
    struct strobe_netease_counts counts;
    uint64_t known[STROBE_NETEASE_KNOWN];
    uint64_t frames[STROBE_NETEASE_FRAMES];
};

/* Prepares a sampler, in memory of the caller's, which must outlive it as the rest must. Several may share table and
 * ring. Start only. */
void strobe_netease_sampler_init(struct strobe_netease_sampler *s, const struct strobe_libart *a,
                                 const struct strobe_art_runtime *r, struct strobe_art_threads *threads,
                                 const struct strobe_netease_ring *ring);

/* Captures one thread now; *number says which capture it is. STROBE_OK, or why there is none, which is counted:
 * STROBE_FULL (refused), STROBE_LATE (not stopped, or let go), STROBE_GONE, STROBE_NO_ENTRY (empty), STROBE_UNREADABLE
 * (illegal). By a thread that is attached to the runtime, not the one that is captured; no lock may be held that a
 * captured thread could want. */
enum strobe_status strobe_netease_capture(struct strobe_netease_sampler *s, uint32_t tid, uint64_t *number);

/* Enters all threads of the runtime into the table; those that run, as they come to their next suspension point. By an
 * attached thread. */
void strobe_netease_meet_threads(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                                 const struct strobe_host *host, struct strobe_art_threads *threads);

/* ---- the whole of it, one a process */

struct strobe_netease_options {
    const char *session_path; /* existing and fresh; its config's async_interval_ns is the period */
    const char *library;      /* as in strobe_art_options */
    int api;
    uint32_t capacity;    /* of the ring; 0 = STROBE_NETEASE_CAPACITY */
    const uint32_t *tids; /* kernel ids of the threads to capture; NULL = all of the runtime's */
    uint32_t tid_count;   /* at most STROBE_NETEASE_THREADS */
};

struct strobe_netease_result {
    struct strobe_netease_counts counts;
    uint64_t overwritten;           /* captures, max(0, drawn - capacity) */
    uint32_t named, stale, unnamed; /* methods; unnamed: the session has no room for their names */
};

/* Begins to capture. By an attached thread. STROBE_EXISTS: one is under way. Otherwise as strobe_art_start: nothing was
 * changed, `error` has one line. */
STROBE_ART_API enum strobe_status strobe_netease_start(void *vm, const struct strobe_netease_options *options,
                                                       struct strobe_error *error);

/* Ends it: no thread is held, captures that are left go into the session, which is CLOSED. STROBE_NO_ENTRY: none is
 * under way. STROBE_LATE: its threads have not ended; the session stays as it was. `out` may be NULL. By an attached
 * thread. */
STROBE_ART_API enum strobe_status strobe_netease_stop(struct strobe_netease_result *out);

/* For those who watch over the host's calls, between start and the first period. NULL: none is under way. */
struct strobe_netease_sampler *strobe_netease_running(void);

/* ---- netease_session.c */

/* Puts what the ring holds into a session, each capture a sample of its thread, methods named: pseudo-methods are left
 * out, stacks deeper than a session's are cut at the root end. `held`: the sampler whose counts go with it. At the end,
 * by an attached thread, with no sampler at work. */
void strobe_netease_fill_session(struct strobe_session *session, const struct strobe_netease_sampler *held,
                                 struct strobe_netease_result *out);

#endif
