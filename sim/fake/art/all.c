/* Operations on all threads of the list: suspend them, run a closure with each, visit them. */
#include "sim/fake/art/thread.h"

#include <stdlib.h>

static void all_lock(void)
{
    fake_mutex_lock(&fake_list.lock);
}
static void all_unlock(void)
{
    fake_mutex_unlock(&fake_list.lock);
}

/* ---- suspended, all ---- */

static bool others_stopped(const struct fake_thread *self)
{
    FAKE_FOR_EACH(t)
    if (t != self && !fake_is_stopped(t))
        return false;
    return true;
}

static void add_to_others(const struct fake_thread *self, int32_t n)
{
    FAKE_FOR_EACH(t)
    if (t != self)
        fake_suspend_count_add(t, n);
}

/* While it waits for its turn, a thread that suspends all counts as suspended, because another thread may be doing the
 * same. */
void fake_suspend_all(struct fake_thread *self)
{
    bool was_runnable = self && fake_runnable(self);
    if (was_runnable)
        fake_to_native(self, FAKE_SUSPENDED);
    all_lock();
    for (fake_wait_to_suspend(self); fake_list.all_suspended; fake_wait_to_suspend(self))
        fake_cond_wait(&fake_list.changed, &fake_list.lock, UINT64_MAX);
    fake_list.all_suspended = true;
    fake_list.suspender = self;
    add_to_others(self, 1);
    while (!others_stopped(self))
        fake_cond_wait(&fake_list.stopped, &fake_list.lock, UINT64_MAX);
    all_unlock();
    if (was_runnable)
        fake_to_runnable(self);
}

void fake_resume_all(struct fake_thread *self)
{
    all_lock();
    FAKE_CHECK(fake_list.all_suspended && fake_list.suspender == self);
    add_to_others(self, -1);
    fake_list.all_suspended = false;
    fake_cond_broadcast(&fake_list.changed);
    all_unlock();
}

#define LIST "_ZN3art10ThreadList"

void fake_list_suspend_all(void *list, const char *cause, bool is_long) FAKE_EXPORT(LIST "10SuspendAllEPKcb");
void fake_list_suspend_all(void *list, const char *cause, bool is_long)
{
    (void)list, (void)cause, (void)is_long;
    fake_suspend_all(fake_self());
}

void fake_list_resume_all(void *list) FAKE_EXPORT(LIST "9ResumeAllEv");
void fake_list_resume_all(void *list)
{
    (void)list;
    fake_resume_all(fake_self());
}

/* ---- checkpoints ---- */

void fake_closure_run(struct fake_closure *c, struct fake_thread *t)
{
    void (*run)(struct fake_closure *, struct fake_thread *) =
        (void (*)(struct fake_closure *, struct fake_thread *))c->vtable[2];
    run(c, t);
}

/* Requests the checkpoint, with the list locked. Returns false when the thread is not RUNNABLE, so that the caller runs
 * it. */
static bool request_checkpoint(struct fake_thread *t, struct fake_closure *c)
{
    struct fake_checkpoint *mine = malloc(sizeof *mine), **last = &fake_own(t)->checkpoints;
    FAKE_CHECK(mine);
    *mine = (struct fake_checkpoint){NULL, c};
    while (*last)
        last = &(*last)->next;
    *last = mine;
    if (fake_flag_if_runnable(t, FAKE_FLAG_CHECKPOINT))
        return true;
    *last = NULL;
    free(mine);
    return false;
}

/* Requests the checkpoint, with the list locked, or suspends the thread. Returns false for a thread that is not
 * RUNNABLE; it stays so until its count is lowered. */
static bool request_or_hold(struct fake_thread *t, struct fake_closure *c)
{
    while (!request_checkpoint(t, c)) {
        fake_suspend_count_add(t, 1);
        if (fake_is_stopped(t))
            return false;
        fake_suspend_count_add(t, -1); /* it became RUNNABLE meanwhile */
    }
    return true;
}

