/* The table of the task's threads (engine/backend/mach/threads.c). Threads enter and leave by themselves, the engine
 * lists the task's threads, and the sampler uses their ports. No right is lost or released twice, and no right is
 * released while it is in use. engine_mach.c checks this in each call. */
#include "engine/backend/mach/threads.h"
#include "engine/base/mix.h"
#include "tests/explore/engine/engine_mach.h"
#include "tests/explore/programs.h"

enum { TID = 100, OTHER = 200, PORT = 1, OTHER_PORT = 2, NONE_YET = 99 };

struct machthreads_state {
    struct mach_played mach;
    struct strobe_mach_threads table;
    uint32_t put, other_put; /* results of the puts */
    uint32_t found;
    bool dropped;
};

static void setup(void *state)
{
    struct machthreads_state *s = state;
    mach_play(&s->mach);
    s->mach.ids[PORT] = TID;
    s->mach.ids[OTHER_PORT] = OTHER;
    s->mach.listed = PORT;
    s->put = s->other_put = NONE_YET;
}

static void put(void *state)
{
    struct machthreads_state *s = state;
    s->put = strobe_mach_threads_put(&s->table, TID, mach_played_right(PORT));
}

static void put_and_drop(void *state)
{
    struct machthreads_state *s = state;
    put(state);
    strobe_mach_threads_drop(&s->table, TID);
    s->dropped = true;
}

static void note_found(void *ctx, const struct strobe_mach_found *found)
{
    struct machthreads_state *s = ctx;
    explore_require(found->tid == TID && found->port == PORT);
    s->found++;
}

static void look(void *state)
{
    struct machthreads_state *s = state;
    strobe_mach_threads_look(&s->table, note_found, s);
}

/* The thread did not exist yet when the first list was made. */
static void look_twice(void *state)
{
    struct machthreads_state *s = state;
    s->mach.listed = 0;
    look(state);
    s->mach.listed = PORT;
    look(state);
}

/* Returns the number of slots of the thread that are live, or that are not. */
static uint32_t slots(const struct machthreads_state *s, bool live)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_SLOTS; i++) {
        uint64_t word = strobe_load_relaxed(&s->table.at[i]);
        count += word >> 32 == TID && ((uint32_t)word == PORT) == live;
    }
    return count;
}

/* ---- machthreads/put, machthreads/twins: a thread enters itself while a list of threads is entered */

static void check_put(void *state)
{
    struct machthreads_state *s = state;
    explore_require((s->put == STROBE_OK) + s->found == 1);
    explore_require(s->put == STROBE_OK || s->put == STROBE_EXISTS);
    explore_require(slots(s, true) == 1 && slots(s, false) == 0);
    explore_require(strobe_load_relaxed(&s->mach.rights[PORT]) == 1);
}

