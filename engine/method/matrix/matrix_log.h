/* Matrix's packed method log: a ring of words, one for each time that a method of one thread is entered or left, with
 * a clock that another thread keeps. Nothing here starts a thread or asks the system for the time: who hosts the log
 * ticks its clock, from a real thread or a virtual one, each STROBE_MATRIX_TICK_MS.
 *
 * A log belongs to one thread, which alone enters, leaves, begins and ends messages and marks; not from a signal
 * handler that interrupts it there. Others may tick, start, stop, look, and copy while it writes: both the clock and
 * the ring are lock-free, and a copy is validated (explored: matrix/copy, matrix/wrap, matrix/clock, matrix/freeze,
 * matrix/release).
 *
 * Clock: ms since it was opened. Exact when a message begins and ends, else as old as the last tick; between messages
 * it stands still, if it is told to (main thread's alone: other threads work then, too). It never goes back, whatever
 * the host's clock does; a tick that never comes leaves calls without duration, and blocks nobody (Matrix #477).
 *
 * Marks say from where on a stretch of the log is wanted: all entries after the mark. Positions are counted from the
 * log's beginning and not reused, so a mark knows by itself whether any of its stretch was overwritten.
 *
 * What upstream does otherwise, and wrong: records are kept in a list of ring indices of which only the first is
 * looked at, so that a younger one hides an older one that was overwritten, whose copy then has entries that are not
 * its own; a record includes the entry before it; a copy of one entry is empty; negative ids are written as entries of
 * method 0xFFFFF; an exit before the first enter carries the absolute uptime; a log that nobody started calls itself
 * alive.
 *
 * Source: Tencent Matrix 3b8293bd, AppMethodBeat, as studied. Capture half: no heap, no locks, no system calls. */
#ifndef STROBE_METHOD_MATRIX_MATRIX_LOG_H
#define STROBE_METHOD_MATRIX_MATRIX_LOG_H

#include "engine/base/atomic.h"
#include "engine/base/hint.h"
#include "engine/base/status.h"
#include "engine/method/matrix/matrix_entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STROBE_MATRIX_ENTRIES_DEFAULT = 1000000,
    STROBE_MATRIX_ENTRIES_MAX = 1 << 28,
    STROBE_MATRIX_TICK_MS = 5,
    STROBE_MATRIX_EXPIRE_MS = 10000,  /* a log that nobody starts stops so long after its first method, */
    STROBE_MATRIX_RELEASE_MS = 10000, /* and gives its memory up so long after it was opened */
};

/* ---- the clock */

struct strobe_matrix_clock {
    strobe_a64 word; /* ms << 1 | it stands still */
    uint64_t base_ns;
    bool freezes;
};

/* now_ns: any clock that goes on, the same for all calls. `freezes`: stands still between messages. Start only. */
void strobe_matrix_clock_open(struct strobe_matrix_clock *c, uint64_t now_ns, bool freezes);

/* To be called each STROBE_MATRIX_TICK_MS, by any threads. Nothing happens between messages. */
void strobe_matrix_clock_tick(struct strobe_matrix_clock *c, uint64_t now_ns);

/* What an entry would get now, ms. Any context. */
static inline uint64_t strobe_matrix_clock_ms(struct strobe_matrix_clock *c)
{
    return strobe_load_relaxed(&c->word) >> 1;
}

/* ---- the log */

/* Who records: READY and STARTED, and DEFAULT, which the first enter makes READY.
 *
 *   DEFAULT -> READY                       the first enter
 *   READY, STOPPED, EXPIRED -> STARTED     start
 *   STARTED -> STOPPED                     stop
 *   DEFAULT, READY -> EXPIRED              nobody has started it STROBE_MATRIX_EXPIRE_MS after the first enter
 *   all but STARTED -> RELEASED            nor STROBE_MATRIX_RELEASE_MS after it was opened: its memory isn't touched
 *                                          any more once its thread has made its next call. Final */
enum strobe_matrix_state {
    STROBE_MATRIX_RELEASED,
    STROBE_MATRIX_EXPIRED,
    STROBE_MATRIX_STOPPED,
    STROBE_MATRIX_DEFAULT,
    STROBE_MATRIX_READY,
    STROBE_MATRIX_STARTED,
};

struct strobe_matrix_log {
    strobe_a64 *entries; /* slot_count of them: one more than are kept, for the one being written */
    struct strobe_matrix_clock *clock;
    strobe_a64 written;    /* entries since it was opened */
    uint64_t lap_end;      /* what `written` will be when all slots have been written once more */
    uintptr_t lap_address; /* of position 0, were the ring as long as that */
    uint32_t slot_count;
    strobe_a32 state;        /* enum strobe_matrix_state */
    uint32_t nested;         /* messages that have begun and not ended */
    strobe_a64 expire_at_ms; /* 0 = no method yet */
    uint64_t release_at_ms;
    bool expire_done, release_done; /* of strobe_matrix_due */
    strobe_a64 refused_ids;         /* calls that were not written: their id is none */
    strobe_a64 refused_stopped;     /* it was not recording */
    strobe_a64 unmatched_ends;      /* messages that ended and had not begun */
};

