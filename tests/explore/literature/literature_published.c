/* Publication of data by one thread to others: messages, sequence locks, initialisation on first use, hazard pointers.
 * */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

static void nothing(void *state)
{
    (void)state;
}

/* ---- a message, and no message */

struct message {
    _Atomic uint32_t flag;
    uint32_t data;
};

static void sends_by(struct message *m, memory_order order)
{
    m->data = 42;
    atomic_store_explicit(&m->flag, 1, order);
}

static void receives_by(struct message *m, memory_order order)
{
    if (atomic_load_explicit(&m->flag, order))
        explore_require(m->data == 42);
}

static void sends(void *state)
{
    sends_by(state, memory_order_release);
}
static void sends_relaxed(void *state)
{
    sends_by(state, memory_order_relaxed);
}
static void receives(void *state)
{
    receives_by(state, memory_order_acquire);
}
static void receives_relaxed(void *state)
{
    receives_by(state, memory_order_relaxed);
}

static void adds_plainly(void *state)
{
    ((struct message *)state)->data++;
}

static void adds_in_two(void *state)
{
    struct message *m = state;
    uint32_t found = atomic_load(&m->flag);
    atomic_store(&m->flag, found + 1);
}

static void adds_in_one(void *state)
{
    atomic_fetch_add_explicit(&((struct message *)state)->flag, 1, memory_order_relaxed);
}

static void two_added(void *state)
{
    explore_require(((struct message *)state)->flag == 2);
}

#define MESSAGE .state_bytes = sizeof(struct message), .setup = nothing, .thread_count = 2

static const struct explore_program passing = {
    .name = "published/message",
    .what = "a message under release and acquire is read whole",
    .source = "Boehm, Adve, Foundations of the C++ concurrency memory model (PLDI 2008): right",
    MESSAGE,
    .thread = {sends, receives},
    .check = nothing,
    .executions = 2,
};

static const struct explore_program passing_relaxed = {
    .name = "published/message-sent-relaxed",
    .what = "a message sent relaxed is a data race",
    .source = "C11 5.1.2.4: without release no synchronization",
    MESSAGE,
    .thread = {sends_relaxed, receives},
    .check = nothing,
    .faults = IN_ALL(RACE),
};

static const struct explore_program passing_looked = {
    .name = "published/message-read-relaxed",
    .what = "a message looked for relaxed is a data race",
    .source = "C11 5.1.2.4: without acquire no synchronization",
    MESSAGE,
    .thread = {sends, receives_relaxed},
    .check = nothing,
    .faults = IN_ALL(RACE),
};

static const struct explore_program race = {
    .name = "published/race",
    .what = "two plain additions are a data race",
    .source = "C11 5.1.2.4: in each model",
    MESSAGE,
    .thread = EACH_2(adds_plainly),
    .check = nothing,
    .faults = IN_ALL(RACE),
};

static const struct explore_program lost_addition = {
    .name = "published/lost-addition",
    .what = "a load and a store lose an addition",
    .source = "Boehm, Adve (PLDI 2008): atomic accesses do not make an atomic addition",
    MESSAGE,
    .thread = EACH_2(adds_in_two),
    .check = two_added,
    .faults = IN_ALL(REQUIRE),
};

static const struct explore_program addition = {
    .name = "published/addition",
    .what = "relaxed read-modify-writes lose no addition",
    .source = "C11 7.17.3: a read-modify-write reads the last value: 2! executions",
    MESSAGE,
    .thread = EACH_2(adds_in_one),
    .check = two_added,
    .executions = 2,
};

/* ---- sequence locks (Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012) */

struct seqlock {
    _Atomic uint32_t turn, first, second;
};

static void writes(struct seqlock *s, bool fence)
{
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);
        atomic_store_explicit(&s->turn, turn + 1, memory_order_relaxed);
        if (fence)
            atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&s->first, i + 1, memory_order_relaxed);
        atomic_store_explicit(&s->second, i + 1, memory_order_relaxed);
        atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
    }
}

/* Enters the write side by an update, which is ordered after readers that updated before. */
static void enters(struct seqlock *s)
{
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint32_t turn = atomic_fetch_add_explicit(&s->turn, 1, memory_order_acquire);
        atomic_store_explicit(&s->first, i + 1, memory_order_relaxed);
        atomic_store_explicit(&s->second, i + 1, memory_order_relaxed);
        atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
    }
}

enum reader { FENCED, UNFENCED, UPDATES };

static void reads(struct seqlock *s, enum reader kind)
{
    uint32_t before = atomic_load_explicit(&s->turn, memory_order_acquire), after;
    uint32_t first = atomic_load_explicit(&s->first, memory_order_relaxed);
    uint32_t second = atomic_load_explicit(&s->second, memory_order_relaxed);
    if (kind == UPDATES) {
        after = atomic_fetch_add_explicit(&s->turn, 0, memory_order_release);
    } else {
        if (kind == FENCED)
            atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&s->turn, kind == FENCED ? memory_order_relaxed : memory_order_acquire);
    }
    if (before == after && before % 2 == 0)
        explore_require(first == second && first == before / 2);
}

