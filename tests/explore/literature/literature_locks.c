/* Mutual exclusion: each thread increments a plain counter inside the lock. Two threads inside at once, or one after
 * the other without an order, are a data race. A lost increment is detected at the end. */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

struct lock {
    _Atomic uint32_t flag[2], turn;  /* Dekker, Peterson */
    _Atomic uint32_t next, serving;  /* ticket */
    _Atomic uint32_t taken[2];       /* test and set */
    _Atomic uint32_t missing, sense; /* barrier */
    uint32_t counter, seen[EXPLORE_THREADS_MAX];
};

static void count(struct lock *l)
{
    l->counter++;
}

static void two_counted(void *state)
{
    explore_require(((struct lock *)state)->counter == 2);
}

static void nothing(void *state)
{
    (void)state;
}

/* ---- Dekker (Dijkstra, EWD 123, 1965) */

struct orders {
    memory_order load, store;
    bool fence;
};

static void dekker(struct lock *l, struct orders by)
{
    uint32_t me = explore_self(), other = 1 - me;
    atomic_store_explicit(&l->flag[me], 1, by.store);
    if (by.fence)
        atomic_thread_fence(memory_order_seq_cst);
    while (atomic_load_explicit(&l->flag[other], by.load)) {
        if (atomic_load_explicit(&l->turn, by.load) == other) {
            atomic_store_explicit(&l->flag[me], 0, by.store);
            while (atomic_load_explicit(&l->turn, by.load) == other)
                explore_spin();
            atomic_store_explicit(&l->flag[me], 1, by.store);
            if (by.fence)
                atomic_thread_fence(memory_order_seq_cst);
        }
        explore_spin();
    }
    if (by.fence)
        atomic_thread_fence(memory_order_acquire);
    count(l);
    atomic_store_explicit(&l->turn, other, by.store);
    if (by.fence)
        atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&l->flag[me], 0, by.store);
}

static void dekker_seq_cst(void *state)
{
    dekker(state, (struct orders){memory_order_seq_cst, memory_order_seq_cst, false});
}

static void dekker_acquire_release(void *state)
{
    dekker(state, (struct orders){memory_order_acquire, memory_order_release, false});
}

static void dekker_fences(void *state)
{
    dekker(state, (struct orders){memory_order_relaxed, memory_order_relaxed, true});
}

static const struct explore_program dekker_good = {
    .name = "locks/dekker",
    .what = "Dekker's algorithm excludes with seq_cst accesses",
    .source = "Dijkstra, EWD 123 (1965): right under SC",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(dekker_seq_cst),
    .check = two_counted,
};

static const struct explore_program dekker_fenced = {
    .name = "locks/dekker-fences",
    .what = "Dekker's algorithm excludes with relaxed accesses and fences",
    .source = "Williams, Implementing Dekker's algorithm with fences (2010): right in C++11",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(dekker_fences),
    .check = two_counted,
    .fenced = true,
};

static const struct explore_program dekker_bad = {
    .name = "locks/dekker-weak",
    .what = "Dekker's algorithm does not exclude with acquire and release alone",
    .source = "Owens, Sarkar, Sewell, x86-TSO (TPHOLs 2009): store buffering breaks it on TSO and weaker",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(dekker_acquire_release),
    .check = two_counted,
    .faults = IN_TSO_AND_C11(RACE | REQUIRE),
};

/* ---- Peterson (Myths about the mutual exclusion problem, 1981) */

enum peterson { PLAIN, FENCE, FENCES, EXCHANGE };

static void peterson(struct lock *l, struct orders by, enum peterson kind)
{
    uint32_t me = explore_self(), other = 1 - me;
    atomic_store_explicit(&l->flag[me], 1, by.store);
    if (kind == FENCES)
        atomic_thread_fence(memory_order_seq_cst);
    if (kind == EXCHANGE)
        atomic_exchange_explicit(&l->turn, other, memory_order_acq_rel);
    else
        atomic_store_explicit(&l->turn, other, by.store);
    if (kind == FENCE || kind == FENCES)
        atomic_thread_fence(memory_order_seq_cst);
    while (atomic_load_explicit(&l->flag[other], by.load) && atomic_load_explicit(&l->turn, by.load) == other)
        explore_spin();
    count(l);
    atomic_store_explicit(&l->flag[me], 0, memory_order_release);
}

static const struct orders weak = {.load = memory_order_acquire, .store = memory_order_release};

