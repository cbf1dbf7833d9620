/* Which of the task's threads is which of the engine's.
 *
 * The engine knows a thread by a 32-bit id: the low half of its thread_id, which the system gives to no other as long
 * as it is up, so a port name that is used again makes no thread of two (S-45). This table has, for each id, the port
 * by which the system knows the thread, and holds a right for it as long as the thread is in the table: a name that we
 * hold can't come to mean another thread. Given back when the thread leaves it: none leaks, which tests count.
 *
 *   a thread enters      by itself, at its first hook or by the introspection hook at its start; or a look found it
 *                        by task_threads. When both do at once, one of them is the first
 *   a thread leaves      by the introspection hook at its end, or when two looks in a row do not find it
 *
 * Each slot is one word, id << 32 | port, and changes by compare-and-swap only:
 *
 *   0 or id | ENDED -> id | port          put: the right goes with it
 *   0 or id | ENDED -> id | CLAIMED       a look is about to put; the thread itself may take over, or undo that
 *   id | CLAIMED -> id | port             it has
 *   id | port or CLAIMED -> id | LEFT     drop: the thread may run on for a while, but is not put in again
 *   id | port or LEFT -> id | ENDED       two looks did not meet it
 *   id | port or CLAIMED -> 0             both had a slot: only one of them goes on
 *
 * A thread's slot is one of STROBE_MACH_TABLE_PROBES that follow the place its id is mixed to; all of these are read at
 * each search, so a slot may become empty at any time. Whoever takes a port out of a slot gives the right back, unless
 * the sampler uses that very port: then `in_use` says so, and it is given back when the sampler is done. A stopped or
 * dead thread holds up nobody. (explored: machthreads/put, machthreads/twins, machthreads/drop, machthreads/out,
 * machthreads/use, machthreads/again, machthreads/frozen) */
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
    STROBE_MACH_TABLE_SLOTS = 16384, /* a power of two, at least twice as many as there are threads */
    STROBE_MACH_TABLE_PROBES = 64,   /* most slots read to find one */
#endif
};

/* Zero at first. */
struct strobe_mach_threads {
    strobe_a64 in_use; /* 0, the sampler's word, or that its right is left to it */
    mach_port_t used;  /* from here on: sampler only. The port in use */
    uint32_t looks, main_tid;
    uint32_t seen[STROBE_MACH_TABLE_SLOTS];         /* by slot: the look that met its thread last */
    uint32_t missed[STROBE_MACH_TABLE_SLOTS];       /* by slot: id of the thread that the last look did not meet */
    uint32_t slot_of_port[STROBE_MACH_TABLE_SLOTS]; /* by hash of a port: slot + 1, a guess */
    strobe_a64 at[STROBE_MACH_TABLE_SLOTS];         /* any thread: id << 32 | port */
};

/* The engine's id of a thread_id: its low half, never 0. */
static inline uint32_t strobe_mach_tid(uint64_t thread_id)
{
    uint32_t low = (uint32_t)thread_id;
    return low ? low : 1;
}

/* Puts the calling thread in. `port`: a right of its own, as mach_thread_self hands out, which is the table's from
 * here on, or has been given back: it is when the thread is there already (STROBE_EXISTS; a look has told of it, or
 * will), when there is no room (STROBE_FULL), when it has been dropped, or the port names nothing (STROBE_GONE). A
 * thread must be in here before the engine hears of it (strobe_thread_attach). Not in the window. */
enum strobe_status strobe_mach_threads_put(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port);

/* Takes a thread out and gives the right back, unless the sampler has it in use: then when that is done. It is not put
 * in again; so threads of the engine's own, which must not be stopped, are kept out by a drop when they start. By the
 * thread, after strobe_thread_detach; not in the window. */
void strobe_mach_threads_drop(struct strobe_mach_threads *t, uint32_t tid);

/* The port of a thread, which stays that thread's until _done. STROBE_GONE: it has ended, a look has proved that.
 * STROBE_NO_ENTRY: it was dropped, or never put; there is nothing to be done with then. Sampler, one at a time. */
enum strobe_status strobe_mach_threads_use(struct strobe_mach_threads *t, uint32_t tid, mach_port_t *port);
void strobe_mach_threads_done(struct strobe_mach_threads *t);

/* Compares with the system's list: calls `found` for each thread that it has put in here, before the thread itself has;
 * takes out those that have ended. Main is the thread that the system lists first at the first look: lists are in order
 * of creation (XNU osfmk/kern/task.c, task_threads; thread.c, thread_create_internal). Threads that are known cost no
 * call but that which gives the list's right back. Allocates (task_threads does). Sampler, between passes. */
struct strobe_mach_found {
    uint32_t tid;
    mach_port_t port;
    bool is_main;
    char name[MAXTHREADNAMESIZE];
};
typedef void strobe_mach_found_fn(void *ctx, const struct strobe_mach_found *found);
void strobe_mach_threads_look(struct strobe_mach_threads *t, strobe_mach_found_fn *found, void *ctx);

/* Takes all threads out and gives their rights back. At the end, when nobody uses the table any more. */
void strobe_mach_threads_clear(struct strobe_mach_threads *t);

#endif
