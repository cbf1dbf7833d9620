/* Waits and the objects of waits. Each queue of waiters is in order of arrival. */
#include "sim/kernel/inside.h"

/* ---- waiting and being woken */

static void waiters_append(struct sim_waiters *line, struct sim_thread_inside *t)
{
    t->previous = line->last;
    t->next = NULL;
    *(line->last ? &line->last->next : &line->first) = t;
    line->last = t;
}

static void unlink_from(struct sim_waiters *line, struct sim_thread_inside *t)
{
    *(t->previous ? &t->previous->next : &line->first) = t->next;
    *(t->next ? &t->next->previous : &line->last) = t->previous;
}

/* Returns the lateness of the end of a timed wait. */
static uint64_t late_ns(struct sim_kernel *k, const struct sim_thread_inside *t, enum sim_wait wait, uint64_t span_ns)
{
    const struct sim_machine *m = &k->options.machine;
    if (k->options.schedule != SIM_FAIR || wait == SIM_WAIT_STOP)
        return 0;
    if (t->realtime && wait != SIM_WAIT_IO)
        return sim_lateness_draw(&m->realtime, &k->chance);
    return sim_span_lateness_draw(wait == SIM_WAIT_IO ? &m->device : &m->sleep, span_ns, &k->chance);
}

/* Computes the exit from the system call of a wait that another thread ended. */
static void leave_wait(struct sim_thread_inside *t)
{
    uint64_t ns = t->leaves_wait_ns;
    t->leaves_wait_ns = 0;
    sim_compute_in_kernel(ns);
}

/* Takes the running thread off its core until sim_rouse or the deadline; UINT64_MAX: no deadline. */
enum sim_wake sim_block(struct sim_thread_inside *t, enum sim_wait wait, const void *object, struct sim_waiters *line,
                        uint64_t deadline_ns)
{
    struct sim_kernel *k = t->kernel;
    t->waits = wait;
    t->object = object;
    t->line = line;
    t->taking = SIM_WAIT_NONE;
    t->shown.waker = NULL;
    if (line)
        waiters_append(line, t);
    if (deadline_ns != UINT64_MAX) {
        uint64_t span_ns = deadline_ns > k->now_ns ? deadline_ns - k->now_ns : 0;
        sim_heap_put(&k->events, &t->timer, sim_later(deadline_ns, late_ns(k, t, wait, span_ns)));
    }
    t->shown.state = SIM_BLOCKED;
    t->shown.voluntary_switches++;
    k->running = NULL;
    sim_off_core(k, t, true);
    sim_refill(k);
    sim_deadlock_check(k, t);
    sim_leave(k, t);
    enum sim_wake how = t->wake;
    if (t->leaves_wait_ns)
        leave_wait(t);
    return how;
}

/* Clears a thread's wait. The caller decides its next state. */
void sim_end_wait(struct sim_thread_inside *t)
{
    if (t->line)
        unlink_from(t->line, t);
    sim_heap_remove(&t->kernel->events, &t->timer);
    t->waits = SIM_WAIT_NONE;
    t->object = NULL;
    t->line = NULL;
    t->spurious = false;
}

/* Ends the wait of a blocked thread. */
void sim_rouse(struct sim_thread_inside *t, enum sim_wake how, struct sim_thread_inside *waker)
{
    struct sim_kernel *k = t->kernel;
    bool stopped_somebody = t->waits == SIM_WAIT_STOP; /* the lateness of stops covers its way back */
    sim_end_wait(t);
    t->wake = how;
    t->shown.waker = waker ? &waker->shown : NULL;
    t->shown.woken_ns = k->now_ns;
    t->shown.state = SIM_READY;
    if (t->stopped)
        t->held_since_ns = k->now_ns;
    else if (t->errand)
        t->errand = false; /* it is in the line already */
    else {
        t->woken_late = waker && waker != t && !stopped_somebody;
        sim_make_ready(k, t);
    }
}

