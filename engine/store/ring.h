/* Record ring: many threads write samples into it at once, without a lock.
 *
 * The ring is N sub-buffers of C chunks of STROBE_CHUNK_SLOTS slots. Each thread has one writer. A writer claims a
 * whole chunk and then fills the slots of that chunk with plain stores. The claim is the only operation on shared
 * cursors. A hash of the thread's id selects the sub-buffer of the writer's first claim. Later claims move on to the
 * next sub-buffer as laps complete, so that all sub-buffers fill evenly. A claim that finds no chunk in one sub-buffer
 * tries the next ones.
 *
 *   head        capacities, mode
 *   cursor[N]   one per 128 bytes (the processor fetches lines in pairs; packed cursors cost 1.3-2x)
 *   chunk[N*C]  one state word each
 *   slot[N*C*K] 64 bytes: sequence word, 56 bytes of record or metrics
 *
 * States of a chunk, and the threads that may change them:
 *
 *   FREE ----> OPEN(ticket)     the claiming writer, by compare-and-swap
 *   OPEN ----> SEALED(when)     the owner, when it needs another chunk or ends. When the owner is proven dead, any
 *                               thread may seal the chunk (strobe_ring_seal_dead)
 *   SEALED --> OPEN(ticket')    the claiming writer, by compare-and-swap; keep-newest mode only
 *
 * No thread takes an OPEN chunk from its owner. Slot ownership is therefore exclusive without a locked instruction per
 * record, and a suspended owner still owns its chunk when it resumes. A writer that claims skips OPEN chunks. A stopped
 * or dead thread therefore withholds at most one chunk and delays no other thread (explored: ring/frozen, ring/dead).
 *
 * Claiming a sealed chunk does not yet lose its records. They stay readable until the new owner overwrites their slots
 * one by one, and the new owner counts each loss at that time.
 *
 * Slot sequence word: 0 when the slot was never written; else ticket << 26 | version << 2 | metrics << 1 | busy. The
 * bit `metrics` marks the second slot of a record. The two slots of one record carry the same ticket and version.
 *
 *   owner     stores the word with busy set, then the payload, then the same word with the next version and busy clear
 *             (release)
 *   reader    loads the word (acquire), copies the payload, issues a fence, and loads the word again. The copy is whole
 *             when both loads are equal and not busy
 *
 * This is a seqlock (Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012; explored:
 * ring/look, ring/read, ring/merge, ring/metrics, ring/shapes).
 *
 * Modes:
 *   KEEP_NEWEST   overwrites the chunks of a sub-buffer in turn (flight recorder). A chunk that was sealed less than
 *                 half a lap ago is overwritten only when a writer finds no other chunk
 *   KEEP_OLDEST   refuses new records when no chunk is free. Slots that an ended writer left unused in its last chunk
 *                 stay unused
 *
 * In both modes the thread that causes a loss counts it (explored: ring/lap, ring/turns, ring/subs, ring/oldest).
 *
 * A killed process leaves at most one record busy for each writer. If that record was never committed, it is lost. If
 * the writer was rewriting a committed record, strobe_ring_salvage recovers it.
 */
#ifndef STROBE_STORE_RING_H
#define STROBE_STORE_RING_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"
#include "engine/store/part.h"
#include "engine/store/record.h"

#include <stddef.h>
#include <stdint.h>

enum {
#ifdef STROBE_SMALL
    STROBE_CHUNK_SLOTS = 2, /* for exploration: the algorithm works with any value; metrics need >= 2 */
#else
    STROBE_CHUNK_SLOTS = 32,
#endif
    STROBE_RING_SUBS_DEFAULT = 16,
    STROBE_RING_SUBS_MAX = 256,
    STROBE_RING_SLOTS_MAX = 1 << 28, /* 16 GiB */
};

enum strobe_ring_mode { STROBE_KEEP_NEWEST = 0, STROBE_KEEP_OLDEST = 1 };

