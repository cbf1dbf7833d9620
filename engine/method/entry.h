/* Capture by instrumentation into the session's call log (engine/store/call_log.h). A program that is built with
 * -finstrument-functions calls a hook at each entry and each exit of a function. The hook records it here.
 *
 * Compared with Matrix's packed method log (matrix/matrix_log.h) the call log has
 *
 *   times     64 bits of the host's ticks, read at each entry (exact), or stored by a clock thread every 5 ms (coarse)
 *   methods   by address: no ids to assign, and no limit to their number
 *   threads   all threads, each in blocks of its own: no shared index, no lock, no 16-byte packing to undo
 *   losses    counted to the entry, see call_log.h
 *
 * A hook can run anywhere: in a signal handler, in a thread's destructors, in the middle of another hook. While a
 * handler's hook interrupts a hook, the interrupted hook keeps its block; the handler's calls go into a block of their
 * own. The reader merges both by time. A handler that jumps, or a cancellation, can leave a hook unfinished. The next
 * hook finds that the unfinished hook's frame is gone, and reuses its block. A forked child finds the switch wiped and
 * records nothing.
 *
 * The cost beside bare stores is one mark around each entry and the tests of it; see bench/cases/bench_calls.c. */
#ifndef STROBE_METHOD_ENTRY_H
#define STROBE_METHOD_ENTRY_H

#include "engine/base/hint.h"
#include "engine/capture/engine.h"
#include "engine/store/call_log.h"

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_ENTRY_LEVELS = 4, STROBE_ENTRY_CLOCK_NS = 5000000 };

/* The state of one depth of nested hooks. */
struct strobe_entry_level {
    uintptr_t inside; /* frame of the hook that runs at this depth; 0: none */
    struct strobe_call_writer writer;
};

struct strobe_entry_thread {
    struct strobe_entry_level level[STROBE_ENTRY_LEVELS];
    uint32_t thread; /* 1 + index in the session's thread table; 0: not known yet */
    bool ended;      /* the thread has ended, or the table has no entry for it: later calls are counted as untracked */
};
extern _Thread_local struct strobe_entry_thread strobe_entry_local;

/* The capture's process. */
struct strobe_entry_engine {
    const struct strobe_session *session;
    const struct strobe_host *host;
    strobe_a32 *busy;      /* threads_max zeroed words: 1 while the thread claims or finishes a block */
    uint64_t resume_ticks; /* time at which a paused capture resumes */

    /* Returns the calling thread's index in the session's thread table, and adds the thread if needed. STROBE_FULL: the
     * table is full. STROBE_LATE: not possible now, call again later. Any context. */
    enum strobe_status (*attach)(uint32_t *thread);

    /* Returns whether the thread has left the hook of frame `frame`, given that a hook of frame `now` runs on the same
     * thread. If the function returns true wrongly, that hook's entry is lost. Any context. */
    bool (*is_left)(uintptr_t frame, uintptr_t now);
};

/* The switch of the call log. Its values are those of strobe_switch (engine.h). */
extern strobe_a32 *strobe_entry_switch;

/* Time of the clock thread, on the same page as the switch. It is 0 when each entry reads the clock, and while the
 * switch is not on. One load therefore tests both. */
extern const strobe_a64 *strobe_entry_clock;
extern struct strobe_entry_engine strobe_entry_engine;

/* Slow parts of strobe_entry_record. strobe_entry_refill claims a block for a level whose block is full; it counts the
 * entry and returns false when it cannot. strobe_entry_record_slow handles what the fast path does not: an entry that
 * reads the clock, the first entry of a thread or block, a hook within a hook, and a switch that is not on. */
bool strobe_entry_refill(struct strobe_entry_thread *t, struct strobe_entry_level *l);
void strobe_entry_record_slow(uint64_t word, uintptr_t frame);

/* Records the entry into the function at the address in `word`, or with STROBE_CALL_EXIT the exit from it. `frame` is
 * the calling hook's own (__builtin_frame_address). Any context; uses neither heap nor lock. */
static STROBE_ALWAYS_INLINE void strobe_entry_record(uint64_t word, uintptr_t frame)
{
    struct strobe_entry_level *l = &strobe_entry_local.level[0];
    if (!strobe_unlikely(l->inside)) {
        l->inside = frame;
        strobe_fence_signal();
        uint64_t ticks = strobe_load_relaxed(strobe_entry_clock);
        if (!strobe_unlikely(!ticks || l->writer.next == l->writer.end)) {
            strobe_call_put(&l->writer, ticks, word);
            strobe_fence_signal();
            l->inside = 0;
            return;
        }
        l->inside = 0;
    }
    strobe_entry_record_slow(word, frame);
}

/* Finishes the calling thread's blocks. Later calls of the thread are counted as untracked. The thread calls it when it
 * ends. */
void strobe_entry_end(void);

/* Forgets the calling thread's blocks, which belong to the parent process. In the child of a fork. */
void strobe_entry_forget(void);

/* Returns whether no thread claims or finishes a block. The caller has turned the switch off, so no thread will do so
 * later either (explored: calls/quiet). Threads may still store entries that are under way. At the end, any thread. */
bool strobe_entry_quiet(void);

#endif
