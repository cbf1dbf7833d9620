/* A clock of one word that only grows, and a ring with one writer whose positions only grow.
 *
 * Clock word: ms << 1 | still. Ticks move the word on by compare-and-swap unless the clock stands still. The log's
 * thread sets the word when a message begins or ends. Each stores the later of the word's time and its own. A tick that
 * was under way when the last message ended finds the word changed and the clock standing still. The word publishes no
 * other data, so it needs no memory order (explored: matrix/clock, matrix/freeze).
 *
 * Ring: position p is in slot p % slot_count. Only the log's thread writes. It stores the slot (release) and then
 * `written` = p + 1 (release). A reader
 *
 *   loads `written` (acquire)        sees all entries before that position
 *   copies slots (relaxed)
 *   fence (acquire), loads again     if a copied word belongs to a newer entry, written at position q, the release of
 *                                    that slot publishes that `written` was q before, and the reader finds at least q
 *
 * The entry that is being written at `written` = q uses the slot of q - slot_count. This entry is older than the
 * slot_count - 1 entries that are kept. All positions >= q - (slot_count - 1) are therefore unchanged (explored:
 * matrix/copy, matrix/wrap).
 *
 * State: one word. The log's thread moves it from DEFAULT to READY; other threads make the transitions in the header.
 * Each transition is a compare-and-swap. The state publishes no other data, so it needs no memory order. An entry that
 * is under way when the log is stopped is written.
 *
 * No thread waits for another. Without ticks the clock stands still. A reader writes nothing. When the log's thread
 * stops in the middle of an entry, a reader finds all entries before it. */
#include "engine/method/matrix/matrix_log.h"

void strobe_matrix_clock_open(struct strobe_matrix_clock *c, uint64_t now_ns, bool freezes)
{
    c->base_ns = now_ns;
    c->freezes = freezes;
    strobe_store_relaxed(&c->word, 0);
}

static uint64_t matrix_elapsed_ms(const struct strobe_matrix_clock *c, uint64_t now_ns)
{
    uint64_t ms = now_ns > c->base_ns ? (now_ns - c->base_ns) / 1000000 : 0;
    return ms < STROBE_MATRIX_MS_MAX ? ms : STROBE_MATRIX_MS_MAX;
}

void strobe_matrix_clock_tick(struct strobe_matrix_clock *c, uint64_t now_ns)
{
    uint64_t now = matrix_elapsed_ms(c, now_ns) << 1, was = strobe_load_relaxed(&c->word);
    while (!(was & 1) && was < now && !strobe_cas_relaxed(&c->word, &was, now))
        ;
}

/* Sets the clock at a message's begin or end. By the log's thread. */
static void matrix_set_clock(struct strobe_matrix_clock *c, uint64_t now_ns, bool still)
{
    uint64_t now = matrix_elapsed_ms(c, now_ns), was = strobe_load_relaxed(&c->word), next;
    do
        next = (was >> 1 > now ? was >> 1 : now) << 1 | (still && c->freezes);
    while (!strobe_cas_relaxed(&c->word, &was, next));
}

size_t strobe_matrix_log_bytes(uint32_t capacity)
{
    return ((size_t)capacity + 1) * sizeof(strobe_a64);
}

enum strobe_status strobe_matrix_log_open(struct strobe_matrix_log *log, void *memory, size_t bytes, uint32_t capacity,
                                          struct strobe_matrix_clock *clock)
{
    if (!capacity || capacity > STROBE_MATRIX_ENTRIES_MAX || bytes < strobe_matrix_log_bytes(capacity))
        return STROBE_BAD_INPUT;
    *log = (struct strobe_matrix_log){.entries = memory,
                                      .clock = clock,
                                      .slot_count = capacity + 1,
                                      .lap_end = capacity + 1,
                                      .lap_address = (uintptr_t)memory};
    log->release_at_ms = strobe_matrix_clock_ms(clock) + STROBE_MATRIX_RELEASE_MS;
    strobe_store_relaxed(&log->state, STROBE_MATRIX_DEFAULT);
    return STROBE_OK;
}

/* ---- writing */

static void matrix_put_entry(struct strobe_matrix_log *log, uint64_t enter, uint32_t id)
{
    uint64_t position = strobe_load_relaxed(&log->written);
    if (position == log->lap_end) {
        log->lap_end += log->slot_count;
        log->lap_address = (uintptr_t)log->entries - (uintptr_t)position * sizeof *log->entries;
    }
    strobe_store_release((strobe_a64 *)(log->lap_address + (uintptr_t)position * sizeof *log->entries),
                         strobe_matrix_entry(enter, id, strobe_matrix_clock_ms(log->clock)));
    strobe_store_release(&log->written, position + 1);
}

/* Returns whether the log takes an entry now. The first enter makes a log READY. */
static bool matrix_takes_entry(struct strobe_matrix_log *log, uint64_t enter)
{
    uint32_t state = strobe_load_relaxed(&log->state);
    if (state == STROBE_MATRIX_DEFAULT && enter) {
        strobe_store_relaxed(&log->expire_at_ms, strobe_matrix_clock_ms(log->clock) + STROBE_MATRIX_EXPIRE_MS);
        if (strobe_cas_relaxed(&log->state, &state, STROBE_MATRIX_READY))
            state = STROBE_MATRIX_READY;
    }
    if (state >= STROBE_MATRIX_DEFAULT)
        return true;
    strobe_bump(&log->refused_stopped, 1);
    return false;
}

void strobe_matrix_put_slow(struct strobe_matrix_log *log, uint64_t enter, uint32_t id)
{
    if (!id || id > STROBE_MATRIX_ID_MAX)
        strobe_bump(&log->refused_ids, 1);
    else if (matrix_takes_entry(log, enter))
        matrix_put_entry(log, enter, id);
}

