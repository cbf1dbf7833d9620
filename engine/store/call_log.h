/* The call log: every entry and exit of a function, exactly, as instrumentation tells them. Many threads, times of 64
 * bits, functions by address, so that there is no limit to their number. A region of the session file (session.h):
 *
 *   head      struct strobe_call_head, a page
 *   accounts  struct strobe_call_account[], one for each entry of the thread table
 *   blocks    struct strobe_call_block[], page-aligned
 *
 * A thread claims a block, with one atomic addition and one exchange, and then fills it by plain stores: 16 bytes an
 * entry, the time first, then the word that makes it one (with release), so that whoever looks, also after a kill -9
 * at any instruction, meets whole entries only. No entry is ever 0, and a block is cleared before it is used again:
 * how far an open block is filled shows in the block itself.
 *
 * A full log either refuses what comes (keep oldest) or takes the blocks that were finished longest ago (keep newest).
 * Of all that threads told, each entry is somewhere:
 *
 *   told = present + overwritten + refused
 *
 * where `told` is the sum of the accounts' `told` (entries of finished blocks), of what open blocks hold, and of
 * `refused`; and what was overwritten is counted by who overwrote it.
 *
 * Own design; what it does better than the logs it is compared with is told in engine/method/entry.h. */
#ifndef STROBE_STORE_CALL_LOG_H
#define STROBE_STORE_CALL_LOG_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#ifdef STROBE_SMALL      /* for exploration: the algorithm does not depend on it */
    STROBE_CALL_ENTRIES = 2,
#else
    STROBE_CALL_ENTRIES = 1022,        /* of a block: 16 KiB with its head */
#endif
    STROBE_CALL_BLOCKS_MAX = 1 << 18,
};

/* Bit of an entry's word: the function is left. The other bits are its address. */
#define STROBE_CALL_EXIT ((uint64_t)1 << 63)

struct strobe_call_entry { strobe_a64 ticks, word; };

struct strobe_call_block {
    strobe_a64 state;                  /* see call_log.c; 0: never used */
    strobe_a64 ticket;                 /* of the owner who has cleared it: what is in it is that one's */
    strobe_a64 thread;                 /* index of that owner */
    strobe_a64 used;                   /* entries, once it is finished */
    struct strobe_call_entry entry[STROBE_CALL_ENTRIES];
};

/* Of one thread; added to atomically, for its signal handlers tell, too. Overwritten are entries of any thread. */
struct strobe_call_account { strobe_a64 told, refused, overwrote; };

struct strobe_call_head {
    strobe_a64 next;                   /* blocks drawn so far */
    uint32_t block_count;
    uint32_t account_count;
    uint32_t keep_oldest;              /* 1: refuse when full */
    uint32_t unused;
};

/* A view of the region; head is NULL when the session has none. */
struct strobe_call_log {
    struct strobe_call_head *head;
    struct strobe_call_account *accounts;
    struct strobe_call_block *blocks;
};

/* A writer's block; zeroed is a writer without one. Private to its thread. */
struct strobe_call_writer {
    struct strobe_call_entry *next, *end;
    uint64_t ticket;
    uint32_t block;                    /* index + 1; 0 = none */
};

/* Bytes of a log. Any context. */
uint64_t strobe_call_log_bytes(uint32_t block_count, uint32_t account_count);

/* Lays an empty log out in zeroed memory. Creating only. */
void strobe_call_log_create(void *memory, uint32_t block_count, uint32_t account_count, bool keep_oldest);

/* A checked view of `bytes` of memory. STROBE_BAD_INPUT: no log, or one that does not fit. Any context. */
enum strobe_status strobe_call_log_open(void *memory, uint64_t bytes, struct strobe_call_log *out);

/* Finishes the writer's block, if it has one, and claims another. False: there is none to be had, and the writer has
 * none; whoever wanted to tell an entry counts it as refused. A writer that was left in the middle of it (by a jump out
 * of a signal handler) may be used again: it is as after a death, and loses at most the block it was taking. `thread`:
 * index of the calling thread, below account_count. Any context; lock-free (explored: calls/lap, calls/turns,
 * calls/frozen). */
bool strobe_call_refill(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread);

/* Finishes the writer's block. At the end of its thread. */
void strobe_call_finish(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread);

/* Counts entries that were not taken. Any context. */
void strobe_call_refuse(const struct strobe_call_log *log, uint32_t thread, uint64_t entries);

/* Puts an entry where the writer has room for one (next != end). `word` is not 0. Its thread. */
static inline void strobe_call_put(struct strobe_call_writer *w, uint64_t ticks, uint64_t word)
{
    struct strobe_call_entry *e = w->next;
    strobe_store_relaxed(&e->ticks, ticks);
    strobe_store_release(&e->word, word);
    w->next = e + 1;
}

/* A block as it was found. */
struct strobe_call_copy {
    uint64_t ticket;                   /* grows from block to block of one writer */
    uint32_t thread;                   /* below account_count */
    uint32_t count;
    bool open;
    struct { uint64_t ticks, word; } entry[STROBE_CALL_ENTRIES];
};

enum strobe_call_look {
    STROBE_CALLS_EMPTY,                /* never used */
    STROBE_CALLS_THERE,                /* *out is whole */
    STROBE_CALLS_TAKEN,                /* being taken from one owner by the next: what it held is lost */
    STROBE_CALLS_DAMAGED,              /* holds what no writer writes */
};

/* Looks at block `index`, below block_count, also while it is written. Stops no writer. Any thread; explored:
 * calls/look, calls/turns. */
enum strobe_call_look strobe_call_look(const struct strobe_call_log *log, uint32_t index,
                                       struct strobe_call_copy *out);

#endif
