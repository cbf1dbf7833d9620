/* The parts of a hook of a C library's function: a point beside the call, or a scope around it. See hook_scope.h.
 *
 * The hooks in this directory (*_hooks.inc) are written once. Each backend includes them in one of its sources, after
 * it has defined:
 *
 *   HOOK(type, name)              the head of a hook's definition
 *   HOOK_BEGINS                   the first line of a hook
 *   ORIGINAL(name)                the hooked function
 *   HOOK_THREAD(on)               the calling thread's state, or NULL when its event is not recorded
 *   HOOK_SCOPE(kind, arg, site)   a struct strobe_hook_scope of the calling thread, opened
 *   HOOK_FORBIDDEN(name)          aborts in the suspended window if the backend's sampler may not call the function
 *                                 there
 *   HOOK_TRIES                    true: a lock's hook first tries without a wait, so that only a real wait pays for
 *                                 a scope
 *   HOOK_MASK(mask, room)         a signal mask that is set during a call, without the engine's signal
 *   HOOK_OWNS_PIPE(ends)          true: the pipe is the engine's
 *   HOOK_COND_WAITS(c, m)         before a wait for condition c with mutex m, for a backend that ends such waits
 *
 * A hook calls its original, and reports its event with STROBE_HERE, the place that called the hook. While capture is
 * off, and on a thread that cannot be registered, a hook only calls the original. */
#ifndef STROBE_BACKEND_COMMON_LIBC_HOOK_H
#define STROBE_BACKEND_COMMON_LIBC_HOOK_H

#include "engine/backend/common/hook_scope.h"
#include "engine/backend/common/libc/channels.h"
#include "engine/backend/common/libc/originals.h"

static STROBE_ALWAYS_INLINE void strobe_hook_point_of(struct strobe_thread *t, uint32_t on, enum strobe_kind kind,
                                                      uint64_t arg, struct strobe_site site)
{
    if (t)
        strobe_point(t, on, kind, arg, site);
}

/* A point of the calling thread. */
#define POINT(kind, arg) strobe_hook_point_of(HOOK_THREAD(strobe_switched()), strobe_switched(), kind, arg, STROBE_HERE)

/* A scope that ends with its function. */
#define SCOPE(kind, arg)                                                                                               \
    struct strobe_hook_scope scope_ STROBE_SCOPED = HOOK_SCOPE(kind, arg, STROBE_HERE);                                \
    (void)scope_

/* A scope around a wait for `what`. When the call returns, the hook reports the outcome with strobe_hook_woken. */
#define WAIT(kind, what)                                                                                               \
    SCOPE(kind, what);                                                                                                 \
    strobe_hook_waits(&scope_, what)

/* Right before a release of `what`. Right after it, the hook calls strobe_hook_release_end. */
#define RELEASE(what, how) strobe_hook_release_begin(HOOK_THREAD(strobe_switched()), what, how, STROBE_HERE)

#define FD(fd) ((uint64_t)(unsigned)(fd))

/* A scope around a call that reads `fd` and returns a value below 0 on failure. */
#define READ_SCOPE(kind, fd)                                                                                           \
    SCOPE(kind, (uint64_t)(unsigned)(fd));                                                                             \
    bool is_channel_ = strobe_unlikely(strobe_channel_is_read(fd));                                                    \
    if (is_channel_)                                                                                                   \
    strobe_hook_waits(&scope_, (uint64_t)(unsigned)(fd))

/* Returns the result of the call, in a hook with a READ_SCOPE. */
#define READ_RETURNS(type, fd, call)                                                                                   \
    do {                                                                                                               \
        type result_ = (call);                                                                                         \
        if (is_channel_)                                                                                               \
            strobe_channel_woken(&scope_, fd, strobe_channel_wake_of((int64_t)result_));                               \
        return result_;                                                                                                \
    } while (0)

/* A scope around a call that writes `bytes` to `fd`; SIZE_MAX: not known. */
#define WRITE_SCOPE(kind, fd, bytes)                                                                                   \
    SCOPE(kind, (uint64_t)(unsigned)(fd));                                                                             \
    strobe_channel_feed(&scope_, fd, bytes)

#endif
