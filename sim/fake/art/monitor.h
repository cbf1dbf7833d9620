/* A Monitor: what an object's lock word leads to once it is contended, waited on, or locked and hashed. For monitor.c
 * and monitor_wait.c. */
#ifndef STROBE_SIM_FAKE_ART_MONITOR_H
#define STROBE_SIM_FAKE_ART_MONITOR_H

#include "sim/fake/art/fake.h"

struct fake_monitor {
    struct fake_mutex guard; /* of all that follows; never held at a suspension point */
    struct fake_cond contenders;
    struct fake_thread *_Atomic owner; /* changed with guard held; read without by queries and by the owner */
    uint32_t count;                    /* entries of the owner beyond its first */
    uint32_t id;
    _Atomic uint32_t users; /* who enters or waits: then it is not deflated */
    _Atomic int32_t hash;   /* 0 = none yet */
    fake_ref object;        /* 0 = on the free list */
    uint32_t next_free;
    struct fake_thread *waiting;  /* wait set, oldest first */
    struct fake_thread *notified; /* wake set: told, but not yet woken (level 29 on) */
};

/* From level 29 on a notified thread sleeps on until the monitor is released; before, it wakes at once and contends. */
static inline bool fake_monitor_wakes_late(void)
{
    return fake_level >= 29;
}

/* Makes the lock word of `o` lead to a monitor that `owner` (NULL: nobody) holds as `o` says. `owner` is the caller, or
 * suspended. May find that the word has changed: look again. */
void fake_monitor_inflate(struct fake_thread *owner, struct fake_object *o);

/* NULL: the word says otherwise. *owner is the thin-lock id of who holds it, 0 = nobody. */
struct fake_monitor *fake_monitor_of(const struct fake_object *o, uint32_t *owner);

/* Releases it, guard held, which is let go: wakes one of the notified, or one that enters. */
void fake_monitor_release(struct fake_monitor *m);

/* Monitor::Lock<kForWait>, Monitor::Lock where there is but one. */
void fake_monitor_lock_again(struct fake_monitor *m, struct fake_thread *self);

#endif
