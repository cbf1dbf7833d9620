/* Call log: writers claim blocks by compare-and-swap, and only a block's owner fills it.
 *
 * A block's state word is stamp << 1 | open:
 *
 *   FREE       0
 *   OPEN       the stamp is the owner's ticket: 1 + the value that the owner drew from the log's cursor. No ticket is
 *              drawn twice
 *   FINISHED   the stamp is the cursor's value at the time of finishing, never less than the ticket
 *
 * A writer whose draw is older than the stamp that it finds was overtaken, and draws again. The stamps of one block
 * therefore only grow. The owner clears its block and then stores its ticket in the block: from then on the block's
 * entries are the owner's.
 *
 * Memory orders needed:
 *   claim (acquire)       The new owner sees all that the previous owner wrote before it finished the block (release).
 *                         It needs the number of entries that it overwrites. Its own stores come after those of the
 *                         previous owner. Explored: calls/lap, calls/turns
 *   claim, fence (release), clearing
 *                         A reader that sees a cleared word or a later one also sees the claim
 *   ticket (release)      A reader that sees it (acquire) sees the words cleared. Explored: calls/turns, calls/look
 *   word (release)        A reader that sees it (acquire) sees its time and all earlier entries. Explored: calls/look
 *   state (acquire), words, fence (acquire), state again
 *                         The reader's half of all these: a copy never mixes entries of two owners
 *
 * No thread delays another. A thread that stops or dies withholds its block. A thread that stops or dies during a claim
 * also loses the entries which that block held. A writer that claims skips such blocks and gives up after a fixed
 * number of them. */
#include "engine/store/call_log.h"

enum {
    PAGE_BYTES = 4096,
#ifdef STROBE_SMALL
    POLITE_TRIES = 1,
    LAST_TRIES = 2,
    LOOK_TRIES = 2,
#else
    POLITE_TRIES = 8, /* first round: blocks tried that must have been finished half a lap ago or earlier */
    LAST_TRIES = 64,
    LOOK_TRIES = 4,
#endif
};

/* Callers ensure two limits that nothing here checks: an entry's word is not 0, and a thread's index is below
 * account_count. */
