/* Call log: records every entry and exit of a function that instrumentation reports.
 *
 * Many threads write at once. Times have 64 bits. A function is recorded by its address, so the number of functions has
 * no limit. The log is a part of the session file (session.h):
 *
 *   head      struct strobe_call_head, a page
 *   accounts  struct strobe_call_account[], one for each entry of the thread table
 *   blocks    struct strobe_call_block[], page-aligned
 *
 * A thread claims a block with one atomic addition and one compare-and-swap, and then fills it with plain stores of 16
 * bytes an entry. It stores the time first and then the entry's word (with release). A reader therefore finds only
 * whole entries, also after a kill -9 at any instruction. No entry's word is 0, and the new owner clears a block before
 * it uses the block again. The words of an open block therefore show how many entries it holds.
 *
 * A full log either refuses new entries (keep oldest) or claims again the blocks that were finished longest ago (keep
 * newest). The accounting covers every entry that a thread reported:
 *
 *   told = present + overwritten + refused
 *
 * Here `told` is the number of all reported entries: the sum of the accounts' field `told` (entries of finished
 * blocks), of the entries in open blocks, and of the accounts' field `refused`. The thread that overwrites an entry
 * counts it.
 *
 * The design is Strobe's own. engine/method/entry.h compares it with the method log of Matrix. */
#ifndef STROBE_STORE_CALL_LOG_H
#define STROBE_STORE_CALL_LOG_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#ifdef STROBE_SMALL /* for exploration: the algorithm works with any value */
    STROBE_CALL_ENTRIES = 2,
#else
    STROBE_CALL_ENTRIES = 1022, /* entries of a block; with its head a block has 16 KiB */
#endif
    STROBE_CALL_BLOCKS_MAX = 1 << 18,
};

/* Bit of an entry's word: set when the entry is an exit. The other bits are the function's address. */
#define STROBE_CALL_EXIT ((uint64_t)1 << 63)

struct strobe_call_entry {
    strobe_a64 ticks, word;
};

struct strobe_call_block {
    strobe_a64 state;  /* see call_log.c; 0: never used */
    strobe_a64 ticket; /* of the owner that has cleared the block and written its entries */
    strobe_a64 thread; /* that owner's index in the thread table */
    strobe_a64 used;   /* number of entries; valid once the block is finished */
    struct strobe_call_entry entry[STROBE_CALL_ENTRIES];
};

/* Accounting of one thread. Additions are atomic, because the thread's signal handlers add, too. `told` counts entries
 * of finished blocks, `refused` entries that were not taken. `overwrote` counts entries of any thread that this thread
 * overwrote. */
struct strobe_call_account {
    strobe_a64 told, refused, overwrote;
};

struct strobe_call_head {
    strobe_a64 next; /* the cursor: numbers drawn so far */
    uint32_t block_count;
    uint32_t account_count;
    uint32_t keep_oldest; /* 1: a full log refuses new entries */
    uint32_t unused;
};

/* A view of the log. head is NULL when the session has no call log. */
struct strobe_call_log {
    struct strobe_call_head *head;
    struct strobe_call_account *accounts;
    struct strobe_call_block *blocks;
};

/* A writer and its block. A zeroed writer has no block. Private to its thread. */
struct strobe_call_writer {
    struct strobe_call_entry *next, *end;
    uint64_t ticket;
    uint32_t block;     /* index + 1; 0 = none */
    uint32_t uncounted; /* entries of the block finished last that the account does not count yet */
};

/* Returns the bytes of a log. Any context. */
uint64_t strobe_call_log_bytes(uint32_t block_count, uint32_t account_count);

/* Lays out an empty log in zeroed memory. Start only. */
void strobe_call_log_create(void *memory, uint32_t block_count, uint32_t account_count, bool keep_oldest);

/* Opens a view of a log in `bytes` of memory. STROBE_BAD_INPUT: the header is invalid, or the memory is smaller than
 * the header requires. Any context. */
enum strobe_status strobe_call_log_open(void *memory, uint64_t bytes, struct strobe_call_log *out);

/* Finishes the writer's block, if it has one, and claims another. Returns false when no block could be claimed; the
 * writer then has no block, and the caller counts its entry as refused. `thread`: index of the calling thread, below
 * account_count.
 *
 * A jump out of a signal handler can leave a call of this function unfinished. The writer may be used again after
 * strobe_call_repair. As after a thread's death, at most the block that was being claimed is lost. The next call counts
 * the entries that the unfinished call did not count. Only when no block can be claimed, a jump right after the count
 * counts a block twice. Any context; lock-free (explored: calls/lap, calls/turns, calls/frozen). */
bool strobe_call_refill(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread);

/* Makes the writer usable after a jump out of a signal handler has left a call of strobe_call_refill or strobe_call_put
 * unfinished. By the writer's thread, before the writer's next use. */
void strobe_call_repair(const struct strobe_call_log *log, struct strobe_call_writer *w);

/* Finishes the writer's block. A thread calls it when it ends. */
void strobe_call_finish(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread);

/* Counts entries as refused. Any context. */
void strobe_call_refuse(const struct strobe_call_log *log, uint32_t thread, uint64_t entries);

/* Writes an entry. The writer's block must have a free entry (next != end). `word` is not 0. By the writer's thread. */
static inline void strobe_call_put(struct strobe_call_writer *w, uint64_t ticks, uint64_t word)
{
    struct strobe_call_entry *e = w->next;
    strobe_store_relaxed(&e->ticks, ticks);
    strobe_store_release(&e->word, word);
    w->next = e + 1;
}

/* A copy of a block. */
struct strobe_call_copy {
    uint64_t ticket; /* later blocks of one writer have greater tickets */
    uint32_t thread; /* below account_count */
    uint32_t count;
    bool open;
    struct {
        uint64_t ticks, word;
    } entry[STROBE_CALL_ENTRIES];
};

enum strobe_call_look {
    STROBE_CALLS_EMPTY,   /* the block was never used */
    STROBE_CALLS_THERE,   /* *out is a whole copy */
    STROBE_CALLS_TAKEN,   /* the next owner is claiming the block; the entries it held are lost */
    STROBE_CALLS_DAMAGED, /* the block holds values that no writer writes */
};

/* Copies block `index`, below block_count, also while a thread writes it. Stops no writer. Any thread (explored:
 * calls/look, calls/turns). */
enum strobe_call_look strobe_call_look(const struct strobe_call_log *log, uint32_t index, struct strobe_call_copy *out);

#endif
