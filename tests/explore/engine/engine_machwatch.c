/* The sampler or the watchdog resumes a thread that the sampler stopped by Mach (engine/backend/mach/host_mach.c). To
 * the watchdog each suspended thread seems to have been suspended for too long. Meanwhile the thread reports its end.
 * */
#include "engine/backend/mach/host_mach.h"
#include "tests/explore/engine/engine_mach.h"
#include "tests/explore/programs.h"

enum { TID = 100, PORT = 1, SAMPLER = 0, WATCHDOG = 1 };

struct machwatch_state {
    struct mach_played mach;
    struct strobe_mach_threads table;
    struct strobe_mach_host host;
    strobe_a32 stops, resumed; /* stops that succeeded; resumes by the sampler */
    uint32_t let_go;           /* by the watchdog */
};

static bool over;

static uint64_t now(void)
{
    return !over && explore_self() == SAMPLER ? 1000 : 1000 + 2 * STROBE_MACH_WALK_NS;
}

static void setup(void *state)
{
    struct machwatch_state *s = state;
    over = false;
    s->mach.now = now;
    s->mach.ids[PORT] = TID;
    mach_play(&s->mach);
    strobe_mach_host_init(&s->host, &s->table);
    explore_require(strobe_mach_threads_put(&s->table, TID, mach_played_right(PORT)) == STROBE_OK);
}

static void stop_and_go(void *state)
{
    static const strobe_a32 not_blocked;
    struct machwatch_state *s = state;
    const struct strobe_host *h = &s->host.host;
    for (uint32_t i = 0; i < explore_size(); i++) {
        struct strobe_regs regs;
        if (h->suspend(h->ctx, TID, &not_blocked, 0, &regs) != STROBE_OK)
            continue;
        strobe_add_relaxed(&s->stops, 1u);
        if (h->resume(h->ctx, TID) == STROBE_OK)
            strobe_add_relaxed(&s->resumed, 1u);
    }
    uint64_t ns;
    h->thread_cpu_ns(h->ctx, TID, &ns);
}

static void watch(void *state)
{
    struct machwatch_state *s = state;
    for (uint32_t i = 0; i < explore_size(); i++)
        s->let_go += strobe_mach_host_watch(&s->host);
}

static void end(void *state)
{
    struct machwatch_state *s = state;
    strobe_mach_threads_drop(&s->table, TID);
}

/* The sampler lives: it resumed the threads that the watchdog did not resume. The right that it keeps for the watchdog
 * is released at its next stop. */
static void check_once(void *state)
{
    struct machwatch_state *s = state;
    uint64_t ns;
    over = true;
    explore_require(strobe_load_relaxed(&s->mach.suspends[PORT]) == 0);
    explore_require(strobe_load_relaxed(&s->stops) <= strobe_load_relaxed(&s->resumed) + s->let_go);
    s->host.host.thread_cpu_ns(&s->host, TID, &ns);
    explore_require(strobe_load_relaxed(&s->mach.rights[PORT]) == 0);
}

static const struct explore_program once_program = {
    .name = "machwatch/once",
    .what = "of sampler and watchdog one resumes a thread, once, by a port that is still its",
    .thread_count = 3,
    .state_bytes = sizeof(struct machwatch_state),
    .setup = setup,
    .thread = {stop_and_go, watch, end},
    .check = check_once,
    .quick = 1,
    .nightly = 2,
    .fenced = true,
};

/* The sampler dies: the guarantee of hold.h holds, except at the few instructions that it names. No thread is resumed
 * twice, which the simulated call checks. */
static void check_lost(void *state)
{
    struct machwatch_state *s = state;
    over = true;
    strobe_mach_host_watch(&s->host);
    uint32_t stands = strobe_load_relaxed(&s->mach.suspends[PORT]);
    explore_require(stands == 0 || (explore_frozen() && stands == 1));
    explore_require(!stands || strobe_load_relaxed(&s->host.hold.since) == 0);
    explore_require(strobe_load_relaxed(&s->host.watchdog_busy) == 0);
}

static const struct explore_program lost_program = {
    .name = "machwatch/lost",
    .what = "a thread whose sampler dies at any step is resumed once, by the watchdog (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct machwatch_state),
    .setup = setup,
    .thread = {stop_and_go, watch},
    .check = check_lost,
    .quick = 1,
    .nightly = 2,
    .frozen = 1u << SAMPLER,
    .fenced = true,
};

/* The watchdog dies: the sampler resumes threads as usual, except a thread that the watchdog had already claimed. After
 * that the sampler stops no thread any more, because the watchdog's call may still use the port. */
static void check_unwatched(void *state)
{
    struct machwatch_state *s = state;
    over = true;
    uint32_t stands = strobe_load_relaxed(&s->mach.suspends[PORT]);
    bool at_it = strobe_load_relaxed(&s->host.watchdog_busy);
    explore_require(!at_it || explore_frozen());
    explore_require(stands == 0 || (stands == 1 && at_it && s->host.port_kept));
    explore_require(strobe_load_relaxed(&s->host.hold.since) == 0);
    explore_require(strobe_load_relaxed(&s->mach.rights[PORT]) >= 1);
}

static const struct explore_program unwatched_program = {
    .name = "machwatch/unwatched",
    .what = "a sampler whose watchdog dies at any step lets go whom that had not claimed (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct machwatch_state),
    .setup = setup,
    .thread = {stop_and_go, watch},
    .check = check_unwatched,
    .quick = 1,
    .nightly = 2,
    .frozen = 1u << WATCHDOG,
    .fenced = true,
};

const struct explore_program *const explore_machwatch_programs[] = {&once_program, &lost_program, &unwatched_program,
                                                                    NULL};
