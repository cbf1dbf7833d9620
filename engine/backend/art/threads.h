/* Which of the runtime's threads is which of the engine's.
 *
 * A table from kernel tid to the runtime's Thread and its thin-lock id, filled by each thread as it is first met (at a
 * hook, by the runtime's thread callback, or by a checkpoint) and cleared as it ends. Open addressing, fixed size, in
 * memory of the backend; entries are published with release. A stopped or dead thread holds up nobody.
 *
 * Thin-lock ids are used again: a suspended thread counts as the right one only when the runtime gave back the same
 * Thread, and that still has the tid. */
#ifndef STROBE_BACKEND_ART_THREADS_H
#define STROBE_BACKEND_ART_THREADS_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdint.h>

enum { STROBE_ART_TABLE_THREADS = 16384 };/* a power of two; at most half of it is used */

struct strobe_art_thread {
    strobe_a32 tid;                      /* 0 = never used; published last, with release */
    strobe_a32 thin_lock_id;             /* 0 = that thread has ended */
    strobe_a64 thread;                   /* Thread * */
};

struct strobe_art_threads { struct strobe_art_thread at[STROBE_ART_TABLE_THREADS]; };

/* Enters or renews a thread. STROBE_FULL: no room; it can't be suspended then. By the thread, or on its behalf. */
enum strobe_status strobe_art_threads_put(struct strobe_art_threads *t, uint32_t tid, void *thread,
                                          uint32_t thin_lock_id);

/* Any. STROBE_NO_ENTRY: unknown. STROBE_GONE: has ended. */
enum strobe_status strobe_art_threads_get(const struct strobe_art_threads *t, uint32_t tid, void **thread,
                                          uint32_t *thin_lock_id);

/* The thread ends. By the thread. */
void strobe_art_threads_end(struct strobe_art_threads *t, uint32_t tid);

#endif