/* Returns the kind of a wake-up: without a running thread it is a device's. */
static enum sim_wake wake_kind_of(const struct sim_thread_inside *self)
{
    return self ? SIM_WAKE_THREAD : SIM_WAKE_DEVICE;
}

void sim_rouse_all(struct sim_waiters *line, struct sim_thread_inside *waker)
{
    while (line->first)
        sim_rouse(line->first, wake_kind_of(waker), waker);
}

static struct sim_thread_inside *waiters_choose(struct sim_kernel *k, const struct sim_waiters *line)
{
    return k->options.schedule == SIM_ADVERSARIAL ? sim_adversary_waiter(k, line) : line->first;
}

/* Wakes a waiter, if there is one, to take a lock. */
static void wake_for_lock(struct sim_thread_inside *t, void *lock, struct sim_thread_inside *by)
{
    enum sim_wait wait = t->waits;
    sim_rouse(t, SIM_WAKE_THREAD, by);
    t->taking = wait;
    t->taken = lock;
}

enum sim_blocked_by sim_blocked_by(const struct sim_thread *t)
{
    if (t->state != SIM_BLOCKED)
        return SIM_BLOCKED_BY_NOTHING;
    switch (t->inside->waits) {
    case SIM_WAIT_SLEEP: return SIM_BLOCKED_BY_TIME;
    case SIM_WAIT_IO: return SIM_BLOCKED_BY_DEVICE;
    default: return SIM_BLOCKED_BY_THREAD;
    }
}

/* ---- time */

enum sim_wake sim_sleep_until(uint64_t deadline_ns)
{
    struct sim_thread_inside *t = sim_enter();
    if (deadline_ns <= t->kernel->now_ns)
        return SIM_WAKE_NONE;
    return sim_block(t, SIM_WAIT_SLEEP, NULL, NULL, deadline_ns);
}

enum sim_wake sim_io(uint64_t latency_ns)
{
    struct sim_thread_inside *t = sim_enter();
    if (!latency_ns)
        return SIM_WAKE_NONE;
    return sim_block(t, SIM_WAIT_IO, NULL, NULL, sim_later(t->kernel->now_ns, latency_ns));
}

void sim_interrupt(struct sim_thread *thread)
{
    struct sim_thread_inside *t = thread->inside;
    sim_enter_any(t->kernel);
    if (sim_interruptible(t))
        sim_rouse(t, SIM_WAKE_INTERRUPT, NULL);
}

/* ---- mutexes */

static void mutex_own(struct sim_mutex *m, struct sim_thread_inside *t)
{
    m->owner = &t->shown;
    m->depth = 1;
    t->taking = SIM_WAIT_NONE;
}

/* Takes the mutex after a wait. Other waiters may be left, so it stays contended. */
static void mutex_own_after_wait(struct sim_mutex *m, struct sim_thread_inside *t)
{
    mutex_own(m, t);
    m->contended = true;
}

static void mutex_wake_next(struct sim_mutex *m, struct sim_kernel *k, struct sim_thread_inside *by)
{
    if (m->waiters.first)
        wake_for_lock(waiters_choose(k, &m->waiters), m, by);
}

static void mutex_free(struct sim_mutex *m, struct sim_thread_inside *t)
{
    m->owner = NULL;
    m->depth = 0;
    m->released_by = &t->shown;
    m->released_ns = t->kernel->now_ns;
    if (m->contended) {
        m->contended = false;
        mutex_wake_next(m, t->kernel, t);
    }
}

static enum sim_wake mutex_take(struct sim_mutex *m, struct sim_thread_inside *t)
{
    if (!m->owner) {
        mutex_own(m, t);
        return SIM_WAKE_NONE;
    }
    do {
        m->contended = true;
        sim_block(t, SIM_WAIT_MUTEX, m, &m->waiters, UINT64_MAX);
    } while (m->owner);
    mutex_own_after_wait(m, t);
    t->shown.waker = m->released_by;
    t->shown.woken_ns = m->released_ns;
    return SIM_WAKE_THREAD;
}