void strobe_matrix_message_begin(struct strobe_matrix_log *log, uint64_t now_ns)
{
    log->nested++;
    matrix_set_clock(log->clock, now_ns, false);
    if (matrix_takes_entry(log, STROBE_MATRIX_ENTER))
        matrix_put_entry(log, STROBE_MATRIX_ENTER, STROBE_MATRIX_DISPATCH);
}

void strobe_matrix_message_end(struct strobe_matrix_log *log, uint64_t now_ns)
{
    if (!log->nested) {
        strobe_bump(&log->unmatched_ends, 1);
        return;
    }
    matrix_set_clock(log->clock, now_ns, false);
    if (matrix_takes_entry(log, 0))
        matrix_put_entry(log, 0, STROBE_MATRIX_DISPATCH);
    if (!--log->nested)
        matrix_set_clock(log->clock, now_ns, true);
}

/* ---- states */

/* Moves to state `to` from any state in `from`, a set of bits. */
static bool matrix_change_state(struct strobe_matrix_log *log, uint32_t from, enum strobe_matrix_state to)
{
    uint32_t was = strobe_load_relaxed(&log->state);
    while (from >> was & 1)
        if (strobe_cas_relaxed(&log->state, &was, to))
            return true;
    return false;
}

enum strobe_status strobe_matrix_start(struct strobe_matrix_log *log)
{
    return matrix_change_state(log,
                               1u << STROBE_MATRIX_READY | 1u << STROBE_MATRIX_STOPPED | 1u << STROBE_MATRIX_EXPIRED,
                               STROBE_MATRIX_STARTED)
               ? STROBE_OK
               : STROBE_UNSUPPORTED;
}

enum strobe_status strobe_matrix_stop(struct strobe_matrix_log *log)
{
    return matrix_change_state(log, 1u << STROBE_MATRIX_STARTED, STROBE_MATRIX_STOPPED) ? STROBE_OK
                                                                                        : STROBE_UNSUPPORTED;
}

void strobe_matrix_due(struct strobe_matrix_log *log, uint64_t now_ns)
{
    uint64_t now = matrix_elapsed_ms(log->clock, now_ns), expire = strobe_load_relaxed(&log->expire_at_ms);
    if (!log->expire_done && expire && now >= expire) {
        log->expire_done = true;
        matrix_change_state(log, 1u << STROBE_MATRIX_DEFAULT | 1u << STROBE_MATRIX_READY, STROBE_MATRIX_EXPIRED);
    }
    if (!log->release_done && now >= log->release_at_ms) {
        log->release_done = true;
        matrix_change_state(log, ~(1u << STROBE_MATRIX_STARTED), STROBE_MATRIX_RELEASED);
    }
}

enum strobe_matrix_state strobe_matrix_state(struct strobe_matrix_log *log)
{
    return (enum strobe_matrix_state)strobe_load_relaxed(&log->state);
}

/* ---- reading */

struct strobe_matrix_mark strobe_matrix_mark(struct strobe_matrix_log *log)
{
    return (struct strobe_matrix_mark){.position = strobe_load_relaxed(&log->written)};
}

void strobe_matrix_release(struct strobe_matrix_mark *mark)
{
    mark->released = true;
}

/* Returns the first position that is kept when `written` entries were written. */
static uint64_t matrix_oldest_kept(const struct strobe_matrix_log *log, uint64_t written)
{
    uint64_t kept = log->slot_count - 1;
    return written > kept ? written - kept : 0;
}

/* Copies positions from .. to - 1. Returns the first position whose copy is certainly whole. */
static uint64_t matrix_copy_slots(struct strobe_matrix_log *log, uint64_t from, uint64_t to, uint64_t *out)
{
    uint32_t slot = (uint32_t)(from % log->slot_count);
    for (uint64_t position = from; position < to; position++) {
        *out++ = strobe_load_relaxed(&log->entries[slot]);
        if (++slot == log->slot_count)
            slot = 0;
    }
    strobe_fence_acquire();
    return matrix_oldest_kept(log, strobe_load_relaxed(&log->written));
}

enum strobe_status strobe_matrix_copy(struct strobe_matrix_log *log, const struct strobe_matrix_mark *from,
                                      const struct strobe_matrix_mark *to, uint64_t *out, size_t capacity,
                                      size_t *count)
{
    uint64_t written = strobe_load_acquire(&log->written), end = to ? to->position : written;
    *count = 0;
    if (strobe_matrix_state(log) == STROBE_MATRIX_RELEASED || from->released || (to && to->released) ||
        end < from->position)
        return STROBE_NO_ENTRY;
    if (from->position < matrix_oldest_kept(log, written))
        return STROBE_TRUNCATED;
    if (end - from->position > capacity) {
        *count = (size_t)(end - from->position);
        return STROBE_FULL;
    }
    if (from->position < matrix_copy_slots(log, from->position, end, out))
        return STROBE_TRUNCATED;
    *count = (size_t)(end - from->position);
    return STROBE_OK;
}

size_t strobe_matrix_copy_newest(struct strobe_matrix_log *log, uint64_t *out, size_t capacity)
{
    if (strobe_matrix_state(log) == STROBE_MATRIX_RELEASED)
        return 0;
    uint64_t written = strobe_load_acquire(&log->written), from = matrix_oldest_kept(log, written);
    if (written - from > capacity)
        from = written - capacity;
    uint64_t whole = matrix_copy_slots(log, from, written, out);
    if (whole <= from)
        return (size_t)(written - from);
    if (whole >= written)
        return 0;
    for (uint64_t i = whole; i < written; i++)
        out[i - whole] = out[i - from];
    return (size_t)(written - whole);
}
