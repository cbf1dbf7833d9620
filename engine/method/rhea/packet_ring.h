/* Packet ring: many threads write messages of up to 1024 bytes into one order, without a lock. RheaTrace's atrace proxy
 * (atrace.h) writes to it. The ring may lie in a file; the file outlives its process.
 *
 *   head         magic, version, capacity, words of the writer
 *   next         the next ticket, in cache lines of its own
 *   slot[N]      64 bytes: sequence word, stream id, start | next | size, 52 bytes of data
 *
 * A message takes as many tickets as it needs packets, with one addition. Ticket t stands for slot t % N on turn t / N.
 * The packets of a message therefore lie side by side. A reader joins them in order and needs no pool of payloads.
 *
 * States of a slot's sequence word, and the threads that may change them:
 *
 *   0 or 2 * turn ----> 2 * mine + 1   a writer of a later turn, by compare-and-swap. It becomes the slot's only owner
 *   2 * mine + 1 -----> 2 * mine + 2   the owner: the packet is committed
 *
 * A writer that finds an odd word has lapped a writer that did not finish, because that writer was stopped or died. A
 * writer that finds a word of its own turn or of a later turn has been lapped itself. In both cases the writer does not
 * wait: it drops its message and counts it. In the original (profilo) a writer that finds an odd word sleeps until the
 * other writer is done. A thread that is suspended in the middle of a message then stops all other threads one lap
 * later, and a killed thread stops them for ever. Here a dead writer withholds only its slots and the messages that
 * would have used them (explored: packet/frozen).
 *
 * Memory orders:
 *
 *   owner     takes the slot (acquire), so that its stores come after those of the previous owner; fence (release), so
 *             that a reader that sees one of its words also sees that the slot is taken; payload; commit (release)
 *   reader    loads the word (acquire), copies, fence (acquire), loads the word again (a seqlock, see
 *             engine/store/ring.h)
 *
 * Explored: packet/write, packet/lap, packet/read, packet/read-long, packet/long, packet/long-lap, packet/interrupted.
 *
 * A turn counts to 2^31. With 10,000 slots this is enough for 2 * 10^13 packets.
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

/* Writers and readers access it at once. The copies are racy; the sequence word validates them (explored: packet/read).
 */
struct strobe_packet_slot {
    strobe_a32 seq;
    strobe_a32 stream; /* low half of the message's first ticket */
    strobe_a32 shape;  /* size << 2 | next << 1 | start */
    strobe_a32 first;  /* data bytes 0 .. 3 */
    strobe_a64 rest[STROBE_PACKET_WORDS];
};
_Static_assert(sizeof(struct strobe_packet_slot) == 12 + STROBE_PACKET_DATA_BYTES, "a packet is a cache line");

struct strobe_packet_head {
    strobe_a64 magic; /* stored last: a file whose creation was cut off has none */
    uint32_t version;
    uint32_t capacity;   /* slots */
    strobe_a64 words[8]; /* the writer's own data; 0 at first */
};

/* A process-local view of a ring. It holds pointers only; the state is in the ring's memory. */
struct strobe_packet_ring {
    struct strobe_packet_head *head;
    struct strobe_packet_tickets *tickets;
    struct strobe_packet_slot *slots;
    uint32_t capacity;
};

/* Returns the number of slots for a requested size. 0 requests the default. A size outside of 10,000 .. 5,000,000
 * becomes the nearer limit. (RheaTrace 1.0.1 makes 10,000 of a size that is too large.) Any context. */
uint32_t strobe_packet_ring_slots(uint64_t asked);

/* Returns the bytes of memory for a ring of `slots`. Any context. */
size_t strobe_packet_ring_bytes(uint32_t slots);

/* Lays out a ring of `slots`, 1 .. STROBE_PACKET_SLOTS_MOST, in zeroed, 128-byte aligned memory of
 * strobe_packet_ring_bytes(). Start only. */
