/* Operations that may block, that release other threads, or that report events to the tracer. */
#include "sim/runtime/player.h"

/* ---- frames of hooks ---- */

static const struct sim_code hook_code = {.address = SIM_HOOK_CODE, .bytes = SIM_OWN_CODE_BYTES};

static uint64_t player_call_site(const struct sim_player *p)
{
    const struct sim_vthread *v = &p->v;
    if (!v->frame_count)
        return 0;
    uint32_t method = v->frames[v->frame_count - 1].method;
    return sim_call_site(method == SIM_HOOK_METHOD ? &hook_code : &p->world->code[method], v->op);
}

/* Pushes a frame of the tracer or of a blocking function. It always fits: the app's calls leave SIM_STACK_SPARE. */
static bool push_own(struct sim_player *p, uint32_t method)
{
    if (p->v.frame_count == p->v.frame_room && !sim_frames_grow(&p->v)) {
        sim_world_fail(p->world, STROBE_IO, NULL, "out of memory");
        return false;
    }
    sim_frame_push(&p->v, method, player_call_site(p), 0, false);
    return true;
}

void sim_report_point(struct sim_player *p, enum strobe_kind kind, uint64_t arg)
{
    struct sim_tracer *tracer = p->run->tracer;
    if (!tracer || !tracer->point || !push_own(p, SIM_HOOK_METHOD))
        return;
    tracer->point(tracer, &p->v, kind, arg);
    sim_frame_pop(&p->v);
}

void sim_report_release(struct sim_player *p, uint64_t what, enum strobe_release how)
{
    struct sim_tracer *tracer = p->run->tracer;
    if (!tracer || !tracer->release || !push_own(p, SIM_HOOK_METHOD))
        return;
    tracer->release(tracer, &p->v, what, how);
    sim_frame_pop(&p->v);
}

/* ---- waits ---- */

static void player_interrupt(void *thread)
{
    sim_interrupt(thread);
}

/* Injects signals that arrive while the thread waits. */
static void inject_wait_signals(const struct sim_player *p)
{
    enum { SOON_NS = 20000 };
    uint64_t now = sim_now(), amount;
    if (sim_fault_strikes(p->run->faults, SIM_FAULT_SIGNAL_STORM, p->v.spec, now, &amount) &&
        sim_at(p->run->kernel, now + (amount ? amount : SOON_NS), player_interrupt, p->v.thread) != STROBE_OK)
        sim_world_fail(p->world, STROBE_IO, NULL, "out of memory");
}

void sim_wait_begin(struct sim_player *p, enum strobe_kind kind, uint64_t what)
{
    struct sim_vthread *v = &p->v;
    struct sim_tracer *tracer = p->run->tracer;
    p->call_begin_ns = sim_player_now(p);
    sim_track_call(&p->run->truth, v->track, p->call_begin_ns, p->world->wait_name[kind], SIM_CALL_WAIT);
    p->in_scope = tracer && tracer->scope_begin && (!p->calls_looper || tracer->posts_are_scopes);
    if (p->in_scope && push_own(p, SIM_HOOK_METHOD))
        p->token = tracer->scope_begin(tracer, v, kind, what);
    push_own(p, sim_wait_method(kind));
    v->waits = kind;
    p->wait_begin_ns = sim_player_now(p);
    p->wait_what = what;
    if (p->world->scenario->fault_count)
        inject_wait_signals(p);
}

static enum strobe_wake reported_wake(enum sim_wake how, const struct sim_thread *t)
{
    switch (how) {
    case SIM_WAKE_THREAD: return t->waker ? STROBE_WAKE_RELEASED : STROBE_WAKE_NONE;
    case SIM_WAKE_SPURIOUS: return STROBE_WAKE_RELEASED; /* looks like a release to the caller */
    case SIM_WAKE_TIMEOUT: return STROBE_WAKE_TIMEOUT;
    case SIM_WAKE_INTERRUPT: return STROBE_WAKE_INTERRUPTED;
    default: return STROBE_WAKE_NONE;
    }
}

/* Removes the call that was last added to the truth. */
static void truth_remove_call(struct sim_tracks *truth, uint32_t number)
{
    if (truth->failed || truth->closed)
        return;
    struct sim_track *track = &truth->tracks[number];
    track->event_count--;
    track->depth--;
}

