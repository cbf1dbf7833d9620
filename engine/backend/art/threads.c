#include "engine/backend/art/threads.h"

#include "engine/base/mix.h"

#include <stdbool.h>
#include <stddef.h>

enum { MOST_USED = STROBE_ART_TABLE_THREADS / 2, ID_BITS = 16, ID_MASK = (1 << ID_BITS) - 1 };

/* Returns the i-th slot to search for a thread. A free slot ends a search. */
static uint32_t table_place(uint32_t tid, uint32_t i)
{
    return ((uint32_t)strobe_mix64(tid) + i) & (STROBE_ART_TABLE_THREADS - 1);
}

static uint32_t find_table_slot(const struct strobe_art_threads *t, uint32_t tid)
{
    for (uint32_t i = 0; i < STROBE_ART_TABLE_THREADS; i++) {
        uint32_t at = table_place(tid, i), there = strobe_load_relaxed(&t->at[at].tid);
        if (there == tid)
            return at;
        if (!there)
            break;
    }
    return STROBE_ART_TABLE_THREADS;
}

/* Returns the thread's slot, and takes one if it has none. The tid publishes no other data, so relaxed order is enough.
 */
static struct strobe_art_thread *take_table_slot(struct strobe_art_threads *t, uint32_t tid)
{
    uint32_t known = find_table_slot(t, tid);
    if (known < STROBE_ART_TABLE_THREADS)
        return &t->at[known];
    if (strobe_add_relaxed(&t->used, 1u) < MOST_USED)
        for (uint32_t i = 0; i < STROBE_ART_TABLE_THREADS; i++) {
            struct strobe_art_thread *s = &t->at[table_place(tid, i)];
            uint32_t there = 0;
            if (strobe_cas_relaxed(&s->tid, &there, tid))
                return s;
            if (there == tid) {
                strobe_add_relaxed(&t->used, ~0u); /* another thread took it for this tid */
                return s;
            }
        }
    strobe_add_relaxed(&t->used, ~0u);
    return NULL;
}

/* Generations wrap around. 0 is the generation of a slot that was never used. */
static uint32_t next_generation(uint32_t is)
{
    uint32_t generation = (is >> ID_BITS) + 1;
    return (generation <= UINT16_MAX ? generation : 1) << ID_BITS;
}

enum strobe_status strobe_art_threads_put(struct strobe_art_threads *t, uint32_t tid, void *thread,
                                          uint32_t thin_lock_id)
{
    struct strobe_art_thread *s = take_table_slot(t, tid);
    if (!s)
        return STROBE_FULL;
    uint64_t pointer = (uint64_t)(uintptr_t)thread;
    uint32_t is = strobe_load_acquire(&s->is);
    if ((is & ID_MASK) == thin_lock_id && strobe_load_relaxed(&s->thread) == pointer)
        return STROBE_OK;
    strobe_store_relaxed(&s->is, is & ~(uint32_t)ID_MASK);
    strobe_fence_release(); /* a reader that sees the new pointer also sees that the old id is gone (a seqlock, see
                               ring.h) */
    strobe_store_relaxed(&s->thread, pointer);
    strobe_store_release(&s->is, next_generation(is) | thin_lock_id);
    return STROBE_OK;
}

enum strobe_status strobe_art_threads_get(const struct strobe_art_threads *t, uint32_t tid, void **thread,
                                          uint32_t *thin_lock_id)
{
    uint32_t at = find_table_slot(t, tid);
    if (at == STROBE_ART_TABLE_THREADS)
        return STROBE_NO_ENTRY;
    const struct strobe_art_thread *s = &t->at[at];
    uint32_t is = strobe_load_acquire(&s->is);
    if (!(is & ID_MASK))
        return is ? STROBE_GONE : STROBE_NO_ENTRY;
    uint64_t pointer = strobe_load_relaxed(&s->thread);
    strobe_fence_acquire();
    if (strobe_load_relaxed(&s->is) != is)
        return STROBE_GONE; /* the thread has ended, and another thread has its tid already */
    *thread = (void *)(uintptr_t)pointer;
    *thin_lock_id = is & ID_MASK;
    return STROBE_OK;
}

uint32_t strobe_art_threads_find(const struct strobe_art_threads *t, const void *thread)
{
    for (uint32_t i = 0; i < STROBE_ART_TABLE_THREADS; i++) {
        uint32_t tid = strobe_load_relaxed(&t->at[i].tid), unused;
        void *there;
        if (tid && strobe_load_relaxed(&t->at[i].thread) == (uint64_t)(uintptr_t)thread &&
            strobe_art_threads_get(t, tid, &there, &unused) == STROBE_OK && there == thread)
            return tid;
    }
    return 0;
}

void strobe_art_threads_end(struct strobe_art_threads *t, uint32_t tid)
{
    uint32_t at = find_table_slot(t, tid);
    if (at < STROBE_ART_TABLE_THREADS)
        strobe_store_relaxed(&t->at[at].is, strobe_load_relaxed(&t->at[at].is) & ~(uint32_t)ID_MASK);
}
