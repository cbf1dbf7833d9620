/* Wakers of waits (engine/capture/blocking.h): waiters and releasers of a lock, and of posts. The recorded wakers are
 * compared with the true ones. A word of the program is the lock. A thread of the program may act for several threads
 * of the engine. A recorded waker is always right; where the waker is certain to be found, it is recorded. */
#include "tests/explore/engine/engine_rig.h"
#include "tests/explore/programs.h"

enum { WHAT = 1, OTHER = 3, NOBODY = RIG_THREADS, UNKNOWN }; /* both identities fall in one bucket */

struct blocking_state {
    struct explore_rig rig;
    strobe_a32 lock;   /* last owner << 1 | taken */
    strobe_a32 posted; /* number of posts */
    strobe_a32 ready;
    uint32_t truth[RIG_THREADS]; /* the true waker of each thread's wait */
    uint32_t found[RIG_THREADS]; /* the owner of the lock at the first read after the wait was announced */
    uint32_t named[RIG_THREADS]; /* the waker that each recorded */
};

/* ---- the engine's calls */

static void announce_wait(struct blocking_state *s, uint32_t i, uint64_t what)
{
    struct strobe_thread *t = &s->rig.thread[i];
    t->scope_count = 1;
    t->scope[0] = (struct strobe_scope){.begin_ticks = 1000};
    strobe_wait_begin(t, what);
}

/* Ends the wait, and returns its recorded waker. */
static uint32_t end_wait(struct blocking_state *s, uint32_t i, uint64_t what, enum strobe_wake how)
{
    struct strobe_thread *t = &s->rig.thread[i];
    struct strobe_record r;
    strobe_wait_end(t, what, how, false);
    if (!strobe_wait_record(&t->scope[0], 2000, &r))
        return UNKNOWN;
    return r.cpu_span_ns ? r.cpu_span_ns - 1 : NOBODY;
}

static bool hand_over(struct blocking_state *s, uint32_t i, uint64_t what, enum strobe_release how)
{
    return strobe_hand_over(&s->rig.thread[i], what, how, rig_site(&s->rig, 0));
}

/* ---- the lock */

static void take(struct blocking_state *s, uint32_t i)
{
    for (;;) {
        uint32_t seen = strobe_load_relaxed(&s->lock), taken = i << 1 | 1;
        if (!(seen & 1) && atomic_compare_exchange_strong_explicit(&s->lock, &seen, taken, memory_order_seq_cst,
                                                                   memory_order_relaxed)) {
            s->truth[i] = seen >> 1;
            return;
        }
        explore_spin();
    }
}

static void give(struct blocking_state *s, uint32_t i)
{
    hand_over(s, i, WHAT, STROBE_RELEASE_LOCK);
    strobe_store_seq_cst(&s->lock, i << 1);
}

static void make(void *state, uint32_t threads)
{
    struct blocking_state *s = state;
    rig_make(&s->rig, threads);
    strobe_store_relaxed(&s->lock, 1); /* thread 0 owns it */
}

static void give_first(void *state)
{
    give(state, 0);
}

static void take_and_give(void *state)
{
    take(state, explore_self());
    give(state, explore_self());
}

/* ---- blocking/seen */

static void setup_seen(void *state)
{
    make(state, 3);
}

static void wait_seen(void *state)
{
    struct blocking_state *s = state;
    announce_wait(s, 2, WHAT);
    s->found[2] = strobe_load_seq_cst(&s->lock);
    take(s, 2);
    uint32_t named = end_wait(s, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == s->truth[2] || named == UNKNOWN);
    /* A thread that took it later than that reads the waiters after the wait was announced. */
    explore_require(named == s->truth[2] || s->truth[2] == s->found[2] >> 1);
    strobe_store_release(&s->lock, 2 << 1);
}

