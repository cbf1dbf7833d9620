/* The state word of a capture (engine/backend/common/capture_life.h): threads that start and stop captures at once. The
 * capture's own variables are plain: an order that is missing is a data race. */
#include "engine/backend/common/capture_life.h"
#include "tests/explore/programs.h"

enum { THREADS = 3 };

struct life_state {
    strobe_a32 life;
    uint32_t captures, stops; /* the capture's plain variables */
    bool started[THREADS], stopped[THREADS];
};

/* Starts a capture with this result. Returns whether this thread got the claim. */
static bool life_start(struct life_state *s, enum strobe_status result)
{
    struct strobe_error error;
    enum strobe_status claimed = strobe_life_claim_start(&s->life, &error);
    if (claimed != STROBE_OK) {
        explore_require(claimed == STROBE_EXISTS);
        return false;
    }
    s->captures++;
    strobe_life_conclude_start(&s->life, result, true);
    return true;
}

static bool life_stop(struct life_state *s, bool ended)
{
    if (!strobe_life_claim_stop(&s->life))
        return false;
    s->stops++;
    strobe_life_conclude_stop(&s->life, ended);
    return true;
}

static uint32_t count(const bool *flags)
{
    return (uint32_t)flags[0] + flags[1] + flags[2];
}

static void start_once(void *state)
{
    struct life_state *s = state;
    s->started[explore_self()] = life_start(s, STROBE_OK);
}

static void stop_once(void *state)
{
    struct life_state *s = state;
    s->stopped[explore_self()] = life_stop(s, true);
}

/* ---- life/starts */

static void check_starts(void *state)
{
    struct life_state *s = state;
    explore_require(count(s->started) == 1 && s->captures == 1);
    explore_require(strobe_load_relaxed(&s->life) == STROBE_LIFE_RUNNING);
}

static const struct explore_program starts_program = {
    .name = "life/starts",
    .what = "of three starts at once exactly one succeeds",
    .thread_count = 3,
    .state_bytes = sizeof(struct life_state),
    .thread = {start_once, start_once, start_once},
    .check = check_starts,
    .quick = 1,
    .nightly = 1,
};

/* ---- life/restart: a start and a stop, beside another start and a start that fails */

static void start_and_stop(void *state)
{
    struct life_state *s = state;
    s->started[explore_self()] = life_start(s, STROBE_OK);
    s->stopped[explore_self()] = life_stop(s, true);
}

static void start_in_vain(void *state)
{
    struct life_state *s = state;
    s->started[explore_self()] = life_start(s, STROBE_IO);
}

static void check_restart(void *state)
{
    struct life_state *s = state;
    bool runs = strobe_load_relaxed(&s->life) == STROBE_LIFE_RUNNING;
    explore_require(s->captures == count(s->started) && s->stops == count(s->stopped));
    explore_require((uint32_t)s->started[0] + s->started[1] == s->stops + runs);
    explore_require(runs || strobe_load_relaxed(&s->life) == STROBE_LIFE_IDLE);
}

static const struct explore_program restart_program = {
    .name = "life/restart",
    .what = "captures follow each other: the next finds all that the last has left, also one that failed",
    .thread_count = 3,
    .state_bytes = sizeof(struct life_state),
    .thread = {start_and_stop, start_once, start_in_vain},
    .check = check_restart,
    .quick = 1,
    .nightly = 1,
};

/* ---- life/stops: two stops of one capture, beside a start */

static void setup_running(void *state)
{
    struct life_state *s = state;
    life_start(s, STROBE_OK);
}

static void check_stops(void *state)
{
    struct life_state *s = state;
    bool runs = strobe_load_relaxed(&s->life) == STROBE_LIFE_RUNNING;
    explore_require(s->stops == count(s->stopped) && s->stops >= 1);
    explore_require(s->captures == 1u + s->started[2] && s->captures == s->stops + runs);
}

static const struct explore_program stops_program = {
    .name = "life/stops",
    .what = "each capture is stopped by one of two stops at once",
    .thread_count = 3,
    .state_bytes = sizeof(struct life_state),
    .setup = setup_running,
    .thread = {stop_once, stop_once, start_once},
    .check = check_stops,
    .quick = 1,
    .nightly = 1,
};

/* ---- life/stuck: a stop that does not end, beside starts */

static void stop_in_vain(void *state)
{
    struct life_state *s = state;
    s->stopped[explore_self()] = life_stop(s, false);
}

static void check_stuck(void *state)
{
    struct life_state *s = state;
    explore_require(strobe_load_relaxed(&s->life) == STROBE_LIFE_STUCK);
    explore_require(s->stopped[0] && count(s->started) == 0 && s->captures == 1);
}

static const struct explore_program stuck_program = {
    .name = "life/stuck",
    .what = "after a stop whose threads have not ended no capture starts",
    .thread_count = 3,
    .state_bytes = sizeof(struct life_state),
    .setup = setup_running,
    .thread = {stop_in_vain, start_once, start_once},
    .check = check_stuck,
    .quick = 1,
    .nightly = 1,
};

const struct explore_program *const explore_life_programs[] = {
    &starts_program, &restart_program, &stops_program, &stuck_program, NULL,
};
