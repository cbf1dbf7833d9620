/* The parts of a hook that all backends share: a scope around a hooked call, and a release by a hooked call. See
 * capture/sample.h and capture/blocking.h for what the engine records of them.
 *
 *   struct strobe_hook_scope s = strobe_hook_open(thread, kind, arg, STROBE_HERE);
 *   strobe_hook_waits(&s, what);                  only when the call waits for `what`
 *   result = call the hooked function
 *   strobe_hook_woken(&s, what, how, shared);     only after strobe_hook_waits
 *   strobe_hook_close(&s);
 *
 * The hooked function may last longer than the capture: the capture may end meanwhile, the next one may begin, and the
 * process may fork in the call. The functions that a hook calls after the hooked function therefore compare the scope's
 * capture with strobe_capture_number. They leave the thread's state alone when the numbers differ, since the state may
 * be in released memory. A scope of a thread that was signed off in the call has no effect (strobe_thread_detach).
 *
 * `thread` is the calling thread's state, which the backend finds, or NULL when nothing is to be recorded. The
 * functions preserve errno, use no heap and no lock, and are async-signal-safe (explored: sample/interrupted). */
#ifndef STROBE_BACKEND_COMMON_HOOK_SCOPE_H
#define STROBE_BACKEND_COMMON_HOOK_SCOPE_H

#include "engine/base/hint.h"
#include "engine/capture/blocking.h"
#include "engine/capture/sample.h"

/* The place that called the hook in which this macro is used. The hook must not be inlined into another function. */
#define STROBE_HERE                                                                                                    \
    (struct strobe_site)                                                                                               \
    {                                                                                                                  \
        (uint64_t)(uintptr_t) __builtin_frame_address(0), (uint64_t)(uintptr_t)__builtin_return_address(0)             \
    }

struct strobe_hook_scope {
    struct strobe_thread *thread;
    uint32_t token;   /* 0: no scope was opened */
    uint32_t capture; /* strobe_capture_number when the scope was opened */
    struct strobe_site site;
    bool is_outer; /* the scope is that of an outer hook, which closes it */
};

static inline struct strobe_hook_scope strobe_hook_open(struct strobe_thread *thread, enum strobe_kind kind,
                                                        uint64_t arg, struct strobe_site site)
{
    struct strobe_hook_scope s = {thread, 0, strobe_load_relaxed(&strobe_capture_number), site, false};
    if (thread)
        s.token = strobe_scope_begin(thread, kind, arg, site);
    return s;
}

/* The same for a hook whose call may be a part of another hooked call. Then the outer scope covers the call, and no
 * second one is opened. Inside a scope of the same kind, the wait of the inner call is the outer one's: it names its
 * waker. */
static inline struct strobe_hook_scope strobe_hook_open_outermost(struct strobe_thread *thread, enum strobe_kind kind,
                                                                  uint64_t arg, struct strobe_site site)
{
    const struct strobe_scope *top = thread && thread->scope_count ? &thread->scope[thread->scope_count - 1] : NULL;
    if (!strobe_unlikely(top && top->frame > site.frame))
        return strobe_hook_open(thread, kind, arg, site);
    return (struct strobe_hook_scope){thread, top->kind == kind ? thread->scope_count : 0,
                                      strobe_load_relaxed(&strobe_capture_number), site, true};
}

static inline bool strobe_hook_is_of_this_capture(const struct strobe_hook_scope *s)
{
    return s->token && strobe_load_relaxed(&strobe_capture_number) == s->capture;
}

/* Returns true while the capture that opened the scope is on. */
static inline bool strobe_hook_is_open(const struct strobe_hook_scope *s)
{
    return strobe_hook_is_of_this_capture(s) && strobe_switched() != STROBE_OFF;
}

static inline void strobe_hook_close(const struct strobe_hook_scope *s)
{
    if (s->is_outer)
        return;
    if (strobe_hook_is_open(s))
        strobe_scope_end(s->thread, s->token, s->site);
    else if (strobe_hook_is_of_this_capture(s))
        strobe_scope_left(s->thread);
}

/* Attribute of a struct strobe_hook_scope: it is closed when the function ends, by return or, where the function is
 * compiled with -fexceptions, by cancellation or an exception. */
#define STROBE_SCOPED __attribute__((cleanup(strobe_hook_close)))

/* Right after strobe_hook_open: the call is about to wait for `what`. */
static inline void strobe_hook_waits(const struct strobe_hook_scope *s, uint64_t what)
{
    if (s->token && s->is_outer)
        s->thread->scope[s->token - 1].arg = what; /* the reader pairs call and waker by this argument */
    if (s->token)
        strobe_wait_begin(s->thread, what);
}

/* Right after the hooked call: how the wait for `what` ended. `shared`: see strobe_wait_end. */
static inline void strobe_hook_woken(const struct strobe_hook_scope *s, uint64_t what, enum strobe_wake how,
                                     bool shared)
{
    if (strobe_hook_is_open(s))
        strobe_wait_end(s->thread, what, how, shared);
}

/* The same for a call that does not report whether its timeout ended it: see strobe_wait_end_timed. */
static inline void strobe_hook_woken_timed(const struct strobe_hook_scope *s, uint64_t what, uint64_t deadline_ticks)
{
    if (strobe_hook_is_open(s))
        strobe_wait_end_timed(s->thread, what, deadline_ticks);
}

/* Right before the hooked call of a scope with a thread. The call releases `what`, and does not wait itself when a
 * thread waits for `what`. */
static inline void strobe_hook_passes(const struct strobe_hook_scope *s, uint64_t what, enum strobe_release how)
{
    if (strobe_hand_over(s->thread, what, how, s->site) && s->token && !s->is_outer)
        s->thread->scope[s->token - 1].released = true;
}

/* A release of `what` by a hooked call, from before the call to after it. */
struct strobe_hook_release {
    struct strobe_thread *thread;
    uint32_t capture;
    uint64_t what;
    uint64_t begin_ticks; /* result of strobe_hand_over: 0 when no thread waits */
    struct strobe_site site;
};

/* Right before the hooked call. When a thread waits for `what`, the release is noted and recorded here, because that
 * thread may continue before the hooked call returns. A call that releases `what` and then waits needs no end. */
static STROBE_ALWAYS_INLINE struct strobe_hook_release
strobe_hook_release_begin(struct strobe_thread *thread, uint64_t what, enum strobe_release how, struct strobe_site site)
{
    return (struct strobe_hook_release){
        .thread = thread,
        .capture = thread ? strobe_load_relaxed(&strobe_capture_number) : 0,
        .what = what,
        .begin_ticks = thread ? strobe_hand_over(thread, what, how, site) : 0,
        .site = site,
    };
}

/* Right after the hooked call. Reports a point event when no thread waited; else see strobe_release_end. */
static STROBE_ALWAYS_INLINE void strobe_hook_release_end(const struct strobe_hook_release *r)
{
    if (!r->thread)
        return;
    uint32_t on = strobe_switched();
    if (on == STROBE_OFF || strobe_load_relaxed(&strobe_capture_number) != r->capture)
        return;
    if (strobe_unlikely(r->begin_ticks))
        strobe_release_end(r->thread, r->what, r->begin_ticks, r->site);
    else
        strobe_point(r->thread, on, STROBE_KIND_UNLOCK, r->what, r->site);
}

#endif