static const struct explore_program put_program = {
    .name = "machthreads/put",
    .what = "a thread that enters as it is found has one entry and one right, reported once",
    .thread_count = 2,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup,
    .thread = {put, look},
    .check = check_put,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* The first slot becomes free between the two lists. The thread that came before has taken the second slot. */
static void setup_twins(void *state)
{
    struct machthreads_state *s = state;
    setup(state);
    uint32_t first = (uint32_t)strobe_mix64(TID) & (STROBE_MACH_TABLE_SLOTS - 1);
    strobe_store_relaxed(&s->table.at[first], (uint64_t)OTHER << 32 | MACH_PORT_DEAD);
    s->table.missed[first] = OTHER;
}

static const struct explore_program twins_program = {
    .name = "machthreads/twins",
    .what = "a thread that gets two slots keeps one, whoever sees it",
    .thread_count = 2,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup_twins,
    .thread = {put, look_twice},
    .check = check_put,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- machthreads/drop, machthreads/out: a thread leaves while a list contains it */

static void check_drop(void *state)
{
    struct machthreads_state *s = state;
    mach_port_t port;
    explore_require(slots(s, true) == 0 && slots(s, false) == 1);
    explore_require(strobe_mach_threads_use(&s->table, TID, &port) == STROBE_NO_ENTRY);
    explore_require(strobe_load_relaxed(&s->mach.rights[PORT]) == 0);
}

static const struct explore_program drop_program = {
    .name = "machthreads/drop",
    .what = "a thread that has left is not put in again, and leaves no right",
    .thread_count = 2,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup_twins,
    .thread = {put_and_drop, look_twice},
    .check = check_drop,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* Does what the engine's own threads do at their start. */
static void stay_out(void *state)
{
    struct machthreads_state *s = state;
    strobe_mach_threads_drop(&s->table, TID);
}

static const struct explore_program out_program = {
    .name = "machthreads/out",
    .what = "a thread that stays out is in the table for no longer than it takes to say so",
    .thread_count = 2,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup_twins,
    .thread = {stay_out, look_twice},
    .check = check_drop,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- machthreads/use: the sampler works with its port */

static void use(void *state)
{
    struct machthreads_state *s = state;
    for (uint32_t i = 0; i <= explore_size(); i++) {
        mach_port_t port;
        if (strobe_mach_threads_use(&s->table, TID, &port) != STROBE_OK)
            continue;
        explore_require(port == PORT && strobe_load_relaxed(&s->mach.rights[PORT]) > 0);
        strobe_mach_threads_done(&s->table);
    }
}

static const struct explore_program use_program = {
    .name = "machthreads/use",
    .what = "a port in use is given back when that is done, and before it at no time (S-45)",
    .thread_count = 2,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup,
    .thread = {put_and_drop, use},
    .check = check_drop,
    .quick = 1,
    .nightly = 2,
    .fenced = true,
};

/* ---- machthreads/again: slots of threads that have ended */

static void setup_again(void *state)
{
    struct machthreads_state *s = state;
    setup(state);
    for (uint32_t i = 0; i < STROBE_MACH_TABLE_SLOTS; i++)
        strobe_store_relaxed(&s->table.at[i], (uint64_t)(OTHER + 1 + i) << 32);
}

static void put_other(void *state)
{
    struct machthreads_state *s = state;
    s->other_put = strobe_mach_threads_put(&s->table, OTHER, mach_played_right(OTHER_PORT));
}

static void check_again(void *state)
{
    struct machthreads_state *s = state;
    explore_require(s->put == STROBE_OK && s->other_put == STROBE_OK);
    explore_require(strobe_load_relaxed(&s->mach.rights[PORT]) == 1);
    explore_require(strobe_load_relaxed(&s->mach.rights[OTHER_PORT]) == 1);
    mach_port_t port;
    explore_require(strobe_mach_threads_use(&s->table, OTHER, &port) == STROBE_OK && port == OTHER_PORT);
    strobe_mach_threads_done(&s->table);
}

static const struct explore_program again_program = {
    .name = "machthreads/again",
    .what = "a slot used again is that of one thread, with that thread's port (S-45)",
    .thread_count = 3,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup_again,
    .thread = {put, put_other, use},
    .check = check_again,
    .quick = 1,
    .nightly = 1,
    .fenced = true,
};

/* ---- machthreads/frozen: a thread is stopped while it enters or leaves */

static void look_and_put_other(void *state)
{
    look(state);
    put_other(state);
}

static void check_frozen(void *state)
{
    struct machthreads_state *s = state;
    explore_require(s->other_put == STROBE_OK || s->other_put == STROBE_FULL);
    explore_require(s->dropped || explore_frozen());
}

static const struct explore_program frozen_program = {
    .name = "machthreads/frozen",
    .what = "a thread stopped while it enters or leaves holds up nobody",
    .thread_count = 2,
    .state_bytes = sizeof(struct machthreads_state),
    .setup = setup,
    .thread = {put_and_drop, look_and_put_other},
    .check = check_frozen,
    .quick = 1,
    .nightly = 1,
    .frozen = 1,
    .fenced = true,
};

const struct explore_program *const explore_machthreads_programs[] = {
    &put_program, &twins_program, &drop_program, &out_program, &use_program, &again_program, &frozen_program, NULL,
};
