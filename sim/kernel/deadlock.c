/* The wait-for graph: a thread that waits for a lock points to the lock's owner, one that joins to the joined. Each has
 * one edge at most, so a cycle is found by following them from the wait that may have closed it; no other event can
 * close one, since who gets a lock or goes on is not waiting. */
#include "sim/kernel/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Who must move for `t` to get what it waits for; NULL when that can't be told. */
static const struct sim_thread *waits_for(const struct sim_thread_inside *t)
{
    switch (t->waits) {
    case SIM_WAIT_MUTEX: return ((const struct sim_mutex *)t->object)->owner;
    case SIM_WAIT_READ:
    case SIM_WAIT_WRITE: return ((const struct sim_rwlock *)t->object)->writer;
    case SIM_WAIT_JOIN: return &((const struct sim_thread_inside *)t->object)->shown;
    default: return NULL;
    }
}

static void say(struct sim_kernel *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct sim_kernel *k, const char *format, ...)
{
    size_t at = strlen(k->why);
    va_list list;
    va_start(list, format);
    vsnprintf(k->why + at, sizeof k->why - at, format, list);
    va_end(list);
}

static void say_thread(struct sim_kernel *k, const struct sim_thread *t)
{
    if (t->name)
        say(k, "%s", t->name);
    else
        say(k, "thread %u", t->tid);
}

static void say_name(struct sim_kernel *k, const char *name, const char *otherwise)
{
    say(k, "%s", name ? name : otherwise);
}

static void say_object(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    switch (t->waits) {
    case SIM_WAIT_MUTEX: say_name(k, ((const struct sim_mutex *)t->object)->name, "a mutex"); break;
    case SIM_WAIT_READ:
    case SIM_WAIT_WRITE: say_name(k, ((const struct sim_rwlock *)t->object)->name, "a read-write lock"); break;
    case SIM_WAIT_COND: say_name(k, ((const struct sim_cond *)t->object)->name, "a condition"); break;
    case SIM_WAIT_SEM: say_name(k, ((const struct sim_sem *)t->object)->name, "a semaphore"); break;
    case SIM_WAIT_PARK: say(k, "an unpark"); break;
    case SIM_WAIT_JOIN: say(k, "the end of "); say_thread(k, waits_for(t)); break;
    case SIM_WAIT_STOP: say(k, "a stop"); break;
    case SIM_WAIT_SLEEP:
    case SIM_WAIT_IO: say(k, "time"); break;
    case SIM_WAIT_NONE: say(k, "nothing"); break;
    }
}

/* `main waits for L2 held by worker-1` */
static void say_wait(struct sim_kernel *k, const struct sim_thread_inside *t)
{
    const struct sim_thread *owner = waits_for(t);
    say_thread(k, &t->shown);
    if (t->shown.state != SIM_BLOCKED) {
        say(k, " is stopped");
        return;
    }
    say(k, " waits for ");
    say_object(k, t);
    if (owner && t->waits != SIM_WAIT_JOIN) {
        say(k, " held by ");
        say_thread(k, owner);
        if (owner->state == SIM_ENDED)
            say(k, ", which has ended");
    }
}

/* After `t` has begun to wait. */
void sim_deadlock_check(struct sim_kernel *k, struct sim_thread_inside *t)
{
    const struct sim_thread *other = waits_for(t);
    while (other && other != &t->shown && other->state == SIM_BLOCKED)
        other = waits_for(other->inside);
    if (other != &t->shown || k->ended)
        return;
    say(k, "deadlock: ");
    const struct sim_thread_inside *in = t;
    do {
        say_wait(k, in);
        in = waits_for(in)->inside;
        if (in != t)
            say(k, ", ");
    } while (in != t);
    sim_finish_run(k, SIM_END_DEADLOCK);
}

/* Nothing will ever happen again. */
void sim_deadlock_tell_all(struct sim_kernel *k)
{
    const char *before = "deadlock: nothing can move: ";
    for (struct sim_thread_inside *t = k->all; t; t = t->next_all) {
        if (t->shown.state == SIM_ENDED)
            continue;
        say(k, "%s", before);
        say_wait(k, t);
        before = ", ";
    }
    sim_finish_run(k, SIM_END_DEADLOCK);
}