/* Returns a wait that the system has ended. */
static struct sim_wait ended_wait(const struct sim_player *p, enum sim_wake how)
{
    const struct sim_thread *t = p->v.thread;
    struct sim_wait w = {.begin_ns = p->call_begin_ns,
                         .end_ns = sim_player_now(p),
                         .kind = p->v.waits,
                         .what = p->wait_what,
                         .blocked = how != SIM_WAKE_NONE,
                         .waker = SIM_NOBODY};
    const struct sim_vthread *waker = how == SIM_WAKE_THREAD && t->waker ? t->waker->user : NULL;
    w.release_ns = w.end_ns;
    if (waker) {
        w.waker = (int32_t)waker->track;
        w.release_ns = t->woken_ns < w.begin_ns ? w.begin_ns : t->woken_ns < w.end_ns ? t->woken_ns : w.end_ns;
    }
    return w;
}

/* Adds the wait to the truth, unless it did not block and the call was short. A call that did not block may be long,
 * because another thread took the core meanwhile. */
static void player_add_wait(struct sim_player *p, struct sim_wait *w)
{
    const uint64_t short_ns = 2000; /* as on real threads: sim_work_limits */
    struct sim_tracks *truth = &p->run->truth;
    uint32_t track = p->v.track;
    w->end_ns = sim_player_now(p);
    if (!w->blocked && w->end_ns - w->begin_ns < short_ns) {
        truth_remove_call(truth, track);
        return;
    }
    sim_track_return(truth, track, w->end_ns, false);
    sim_track_wait(truth, track, w);
}

/* Returns half of the kernel CPU time of a timed wait; the thread spends the other half after the sleep. */
static uint64_t half_call_ns(const struct sim_player *p, bool device)
{
    const struct sim_costs *c = &p->run->options.costs;
    return sim_span_cost_ns(device ? &c->device_call : &c->sleep_call, p->wait_span_ns) / 2;
}

/* Computes the entry of a timed wait; the waiting time already passes meanwhile. Returns what is left of it, at least
 * 1: the thread sleeps in any case. */
static uint64_t enter_call(struct sim_player *p, bool device, uint64_t span_ns)
{
    p->wait_span_ns = span_ns;
    uint64_t ns = half_call_ns(p, device);
    if (ns)
        sim_compute_in_kernel(ns);
    return span_ns > ns ? span_ns - ns : 1;
}

static void leave_call(struct sim_player *p, enum sim_wake how)
{
    /* The kernel charges a thread that another one wakes: see struct sim_machine. */
    bool by_time = how != SIM_WAKE_NONE && how != SIM_WAKE_THREAD;
    uint64_t ns = by_time ? half_call_ns(p, how == SIM_WAKE_DEVICE) : 0;
    if (how != SIM_WAKE_NONE && p->v.wait_cost)
        sim_tracer_charge(&p->v, (uint64_t)(p->v.wait_cost_part *
                                            (double)sim_span_cost_ns(p->v.wait_cost, sim_now() - p->wait_begin_ns)));
    if (ns)
        sim_compute_in_kernel(ns);
}

void sim_wait_end(struct sim_player *p, enum sim_wake how)
{
    struct sim_vthread *v = &p->v;
    struct sim_tracer *tracer = p->run->tracer;
    enum strobe_kind kind = v->waits;
    leave_call(p, how);
    struct sim_wait wait = ended_wait(p, how);
    v->waits = STROBE_KIND_NONE;
    sim_frame_pop(v);
    if (p->in_scope && tracer->scope_end)
        tracer->scope_end(tracer, v, p->token, kind, p->wait_what, reported_wake(how, v->thread));
    if (p->in_scope)
        sim_frame_pop(v);
    player_add_wait(p, &wait);
    v->shared = false;
}

void sim_play_call_looper(struct sim_player *p, struct sim_sem *event)
{
    p->calls_looper = true;
    sim_wait_begin(p, STROBE_KIND_WRITE, 0);
    sim_sem_post(event);
    sim_leave_kernel();
    sim_wait_end(p, SIM_WAKE_NONE);
    p->calls_looper = false;
}

/* ---- locks ---- */

static uint64_t lock_id(const struct sim_op *op)
{
    return sim_what(SIM_WHAT_LOCK, op->object);
}

/* Ends the wait for a lock that the thread now holds. Hooks take time, and sim_run_kill must not end the thread
 * meanwhile. */
static void end_locking(struct sim_player *p, enum sim_wake how)
{
    p->held++;
    sim_wait_end(p, how);
}

static void take_mutex(struct sim_player *p, const struct sim_op *op, enum strobe_kind kind)
{
    struct sim_mutex *m = &p->world->mutexes[op->object];
    if (p->run->tracer && p->run->tracer->tries_locks_first && sim_mutex_trylock(m)) {
        p->held++;
        sim_report_point(p, kind, lock_id(op));
        return;
    }
    sim_wait_begin(p, kind, lock_id(op));
    end_locking(p, sim_mutex_lock(m));
}

