#include "engine/backend/mach/threads.h"

#include "engine/base/mix.h"

#include <string.h>

/* States that a slot holds in place of a port; see the header. No port has these names. */
#define ENDED   MACH_PORT_NULL
#define LEFT    MACH_PORT_DEAD
#define CLAIMED ((mach_port_t)(MACH_PORT_DEAD - 1))

/* Value of `in_use`: the port in use was removed from its slot, so the sampler must release its right. No slot holds
 * this word. */
#define OWED UINT64_C(1)

enum { NO_SLOT = STROBE_MACH_TABLE_SLOTS };

static uint64_t word_of(uint32_t tid, mach_port_t port)
{
    return (uint64_t)tid << 32 | port;
}

static uint32_t tid_in(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static mach_port_t port_in(uint64_t word)
{
    return (mach_port_t)word;
}

static bool is_of(uint64_t word, uint32_t tid)
{
    return word && tid_in(word) == tid;
}

static bool has_port(uint64_t word)
{
    mach_port_t port = port_in(word);
    return port != ENDED && port != LEFT && port != CLAIMED;
}

/* Returns the i-th slot that a search for the thread reads. */
static uint32_t slot_at(uint32_t tid, uint32_t i)
{
    return ((uint32_t)strobe_mix64(tid) + i) & (STROBE_MACH_TABLE_SLOTS - 1);
}

static void release_right(mach_port_t port)
{
    mach_port_deallocate(mach_task_self(), port);
}

/* Releases the right of a word that the caller has removed from its slot, or leaves the release to the sampler when the
 * sampler uses the port. The fence pairs with that of strobe_mach_threads_use: either this function sees that the
 * sampler uses the port, or the sampler sees that the word was removed. */
static void give_back(struct strobe_mach_threads *t, uint64_t word)
{
    strobe_fence_seq_cst();
    uint64_t used = word;
    if (!strobe_cas_acq_rel(&t->in_use, &used, OWED))
        release_right(port_in(word));
}

/* Replaces the word of a slot. Returns false when the slot holds another word than `from`. */
static bool change(struct strobe_mach_threads *t, uint32_t slot, uint64_t from, uint64_t to)
{
    return strobe_cas_acq_rel(&t->at[slot], &from, to);
}

/* The slot of a thread, or else the first free slot for it; NO_SLOT when there is neither. */
struct place {
    uint32_t slot;
    bool known;    /* the slot has the thread's id */
    uint64_t word; /* the slot's word when it was read */
};

static struct place find_thread_place(const struct strobe_mach_threads *t, uint32_t tid)
{
    struct place room = {.slot = NO_SLOT};
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_PROBES; i++) {
        uint32_t slot = slot_at(tid, i);
        uint64_t there = strobe_load_acquire(&t->at[slot]);
        if (is_of(there, tid))
            return (struct place){slot, true, there};
        if (room.slot == NO_SLOT && port_in(there) == ENDED)
            room = (struct place){slot, false, there};
    }
    return room;
}

/* ---- enter */

/* Undoes a claim that a scan has made in another slot of the thread. STROBE_EXISTS: the scan has put the thread there.
 * Only a scan writes another slot. The fence pairs with that of put_found: either the scan sees slot `mine`, or this
 * function sees the scan's. */
static enum strobe_status undo_claims(struct strobe_mach_threads *t, uint32_t tid, uint32_t mine)
{
    strobe_fence_seq_cst();
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_PROBES; i++) {
        uint32_t slot = slot_at(tid, i);
        uint64_t there = strobe_load_acquire(&t->at[slot]);
        if (slot == mine || !is_of(there, tid) || change(t, slot, word_of(tid, CLAIMED), 0))
            continue;
        there = strobe_load_acquire(&t->at[slot]);
        if (is_of(there, tid) && has_port(there))
            return STROBE_EXISTS;
    }
    return STROBE_OK;
}

