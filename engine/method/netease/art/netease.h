/* NetEase Cloud Music's native capture of Java stacks. The sampler suspends a thread by its id. The runtime's own
 * StackVisitor walks the thread and stores pointers to methods only. The sampler then resumes the thread. Pointers go
 * into a fixed ring (engine/method/netease/netease_ring.h). Names are made at the end, for all methods at once.
 *
 *   start    finds the runtime (discover.h), reserves the ring, attaches sampler and watchdog. Installs no hook
 *   sampler  each period, for each thread: suspend, walk, resume, check the pointers, put the capture into the ring
 *   stop     writes captures, names and counts to a session, which all readers of sessions can read
 *
 * Suspend and resume are those of host_art.h. A thread that does not stop in the runtime's time was never suspended,
 * and is not resumed. The sampler or the watchdog resumes a suspended thread. The kernel reports a thread that ends in
 * between. Several samplers may hold a thread at once, because the runtime counts suspensions.
 *
 * After the resume the sampler reads each pointer once by safe copy, unless an earlier capture held it. When a pointer
 * is not readable, the sampler discards the whole capture. A method that is unloaded later gets a placeholder when
 * names are made (names.h). A method that was unloaded and replaced by another method at the same address gets the
 * other's name.
 *
 * A checkpoint finds the threads, at start and every STROBE_NETEASE_MEET_NS. A thread that lives for less may be
 * missed.
 *
 * Source of the scheme: NetEase Cloud Music's article (its code is not public). The article describes how the scheme
 * handles suspend failures, illegal addresses and stale pointers. */
#ifndef STROBE_METHOD_NETEASE_ART_NETEASE_H
#define STROBE_METHOD_NETEASE_ART_NETEASE_H

#include "engine/backend/art/art.h"
#include "engine/backend/art/host_art.h"
#include "engine/base/error.h"
#include "engine/method/netease/netease_ring.h"

#define STROBE_NETEASE_MEET_NS UINT64_C(100000000)

enum {
    STROBE_NETEASE_FRAMES = 256,    /* frames of a capture, as in the runtime's own traces */
    STROBE_NETEASE_CAPACITY = 8192, /* captures in the ring by default */
    STROBE_NETEASE_KNOWN = 1024,    /* size of the cache of readable pointers; a power of two */
    STROBE_NETEASE_THREADS = 1024,  /* most threads captured in one period */
};

/* Outcomes of the attempts to capture a thread: wishes = captured + refused + not_stopped + gone + let_go + empty +
 * illegal. One sampler writes them. */
struct strobe_netease_counts {
    uint64_t wishes;
    uint64_t captured;       /* in the ring now, or overwritten since */
    uint64_t refused;        /* the ring refused the capture */
    uint64_t not_stopped;    /* the thread did not stop in the runtime's time, or has left the runtime: no resume */
    uint64_t gone;           /* the thread ended before it was stopped */
    uint64_t let_go;         /* the watchdog resumed the thread; the walk is discarded */
    uint64_t empty;          /* the stack had no method */
    uint64_t illegal;        /* a pointer was not readable; the whole capture is discarded */
    uint64_t stops, resumes; /* equal while the sampler holds no thread */
};

/* A sampler. */
struct strobe_netease_sampler {
    struct strobe_art_host host; /* first member: the host's functions get a pointer to it */
    const struct strobe_netease_ring *ring;
    struct strobe_netease_counts counts;
    uint64_t known[STROBE_NETEASE_KNOWN];
    uint64_t frames[STROBE_NETEASE_FRAMES];
};

/* Prepares a sampler. The caller owns its memory. The memory and all other arguments must outlive the sampler. Several
 * samplers may share table and ring. Start only. */
void strobe_netease_sampler_init(struct strobe_netease_sampler *s, const struct strobe_libart *a,
                                 const struct strobe_art_runtime *r, struct strobe_art_threads *threads,
                                 const struct strobe_netease_ring *ring);

/* Captures one thread now; *number is set to the capture's number. Returns STROBE_OK, or the reason why there is no
 * capture, which is counted: STROBE_FULL (refused), STROBE_LATE (not stopped, or let go), STROBE_GONE, STROBE_NO_ENTRY
 * (empty), STROBE_UNREADABLE (illegal). By a thread that is attached to the runtime and is not the captured thread. The
 * caller holds no lock that a captured thread could need. */
enum strobe_status strobe_netease_capture(struct strobe_netease_sampler *s, uint32_t tid, uint64_t *number);

/* Adds all threads of the runtime to the table. A running thread is added at its next suspension point. By an attached
 * thread. */
void strobe_netease_meet_threads(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                                 const struct strobe_host *host, struct strobe_art_threads *threads);

/* ---- a whole capture, one in a process */

struct strobe_netease_options {
    const char *session_path; /* exists and is unused; its config's async_interval_ns is the period */
    const char *library;      /* as in strobe_art_options */
    int api;
    uint32_t capacity;    /* of the ring, in captures; 0 = STROBE_NETEASE_CAPACITY */
    const uint32_t *tids; /* kernel ids of the threads to capture; NULL = all of the runtime's */
    uint32_t tid_count;   /* at most STROBE_NETEASE_THREADS */
};

struct strobe_netease_result {
    struct strobe_netease_counts counts;
    uint64_t overwritten;           /* number of captures, max(0, drawn - capacity) */
    uint32_t named, stale, unnamed; /* numbers of methods; unnamed: the session has no space for their names */
};

/* Starts a capture. By an attached thread. STROBE_EXISTS: a capture runs already. Other codes are those of
 * strobe_art_start; the process is then unchanged, and `error` has one line. */
STROBE_ART_API enum strobe_status strobe_netease_start(void *vm, const struct strobe_netease_options *options,
                                                       struct strobe_error *error);

/* Ends the capture. Afterwards no thread is held. The captures left in the ring are in the session, and the session is
 * CLOSED. STROBE_NO_ENTRY: no capture runs. STROBE_LATE: the capture's threads have not ended; the session is
 * unchanged. `out` may be NULL. By an attached thread. */
STROBE_ART_API enum strobe_status strobe_netease_stop(struct strobe_netease_result *out);

/* Returns the sampler of the running capture, or NULL. For tests that observe the host's calls between start and the
 * first period. */
struct strobe_netease_sampler *strobe_netease_running(void);

/* ---- netease_session.c */

/* Writes the ring's captures to a session. Each capture becomes a sample of its thread, and each method gets a name.
 * Pseudo-methods are left out. A stack deeper than a session's limit is cut at the root end. `held` is the sampler
 * whose counts are written. At the end, by an attached thread, while no sampler runs. */
void strobe_netease_fill_session(struct strobe_session *session, const struct strobe_netease_sampler *held,
                                 struct strobe_netease_result *out);

#endif
