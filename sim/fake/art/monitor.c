/* Lock words, and entering and leaving monitors.
 *
 * The upper two bits of a lock word select the meaning of the rest ("runtime/lock_word.h", Android Open Source
 * Project):
 *
 *   00   unlocked (all zero), or thin: owner's thin-lock id in bits 0..15, entries beyond the first in 16..27
 *   01   fat: id of the monitor
 *   10   identity hash
 *
 * A thin lock is taken and released by exchanging the word. A thread that finds it taken spins for a short time, then
 * suspends the owner and inflates the lock: from then on the word refers to a monitor, until a collection finds it
 * unused. Every path of fat locks uses the exported functions. */
#include "sim/fake/art/monitor.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STATE_SHIFT = 30,
    THIN = 0,
    FAT = 1,
    HASH = 2,
    OWNER_MASK = 0xffff,
    COUNT_SHIFT = 16,
    COUNT_MAX = 0xfff,
    VALUE_MASK = 0x0fffffff,
    SPINS = 50, /* attempts at a thin lock of another thread before it is inflated */
    TRIES = 20, /* checks of a monitor's owner before sleeping */
    MONITORS = 1 << 18,
};

struct fake_object *fake_art_monitor_enter(struct fake_thread *self, struct fake_object *o, bool trylock)
    FAKE_EXPORT("_ZN3art7Monitor12MonitorEnterEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEEb");
bool fake_art_monitor_exit(struct fake_thread *self, struct fake_object *o)
    FAKE_EXPORT("_ZN3art7Monitor11MonitorExitEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEE");
