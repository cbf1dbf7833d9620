/* Matrix's method log (engine/method/matrix/matrix_log.h): copies while the log's thread writes, the clock between
 * ticks and messages, and the release of the log while its thread begins. Entries have ids 1, 2, ... */
#include "engine/method/matrix/matrix_log.h"
#include "tests/explore/programs.h"

enum { CAPACITY = 2, WRITES_MOST = 6, MS = 1000000 };

struct matrix_state {
    struct strobe_matrix_clock clock;
    struct strobe_matrix_log log;
    strobe_a64 memory[CAPACITY + 1];
    uint64_t out[2][WRITES_MOST];
};

static void set_up(struct matrix_state *s, bool freezes)
{
    strobe_matrix_clock_open(&s->clock, 0, freezes);
    strobe_matrix_log_open(&s->log, s->memory, sizeof s->memory, CAPACITY, &s->clock);
}

static void setup_main(void *state)
{
    set_up(state, true);
}

static void setup_any(void *state)
{
    set_up(state, false);
}

/* ---- matrix/copy, matrix/wrap */

static void write_all(void *state)
{
    struct matrix_state *s = state;
    for (uint32_t id = 1; id <= CAPACITY + explore_size(); id++)
        strobe_matrix_enter(&s->log, id);
}

static void require_run(const uint64_t *entries, size_t count, uint32_t first)
{
    explore_require(count <= CAPACITY);
    for (size_t i = 0; i < count; i++)
        explore_require(strobe_matrix_id(entries[i]) == first + i);
}

static void copy_from_begin(void *state)
{
    struct matrix_state *s = state;
    struct strobe_matrix_mark begin = {0};
    size_t count;
    if (strobe_matrix_copy(&s->log, &begin, NULL, s->out[0], WRITES_MOST, &count) == STROBE_OK)
        require_run(s->out[0], count, 1);
    else
        explore_require(count == 0);
}

static void check_copy(void *state)
{
    struct matrix_state *s = state;
    struct strobe_matrix_mark begin = {0}, kept = {.position = explore_size()};
    size_t count;
    explore_require(strobe_matrix_copy(&s->log, &begin, NULL, s->out[0], WRITES_MOST, &count) == STROBE_TRUNCATED);
    explore_require(strobe_matrix_copy(&s->log, &kept, NULL, s->out[0], WRITES_MOST, &count) == STROBE_OK);
    explore_require(count == CAPACITY);
    require_run(s->out[0], count, explore_size() + 1);
}

static const struct explore_program copy_program = {
    .name = "matrix/copy",
    .what = "a copy made while the log is written to is of its own range, or refused",
    .thread_count = 2,
    .state_bytes = sizeof(struct matrix_state),
    .setup = setup_any,
    .thread = {write_all, copy_from_begin},
    .check = check_copy,
    .quick = 3,
    .nightly = 4,
};

static void copy_newest(void *state)
{
    struct matrix_state *s = state;
    size_t count = strobe_matrix_copy_newest(&s->log, s->out[0], WRITES_MOST);
    if (count)
        require_run(s->out[0], count, strobe_matrix_id(s->out[0][0]));
}

static const struct explore_program wrap_program = {
    .name = "matrix/wrap",
    .what = "the newest entries, copied while the log is written to, are whole and in a row",
    .thread_count = 2,
    .state_bytes = sizeof(struct matrix_state),
    .setup = setup_any,
    .thread = {write_all, copy_newest},
    .check = check_copy,
    .quick = 3,
    .nightly = 4,
};

/* ---- matrix/clock, matrix/freeze */

static void tick(void *state)
{
    struct matrix_state *s = state;
    for (uint32_t i = 1; i <= explore_size(); i++)
        strobe_matrix_clock_tick(&s->clock, (explore_self() * 7 + 10 * i) * (uint64_t)MS);
}

/* Begins one message after the other. The clock is never earlier than a value that was read or published before. */
static void hand_out(void *state)
{
    struct matrix_state *s = state;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < explore_size(); i++) {
        strobe_matrix_message_begin(&s->log, (5 + 10 * i) * (uint64_t)MS);
        uint64_t now = strobe_matrix_clock_ms(&s->clock);
        explore_require(now >= seen && now >= 5 + 10 * i);
        strobe_matrix_message_end(&s->log, (9 + 10 * i) * (uint64_t)MS);
        seen = strobe_matrix_clock_ms(&s->clock);
        explore_require(seen >= now && seen >= 9 + 10 * i);
    }
}

static void check_clock(void *state)
{
    struct matrix_state *s = state;
    explore_require(strobe_matrix_clock_ms(&s->clock) == 2 * 7 + 10 * explore_size());
}

static const struct explore_program clock_program = {
    .name = "matrix/clock",
    .what = "ticks of several threads and messages: the clock never goes back (Matrix #477)",
    .thread_count = 3,
    .state_bytes = sizeof(struct matrix_state),
    .setup = setup_any,
    .thread = {hand_out, tick, tick},
    .check = check_clock,
    .quick = 1,
    .nightly = 2,
};

static void hand_out_and_look(void *state)
{
    struct matrix_state *s = state;
    strobe_matrix_message_begin(&s->log, 5 * (uint64_t)MS);
    strobe_matrix_message_end(&s->log, 9 * (uint64_t)MS);
    uint64_t still = strobe_matrix_clock_ms(&s->clock);
    explore_require(still >= 9);
    for (uint32_t i = 0; i < explore_size(); i++)
        explore_require(strobe_matrix_clock_ms(&s->clock) == still);
    s->out[0][0] = still;
}

static void check_still(void *state)
{
    struct matrix_state *s = state;
    explore_require(strobe_matrix_clock_ms(&s->clock) == s->out[0][0]);
}

static const struct explore_program freeze_program = {
    .name = "matrix/freeze",
    .what = "between messages the clock stands still, also for a tick that was on its way",
    .thread_count = 2,
    .state_bytes = sizeof(struct matrix_state),
    .setup = setup_main,
    .thread = {hand_out_and_look, tick},
    .check = check_still,
    .quick = 2,
    .nightly = 3,
};

/* ---- matrix/release */

static void enter_first(void *state)
{
    struct matrix_state *s = state;
    strobe_matrix_enter(&s->log, 1);
    strobe_matrix_enter(&s->log, 2);
}

static void release(void *state)
{
    struct matrix_state *s = state;
    strobe_matrix_due(&s->log, (STROBE_MATRIX_RELEASE_MS + 1) * (uint64_t)MS);
}

static void check_released(void *state)
{
    struct matrix_state *s = state;
    uint64_t written = strobe_load_relaxed(&s->log.written);
    explore_require(strobe_matrix_state(&s->log) == STROBE_MATRIX_RELEASED);
    strobe_matrix_enter(&s->log, 3);
    explore_require(strobe_load_relaxed(&s->log.written) == written);
    explore_require(written + strobe_load_relaxed(&s->log.refused_stopped) == 3);
}

static const struct explore_program release_program = {
    .name = "matrix/release",
    .what = "a log that is released while its first method is entered takes nothing more",
    .thread_count = 2,
    .state_bytes = sizeof(struct matrix_state),
    .setup = setup_any,
    .thread = {enter_first, release},
    .check = check_released,
    .quick = 1,
    .nightly = 1,
};

const struct explore_program *const explore_matrix_programs[] = {
    &copy_program, &wrap_program, &clock_program, &freeze_program, &release_program, NULL,
};
