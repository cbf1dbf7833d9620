/* What becomes of an atrace message: the part of RheaTrace's proxy that needs no runtime. A message that libcutils
 * would write to the kernel's marker goes to a packet ring instead, which costs a small part of that. The hooks that
 * bring it here are the backend's (engine/method/rhea/art/rhea.h).
 *
 *   kept         B (begin) and E (end), as they are, with a time and a thread
 *   passed by    S, F (asynchronous), C (counter) and what later versions have: counted, nothing else
 *   elsewhere    with main_only, those of other threads: counted
 *   cut          text beyond STROBE_ATRACE_TEXT_MAX bytes is cut off, and that counted. (RheaTrace drops what is too
 *                long and says nothing; but a begin without its end, or the reverse, moves all that encloses it. Names
 *                that are cut at the same place still match.)
 *   dropped      the ring was late (packet_ring.h): counted there
 *
 * A ring holds of each message a struct strobe_atrace_entry and the text; lines are made of it when the ring is dumped
 * (rhea_log.h), not while the app waits. What the ring's head notes makes a ring that a crash left readable alone.
 *
 * Marks of instrumented methods (enter, leave, throw) are entries of their own kinds and hold the name alone: on entry
 * `B:`, on return `E:`, where it throws `T:`, so that an end says whose it is (calls_repair.h).
 *
 * Any thread, also in a signal handler: no state but the ring's, and counters. Source: RheaTrace btrace v1.0.1, as
 * studied. */
#ifndef STROBE_METHOD_RHEA_ATRACE_H
#define STROBE_METHOD_RHEA_ATRACE_H

#include "engine/method/rhea/packet_ring.h"

enum strobe_atrace_kind {
    STROBE_ATRACE_TEXT,  /* a message as it was written: "B|123|inflate", "E|123", "E" */
    STROBE_ATRACE_BEGIN, /* of ours: a name, and its end */
    STROBE_ATRACE_END,
    STROBE_ATRACE_ENTER, /* a method's marks */
    STROBE_ATRACE_LEAVE,
    STROBE_ATRACE_THROW,
    STROBE_ATRACE_KINDS
};

struct strobe_atrace_entry {
    uint64_t time_ns; /* CLOCK_BOOTTIME */
    uint32_t tid;
    uint32_t kind; /* enum strobe_atrace_kind */
};
enum { STROBE_ATRACE_TEXT_MAX = STROBE_PACKET_MESSAGE_MAX - (int)sizeof(struct strobe_atrace_entry) }; /* 1008 */

/* Words of the ring's head (strobe_packet_head.note). */
enum {
    STROBE_ATRACE_NOTE_PID,
    STROBE_ATRACE_NOTE_BOOT_NS, /* both clocks at the capture's begin */
    STROBE_ATRACE_NOTE_MONOTONIC_NS,
    STROBE_ATRACE_NOTE_END_BOOT_NS, /* 0: it never ended */
    STROBE_ATRACE_NOTE_MAIN_ONLY,
    STROBE_ATRACE_NOTE_CUT, /* the counters below */
    STROBE_ATRACE_NOTE_PASSED,
    STROBE_ATRACE_NOTE_ELSEWHERE,
};

/* Where time and thread come from. Any context. */
struct strobe_atrace_system {
    uint64_t (*boot_ns)(void *ctx);
    uint32_t (*tid)(void *ctx); /* of the caller */
    void *ctx;
};

struct strobe_atrace {
    struct strobe_packet_ring ring;
    struct strobe_atrace_system system;
    uint32_t main_tid;
    bool main_only;
};

/* Lays out what is needed for a capture that writes to `ring`, just created; `pid` is also the main thread's id. Start
 * only. */
void strobe_atrace_begin(struct strobe_atrace *a, const struct strobe_packet_ring *ring,
                         const struct strobe_atrace_system *system, uint32_t pid, uint64_t monotonic_ns,
                         bool main_only);

/* Notes the end. Start only; messages on their way may still come. */
void strobe_atrace_end(struct strobe_atrace *a);

enum strobe_atrace_fate {
    STROBE_ATRACE_KEPT,      /* cut or not */
    STROBE_ATRACE_PASSED,    /* not of a kind that is kept */
    STROBE_ATRACE_ELSEWHERE, /* of a thread that is left out */
    STROBE_ATRACE_DROPPED,
};

/* A message on its way to the marker: `bytes` of it, not ended by NUL. 0 bytes: PASSED, and not counted. */
enum strobe_atrace_fate strobe_atrace_message(struct strobe_atrace *a, const char *text, size_t bytes);

/* An entry of ours, of any kind but TEXT; the name is not ended by NUL, and empty for END. */
enum strobe_atrace_fate strobe_atrace_mark(struct strobe_atrace *a, enum strobe_atrace_kind kind, const char *name,
                                           size_t bytes);

/* Whether the calling thread is one whose messages are left out; they are counted as elsewhere by who asks and acts on
 * it. */
bool strobe_atrace_leaves_out(struct strobe_atrace *a);

/* Counters, from 0 at begin. */
static inline uint64_t strobe_atrace_count(const struct strobe_packet_ring *ring, uint32_t note)
{
    return strobe_load_relaxed(&ring->head->note[note]);
}

/* ---- I/O with file names: `read:PATH,size:N,offset:N`, `write:`, `open:PATH`, `fsync:PATH`, `io:sync` */

#define STROBE_ATRACE_NONE UINT64_MAX /* no size, no offset */

/* Makes a label of up to `room` bytes; what does not fit of the path is left out of its end, size and offset never.
 * `what` is "read"; at most 64 bytes are not of the path. Returns its length. Any context. */
size_t strobe_atrace_label(char *to, size_t room, const char *what, const char *path, size_t path_bytes, uint64_t size,
                           uint64_t offset);

#endif
