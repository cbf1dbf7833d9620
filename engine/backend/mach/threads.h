/* Which of the task's threads is which of the engine's.
 *
 * The engine knows a thread by a 32-bit id: the low half of its thread_id, which the system gives to no other as long
 * as it is up, so a port name that is used again makes no thread of two (S-45). This table has, for each id, the port
 * by which the system knows the thread, and holds a right for it as long as the thread is in the table: a name that we
 * hold can't come to mean another thread. Given back when the thread leaves it: none leaks, which tests count.
 *
 *   a thread enters      by itself, at its first hook or by the introspection hook at its start; or because
 *                        strobe_mach_threads_look found it by task_threads
 *   a thread leaves      by the introspection hook at its end, or when two looks in a row do not find it
 *
 * Each slot is one word, id << 32 | port, and changes by compare-and-swap only:
 *
 *   0 -> id | port       put: the right goes with it
 *   id | port -> id | LEFT     drop: it may run on for a while, but is not put in again
 *   id | either -> id | 0      a look proved that it has ended: the next that is put may take the slot
 *   id | port -> 0       it stands twice, since two put it at once: who sees that takes the later one out
 *
 * A thread's slot is one of STROBE_MACH_TABLE_PROBES that follow the place its id is mixed to; all of these are read at
 * each search, so a slot may become empty at any time. Whoever takes a port out of a slot gives the right back, unless
 * the sampler uses that very port: then `using` says so, and it is given back when the sampler is done. A stopped or
 * dead thread holds up nobody. (explored: machthreads/put, machthreads/drop, machthreads/use, machthreads/again,
 * machthreads/frozen) */
#ifndef STROBE_BACKEND_MACH_THREADS_H
#define STROBE_BACKEND_MACH_THREADS_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <mach/mach.h>
#include <stdbool.h>

struct strobe_mach_threads;

/* The engine's id of a thread_id: its low half, never 0. */
static inline uint32_t strobe_mach_tid(uint64_t thread_id)
{
    uint32_t low = (uint32_t)thread_id;
    return low ? low : 1;
}

/* Bytes of zeroed memory that a table takes. */
size_t strobe_mach_threads_bytes(void);

/* Puts a thread in. `port`: a right of the caller's, as mach_thread_self and task_threads hand out, which is the table's
 * from here on, or has been given back: it is when the thread is there already (STROBE_OK), when there is no room
 * (STROBE_FULL), when the thread has been dropped or has ended, or the port names nothing (STROBE_GONE). A thread must be
 * in here before the engine hears of it (strobe_thread_attach). Any thread, not in the window. */
enum strobe_status strobe_mach_threads_put(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port);

/* Takes a thread out and gives the right back, unless the sampler has it in use: then when that is done. It is not put
 * in again; so threads of the engine's own, which must not be stopped, are kept out by a drop when they start. By the
 * thread, after strobe_thread_detach; not in the window. */
void strobe_mach_threads_drop(struct strobe_mach_threads *t, uint32_t tid);

/* The port of a thread, which stays that thread's until _done. STROBE_GONE: it has ended, a look has proved that.
 * STROBE_NO_ENTRY: it was dropped, or never put; there is nothing to be done with then. Sampler, one at a time. */
enum strobe_status strobe_mach_threads_use(struct strobe_mach_threads *t, uint32_t tid, mach_port_t *port);
void strobe_mach_threads_done(struct strobe_mach_threads *t);

/* Compares with the system's list: calls `found` for each thread that is new here and was put in; takes out those that
 * have ended. Main is the thread that the system lists first at the first look: lists are in order of creation (XNU
 * osfmk/kern/task.c, task_threads; thread.c, thread_create_internal). Threads that are known cost no call but that
 * which gives the list's right back. Allocates (task_threads does). Sampler, between passes. */
struct strobe_mach_found { uint32_t tid; mach_port_t port; bool is_main; char name[MAXTHREADNAMESIZE]; };
typedef void strobe_mach_found_fn(void *ctx, const struct strobe_mach_found *found);
void strobe_mach_threads_look(struct strobe_mach_threads *t, strobe_mach_found_fn *found, void *ctx);

/* Takes all threads out and gives their rights back. At the end, when nobody uses the table any more. */
void strobe_mach_threads_clear(struct strobe_mach_threads *t);

#endif