static void seqlock_writes(void *state)
{
    writes(state, true);
}
static void seqlock_writes_unfenced(void *state)
{
    writes(state, false);
}
static void seqlock_enters(void *state)
{
    enters(state);
}
static void seqlock_reads(void *state)
{
    reads(state, FENCED);
}
static void seqlock_reads_unfenced(void *state)
{
    reads(state, UNFENCED);
}
static void seqlock_updates(void *state)
{
    reads(state, UPDATES);
}

#define SEQLOCK                                                                                                        \
    .state_bytes = sizeof(struct seqlock), .setup = nothing, .check = nothing, .thread_count = 2, .quick = 2,          \
    .nightly = 4

static const struct explore_program seqlock_good = {
    .name = "published/seqlock",
    .what = "a reader whose turn is unchanged has read one writer's values",
    .source = "Boehm (MSPC 2012), figure 6: right with an acquire fence before the second look",
    SEQLOCK,
    .thread = {seqlock_writes, seqlock_reads},
    .fenced = true,
};

static const struct explore_program seqlock_two = {
    .name = "published/seqlock-readers",
    .what = "two readers of a sequence lock",
    .source = "Boehm (MSPC 2012), figure 6: right",
    .state_bytes = sizeof(struct seqlock),
    .setup = nothing,
    .check = nothing,
    .thread_count = 3,
    .thread = {seqlock_writes, seqlock_reads, seqlock_reads},
    .quick = 1,
    .nightly = 2,
    .fenced = true,
};

static const struct explore_program seqlock_update = {
    .name = "published/seqlock-update",
    .what = "a reader may look again by adding nothing, with release",
    .source = "Boehm (MSPC 2012), section 4: read-don't-modify-write; the writer enters by an update: right",
    .state_bytes = sizeof(struct seqlock),
    .setup = nothing,
    .check = nothing,
    .thread_count = 2,
    .thread = {seqlock_enters, seqlock_updates},
    .quick = 2,
    .nightly = 3,
};

/* The reader's release synchronizes with no acquire. */
static const struct explore_program seqlock_update_stored = {
    .name = "published/seqlock-update-stored",
    .what = "a writer that enters by a store waits for no such reader",
    .source = "by the axioms of RC11 (PLDI 2017): nothing orders the update before the values that it read",
    SEQLOCK,
    .thread = {seqlock_writes, seqlock_updates},
    .faults = IN_C11(REQUIRE),
    .fenced = true,
};

static const struct explore_program seqlock_unread = {
    .name = "published/seqlock-reader-unfenced",
    .what = "an acquire load alone lets a reader's values come later",
    .source = "Boehm (MSPC 2012), section 3: loads may move below an acquire load",
    SEQLOCK,
    .thread = {seqlock_writes, seqlock_reads_unfenced},
    .faults = IN_C11(REQUIRE),
    .fenced = true,
};

static const struct explore_program seqlock_unwritten = {
    .name = "published/seqlock-writer-unfenced",
    .what = "without the writer's fence its values may come first",
    .source = "Boehm (MSPC 2012), section 3: the stores may move above the store of the turn",
    SEQLOCK,
    .thread = {seqlock_writes_unfenced, seqlock_reads},
    .faults = IN_C11(REQUIRE),
    .fenced = true,
};

/* ---- initialisation on first use (Schmidt, Harrison 1996; Bacon et al., The "double-checked locking is broken"
 * declaration, 2000) */

struct once {
    _Atomic uint32_t lock, done, times;
    uint32_t value;
};

static void once_by(struct once *o, memory_order look, memory_order publish)
{
    if (!atomic_load_explicit(&o->done, look)) {
        while (atomic_exchange_explicit(&o->lock, 1, memory_order_acquire))
            explore_spin();
        if (!atomic_load_explicit(&o->done, memory_order_relaxed)) {
            o->value = 42;
            atomic_fetch_add_explicit(&o->times, 1, memory_order_relaxed);
            atomic_store_explicit(&o->done, 1, publish);
        }
        atomic_store_explicit(&o->lock, 0, memory_order_release);
    }
    explore_require(o->value == 42);
}

static void once(void *state)
{
    once_by(state, memory_order_acquire, memory_order_release);
}
static void once_looks_relaxed(void *state)
{
    once_by(state, memory_order_relaxed, memory_order_release);
}
static void once_publishes_relaxed(void *state)
{
    once_by(state, memory_order_acquire, memory_order_relaxed);
}

static void happened_once(void *state)
{
    explore_require(((struct once *)state)->times == 1);
}

