/* Record ring: where samples go, from many threads at once, without a lock.
 *
 * The ring is N sub-buffers of C chunks of STROBE_CHUNK_SLOTS slots. A writer (one per thread) claims a whole
 * chunk now and then, and then fills its slots with plain stores: the claim is the only operation on
 * shared cursors. A thread's claims start at the sub-buffer that a mixed hash of its id picks, move on as laps
 * complete so that all sub-buffers are used evenly, and spill to the next ones.
 *
 *   head        capacities, mode
 *   cursor[N]   one per 128 bytes (neighbouring lines are fetched in pairs; packed cursors cost 1.3-2x)
 *   chunk[N*C]  state word each
 *   slot[N*C*K] 64 bytes: sequence word, 56 bytes of record or metrics
 *
 * Chunk states, and who may move between them:
 *
 *   FREE ----> OPEN(ticket)     the claiming writer, by compare-and-swap
 *   OPEN ----> SEALED(when)     its owner only, when it needs another chunk or ends; or, for an owner that
 *                               is proven dead, anyone (strobe_ring_seal_dead)
 *   SEALED --> OPEN(ticket')    the claiming writer, by compare-and-swap; keep-newest mode only
 *
 * An OPEN chunk is never taken from its owner: slot ownership is exclusive without a locked
 * instruction per record, and a suspended owner comes back to a chunk that is still its own. A claimant that meets
 * one passes on. So a stopped or dead thread withholds at most one chunk and delays nobody (explored: ring/frozen,
 * ring/dead).
 *
 * Claiming a sealed chunk loses nothing by itself: its old records stay readable until their slots are overwritten
 * one by one, and are counted then.
 *
 * Slot sequence word: 0 never written; else ticket << 26 | version << 2 | metrics << 1 | busy, where `metrics` marks
 * the second slot of a record. The owner stores busy, then the payload, then the same word with a new version and busy
 * clear (release). A reader loads it (acquire), copies, fences, and loads it again: equal and not busy means
 * the copy is whole (seqlock; Boehm, "Can seqlocks get along with programming language memory models?", MSPC
 * 2012; explored: ring/look, ring/read, ring/merge, ring/metrics, ring/shapes). The two slots of one record carry the
 * same ticket and version.
 *
 * Modes: KEEP_NEWEST overwrites the chunks of a sub-buffer in turn, but none sealed less than half a lap ago while
 * there are others (flight recorder); KEEP_OLDEST refuses new records when no chunk is free (what a writer that ended
 * left unused of its last chunk stays unused). Either way every loss is counted, by the thread that caused it
 * (explored: ring/lap, ring/turns, ring/subs, ring/oldest).
 *
 * A process that is killed leaves at most one slot busy for each writer: a record that was never committed, which is
 * lost, or one that was being rewritten, see strobe_ring_salvage.
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
    STROBE_CHUNK_SLOTS = 2,            /* for exploration: the algorithm does not depend on it, but for metrics >= 2 */
#else
    STROBE_CHUNK_SLOTS = 32,
#endif
    STROBE_RING_SUBS_DEFAULT = 16,
    STROBE_RING_SUBS_MAX = 256,
    STROBE_RING_SLOTS_MAX = 1 << 28,   /* 16 GiB */
};

enum strobe_ring_mode { STROBE_KEEP_NEWEST = 0, STROBE_KEEP_OLDEST = 1 };

struct strobe_slot {
    strobe_a64 seq;
    union {
        struct strobe_record record;
        struct strobe_metrics metrics;
        strobe_a64 word[7];        /* how both sides touch it: racy by design, seq tells (explored: ring/look) */
    } u;
};
_Static_assert(sizeof(struct strobe_slot) == 64, "a slot is a cache line");

struct strobe_ring_head {
    uint32_t sub_count;            /* power of two */
    uint32_t chunks_per_sub;       /* power of two */
    uint32_t mode;                 /* enum strobe_ring_mode */
    strobe_a32 ready;              /* 0: writers use every chunk; else see strobe_ring_limit */
};

/* A process-local view of a ring; cheap to make, holds no state of its own. */
struct strobe_ring {
    struct strobe_ring_head *head;
    struct strobe_ring_cursor *cursors;
    strobe_a64 *chunks;
    struct strobe_slot *slots;
};

/* One writer's place in the ring; private to the thread that writes, except that anyone may read
 * `chunk` and `ticket` to seal it after that thread's death. Zero at first use, then strobe_ring_writer_init. */
struct strobe_ring_writer {
    uint32_t home;                 /* sub-buffer where its next claim starts */
    strobe_a32 chunk;              /* index of the open chunk + 1, or 0 */
    uint32_t used;                 /* slots of it in use */
    uint32_t last;                 /* slot index + 1 of the record written last, while its chunk is open; else 0 */
    uint32_t fresh;                /* 1: no writer had the open chunk before, and its slots hold nothing */
    strobe_a64 ticket;             /* of the open chunk */
    uint64_t overwrote;            /* samples (not records) that this writer's writes have overwritten */
};

/* Bytes for a ring of at least `slot_capacity` slots in `sub_count` sub-buffers (rounded up to whole chunks and
 * powers of two). slot_capacity: 1 .. STROBE_RING_SLOTS_MAX; sub_count: a power of two up to STROBE_RING_SUBS_MAX.
 * Any context. */
