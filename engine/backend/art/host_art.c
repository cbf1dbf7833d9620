#include "engine/backend/art/host_art.h"

#include "engine/backend/linux/suspend.h"
#include "engine/backend/linux/thread_state.h"
#include "engine/capture/thread.h"

#include <stddef.h>
#include <string.h>

/* The engine passes the Linux host, which is the first member. */
_Static_assert(offsetof(struct strobe_art_host, linux) == 0, "a pointer to one is a pointer to the other");

static struct strobe_art_host *art_host_of(void *ctx)
{
    return ctx;
}

static void art_host_let_go(struct strobe_art_host *h, uint64_t thread)
{
    strobe_art_resume(h->libart, h->runtime->thread_list, (void *)(uintptr_t)thread);
}

bool strobe_art_host_watch(struct strobe_art_host *h)
{
    const struct strobe_host *host = &h->linux.host;
    uint64_t thread =
        strobe_hold_overdue(&h->hold, host->ticks(host->ctx), strobe_ticks_of_ns(host, STROBE_ART_WATCHDOG_NS),
                            strobe_ticks_of_ns(host, STROBE_ART_WALK_NS));
    if (thread)
        art_host_let_go(h, thread);
    return thread != 0;
}

/* ---- the host's calls ---- */

/* Asks the kernel whether the thread is gone. A thread that counts as gone loses its records in the ring; a thread that
 * has only left the runtime may still write there. */
static enum strobe_status gone_or_left(struct strobe_art_host *h, uint32_t tid)
{
    uint64_t cpu_ns;
    bool gone = h->linux.host.thread_cpu_ns(&h->linux, tid, &cpu_ns) == STROBE_GONE;
    return gone ? STROBE_GONE : STROBE_UNSUPPORTED;
}

/* Returns whether the right thread was suspended. The runtime reuses thin-lock ids and the memory of Threads. A
 * suspended thread cannot end, so its Thread is read in place: a safe copy costs more than the suspension. */
static bool is_same_thread(const struct strobe_art_host *h, const void *stopped, const void *wanted, uint32_t id,
                           uint32_t tid)
{
    uint32_t now[2];
    if (stopped != wanted)
        return false;
    memcpy(now, (const char *)stopped + h->runtime->thread_ids_offset, sizeof now);
    return now[0] == id && now[1] == tid;
}

/* Returns true when the runtime has given the id to the calling thread. The thread that had it before has ended then.
 */
static bool is_own_id(const struct strobe_art_host *h, const void *self, uint32_t id)
{
    uint32_t own;
    memcpy(&own, (const char *)self + h->runtime->thread_ids_offset, sizeof own);
    return own == id;
}

static enum strobe_status art_host_suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                           struct strobe_regs *out)
{
    struct strobe_art_host *h = art_host_of(ctx);
    void *wanted;
    uint32_t id;
    (void)timeout_ns;
    if (strobe_load_relaxed(blocked))
        return STROBE_UNSUPPORTED;
    if (strobe_art_threads_get(h->threads, tid, &wanted, &id) != STROBE_OK)
        return gone_or_left(h, tid);
    const void *self = strobe_art_current(h->libart);
    if (wanted == self)
        return STROBE_UNSUPPORTED; /* the runtime would abort */
    if (self && is_own_id(h, self, id))
        return gone_or_left(h, tid); /* the same */
    void *stopped = strobe_art_suspend(h->libart, h->runtime->thread_list, id);
    if (!stopped)
        return gone_or_left(h, tid) == STROBE_GONE ? STROBE_GONE : STROBE_LATE;
    bool right = is_same_thread(h, stopped, wanted, id, tid);
    if (!right || strobe_load_relaxed(blocked)) {
        strobe_art_resume(h->libart, h->runtime->thread_list, stopped);
        return right ? STROBE_UNSUPPORTED : gone_or_left(h, tid);
    }
    *out = (struct strobe_regs){0};
    h->tid = tid;
    h->blocked = blocked;
    strobe_hold_begin(&h->hold, (uint64_t)(uintptr_t)stopped, h->linux.host.ticks(h->linux.host.ctx));
    return STROBE_OK;
}

/* The runtime's suspension sets a flag that the thread reads when it returns from the call. Only the signal that stops
 * it for its native frames could interrupt the call. */
static void art_host_settle(void *ctx, uint32_t tid)
{
    if (art_host_of(ctx)->frames.on)
        strobe_linux_settle(ctx, tid);
}

