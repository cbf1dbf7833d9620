/* The table of the runtime's threads (engine/backend/art/threads.c): threads that enter themselves and are entered by
 * others, end and come again, against one that looks them up. And who lets a thread go that the sampler holds
 * (hold.h): a sampler that stops and walks one thread after the other, against a watchdog. */
#include "engine/backend/art/hold.h"
#include "engine/backend/art/threads.h"
#include "tests/explore/programs.h"

enum { TID = 100, LIVES = 4 };

struct artthreads_state {
    struct strobe_art_threads table;
    uint32_t entered[3];        /* by program thread: how its put ended, + 1 */
};

/* What a thread is in each of its lives: ids come again. */
static void *thread_of(uint32_t life)
{
    return (void *)(uintptr_t)(0x1000 + 16 * life);
}

static uint32_t id_of(uint32_t life)
{
    return 5 + life % 2;
}

static enum strobe_status put(struct artthreads_state *s, uint32_t tid, uint32_t life)
{
    return strobe_art_threads_put(&s->table, tid, thread_of(life), id_of(life));
}

/* Returns which of its lives the thread was found in, which is one of `lives`; LIVES: in none. */
static uint32_t look_up(struct artthreads_state *s, uint32_t tid, uint32_t lives)
{
    void *thread;
    uint32_t id;
    if (strobe_art_threads_get(&s->table, tid, &thread, &id) != STROBE_OK)
        return LIVES;
    for (uint32_t life = 0; life < lives; life++)
        if (thread == thread_of(life)) {
            explore_require(id == id_of(life));
            return life;
        }
    explore_require(!"a thread that was never put");
    return LIVES;
}

/* ---- artthreads/put: entered by itself and on its behalf at once */

static void enter(void *state)
{
    explore_require(put(state, TID, 0) == STROBE_OK);
    explore_require(look_up(state, TID, 1) != LIVES || explore_self() == 0);
}

static void enter_for_it(void *state)
{
    explore_require(put(state, TID, 0) == STROBE_OK);
}

static void look_twice(void *state)
{
    look_up(state, TID, 1);
    look_up(state, TID, 1);
}

static void check_put(void *state)
{
    struct artthreads_state *s = state;
    explore_require(look_up(s, TID, 1) == 0);
    explore_require(strobe_load_relaxed(&s->table.used) == 1);
}

static void setup(void *state)
{
    (void)state;
}

static const struct explore_program put_program = {
    .name = "artthreads/put", .what = "a thread entered twice at once has one entry, and is found as it was put",
    .thread_count = 3, .state_bytes = sizeof(struct artthreads_state), .setup = setup,
    .thread = {enter, enter_for_it, look_twice}, .check = check_put, .quick = 1, .nightly = 1, .fenced = true,
};

/* ---- artthreads/again: a tid's next lives */

static void live_again(void *state)
{
    struct artthreads_state *s = state;
    for (uint32_t life = 0; life <= explore_size(); life++) {
        explore_require(put(s, TID, life) == STROBE_OK);
        if (life == 0)
            strobe_art_threads_end(&s->table, TID);   /* later ones go without saying so */
    }
}

static void look_in_order(void *state)
{
    uint32_t first = look_up(state, TID, LIVES), second = look_up(state, TID, LIVES);
    explore_require(first == LIVES || second == LIVES || first <= second);
}

static void check_again(void *state)
{
    explore_require(look_up(state, TID, LIVES) == explore_size());
}

static const struct explore_program again_program = {
    .name = "artthreads/again", .what = "a tid used again: what is looked up is of one life, and never of an earlier",
    .thread_count = 2, .state_bytes = sizeof(struct artthreads_state), .setup = setup,
    .thread = {live_again, look_in_order}, .check = check_again, .quick = 2, .nightly = 3, .fenced = true,
};

/* ---- artthreads/full: room for two, three come */

static void enter_one(void *state)
{
    struct artthreads_state *s = state;
    uint32_t self = explore_self();
    s->entered[self] = put(s, TID + self, self) + 1u;
}

static void check_full(void *state)
{
    struct artthreads_state *s = state;
    uint32_t found = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t life = look_up(s, TID + i, 3);
        explore_require(life == (s->entered[i] == STROBE_OK + 1 ? i : LIVES));
        explore_require(s->entered[i] == STROBE_OK + 1 || s->entered[i] == STROBE_FULL + 1);
        found += life != LIVES;
    }
    explore_require(found == STROBE_ART_TABLE_THREADS / 2 && strobe_load_relaxed(&s->table.used) == found);
}

static const struct explore_program full_program = {
    .name = "artthreads/full", .what = "threads that there is no room for are told so, and the others are found",
    .thread_count = 3, .state_bytes = sizeof(struct artthreads_state), .setup = setup,
    .thread = {enter_one, enter_one, enter_one}, .check = check_full, .quick = 1, .nightly = 1, .fenced = true,
};

