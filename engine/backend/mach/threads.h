/* Which of the task's threads is which of the engine's.
 *
 * The engine knows a thread by a 32-bit id: the low half of its thread_id, which the system gives to no other as long
 * as it is up, so a port name that is used again makes no thread of two (S-45). This table has, for each id, the port
 * by which the system knows the thread, and holds a right for it as long as the thread is in the table: a name that we
 * hold can't come to mean another thread. Given back when the thread leaves it: none leaks, which tests count.
 *
 *   a thread enters      by itself, at its first hook or by the introspection hook at its start; or because
 *                        strobe_mach_threads_look found it by task_threads
 *   a thread leaves      by the introspection hook at its end, or when a look does not find it any more
 *
 * Where no introspection hook is, a thread found dead is noticed at the next look (about ten a second). */
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

/* Puts a thread in; takes a right of its own. STROBE_FULL, STROBE_GONE, STROBE_OK (also when it is there). Any thread,
 * not in the window. */
enum strobe_status strobe_mach_threads_put(struct strobe_mach_threads *t, uint32_t tid, mach_port_t port);

/* Takes it out and gives the right back, unless the sampler has it in use: then when that is done. Any thread, not in
 * the window. */
void strobe_mach_threads_drop(struct strobe_mach_threads *t, uint32_t tid);

/* The port of a thread, which stays that thread's until _done. STROBE_NO_ENTRY. Sampler, one at a time. */
enum strobe_status strobe_mach_threads_use(struct strobe_mach_threads *t, uint32_t tid, mach_port_t *port);
void strobe_mach_threads_done(struct strobe_mach_threads *t);

/* Compares with the system's list: calls `found` for each thread that is new here and was put in, drops those that are
 * gone. Allocates (task_threads does). Sampler, between passes. */
struct strobe_mach_found { uint32_t tid; mach_port_t port; bool is_main; char name[MAXTHREADNAMESIZE]; };
typedef void strobe_mach_found_fn(void *ctx, const struct strobe_mach_found *found);
void strobe_mach_threads_look(struct strobe_mach_threads *t, strobe_mach_found_fn *found, void *ctx);

#endif