bool sim_play_lock(struct sim_player *p, const struct sim_op *op)
{
    struct sim_rwlock *l = &p->world->rwlocks[op->object];
    switch (op->kind) {
    case SIM_OP_MONITOR: take_mutex(p, op, STROBE_KIND_MONITOR); break;
    case SIM_OP_READ_LOCK:
        p->v.shared = true;
        sim_wait_begin(p, STROBE_KIND_RWLOCK, lock_id(op));
        end_locking(p, sim_rwlock_read(l));
        break;
    case SIM_OP_WRITE_LOCK:
        sim_wait_begin(p, STROBE_KIND_RWLOCK, lock_id(op));
        end_locking(p, sim_rwlock_write(l));
        break;
    default: take_mutex(p, op, STROBE_KIND_MUTEX);
    }
    return !p->world->failed;
}

void sim_play_unlock(struct sim_player *p, const struct sim_op *op)
{
    struct sim_mutex *m = &p->world->mutexes[op->object];
    if (op->kind == SIM_OP_READ_LOCK || op->kind == SIM_OP_WRITE_LOCK) {
        sim_report_release(p, lock_id(op), op->kind == SIM_OP_READ_LOCK ? STROBE_RELEASE_SHARED : STROBE_RELEASE_LOCK);
        sim_rwlock_unlock(&p->world->rwlocks[op->object]);
    } else {
        if (m->depth <= 1)
            sim_report_release(p, lock_id(op), STROBE_RELEASE_LOCK);
        sim_mutex_unlock(m);
    }
    p->held--;
    sim_leave_kernel();
}

/* A wait for a condition first releases its lock, and reports that release to the tracer. */
static void wait_cond(struct sim_player *p, const struct sim_op *op, uint64_t timeout)
{
    struct sim_mutex *m = &p->world->mutexes[op->other];
    if (m->owner != p->v.thread) {
        sim_world_fail(p->world, STROBE_BAD_INPUT, op, "a wait with its lock held");
        return;
    }
    sim_report_release(p, sim_what(SIM_WHAT_LOCK, op->other), STROBE_RELEASE_LOCK);
    sim_wait_begin(p, STROBE_KIND_COND, sim_what(SIM_WHAT_COND, op->object));
    sim_wait_end(p, sim_cond_wait(&p->world->conds[op->object], m, timeout));
}

/* ---- threads ---- */

/* Returns a thread of the spec: the first parked one in order of start, else the first that lives. */
static struct sim_vthread *choose_thread_to_unpark(const struct sim_run *run, uint32_t spec)
{
    struct sim_vthread *living = NULL;
    for (uint32_t i = 0; i < run->thread_count; i++) {
        struct sim_vthread *v = run->threads[i];
        if (v->spec != spec || v->ended)
            continue;
        if (v->waits == STROBE_KIND_PARK)
            return v;
        living = living ? living : v;
    }
    return living;
}

static void player_unpark(struct sim_player *p, uint32_t spec)
{
    struct sim_vthread *v = choose_thread_to_unpark(p->run, spec);
    if (!v)
        return;
    sim_report_release(p, sim_what(SIM_WHAT_PARK, v->thread->serial), STROBE_RELEASE_TARGET);
    sim_unpark(v->thread);
    sim_leave_kernel();
}

static void player_join(struct sim_player *p, uint32_t spec)
{
    for (uint32_t i = p->run->thread_count; i-- > 0;) {
        const struct sim_vthread *v = p->run->threads[i];
        if (v->spec != spec || v->player->parent != &p->v)
            continue;
        sim_wait_begin(p, STROBE_KIND_THREAD, sim_what(SIM_WHAT_THREAD, v->thread->serial));
        sim_wait_end(p, sim_join(v->thread));
        return;
    }
}

/* ---- everything else that waits ---- */

static void device(struct sim_player *p, enum strobe_kind kind, uint64_t latency)
{
    sim_wait_begin(p, kind, 0);
    uint64_t left = latency ? enter_call(p, true, latency) : 0;
    sim_wait_end(p, left ? sim_io(left) : SIM_WAKE_NONE);
}