enum strobe_status strobe_mach_threads_put(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port)
{
    const uint64_t word = word_of(tid, port);
    if (port == MACH_PORT_NULL || port == MACH_PORT_DEAD)
        return STROBE_GONE;
    for (;;) {
        struct place p = find_thread_place(t, tid);
        if (p.slot == NO_SLOT || (p.known && port_in(p.word) != CLAIMED)) {
            release_right(port);
            return p.slot == NO_SLOT ? STROBE_FULL : has_port(p.word) ? STROBE_EXISTS : STROBE_GONE;
        }
        if (!change(t, p.slot, p.word, word))
            continue;
        enum strobe_status status = undo_claims(t, tid, p.slot);
        if (status != STROBE_OK && change(t, p.slot, word, 0))
            give_back(t, word);
        return status;
    }
}

/* Returns true when no slot except `mine` has a word of the thread. */
static bool is_only_slot(const struct strobe_mach_threads *t, uint32_t tid, uint32_t mine)
{
    bool alone = true;
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_PROBES; i++)
        alone &= slot_at(tid, i) == mine || !is_of(strobe_load_acquire(&t->at[slot_at(tid, i)]), tid);
    return alone;
}

/* Puts a thread that a scan has found. If the thread itself puts at the same time, the thread succeeds and the scan
 * withdraws. */
static enum strobe_status put_found(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port)
{
    const uint64_t claim = word_of(tid, CLAIMED);
    struct place p;
    enum strobe_status status = STROBE_EXISTS;
    do
        p = find_thread_place(t, tid);
    while (p.slot != NO_SLOT && !p.known && !change(t, p.slot, p.word, claim));
    if (p.slot == NO_SLOT)
        status = STROBE_FULL;
    if (p.slot != NO_SLOT && !p.known) {
        strobe_fence_seq_cst();
        bool alone = is_only_slot(t, tid, p.slot);
        if (change(t, p.slot, claim, alone ? word_of(tid, port) : 0) && alone)
            return STROBE_OK;
    }
    release_right(port);
    return status;
}

/* ---- leave */

/* Marks the thread as LEFT. Has no effect when the thread is in no slot and none is free. */
static void mark_left(struct strobe_mach_threads *t, uint32_t tid)
{
    for (;;) {
        struct place p = find_thread_place(t, tid);
        if (p.slot == NO_SLOT || (p.known && (port_in(p.word) == LEFT || port_in(p.word) == ENDED)))
            return;
        if (change(t, p.slot, p.word, word_of(tid, LEFT))) {
            if (p.known && has_port(p.word))
                give_back(t, p.word);
            return;
        }
    }
}

void strobe_mach_threads_drop(struct strobe_mach_threads *t, uint32_t tid)
{
    mark_left(t, tid);
    strobe_fence_seq_cst(); /* a scan that puts the thread now sees the mark, or this function sees the scan's slot */
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_PROBES; i++) {
        uint32_t slot = slot_at(tid, i);
        uint64_t there = strobe_load_acquire(&t->at[slot]);
        if (!is_of(there, tid) || change(t, slot, word_of(tid, CLAIMED), 0))
            continue;
        there = strobe_load_acquire(&t->at[slot]);
        if (is_of(there, tid) && has_port(there) && change(t, slot, there, 0))
            give_back(t, there);
    }
}

void strobe_mach_threads_clear(struct strobe_mach_threads *t)
{
    for (uint32_t slot = 0; slot < STROBE_MACH_TABLE_SLOTS; slot++) {
        uint64_t there = strobe_load_acquire(&t->at[slot]);
        if (has_port(there))
            release_right(port_in(there));
        strobe_store_relaxed(&t->at[slot], 0);
    }
}

/* ---- use */

enum strobe_status strobe_mach_threads_use(struct strobe_mach_threads *t, uint32_t tid, mach_port_t *port)
{
    enum strobe_status answer = STROBE_NO_ENTRY;
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_PROBES; i++) {
        const strobe_a64 *at = &t->at[slot_at(tid, i)];
        uint64_t there = strobe_load_acquire(at);
        if (!is_of(there, tid))
            continue;
        if (port_in(there) == ENDED)
            answer = STROBE_GONE;
        if (!has_port(there))
            continue;
        t->used = port_in(there);
        strobe_store_relaxed(&t->in_use, there);
        strobe_fence_seq_cst();
        if (strobe_load_acquire(at) == there) {
            *port = port_in(there);
            return STROBE_OK;
        }
        strobe_mach_threads_done(t);
    }
    return answer;
}

