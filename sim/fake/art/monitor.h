/* A Monitor: what an object's lock word refers to when the lock is contended, waited on, or locked and hashed. For
 * monitor.c and monitor_wait.c. */
#ifndef STROBE_SIM_FAKE_ART_MONITOR_H
#define STROBE_SIM_FAKE_ART_MONITOR_H

#include "sim/fake/art/fake.h"

struct fake_monitor {
    struct fake_mutex guard; /* protects all the following; never held at a suspension point */
    struct fake_cond contenders;
    struct fake_thread *_Atomic owner; /* changed with guard held; queries and the owner read it without guard */
    uint32_t count;                    /* entries of the owner beyond its first */
    uint32_t id;
    _Atomic uint32_t users; /* threads that enter or wait; while there are any, the monitor is not deflated */
    _Atomic int32_t hash;   /* 0 = none yet */
    fake_ref object;        /* 0 = on the free list */
    uint32_t next_free;
    struct fake_thread *waiting;  /* wait set, oldest first */
    struct fake_thread *notified; /* wake set: notified but not yet woken (level 29 and later) */
};

/* From level 29 on, a notified thread sleeps until the monitor is released. Before, it wakes at once and contends. */
static inline bool fake_monitor_wakes_late(void)
{
    return fake_level >= 29;
}

/* Makes the lock word of `o` refer to a monitor, whose owner is `owner` (NULL: none). `owner` is the calling thread, or
 * suspended. The word may have changed meanwhile: the caller checks again. */
void fake_monitor_inflate(struct fake_thread *owner, struct fake_object *o);

/* Returns the monitor, or NULL when the word is not a monitor's. *owner is the thin-lock id of the owner, 0 = none. */
struct fake_monitor *fake_monitor_of(const struct fake_object *o, uint32_t *owner);

/* Releases the monitor, with guard held, and releases guard: wakes one notified thread, or one that enters. */
void fake_monitor_release(struct fake_monitor *m);

/* Monitor::Lock<kForWait>; Monitor::Lock at levels that have only that one. */
void fake_monitor_lock_again(struct fake_monitor *m, struct fake_thread *self);

#endif