void sim_play_wait_op(struct sim_player *p, const struct sim_op *op, uint64_t amount)
{
    struct sim_world *w = p->world;
    uint64_t timeout = amount ? amount : UINT64_MAX;
    switch (op->kind) {
    case SIM_OP_WAIT: wait_cond(p, op, timeout); break;
    case SIM_OP_NOTIFY:
        sim_report_release(p, sim_what(SIM_WHAT_COND, op->object), STROBE_RELEASE_ONE);
        sim_cond_notify(&w->conds[op->object]);
        sim_leave_kernel();
        break;
    case SIM_OP_NOTIFY_ALL:
        sim_report_release(p, sim_what(SIM_WHAT_COND, op->object), STROBE_RELEASE_ALL);
        sim_cond_notify_all(&w->conds[op->object]);
        sim_leave_kernel();
        break;
    case SIM_OP_SEM_WAIT:
        sim_wait_begin(p, STROBE_KIND_SEM, sim_what(SIM_WHAT_SEM, op->object));
        sim_wait_end(p, sim_sem_wait(&w->sems[op->object], timeout));
        break;
    case SIM_OP_SEM_POST:
        sim_report_release(p, sim_what(SIM_WHAT_SEM, op->object), STROBE_RELEASE_ONE);
        sim_sem_post(&w->sems[op->object]);
        sim_leave_kernel();
        break;
    case SIM_OP_PARK:
        sim_wait_begin(p, STROBE_KIND_PARK, sim_what(SIM_WHAT_PARK, p->v.thread->serial));
        sim_wait_end(p, sim_park(timeout));
        break;
    case SIM_OP_UNPARK: player_unpark(p, op->object); break;
    case SIM_OP_READ: device(p, STROBE_KIND_READ, amount); break;
    case SIM_OP_WRITE: device(p, STROBE_KIND_WRITE, amount); break;
    case SIM_OP_OPEN: device(p, STROBE_KIND_OPEN, amount); break;
    case SIM_OP_SYNC: device(p, STROBE_KIND_SYNC, amount); break;
    case SIM_OP_NET: device(p, STROBE_KIND_NET, amount); break;
    case SIM_OP_IPC: device(p, STROBE_KIND_IPC, amount); break;
    case SIM_OP_LOAD: device(p, STROBE_KIND_LOAD, amount); break;
    case SIM_OP_SLEEP:
        sim_wait_begin(p, STROBE_KIND_SLEEP, 0);
        amount = amount ? enter_call(p, false, amount) : 0;
        sim_wait_end(p, amount ? sim_sleep_until(sim_now() + amount) : SIM_WAKE_NONE);
        break;
    case SIM_OP_JOIN: player_join(p, op->object); break;
    default: break;
    }
}

/* ---- the collector ---- */

/* Overlapping collections are one collection for the threads that stop for them. The last one to end releases the
 * threads that have stopped so far. A thread that stops while the others are released waits for the next collection. */
void sim_play_collect(struct sim_player *p, uint64_t amount)
{
    struct sim_world *w = p->world;
    if (w->collecting++ == 0)
        w->collection++;
    p->held++;
    sim_play_work(p, amount);
    p->held--;
    if (--w->collecting)
        return;
    struct sim_player *stopped = w->stopped;
    w->stopped = NULL;
    w->last_stopped = &w->stopped;
    sim_report_release(p, sim_what(SIM_WHAT_GC, w->collection), STROBE_RELEASE_ALL);
    for (struct sim_player *next; stopped; stopped = next) {
        next = stopped->next_stopped;
        sim_sem_post(&stopped->collected);
    }
}

/* Waits for the end of the collection for which the thread has stopped. A signal does not end this wait. */
static enum sim_wake wait_for_collector(struct sim_player *p)
{
    bool interrupted = false;
    enum sim_wake how;
    p->next_stopped = NULL;
    *p->world->last_stopped = p;
    p->world->last_stopped = &p->next_stopped;
    while ((how = sim_sem_wait(&p->collected, UINT64_MAX)) == SIM_WAKE_INTERRUPT)
        interrupted = true;
    return how == SIM_WAKE_NONE && interrupted ? SIM_WAKE_INTERRUPT : how;
}

void sim_play_safepoint(struct sim_player *p)
{
    struct sim_world *w = p->world;
    const struct sim_vthread *v = &p->v;
    if (!w->code[v->frames[v->frame_count - 1].method].managed)
        return;
    while (w->collecting) {
        uint32_t collection = w->collection;
        sim_wait_begin(p, STROBE_KIND_GC, sim_what(SIM_WHAT_GC, collection));
        bool goes_on = w->collecting && w->collection == collection;
        sim_wait_end(p, goes_on ? wait_for_collector(p) : SIM_WAKE_NONE);
    }
}
