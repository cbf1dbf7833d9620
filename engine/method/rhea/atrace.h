/* Atrace messages in a packet ring: the part of RheaTrace's proxy that needs no runtime. libcutils writes each message
 * to the kernel's marker file. The proxy writes it to a packet ring instead, which costs a small part of that. The
 * hooks that call these functions are in engine/method/rhea/art/rhea.h.
 *
 * Each message has one of these fates:
 *
 *   kept         B (begin) and E (end), unchanged, with a time and a thread
 *   passed by    S, F (asynchronous), C (counter) and kinds of later versions: only counted
 *   elsewhere    a message of another thread, with main_only: counted
 *   cut          text beyond STROBE_ATRACE_TEXT_MAX bytes is cut off and counted
 *   dropped      the ring dropped it (STROBE_LATE in packet_ring.h) and counted it
 *
 * RheaTrace drops a message that is too long, and does not report it. A begin without its end, or the reverse, then
 * moves all sections that enclose it. Two names that are cut at the same place still match.
 *
 * The ring holds a struct strobe_atrace_entry and the text of each message. Log lines are made when the ring is dumped
 * (rhea_log.h), not while the app waits. The words in the ring's head make a ring readable that a crash left alone.
 *
 * Events of instrumented methods (enter, leave, throw) are entries of their own kinds, and hold the method's name
 * alone. The log writes `B:` before the name on entry, `E:` on return, and `T:` when the method throws. An end event
 * therefore names its method (calls_repair.h).
 *
 * Any thread, also in a signal handler: the only state is the ring and counters. Source: RheaTrace btrace v1.0.1, as
 * studied. */
#ifndef STROBE_METHOD_RHEA_ATRACE_H
#define STROBE_METHOD_RHEA_ATRACE_H

#include "engine/method/rhea/packet_ring.h"

enum strobe_atrace_kind {
    STROBE_ATRACE_TEXT,  /* a message as libcutils wrote it: "B|123|inflate", "E|123", "E" */
    STROBE_ATRACE_BEGIN, /* a section of Strobe's own, with a name; and its end */
    STROBE_ATRACE_END,
    STROBE_ATRACE_ENTER, /* events of a method */
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

/* Words of the ring's head (strobe_packet_head.words). */
enum {
    STROBE_ATRACE_HEAD_PID,
    STROBE_ATRACE_HEAD_BOOT_NS, /* both clocks when the capture began */
    STROBE_ATRACE_HEAD_MONOTONIC_NS,
    STROBE_ATRACE_HEAD_END_BOOT_NS, /* 0: the capture did not end */
    STROBE_ATRACE_HEAD_MAIN_ONLY,
    STROBE_ATRACE_HEAD_CUT, /* the counters of the fates */
    STROBE_ATRACE_HEAD_PASSED,
    STROBE_ATRACE_HEAD_ELSEWHERE,
};

/* Returns the time and the calling thread's id. Any context. */
struct strobe_atrace_system {
    uint64_t (*boot_ns)(void *ctx);
    uint32_t (*tid)(void *ctx); /* of the calling thread */
    void *ctx;
};

struct strobe_atrace {
    struct strobe_packet_ring ring;
    struct strobe_atrace_system system;
    uint32_t main_tid;
    bool main_only;
};

/* Prepares a capture that writes to `ring`. The caller has just created the ring. `pid` is also the main thread's id.
 * Start only. */
void strobe_atrace_begin(struct strobe_atrace *a, const struct strobe_packet_ring *ring,
                         const struct strobe_atrace_system *system, uint32_t pid, uint64_t monotonic_ns,
                         bool main_only);

/* Stores the end time. Start only. Threads may still write messages afterwards. */
void strobe_atrace_end(struct strobe_atrace *a);

enum strobe_atrace_fate {
    STROBE_ATRACE_KEPT,      /* also when it was cut */
    STROBE_ATRACE_PASSED,    /* of a kind that is not kept */
    STROBE_ATRACE_ELSEWHERE, /* of a thread that is not recorded */
    STROBE_ATRACE_DROPPED,
};

/* Records a message of `bytes` that was on its way to the marker. The text does not end with NUL. A message of 0 bytes
 * is PASSED and not counted. */
enum strobe_atrace_fate strobe_atrace_message(struct strobe_atrace *a, const char *text, size_t bytes);

/* Records an entry of any kind but TEXT. The name does not end with NUL. The name of an END is empty. */
enum strobe_atrace_fate strobe_atrace_section(struct strobe_atrace *a, enum strobe_atrace_kind kind, const char *name,
                                              size_t bytes);

/* Returns whether the calling thread's messages are left out, and counts the message as elsewhere if so. A caller that
 * gets true does not write the message. */
bool strobe_atrace_leaves_out(struct strobe_atrace *a);

/* Returns a word of the head. Counters begin at 0. */
static inline uint64_t strobe_atrace_count(const struct strobe_packet_ring *ring, uint32_t word)
{
    return strobe_load_relaxed(&ring->head->words[word]);
}

/* ---- labels of file calls: `read:PATH,size:N,offset:N`, `write:`, `open:PATH`, `fsync:PATH`, `io:sync` */

#define STROBE_ATRACE_NONE UINT64_MAX /* the call has no size, or no offset */

/* Makes a label of up to `capacity` bytes, and returns its length. A path that does not fit is cut at its end; size and
 * offset are always whole. `what` is the call's name, such as "read". All parts but the path take at most 64 bytes. Any
 * context. */
size_t strobe_atrace_label(char *to, size_t capacity, const char *what, const char *path, size_t path_bytes,
                           uint64_t size, uint64_t offset);

#endif
