/* The table of the runtime's threads (engine/backend/art/threads.c). Threads enter themselves, or other threads enter
 * them; they end, and their ids are used again. Meanwhile another thread looks them up. */
#include "engine/backend/art/threads.h"
#include "tests/explore/programs.h"

enum { TID = 100, LIVES = 4 };

struct artthreads_state {
    struct strobe_art_threads table;
    uint32_t entered[3]; /* by program thread: the result of its put, + 1 */
};

/* The runtime's thread object of each life. An id that is used again starts a new life. */
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

/* Returns the life in which the thread was found, which must be one of `lives`; LIVES: not found. */
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

/* ---- artthreads/put: a thread enters itself while another thread enters it */

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
    .name = "artthreads/put",
    .what = "a thread entered twice at once has one entry, and is found as it was put",
    .thread_count = 3,
    .state_bytes = sizeof(struct artthreads_state),
    .setup = setup,
    .thread = {enter, enter_for_it, look_twice},
    .check = check_put,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- artthreads/again: a tid's next lives */

static void live_again(void *state)
{
    struct artthreads_state *s = state;
    for (uint32_t life = 0; life <= explore_size(); life++) {
        explore_require(put(s, TID, life) == STROBE_OK);
        if (life == 0)
            strobe_art_threads_end(&s->table, TID); /* later lives end without this call */
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
    .name = "artthreads/again",
    .what = "a tid used again: what is looked up is of one life, and never of an earlier (S-45)",
    .thread_count = 2,
    .state_bytes = sizeof(struct artthreads_state),
    .setup = setup,
    .thread = {live_again, look_in_order},
    .check = check_again,
    .quick = 2,
    .nightly = 3,
    .fenced = true,
};

/* ---- artthreads/full: three threads, entries for two */

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
    .name = "artthreads/full",
    .what = "threads beyond the table's size are refused, and the others are found",
    .thread_count = 3,
    .state_bytes = sizeof(struct artthreads_state),
    .setup = setup,
    .thread = {enter_one, enter_one, enter_one},
    .check = check_full,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
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
    .name = "artthreads/frozen",
    .what = "a thread stopped while it enters or ends holds up nobody",
    .thread_count = 2,
    .state_bytes = sizeof(struct artthreads_state),
    .setup = setup,
    .thread = {enter_and_end, enter_other},
    .check = check_frozen,
    .quick = 1,
    .nightly = 1,
    .frozen = 1,
    .fenced = true,
};

const struct explore_program *const explore_artthreads_programs[] = {
    &put_program, &again_program, &full_program, &frozen_program, NULL,
};