void fake_art_monitor_lock(struct fake_monitor *m, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art7Monitor4LockILNS_10LockReasonE1EEEvPNS_6ThreadE");
void fake_art_monitor_lock_for_wait(struct fake_monitor *m, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art7Monitor4LockILNS_10LockReasonE0EEEvPNS_6ThreadE");
bool fake_art_monitor_unlock(struct fake_monitor *m, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art7Monitor6UnlockEPNS_6ThreadE");
void fake_art_monitor_init(struct fake_monitor *m, struct fake_thread *self, struct fake_thread *owner,
                           struct fake_object *o, int32_t hash, uint32_t id)
    FAKE_EXPORT("_ZN3art7MonitorC2EPNS_6ThreadES2_NS_6ObjPtrINS_6mirror6ObjectEEEij");
uint32_t fake_art_monitor_owner(struct fake_object *o)
    FAKE_EXPORT("_ZN3art7Monitor20GetLockOwnerThreadIdENS_6ObjPtrINS_6mirror6ObjectEEE");
struct fake_object *fake_art_monitor_contended(struct fake_thread *t)
    FAKE_EXPORT("_ZN3art7Monitor19GetContendedMonitorEPNS_6ThreadE");

static struct fake_monitor *monitors; /* by id; [0] is unused */
static uint32_t used = 1, first_free; /* number of ids ever used; free list, 0 = empty */
static atomic_flag pool_busy = ATOMIC_FLAG_INIT;

static _Atomic uint32_t *lock_word_of_object(const struct fake_object *o)
{
    return (_Atomic uint32_t *)(uintptr_t)&o->lock_word;
}

static uint32_t load_lock_word(const struct fake_object *o)
{
    return atomic_load_explicit(lock_word_of_object(o), memory_order_acquire);
}

static bool exchange_lock_word(const struct fake_object *o, uint32_t expected, uint32_t word)
{
    return atomic_compare_exchange_strong(lock_word_of_object(o), &expected, word);
}

static uint32_t lock_word_state(uint32_t word)
{
    return word >> STATE_SHIFT;
}
static uint32_t thin_owner(uint32_t word)
{
    return word & OWNER_MASK;
}
static uint32_t thin_count(uint32_t word)
{
    return word >> COUNT_SHIFT & COUNT_MAX;
}
static struct fake_monitor *monitor_of_fat_word(uint32_t word)
{
    return &monitors[word & VALUE_MASK];
}

/* ---- the pool ---- */

static void pool_enter(void)
{
    while (atomic_flag_test_and_set_explicit(&pool_busy, memory_order_acquire))
        fake_yield();
}

static void pool_leave(void)
{
    atomic_flag_clear_explicit(&pool_busy, memory_order_release);
}

void fake_art_monitor_init(struct fake_monitor *m, struct fake_thread *self, struct fake_thread *owner,
                           struct fake_object *o, int32_t hash, uint32_t id)
{
    (void)self;
    *m = (struct fake_monitor){.id = id, .object = fake_ref_of(o)};
    fake_mutex_init(&m->guard);
    fake_cond_init(&m->contenders);
    atomic_store(&m->owner, owner);
    atomic_store(&m->hash, hash);
}
FAKE_EXPORT_ALSO(fake_art_monitor_init, "_ZN3art7MonitorC2EPNS_6ThreadES2_NS_6ObjPtrINS_6mirror6ObjectEEEij",
                 "_ZN3art7MonitorC2EPNS_6ThreadES2_PNS_6mirror6ObjectEij");
/* A MonitorOwner is one word, passed as a pointer is. */
extern __typeof__(fake_art_monitor_init) fake_art_monitor_init_owner __asm__(
    "_ZN3art7MonitorC2EPNS_6ThreadENS_12MonitorOwnerENS_6ObjPtrINS_6mirror6ObjectEEEij")
    __attribute__((alias("_ZN3art7MonitorC2EPNS_6ThreadES2_NS_6ObjPtrINS_6mirror6ObjectEEEij"), visibility("default")));

static uint32_t id_new(void)
{
    pool_enter();
    if (!monitors) {
        void *m = mmap(NULL, MONITORS * sizeof *monitors, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        FAKE_CHECK(m != MAP_FAILED);
        monitors = m;
    }
    uint32_t id = first_free;
    if (id)
        first_free = monitors[id].next_free;
    else
        id = used++;
    pool_leave();
    FAKE_CHECK(id < MONITORS);
    return id;
}

static void monitor_free(struct fake_monitor *m)
{
    m->object = 0;
    atomic_store(&m->owner, NULL);
    pool_enter();
    m->next_free = first_free;
    first_free = m->id;
    pool_leave();
}

/* ---- inflation ---- */

void fake_monitor_inflate(struct fake_thread *owner, struct fake_object *o)
{
    uint32_t word = load_lock_word(o);
    if (lock_word_state(word) == FAT ||
        (lock_word_state(word) == THIN && thin_owner(word) != (owner ? fake_thread_id(owner) : 0)))
        return;
    bool thin = lock_word_state(word) == THIN;
    uint32_t id = id_new();
    struct fake_monitor *m = &monitors[id];
    fake_art_monitor_init(m, fake_self(), thin ? owner : NULL, o,
                          lock_word_state(word) == HASH ? (int32_t)(word & VALUE_MASK) : 0, id);
    m->count = thin ? thin_count(word) : 0;
    if (!exchange_lock_word(o, word, (uint32_t)FAT << STATE_SHIFT | m->id))
        monitor_free(m);
}

/* Suspends the owner of a thin lock, and inflates the lock if it still has that owner. */
static void inflate_of_other(struct fake_thread *self, struct fake_object *o, uint32_t word)
{
    uint32_t id = thin_owner(word);
    struct fake_parts *parts = fake_thread_parts(self);
    parts->enters = fake_ref_of(o);
    fake_to_native(self, FAKE_BLOCKED);
    struct fake_thread *owner = fake_suspend_by_id(self, id);
    fake_to_runnable(self);
    parts->enters = 0;
    if (!owner)
        return;
    word = load_lock_word(o);
    if (lock_word_state(word) == THIN && thin_owner(word) == id)
        fake_monitor_inflate(owner, o);
    fake_resume(self, owner);
}

struct fake_monitor *fake_monitor_of(const struct fake_object *o, uint32_t *owner)
{
    uint32_t word = load_lock_word(o);
    if (lock_word_state(word) == FAT) {
        struct fake_monitor *m = monitor_of_fat_word(word);
        struct fake_thread *t = atomic_load(&m->owner);
        *owner = t ? fake_thread_id(t) : 0;
        return m;
    }
    *owner = lock_word_state(word) == THIN ? thin_owner(word) : 0;
    return NULL;
}

/* ---- monitors ---- */

/* Never sleeps, because sleeping for a monitor notifies callbacks. */
static bool try_lock(struct fake_monitor *m, struct fake_thread *self)
{
    if (atomic_load(&m->owner) == self) {
        m->count++;
        return true;
    }
    for (int i = 0; i < TRIES; i++) {
        if (atomic_load_explicit(&m->owner, memory_order_relaxed) || !fake_mutex_trylock(&m->guard))
            continue;
        bool got = !atomic_load(&m->owner);
        if (got)
            atomic_store(&m->owner, self);
        fake_mutex_unlock(&m->guard);
        if (got)
            return true;
    }
    return false;
}

/* Returns false only when another thread has the monitor. */
static bool try_lock_at_all(struct fake_monitor *m, struct fake_thread *self)
{
    while (!try_lock(m, self)) {
        if (atomic_load(&m->owner))
            return false;
        fake_yield();
    }
    return true;
}

static void monitor_lock(struct fake_monitor *m, struct fake_thread *self, bool first)
{
    if (try_lock(m, self))
        return;
    struct fake_parts *parts = fake_thread_parts(self);
    atomic_fetch_add(&m->users, 1);
    if (first)
        fake_notify_locking(m);
    parts->enters = m->object;
    fake_to_native(self, FAKE_BLOCKED);
    fake_mutex_lock(&m->guard);
    while (atomic_load(&m->owner)) {
        fake_thread_note_wait(self);
        fake_cond_wait(&m->contenders, &m->guard, UINT64_MAX);
    }
    atomic_store(&m->owner, self);
    fake_mutex_unlock(&m->guard);
    fake_to_runnable(self);
    parts->enters = 0;
    atomic_fetch_sub(&m->users, 1);
    if (first)
        fake_notify_locked(m);
}

void fake_art_monitor_lock(struct fake_monitor *m, struct fake_thread *self)
{
    monitor_lock(m, self, true);
}
void fake_art_monitor_lock_for_wait(struct fake_monitor *m, struct fake_thread *self)
{
    monitor_lock(m, self, false);
}
FAKE_EXPORT_ALSO(fake_art_monitor_lock, "_ZN3art7Monitor4LockILNS_10LockReasonE1EEEvPNS_6ThreadE",
                 "_ZN3art7Monitor4LockEPNS_6ThreadE");

void fake_monitor_lock_again(struct fake_monitor *m, struct fake_thread *self)
{
    if (fake_level >= 28)
        fake_art_monitor_lock_for_wait(m, self);
    else
        fake_art_monitor_lock(m, self);
}

/* Returns true when it has woken a notified thread. */
static bool wake_notified(struct fake_monitor *m)
{
    while (m->notified) {
        struct fake_thread *t = m->notified;
        struct fake_parts *parts = fake_thread_parts(t);
        m->notified = parts->wait_next;
        parts->wait_next = NULL;
        fake_mutex_lock(&parts->wait_mutex);
        bool waits = parts->wait_monitor == m;
        if (waits) {
            parts->woken = true;
            fake_cond_signal(&parts->wait_cond);
        }
        fake_mutex_unlock(&parts->wait_mutex);
        if (waits)
            return true;
    }
    return false;
}

void fake_monitor_release(struct fake_monitor *m)
{
    atomic_store(&m->owner, NULL);
    wake_notified(m);
    fake_cond_signal(&m->contenders);
    fake_mutex_unlock(&m->guard);
}

static bool not_owned(struct fake_thread *self)
{
    fake_throw(self, "Ljava/lang/IllegalMonitorStateException;", "unlock of unowned monitor");
    return false;
}

bool fake_art_monitor_unlock(struct fake_monitor *m, struct fake_thread *self)
{
    if (atomic_load(&m->owner) != self)
        return not_owned(self);
    if (m->count) {
        m->count--;
        return true;
    }
    fake_mutex_lock(&m->guard);
    fake_monitor_release(m);
    return true;
}

/* ---- entering and leaving ---- */

struct fake_object *fake_art_monitor_enter(struct fake_thread *self, struct fake_object *o, bool trylock)
{
    uint32_t id = fake_thread_id(self);
    int spins = 0;
    for (;;) {
        uint32_t word = load_lock_word(o);
        if (lock_word_state(word) == FAT) {
            if (!trylock)
                fake_art_monitor_lock(monitor_of_fat_word(word), self);
            else if (!try_lock_at_all(monitor_of_fat_word(word), self))
                return NULL;
            return o;
        }
        if (lock_word_state(word) == HASH) {
            fake_monitor_inflate(NULL, o);
        } else if (!word) {
            if (exchange_lock_word(o, word, id))
                return o;
        } else if (thin_owner(word) == id) {
            if (thin_count(word) == COUNT_MAX)
                fake_monitor_inflate(self, o);
            else if (exchange_lock_word(o, word, word + (1u << COUNT_SHIFT)))
                return o;
        } else if (trylock) {
            return NULL;
        } else if (spins++ < SPINS) {
            fake_yield();
        } else {
            spins = 0;
            inflate_of_other(self, o, word);
        }
    }
}
FAKE_EXPORT_ALSO(fake_art_monitor_enter, "_ZN3art7Monitor12MonitorEnterEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEEb",
                 "_ZN3art7Monitor12MonitorEnterEPNS_6ThreadEPNS_6mirror6ObjectEb");

bool fake_art_monitor_exit(struct fake_thread *self, struct fake_object *o)
{
    uint32_t id = fake_thread_id(self);
    for (;;) {
        uint32_t word = load_lock_word(o);
        if (lock_word_state(word) == FAT)
            return fake_art_monitor_unlock(monitor_of_fat_word(word), self);
        if (lock_word_state(word) != THIN || thin_owner(word) != id)
            return not_owned(self);
        if (exchange_lock_word(o, word, thin_count(word) ? word - (1u << COUNT_SHIFT) : 0))
            return true;
    }
}
FAKE_EXPORT_ALSO(fake_art_monitor_exit, "_ZN3art7Monitor11MonitorExitEPNS_6ThreadENS_6ObjPtrINS_6mirror6ObjectEEE",
                 "_ZN3art7Monitor11MonitorExitEPNS_6ThreadEPNS_6mirror6ObjectE");

bool fake_monitor_enter(struct fake_thread *self, struct fake_object *o)
{
    return fake_art_monitor_enter(self, o, false) != NULL;
}

bool fake_monitor_exit(struct fake_thread *self, struct fake_object *o)
{
    return fake_art_monitor_exit(self, o);
}

/* ---- questions ---- */

uint32_t fake_art_monitor_owner(struct fake_object *o)
{
    uint32_t owner;
    fake_monitor_of(o, &owner);
    return owner;
}
FAKE_EXPORT_ALSO(fake_art_monitor_owner, "_ZN3art7Monitor20GetLockOwnerThreadIdENS_6ObjPtrINS_6mirror6ObjectEEE",
                 "_ZN3art7Monitor20GetLockOwnerThreadIdEPNS_6mirror6ObjectE");

/* Returns the object that a thread enters, or waits on. */
struct fake_object *fake_art_monitor_contended(struct fake_thread *t)
{
    const struct fake_parts *parts = fake_thread_parts(t);
    return fake_object(parts->enters ? parts->enters : parts->waits);
}

/* ---- identity ---- */

static int32_t new_hash(void)
{
    static _Atomic uint32_t seed = 987654321u;
    uint32_t old = atomic_load(&seed), hash;
    do
        hash = old * 1103515245u + 12345u;
    while (!atomic_compare_exchange_weak(&seed, &old, hash));
    hash &= VALUE_MASK;
    return hash ? (int32_t)hash : 1;
}

int32_t fake_identity_hash(struct fake_thread *self, struct fake_object *o)
{
    for (;;) {
        uint32_t word = load_lock_word(o);
        if (lock_word_state(word) == HASH)
            return (int32_t)(word & VALUE_MASK);
        if (lock_word_state(word) == FAT) {
            int32_t none = 0;
            atomic_compare_exchange_strong(&monitor_of_fat_word(word)->hash, &none, new_hash());
            return atomic_load(&monitor_of_fat_word(word)->hash);
        }
        if (!word)
            exchange_lock_word(o, 0, (uint32_t)HASH << STATE_SHIFT | (uint32_t)new_hash());
        else if (thin_owner(word) == fake_thread_id(self))
            fake_monitor_inflate(self, o);
        else
            inflate_of_other(self, o, word);
    }
}

/* ---- for the collector, with all threads suspended ---- */

void fake_monitor_sweep(bool (*lives)(const struct fake_object *, void *), void *ctx)
{
    for (uint32_t id = 1; id < used; id++) {
        struct fake_monitor *m = &monitors[id];
        if (!m->object || atomic_load(&m->users) || atomic_load(&m->owner))
            continue;
        struct fake_object *o = fake_object(m->object);
        if (lives(o, ctx)) {
            int32_t hash = atomic_load(&m->hash);
            atomic_store(lock_word_of_object(o), hash ? (uint32_t)HASH << STATE_SHIFT | (uint32_t)hash : 0);
        }
        monitor_free(m);
    }
}

struct visit {
    void (*visit)(fake_ref *, void *);
    void *ctx;
};

static void visit_thread(struct fake_thread *t, void *ctx)
{
    const struct visit *v = ctx;
    struct fake_parts *parts = fake_thread_parts(t);
    v->visit(&parts->enters, v->ctx);
    v->visit(&parts->waits, v->ctx);
}

void fake_monitor_roots(void (*visit)(fake_ref *, void *), void *ctx)
{
    fake_for_each_thread(visit_thread, &(struct visit){visit, ctx});
    for (uint32_t id = 1; id < used; id++)
        if (monitors[id].object && atomic_load(&monitors[id].owner))
            visit(&monitors[id].object, ctx);
}
