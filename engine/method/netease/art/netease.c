#include "engine/method/netease/art/netease.h"

#include "engine/capture/guard.h"

#include <stddef.h>

_Static_assert(offsetof(struct strobe_netease_sampler, host) == 0, "a pointer to one is a pointer to the other");

void strobe_netease_sampler_init(struct strobe_netease_sampler *s, const struct strobe_libart *a,
                                 const struct strobe_art_runtime *r, struct strobe_art_threads *threads,
                                 const struct strobe_netease_ring *ring)
{
    *s = (struct strobe_netease_sampler){.ring = ring};
    strobe_art_host_init(&s->host, a, r, threads, NULL);
}

/* ---- threads ---- */

/* The arguments of the checkpoint's closure. The runtime may run the closure long after the request, so they stay. */
static struct {
    const struct strobe_art_runtime *runtime;
    const struct strobe_host *host;
    struct strobe_art_threads *threads;
} meeting;

static void netease_keep_closure(void *object)
{
    (void)object;
}

/* Adds the thread to the table. Runs on the thread itself, or on another thread while this one is suspended. */
static void netease_meet_thread(void *closure, void *thread)
{
    uint32_t thin_lock_id, tid;
    (void)closure;
    if (strobe_art_thread_ids(meeting.runtime, meeting.host, thread, &thin_lock_id, &tid))
        strobe_art_threads_put(meeting.threads, tid, thread, thin_lock_id);
}

/* art::Closure: two destructors, Run(Thread *). */
static void *const closure_vtable[] = {(void *)netease_keep_closure, (void *)netease_keep_closure,
                                       (void *)netease_meet_thread};
static struct strobe_art_closure closure = {closure_vtable};

void strobe_netease_meet_threads(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                                 const struct strobe_host *host, struct strobe_art_threads *threads)
{
    meeting.runtime = r;
    meeting.host = host;
    meeting.threads = threads;
    strobe_art_run_checkpoint(a, r->thread_list, &closure);
}

/* ---- one capture ---- */

/* Returns whether the method at a pointer can be read. The cache holds pointers that were readable before. */
static bool is_readable_method(struct strobe_netease_sampler *s, uint64_t method)
{
    const struct strobe_host *host = &s->host.linux.host;
    uint64_t *known = &s->known[method >> 3 & (STROBE_NETEASE_KNOWN - 1)];
    uint32_t word;
    size_t copied;
    if (*known == method)
        return true;
    if (method % sizeof word || host->read(host->ctx, method, &word, sizeof word, &copied) != STROBE_OK ||
        copied != sizeof word)
        return false;
    *known = method;
    return true;
}

static bool are_readable_methods(struct strobe_netease_sampler *s, const uint64_t *frames, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_readable_method(s, frames[i]))
            return false;
    return true;
}

/* Walks the suspended thread and resumes it. STROBE_LATE: the watchdog has resumed it before. */
static enum strobe_status netease_walk_and_resume(struct strobe_netease_sampler *s, uint32_t tid,
                                                  struct strobe_netease_capture *c)
{
    const struct strobe_host *host = &s->host.linux.host;
    enum strobe_walk_end end = STROBE_WALK_ROOT;
    strobe_guard_enter();
    c->ticks = host->ticks(host->ctx);
    s->counts.stops++;
    void *thread = (void *)(uintptr_t)strobe_hold_walk(&s->host.hold);
    if (thread) {
        end = strobe_art_walk_methods(&s->host.walk, s->host.libart, thread, s->frames + STROBE_NETEASE_FRAMES,
                                      STROBE_NETEASE_FRAMES, &c->count);
        strobe_hold_walked(&s->host.hold);
    }
    enum strobe_status left = host->resume(host->ctx, tid);
    strobe_guard_leave();
    s->counts.resumes++; /* by the sampler or the watchdog */
    c->cut = end == STROBE_WALK_CUT;
    return thread ? left : STROBE_LATE;
}

static enum strobe_status netease_count_outcome(uint64_t *counter, enum strobe_status status)
{
    *counter += 1;
    return status;
}

enum strobe_status strobe_netease_capture(struct strobe_netease_sampler *s, uint32_t tid, uint64_t *number)
{
    static const strobe_a32 never_blocked;
    const struct strobe_host *host = &s->host.linux.host;
    struct strobe_netease_counts *n = &s->counts;
    struct strobe_netease_capture c = {.tid = tid};
    struct strobe_regs regs;
    n->wishes++;
    enum strobe_status stopped = host->suspend(host->ctx, tid, &never_blocked, 0, &regs);
    if (stopped == STROBE_GONE)
        return netease_count_outcome(&n->gone, STROBE_GONE);
    if (stopped != STROBE_OK)
        return netease_count_outcome(&n->not_stopped, STROBE_LATE);
    if (netease_walk_and_resume(s, tid, &c) != STROBE_OK)
        return netease_count_outcome(&n->let_go, STROBE_LATE);
    const uint64_t *frames = s->frames + STROBE_NETEASE_FRAMES - c.count;
    if (c.count == 0)
        return netease_count_outcome(&n->empty, STROBE_NO_ENTRY);
    if (!are_readable_methods(s, frames, c.count))
        return netease_count_outcome(&n->illegal, STROBE_UNREADABLE);
    if (strobe_netease_ring_put(s->ring, &c, frames, c.count, number) != STROBE_OK)
        return netease_count_outcome(&n->refused, STROBE_FULL);
    return netease_count_outcome(&n->captured, STROBE_OK);
}
