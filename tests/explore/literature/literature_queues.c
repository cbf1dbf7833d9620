/* Queues: with one writer and one reader, unbounded, and bounded. The payload is plain memory, so that a missing order
 * is a data race. */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

static void nothing(void *state)
{
    (void)state;
}

/* ---- one writer, one reader (Lamport, Specifying concurrent program modules, TOPLAS 1983) */

enum { RING = 2 };

struct ring {
    _Atomic uint32_t head, tail; /* next to read, next to write: counters; the slot is counter % RING */
    uint32_t slot[RING];
    _Atomic uint32_t loose[RING]; /* atomic payload, for a ring without memory orders */
};

static bool ring_put(struct ring *r, uint32_t value, memory_order load, memory_order store)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&r->head, load) == RING)
        return false;
    r->slot[tail % RING] = value;
    atomic_store_explicit(&r->tail, tail + 1, store);
    return true;
}

static bool ring_take(struct ring *r, uint32_t *value, memory_order load, memory_order store)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head == atomic_load_explicit(&r->tail, load))
        return false;
    *value = r->slot[head % RING];
    atomic_store_explicit(&r->head, head + 1, store);
    return true;
}

static void ring_write(struct ring *r, memory_order load, memory_order store)
{
    for (uint32_t i = 0; i < explore_size(); i++)
        while (!ring_put(r, i + 1, load, store))
            explore_spin();
}

static void ring_read(struct ring *r, memory_order load, memory_order store)
{
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint32_t value = 0;
        while (!ring_take(r, &value, load, store))
            explore_spin();
        explore_require(value == i + 1);
    }
}

static void ring_writer(void *state)
{
    ring_write(state, memory_order_acquire, memory_order_release);
}
static void ring_reader(void *state)
{
    ring_read(state, memory_order_acquire, memory_order_release);
}
static void ring_writer_relaxed(void *state)
{
    ring_write(state, memory_order_acquire, memory_order_relaxed);
}
static void ring_reader_relaxed(void *state)
{
    ring_read(state, memory_order_relaxed, memory_order_release);
}
static void ring_reader_eager(void *state)
{
    ring_read(state, memory_order_acquire, memory_order_relaxed);
}

static void ring_drained(void *state)
{
    struct ring *r = state;
    explore_require(r->head == explore_size() && r->tail == explore_size());
}

#define RING_PROGRAM                                                                                                   \
    .thread_count = 2, .state_bytes = sizeof(struct ring), .setup = nothing, .check = ring_drained, .quick = 3,        \
    .nightly = 5

static const struct explore_program ring_good = {
    .name = "queues/spsc",
    .what = "a ring of one writer and one reader delivers each record once, in order",
    .source = "Lamport (TOPLAS 1983), with release and acquire as in Le et al. (NPC 2013): right",
    RING_PROGRAM,
    .thread = {ring_writer, ring_reader},
};

static const struct explore_program ring_writes_relaxed = {
    .name = "queues/spsc-writer-relaxed",
    .what = "a ring whose writer publishes relaxed hands out unwritten records",
    .source = "C11 5.1.2.4: without release no synchronization",
    RING_PROGRAM,
    .thread = {ring_writer_relaxed, ring_reader},
    .faults = IN_ALL(RACE),
};

static const struct explore_program ring_reads_relaxed = {
    .name = "queues/spsc-reader-relaxed",
    .what = "a ring whose reader looks relaxed reads unwritten records",
    .source = "C11 5.1.2.4: without acquire no synchronization",
    RING_PROGRAM,
    .thread = {ring_writer, ring_reader_relaxed},
    .faults = IN_ALL(RACE),
};

static const struct explore_program ring_reads_eagerly = {
    .name = "queues/spsc-reader-frees-relaxed",
    .what = "a ring whose reader frees relaxed has records overwritten",
    .source = "C11 5.1.2.4: without release no synchronization: the load of a record may pass the store that frees it",
    RING_PROGRAM,
    .thread = {ring_writer, ring_reader_eager},
    .faults = IN_ALL(RACE),
};

/* As Lamport wrote it: atomic accesses, no orders. */
static void loose_writer(void *state)
{
    struct ring *r = state;
    for (uint32_t i = 0; i < explore_size(); i++) {
        while (i - atomic_load_explicit(&r->head, memory_order_relaxed) == RING)
            explore_spin();
        atomic_store_explicit(&r->loose[i % RING], i + 1, memory_order_relaxed);
        atomic_store_explicit(&r->tail, i + 1, memory_order_relaxed);
    }
}

static void loose_reader(void *state)
{
    struct ring *r = state;
    for (uint32_t i = 0; i < explore_size(); i++) {
        while (atomic_load_explicit(&r->tail, memory_order_relaxed) == i)
            explore_spin();
        explore_require(atomic_load_explicit(&r->loose[i % RING], memory_order_relaxed) == i + 1);
        atomic_store_explicit(&r->head, i + 1, memory_order_relaxed);
    }
}