size_t strobe_ring_bytes(uint32_t slot_capacity, uint32_t sub_count);

/* Lays a new ring out in zeroed, 128-byte aligned memory of strobe_ring_bytes(). Start only. */
void strobe_ring_create(void *memory, uint32_t slot_capacity, uint32_t sub_count, enum strobe_ring_mode mode);

/* Opens a view of a ring laid out in `memory` of `bytes`; STROBE_BAD_INPUT when header and memory disagree.
 * Start only, and readers. */
enum strobe_status strobe_ring_open(void *memory, size_t bytes, struct strobe_ring *out);

enum { STROBE_RING_PARTS = 2 };

/* The parts of a new ring of these capacities that its writers use while it is limited to `chunks`. Any context. */
void strobe_ring_parts(uint32_t slot_capacity, uint32_t sub_count, uint32_t chunks, struct strobe_part *out);

/* Limits the writers to the first `chunks` (a power of two) of the first sub-buffer, for a ring of which no other
 * memory may be touched yet. 0 ends the limit; records stay where they are, and tickets go on. A ring whose sub-buffers
 * have no more than `chunks` stays without a limit. Start; 0 at any time, by one thread. */
void strobe_ring_limit(const struct strobe_ring *ring, uint32_t chunks);

/* Chunks drawn so far from the first sub-buffer. Any context. */
uint64_t strobe_ring_first_draws(const struct strobe_ring *ring);

/* Slots in all. Any context. */
uint32_t strobe_ring_slot_count(const struct strobe_ring *ring);

/* The sub-buffer where the first claim of a writer of id `tid` starts: uniform over sub-buffers also for ids that
 * differ in few bits (S-15). Any context. */
uint32_t strobe_ring_home(const struct strobe_ring *ring, uint64_t tid);

/* Prepares a zeroed writer. Any context. */
void strobe_ring_writer_init(const struct strobe_ring *ring, struct strobe_ring_writer *w, uint64_t tid);

/* Writes a record, with its metrics when `metrics` is not NULL (the METRICS flag is set accordingly; `reserved` is
 * stored as 0). A record with metrics never spans two chunks: the last slot of a chunk may stay as it was.
 * STROBE_OK: committed, visible to readers. STROBE_FULL: not written (keep-oldest and no chunk free, or
 * every chunk tried was held by another writer); the caller counts the drop. Bounded steps whatever other
 * threads do; async-signal-safe as long as one writer is not entered twice (explored: ring/write, ring/lap, ring/crowd,
 * ring/frozen, sample/interrupted). Not while the caller holds a thread suspended. */
enum strobe_status strobe_ring_write(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                     const struct strobe_record *record, const struct strobe_metrics *metrics);

/* Replaces the record this writer wrote last, in place, for merging; same shape (with or without metrics) as it was
 * written. STROBE_NO_ENTRY when it is no longer this writer's to change (its chunk was sealed), has another shape, or
 * was rewritten 2^24 - 2 times: the caller then writes a new record. Same context as strobe_ring_write. */
enum strobe_status strobe_ring_rewrite(const struct strobe_ring *ring, struct strobe_ring_writer *w,
                                       const struct strobe_record *record, const struct strobe_metrics *metrics);

/* Gives the writer's open chunk back (sealed). At the end of a thread, by that thread. */
void strobe_ring_writer_close(const struct strobe_ring *ring, struct strobe_ring_writer *w);

/* Seals the chunk a dead writer left open (S-16). Only when its thread is proven to have ended. Any thread. */
void strobe_ring_seal_dead(const struct strobe_ring *ring, struct strobe_ring_writer *w);

/* True when no writer has ever claimed the chunk of slot `index`: there is nothing to look at in any of its
 * STROBE_CHUNK_SLOTS slots, and their memory was never touched. Any context, any process that maps the ring. */
bool strobe_ring_untouched(const struct strobe_ring *ring, uint32_t index);

/* One copy of a record, as it was committed. */
struct strobe_ring_item {
    struct strobe_record record;
    struct strobe_metrics metrics;   /* zero unless record.flags has STROBE_FLAG_METRICS */
};

enum strobe_ring_look {
    STROBE_LOOK_EMPTY,     /* nothing was ever written here, or the slot is the metrics half of another */
    STROBE_LOOK_RECORD,    /* *item is a whole record */
    STROBE_LOOK_BUSY,      /* being written now (live reader), left half-written by a death, or damaged */
};

/* Copies the record that begins at slot `index` (0 .. slot_count - 1), validated after the copy; a writer that
 * interferes makes it retry a bounded number of times, then STROBE_LOOK_BUSY (explored: ring/look, ring/read,
 * ring/merge, ring/metrics, ring/shapes). Never stops writers. Slots are in no time order: readers sort. Any context,
 * any process that maps the ring. */
enum strobe_ring_look strobe_ring_look(const struct strobe_ring *ring, uint32_t index, struct strobe_ring_item *item);

/* For a slot that looks BUSY: copies a record that was committed before and is being rewritten, or was when its process
 * was killed. Each field is that of the last or the next-to-last version, which differ by one merged sample; of a
 * writer that goes on meanwhile, that of any version since the look (explored: ring/salvage, ring/salvage-gone). False,
 * with *item unspecified, when there is no such record. Any context, any process that maps the ring. */
bool strobe_ring_salvage(const struct strobe_ring *ring, uint32_t index, struct strobe_ring_item *item);

#endif