/* Both threads check without the lock. */
static void once_unlocked(void *state)
{
    struct once *o = state;
    if (atomic_load(&o->done))
        return;
    atomic_fetch_add(&o->times, 1);
    atomic_store(&o->done, 1);
}

#define ONCE .state_bytes = sizeof(struct once), .setup = nothing, .check = happened_once

static const struct explore_program once_good = {
    .name = "published/once",
    .what = "double-checked initialisation with acquire and release happens once, first",
    .source = "Bacon et al., the declaration (2000): right with the new orders",
    ONCE,
    .thread_count = 3,
    .thread = EACH_3(once),
};

static const struct explore_program once_looked = {
    .name = "published/once-looks-relaxed",
    .what = "double-checked initialisation that looks relaxed reads too early",
    .source = "Bacon et al., the declaration (2000): wrong",
    ONCE,
    .thread_count = 2,
    .thread = EACH_2(once_looks_relaxed),
    .faults = IN_ALL(RACE),
};

static const struct explore_program once_published = {
    .name = "published/once-publishes-relaxed",
    .what = "double-checked initialisation published relaxed is read early",
    .source = "Bacon et al., the declaration (2000): wrong",
    ONCE,
    .thread_count = 2,
    .thread = EACH_2(once_publishes_relaxed),
    .faults = IN_ALL(RACE),
};

static const struct explore_program once_twice = {
    .name = "published/once-unlocked",
    .what = "initialisation that is checked once happens twice",
    .source = "Schmidt, Harrison, Double-checked locking (PLoP 1996): why there is a lock",
    ONCE,
    .thread_count = 2,
    .thread = EACH_2(once_unlocked),
    .faults = IN_ALL(REQUIRE),
};

/* ---- hazard pointers (Michael, TPDS 2004) */

struct block {
    uint32_t value;
};

struct hazard {
    struct block *_Atomic current, *_Atomic guarded;
};

static void hazard_setup(void *state)
{
    struct hazard *h = state;
    struct block *first = explore_alloc(sizeof *first);
    first->value = 1;
    h->current = first;
}

static void guards(struct hazard *h, bool fence)
{
    struct block *seen = atomic_load_explicit(&h->current, memory_order_acquire);
    atomic_store_explicit(&h->guarded, seen, memory_order_relaxed);
    if (fence)
        atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&h->current, memory_order_acquire) == seen)
        explore_require(seen->value == 1 || seen->value == 2);
    atomic_store_explicit(&h->guarded, NULL, memory_order_release);
}

static void replaces(struct hazard *h, bool fence)
{
    struct block *new = explore_alloc(sizeof *new), *old;
    new->value = 2;
    old = atomic_exchange_explicit(&h->current, new, memory_order_acq_rel);
    if (fence)
        atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&h->guarded, memory_order_acquire) != old)
        explore_free(old);
}

static void hazard_reads(void *state)
{
    guards(state, true);
}
static void hazard_replaces(void *state)
{
    replaces(state, true);
}
static void hazard_reads_unfenced(void *state)
{
    guards(state, false);
}

static void hazard_reads_unguarded(void *state)
{
    struct block *seen = atomic_load_explicit(&((struct hazard *)state)->current, memory_order_acquire);
    explore_require(seen->value == 1 || seen->value == 2);
}

#define HAZARD .state_bytes = sizeof(struct hazard), .setup = hazard_setup, .check = nothing, .thread_count = 2

static const struct explore_program hazard_good = {
    .name = "published/hazard",
    .what = "a block that a reader guards is not freed",
    .source = "Michael, Hazard pointers (TPDS 2004): right with an order of store and load",
    HAZARD,
    .thread = {hazard_reads, hazard_replaces},
    .fenced = true,
};

static const struct explore_program hazard_unfenced = {
    .name = "published/hazard-unfenced",
    .what = "a guard that is still in the store buffer guards nothing",
    .source = "Michael, Hazard pointers (TPDS 2004): the guard has to be seen before the second look",
    HAZARD,
    .thread = {hazard_reads_unfenced, hazard_replaces},
    .faults = IN_TSO_AND_C11(RECLAIMED | RACE),
};

static const struct explore_program hazard_unguarded = {
    .name = "published/hazard-unguarded",
    .what = "a block that nobody guards is freed under its reader",
    .source = "Michael, Hazard pointers (TPDS 2004), section 1",
    HAZARD,
    .thread = {hazard_reads_unguarded, hazard_replaces},
    .faults = IN_ALL(RECLAIMED | RACE),
};

const struct explore_program *const literature_published[] = {
    &passing,          &passing_relaxed,
    &passing_looked,   &race,
    &lost_addition,    &addition,
    &seqlock_good,     &seqlock_two,
    &seqlock_update,   &seqlock_update_stored,
    &seqlock_unread,   &seqlock_unwritten,
    &once_good,        &once_looked,
    &once_published,   &once_twice,
    &hazard_good,      &hazard_unfenced,
    &hazard_unguarded, NULL,
};