static uint64_t call_log_whole_pages(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

static uint64_t blocks_at(uint32_t account_count)
{
    return PAGE_BYTES + call_log_whole_pages(account_count * (uint64_t)sizeof(struct strobe_call_account));
}

uint64_t strobe_call_log_bytes(uint32_t block_count, uint32_t account_count)
{
    return blocks_at(account_count) + call_log_whole_pages(block_count * (uint64_t)sizeof(struct strobe_call_block));
}

void strobe_call_log_create(void *memory, uint32_t block_count, uint32_t account_count, bool keep_oldest)
{
    struct strobe_call_head *head = memory;
    head->block_count = block_count;
    head->account_count = account_count;
    head->keep_oldest = keep_oldest;
}

enum strobe_status strobe_call_log_open(void *memory, uint64_t bytes, struct strobe_call_log *out)
{
    struct strobe_call_head *head = memory;
    *out = (struct strobe_call_log){0};
    if (bytes < sizeof *head || !head->block_count || head->block_count > STROBE_CALL_BLOCKS_MAX ||
        !head->account_count || head->keep_oldest > 1 || head->unused ||
        strobe_call_log_bytes(head->block_count, head->account_count) > bytes)
        return STROBE_BAD_INPUT;
    char *at = memory;
    *out = (struct strobe_call_log){head, (struct strobe_call_account *)(void *)(at + PAGE_BYTES),
                                    (struct strobe_call_block *)(void *)(at + blocks_at(head->account_count))};
    return STROBE_OK;
}

/* ---- writing */

static uint32_t call_log_count_filled(const struct strobe_call_block *b)
{
    uint32_t n = 0;
    while (n < STROBE_CALL_ENTRIES && strobe_load_relaxed(&b->entry[n].word))
        n++;
    return n;
}

/* Gives up the writer's block. Its entries are counted by call_log_count_finished.
 *
 * A writer that was interrupted during a claim and never resumed it may name a block that it did not get or has not
 * cleared. The state or the ticket in the block then differs from the writer's ticket. Such a block is left as it is:
 * it belongs to another owner, or stays withheld. */
static void call_log_finish_block(const struct strobe_call_log *log, struct strobe_call_writer *w)
{
    uint64_t open = w->ticket << 1 | 1;
    if (!w->block)
        return;
    struct strobe_call_block *b = &log->blocks[w->block - 1];
    if (strobe_load_relaxed(&b->state) == open && strobe_load_relaxed(&b->ticket) == w->ticket) {
        uint32_t used = w->next == w->end && w->end ? STROBE_CALL_ENTRIES : call_log_count_filled(b);
        strobe_store_relaxed(&b->used, used);
        w->uncounted = used; /* before the block is finished: a later call counts the entries if this one is left */
        strobe_fence_signal();
        uint64_t now = strobe_load_relaxed(&log->head->next);
        if (!strobe_cas_release(&b->state, &open, now << 1))
            w->uncounted = 0;
        strobe_fence_signal();
    }
    w->next = w->end = NULL;
    w->block = 0;
}

static void call_log_count_finished(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread)
{
    if (!w->uncounted)
        return;
    strobe_add_relaxed(&log->accounts[thread].told, w->uncounted);
    strobe_fence_signal();
    w->uncounted = 0;
}

void strobe_call_finish(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread)
{
    call_log_finish_block(log, w);
    call_log_count_finished(log, w, thread);
}

/* Claims the block when its state allows it: free, or finished at least `min_age` draws before `draw`. */
static bool call_log_take_block(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread,
                                uint32_t index, uint64_t draw, uint64_t min_age)
{
    struct strobe_call_block *b = &log->blocks[index];
    uint64_t found = strobe_load_relaxed(&b->state);
    if (found & 1 || draw < found >> 1 || (found && draw - (found >> 1) < min_age))
        return false;
    w->ticket = draw + 1;
    w->block = index + 1;
    strobe_fence_signal();
    if (!strobe_cas_acquire(&b->state, &found, (draw + 1) << 1 | 1)) {
        w->block = 0;
        return false;
    }
    if (found) {
        strobe_add_relaxed(&log->accounts[thread].overwrote, strobe_load_relaxed(&b->used));
        strobe_fence_release();
        for (uint32_t i = 0; i < STROBE_CALL_ENTRIES; i++)
            strobe_store_relaxed(&b->entry[i].word, 0);
    }
    call_log_count_finished(log, w, thread); /* the block shows an interruption here: it has no ticket yet */
    strobe_store_relaxed(&b->thread, thread);
    strobe_store_release(&b->ticket, draw + 1);
    strobe_fence_signal(); /* a writer with a free entry owns its block */
    w->end = b->entry + STROBE_CALL_ENTRIES;
    w->next = b->entry;
    return true;
}

static bool call_log_claim_block(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread,
                                 uint32_t tries, uint64_t min_age)
{
    struct strobe_call_head *head = log->head;
    for (uint32_t i = 0; i < tries; i++) {
        if (head->keep_oldest && strobe_load_relaxed(&head->next) >= head->block_count)
            return false;
        uint64_t draw = strobe_add_relaxed(&head->next, 1);
        if (head->keep_oldest && draw >= head->block_count)
            return false;
        if (call_log_take_block(log, w, thread, (uint32_t)(draw % head->block_count), draw, min_age))
            return true;
    }
    return false;
}

/* A slow thread can finish its block just before the cursor reaches that block again. The first round therefore skips
 * blocks finished less than half a lap ago. The second round accepts them when the first found no other block. */
bool strobe_call_refill(const struct strobe_call_log *log, struct strobe_call_writer *w, uint32_t thread)
{
    call_log_finish_block(log, w);
    bool claimed = call_log_claim_block(log, w, thread, POLITE_TRIES, log->head->block_count / 2) ||
                   call_log_claim_block(log, w, thread, LAST_TRIES, 0);
    if (!claimed)
        call_log_count_finished(log, w, thread);
    return claimed;
}

void strobe_call_repair(const struct strobe_call_log *log, struct strobe_call_writer *w)
{
    const struct strobe_call_block *b = w->block ? &log->blocks[w->block - 1] : NULL;
    if (!b || w->end != b->entry + STROBE_CALL_ENTRIES || w->next < b->entry || w->next > w->end)
        w->next = w->end = NULL;
}

void strobe_call_refuse(const struct strobe_call_log *log, uint32_t thread, uint64_t entries)
{
    strobe_add_relaxed(&log->accounts[thread].refused, entries);
}

/* ---- reading */

static uint32_t copy_entries(const struct strobe_call_block *b, uint32_t most, struct strobe_call_copy *out)
{
    uint32_t n = 0;
    for (; n < most; n++) {
        uint64_t word = strobe_load_acquire(&b->entry[n].word);
        if (!word)
            break;
        out->entry[n].word = word;
        out->entry[n].ticks = strobe_load_relaxed(&b->entry[n].ticks);
    }
    return n;
}

enum strobe_call_look strobe_call_look(const struct strobe_call_log *log, uint32_t index, struct strobe_call_copy *out)
{
    const struct strobe_call_block *b = &log->blocks[index];
    for (uint32_t i = 0; i < LOOK_TRIES; i++) {
        uint64_t state = strobe_load_acquire(&b->state);
        if (!state)
            return STROBE_CALLS_EMPTY;
        uint64_t ticket = strobe_load_acquire(&b->ticket), thread = strobe_load_relaxed(&b->thread);
        uint64_t used = strobe_load_relaxed(&b->used);
        out->open = state & 1;
        if (out->open && ticket != state >> 1)
            return STROBE_CALLS_TAKEN;
        out->count =
            copy_entries(b, out->open || used > STROBE_CALL_ENTRIES ? STROBE_CALL_ENTRIES : (uint32_t)used, out);
        strobe_fence_acquire();
        if (strobe_load_relaxed(&b->state) != state)
            continue;
        out->ticket = ticket;
        out->thread = (uint32_t)thread;
        bool whole = thread < log->head->account_count && (out->open || (used == out->count && ticket <= state >> 1));
        return whole ? STROBE_CALLS_THERE : STROBE_CALLS_DAMAGED;
    }
    return STROBE_CALLS_TAKEN;
}