static enum strobe_status art_host_resume(void *ctx, uint32_t tid)
{
    struct strobe_art_host *h = art_host_of(ctx);
    uint64_t thread = strobe_hold_claim(&h->hold);
    (void)tid;
    if (thread)
        art_host_let_go(h, thread);
    return thread ? STROBE_OK : STROBE_LATE;
}

static bool art_host_thread_runs(void *ctx, uint32_t tid)
{
    (void)ctx;
    return strobe_linux_thread_state(tid) == 'R';
}

void strobe_art_host_init(struct strobe_art_host *h, const struct strobe_libart *a, const struct strobe_art_runtime *r,
                          struct strobe_art_threads *threads, struct strobe_art_walk *walks)
{
    *h = (struct strobe_art_host){.libart = a, .runtime = r, .threads = threads, .walks = walks};
    strobe_linux_init(&h->linux, clock_gettime);
    h->linux.host.thread_runs = art_host_thread_runs;
    h->linux.host.wait_call = strobe_linux_wait_call_once;
    h->linux.host.suspend = art_host_suspend;
    h->linux.host.settle = art_host_settle;
    h->linux.host.resume = art_host_resume;
}

bool strobe_art_host_take_signal(struct strobe_art_host *h, int number)
{
    static int taken;
    static uintptr_t handler;
    struct strobe_linux *l = &h->linux;
    if (!taken && strobe_linux_take_signal(l, number, sigaction, NULL) == STROBE_OK) {
        taken = l->signal;
        handler = l->handler;
    }
    l->signal = taken;
    l->handler = handler;
    return taken;
}

/* ---- unwinders ---- */

static enum strobe_walk_end art_walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                          uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    (void)caller;
    const struct strobe_thread *t = strobe_local.thread;
    struct strobe_art_host *h = art_host_of(t->engine->host->ctx);
    void *self = strobe_art_current(h->libart);
    *count = 0;
    return self ? strobe_art_walk_whole(&h->frames, &h->walks[t->index], h->libart, self, frame, stack, frames_end, max,
                                        count)
                : STROBE_WALK_DOUBTFUL;
}

/* A running thread stops within microseconds. One that waits for a processor stops when it gets one: usually within the
 * turn of another thread. A thread that runs no managed code has no stack without its registers. */
enum { NATIVE_STOP_NS = 4000000 };

/* Finds the native frames of the suspended thread. `bounds`: its whole stack. Returns false when the thread went on
 * during the walk, so that nothing of it may be used. */
static bool walk_native_of_suspended(struct strobe_art_host *h, const struct strobe_window *bounds,
                                     enum strobe_walk_end *end)
{
    struct strobe_regs regs;
    const struct strobe_host *host = &h->linux.host;
    *end = STROBE_WALK_ROOT;
    if (!bounds->high)
        return true;
    if (!h->linux.signal || !strobe_linux_may_interrupt(&h->linux, h->tid) ||
        strobe_linux_interrupt(&h->linux, h->tid, h->blocked, NATIVE_STOP_NS, &regs) != STROBE_OK) {
        *end = strobe_art_walk_native(&h->frames, host, &h->walk, NULL, bounds);
        return true;
    }
    uint64_t low = (regs.sp & ~(uint64_t)7) - STROBE_RED_ZONE_BYTES;
    bool on_it = low >= bounds->low && low < bounds->high; /* else: a signal stack or a coroutine's */
    struct strobe_window stack = {on_it ? low : bounds->low, bounds->high, 0, bounds->root};
    *end = strobe_art_walk_native(&h->frames, host, &h->walk, on_it ? &regs : NULL, &stack);
    return strobe_linux_resume(&h->linux, h->tid) == STROBE_OK;
}

static enum strobe_walk_end art_walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                             const struct strobe_window *stack, struct strobe_stack_top *top,
                                             uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    (void)regs, (void)top;
    struct strobe_art_host *h = art_host_of(host->ctx);
    void *thread = (void *)(uintptr_t)strobe_hold_walk(&h->hold);
    enum strobe_walk_end end, native;
    *count = 0;
    if (!thread)
        return STROBE_WALK_DOUBTFUL; /* the watchdog has resumed it */
    if (h->frames.on) {
        end = strobe_art_walk_managed(&h->walk, h->libart, thread);
        if (walk_native_of_suspended(h, stack, &native))
            end = strobe_art_merge_frames(&h->walk, end, native, frames_end, max, count);
        else
            end = STROBE_WALK_DOUBTFUL;
    } else {
        end = strobe_art_walk(&h->walk, h->libart, thread, frames_end, NULL, max, count);
    }
    strobe_hold_walked(&h->hold);
    return end;
}

const struct strobe_unwinder strobe_unwinder_art = {.self = art_walk_self, .stopped = art_walk_stopped};
