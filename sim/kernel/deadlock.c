/* The wait-for graph. A thread waits for
 *
 *   - the owner of the lock that it wants
 *   - the thread that it joins
 *   - the only thread that posts its semaphore (unless the wait has a timeout)
 *   - and, when it is stopped, the thread that is expected to continue it
 *
 * and cannot move before all of these have moved. So a cycle is a deadlock. The search starts from the wait that may
 * have closed a cycle. No other event can close one: a thread that gets a lock or continues is not waiting, and neither
 * is the thread that continues a stopped one. */
#include "engine/base/error_format.h"
#include "sim/kernel/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns the thread that must move before `t` gets what it waits for; NULL when that is unknown. */
static const struct sim_thread *deadlock_waits_for(const struct sim_thread_inside *t)
{
    switch (t->waits) {
    case SIM_WAIT_MUTEX: return ((const struct sim_mutex *)t->object)->owner;
    case SIM_WAIT_READ:
    case SIM_WAIT_WRITE: return ((const struct sim_rwlock *)t->object)->writer;
    case SIM_WAIT_SEM: return t->timer.place ? NULL : ((const struct sim_sem *)t->object)->giver;
    case SIM_WAIT_JOIN: return &((const struct sim_thread_inside *)t->object)->shown;
    default: return NULL;
    }
}

static void deadlock_append_text(struct sim_kernel *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void deadlock_append_text(struct sim_kernel *k, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    strobe_error_add_list(&k->error, format, list);
    va_end(list);
}

static void append_thread(struct sim_kernel *k, const struct sim_thread *t)
{
    if (t->name)
        deadlock_append_text(k, "%s", t->name);
    else
        deadlock_append_text(k, "thread %u", t->tid);
}

static void append_name(struct sim_kernel *k, const char *name, const char *otherwise)
{
    deadlock_append_text(k, "%s", name ? name : otherwise);
}

static void append_object(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    switch (t->waits) {
    case SIM_WAIT_MUTEX: append_name(k, ((const struct sim_mutex *)t->object)->name, "a mutex"); break;
    case SIM_WAIT_READ:
    case SIM_WAIT_WRITE: append_name(k, ((const struct sim_rwlock *)t->object)->name, "a read-write lock"); break;
    case SIM_WAIT_COND: append_name(k, ((const struct sim_cond *)t->object)->name, "a condition"); break;
    case SIM_WAIT_SEM: append_name(k, ((const struct sim_sem *)t->object)->name, "a semaphore"); break;
    case SIM_WAIT_PARK: deadlock_append_text(k, "an unpark"); break;
    case SIM_WAIT_JOIN:
        deadlock_append_text(k, "the end of ");
        append_thread(k, deadlock_waits_for(t));
        break;
    case SIM_WAIT_STOP: deadlock_append_text(k, "a stop"); break;
    case SIM_WAIT_SLEEP:
    case SIM_WAIT_IO: deadlock_append_text(k, "time"); break;
    case SIM_WAIT_NONE: deadlock_append_text(k, "nothing"); break;
    }
}

static void append_stop(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    deadlock_append_text(k, " is stopped");
    if (t->held_by) {
        deadlock_append_text(k, " by ");
        append_thread(k, t->held_by);
    }
}

/* `main waits for L2 held by worker-1` */
static void append_wait(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    const struct sim_thread *owner = deadlock_waits_for(t);
    append_thread(k, &t->shown);
    if (t->shown.state != SIM_BLOCKED) {
        append_stop(k, t);
        return;
    }
    deadlock_append_text(k, " waits for ");
    append_object(k, t);
    if (owner && t->waits != SIM_WAIT_JOIN) {
        deadlock_append_text(k, t->waits == SIM_WAIT_SEM ? " from " : " held by ");
        append_thread(k, owner);
        if (owner->state == SIM_ENDED)
            deadlock_append_text(k, ", which has ended");
    }
}

/* Puts the threads that `t` waits for at the front of the list of threads to visit. Returns true when `goal` is among
 * them. */
static bool push_awaited_threads(struct sim_kernel *k, struct sim_thread_inside *t,
                                 const struct sim_thread_inside *goal, struct sim_thread_inside **left)
{
    const struct sim_thread *both[] = {deadlock_waits_for(t), t->held_by};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        struct sim_thread_inside *other = both[i] ? both[i]->inside : NULL;
        if (!other || other->search == k->searches)
            continue;
        if (other == goal)
            return true;
        other->search = k->searches;
        other->search_from = t;
        other->search_next = *left;
        *left = other;
    }
    return false;
}

/* Returns the thread that closes a cycle by waiting for `t`; search_from leads from it back to `t`. NULL: no cycle. */
static struct sim_thread_inside *find_cycle_closer(struct sim_kernel *k, struct sim_thread_inside *t)
{
    struct sim_thread_inside *left = t;
    k->searches++;
    t->search_next = NULL;
    while (left) {
        struct sim_thread_inside *at = left;
        left = at->search_next;
        if (push_awaited_threads(k, at, t, &left))
            return at;
    }
    return NULL;
}

/* Called after `t` has begun to wait, or to be held by another thread. */
void sim_deadlock_check(struct sim_kernel *k, struct sim_thread_inside *t)
{
    if (k->ended || (!deadlock_waits_for(t) && !t->held_by))
        return;
    struct sim_thread_inside *at = find_cycle_closer(k, t);
    if (!at)
        return;
    at->search_next = NULL;
    for (; at != t; at = at->search_from)
        at->search_from->search_next = at;
    deadlock_append_text(k, "deadlock: ");
    for (; at; at = at->search_next) {
        const struct sim_thread_inside *next = at->search_next ? at->search_next : t;
        if (deadlock_waits_for(at) == &next->shown) {
            append_wait(k, at);
        } else {
            append_thread(k, &at->shown);
            append_stop(k, at);
        }
        if (at->search_next)
            deadlock_append_text(k, ", ");
    }
    sim_finish_run(k, SIM_END_DEADLOCK);
}

/* Ends the run when no event is left. */
void sim_deadlock_report_all(struct sim_kernel *k)
{
    const char *before = "deadlock: nothing can move: ";
    for (struct sim_thread_inside *t = k->all; t; t = t->next_all) {
        if (t->shown.state == SIM_ENDED)
            continue;
        deadlock_append_text(k, "%s", before);
        append_wait(k, t);
        before = ", ";
    }
    sim_finish_run(k, SIM_END_DEADLOCK);
}