static const struct explore_program ring_loose = {
    .name = "queues/spsc-loose",
    .what = "a ring with no orders at all delivers on SC and TSO, not in C11",
    .source = "Lamport (TOPLAS 1983): right under SC; Owens et al. (2009): TSO keeps loads in order, and stores",
    RING_PROGRAM,
    .thread = {loose_writer, loose_reader},
    .faults = IN_C11(REQUIRE),
};

/* ---- Michael and Scott (PODC 1996), nodes never used again */

enum { NODES = 6 };

struct queue {
    _Atomic uint32_t head, tail; /* indices; node 0 is the dummy at first, next = 0: none */
    struct {
        _Atomic uint32_t next;
        uint32_t value;
    } node[NODES];
    uint32_t got[EXPLORE_THREADS_MAX][2];
};

static void queue_put(struct queue *q, uint32_t node, uint32_t value, memory_order link)
{
    q->node[node].value = value;
    for (;;) {
        uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
        uint32_t next = atomic_load_explicit(&q->node[tail].next, memory_order_acquire);
        if (!next &&
            atomic_compare_exchange_strong_explicit(&q->node[tail].next, &next, node, link, memory_order_acquire)) {
            atomic_compare_exchange_strong_explicit(&q->tail, &tail, node, memory_order_release, memory_order_relaxed);
            return;
        }
        atomic_compare_exchange_strong_explicit(&q->tail, &tail, next, memory_order_release, memory_order_relaxed);
        explore_spin();
    }
}

/* Returns 0 when the queue is empty. */
static uint32_t queue_take(struct queue *q)
{
    for (;;) {
        uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);
        uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
        uint32_t next = atomic_load_explicit(&q->node[head].next, memory_order_acquire);
        if (head != atomic_load_explicit(&q->head, memory_order_acquire)) {
            explore_spin();
            continue;
        }
        if (!next)
            return 0;
        if (head == tail) {
            atomic_compare_exchange_strong_explicit(&q->tail, &tail, next, memory_order_release, memory_order_relaxed);
        } else {
            uint32_t value = q->node[next].value;
            if (atomic_compare_exchange_strong_explicit(&q->head, &head, next, memory_order_release,
                                                        memory_order_relaxed))
                return value;
        }
        explore_spin();
    }
}

/* Thread i puts i + 1 into node i + 1. */
static void queue_puts(void *state)
{
    queue_put(state, explore_self() + 1, explore_self() + 1, memory_order_release);
}

static void queue_puts_relaxed(void *state)
{
    queue_put(state, explore_self() + 1, explore_self() + 1, memory_order_relaxed);
}

static void queue_puts_two(void *state)
{
    queue_put(state, 1, 1, memory_order_release);
    queue_put(state, 2, 2, memory_order_release);
}

static void queue_takes(void *state)
{
    ((struct queue *)state)->got[explore_self()][0] = queue_take(state);
}

static void queue_takes_two(void *state)
{
    struct queue *q = state;
    q->got[explore_self()][0] = queue_take(q);
    q->got[explore_self()][1] = queue_take(q);
}

/* Each value that was put was taken once or is still in the queue. */
static void queue_adds_up(struct queue *q, uint32_t put)
{
    uint32_t times[NODES] = {0}, taken = 0;
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++)
        for (uint32_t k = 0; k < 2; k++)
            times[q->got[i][k]]++, taken += q->got[i][k] != 0;
    for (uint32_t at = q->node[q->head].next; at && taken < NODES; at = q->node[at].next, taken++)
        times[q->node[at].value]++;
    for (uint32_t i = 1; i <= put; i++)
        explore_require(explore_frozen() ? times[i] <= 1 : times[i] == 1);
    explore_require(explore_frozen() || taken == put);
}

static void two_add_up(void *state)
{
    queue_adds_up(state, 2);
}

static void in_order(void *state)
{
    struct queue *q = state;
    queue_adds_up(q, 2);
    explore_require(!(q->got[1][0] == 2) && !(q->got[1][1] == 1 && q->got[1][0]));
}

#define QUEUE .state_bytes = sizeof(struct queue), .setup = nothing

static const struct explore_program michael_scott = {
    .name = "queues/michael-scott",
    .what = "two put, one takes: each record is there once",
    .source = "Michael, Scott (PODC 1996): linearizable",
    QUEUE,
    .thread_count = 3,
    .thread = {queue_puts, queue_puts, queue_takes},
    .check = two_add_up,
};

static const struct explore_program michael_scott_order = {
    .name = "queues/michael-scott-order",
    .what = "one puts two, another takes two: first in, first out",
    .source = "Michael, Scott (PODC 1996): linearizable",
    QUEUE,
    .thread_count = 2,
    .thread = {queue_puts_two, queue_takes_two},
    .check = in_order,
};

static const struct explore_program michael_scott_frozen = {
    .name = "queues/michael-scott-frozen",
    .what = "one who stops while putting holds up nobody",
    .source = "Michael, Scott (PODC 1996): non-blocking",
    QUEUE,
    .thread_count = 2,
    .thread = {queue_puts, queue_puts},
    .check = two_add_up,
    .frozen = 3,
};