static void peterson_seq_cst(void *state)
{
    peterson(state, (struct orders){.load = memory_order_seq_cst, .store = memory_order_seq_cst}, PLAIN);
}

static void peterson_weak(void *state)
{
    peterson(state, weak, PLAIN);
}
static void peterson_fence(void *state)
{
    peterson(state, weak, FENCE);
}
static void peterson_fences(void *state)
{
    peterson(state, weak, FENCES);
}
static void peterson_exchange(void *state)
{
    peterson(state, weak, EXCHANGE);
}

static const struct explore_program peterson_good = {
    .name = "locks/peterson",
    .what = "Peterson's algorithm excludes with seq_cst accesses",
    .source = "Peterson, Myths about the mutual exclusion problem (1981): right under SC",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(peterson_seq_cst),
    .check = two_counted,
};

static const struct explore_program peterson_exchanged = {
    .name = "locks/peterson-exchange",
    .what = "Peterson's algorithm excludes when the turn is exchanged by acq_rel",
    .source = "Williams, Peterson's lock with C++0x atomics (2008), after Vyukov: right in C++11",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(peterson_exchange),
    .check = two_counted,
};

static const struct explore_program peterson_two_fences = {
    .name = "locks/peterson-fences",
    .what = "Peterson's algorithm excludes with a fence after each of its two stores",
    .source = "Lahav et al., RC11 (PLDI 2017): fences between all accesses restore SC",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(peterson_fences),
    .check = two_counted,
    .fenced = true,
};

/* TSO keeps the two stores in order. RC11 may order the stores of `turn` otherwise than those of `flag`: one thread saw
 * no flag and is inside, and the other thread finds its own turn. */
static const struct explore_program peterson_one_fence = {
    .name = "locks/peterson-one-fence",
    .what = "Peterson's algorithm with one fence excludes on TSO, not in C11",
    .source = "by the axioms of RC11 (PLDI 2017): psc orders neither the stores to flag and turn nor the two turns",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(peterson_fence),
    .check = two_counted,
    .faults = IN_C11(RACE | REQUIRE),
};

static const struct explore_program peterson_bad = {
    .name = "locks/peterson-weak",
    .what = "Peterson's algorithm does not exclude with acquire and release alone",
    .source = "Williams, Peterson's lock with C++0x atomics (2008): wrong without an order of store and load",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(peterson_weak),
    .check = two_counted,
    .faults = IN_TSO_AND_C11(RACE | REQUIRE),
};

/* ---- ticket lock (Mellor-Crummey, Scott 1991) */

static void ticket(struct lock *l, memory_order out)
{
    uint32_t mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&l->serving, memory_order_acquire) != mine)
        explore_spin();
    count(l);
    atomic_store_explicit(&l->serving, mine + 1, out);
}

static void ticket_release(void *state)
{
    ticket(state, memory_order_release);
}
static void ticket_relaxed(void *state)
{
    ticket(state, memory_order_relaxed);
}

static void three_counted(void *state)
{
    explore_require(((struct lock *)state)->counter == 3);
}

static const struct explore_program ticket_good = {
    .name = "locks/ticket",
    .what = "a ticket lock excludes three threads; they may come in any order",
    .source = "Mellor-Crummey, Scott (TOCS 1991): right; one execution for each order of the tickets, 3!",
    .thread_count = 3,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_3(ticket_release),
    .check = three_counted,
    .executions = 6,
};

static const struct explore_program ticket_bad = {
    .name = "locks/ticket-relaxed",
    .what = "a ticket lock handed on by a relaxed store orders nothing",
    .source = "C11 5.1.2.4: without release no synchronization",
    .thread_count = 3,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_3(ticket_relaxed),
    .check = three_counted,
    .faults = IN_ALL(RACE),
};

static const struct explore_program ticket_frozen = {
    .name = "locks/ticket-frozen",
    .what = "a lock is not lock-free: who stops inside stops all others",
    .source = "Herlihy, Wait-free synchronization (TOPLAS 1991)",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(ticket_release),
    .check = nothing,
    .frozen = 1,
    .faults = IN_ALL(DEADLOCK),
};

/* ---- two locks, and a barrier */

static void enter(_Atomic uint32_t *taken)
{
    while (atomic_exchange_explicit(taken, 1, memory_order_acquire))
        explore_spin();
}

static void leave(_Atomic uint32_t *taken)
{
    atomic_store_explicit(taken, 0, memory_order_release);
}

