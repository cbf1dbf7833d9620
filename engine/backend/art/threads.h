/* A table from kernel tid to the runtime's Thread and its thin-lock id.
 *
 * A thread is added when it is first met: at a hook, by the runtime's thread callback, or by a checkpoint. It is marked
 * when it ends. The table uses open addressing and has a fixed size. A tid keeps its slot for good. The slot's word
 * `is` holds generation << 16 | thin-lock id:
 *
 *   0 -> g | 0        a writer takes the slot: it stores the tid by compare-and-swap
 *   g | id -> g | 0   the thread has ended, or another writer is about to replace it
 *   g | 0 -> g+1 | id `thread` was written before (release)
 *
 * A reader loads `is` before and after it reads `thread`, so the pair that it returns is consistent. Several threads
 * may put the same thread at once, on its behalf. A stopped or dead thread delays no other thread. (explored:
 * artthreads/put, artthreads/again, artthreads/full, artthreads/frozen)
 *
 * The runtime reuses thin-lock ids. A suspended thread is therefore the right one only if the runtime returned the same
 * Thread, and this Thread still has the tid. */
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
    strobe_a32 is;     /* generation << 16 | thin-lock id; id 0 = the thread has ended */
    strobe_a64 thread; /* Thread * */
};

/* Zero at first. */
struct strobe_art_threads {
    strobe_a32 used;
    struct strobe_art_thread at[STROBE_ART_TABLE_THREADS];
};

/* Adds or updates a thread. `thin_lock_id`: 1 to 65535. STROBE_FULL: the table is full; the thread then cannot be
 * suspended. By the thread, or on its behalf. */
enum strobe_status strobe_art_threads_put(struct strobe_art_threads *t, uint32_t tid, void *thread,
                                          uint32_t thin_lock_id);

/* Returns a thread. STROBE_NO_ENTRY: the table does not have it. STROBE_GONE: it has ended. Any. */
enum strobe_status strobe_art_threads_get(const struct strobe_art_threads *t, uint32_t tid, void **thread,
                                          uint32_t *thin_lock_id);

/* Returns the id of the live thread whose Thread this is; 0: the table does not have it. Any. */
uint32_t strobe_art_threads_find(const struct strobe_art_threads *t, const void *thread);

/* Marks a thread as ended. By the thread. */
void strobe_art_threads_end(struct strobe_art_threads *t, uint32_t tid);

#endif