static const struct explore_program michael_scott_bad = {
    .name = "queues/michael-scott-relaxed",
    .what = "a record linked by a relaxed exchange is read unwritten",
    .source = "C11 5.1.2.4: without release no synchronization",
    QUEUE,
    .thread_count = 2,
    .thread = {queue_puts_relaxed, queue_takes},
    .check = nothing,
    .faults = IN_ALL(RACE),
};

/* ---- bounded, many writers and readers (Vyukov, Bounded MPMC queue, 1024cores) */

struct bounded {
    _Atomic uint32_t put, take;
    struct {
        _Atomic uint32_t turn;
        uint32_t value;
    } cell[RING];
    uint32_t got[EXPLORE_THREADS_MAX], stored[EXPLORE_THREADS_MAX];
};

static void bounded_setup(void *state)
{
    struct bounded *b = state;
    for (uint32_t i = 0; i < RING; i++)
        b->cell[i].turn = i;
}

/* Claims the next cell whose turn is position + ahead; false when none is ready. */
static bool bounded_claim(struct bounded *b, _Atomic uint32_t *position, uint32_t ahead, uint32_t *claimed)
{
    for (;;) {
        uint32_t at = atomic_load_explicit(position, memory_order_relaxed);
        uint32_t turn = atomic_load_explicit(&b->cell[at % RING].turn, memory_order_acquire);
        int32_t late = (int32_t)(turn - (at + ahead));
        if (late < 0)
            return false;
        *claimed = at;
        if (late == 0 &&
            atomic_compare_exchange_weak_explicit(position, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
            return true;
        explore_spin();
    }
}

static void bounded_put(struct bounded *b, uint32_t value, memory_order publish)
{
    uint32_t at;
    if (!bounded_claim(b, &b->put, 0, &at))
        return;
    b->cell[at % RING].value = value;
    atomic_store_explicit(&b->cell[at % RING].turn, at + 1, publish);
    b->stored[explore_self()]++;
}

static uint32_t bounded_take(struct bounded *b)
{
    uint32_t at;
    if (!bounded_claim(b, &b->take, 1, &at))
        return 0;
    uint32_t value = b->cell[at % RING].value;
    atomic_store_explicit(&b->cell[at % RING].turn, at + RING, memory_order_release);
    return value;
}

static void bounded_puts(void *state)
{
    bounded_put(state, explore_self() + 1, memory_order_release);
}
static void bounded_puts_relaxed(void *state)
{
    bounded_put(state, explore_self() + 1, memory_order_relaxed);
}

static void bounded_takes(void *state)
{
    ((struct bounded *)state)->got[explore_self()] = bounded_take(state);
}

/* Wraps around the ring: the third record needs a cell that a reader freed. */
static void bounded_goes_round(void *state)
{
    struct bounded *b = state;
    for (uint32_t i = 0; i < 3; i++)
        bounded_put(b, 1, memory_order_release);
}

static void bounded_adds_up(void *state)
{
    struct bounded *b = state;
    uint32_t stored = 0, taken = 0;
    for (uint32_t i = 0; i < EXPLORE_THREADS_MAX; i++) {
        stored += b->stored[i];
        taken += b->got[i] != 0;
        for (uint32_t k = 0; k < i; k++)
            explore_require(b->got[i] == 0 || b->got[i] != b->got[k] || b->stored[b->got[i] - 1] > 1);
    }
    explore_require(stored == b->put && taken == b->take && stored - taken <= RING);
}

#define BOUNDED .state_bytes = sizeof(struct bounded), .setup = bounded_setup, .check = bounded_adds_up

static const struct explore_program mpmc_good = {
    .name = "queues/mpmc",
    .what = "two put, one takes: no record is lost or taken twice",
    .source = "Vyukov, Bounded MPMC queue (1024cores, 2010): right",
    BOUNDED,
    .thread_count = 3,
    .thread = {bounded_puts, bounded_puts, bounded_takes},
};

static const struct explore_program mpmc_takers = {
    .name = "queues/mpmc-takers",
    .what = "one goes round the ring, two take",
    .source = "Vyukov, Bounded MPMC queue (1024cores, 2010): right",
    BOUNDED,
    .thread_count = 3,
    .thread = {bounded_goes_round, bounded_takes, bounded_takes},
};

static const struct explore_program mpmc_bad = {
    .name = "queues/mpmc-relaxed",
    .what = "a cell handed over by a relaxed store is read unwritten",
    .source = "Vyukov, Bounded MPMC queue (1024cores, 2010): the turn is stored with release",
    BOUNDED,
    .thread_count = 2,
    .thread = {bounded_puts_relaxed, bounded_takes},
    .faults = IN_ALL(RACE),
};

const struct explore_program *const literature_queues[] = {
    &ring_good,
    &ring_writes_relaxed,
    &ring_reads_relaxed,
    &ring_reads_eagerly,
    &ring_loose,
    &michael_scott,
    &michael_scott_order,
    &michael_scott_frozen,
    &michael_scott_bad,
    &mpmc_good,
    &mpmc_takers,
    &mpmc_bad,
    NULL,
};
