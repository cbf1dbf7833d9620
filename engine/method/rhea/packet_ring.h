/* Packet ring: messages of up to 1024 bytes from many threads into one order, without a lock, in memory that may be a
 * file that outlives its process. What the atrace proxy (atrace.h) writes to.
 *
 *   head         magic, version, capacity
 *   next         the next ticket, in lines of its own
 *   slot[N]      64 bytes: sequence word, stream id, start | next | size, 52 bytes of data
 *
 * A message takes as many tickets as it needs packets, all at once; ticket t stands for slot t % N on turn t / N. So
 * the packets of a message lie side by side, and readers put them together going forward, without a pool of payloads.
 *
 * Sequence word of a slot, and who moves it:
 *
 *   0 or 2 * turn ----> 2 * mine + 1   a writer whose turn is later, by compare-and-swap: it is the slot's only owner
 *   2 * mine + 1 -----> 2 * mine + 2   its owner: committed
 *
 * A writer that finds an odd word has lapped one that has not finished (it was stopped, or died there), and one that
 * finds a word of its own turn or later has been lapped itself. Neither waits: its message is dropped and counted. In
 * the original (profilo) the first of them sleeps until the other is done; a thread that is suspended in the middle
 * of a message would then stop all others a lap later, and one that was killed there for ever. What a dead writer
 * withholds is its slots, and those messages that would have lain in them (explored: packet/frozen).
 *
 * Owners store their word with acquire when they take a slot, so that their stores come after those of the owner
 * before; then a fence, so that whoever sees one of their words sees that it was taken; then the payload; then commit
 * with release. Readers load the word with acquire, copy, fence, and load it again: the seqlock of
 * engine/store/ring.h (explored: packet/write, packet/lap, packet/read, packet/read-long, packet/long, packet/long-lap,
 * packet/interrupted).
 *
 * Turns count to 2^31: with 10,000 slots, 2 * 10^13 packets.
 *
 * Source: facebookarchive/profilo 5a66b937 LockFreeRingBuffer and PacketReassembler, RheaTrace 1.0.1, as studied. */
#ifndef STROBE_METHOD_RHEA_PACKET_RING_H
#define STROBE_METHOD_RHEA_PACKET_RING_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#ifdef STROBE_SMALL
    STROBE_PACKET_WORDS = 1, /* for exploration: the algorithm does not depend on it */
#else
    STROBE_PACKET_WORDS = 6,
#endif
    STROBE_PACKET_DATA_BYTES = 4 + 8 * STROBE_PACKET_WORDS, /* 52 */
    STROBE_PACKET_MESSAGE_MAX = 1024,
    STROBE_PACKET_SLOTS_LEAST = 10000,
    STROBE_PACKET_SLOTS_MOST = 5000000,
    STROBE_PACKET_SLOTS_DEFAULT = 100000,
    STROBE_PACKET_VERSION = 1,
};

/* As both sides touch it: racy by design, the sequence word tells (explored: packet/read). */
struct strobe_packet_slot {
    strobe_a32 seq;
    strobe_a32 stream; /* low half of the message's first ticket */
    strobe_a32 shape;  /* size << 2 | next << 1 | start */
    strobe_a32 first;  /* data bytes 0 .. 3 */
    strobe_a64 rest[STROBE_PACKET_WORDS];
};
_Static_assert(sizeof(struct strobe_packet_slot) == 12 + STROBE_PACKET_DATA_BYTES, "a packet is a cache line");

struct strobe_packet_head {
    strobe_a64 magic; /* stored last: a file whose making was cut off has none */
    uint32_t version;
    uint32_t capacity;  /* slots */
    strobe_a64 note[8]; /* the writer's own words about what it writes; 0 at first */
};

/* A process-local view; cheap to make, holds no state of its own. */
struct strobe_packet_ring {
    struct strobe_packet_head *head;
    struct strobe_packet_tickets *tickets;
    struct strobe_packet_slot *slots;
    uint32_t capacity;
};

/* Slots for a size that was asked for: 0 is the default, and what is out of 10,000 .. 5,000,000 becomes the nearer
 * limit. (RheaTrace 1.0.1 makes 10,000 of what is too large.) Any context. */