enum sim_wake sim_mutex_lock(struct sim_mutex *m)
{
    struct sim_thread_inside *t = sim_enter();
    if (m->recursive && m->owner == &t->shown) {
        m->depth++;
        return SIM_WAKE_NONE;
    }
    return mutex_take(m, t);
}

bool sim_mutex_trylock(struct sim_mutex *m)
{
    struct sim_thread_inside *t = sim_enter();
    if (!m->owner)
        mutex_own(m, t);
    else if (m->recursive && m->owner == &t->shown)
        m->depth++;
    else
        return false;
    return true;
}

void sim_mutex_unlock(struct sim_mutex *m)
{
    struct sim_thread_inside *t = sim_enter();
    assert(m->owner == &t->shown);
    if (--m->depth == 0)
        mutex_free(m, t);
}

/* ---- read-write locks: readers first, as glibc's default */

/* Wakes either one writer or all readers. */
static void rwlock_wake_next(struct sim_rwlock *l, struct sim_kernel *k, struct sim_thread_inside *by)
{
    if (!l->waiters.first)
        return;
    struct sim_thread_inside *t = waiters_choose(k, &l->waiters);
    if (t->waits == SIM_WAIT_WRITE) {
        wake_for_lock(t, l, by);
        return;
    }
    for (struct sim_thread_inside *next = l->waiters.first; (t = next);) {
        next = t->next;
        if (t->waits == SIM_WAIT_READ)
            wake_for_lock(t, l, by);
    }
}

enum sim_wake sim_rwlock_read(struct sim_rwlock *l)
{
    struct sim_thread_inside *t = sim_enter();
    enum sim_wake how = SIM_WAKE_NONE;
    for (; l->writer; how = SIM_WAKE_THREAD)
        sim_block(t, SIM_WAIT_READ, l, &l->waiters, UINT64_MAX);
    l->readers++;
    t->taking = SIM_WAIT_NONE;
    if (how == SIM_WAKE_THREAD) { /* independent of later releases by readers */
        t->shown.waker = l->written_by;
        t->shown.woken_ns = l->written_ns;
    }
    return how;
}

enum sim_wake sim_rwlock_write(struct sim_rwlock *l)
{
    struct sim_thread_inside *t = sim_enter();
    enum sim_wake how = SIM_WAKE_NONE;
    for (; l->writer || l->readers; how = SIM_WAKE_THREAD)
        sim_block(t, SIM_WAIT_WRITE, l, &l->waiters, UINT64_MAX);
    l->writer = &t->shown;
    t->taking = SIM_WAIT_NONE;
    if (how == SIM_WAKE_THREAD) {
        t->shown.waker = l->released_by;
        t->shown.woken_ns = l->released_ns;
    }
    return how;
}

bool sim_rwlock_try_read(struct sim_rwlock *l)
{
    sim_enter();
    if (l->writer)
        return false;
    l->readers++;
    return true;
}

bool sim_rwlock_try_write(struct sim_rwlock *l)
{
    struct sim_thread_inside *t = sim_enter();
    if (l->writer || l->readers)
        return false;
    l->writer = &t->shown;
    return true;
}

void sim_rwlock_unlock(struct sim_rwlock *l)
{
    struct sim_thread_inside *t = sim_enter();
    if (l->writer) {
        assert(l->writer == &t->shown);
        l->writer = NULL;
        l->written_by = &t->shown;
        l->written_ns = t->kernel->now_ns;
    } else {
        assert(l->readers > 0);
        if (--l->readers)
            return;
    }
    l->released_by = &t->shown;
    l->released_ns = t->kernel->now_ns;
    rwlock_wake_next(l, t->kernel, t);
}

/* ---- conditions, semaphores, parks, joins */

