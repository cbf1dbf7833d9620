/* The sampler or the watchdog resumes a thread that the sampler holds (engine/capture/hold.h). The sampler stops and
 * walks one thread after the other. The program simulates the system's suspension. */
#include "engine/capture/hold.h"
#include "tests/explore/programs.h"

enum { STOPS = 3, MOST = 10, FOR_EVER = 1000000, SAMPLER = 0 };

struct hold_state {
    struct strobe_hold hold;
    struct held {
        uint32_t stack;            /* the thread's own, when it runs */
        strobe_a32 begun, resumed; /* times */
    } held[STOPS];
};

static struct held *named(uint64_t thread)
{
    return (struct held *)(uintptr_t)thread;
}

/* The thread resumes: it may change its stack. */
static void resume_held(struct held *t)
{
    t->stack++;
    strobe_add_relaxed(&t->resumed, 1u);
}

static void hold_one_after_the_other(void *state)
{
    struct hold_state *s = state;
    for (uint32_t i = 0; i < explore_size() && i < STOPS; i++) {
        strobe_store_relaxed(&s->held[i].begun, 1);
        strobe_hold_begin(&s->hold, (uint64_t)(uintptr_t)&s->held[i], 100 + 100 * i);
        struct held *t = named(strobe_hold_walk(&s->hold));
        if (t) {
            explore_require(t == &s->held[i] && t->stack == 0);
            strobe_hold_walked(&s->hold);
        }
        t = named(strobe_hold_claim(&s->hold));
        explore_require(!t || t == &s->held[i]);
        if (t)
            resume_held(t);
    }
}

/* To the watchdog each suspended thread seems to have been suspended for too long, except during its walk. */
static void watch(void *state)
{
    struct hold_state *s = state;
    for (uint32_t i = 0; i <= explore_size(); i++) {
        struct held *t = named(strobe_hold_overdue(&s->hold, 100 * STOPS + MOST, MOST, FOR_EVER));
        if (t)
            resume_held(t);
    }
}

static void check_held(void *state)
{
    struct hold_state *s = state;
    for (uint32_t i = 0; i < STOPS; i++)
        explore_require(strobe_load_relaxed(&s->held[i].resumed) == strobe_load_relaxed(&s->held[i].begun));
}

static void setup(void *state)
{
    (void)state;
}

static const struct explore_program once_program = {
    .name = "hold/once",
    .what = "of sampler and watchdog one lets a thread go, and not while it is walked (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct hold_state),
    .setup = setup,
    .thread = {hold_one_after_the_other, watch},
    .check = check_held,
    .quick = 2,
    .nightly = 3,
};

/* The sampler dies at any point that is not next to the system's calls. The watchdog runs once more, much later. */
static void check_lost(void *state)
{
    struct hold_state *s = state;
    struct held *t = named(strobe_hold_overdue(&s->hold, 2 * FOR_EVER, MOST, FOR_EVER));
    if (t)
        resume_held(t);
    for (uint32_t i = 0; i < STOPS; i++) {
        uint32_t times = strobe_load_relaxed(&s->held[i].resumed);
        explore_require(times <= strobe_load_relaxed(&s->held[i].begun));
        explore_require(times || explore_frozen() || !strobe_load_relaxed(&s->held[i].begun));
    }
    explore_require(strobe_load_relaxed(&s->hold.since) == 0);
}

static const struct explore_program lost_program = {
    .name = "hold/lost",
    .what = "a thread whose sampler dies while it stands is let go, walked or not (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct hold_state),
    .setup = setup,
    .thread = {hold_one_after_the_other, watch},
    .check = check_lost,
    .quick = 2,
    .nightly = 2,
    .frozen = 1u << SAMPLER,
};

const struct explore_program *const explore_hold_programs[] = {&once_program, &lost_program, NULL};
