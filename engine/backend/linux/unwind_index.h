/* Index of call frame information: for a program counter, it returns the rule that leads to the caller's frame. Any
 * thread may look up rules, also in hooks and signal handlers. One thread at a time, the changer, adds and removes
 * images.
 *
 *   image[I]    64 bytes for each loaded image: the addresses of its code and of its call frame information
 *   memo[M]     rules found earlier, two to a cache line, by a hash of the program counter
 *   generation  changes when an image is added or removed. Rules in the memo of an older generation are stale
 *
 * A lookup reads one cache line of the memo. If the rule is not there, the lookup searches the image's own sorted
 * table, runs one function's program of call frame instructions (about 0.3 us), and stores the rule in the memo.
 * Nothing is compiled in advance, so start costs nothing, and only the first sample that needs a rule pays for it.
 *
 * The memo begins small, because the few rules of a small program, spread over the full memo, would take a page of
 * memory each. It grows by a factor of four when many rules were evicted. A rule from before the growth is found anew.
 *
 * Image slots and memo slots are seqlocks (Boehm, MSPC 2012; see also ring.h). `seq` is odd while a slot is written.
 *
 *   writer                                reader
 *   seq = s + 1         relaxed           s = seq                 acquire   (A)
 *   fence               release  (B)      words                   relaxed
 *   words               relaxed           fence                   acquire   (C)
 *   seq = s + 2         release  (A)      seq still s, and even   relaxed   (B)
 *
 *   A  a reader that sees the final seq sees the words of that write
 *   B  a reader that sees a word of a later write sees that write's seq, or a later one, and rejects what it read
 *
 * Image slots have one writer. A reader of an image reads call frame information between its two reads of seq. The
 * changer may give that memory to another image meanwhile. This is safe for three reasons: the memory stays mapped
 * forever, the reader of call frame information stays within its bounds whatever they hold, and the result is rejected.
 *
 * Memo slots have many writers. A writer takes a slot by compare-and-swap of an even seq to the odd one (acquire), and
 * leaves the slot alone when that fails. A thread that stops or ends in the middle of a write therefore makes one memo
 * slot unusable, and delays no other thread.
 *
 *   changer                               lookup
 *   image slot          as above          g = generation          acquire   (D)
 *   generation = g + 1  release  (D)      memo slot of g, else image slots, put into the memo as of g
 *
 *   D  a lookup that sees the new generation sees the changed image slots. A rule of a removed image can be
 *      stored only as of an older generation, which no later lookup accepts
 *
 * Lookups are async-signal-safe, take bounded steps, and may be re-entered by a signal handler at any point (explored:
 * unwind/replace, unwind/memo). */
#ifndef STROBE_BACKEND_LINUX_UNWIND_INDEX_H
#define STROBE_BACKEND_LINUX_UNWIND_INDEX_H

#include "engine/backend/linux/eh_frame.h"
#include "engine/base/atomic.h"

enum {
#ifdef STROBE_SMALL
    STROBE_UNWIND_IMAGES = 2,
    STROBE_UNWIND_MEMO_LINES = 1,
    STROBE_UNWIND_MEMO_BEGIN = 1, /* for exploration */
#else
    STROBE_UNWIND_IMAGES = 2048,
    STROBE_UNWIND_MEMO_LINES = 1 << 14,
    STROBE_UNWIND_MEMO_BEGIN = 1 << 8, /* lines in use at first */
#endif
    STROBE_UNWIND_IMAGE_WORDS = 7,
};

struct strobe_unwind_slot {
    strobe_a32 seq;
    strobe_a32 keeps_fp; /* the seq for which it is known | (1: the image keeps frame pointers); written by lookups */
    strobe_a64 word[STROBE_UNWIND_IMAGE_WORDS];
};

struct strobe_unwind_memo {
    strobe_a32 seq, generation;
    strobe_a64 pc, rule[2];
};

/* Zero at first use, page-aligned. Its size is about 1.1 MiB, but only touched pages take memory. */
struct strobe_unwind_index {
    strobe_a32 generation;
    strobe_a32 images;         /* slots that were ever used */
    strobe_a32 missed;         /* 1: a pc was in no image; set by lookups, cleared by the changer */
    strobe_a32 memo_growths;   /* lines in use = STROBE_UNWIND_MEMO_BEGIN * 4^memo_growths */
    strobe_a32 memo_evictions; /* approximate number of rules evicted since the memo last grew */
    uint32_t padding[11];
    struct strobe_unwind_slot image[STROBE_UNWIND_IMAGES];
    struct strobe_unwind_memo memo[STROBE_UNWIND_MEMO_LINES][2];
};

/* An image. `frames.bytes` is NULL for an image without call frame information. */
struct strobe_unwind_image {
    uint64_t start, end;           /* addresses of its loaded segments */
    struct strobe_eh_frame frames; /* memory that is never unmapped */
};

/* Adds an image and returns its slot in *slot. STROBE_FULL when no slot is free, or when the image's values do not fit
 * into one. Changer only. */
enum strobe_status strobe_unwind_index_add(struct strobe_unwind_index *x, const struct strobe_unwind_image *image,
                                           uint32_t *slot);

/* Removes the image in a slot. The caller may overwrite the memory of its call frame information afterwards. Changer
 * only. */
void strobe_unwind_index_remove(struct strobe_unwind_index *x, uint32_t slot);

/* Returns the rule for the instruction at pc. When no rule is found, the kind is one of these:
 *
 *   STROBE_UNWIND_BY_FP  no image with call frame information holds pc, or the image that holds pc has no entry for it
 *                        but its other functions keep frame pointers
 *   STROBE_UNWIND_NONE   the image that holds pc has no entry for it, and its other functions do not keep frame
 *                        pointers; or its entry is damaged or cannot be expressed as a rule
 *
 * Any context. */
struct strobe_unwind_rule strobe_unwind_index_find(struct strobe_unwind_index *x, uint64_t pc);

/* Returns the address range of the table entry that holds pc, in the image that holds pc. 32-bit ARM only: the entry of
 * a whole function; false elsewhere. Any context. */
bool strobe_unwind_index_range(struct strobe_unwind_index *x, uint64_t pc, uint64_t *start, uint64_t *end);

/* Returns whether the image that holds pc has call frame information. Changer only. */
bool strobe_unwind_index_has_tables(struct strobe_unwind_index *x, uint64_t pc);

/* Returns whether code at pc can be unwound by frame pointers alone: its image keeps them, or no image with call frame
 * information holds pc. The answer is about the image's functions in general. Changer only. */
bool strobe_unwind_index_keeps_fp(struct strobe_unwind_index *x, uint64_t pc);

#endif
