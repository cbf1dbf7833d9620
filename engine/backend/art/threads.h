/* Which of the runtime's threads is which of the engine's.
 *
 * A table from kernel tid to the runtime's Thread and its thin-lock id, filled by each thread as it is first met (at a
 * hook, by the runtime's thread callback, or by a checkpoint) and marked as it ends. Open addressing, fixed size, in
 * memory of the backend; a tid keeps its slot for good. Its word `is` is generation << 16 | thin-lock id:
 *
 *   0 -> g | 0        a slot is taken: its tid by compare-and-swap
 *   g | id -> g | 0   the thread has ended, or another is about to take its place
 *   g | 0 -> g+1 | id `thread` was written before (release)
 *
 * A reader looks at `is` before and after it reads `thread`: what it returns was put together. Several may put the same
 * thread at once, on its behalf. A stopped or dead thread holds up nobody. (explored: artthreads/put,
 * artthreads/again, artthreads/full, artthreads/frozen)
 *
 * Thin-lock ids are used again: a suspended thread counts as the right one only when the runtime gave back the same
 * Thread, and that still has the tid. */
#ifndef STROBE_BACKEND_ART_THREADS_H
#define STROBE_BACKEND_ART_THREADS_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdint.h>

enum {
#ifdef STROBE_SMALL
    STROBE_ART_TABLE_THREADS = 4, /* for exploration: the algorithm does not depend on it */
#else
    STROBE_ART_TABLE_THREADS = 16384, /* a power of two; at most half of it is used */
#endif
};

struct strobe_art_thread {
    strobe_a32 tid;    /* 0 = never used */
    strobe_a32 is;     /* generation << 16 | thin-lock id; 0 as id = that thread has ended */
    strobe_a64 thread; /* Thread * */
};

/* Zero at first. */
struct strobe_art_threads {
    strobe_a32 used;
    struct strobe_art_thread at[STROBE_ART_TABLE_THREADS];
};

/* Enters or renews a thread. `thin_lock_id`: 1 to 65535. STROBE_FULL: no room; it can't be suspended then. By the
 * thread, or on its behalf. */
enum strobe_status strobe_art_threads_put(struct strobe_art_threads *t, uint32_t tid, void *thread,
                                          uint32_t thin_lock_id);

/* Any. STROBE_NO_ENTRY: unknown. STROBE_GONE: has ended. */
enum strobe_status strobe_art_threads_get(const struct strobe_art_threads *t, uint32_t tid, void **thread,
                                          uint32_t *thin_lock_id);

/* The thread ends. By the thread. */
void strobe_art_threads_end(struct strobe_art_threads *t, uint32_t tid);

#endif
