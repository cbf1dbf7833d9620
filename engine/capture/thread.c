#include "engine/capture/thread.h"

#include "engine/capture/blocking.h"

_Thread_local struct strobe_local strobe_local;
strobe_a32 strobe_registering;

/* A kind counts as waiting until a call of it has returned at once. */
enum {
    WAITS_AT_FIRST = 1 << STROBE_KIND_MUTEX | 1 << STROBE_KIND_RWLOCK | 1 << STROBE_KIND_COND | 1 << STROBE_KIND_SEM |
                     1 << STROBE_KIND_SYNC | 1 << STROBE_KIND_POLL | 1 << STROBE_KIND_NET | 1 << STROBE_KIND_SLEEP |
                     1 << STROBE_KIND_THREAD | 1 << STROBE_KIND_LOAD | 1 << STROBE_KIND_MONITOR |
                     1 << STROBE_KIND_PARK | 1 << STROBE_KIND_GC | 1 << STROBE_KIND_IPC
};

/* Makes the sampler poll a new thread within an interval. Until its first sample only its hooked calls show where the
 * thread is. */
static void end_rest_of_sampler(struct strobe_engine *e)
{
    if (strobe_exchange_acq_rel(&e->sampler_rest, STROBE_SAMPLER_NEWCOMER) == STROBE_SAMPLER_RESTS)
        e->host->rouse(e->host->ctx, &e->sampler_rest);
}

struct strobe_thread *strobe_thread_attach(struct strobe_engine *e, uint32_t tid, bool is_main, const char *name,
                                           const struct strobe_stack_bounds *stack)
{
    const struct strobe_config *c = &e->config;
    uint32_t index;
    if (strobe_session_add_thread(&e->session, tid, is_main, e->host->ticks(e->host->ctx), &index) != STROBE_OK)
        return NULL;
    struct strobe_thread *t = &e->threads[index];
    t->engine = e;
    t->ticks = e->host->ticks;
    t->ticks_ctx = e->host->ctx;
    t->entry = &e->session.threads[index];
    t->index = index;
    t->stack_low = stack->low;
    t->stack_high = stack->high;
    t->root_frame = stack->root_frame;
    t->blocking_kinds = WAITS_AT_FIRST;
    uint64_t interval_ns = is_main ? c->interval_main_ns : c->interval_other_ns;
    strobe_gate_init(&t->gate, strobe_ticks_of_ns(e->host, interval_ns), c->skip_max);
    strobe_ring_writer_init(&e->session.ring, &t->writer, tid);
    strobe_thread_rename(t, name);
    strobe_store_release(&t->ready, 1);
    strobe_local.thread = t;
    end_rest_of_sampler(e);
    return t;
}

/* A copy of the session may read the name meanwhile. */
void strobe_thread_rename(struct strobe_thread *t, const char *name)
{
    char *to = t->entry->name;
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof t->entry->name; i++)
        __atomic_store_n(&to[i], name[i], __ATOMIC_RELAXED);
    __atomic_store_n(&to[i], '\0', __ATOMIC_RELAXED);
}

void strobe_thread_detach(struct strobe_thread *t)
{
    struct strobe_engine *e = t->engine;
    uint32_t ended = t->cut_short || strobe_load_relaxed(&t->inside) ? STROBE_THREAD_CUT_SHORT : STROBE_THREAD_ENDED;
    strobe_store_relaxed(&t->inside, 1);
    strobe_wait_drop_all(t);
    t->scope_count = 0; /* a hooked call may end after this: its scope is not recorded */
    strobe_fence_signal();
    /* A relaxed store is enough: it publishes no more than LIVE did, in whose release sequence it is. */
    strobe_store_relaxed(&t->entry->state, STROBE_THREAD_EXITING);
    strobe_ring_writer_close(&e->session.ring, &t->writer);
    t->entry->end_ticks = e->host->ticks(e->host->ctx);
    strobe_store_release(&t->entry->state, ended);
    strobe_local.busy = 1;
    strobe_local.thread = NULL;
    if (t->buffers && ended == STROBE_THREAD_ENDED) /* else the thread may have been stopped while it changed them */
        strobe_buffers_give_back(&e->buffers, t->buffers);
    t->buffers = NULL;
    strobe_thread_leave(t);
}