struct strobe_slot {
    strobe_a64 seq;
    union {
        struct strobe_record record;
        struct strobe_metrics metrics;
        strobe_a64 word[7]; /* accessed by both sides: racy copies that seq validates (explored: ring/look) */
    } u;
};
_Static_assert(sizeof(struct strobe_slot) == 64, "a slot is a cache line");

struct strobe_ring_head {
    uint32_t sub_count;      /* power of two */
    uint32_t chunks_per_sub; /* power of two */
    uint32_t mode;           /* enum strobe_ring_mode */
    strobe_a32 ready;        /* 0: writers use every chunk; else a limit, see strobe_ring_limit */
};

/* A process-local view of a ring. It holds pointers only; the state is in the ring's memory. */
struct strobe_ring {
    struct strobe_ring_head *head;
    struct strobe_ring_cursor *cursors;
    strobe_a64 *chunks;
    struct strobe_slot *slots;
};

/* State of one writer. It is private to the thread that writes, with one exception: after that thread's death any
 * thread may read `chunk` and `ticket` to seal the chunk. Zero it, then call strobe_ring_writer_init. */
struct strobe_ring_writer {
    uint32_t home;      /* sub-buffer where the next claim starts */
    strobe_a32 chunk;   /* index of the open chunk + 1, or 0 */
    uint32_t used;      /* slots of the open chunk in use */
    uint32_t last;      /* slot index + 1 of the last record written, while its chunk is open; else 0 */
    uint32_t fresh;     /* 1: no other writer ever owned the open chunk, so its slots hold nothing */
    strobe_a64 ticket;  /* of the open chunk */
    uint64_t overwrote; /* samples (not records) that this writer has overwritten */
};

/* Returns the bytes of a ring of at least `slot_capacity` slots in `sub_count` sub-buffers. The capacity is rounded up
 * to whole chunks and to a power of two of chunks per sub-buffer. slot_capacity: 1 .. STROBE_RING_SLOTS_MAX; sub_count:
 * a power of two up to STROBE_RING_SUBS_MAX. Any context. */
size_t strobe_ring_bytes(uint32_t slot_capacity, uint32_t sub_count);

/* Lays out a new ring in zeroed, 128-byte aligned memory of strobe_ring_bytes(). Start only. */
void strobe_ring_create(void *memory, uint32_t slot_capacity, uint32_t sub_count, enum strobe_ring_mode mode);

/* Opens a view of a ring laid out in `memory` of `bytes`. STROBE_BAD_INPUT: the header is invalid, or the memory is
 * smaller than the header requires. Start only, and readers. */
enum strobe_status strobe_ring_open(void *memory, size_t bytes, struct strobe_ring *out);

enum { STROBE_RING_PARTS = 2 };

/* Returns in `out` the parts of a new ring of these capacities that writers use while the ring is limited to `chunks`.
 * An unused entry of `out` has 0 bytes. Any context. */
void strobe_ring_parts(uint32_t slot_capacity, uint32_t sub_count, uint32_t chunks, struct strobe_part *out);

/* Limits writers to the first `chunks` chunks (a power of two) of the first sub-buffer. The caller limits a ring whose
 * other memory must not be accessed yet. `chunks` 0 ends the limit; records stay where they are, and tickets continue.
 * A ring whose sub-buffers have at most `chunks` chunks gets no limit. Start only; with 0 at any time, by one
 * thread. */
void strobe_ring_limit(const struct strobe_ring *ring, uint32_t chunks);

/* Returns the number of tickets drawn so far from the first sub-buffer's cursor. Any context. */
uint64_t strobe_ring_first_draws(const struct strobe_ring *ring);

/* Returns the total number of slots. Any context. */
uint32_t strobe_ring_slot_count(const struct strobe_ring *ring);