void strobe_mach_threads_done(struct strobe_mach_threads *t)
{
    if (strobe_exchange_acq_rel(&t->in_use, 0) == OWED)
        release_right(t->used);
}

/* ---- scan */

static bool read_tid(thread_act_t port, uint32_t *tid)
{
    thread_identifier_info_data_t info;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    if (thread_info(port, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS)
        return false;
    *tid = strobe_mach_tid(info.thread_id);
    return true;
}

static void read_thread_name(thread_act_t port, char *name, size_t bytes)
{
    thread_extended_info_data_t info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    memset(name, 0, bytes);
    if (thread_info(port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count) == KERN_SUCCESS)
        memcpy(name, info.pth_name, bytes - 1);
}

/* Returns the entry that caches the slot of a port. */
static uint32_t *slot_hint_of(struct strobe_mach_threads *t, mach_port_t port)
{
    return &t->slot_of_port[(uint32_t)strobe_mix64(port) & (STROBE_MACH_TABLE_SLOTS - 1)];
}

/* Marks the port's thread as seen when the table contains the port. The table holds a right for the port, so the port
 * still names the same thread. */
static bool mark_known_seen(struct strobe_mach_threads *t, mach_port_t port)
{
    uint32_t slot = *slot_hint_of(t, port) - 1;
    if (slot >= STROBE_MACH_TABLE_SLOTS || port_in(strobe_load_acquire(&t->at[slot])) != port)
        return false;
    t->seen[slot] = t->looks;
    return true;
}

static void mark_seen(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port)
{
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_PROBES; i++) {
        uint32_t slot = slot_at(tid, i);
        uint64_t there = strobe_load_acquire(&t->at[slot]);
        if (!is_of(there, tid))
            continue;
        t->seen[slot] = t->looks;
        if (port_in(there) == port)
            *slot_hint_of(t, port) = slot + 1;
    }
}

/* Handles one port of the list. Takes over its right. */
static void enter_listed(struct strobe_mach_threads *t, mach_port_t port, bool first, strobe_mach_found_fn *found,
                         void *ctx)
{
    struct strobe_mach_found f = {.port = port};
    if (mark_known_seen(t, port) || !read_tid(port, &f.tid)) {
        release_right(port);
        return;
    }
    if (first && t->looks == 1)
        t->main_tid = f.tid;
    f.is_main = f.tid == t->main_tid;
    if (!find_thread_place(t, f.tid).known)
        read_thread_name(port, f.name, sizeof f.name);
    enum strobe_status put = put_found(t, f.tid, port);
    mark_seen(t, f.tid, port);
    if (put == STROBE_OK)
        found(ctx, &f);
}

/* Retires the threads that two scans in a row did not find; these have ended. One miss is not enough, because a thread
 * may start after the list was made. */
static void retire_missing(struct strobe_mach_threads *t)
{
    for (uint32_t slot = 0; slot < STROBE_MACH_TABLE_SLOTS; slot++) {
        uint64_t there = strobe_load_acquire(&t->at[slot]);
        bool missing = port_in(there) != ENDED && t->seen[slot] != t->looks;
        if (missing && t->missed[slot] == tid_in(there)) {
            if (change(t, slot, there, word_of(tid_in(there), ENDED)) && has_port(there))
                give_back(t, there);
            missing = false;
        }
        t->missed[slot] = missing ? tid_in(there) : 0;
    }
}

void strobe_mach_threads_look(struct strobe_mach_threads *t, strobe_mach_found_fn *found, void *ctx)
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    if (task_threads(mach_task_self(), &list, &count) != KERN_SUCCESS)
        return;
    t->looks++;
    for (mach_msg_type_number_t i = 0; i < count; i++)
        enter_listed(t, list[i], i == 0, found, ctx);
    vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof *list);
    retire_missing(t);
}