/* Bytes of memory for a log that keeps `capacity` entries, 1 .. STROBE_MATRIX_ENTRIES_MAX. Any context. */
size_t strobe_matrix_log_bytes(uint32_t capacity);

/* Opens a log in `memory`, 8-byte aligned, of strobe_matrix_log_bytes(capacity). STROBE_BAD_INPUT: a capacity that is
 * none, or too little memory. Start only. */
enum strobe_status strobe_matrix_log_open(struct strobe_matrix_log *log, void *memory, size_t bytes, uint32_t capacity,
                                          struct strobe_matrix_clock *clock);

/* What enter and leave do when there is anything to see to; `enter` is STROBE_MATRIX_ENTER or 0. */
void strobe_matrix_put_slowly(struct strobe_matrix_log *log, uint64_t enter, uint32_t id);

static STROBE_ALWAYS_INLINE void strobe_matrix_put(struct strobe_matrix_log *log, uint64_t enter, uint32_t id)
{
    uint64_t position = strobe_load_relaxed(&log->written);
    if (strobe_unlikely(id - 1 >= STROBE_MATRIX_ID_MAX || position >= log->lap_end ||
                        strobe_load_relaxed(&log->state) < STROBE_MATRIX_READY)) {
        strobe_matrix_put_slowly(log, enter, id);
        return;
    }
    strobe_a64 *slot = (strobe_a64 *)(log->lap_address + (uintptr_t)position * sizeof *slot);
    strobe_store_release(slot,
                         enter | (uint64_t)id << STROBE_MATRIX_ID_SHIFT | strobe_load_relaxed(&log->clock->word) >> 1);
    strobe_store_release(&log->written, position + 1);
}

/* A method of 1 .. STROBE_MATRIX_ID_MAX is entered, is left. Any other id is counted and not written. The log's
 * thread. */
static inline void strobe_matrix_enter(struct strobe_matrix_log *log, uint32_t id)
{
    strobe_matrix_put(log, STROBE_MATRIX_ENTER, id);
}

static inline void strobe_matrix_leave(struct strobe_matrix_log *log, uint32_t id)
{
    strobe_matrix_put(log, 0, id);
}

/* A message is handed out, and done: the clock is set, and the log gets an entry of STROBE_MATRIX_DISPATCH. Messages
 * may nest, where a handler runs the loop; the clock stands still when the outermost ends. The log's thread. */
void strobe_matrix_message_begin(struct strobe_matrix_log *log, uint64_t now_ns);
void strobe_matrix_message_end(struct strobe_matrix_log *log, uint64_t now_ns);

/* STROBE_UNSUPPORTED: not from the state it is in. Any thread. */
enum strobe_status strobe_matrix_start(struct strobe_matrix_log *log);
enum strobe_status strobe_matrix_stop(struct strobe_matrix_log *log);

/* Lets a log that nobody started expire and be released when its time has come. One thread at a time. */
void strobe_matrix_due(struct strobe_matrix_log *log, uint64_t now_ns);

enum strobe_matrix_state strobe_matrix_state(struct strobe_matrix_log *log);

/* ---- stretches of it */

struct strobe_matrix_mark {
    uint64_t position;
    bool released;
};

/* Marks what comes from now on. To have a message with its begin, mark before it begins. The log's thread. */
struct strobe_matrix_mark strobe_matrix_mark(struct strobe_matrix_log *log);

/* After this its copy is refused; can be done again. The mark's owner. */
void strobe_matrix_release(struct strobe_matrix_mark *mark);

/* Copies all entries after `from` and up to `to` (NULL: up to now) to `out`, which has room for `room`; *count says how
 * many. Any thread, while the log is written to. Nothing is copied on
 *   STROBE_NO_ENTRY     the log or a mark was released, or `to` is before `from`
 *   STROBE_TRUNCATED    one or more of the entries were overwritten
 *   STROBE_FULL         `room` is too small; *count says what is needed */
enum strobe_status strobe_matrix_copy(struct strobe_matrix_log *log, const struct strobe_matrix_mark *from,
                                      const struct strobe_matrix_mark *to, uint64_t *out, size_t room, size_t *count);

/* Copies the newest entries that are whole, at most `room` of them, oldest first. Returns how many. Any thread. */
size_t strobe_matrix_copy_newest(struct strobe_matrix_log *log, uint64_t *out, size_t room);

#endif
