#include "engine/backend/art/host_art.h"

#include "engine/capture/thread.h"

#include <stddef.h>

/* The engine's calls carry the Linux host, which comes first. */
_Static_assert(offsetof(struct strobe_art_host, linux) == 0, "a pointer to one is a pointer to the other");

static struct strobe_art_host *of(void *ctx)
{
    return ctx;
}

static void let_go(struct strobe_art_host *h, uint64_t thread)
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
        let_go(h, thread);
    return thread != 0;
}

/* ---- the host's calls ---- */

/* The kernel has the last word: what counts as gone loses what it has in the ring, and a thread that has only left the
 * runtime may still write there. */
static enum strobe_status gone_or_left(struct strobe_art_host *h, uint32_t tid)
{
    uint64_t cpu_ns;
    bool gone = h->linux.host.thread_cpu_ns(&h->linux, tid, &cpu_ns) == STROBE_GONE;
    return gone ? STROBE_GONE : STROBE_UNSUPPORTED;
}

/* Thin-lock ids are used again, Threads' memory as well. */
static bool is_the_one(const struct strobe_art_host *h, void *stopped, void *wanted, uint32_t id, uint32_t tid)
{
    uint32_t id_now, tid_now;
    return stopped == wanted && strobe_art_thread_ids(h->runtime, &h->linux.host, stopped, &id_now, &tid_now) &&
           id_now == id && tid_now == tid;
}

static enum strobe_status suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out)
{
    struct strobe_art_host *h = of(ctx);
    void *wanted;
    uint32_t id;
    (void)timeout_ns;
    if (strobe_load_relaxed(blocked))
        return STROBE_UNSUPPORTED;
    if (strobe_art_threads_get(h->threads, tid, &wanted, &id) != STROBE_OK)
        return gone_or_left(h, tid);
    if (wanted == strobe_art_current(h->libart))
        return STROBE_UNSUPPORTED; /* the runtime would abort */
    void *stopped = strobe_art_suspend(h->libart, h->runtime->thread_list, id);
    if (!stopped)
        return gone_or_left(h, tid) == STROBE_GONE ? STROBE_GONE : STROBE_LATE;
    bool right = is_the_one(h, stopped, wanted, id, tid);
    if (!right || strobe_load_relaxed(blocked)) {
        strobe_art_resume(h->libart, h->runtime->thread_list, stopped);
        return right ? STROBE_UNSUPPORTED : gone_or_left(h, tid);
    }
    *out = (struct strobe_regs){0};
    strobe_hold_begin(&h->hold, (uint64_t)(uintptr_t)stopped, h->linux.host.ticks(h->linux.host.ctx));
    return STROBE_OK;
}

/* Nothing is on its way to a thread that it could meet in a call: the runtime sets a flag that the thread looks at when
 * it comes back. */
static void settle(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
}

static enum strobe_status resume(void *ctx, uint32_t tid)
{
    struct strobe_art_host *h = of(ctx);
    uint64_t thread = strobe_hold_claim(&h->hold);
    (void)tid;
    if (thread)
        let_go(h, thread);
    return thread ? STROBE_OK : STROBE_LATE;
}

void strobe_art_host_init(struct strobe_art_host *h, const struct strobe_libart *a, const struct strobe_art_runtime *r,
                          struct strobe_art_threads *threads, struct strobe_art_walk *walks)
{
    *h = (struct strobe_art_host){.libart = a, .runtime = r, .threads = threads, .walks = walks};
    strobe_linux_init(&h->linux, clock_gettime);
    h->linux.host.suspend = suspend;
    h->linux.host.settle = settle;
    h->linux.host.resume = resume;
}

/* ---- unwinders ---- */

static enum strobe_walk_end walk_self(uint64_t frame, uint64_t caller, const struct strobe_window *stack,
                                      uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    (void)frame, (void)caller, (void)stack;
    const struct strobe_thread *t = strobe_local.thread;
    struct strobe_art_host *h = of(t->engine->host->ctx);
    void *self = strobe_art_current(h->libart);
    *count = 0;
    return self ? strobe_art_walk(&h->walks[t->index], h->libart, self, frames_end, NULL, max, count)
                : STROBE_WALK_DOUBTFUL;
}

static enum strobe_walk_end walk_stopped(const struct strobe_host *host, const struct strobe_regs *regs,
                                         const struct strobe_window *stack, struct strobe_stack_top *top,
                                         uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    (void)regs, (void)stack, (void)top;
    struct strobe_art_host *h = of(host->ctx);
    void *thread = (void *)(uintptr_t)strobe_hold_walk(&h->hold);
    *count = 0;
    if (!thread)
        return STROBE_WALK_DOUBTFUL; /* the watchdog has let it go */
    enum strobe_walk_end end = strobe_art_walk(&h->walk, h->libart, thread, frames_end, NULL, max, count);
    strobe_hold_walked(&h->hold);
    return end;
}

const struct strobe_unwinder strobe_unwinder_art = {.self = walk_self, .stopped = walk_stopped};