void strobe_packet_ring_create(void *memory, uint32_t slots);

/* Returns whether the memory, of any alignment, begins as a ring does. Any context. */
bool strobe_packet_ring_is(const void *memory, size_t bytes);

/* Opens a view of a ring in `memory` of `bytes`. STROBE_BAD_INPUT: the memory holds no ring, or the ring's creation was
 * cut off. STROBE_BAD_VERSION: the ring has another version. STROBE_TRUNCATED: the memory is smaller than the ring's
 * head requires. Start only, and readers. */
enum strobe_status strobe_packet_ring_open(void *memory, size_t bytes, struct strobe_packet_ring *out);

/* Frees the slots that a dead process left half-written, so that a process can write to its file again. Whole messages
 * stay. Returns the number of slots freed. Start only, while no thread writes. */
uint32_t strobe_packet_ring_recover(const struct strobe_packet_ring *ring);

/* Writes a message of 1 .. STROBE_PACKET_MESSAGE_MAX bytes. STROBE_BAD_INPUT: another size; the function does nothing.
 * STROBE_FULL: the message needs more slots than the ring has. STROBE_LATE: the message is dropped, for a reason given
 * above, and counted. Any thread, also in a signal handler that interrupts another write. Never waits (explored:
 * packet/interrupted, packet/frozen). */
enum strobe_status strobe_packet_write(const struct strobe_packet_ring *ring, const void *message, size_t bytes);

/* Writes a message that consists of two parts. The caller need not copy them together. */
enum strobe_status strobe_packet_write_parts(const struct strobe_packet_ring *ring, const void *head, size_t head_bytes,
                                             const void *body, size_t body_bytes);

/* Returns the number of messages that strobe_packet_write dropped (STROBE_LATE). Any context. */
uint64_t strobe_packet_dropped(const struct strobe_packet_ring *ring);

/* Returns the number of tickets drawn so far. Any context. */
uint64_t strobe_packet_tickets(const struct strobe_packet_ring *ring);

/* ---- reading: by any process that maps the ring, while threads write to it or later. Readers never stop writers. */

enum strobe_packet_state {
    STROBE_PACKET_HERE,   /* *out is a whole packet */
    STROBE_PACKET_EARLY,  /* not yet written: its writer has not reached it, has dropped the message, or died before */
    STROBE_PACKET_BUSY,   /* half-written, by a writer that is at work, or that died there */
    STROBE_PACKET_LAPPED, /* overwritten by a later turn, perhaps while it was copied */
};

struct strobe_packet {
    uint32_t stream;
    bool start, next; /* the message's first packet; another packet of the message follows */
    uint32_t size;
    unsigned char data[STROBE_PACKET_DATA_BYTES];
};

/* Copies the packet of one ticket, and validates the copy (explored: packet/read). */
enum strobe_packet_state strobe_packet_at(const struct strobe_packet_ring *ring, uint64_t ticket,
                                          struct strobe_packet *out);

/* Reads the messages in the ring. The reader accounts for every ticket. At the end
 *
 *   tickets drawn = before + packets + parts + early + busy + lapped
 *
 * where `before` counts the tickets that were overwritten before the reader began. */
struct strobe_packet_reader {
    const struct strobe_packet_ring *ring;
    uint64_t next, end; /* tickets */
    uint64_t before;
    uint64_t messages; /* whole messages */
    uint64_t packets;  /* packets of whole messages */
    uint64_t parts;    /* packets of messages that are incomplete */
    uint64_t early, busy, lapped;
};

/* Prepares a reader of the tickets drawn so far. */
void strobe_packet_read_begin(struct strobe_packet_reader *r, const struct strobe_packet_ring *ring);

/* Copies the next whole message, in ticket order, to `message` of STROBE_PACKET_MESSAGE_MAX bytes. Returns false at the
 * end. */
bool strobe_packet_read(struct strobe_packet_reader *r, void *message, size_t *bytes);

#endif