uint32_t strobe_packet_ring_slots(uint64_t asked);

/* Bytes of memory for a ring of `slots`. Any context. */
size_t strobe_packet_ring_bytes(uint32_t slots);

/* Lays a ring of `slots`, 1 .. STROBE_PACKET_SLOTS_MOST, out in zeroed, 128-byte aligned memory of
 * strobe_packet_ring_bytes(). Start only. */
void strobe_packet_ring_create(void *memory, uint32_t slots);

/* Whether memory, aligned or not, begins as a ring does. Any context. */
bool strobe_packet_ring_is(const void *memory, size_t bytes);

/* Opens a view of a ring that is laid out in `memory` of `bytes`. STROBE_BAD_INPUT: no ring, or its making was cut off.
 * STROBE_BAD_VERSION: of another version. STROBE_TRUNCATED: less memory than its head promises. Start only, and
 * readers. */
enum strobe_status strobe_packet_ring_open(void *memory, size_t bytes, struct strobe_packet_ring *out);

/* Gives slots that a dead process left half-written back, so that its file can be written to again; what was whole
 * stays. Returns how many there were. Start only, while nobody writes. */
uint32_t strobe_packet_ring_recover(const struct strobe_packet_ring *ring);

/* Writes a message of 1 .. STROBE_PACKET_MESSAGE_MAX bytes. STROBE_BAD_INPUT: another size; nothing happens.
 * STROBE_FULL: the ring has fewer slots than it takes. STROBE_LATE: dropped, for the reason given above; counted. Any
 * thread, also in a signal handler that interrupts another write; never waits (explored: packet/interrupted,
 * packet/frozen). */
enum strobe_status strobe_packet_write(const struct strobe_packet_ring *ring, const void *message, size_t bytes);

/* The same for a message in two parts, neither of which needs to be copied together by the caller. */
enum strobe_status strobe_packet_write_parts(const struct strobe_packet_ring *ring, const void *head, size_t head_bytes,
                                             const void *body, size_t body_bytes);

/* Messages that strobe_packet_write has dropped (STROBE_LATE). Any context. */
uint64_t strobe_packet_dropped(const struct strobe_packet_ring *ring);

/* Tickets drawn until now. Any context. */
uint64_t strobe_packet_tickets(const struct strobe_packet_ring *ring);

/* ---- reading: any process that maps the ring, while it is written to or after. Never stops writers. */

enum strobe_packet_look {
    STROBE_PACKET_HERE,   /* *out is a whole packet */
    STROBE_PACKET_EARLY,  /* not yet written: its writer is on the way, has dropped it, or has died before */
    STROBE_PACKET_BUSY,   /* half-written, by a writer that lives or died there */
    STROBE_PACKET_LAPPED, /* overwritten by a later turn, perhaps while it was copied */
};

struct strobe_packet {
    uint32_t stream;
    bool start, next; /* first of its message; followed by another of it */
    uint32_t size;
    unsigned char data[STROBE_PACKET_DATA_BYTES];
};

/* Copies the packet of one ticket, looked at again after the copy (explored: packet/read). */
enum strobe_packet_look strobe_packet_at(const struct strobe_packet_ring *ring, uint64_t ticket,
                                         struct strobe_packet *out);

/* Goes through what is in the ring. Every ticket is accounted for, so that at the end
 *
 *   tickets drawn = before + packets + parts + early + busy + lapped
 *
 * where `before` were overwritten before the reader began. */
struct strobe_packet_reader {
    const struct strobe_packet_ring *ring;
    uint64_t next, end; /* tickets */
    uint64_t before;
    uint64_t messages; /* whole ones */
    uint64_t packets;  /* of those */
    uint64_t parts;    /* packets of messages that are not all there */
    uint64_t early, busy, lapped;
};

/* A reader of what has tickets now. */
void strobe_packet_read_begin(struct strobe_packet_reader *r, const struct strobe_packet_ring *ring);

/* The next whole message in ticket order, into `message` of STROBE_PACKET_MESSAGE_MAX bytes. False at the end. */
bool strobe_packet_read(struct strobe_packet_reader *r, void *message, size_t *bytes);

#endif