/* Runs the closure with each thread. A RUNNABLE thread runs it itself at its next suspension point. For other threads
 * it runs here, and they stay as they are during that time. Returns how many times it runs in total. */
static size_t list_run_checkpoint(struct fake_closure *c, struct fake_closure *callback)
{
    struct fake_thread *self = fake_self();
    size_t count = 0, stopped_count = 0;
    all_lock();
    struct fake_thread **stopped = malloc(((size_t)fake_list.end.thread + 1) * sizeof *stopped);
    FAKE_CHECK(stopped);
    FAKE_FOR_EACH(t)
    {
        count++;
        if (t != self && !request_or_hold(t, c))
            stopped[stopped_count++] = t;
    }
    if (callback)
        fake_closure_run(callback, self);
    all_unlock();
    if (self)
        fake_closure_run(c, self);
    for (size_t i = 0; i < stopped_count; i++) {
        fake_closure_run(c, stopped[i]);
        all_lock();
        fake_suspend_count_add(stopped[i], -1);
        all_unlock();
    }
    free(stopped);
    return count;
}

size_t fake_checkpoint_24(void *list, struct fake_closure *c) FAKE_EXPORT(LIST "13RunCheckpointEPNS_7ClosureE");
size_t fake_checkpoint_24(void *list, struct fake_closure *c)
{
    (void)list;
    return list_run_checkpoint(c, NULL);
}

size_t fake_checkpoint_26(void *list, struct fake_closure *c, struct fake_closure *callback)
    FAKE_EXPORT(LIST "13RunCheckpointEPNS_7ClosureES2_");
size_t fake_checkpoint_26(void *list, struct fake_closure *c, struct fake_closure *callback)
{
    (void)list;
    return list_run_checkpoint(c, callback);
}

size_t fake_checkpoint_35(void *list, struct fake_closure *c, struct fake_closure *callback, bool allow_lock_checking)
    FAKE_EXPORT(LIST "13RunCheckpointEPNS_7ClosureES2_b");
size_t fake_checkpoint_35(void *list, struct fake_closure *c, struct fake_closure *callback, bool allow_lock_checking)
{
    (void)list, (void)allow_lock_checking;
    return list_run_checkpoint(c, callback);
}

/* "acquires": the calling thread, which is not RUNNABLE, becomes RUNNABLE while the closure runs with threads that are
 * not RUNNABLE. */
size_t fake_checkpoint_36(void *list, struct fake_closure *c, struct fake_closure *callback, bool allow_lock_checking,
                          bool acquires) FAKE_EXPORT(LIST "13RunCheckpointEPNS_7ClosureES2_bb");
size_t fake_checkpoint_36(void *list, struct fake_closure *c, struct fake_closure *callback, bool allow_lock_checking,
                          bool acquires)
{
    (void)list, (void)allow_lock_checking;
    if (acquires)
        fake_to_runnable(fake_self());
    size_t count = list_run_checkpoint(c, callback);
    if (acquires)
        fake_to_native(fake_self(), FAKE_NATIVE);
    return count;
}

/* ---- visits ---- */

/* The runtime's callers hold its lock of the list. Callers of the fake cannot, so the function takes it. */
void fake_list_for_each(void *list, void (*visit)(struct fake_thread *, void *), void *ctx)
    FAKE_EXPORT(LIST "7ForEachEPFvPNS_6ThreadEPvES3_");
void fake_list_for_each(void *list, void (*visit)(struct fake_thread *, void *), void *ctx)
{
    (void)list;
    fake_for_each_thread(visit, ctx);
}

struct fake_thread *fake_list_find(void *list, uint32_t id) FAKE_EXPORT(LIST "20FindThreadByThreadIdEj");
struct fake_thread *fake_list_find(void *list, uint32_t id)
{
    (void)list;
    all_lock();
    struct fake_thread *t = fake_list_by_id(id);
    all_unlock();
    return t;
}
