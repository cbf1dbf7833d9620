/* Matrix's packed method log: a ring of words. The log holds one word for each entry into and each exit from a method,
 * on one thread. Another thread keeps its clock. The log starts no thread and does not read the system's time: its host
 * ticks the clock every STROBE_MATRIX_TICK_MS, from a real thread or a virtual one.
 *
 * A log belongs to one thread. Only this thread enters and leaves methods, begins and ends messages, and takes marks,
 * and not from a signal handler that interrupts it in one of these calls. Other threads may tick, start, stop, read the
 * state, and copy while the thread writes. Clock and ring are lock-free, and each copy is validated (explored:
 * matrix/copy, matrix/wrap, matrix/clock, matrix/freeze, matrix/release).
 *
 * Clock: ms since the clock was opened. The clock is exact when a message begins or ends; otherwise it is as old as the
 * last tick. Between messages it stands still if it was opened with `freezes` (used for the main thread alone, because
 * other threads work between messages, too). It never goes back, whatever the host's clock does. When the ticks stop,
 * calls have no duration, and no thread is blocked (Matrix #477).
 *
 * A mark is a position in the log. A stretch of the log consists of all entries after a mark. Positions count from the
 * log's beginning and are not reused. A mark therefore shows whether any entry of its stretch was overwritten.
 *
 * Matrix has these defects, which this log does not have:
 *
 *   - Matrix checks only the first of its records of ring indices. A younger record hides an overwritten older one.
 *   - The copy for such an older record holds entries of other calls.
 *   - A record includes the entry before it. The copy of one entry is empty.
 *   - A negative id is written as an entry of method 0xFFFFF.
 *   - An exit before the first enter holds the absolute uptime.
 *   - A log that was never started reports that it is alive.
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
    STROBE_MATRIX_EXPIRE_MS = 10000,  /* a log that is not started stops so long after its first method, */
    STROBE_MATRIX_RELEASE_MS = 10000, /* and releases its memory so long after it was opened */
};

/* ---- the clock */

struct strobe_matrix_clock {
    strobe_a64 word; /* ms << 1 | the clock stands still */
    uint64_t base_ns;
    bool freezes;
};

/* Opens a clock. `now_ns` is any clock that only grows, the same one for all calls. With `freezes` the clock stands
 * still between messages. Start only. */
void strobe_matrix_clock_open(struct strobe_matrix_clock *c, uint64_t now_ns, bool freezes);

/* Moves the clock on. Any thread calls it every STROBE_MATRIX_TICK_MS. A clock that stands still does not change. */
void strobe_matrix_clock_tick(struct strobe_matrix_clock *c, uint64_t now_ns);

/* Returns the time that an entry would get now, ms. Any context. */
static inline uint64_t strobe_matrix_clock_ms(struct strobe_matrix_clock *c)
{
    return strobe_load_relaxed(&c->word) >> 1;
}

/* ---- the log */

/* States of a log. It records while READY or STARTED; in DEFAULT the first enter makes it READY.
 *
 *   DEFAULT -> READY                       the first enter
 *   READY, STOPPED, EXPIRED -> STARTED     start
 *   STARTED -> STOPPED                     stop
 *   DEFAULT, READY -> EXPIRED              the log was not started within STROBE_MATRIX_EXPIRE_MS of the first enter
 *   all but STARTED -> RELEASED            nor within STROBE_MATRIX_RELEASE_MS of its opening. No function accesses its
 *                                          memory any more once its thread has made its next call. Final */
enum strobe_matrix_state {
    STROBE_MATRIX_RELEASED,
    STROBE_MATRIX_EXPIRED,
    STROBE_MATRIX_STOPPED,
    STROBE_MATRIX_DEFAULT,
    STROBE_MATRIX_READY,
    STROBE_MATRIX_STARTED,
};

struct strobe_matrix_log {
    strobe_a64 *entries; /* slot_count words: one more than the log keeps, for the entry that is being written */
    struct strobe_matrix_clock *clock;
    strobe_a64 written;    /* number of entries written since it was opened */
    uint64_t lap_end;      /* the value of `written` at which all slots have been written once more */
    uintptr_t lap_address; /* address that position 0 would have if the ring were as long as that */
    uint32_t slot_count;
    strobe_a32 state;        /* enum strobe_matrix_state */
    uint32_t nested;         /* number of messages that have begun and not ended */
    strobe_a64 expire_at_ms; /* 0 = no method was entered yet */
    uint64_t release_at_ms;
    bool expire_done, release_done; /* strobe_matrix_due has done so */
    strobe_a64 refused_ids;         /* calls not written, because their id is out of range */
    strobe_a64 refused_stopped;     /* calls not written, because the log was not recording */
    strobe_a64 unmatched_ends;      /* messages that ended without a begin */
};

