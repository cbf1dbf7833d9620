/* Thread table: maps the engine's id of a thread to its Mach port.
 *
 * The engine identifies a thread by a 32-bit id, the low half of its thread_id. The system never reuses a thread_id
 * while it is up, so a reused port name does not confuse two threads (S-45). The table holds a right for each port
 * that it contains. The system therefore cannot reuse the port's name. When the thread leaves the table, the right is
 * released. Tests count the rights, so a leak is found.
 *
 * A scan (strobe_mach_threads_look) compares the table with the system's list of threads.
 *
 *   - A thread enters at its first hook, by the introspection hook at its start, or by a scan that finds it. When the
 *     thread and a scan enter it at once, one of them succeeds.
 *   - A thread leaves by the introspection hook at its end, or when two scans in a row do not find it.
 *
 * Each slot is one word, id << 32 | port. It changes by compare-and-swap only. A slot is free when it is 0 or when its
 * port is ENDED.
 *
 *   free -> id | port                     put: the slot takes over the caller's right
 *   free -> id | CLAIMED                  a scan is about to put the thread. The thread itself may take over the claim
 *                                         or undo it
 *   id | CLAIMED -> id | port             put, by the scan or by the thread
 *   any of these -> id | LEFT             drop: the thread may run on for a while, but is not put in again
 *   id | port or LEFT -> id | ENDED       two scans in a row did not find the thread
 *   id | port or CLAIMED -> 0             the thread and a scan used two slots; one of the two is cleared
 *
 * A thread's slot is one of the STROBE_MACH_TABLE_PROBES slots that begin at the hash of its id. A search reads all of
 * them, so a slot may become free at any time. The thread that removes a port from a slot releases its right. If the
 * sampler uses that port at the time, `in_use` records it, and the sampler releases the right when it is done. A
 * stopped or dead thread delays no other thread. (explored: machthreads/put, machthreads/twins, machthreads/drop,
 * machthreads/out, machthreads/use, machthreads/again, machthreads/frozen) */
#ifndef STROBE_BACKEND_MACH_THREADS_H
#define STROBE_BACKEND_MACH_THREADS_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <mach/mach.h>
#include <stdbool.h>

enum {
#ifdef STROBE_SMALL
    STROBE_MACH_TABLE_SLOTS = 2, /* for exploration: the algorithm does not depend on it */
    STROBE_MACH_TABLE_PROBES = 2,
#else
    STROBE_MACH_TABLE_SLOTS = 16384, /* a power of two, at least twice the number of threads */
    STROBE_MACH_TABLE_PROBES = 64,   /* slots that a search reads */
#endif
};

/* Zero-initialized. */
struct strobe_mach_threads {
    strobe_a64 in_use; /* the slot word that the sampler uses; 0 = none; 1 = the sampler must release `used` */

    /* Sampler only. */
    mach_port_t used; /* the port in use */
    uint32_t looks;   /* number of scans so far */
    uint32_t main_tid;
    uint32_t seen[STROBE_MACH_TABLE_SLOTS];         /* by slot: number of the last scan that found its thread */
    uint32_t missed[STROBE_MACH_TABLE_SLOTS];       /* by slot: id of the thread that the last scan did not find */
    uint32_t slot_of_port[STROBE_MACH_TABLE_SLOTS]; /* by hash of a port: slot + 1; a hint, may be wrong */

    strobe_a64 at[STROBE_MACH_TABLE_SLOTS]; /* any thread: id << 32 | port */
};

/* Returns the engine's id for a thread_id: its low half; 1 when that is 0. */
static inline uint32_t strobe_mach_tid(uint64_t thread_id)
{
    uint32_t low = (uint32_t)thread_id;
    return low ? low : 1;
}

/* Enters the calling thread. `port` is a right that the caller owns, as mach_thread_self returns it. The function takes
 * over the right, and releases it unless it returns STROBE_OK.
 *
 *   STROBE_EXISTS   the thread is in the table already; the scan that entered it calls its `found`
 *   STROBE_FULL     no slot is free
 *   STROBE_GONE     the thread was dropped, or the port names nothing
 *
 * The caller enters a thread before it calls strobe_thread_attach. Not in the window. */
enum strobe_status strobe_mach_threads_put(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port);

/* Removes the calling thread and releases its right. If the sampler uses the right, the sampler releases it when it is
 * done. The thread is not put in again. The engine's own threads must not be stopped, so they call this at their start,
 * and the start of a capture calls it for a thread of the engine that runs already. Other threads call it after
 * strobe_thread_detach. Not in the window. */
void strobe_mach_threads_drop(struct strobe_mach_threads *t, uint32_t tid);

/* Stores the thread's port in *port. The port stays valid until strobe_mach_threads_done, which the caller calls only
 * after STROBE_OK. STROBE_GONE: the scans have proven that the thread has ended. STROBE_NO_ENTRY: the thread was
 * dropped, or never put in. Sampler, one thread at a time. */
enum strobe_status strobe_mach_threads_use(struct strobe_mach_threads *t, uint32_t tid, mach_port_t *port);
void strobe_mach_threads_done(struct strobe_mach_threads *t);

/* A thread that a scan has entered. */
struct strobe_mach_found {
    uint32_t tid;
    mach_port_t port;
    bool is_main;
    char name[MAXTHREADNAMESIZE];
};
typedef void strobe_mach_found_fn(void *ctx, const struct strobe_mach_found *found);

/* Scans the system's list of threads. Enters each thread that is not in the table yet, and calls `found` for it.
 * Removes the threads that have ended. The main thread is the first one in the list of the first scan, because the list
 * is in order of creation (XNU osfmk/kern/task.c, task_threads; thread.c, thread_create_internal). A thread that the
 * table contains costs one call, which releases the list's right. task_threads allocates memory. Sampler, between
 * passes. */
void strobe_mach_threads_look(struct strobe_mach_threads *t, strobe_mach_found_fn *found, void *ctx);

/* Removes all threads and releases their rights. End only, when no other thread uses the table. */
void strobe_mach_threads_clear(struct strobe_mach_threads *t);

#endif