/* ---- artthreads/frozen: a thread is stopped while it enters or ends */

static void enter_and_end(void *state)
{
    struct artthreads_state *s = state;
    put(s, TID, 0);
    strobe_art_threads_end(&s->table, TID);
}

static void enter_other(void *state)
{
    struct artthreads_state *s = state;
    explore_require(put(s, TID + 1, 1) == STROBE_OK);
    look_up(s, TID, 1);
    explore_require(look_up(s, TID + 1, 2) == 1);
}

static void check_frozen(void *state)
{
    explore_require(look_up(state, TID + 1, 2) == 1);
}

static const struct explore_program frozen_program = {
    .name = "artthreads/frozen", .what = "a thread stopped while it enters or ends holds up nobody",
    .thread_count = 2, .state_bytes = sizeof(struct artthreads_state), .setup = setup,
    .thread = {enter_and_end, enter_other}, .check = check_frozen, .quick = 1, .nightly = 1, .frozen = 1,
    .fenced = true,
};

/* ---- artthreads/hold, artthreads/lost: the runtime's suspension is played */

enum { STOPS = 3, MOST = 10, FOR_EVER = 1000000, SAMPLER = 0 };

struct hold_state {
    struct strobe_art_hold hold;
    struct held {
        uint32_t stack;             /* the thread's own, when it runs */
        strobe_a32 begun, let_go;   /* times */
    } held[STOPS];
};

/* The thread goes on: its stack is its own to change. */
static void let_go(struct held *t)
{
    t->stack++;
    strobe_add_relaxed(&t->let_go, 1u);
}

static void hold_one_after_the_other(void *state)
{
    struct hold_state *s = state;
    for (uint32_t i = 0; i < explore_size() && i < STOPS; i++) {
        strobe_store_relaxed(&s->held[i].begun, 1);
        strobe_art_hold_begin(&s->hold, &s->held[i], 100 + 100 * i);
        struct held *t = strobe_art_hold_walk(&s->hold);
        if (t) {
            explore_require(t == &s->held[i] && t->stack == 0);
            strobe_art_hold_walked(&s->hold);
        }
        t = strobe_art_hold_claim(&s->hold);
        explore_require(!t || t == &s->held[i]);
        if (t)
            let_go(t);
    }
}

/* At any time each thread that stands seems to have stood for long, but never so long that its walk is disturbed. */
static void watch(void *state)
{
    struct hold_state *s = state;
    for (uint32_t i = 0; i <= explore_size(); i++) {
        struct held *t = strobe_art_hold_overdue(&s->hold, 100 * STOPS + MOST, MOST, FOR_EVER);
        if (t)
            let_go(t);
    }
}

static void check_held(void *state)
{
    struct hold_state *s = state;
    for (uint32_t i = 0; i < STOPS; i++)
        explore_require(strobe_load_relaxed(&s->held[i].let_go) == strobe_load_relaxed(&s->held[i].begun));
}

static const struct explore_program hold_program = {
    .name = "artthreads/hold", .what = "of sampler and watchdog one lets a thread go, and not while it is walked",
    .thread_count = 2, .state_bytes = sizeof(struct hold_state), .setup = setup,
    .thread = {hold_one_after_the_other, watch}, .check = check_held, .quick = 2, .nightly = 3,
};

/* A sampler that dies anywhere but next to the runtime's own calls: the watchdog comes by once more, much later. */
static void check_lost(void *state)
{
    struct hold_state *s = state;
    struct held *t = strobe_art_hold_overdue(&s->hold, 2 * FOR_EVER, MOST, FOR_EVER);
    if (t)
        let_go(t);
    for (uint32_t i = 0; i < STOPS; i++) {
        uint32_t times = strobe_load_relaxed(&s->held[i].let_go);
        explore_require(times <= strobe_load_relaxed(&s->held[i].begun));
        explore_require(times || explore_frozen() || !strobe_load_relaxed(&s->held[i].begun));
    }
    explore_require(strobe_load_relaxed(&s->hold.since) == 0);
}

static const struct explore_program lost_program = {
    .name = "artthreads/lost", .what = "a thread whose sampler dies while it stands is let go, walked or not (S-46)",
    .thread_count = 2, .state_bytes = sizeof(struct hold_state), .setup = setup,
    .thread = {hold_one_after_the_other, watch}, .check = check_lost, .quick = 2, .nightly = 2,
    .frozen = 1u << SAMPLER,
};

const struct explore_program *const explore_artthreads_programs[] = {
    &put_program, &again_program, &full_program, &frozen_program, &hold_program, &lost_program, NULL,
};
