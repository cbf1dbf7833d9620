/* Native waits, locks and I/O: hooks of the C library's functions (common/libc), by slots of all libraries
 * (slot_table.h).
 *
 *   functions (common/libc/originals.h)   event                              why
 *   -----------------------------------   --------------------------------   --------------------------------------
 *   pthread mutexes, rwlocks              point when free, else scope;       a thread waits for the lock's owner
 *                                         releases are wakers
 *   conditions, semaphores                scope; signals and posts are       a thread waits for another thread
 *                                         wakers
 *   *_monotonic_np: timed waits for these scope; releases are wakers         the same; Android's C library alone
 *   barriers                              scope                              the same; the last to come is not named
 *   read, write and kin, fsync,           scope                              a thread waits for a disk or a device
 *   fdatasync, flock, open, close
 *   __read_chk, __write_chk and kin, also as the functions themselves       fortified headers call them instead,
 *   for sockets, open and poll                                               where the size of a buffer is known
 *   poll, select, epoll_wait and kin      scope; writes to channels          a thread waits for a descriptor
 *                                         (channels.h) are wakers
 *   connect, accept, send, recv and kin   scope                              a thread waits for the network
 *   sleep, usleep, nanosleep and kin      scope                              a thread waits for time
 *   pthread_join                          scope; the end is the waker        a thread waits for another one's end
 *   wait and kin                          scope                              a thread waits for a child process
 *   futex, by syscall                     scope COND; wakes are wakers       runtimes of other languages wait so
 *   dlopen, android_dlopen_ext            point LOAD before the load         a load takes long; a scope would change
 *                                                                            the caller that the linker sees
 *   pipe, socketpair, eventfd, epoll_*,   none                               they make, copy and connect channels
 *   dup and kin
 *
 * Only threads that are attached to the runtime are recorded. A native thread that never attaches has no managed stack
 * that could be walked, and the runtime cannot suspend it: its waits are not recorded, and its releases name no waker.
 *
 * A call within another hooked call (a poll within MessageQueue.nativePollOnce) opens no scope of its own: the outer
 * scope has the time (strobe_hook_open_outermost).
 *
 * No hook of the C library aborts in the suspended window: there, the sampler calls the runtime's stack visitor, whose
 * library and what it needs are not hooked, and the sampler's thread records nothing. */
#ifndef STROBE_BACKEND_ART_HOOKS_LIBC_H
#define STROBE_BACKEND_ART_HOOKS_LIBC_H

#include "engine/backend/art/hooks/events.h"
#include "engine/backend/common/libc/channels.h"
#include "engine/backend/common/libc/originals.h"

/* The functions themselves. A function that the process lacks is NULL; its hook is never called. */
struct strobe_art_libc {
    STROBE_LIBC_HOOKED(STROBE_LIBC_POINTER)
    STROBE_LIBC_BIONIC(STROBE_LIBC_POINTER)
    STROBE_LIBC_TRIES(STROBE_LIBC_POINTER)
};
extern struct strobe_art_libc strobe_art_libc;

struct strobe_art_libc_hook {
    const char *name;
    size_t offset; /* of the pointer in struct strobe_art_libc */
    void *replacement;
};

/* The hooks of locks (events_locks.c). */
extern const struct strobe_art_libc_hook strobe_art_lock_hooks[];
extern const uint32_t strobe_art_lock_hook_count;

/* jump.S, and the C functions that it calls. */
void strobe_art_dlopen(void);
void strobe_art_dlopen_ext(void);
void strobe_art_syscall(void);
void strobe_art_load_begins(void);
long strobe_art_futex(long number, long word, long operation, long value, long timeout, long other, long third);
extern void *strobe_art_jump[];

/* Exchanges the slots of libraries that were loaded since the last call. Any thread, between hooks; the sampler,
 * between passes. */
void strobe_art_libc_renew(void);

/* Returns the number of slots that are exchanged. */
uint32_t strobe_art_libc_slots(void);

/* ---- what the hooks in common/libc use */

static STROBE_ALWAYS_INLINE struct strobe_thread *strobe_art_libc_thread(uint32_t on)
{
    return strobe_unlikely(on != STROBE_OFF) ? strobe_art_thread(on) : NULL;
}

#define HOOK(type, name)      static type on_##name
#define ORIGINAL(name)        strobe_art_libc.name
#define HOOK_BEGINS           (void)0 /* the library stays loaded */
#define HOOK_COND_WAITS(c, m) (void)0
#define HOOK_THREAD(on)       strobe_art_libc_thread(on)

/* The name by which libraries know a function: in virtual time a macro replaces it (sim/player/virtual/posix.h). */
#define STROBE_LIBC_STRING(name) #name
#define STROBE_LIBC_HOOK(name)                                                                                         \
    {STROBE_LIBC_STRING(name), offsetof(struct strobe_art_libc, name), (void *)(uintptr_t)on_##name},

#define HOOK_SCOPE(kind, arg, site) strobe_hook_open_outermost(HOOK_THREAD(strobe_switched()), kind, arg, site)
#define HOOK_FORBIDDEN(name)        (void)0
#define HOOK_TRIES                  (strobe_switched() != STROBE_OFF && strobe_local.thread && !strobe_local.busy)
#define HOOK_MASK(mask, room)       ((void)(room), (mask)) /* threads that wait get no signal on ART */
#define HOOK_OWNS_PIPE(ends)        false

#endif