static const struct explore_program seen_program = {
    .name = "blocking/seen",
    .what = "who takes a lock after a waiter found it taken sees the waiter (S-73)",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_seen,
    .thread = {give_first, take_and_give, wait_seen},
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/last, blocking/overtaken */

static void setup_announced_waiter(void *state)
{
    make(state, 3);
    announce_wait(state, 2, WHAT);
}

static void wait_announced(void *state)
{
    struct blocking_state *s = state;
    take(s, 2);
    explore_require(end_wait(s, 2, WHAT, STROBE_WAKE_RELEASED) == s->truth[2]);
    strobe_store_release(&s->lock, 2 << 1);
}

static const struct explore_program last_program = {
    .name = "blocking/last",
    .what = "of several who release a lock, the last before the waiter had it is named (S-70)",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_announced_waiter,
    .thread = {give_first, take_and_give, wait_announced},
    .quick = 1,
    .nightly = 1,
};

static void setup_overtaken(void *state)
{
    make(state, 3);
    announce_wait(state, 1, WHAT);
}

static void wait_and_give(void *state)
{
    struct blocking_state *s = state;
    uint32_t i = explore_self();
    take(s, i);
    explore_require(end_wait(s, i, WHAT, STROBE_WAKE_RELEASED) == s->truth[i]);
    give(s, i);
}

static void wait_late(void *state)
{
    struct blocking_state *s = state;
    announce_wait(s, 2, WHAT);
    take(s, 2);
    uint32_t named = end_wait(s, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == s->truth[2] || named == UNKNOWN);
    give(s, 2);
}

static const struct explore_program overtaken_program = {
    .name = "blocking/overtaken",
    .what = "a release that was noted for one waiter is not taken for the one after it",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_overtaken,
    .thread = {give_first, wait_and_give, wait_late},
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/torn */

/* In the small size the lock has been handed over already. */
static void setup_torn(void *state)
{
    make(state, 4);
    announce_wait(state, 2, WHAT);
    announce_wait(state, 3, OTHER);
    if (explore_size() == 1)
        give(state, 0);
}

static void give_later(void *state)
{
    if (explore_size() > 1)
        give(state, 0);
}

static void note_both(void *state)
{
    hand_over(state, 1, OTHER, STROBE_RELEASE_LOCK);
    hand_over(state, 1, OTHER, STROBE_RELEASE_SHARED);
}

static void wait_torn(void *state)
{
    take(state, 2);
    uint32_t named = end_wait(state, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 0 || named == UNKNOWN);
}

static const struct explore_program torn_program = {
    .name = "blocking/torn",
    .what = "a note that is written over while it is read is not mixed with what was there (S-10)",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_torn,
    .thread = {give_later, note_both, wait_torn},
    .quick = 1,
    .nightly = 2,
};

/* The waiters are released in the order of their waits: thread 2 by thread 0, thread 3 by thread 1. */
static void post_twice(void *state)
{
    struct blocking_state *s = state;
    hand_over(s, 0, WHAT, STROBE_RELEASE_ONE);
    strobe_store_release(&s->posted, 1);
    hand_over(s, 1, WHAT, STROBE_RELEASE_ONE);
    strobe_store_release(&s->posted, 2);
}

static void wait_for_posts(struct blocking_state *s, uint32_t count)
{
    while (strobe_load_acquire(&s->posted) < count)
        explore_spin();
}

/* ---- blocking/lost: another note overwrites one of two notes of posts */

static void setup_lost(void *state)
{
    make(state, 4);
    announce_wait(state, 2, WHAT);
    announce_wait(state, 3, WHAT);
    announce_wait(state, 1, OTHER);
    post_twice(state);
}

static void note_others(void *state)
{
    hand_over(state, 0, OTHER, STROBE_RELEASE_LOCK);
    if (explore_size() > 1)
        hand_over(state, 0, OTHER, STROBE_RELEASE_SHARED);
}

static void wait_lost(void *state)
{
    struct blocking_state *s = state;
    uint32_t named = end_wait(s, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 0 || named == UNKNOWN);
}

static const struct explore_program lost_program = {
    .name = "blocking/lost",
    .what = "a waiter whose release fell out of the table takes nobody else's for it",
    .thread_count = 2,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_lost,
    .thread = {note_others, wait_lost},
    .quick = 1,
    .nightly = 2,
};

/* ---- blocking/replaced: notes of posts overwrite notes of locks, and one of them is overwritten too */

static void setup_replaced(void *state)
{
    struct blocking_state *s = state;
    make(s, 4);
    announce_wait(s, 1, OTHER);
    hand_over(s, 0, OTHER, STROBE_RELEASE_LOCK);
    hand_over(s, 0, OTHER, STROBE_RELEASE_SHARED);
    announce_wait(s, 2, WHAT);
    announce_wait(s, 3, WHAT);
}

static void post_one(void *state)
{
    hand_over(state, 0, WHAT, STROBE_RELEASE_ONE);
}

/* The second post comes after all waits. */
static void check_replaced(void *state)
{
    struct blocking_state *s = state;
    hand_over(s, 1, WHAT, STROBE_RELEASE_ONE);
    uint32_t named = end_wait(s, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 0 || named == UNKNOWN);
    named = end_wait(s, 3, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 1 || named == UNKNOWN);
}

static const struct explore_program replaced_program = {
    .name = "blocking/replaced",
    .what = "who writes over a note knows what it writes over",
    .thread_count = 2,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_replaced,
    .thread = {post_one, note_others},
    .check = check_replaced,
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/in-flight: the known case in which the engine names a wrong waker */

static void post_first(void *state)
{
    struct blocking_state *s = state;
    hand_over(s, 0, WHAT, STROBE_RELEASE_ONE);
    strobe_store_release(&s->posted, 1);
}

static void post_later(void *state)
{
    wait_for_posts(state, 1);
    hand_over(state, 1, WHAT, STROBE_RELEASE_ONE);
}

static void wait_in_flight(void *state)
{
    announce_wait(state, 2, WHAT);
    wait_for_posts(state, 1);
    uint32_t named = end_wait(state, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 0 || named == UNKNOWN);
}

static const struct explore_program in_flight_program = {
    .name = "blocking/in-flight",
    .what = "a post that read the waiters before the wait was announced: the next may be named for it",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_seen,
    .thread = {post_first, post_later, wait_in_flight},
    .quick = 1,
    .nightly = 1,
    .faults = {EXPLORE_BIT(EXPLORE_REQUIRE), EXPLORE_BIT(EXPLORE_REQUIRE), EXPLORE_BIT(EXPLORE_REQUIRE)},
};

/* ---- blocking/notify, blocking/other */

static void setup_two(void *state)
{
    make(state, 4);
    announce_wait(state, 2, WHAT);
    announce_wait(state, 3, WHAT);
}

static void wait_notified(void *state)
{
    struct blocking_state *s = state;
    uint32_t i = explore_self() + 1;
    wait_for_posts(s, i - 1);
    uint32_t named = end_wait(s, i, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == i - 2 || named == UNKNOWN);
}

static const struct explore_program notify_program = {
    .name = "blocking/notify",
    .what = "two waiters that are let go one after the other: each names its own (S-71)",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_two,
    .thread = {post_twice, wait_notified, wait_notified},
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/claimed: one notify, and two waiters that claim it at the same time */

static void post_once(void *state)
{
    struct blocking_state *s = state;
    hand_over(s, 0, WHAT, STROBE_RELEASE_ONE);
    strobe_store_release(&s->posted, 1);
}

static void wait_for_one(void *state)
{
    struct blocking_state *s = state;
    uint32_t i = explore_self() + 1;
    wait_for_posts(s, 1);
    s->named[i] = end_wait(s, i, WHAT, STROBE_WAKE_RELEASED);
}

/* One of the waiters returned by itself. */
static void check_claimed(void *state)
{
    struct blocking_state *s = state;
    explore_require(s->named[2] == 0 || s->named[2] == UNKNOWN);
    explore_require(s->named[3] == 0 || s->named[3] == UNKNOWN);
    explore_require(s->named[2] == UNKNOWN || s->named[3] == UNKNOWN);
}

static const struct explore_program claimed_program = {
    .name = "blocking/claimed",
    .what = "one notify is the waker of one waiter, also when two look at once (S-71)",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_two,
    .thread = {post_once, wait_for_one, wait_for_one},
    .check = check_claimed,
    .quick = 1,
    .nightly = 1,
};

static void post_to_one(void *state)
{
    struct blocking_state *s = state;
    hand_over(s, 0, WHAT, STROBE_RELEASE_ONE);
    strobe_store_release(&s->posted, 1 + explore_choose(2));
}

/* The waiter for which the release is not meant is woken. The other one times out. */
static void wait_other(void *state)
{
    struct blocking_state *s = state;
    uint32_t i = explore_self() + 1, posted;
    while (!(posted = strobe_load_acquire(&s->posted)))
        explore_spin();
    bool mine = posted == i - 1;
    uint32_t named = end_wait(s, i, WHAT, mine ? STROBE_WAKE_RELEASED : STROBE_WAKE_TIMEOUT);
    explore_require(named == (mine ? 0 : NOBODY));
}

static const struct explore_program other_program = {
    .name = "blocking/other",
    .what = "the one that comes back names who let it go, a time-out nobody (S-71, S-77)",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_two,
    .thread = {post_to_one, wait_other, wait_other},
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/reuse, blocking/takeover: a waiter's entry is freed and used for another wait */

static void setup_reuse(void *state)
{
    make(state, 4);
    announce_wait(state, 2, OTHER);
}

static void two_wait(struct blocking_state *s)
{
    announce_wait(s, 2, WHAT);
    announce_wait(s, 3, WHAT);
}

/* Thread 0 released thread 2, and thread 1 released thread 3. The later waiter ends its wait first. */
static void post_and_end(struct blocking_state *s)
{
    hand_over(s, 0, WHAT, STROBE_RELEASE_ONE);
    hand_over(s, 1, WHAT, STROBE_RELEASE_ONE);
    uint32_t named = end_wait(s, 3, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 1 || named == UNKNOWN);
    named = end_wait(s, 2, WHAT, STROBE_WAKE_RELEASED);
    explore_require(named == 0 || named == UNKNOWN);
}

static void wait_again(void *state)
{
    struct blocking_state *s = state;
    end_wait(s, 2, OTHER, STROBE_WAKE_NONE);
    two_wait(s);
    strobe_store_release(&s->ready, 1);
}

static void post_other_then(void *state)
{
    struct blocking_state *s = state;
    hand_over(s, 1, OTHER, explore_choose(2) ? STROBE_RELEASE_ONE : STROBE_RELEASE_ALL);
    while (!strobe_load_acquire(&s->ready))
        explore_spin();
    post_and_end(s);
}

static const struct explore_program reuse_program = {
    .name = "blocking/reuse",
    .what = "a release of one thing marks nobody who has come to wait for another (S-72)",
    .thread_count = 2,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_reuse,
    .thread = {wait_again, post_other_then},
    .quick = 1,
    .nightly = 1,
};

static void setup_takeover(void *state)
{
    make(state, 4);
    announce_wait(state, 1, OTHER);
}

static void stop_waiting(void *state)
{
    end_wait(state, 1, OTHER, STROBE_WAKE_NONE);
}

static void wait_post_end(void *state)
{
    two_wait(state);
    post_and_end(state);
}

static const struct explore_program takeover_program = {
    .name = "blocking/takeover",
    .what = "a waiter that takes another's place is seen there",
    .thread_count = 2,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_takeover,
    .thread = {stop_waiting, wait_post_end},
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/full: more waiters than entries */

static void setup_full(void *state)
{
    struct blocking_state *s = state;
    make(state, 4);
    for (uint32_t i = 0; i < STROBE_BLOCK_WAITERS; i++)
        strobe_store_relaxed(&s->rig.blocking.waiter[strobe_block_index(WHAT)][i].what, 5);
    announce_wait(s, 2, WHAT);
}

static const struct explore_program full_program = {
    .name = "blocking/full",
    .what = "a waiter without a free entry is found all the same, and records no wrong waker",
    .thread_count = 3,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_full,
    .thread = {give_first, take_and_give, wait_announced},
    .quick = 1,
    .nightly = 1,
};

/* ---- blocking/frozen */

static void announce_and_end(void *state)
{
    announce_wait(state, 2, WHAT);
    end_wait(state, 2, WHAT, STROBE_WAKE_RELEASED);
}

static const struct explore_program frozen_program = {
    .name = "blocking/frozen",
    .what = "a waiter or releaser that stops anywhere holds up no other",
    .thread_count = 2,
    .state_bytes = sizeof(struct blocking_state),
    .setup = setup_overtaken,
    .thread = {give_first, announce_and_end},
    .quick = 1,
    .nightly = 1,
    .frozen = 3,
};

const struct explore_program *const explore_blocking_programs[] = {
    &seen_program,     &last_program,   &overtaken_program, &torn_program,      &lost_program,
    &replaced_program, &notify_program, &claimed_program,   &other_program,     &reuse_program,
    &takeover_program, &full_program,   &frozen_program,    &in_flight_program, NULL,
};
