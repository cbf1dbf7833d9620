/* The gate's countdown, and its reset by the sampler (engine/capture/gate.h): both access one word without atomic
 * updates. */
#include "tests/explore/engine/engine_rig.h"
#include "tests/explore/programs.h"

enum { SKIP = 3 };

struct gate_state {
    struct explore_rig rig;
    strobe_a32 turn;        /* the thread is between two events; the sampler has come by again */
    uint32_t skipped, read; /* events that did not read the clock, and events that did */
};

static void setup(void *state)
{
    struct gate_state *s = state;
    rig_make(&s->rig, 1);
    strobe_store_relaxed(&s->rig.thread[0].gate.skip, SKIP);
}

/* Makes one event. Returns true when it read the clock. */
static bool event(struct gate_state *s)
{
    uint64_t before = s->rig.now[0];
    strobe_point_dense(&s->rig.thread[0], STROBE_ON, STROBE_KIND_ALLOC, 0, rig_site(&s->rig, 0));
    bool read = s->rig.now[0] != before;
    s->skipped += !read;
    s->read += read;
    return read;
}

static void check(void *state)
{
    struct gate_state *s = state;
    const struct strobe_account *a = &s->rig.entry[0].account[STROBE_KIND_ALLOC];
    explore_require(strobe_load_relaxed(&a->requests) == s->skipped + s->read);
    explore_require(strobe_load_relaxed(&a->gated) == s->skipped + s->read);
    explore_require(strobe_load_relaxed(&s->rig.thread[0].gate.skip) <= SKIP);
}

/* ---- gate/wake */

static void count_down(void *state)
{
    struct gate_state *s = state;
    bool woken = event(s);
    strobe_store_release(&s->turn, 1);
    while (strobe_load_acquire(&s->turn) != 2)
        explore_spin();
    explore_require(event(s));
    explore_require(!woken || s->skipped == 0);
}

static void wake_twice(void *state)
{
    struct gate_state *s = state;
    strobe_gate_wake(&s->rig.thread[0].gate);
    while (strobe_load_acquire(&s->turn) != 1)
        explore_spin();
    strobe_gate_wake(&s->rig.thread[0].gate);
    strobe_store_release(&s->turn, 2);
}

static const struct explore_program wake_program = {
    .name = "gate/wake",
    .what = "a wake that meets the countdown may be lost; the next, between events, is not",
    .thread_count = 2,
    .state_bytes = sizeof(struct gate_state),
    .setup = setup,
    .thread = {count_down, wake_twice},
    .check = check,
    .quick = 1,
    .nightly = 1,
};

/* ---- gate/countdown */

static void many_events(void *state)
{
    struct gate_state *s = state;
    for (uint32_t i = 0; i < explore_size(); i++)
        event(s);
    explore_require(s->skipped <= SKIP);
}

static void wake_and_wake(void *state)
{
    struct gate_state *s = state;
    strobe_gate_wake(&s->rig.thread[0].gate);
    strobe_gate_wake(&s->rig.thread[0].gate);
}

static const struct explore_program countdown_program = {
    .name = "gate/countdown",
    .what = "wakes at any moment: no more events are skipped than were to be; all count",
    .thread_count = 2,
    .state_bytes = sizeof(struct gate_state),
    .setup = setup,
    .thread = {many_events, wake_and_wake},
    .check = check,
    .quick = 5,
    .nightly = 8,
};

const struct explore_program *const explore_gate_programs[] = {&wake_program, &countdown_program, NULL};