static void both(struct lock *l, uint32_t first)
{
    enter(&l->taken[first]);
    enter(&l->taken[1 - first]);
    count(l);
    leave(&l->taken[1 - first]);
    leave(&l->taken[first]);
}

static void both_up(void *state)
{
    both(state, 0);
}
static void both_down(void *state)
{
    both(state, 1);
}

static const struct explore_program ordered = {
    .name = "locks/two-in-order",
    .what = "two locks taken in one order do not deadlock",
    .source = "Coffman, Elphick, Shoshani, System deadlocks (1971)",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(both_up),
    .check = two_counted,
};

static const struct explore_program opposite = {
    .name = "locks/two-in-opposite-order",
    .what = "two locks taken in opposite orders deadlock",
    .source = "Coffman, Elphick, Shoshani, System deadlocks (1971)",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = {both_up, both_down},
    .check = two_counted,
    .faults = IN_ALL(DEADLOCK),
};

/* Each thread gives way to the other for ever (a livelock). */
static void after_you(void *state)
{
    struct lock *l = state;
    uint32_t me = explore_self();
    atomic_store(&l->flag[me], 1);
    while (atomic_load(&l->flag[1 - me]))
        explore_spin();
    count(l);
    atomic_store(&l->flag[me], 0);
}

static const struct explore_program livelock = {
    .name = "locks/livelock",
    .what = "two threads that announce themselves and have no turn wait for each other",
    .source = "Dijkstra, EWD 123 (1965), the third solution: after you",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = EACH_2(after_you),
    .check = two_counted,
    .faults = IN_ALL(DEADLOCK),
};

/* Waits in a loop that does not call the explorer's wait function. */
static void waits_silently(void *state)
{
    while (!atomic_load_explicit(&((struct lock *)state)->turn, memory_order_relaxed))
        ;
}

static const struct explore_program abandoned = {
    .name = "locks/abandoned",
    .what = "a loop that waits for what nobody stores waits for ever",
    .source = "Dijkstra, Cooperating sequential processes (1965)",
    .thread_count = 1,
    .state_bytes = sizeof(struct lock),
    .setup = nothing,
    .thread = {waits_silently},
    .check = nothing,
    .faults = IN_ALL(DEADLOCK),
};

static void arrive(struct lock *l, uint32_t threads, uint32_t mine, bool early)
{
    if (atomic_fetch_sub_explicit(&l->missing, 1, memory_order_acq_rel) != 1) {
        while (atomic_load_explicit(&l->sense, memory_order_acquire) != mine)
            explore_spin();
        return;
    }
    if (early)
        atomic_store_explicit(&l->sense, mine, memory_order_release);
    atomic_store_explicit(&l->missing, threads, memory_order_relaxed);
    if (!early)
        atomic_store_explicit(&l->sense, mine, memory_order_release);
}

static void barrier_setup(void *state)
{
    ((struct lock *)state)->missing = 2;
}

static void meet(struct lock *l, bool early)
{
    uint32_t me = explore_self();
    l->seen[me] = 1;
    arrive(l, 2, 1, early);
    explore_require(l->seen[1 - me] == 1);
    arrive(l, 2, 0, early);
    l->seen[me] = 2;
}

static void meet_well(void *state)
{
    meet(state, false);
}
static void meet_early(void *state)
{
    meet(state, true);
}

static const struct explore_program barrier_good = {
    .name = "locks/barrier",
    .what = "a sense-reversing barrier separates two phases",
    .source = "Mellor-Crummey, Scott (TOCS 1991), algorithm 7: right",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = barrier_setup,
    .thread = EACH_2(meet_well),
    .check = nothing,
};

static const struct explore_program barrier_bad = {
    .name = "locks/barrier-early",
    .what = "a barrier opened before its count is set anew loses an arrival",
    .source = "Mellor-Crummey, Scott (TOCS 1991): the count is reset before the sense is reversed",
    .thread_count = 2,
    .state_bytes = sizeof(struct lock),
    .setup = barrier_setup,
    .thread = EACH_2(meet_early),
    .check = nothing,
    .faults = IN_ALL(DEADLOCK),
};

const struct explore_program *const literature_locks[] = {
    &dekker_good,        &dekker_fenced, &dekker_bad,  &peterson_good, &peterson_exchanged, &peterson_two_fences,
    &peterson_one_fence, &peterson_bad,  &ticket_good, &ticket_bad,    &ticket_frozen,      &ordered,
    &opposite,           &livelock,      &abandoned,   &barrier_good,  &barrier_bad,        NULL,
};