/* Returns the bytes of memory for a log that keeps `capacity` entries, 1 .. STROBE_MATRIX_ENTRIES_MAX. Any context. */
size_t strobe_matrix_log_bytes(uint32_t capacity);

/* Opens a log in `memory`, 8-byte aligned, of strobe_matrix_log_bytes(capacity). STROBE_BAD_INPUT: the capacity is out
 * of range, or the memory is too small. Start only. */
enum strobe_status strobe_matrix_log_open(struct strobe_matrix_log *log, void *memory, size_t bytes, uint32_t capacity,
                                          struct strobe_matrix_clock *clock);

/* The slow half of strobe_matrix_put: checks the id, the lap and the state. `enter` is STROBE_MATRIX_ENTER or 0. */
void strobe_matrix_put_slow(struct strobe_matrix_log *log, uint64_t enter, uint32_t id);

static STROBE_ALWAYS_INLINE void strobe_matrix_put(struct strobe_matrix_log *log, uint64_t enter, uint32_t id)
{
    uint64_t position = strobe_load_relaxed(&log->written);
    if (strobe_unlikely(id - 1 >= STROBE_MATRIX_ID_MAX || position >= log->lap_end ||
                        strobe_load_relaxed(&log->state) < STROBE_MATRIX_READY)) {
        strobe_matrix_put_slow(log, enter, id);
        return;
    }
    strobe_a64 *slot = (strobe_a64 *)(log->lap_address + (uintptr_t)position * sizeof *slot);
    strobe_store_release(slot,
                         enter | (uint64_t)id << STROBE_MATRIX_ID_SHIFT | strobe_load_relaxed(&log->clock->word) >> 1);
    strobe_store_release(&log->written, position + 1);
}

/* Records that a method of id 1 .. STROBE_MATRIX_ID_MAX is entered, or left. Another id is counted and not written. By
 * the log's thread. */
static inline void strobe_matrix_enter(struct strobe_matrix_log *log, uint32_t id)
{
    strobe_matrix_put(log, STROBE_MATRIX_ENTER, id);
}

static inline void strobe_matrix_leave(struct strobe_matrix_log *log, uint32_t id)
{
    strobe_matrix_put(log, 0, id);
}

/* Records that the message loop begins, or ends, the dispatch of a message. The function sets the clock and writes an
 * entry of STROBE_MATRIX_DISPATCH. Messages nest when a handler runs the loop; the clock stands still when the
 * outermost message ends. By the log's thread. */
void strobe_matrix_message_begin(struct strobe_matrix_log *log, uint64_t now_ns);
void strobe_matrix_message_end(struct strobe_matrix_log *log, uint64_t now_ns);

/* Starts or stops the log. STROBE_UNSUPPORTED: its state does not allow it. Any thread. */
enum strobe_status strobe_matrix_start(struct strobe_matrix_log *log);
enum strobe_status strobe_matrix_stop(struct strobe_matrix_log *log);

/* Makes a log EXPIRED or RELEASED that was not started in time. One thread at a time. */
void strobe_matrix_due(struct strobe_matrix_log *log, uint64_t now_ns);

enum strobe_matrix_state strobe_matrix_state(struct strobe_matrix_log *log);

/* ---- stretches of it */

struct strobe_matrix_mark {
    uint64_t position;
    bool released;
};

/* Returns a mark: all later entries are in its stretch. To include a message's begin, take the mark before the message
 * begins. By the log's thread. */
struct strobe_matrix_mark strobe_matrix_mark(struct strobe_matrix_log *log);

/* Releases a mark: copies from it are refused from now on. The function may be called again. By the mark's owner. */
void strobe_matrix_release(struct strobe_matrix_mark *mark);

/* Copies all entries after `from` and up to `to` (NULL: up to now) to `out`, which has space for `capacity` entries;
 * *count is the number copied. Any thread, also while the log is written to. Nothing is copied in these cases:
 *
 *   STROBE_NO_ENTRY     the log or a mark was released, or `to` is before `from`
 *   STROBE_TRUNCATED    one or more of the entries were overwritten
 *   STROBE_FULL         `capacity` is too small; *count is the number needed */
enum strobe_status strobe_matrix_copy(struct strobe_matrix_log *log, const struct strobe_matrix_mark *from,
                                      const struct strobe_matrix_mark *to, uint64_t *out, size_t capacity,
                                      size_t *count);

/* Copies the newest whole entries, at most `capacity` of them, oldest first. Returns their number. Any thread. */
size_t strobe_matrix_copy_newest(struct strobe_matrix_log *log, uint64_t *out, size_t capacity);

#endif
