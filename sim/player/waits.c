/* Operations that may block. They call the functions that programs use and the engine hooks. The thread notes each
 * wait: its begin and end, whether it blocked, and which release ended it.
 *
 * A releasing thread stores the release (struct sim_handoff) right before its call. It stores the release of a lock
 * while it still holds the lock, so the next owner reads the release that handed the lock over. */
#include "sim/player/play.h"

#include <errno.h>

enum {
    SPIN_LEAST_NS = 100,
    TRACK_BITS = 16,
};

/* ---- releases ---- */

uint64_t sim_handoff_now(const struct sim_actor *a)
{
    return (sim_work_now_ns() - a->play->begin_ns) << TRACK_BITS | (a->track + 1);
}

void sim_hand_off(const struct sim_actor *a, struct sim_handoff *h)
{
    atomic_store_explicit(&h->word, sim_handoff_now(a), memory_order_release);
}

uint64_t sim_handed(struct sim_handoff *h)
{
    return atomic_load_explicit(&h->word, memory_order_acquire);
}

/* ---- waits ---- */

/* Stores how often the thread has waited in calls of this kind, where the runtime counts that. */
static bool runtime_counts_waits(const struct sim_actor *a, enum strobe_kind kind, uint64_t *out)
{
    const struct sim_executor *e = a->play->executor;
    return e && e->count_waits && e->count_waits(a, kind, out);
}

void sim_real_wait_begin(struct sim_actor *a, enum strobe_kind kind, bool likely)
{
    a->wait.kind = kind;
    a->wait.begin_ns = sim_work_now_ns();
    a->wait.recorded = likely;
    a->wait.polls = a->wait.slept = false;
    if (likely)
        sim_notes_add(&a->notes, SIM_NOTE_WAIT, a->wait.begin_ns, kind);
    if (!runtime_counts_waits(a, kind, &a->wait.waits) && likely)
        a->switches = sim_work_switches().voluntary;
}

void sim_real_wait_record(struct sim_actor *a)
{
    if (!a->wait.recorded)
        sim_notes_add(&a->notes, SIM_NOTE_WAIT, a->wait.begin_ns, a->wait.kind);
    a->wait.recorded = true;
}

void sim_real_poll(struct sim_actor *a, struct pollfd *what, const struct timespec *patience)
{
    uint64_t before = sim_work_switches().voluntary;
    ppoll(what, 1, patience, NULL);
    a->wait.polls = true;
    a->wait.slept |= sim_work_switches().voluntary != before;
}

/* Returns true when the thread waited in the call. Where only its switches are known, a call also seems to have waited
 * when the thread was stopped for its stack. A call that was not likely to wait counts its switches from the last
 * reading on, because each costs a system call. */
static bool actor_has_waited(struct sim_actor *a)
{
    uint64_t before = a->switches, waits;
    if (runtime_counts_waits(a, a->wait.kind, &waits))
        return waits != a->wait.waits;
    a->switches = sim_work_switches().voluntary;
    return a->wait.polls ? a->wait.slept : a->switches != before;
}

void sim_real_wait_end(struct sim_actor *a, uint64_t handoff)
{
    uint64_t end_ns = sim_work_now_ns(), took = end_ns - a->wait.begin_ns;
    if (!a->wait.recorded && took < sim_work_limits.wait_ns)
        return;
    bool blocked = took >= sim_work_limits.block_ns && actor_has_waited(a);
    if (!a->wait.recorded)
        sim_notes_add(&a->notes, SIM_NOTE_WAIT, a->wait.begin_ns, a->wait.kind);
    uint64_t release_ns = a->play->begin_ns + (handoff >> TRACK_BITS);
    if (blocked && sim_work_limits.exact && release_ns < a->wait.begin_ns)
        release_ns = a->wait.begin_ns;
    if (blocked && handoff && release_ns >= a->wait.begin_ns && release_ns <= end_ns)
        sim_notes_add(&a->notes, SIM_NOTE_WAKER, release_ns, (handoff & ((1u << TRACK_BITS) - 1)) - 1);
    sim_notes_add(&a->notes, SIM_NOTE_WAITED, end_ns, blocked);
}

