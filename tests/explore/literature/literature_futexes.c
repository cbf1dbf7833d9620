/* Sleeping: mutexes on a futex (Drepper, Futexes are tricky, 2011) and messages to a sleeper. */
#include "tests/explore/literature/literature.h"

#include <stdatomic.h>

struct sleeper {
    _Atomic uint32_t word, ready;
    uint32_t counter;
};

static void nothing(void *state)
{
    (void)state;
}

static void all_counted(void *state)
{
    explore_require(((struct sleeper *)state)->counter == explore_size());
}

/* True when the calling thread takes part. Threads beyond the size do nothing. */
static bool takes_part(void)
{
    return explore_self() < explore_size();
}

static uint32_t swap_if(_Atomic uint32_t *word, uint32_t expected, uint32_t desired)
{
    atomic_compare_exchange_strong_explicit(word, &expected, desired, memory_order_acquire, memory_order_acquire);
    return expected;
}

/* ---- section 6, "mutex2": 0 free, 1 taken, 2 taken and a thread may sleep */

static void mutex2_lock(_Atomic uint32_t *word)
{
    uint32_t found = swap_if(word, 0, 1);
    while (found) {
        if (found == 2 || swap_if(word, 1, 2))
            explore_futex_wait(word, 2, false);
        found = swap_if(word, 0, 2);
        explore_spin();
    }
}

static void mutex2_unlock(_Atomic uint32_t *word)
{
    if (atomic_fetch_sub_explicit(word, 1, memory_order_release) == 1)
        return;
    atomic_store_explicit(word, 0, memory_order_release);
    explore_futex_wake(word);
}

static void mutex2(void *state)
{
    struct sleeper *s = state;
    if (!takes_part())
        return;
    mutex2_lock(&s->word);
    s->counter++;
    mutex2_unlock(&s->word);
}

static const struct explore_program mutex2_good = {
    .name = "futexes/mutex2",
    .what = "a mutex that knows of its sleepers excludes and wakes them",
    .source = "Drepper, Futexes are tricky (2011), section 6, mutex2: right",
    .thread_count = 3,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = EACH_3(mutex2),
    .check = all_counted,
    .quick = 2,
    .nightly = 3,
};

/* Checks for sleepers, then unlocks. A thread that goes to sleep in between is not woken. */
static void mutex2_looked_first(void *state)
{
    struct sleeper *s = state;
    if (!takes_part())
        return;
    mutex2_lock(&s->word);
    s->counter++;
    bool sleepers = atomic_load_explicit(&s->word, memory_order_relaxed) == 2;
    atomic_store_explicit(&s->word, 0, memory_order_release);
    if (sleepers)
        explore_futex_wake(&s->word);
}

static const struct explore_program mutex2_bad = {
    .name = "futexes/mutex2-looked-first",
    .what = "a mutex that looks for sleepers before it lets go loses a wake-up",
    .source = "Drepper, Futexes are tricky (2011), section 6: letting go and looking are one operation",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = EACH_2(mutex2_looked_first),
    .check = all_counted,
    .quick = 2,
    .nightly = 2,
    .faults = IN_ALL(DEADLOCK),
};

/* Wakes a sleeper before it unlocks. */
static void mutex2_woken_first(void *state)
{
    struct sleeper *s = state;
    mutex2_lock(&s->word);
    s->counter++;
    explore_futex_wake(&s->word);
    atomic_store_explicit(&s->word, 0, memory_order_release);
}

static const struct explore_program mutex2_woken = {
    .name = "futexes/mutex2-woken-first",
    .what = "a mutex that wakes before it lets go loses a wake-up",
    .source = "futex(2): a wake reaches only those who sleep already",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = EACH_2(mutex2_woken_first),
    .check = all_counted,
    .quick = 2,
    .nightly = 2,
    .faults = IN_ALL(DEADLOCK),
};

/* ---- section 5, "mutex1": the word counts attempts; each failed wait adds one more. The two other threads hold the
 * mutex once each, so a third failed wait of a thread was caused by another waiter. */

static void mutex1(void *state)
{
    struct sleeper *s = state;
    uint32_t found, tries = 0;
    while ((found = atomic_fetch_add_explicit(&s->word, 1, memory_order_acquire)) != 0) {
        explore_futex_wait(&s->word, found + 1, false);
        explore_require(++tries < 3);
    }
    s->counter++;
    atomic_store_explicit(&s->word, 0, memory_order_release);
    explore_futex_wake(&s->word);
}

