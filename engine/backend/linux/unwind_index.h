/* Index of call frame information: for a program counter, the rule that leads to the caller's frame. Any thread looks
 * rules up, in hooks and signal handlers too; one thread at a time adds and removes images.
 *
 *   image[I]    64 bytes for each loaded image: where its code and its call frame information lie
 *   memo[M]     rules that were found before, two to a cache line, by a hash of the program counter
 *   generation  changes after images were added or removed: what the memo has from before is stale
 *
 * A lookup reads one cache line of the memo. When the rule is not there, the lookup searches the image's own sorted
 * table and runs one function's program of call frame instructions (some 0.3 us), and puts the rule into the memo.
 * The memo begins small and grows by four when many rules had to make room for others (what it held is found again):
 * strewn over all of it, the few rules of a small program would take a page of memory each.
 * Nothing is compiled in advance, so indexing costs nothing at start, and a rule is paid for once, by the sample that
 * needs it first.
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
 * Image slots have one writer. A reader of an image goes on reading call frame information between its two looks
 * at seq. That memory may be given to another image meanwhile: it stays mapped for ever, the reader of call frame
 * information keeps within it whatever it holds, and the result is rejected.
 *
 * Memo slots have many writers: a writer takes a slot by compare-and-swap of an even seq to the odd one (acquire), and
 * leaves the slot alone when that fails. So a thread that is stopped, or ends, in the middle of a write makes one memo
 * slot unusable, and delays nobody.
 *
 *   changer                               lookup
 *   image slot          as above          g = generation          acquire   (D)
 *   generation = g + 1  release  (D)      memo slot of g, else image slots, put into the memo as of g
 *
 *   D  a lookup that sees the new generation sees the changed image slots. A rule of an image that is gone can be
 *      stored only as of an older generation, which no later lookup accepts.
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
    strobe_a32 keeps_fp; /* for which seq that is known, and in its lowest bit whether; set by lookups */
    strobe_a64 word[STROBE_UNWIND_IMAGE_WORDS];
};

struct strobe_unwind_memo {
    strobe_a32 seq, generation;
    strobe_a64 pc, rule[2];
};

/* Zero at first use, page-aligned; about 1.2 MiB, of which only what is touched takes memory. */
struct strobe_unwind_index {
    strobe_a32 generation;
    strobe_a32 images;         /* slots that were ever used */
    strobe_a32 missed;         /* 1: a pc was in no image; set by lookups, cleared by the changer */
    strobe_a32 memo_growths;   /* lines in use: STROBE_UNWIND_MEMO_BEGIN * 4^this */
    strobe_a32 memo_evictions; /* rules that made room for others, since the memo grew; about */
    uint32_t padding[11];
    struct strobe_unwind_slot image[STROBE_UNWIND_IMAGES];
    struct strobe_unwind_memo memo[STROBE_UNWIND_MEMO_LINES][2];
};

/* What is known of an image. `frames.bytes` is NULL for one without call frame information. */
struct strobe_unwind_image {
    uint64_t start, end;           /* addresses of its loaded segments */
    struct strobe_eh_frame frames; /* memory that is never unmapped */
};

/* Adds an image; its slot goes to *slot. STROBE_FULL when there is none. Changer only. */
enum strobe_status strobe_unwind_index_add(struct strobe_unwind_index *x, const struct strobe_unwind_image *image,
                                           uint32_t *slot);

/* Removes the image in a slot. The memory of its call frame information may be written to afterwards. Changer only. */
void strobe_unwind_index_remove(struct strobe_unwind_index *x, uint32_t slot);

/* The rule for the instruction at pc. Its kind is STROBE_UNWIND_BY_FP when no image with call frame information holds
 * pc, or one does not tell of pc whose other functions keep frame pointers; STROBE_UNWIND_NONE when another image does
 * not tell. Any context. */
struct strobe_unwind_rule strobe_unwind_index_find(struct strobe_unwind_index *x, uint64_t pc);

#endif