/* Returns the release, or 0 when it came after the timeout of the actor's wait: the timeout has ended the wait then,
 * also when the thread got a processor only later. */
static uint64_t handed_in_time(const struct sim_actor *a, uint64_t handoff, uint64_t timeout_ns)
{
    uint64_t release_ns = a->play->begin_ns + (handoff >> TRACK_BITS);
    return timeout_ns && release_ns > a->wait.begin_ns + timeout_ns ? 0 : handoff;
}

/* ---- locks ---- */

static bool is_rwlock(const struct sim_op *op)
{
    return op->kind == SIM_OP_READ_LOCK || op->kind == SIM_OP_WRITE_LOCK;
}

static struct sim_real_lock *actor_lock_of_op(const struct sim_actor *a, const struct sim_op *op)
{
    return &a->play->locks[op->object];
}

static void actor_own_lock(struct sim_actor *a, struct sim_real_lock *l)
{
    atomic_store_explicit(&l->owner, a, memory_order_relaxed);
    l->depth++;
}

void sim_real_lock_mutex(struct sim_actor *a, struct sim_real_lock *l)
{
    struct sim_actor *owner = atomic_load_explicit(&l->owner, memory_order_relaxed);
    sim_real_wait_begin(a, l->object ? STROBE_KIND_MONITOR : STROBE_KIND_MUTEX, owner && owner != a);
    a->play->executor->lock(a, l);
    sim_real_wait_end(a, sim_handed(&l->released));
    actor_own_lock(a, l);
}

void sim_real_unlock_mutex(struct sim_actor *a, struct sim_real_lock *l)
{
    if (--l->depth == 0) {
        atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
        sim_hand_off(a, &l->released);
    }
    a->play->executor->unlock(a, l);
}

static void lock_rwlock(struct sim_actor *a, struct sim_real_lock *l, bool writes)
{
    bool taken = atomic_load_explicit(&l->owner, memory_order_relaxed) ||
                 (writes && atomic_load_explicit(&l->readers, memory_order_relaxed));
    sim_real_wait_begin(a, STROBE_KIND_RWLOCK, taken);
    if (writes)
        pthread_rwlock_wrlock(&l->rwlock);
    else
        pthread_rwlock_rdlock(&l->rwlock);
    sim_real_wait_end(a, sim_handed(&l->released));
    if (writes)
        atomic_store_explicit(&l->owner, a, memory_order_relaxed);
    else
        atomic_fetch_add(&l->readers, 1);
}

static void unlock_rwlock(struct sim_actor *a, struct sim_real_lock *l, bool writes)
{
    if (writes)
        atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    if (writes || atomic_fetch_sub(&l->readers, 1) == 1) /* only the last reader admits a writer */
        sim_hand_off(a, &l->released);
    pthread_rwlock_unlock(&l->rwlock);
}

void sim_real_wait_lock(struct sim_actor *a, const struct sim_op *op)
{
    if (is_rwlock(op))
        lock_rwlock(a, actor_lock_of_op(a, op), op->kind == SIM_OP_WRITE_LOCK);
    else
        sim_real_lock_mutex(a, actor_lock_of_op(a, op));
}

bool sim_real_wait_spin(struct sim_actor *a, const struct sim_op *op, uint64_t amount_ns)
{
    struct sim_real_lock *l = actor_lock_of_op(a, op);
    while (pthread_mutex_trylock(&l->mutex) != 0) {
        if (atomic_load_explicit(&a->play->over, memory_order_relaxed))
            return false;
        sim_real_work(a, amount_ns ? amount_ns : SPIN_LEAST_NS);
    }
    actor_own_lock(a, l);
    return true;
}

void sim_real_wait_unlock(struct sim_actor *a, const struct sim_op *op)
{
    if (is_rwlock(op))
        unlock_rwlock(a, actor_lock_of_op(a, op), op->kind == SIM_OP_WRITE_LOCK);
    else
        sim_real_unlock_mutex(a, actor_lock_of_op(a, op));
}

/* ---- conditions ---- */