static const struct explore_program mutex1_bad = {
    .name = "futexes/mutex1",
    .what = "two who wait for a mutex by adding to it keep each other from sleeping",
    .source = "Drepper, Futexes are tricky (2011), section 5, mutex1: excludes, but waiters may livelock",
    .thread_count = 3,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = EACH_3(mutex1),
    .check = nothing,
    .faults = IN_ALL(REQUIRE),
};

/* ---- a message */

static void send(void *state)
{
    struct sleeper *s = state;
    s->counter = 1;
    atomic_store_explicit(&s->ready, 1, memory_order_release);
    atomic_fetch_add_explicit(&s->word, 1, memory_order_release);
    explore_futex_wake(&s->word);
}

static void receive(void *state)
{
    struct sleeper *s = state;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&s->word, memory_order_acquire);
        if (atomic_load_explicit(&s->ready, memory_order_acquire))
            break;
        explore_futex_wait(&s->word, seen, false);
        explore_spin();
    }
    explore_require(s->counter == 1);
}

static void receive_late(void *state)
{
    struct sleeper *s = state;
    if (!atomic_load_explicit(&s->ready, memory_order_acquire)) {
        uint32_t seen = atomic_load_explicit(&s->word, memory_order_acquire);
        explore_futex_wait(&s->word, seen, false);
    }
}

static void send_silently(void *state)
{
    struct sleeper *s = state;
    s->counter = 1;
    atomic_store_explicit(&s->ready, 1, memory_order_release);
    explore_futex_wake(&s->word);
}

static const struct explore_program message_good = {
    .name = "futexes/message",
    .what = "who reads the word, looks, then sleeps on that word misses no message",
    .source = "futex(2): the word is compared when going to sleep: right",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = {send, receive},
    .check = nothing,
};

static const struct explore_program message_late = {
    .name = "futexes/message-looked-first",
    .what = "who looks, then reads the word to sleep on may sleep for ever",
    .source = "futex(2): a message between the look and the read is lost",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = {send, receive_late},
    .check = nothing,
    .faults = IN_ALL(DEADLOCK),
};

static const struct explore_program message_silent = {
    .name = "futexes/message-silent",
    .what = "a message that leaves the word as it was may find no sleeper, and the "
            "sleeper no message",
    .source = "futex(2): the word has to change with the message",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = {send_silently, receive},
    .check = nothing,
    .faults = IN_ALL(DEADLOCK),
};

/* ---- a bell: a futex simulated by a word that is polled */

static void ring(void *state)
{
    struct sleeper *s = state;
    atomic_store_explicit(&s->ready, 1, memory_order_release);
    atomic_store_explicit(&s->word, 1, memory_order_release);
}

static void hear(struct sleeper *s, uint32_t before)
{
    while (atomic_load_explicit(&s->word, memory_order_acquire) == before)
        explore_spin();
}

static void listens_then_looks(void *state)
{
    struct sleeper *s = state;
    for (;;) {
        uint32_t before = atomic_load_explicit(&s->word, memory_order_acquire);
        if (atomic_load_explicit(&s->ready, memory_order_acquire))
            break;
        hear(s, before);
        explore_spin();
    }
}

static void looks_then_listens(void *state)
{
    struct sleeper *s = state;
    if (!atomic_load_explicit(&s->ready, memory_order_acquire))
        hear(s, atomic_load_explicit(&s->word, memory_order_acquire));
}

static const struct explore_program bell_good = {
    .name = "futexes/bell",
    .what = "who listens, then looks, misses no bell",
    .source = "Dijkstra, Cooperating sequential processes (1965), section 5: the lost wake-up, avoided",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = {ring, listens_then_looks},
    .check = nothing,
};

static const struct explore_program bell_bad = {
    .name = "futexes/bell-looked-first",
    .what = "who looks, then listens, may listen for ever",
    .source = "Dijkstra, Cooperating sequential processes (1965), section 5: the lost wake-up",
    .thread_count = 2,
    .state_bytes = sizeof(struct sleeper),
    .setup = nothing,
    .thread = {ring, looks_then_listens},
    .check = nothing,
    .faults = IN_ALL(DEADLOCK),
};

const struct explore_program *const literature_futexes[] = {
    &mutex2_good,  &mutex2_bad,     &mutex2_woken, &mutex1_bad, &message_good,
    &message_late, &message_silent, &bell_good,    &bell_bad,   NULL,
};
