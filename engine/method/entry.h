/* Capture by instrumentation into the session's call log (engine/store/call_log.h): what a program tells that was
 * built so that each of its functions reports its entry and its exit (-finstrument-functions), or whoever else knows of
 * calls.
 *
 * Beside the packed method log of Matrix (matrix_log.h) this one keeps
 *
 *   times     64 bits of the host's ticks, read at each entry (exact), or by a clock thread every 5 ms (coarse)
 *   methods   by address: no ids to assign, and no limit to their number
 *   threads   all of them, each in blocks of its own: no shared index, no lock, no 16-byte packing to undo
 *   losses    counted to the entry: told = present + overwritten + refused
 *
 * Hooks may be met anywhere: in signal handlers, in destructors of threads, in the middle of another hook. A hook that
 * a signal handler's interrupts keeps its block to itself, for the handler's calls go into a block of their own: the
 * reader merges both by time. A hook that was left in the middle (a handler that jumped out of it, a cancellation) is
 * known by its frame, which is gone, and its block is used on. A forked child finds the switch wiped and tells nothing.
 *
 * Its cost beside bare stores: a mark around the entry, and the tests of it. bench/cases/bench_calls.c. */
#ifndef STROBE_METHOD_ENTRY_H
#define STROBE_METHOD_ENTRY_H

#include "engine/base/hint.h"
#include "engine/capture/engine.h"
#include "engine/store/call_log.h"

#include <stdbool.h>
#include <stdint.h>

enum { STROBE_ENTRY_LEVELS = 4, STROBE_ENTRY_CLOCK_NS = 5000000 };

/* One depth of hooks within hooks. */
struct strobe_entry_level {
    uintptr_t inside; /* frame of the hook at work; 0: none */
    struct strobe_call_writer writer;
};

struct strobe_entry_thread {
    struct strobe_entry_level level[STROBE_ENTRY_LEVELS];
    uint32_t thread; /* 1 + index in the session's table; 0: not known yet */
    bool ended;      /* or it has no place in the table: what it still tells is counted, not taken */
};
extern _Thread_local struct strobe_entry_thread strobe_entry_local;

/* What a capture needs of its process. */
struct strobe_entry_engine {
    const struct strobe_session *session;
    const struct strobe_host *host;
    strobe_a32 *busy;      /* threads_max zeroed words */
    uint64_t resume_ticks; /* a paused capture goes on then */

    /* Finds or makes the calling thread's entry in the session's table. STROBE_FULL: there is no room for it.
     * STROBE_LATE: not now, ask again. Any context. */
    enum strobe_status (*attach)(uint32_t *thread);

    /* Whether the stack has been left that a hook of frame `frame` was on, now that a hook of frame `now` runs on the
     * same thread: what is said wrongly to be left loses that hook's entry. Any context. */
    bool (*is_left)(uintptr_t frame, uintptr_t now);
};

/* The switch word, as strobe_switch (engine.h), of calls alone. */
extern strobe_a32 *strobe_entry_switch;

/* Time of the clock thread, on the same page as the switch; 0 where each entry reads the clock, and while the switch is
 * not on: one word that says both. */
extern const strobe_a64 *strobe_entry_clock;
extern struct strobe_entry_engine strobe_entry_engine;

/* Slow parts of strobe_entry_tell. Room: makes room at a level whose block is full, and counts the entry where there is
 * none. Beside: tells what the fast way does not: by a clock that is read, the first entry of a thread or block, a hook
 * within a hook, or nothing at all. */
bool strobe_entry_room(struct strobe_entry_thread *t, struct strobe_entry_level *l);
void strobe_entry_beside(uint64_t word, uintptr_t frame);

/* Tells that the function at the address in `word` is entered, or with STROBE_CALL_EXIT that it is left. `frame` is
 * the calling hook's own (__builtin_frame_address). Any context; neither heap nor lock. */
static STROBE_ALWAYS_INLINE void strobe_entry_tell(uint64_t word, uintptr_t frame)
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
    strobe_entry_beside(word, frame);
}

/* Finishes the calling thread's blocks. What it tells from then on is counted as untracked. At its end. */
void strobe_entry_end(void);

/* Forgets the calling thread's blocks, which are its parent's. In the child of a fork. */
void strobe_entry_forget(void);

/* True when no thread claims or finishes a block, nor will, while the switch is off, which the caller turned
 * (explored: calls/quiet). Entries that are under way may yet come. At the end, any thread. */
bool strobe_entry_quiet(void);

#endif