/* Appends the actor to the condition's waiters. */
static void join_waiters(struct sim_actor *a, struct sim_real_cond *c)
{
    atomic_store(&a->notifier, 0);
    a->next_waiter = NULL;
    sim_spin_lock(&c->spin);
    if (c->last)
        c->last->next_waiter = a;
    else
        c->first = a;
    c->last = a;
    sim_spin_unlock(&c->spin);
}

/* Removes the actor from the waiters after a timeout. A notify has already removed an actor that it notified. */
static void leave_waiters(struct sim_actor *a, struct sim_real_cond *c)
{
    struct sim_actor *before = NULL;
    sim_spin_lock(&c->spin);
    for (struct sim_actor *b = c->first; b && b != a; b = b->next_waiter)
        before = b;
    if (!atomic_load(&a->notifier)) {
        if (before)
            before->next_waiter = a->next_waiter;
        else
            c->first = a->next_waiter;
        if (c->last == a)
            c->last = before;
    }
    sim_spin_unlock(&c->spin);
}

void sim_real_wait_again(struct sim_actor *a)
{
    leave_waiters(a, a->waits_for);
    if (!atomic_load(&a->notifier))
        join_waiters(a, a->waits_for);
}

/* Releases the lock completely, whatever its depth, and restores that depth after the wait. */
static void wait_for_cond(struct sim_actor *a, const struct sim_op *op, uint64_t timeout_ns)
{
    struct sim_real_lock *l = &a->play->locks[op->other];
    struct sim_real_cond *c = &a->play->conds[op->object];
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) != a) {
        sim_real_fail(a->play, op, "a wait with its lock held");
        return;
    }
    uint32_t depth = l->depth;
    a->waits_with = l;
    a->waits_for = c;
    join_waiters(a, c);
    l->depth = 0;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    sim_hand_off(a, &l->released);
    sim_real_wait_begin(a, STROBE_KIND_COND, true);
    a->play->executor->wait(a, l, depth, timeout_ns);
    leave_waiters(a, c);
    sim_real_wait_end(a, handed_in_time(a, atomic_load(&a->notifier), timeout_ns));
    atomic_store_explicit(&l->owner, a, memory_order_relaxed);
    l->depth = depth;
}

/* Removes the longest waiters, at most `most`, and sets their notifier. Returns their number. */
static uint32_t take_waiters(const struct sim_actor *a, struct sim_real_cond *c, struct sim_actor **out, uint32_t most)
{
    uint64_t now = sim_handoff_now(a);
    uint32_t count = 0;
    sim_spin_lock(&c->spin);
    for (; c->first && count < most; c->first = c->first->next_waiter) {
        out[count++] = c->first;
        atomic_store(&c->first->notifier, now);
    }
    if (!c->first)
        c->last = NULL;
    sim_spin_unlock(&c->spin);
    return count;
}

static void actor_notify(struct sim_actor *a, uint32_t cond, bool all)
{
    enum { AT_ONCE = 64 };
    struct sim_actor *woken[AT_ONCE];
    uint32_t count, most = all ? AT_ONCE : 1;
    do {
        count = take_waiters(a, &a->play->conds[cond], woken, most);
        for (uint32_t i = 0; i < count; i++)
            a->play->executor->wake(a, woken[i]);
    } while (all && count == most);
}

/* ---- semaphores, parks ---- */