enum sim_wake sim_cond_wait(struct sim_cond *c, struct sim_mutex *m, uint64_t timeout_ns)
{
    struct sim_thread_inside *t = sim_enter();
    struct sim_kernel *k = t->kernel;
    uint64_t deadline_ns = sim_later(k->now_ns, timeout_ns), after_ns;
    uint32_t depth = m->depth;
    assert(m->owner == &t->shown);
    mutex_free(m, t);
    if (k->options.schedule == SIM_ADVERSARIAL && sim_adversary_spurious(k, &after_ns) && after_ns < timeout_ns) {
        t->spurious = true;
        deadline_ns = sim_later(k->now_ns, after_ns);
    }
    enum sim_wake how = sim_block(t, SIM_WAIT_COND, c, &c->waiters, deadline_ns);
    struct sim_thread *waker = t->shown.waker;
    uint64_t woken_ns = t->shown.woken_ns;
    mutex_take(m, t);
    m->contended = true; /* a thread that returns from a condition does not check for other waiters */
    m->depth = depth;
    t->shown.waker = waker;
    t->shown.woken_ns = woken_ns;
    return how;
}

uint32_t sim_cond_notify(struct sim_cond *c)
{
    struct sim_thread_inside *t = sim_enter();
    if (!c->waiters.first)
        return 0;
    sim_rouse(waiters_choose(t->kernel, &c->waiters), SIM_WAKE_THREAD, t);
    return 1;
}

uint32_t sim_cond_notify_all(struct sim_cond *c)
{
    struct sim_thread_inside *t = sim_enter();
    uint32_t woken = 0;
    for (; c->waiters.first; woken++)
        sim_rouse(waiters_choose(t->kernel, &c->waiters), SIM_WAKE_THREAD, t);
    return woken;
}

enum sim_wake sim_sem_wait(struct sim_sem *s, uint64_t timeout_ns)
{
    struct sim_thread_inside *t = sim_enter();
    if (s->count) {
        s->count--;
        return SIM_WAKE_NONE;
    }
    return sim_block(t, SIM_WAIT_SEM, s, &s->waiters, sim_later(t->kernel->now_ns, timeout_ns));
}

bool sim_sem_try(struct sim_sem *s)
{
    sim_enter();
    if (!s->count)
        return false;
    s->count--;
    return true;
}

/* Hands a unit to a waiter; no other thread can take it. */
void sim_sem_post(struct sim_sem *s)
{
    struct sim_kernel *k = sim_kernel_current;
    struct sim_thread_inside *self = sim_enter_any(k);
    if (s->waiters.first)
        sim_rouse(waiters_choose(k, &s->waiters), wake_kind_of(self), self);
    else
        s->count++;
}

enum sim_wake sim_park(uint64_t timeout_ns)
{
    struct sim_thread_inside *t = sim_enter();
    if (t->permit) {
        t->permit = false;
        return SIM_WAKE_NONE;
    }
    return sim_block(t, SIM_WAIT_PARK, NULL, NULL, sim_later(t->kernel->now_ns, timeout_ns));
}

void sim_unpark(struct sim_thread *thread)
{
    struct sim_thread_inside *t = thread->inside, *self = sim_enter_any(t->kernel);
    if (t->waits == SIM_WAIT_PARK)
        sim_rouse(t, wake_kind_of(self), self);
    else
        t->permit = true;
}

enum sim_wake sim_join(struct sim_thread *thread)
{
    struct sim_thread_inside *t = sim_enter(), *joined = thread->inside;
    if (thread->state == SIM_ENDED)
        return SIM_WAKE_NONE;
    return sim_block(t, SIM_WAIT_JOIN, joined, &joined->joiners, UINT64_MAX);
}

/* A thread that was woken to take a lock will not take it: wakes the next one. */
void sim_pass_on(struct sim_thread_inside *t)
{
    enum sim_wait wait = t->taking;
    t->taking = SIM_WAIT_NONE;
    if (wait == SIM_WAIT_MUTEX) {
        struct sim_mutex *m = t->taken;
        if (m->owner)
            m->contended = true;
        else
            mutex_wake_next(m, t->kernel, NULL);
    } else if (wait == SIM_WAIT_READ || wait == SIM_WAIT_WRITE) {
        struct sim_rwlock *l = t->taken;
        if (!l->writer && !l->readers)
            rwlock_wake_next(l, t->kernel, NULL);
    }
}