/* Returns the sub-buffer where the first claim of a writer with id `tid` starts. The result is uniform over
 * sub-buffers, also for ids that differ in few bits (S-15). Any context. */
uint32_t strobe_ring_home(const struct strobe_ring *ring, uint64_t tid);

/* Prepares a zeroed writer. Any context. */
void strobe_ring_writer_init(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t tid);

/* Writes a record, with its metrics when `metrics` is not NULL. The function sets the METRICS flag accordingly and
 * stores `reserved` as 0. A record with metrics never spans two chunks, so the last slot of a chunk may stay unwritten.
 *
 *   STROBE_OK     the record is committed and visible to readers
 *   STROBE_FULL   the record is not written: no chunk is free (keep-oldest), or other writers held every chunk that was
 *                 tried. The caller counts the drop
 *
 * The function takes bounded steps whatever other threads do. It is async-signal-safe as long as no two calls use one
 * writer at once (explored: ring/write, ring/lap, ring/crowd, ring/frozen, sample/interrupted). The caller must not
 * hold a thread suspended. */
enum strobe_status strobe_ring_write(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                     const struct strobe_record *record, const struct strobe_metrics *metrics);

/* Replaces in place the record that this writer wrote last, in order to merge a sample into it. The new record must
 * have the same shape (with or without metrics). STROBE_NO_ENTRY: the record's chunk was sealed, the shape differs, or
 * the record was rewritten 2^24 - 2 times; the caller then writes a new record. Same context as strobe_ring_write. */
enum strobe_status strobe_ring_rewrite(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                       const struct strobe_record *record, const struct strobe_metrics *metrics);

/* Seals the writer's open chunk. The thread that owns the writer calls it when it ends. */
void strobe_ring_writer_close(const struct strobe_ring *ring, struct strobe_ring_writer *w);

/* Seals the chunk that a dead writer left open (S-16). The writer's thread must be proven to have ended. Any thread. */
void strobe_ring_seal_dead(const struct strobe_ring *ring, struct strobe_ring_writer *w);

/* Returns true when no writer has ever claimed the chunk of slot `index`. None of the STROBE_CHUNK_SLOTS slots of that
 * chunk then holds a record, and their memory was never written. Any context, any process that maps the ring. */
bool strobe_ring_untouched(const struct strobe_ring *ring, uint32_t index);

/* A copy of one committed record. */
struct strobe_ring_item {
    struct strobe_record record;
    struct strobe_metrics metrics; /* zero unless record.flags has STROBE_FLAG_METRICS */
};

enum strobe_ring_look {
    STROBE_LOOK_EMPTY,  /* the slot was never written, or it is the metrics half of a record */
    STROBE_LOOK_RECORD, /* *item is a whole record */
    STROBE_LOOK_BUSY,   /* a writer is writing the slot, or a dead writer left it half-written, or it is damaged */
};

/* Copies the record that begins at slot `index` (0 .. slot_count - 1). The copy is validated by the sequence word. When
 * a writer interferes, the function retries a bounded number of times and then returns STROBE_LOOK_BUSY (explored:
 * ring/look, ring/read, ring/merge, ring/metrics, ring/shapes). It never stops writers. Slots are not in time order:
 * readers sort. Any context, any process that maps the ring. */
enum strobe_ring_look strobe_ring_look(const struct strobe_ring *ring, uint32_t index, struct strobe_ring_item *item);

/* Copies a committed record from a slot that strobe_ring_look reports as BUSY. It applies when the owner is rewriting
 * the record, or was rewriting it when the process was killed. Each field of *item is from the last or the next-to-last
 * version; these differ by one merged sample. If the writer goes on meanwhile, a field may be of any version since the
 * call began (explored: ring/salvage, ring/salvage-gone). Returns false, with *item unspecified, when there is no such
 * record. Any context, any process that maps the ring. */
bool strobe_ring_salvage(const struct strobe_ring *ring, uint32_t index, struct strobe_ring_item *item);

#endif