bool sim_real_sem_had(sem_t *s, uint64_t timeout_ns)
{
    struct timespec until = sim_work_time_in(timeout_ns);
    int result;
    do
        result = timeout_ns ? sem_clockwait(s, CLOCK_MONOTONIC, &until) : sem_wait(s);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static void wait_for_sem(struct sim_actor *a, uint32_t number, uint64_t timeout_ns)
{
    struct sim_real_sem *s = &a->play->sems[number];
    int value = 0;
    sem_getvalue(&s->sem, &value);
    sim_real_wait_begin(a, STROBE_KIND_SEM, value <= 0);
    bool had = sim_real_sem_had(&s->sem, timeout_ns);
    sim_spin_lock(&s->spin);
    uint64_t post = 0;
    if (had && s->count) {
        post = s->lost ? 0 : s->posts[s->first];
        s->first = (s->first + 1) % SIM_POSTS;
        s->count--;
    }
    sim_spin_unlock(&s->spin);
    sim_real_wait_end(a, post);
}

static void post_sem(struct sim_actor *a, uint32_t number)
{
    struct sim_real_sem *s = &a->play->sems[number];
    sim_spin_lock(&s->spin);
    s->lost |= s->count == SIM_POSTS;
    if (!s->lost)
        s->posts[(s->first + s->count++) % SIM_POSTS] = sim_handoff_now(a);
    sim_spin_unlock(&s->spin);
    sem_post(&s->sem);
}

static void actor_park(struct sim_actor *a, uint64_t timeout_ns)
{
    atomic_store(&a->parked, 1);
    sim_real_wait_begin(a, a->play->executor->park_kind, true);
    bool had = a->play->executor->park(a, timeout_ns);
    uint64_t by = had ? sim_handed(&a->unparked) : 0;
    if (had)
        atomic_store(&a->permit, 0);
    sim_real_wait_end(a, handed_in_time(a, by, timeout_ns));
    atomic_store(&a->parked, 0);
}

/* Returns the first thread of a spec, in order of start, that is parked. Without one, the first that is alive. */
static struct sim_actor *choose_actor_to_unpark(struct sim_real_play *p, uint32_t spec)
{
    struct sim_actor *living = NULL;
    uint32_t count = atomic_load(&p->actor_count);
    for (uint32_t i = 0; i < count; i++) {
        struct sim_actor *b = p->actors[i];
        if (b->spec != spec || atomic_load(&b->end_ns))
            continue;
        if (atomic_load(&b->parked))
            return b;
        living = living ? living : b;
    }
    return living;
}

static void actor_unpark(struct sim_actor *a, uint32_t spec)
{
    struct sim_actor *b = choose_actor_to_unpark(a->play, spec);
    if (!b || atomic_exchange(&b->permit, 1))
        return;
    sim_hand_off(a, &b->unparked);
    a->play->executor->unpark(a, b);
}

/* ---- threads ---- */

static void actor_join(struct sim_actor *a, uint32_t spec)
{
    for (uint32_t i = atomic_load(&a->play->actor_count); i-- > 0;) {
        struct sim_actor *b = a->play->actors[i];
        if (b->spec != spec || b->parent != a)
            continue;
        if (b->joined)
            return;
        b->joined = true;
        sim_real_wait_begin(a, STROBE_KIND_THREAD, !atomic_load(&b->end_ns));
        pthread_join(b->thread, NULL);
        uint64_t ended_ns = atomic_load(&b->end_ns) - a->play->begin_ns;
        sim_real_wait_end(a, ended_ns << TRACK_BITS | (b->track + 1));
        return;
    }
}

void sim_real_wait_op(struct sim_actor *a, const struct sim_op *op, uint64_t amount)
{
    switch (op->kind) {
    case SIM_OP_WAIT: wait_for_cond(a, op, amount); break;
    case SIM_OP_NOTIFY: actor_notify(a, op->object, false); break;
    case SIM_OP_NOTIFY_ALL: actor_notify(a, op->object, true); break;
    case SIM_OP_SEM_WAIT: wait_for_sem(a, op->object, amount); break;
    case SIM_OP_SEM_POST: post_sem(a, op->object); break;
    case SIM_OP_PARK: actor_park(a, amount); break;
    case SIM_OP_UNPARK: actor_unpark(a, op->object); break;
    case SIM_OP_READ:
    case SIM_OP_WRITE:
    case SIM_OP_OPEN:
    case SIM_OP_SYNC:
    case SIM_OP_NET:
    case SIM_OP_IPC:
    case SIM_OP_LOAD:
        if (amount)
            a->play->executor->wait_for(a, op->kind, amount);
        break;
    case SIM_OP_SLEEP: a->play->executor->sleep(a, amount); break;
    case SIM_OP_JOIN: actor_join(a, op->object); break;
    default: break;
    }
}
