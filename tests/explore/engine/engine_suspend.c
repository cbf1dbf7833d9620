/* Stopping a thread by the handshake of engine/backend/linux/handshake.c. Signals are simulated: sending one sets a
 * word. The target finds the word set before any of its operations, and then runs its handler. Time is simulated too: a
 * wait with a limit ends when its word changed, or by its timeout. */
#include "engine/backend/linux/handshake.h"
#include "tests/explore/engine/engine_rig.h"
#include "tests/explore/programs.h"

enum { TARGETS = 2, PATIENCE_NS = 10, STATE_MASK = 3, CLAIMED = 2 };

struct target {
    strobe_a32 signalled;   /* sent, not delivered yet */
    uint32_t memory;        /* plain; the target writes it */
    strobe_a32 racing;      /* the same, atomic, for programs in which the sampler may read it while the target runs */
    uint32_t racing_stood;  /* value of `racing` at the last stop */
    uint32_t stood, let_go; /* number of stops; number of stops that the target ended itself */
    bool stands, in_call;
};

struct suspend_state {
    struct strobe_handshake h;
    struct explore_rig rig;
    struct strobe_host clock;
    struct target target[TARGETS];
    strobe_a32 over;  /* no more signals are sent */
    uint32_t sampler; /* index of its thread: the last */
    bool watchdog;    /* targets resume by themselves */
    bool patient;     /* the sampler waits without a limit */
    bool wakes;       /* a sleeping thread must be woken; false: it checks again by itself */
    uint64_t now;     /* on its clock */
    uint32_t suspends, resumes;
};

static struct suspend_state *the_state;

static uint64_t sampler_now(void *ctx)
{
    return ((struct suspend_state *)ctx)->now;
}

/* ---- the target */

static void handler(struct suspend_state *s)
{
    uint32_t i = explore_self(), request;
    struct target *t = &s->target[i];
    if (!strobe_load_relaxed(&t->signalled))
        return;
    strobe_exchange_acq_rel(&t->signalled, 0);
    explore_require(!t->in_call);
    if (!strobe_handshake_claim(&s->h, i + 1, &request))
        return;
    s->h.regs.pc = i + 1;
    s->h.regs.sp = t->memory;
    t->racing_stood = strobe_load_relaxed(&t->racing);
    t->stood++;
    t->stands = true;
    strobe_handshake_stand(&s->h, request);
    t->stands = false;
}

static void interrupt(void *state)
{
    struct suspend_state *s = state;
    if (!s->target[explore_self()].stands) /* the handler masks its signal */
        handler(s);
}

static void work(struct suspend_state *s, uint32_t steps)
{
    struct target *t = &s->target[explore_self()];
    for (uint32_t i = 1; i <= steps; i++) {
        t->memory = i;
        strobe_store_relaxed(&t->racing, i);
    }
}

/* A target that handles all its signals between its operations. */
static void work_and_stop(void *state)
{
    struct suspend_state *s = state;
    for (uint32_t i = 1; i <= explore_size(); i++) {
        handler(s);
        s->target[explore_self()].memory = i;
        strobe_store_relaxed(&s->target[explore_self()].racing, i);
    }
    handler(s);
}

/* A target whose operations are interrupted. It handles a later signal at its end. */
static void work_interrupted(void *state)
{
    work(state, explore_size());
    handler(state);
}

/* ---- system functions that the handshake uses */

bool strobe_handshake_sleep(strobe_a32 *word, uint32_t expected, uint64_t ns)
{
    struct suspend_state *s = the_state;
    bool sampler = explore_self() == s->sampler, comes_back = sampler ? !s->patient : s->watchdog;
    if (comes_back && (!sampler || (expected & STATE_MASK) != CLAIMED)) {
        bool over = strobe_load_relaxed(word) == expected;
        if (sampler)
            s->now += over ? ns : 0;
        else
            s->target[explore_self()].let_go += over;
        return over;
    }
    bool in_settle = !sampler && !s->target[explore_self()].stands; /* signals come in */
    if (s->wakes && !in_settle)
        explore_futex_wait(word, expected, false);
    else
        while (strobe_load_relaxed(word) == expected &&
               !(in_settle && strobe_load_relaxed(&s->target[explore_self()].signalled)))
            explore_spin();
    if (in_settle)
        handler(s);
    return false;
}

void strobe_handshake_wake(strobe_a32 *word)
{
    if (the_state->wakes)
        explore_futex_wake(word);
}

static void settle(void *ctx, uint32_t tid)
{
    (void)ctx;
    strobe_handshake_settle(&the_state->h, tid);
}

/* ---- the sampler */

static bool stop(struct suspend_state *s, uint32_t i)
{
    uint32_t request;
    if (!strobe_handshake_ask(&s->h, i + 1, &s->rig.entry[i].scope_kind, &request))
        return false;
    strobe_store_release(&s->target[i].signalled, 1);
    if (!strobe_handshake_await(&s->h, request, &s->clock, s->now + PATIENCE_NS))
        return false;
    s->suspends++;
    return true;
}

static void look(struct suspend_state *s, uint32_t i)
{
    struct target *t = &s->target[i];
    if (!stop(s, i))
        return;
    explore_require(s->h.regs.pc == i + 1);
    explore_require(s->watchdog || s->h.regs.sp == t->memory);
    uint32_t stood = t->racing_stood, racing = strobe_load_relaxed(&t->racing);
    bool held = strobe_handshake_resume(&s->h);
    s->resumes++;
    explore_require(held || s->watchdog);
    explore_require(!held || racing == stood);
}

static void look_once(void *state)
{
    struct suspend_state *s = state;
    look(s, 0);
    strobe_store_release(&s->over, 1);
}

static void look_twice(void *state)
{
    struct suspend_state *s = state;
    look(s, 0);
    look(s, 0);
}

static void look_at_both(void *state)
{
    struct suspend_state *s = state;
    look(s, 0);
    look(s, 1);
    strobe_store_release(&s->over, 1);
}

static void make(void *state, uint32_t targets)
{
    struct suspend_state *s = the_state = state;
    rig_make(&s->rig, targets);
    s->rig.host.settle = settle;
    s->clock = (struct strobe_host){.ticks = sampler_now, .ctx = s};
    s->sampler = targets;
}

/* Each stop was ended, by the sampler or by the thread itself. */
static void check(void *state)
{
    struct suspend_state *s = state;
    if (explore_frozen())
        return;
    uint32_t stood = s->target[0].stood + s->target[1].stood;
    explore_require(s->suspends == s->resumes);
    explore_require(stood >= s->suspends);
    explore_require(stood - s->suspends <= s->target[0].let_go + s->target[1].let_go);
    explore_require((strobe_load_relaxed(&s->h.word) & STATE_MASK) == 0 && strobe_load_relaxed(&s->h.tid) == 0);
}

/* ---- suspend/stop, suspend/wake, suspend/again */

static void setup_one(void *state)
{
    make(state, 1);
}

static const struct explore_program stop_program = {
    .name = "suspend/stop",
    .what = "a thread is read only while it stands; one that was late does not stop (S-40)",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_one,
    .thread = {work_interrupted, look_once},
    .check = check,
    .quick = 3,
    .nightly = 6,
    .interrupted = 1,
    .interrupt = interrupt,
};

static const struct explore_program again_program = {
    .name = "suspend/again",
    .what = "a signal that is late stops its thread for the next request, or not at all",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_one,
    .thread = {work_and_stop, look_twice},
    .check = check,
    .quick = 2,
    .nightly = 3,
};

static void setup_patient(void *state)
{
    struct suspend_state *s = state;
    make(state, 1);
    s->patient = true;
}

static void setup_wakes(void *state)
{
    struct suspend_state *s = state;
    make(state, 1);
    s->patient = s->wakes = true;
}

static void work_until_over(void *state)
{
    struct suspend_state *s = state;
    work(s, explore_size());
    while (!strobe_load_acquire(&s->over))
        if (strobe_load_relaxed(&s->target[explore_self()].signalled))
            handler(s);
        else
            explore_spin();
}

static const struct explore_program wake_program = {
    .name = "suspend/wake",
    .what = "sampler and thread wake each other: nobody sleeps for ever, without a watchdog",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_wakes,
    .thread = {work_until_over, look_once},
    .check = check,
    .quick = 2,
    .nightly = 4,
};

/* ---- suspend/watchdog */

static void setup_watchdog(void *state)
{
    struct suspend_state *s = state;
    make(state, 1);
    s->watchdog = true;
}

static const struct explore_program watchdog_program = {
    .name = "suspend/watchdog",
    .what = "a thread resumes itself when its sampler dies anywhere; a late resume reports it (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_watchdog,
    .thread = {work_and_stop, look_once},
    .check = check,
    .quick = 2,
    .nightly = 3,
    .frozen = 1u << 1,
};

static const struct explore_program rewatched_program = {
    .name = "suspend/rewatched",
    .what = "the same with two requests",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_watchdog,
    .thread = {work_and_stop, look_twice},
    .check = check,
    .quick = 1,
    .nightly = 2,
};

/* ---- suspend/two: the request and its registers are used for one thread, then for another */

static void setup_two(void *state)
{
    make(state, 2);
}

static const struct explore_program two_program = {
    .name = "suspend/two",
    .what = "a late signal stops no thread for another's request: registers are those asked for (S-45, S-46)",
    .thread_count = 3,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_two,
    .thread = {work_and_stop, work_and_stop, look_at_both},
    .check = check,
    .quick = 1,
    .nightly = 2,
};

/* ---- suspend/blocked, suspend/settle: a call that a stop must not disturb */

static void enter_call(struct suspend_state *s)
{
    struct strobe_thread *t = &s->rig.thread[0];
    strobe_scope_begin(t, STROBE_KIND_MUTEX, 0, rig_site(&s->rig, 0));
}

static void call(void *state)
{
    struct suspend_state *s = state;
    enter_call(s);
    s->target[0].in_call = true;
    while (!strobe_load_acquire(&s->over))
        explore_spin();
    explore_require(!strobe_load_relaxed(&s->target[0].signalled));
}

static const struct explore_program blocked_program = {
    .name = "suspend/blocked",
    .what = "no signal reaches a call: its thread sees the request, or the sampler the call (S-42)",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_patient,
    .thread = {call, look_once},
    .check = check,
    .quick = 1,
    .nightly = 1,
    .interrupted = 1,
    .interrupt = interrupt,
};

static void settle_only(void *state)
{
    enter_call(state);
}

static const struct explore_program settle_program = {
    .name = "suspend/settle",
    .what = "a sampler that dies anywhere holds up nobody on the way into a call (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_watchdog,
    .thread = {settle_only, look_once},
    .check = check,
    .quick = 1,
    .nightly = 1,
    .frozen = 1u << 1,
};

/* ---- suspend/withdraw: a request is withdrawn while a signal of an earlier one claims it */

static void setup_withdraw(void *state)
{
    struct suspend_state *s = state;
    make(state, 2);
    s->patient = true;
    strobe_store_relaxed(&s->target[0].signalled, 1);
    strobe_store_relaxed(&s->target[1].signalled, 1);
    strobe_store_relaxed(&s->rig.entry[0].scope_kind, STROBE_KIND_MUTEX);
}

static void late_signal(void *state)
{
    handler(state);
}

/* The thread stopped for a withdrawn request. It is neither read nor counted, but it is resumed. */
static void check_withdraw(void *state)
{
    struct suspend_state *s = state;
    explore_require(s->suspends == s->resumes && s->target[1].stood == s->suspends);
    explore_require((strobe_load_relaxed(&s->h.word) & STATE_MASK) == 0 && strobe_load_relaxed(&s->h.tid) == 0);
}

static const struct explore_program withdraw_program = {
    .name = "suspend/withdraw",
    .what = "a request that is withdrawn as a late signal claims it leaves nobody standing",
    .thread_count = 3,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_withdraw,
    .thread = {late_signal, work_until_over, look_at_both},
    .check = check_withdraw,
    .quick = 1,
    .nightly = 1,
};

/* No other request follows. Another request would resume the thread too. */
static void setup_withdraw_last(void *state)
{
    struct suspend_state *s = state;
    make(state, 1);
    s->patient = true;
    strobe_store_relaxed(&s->target[0].signalled, 1);
    strobe_store_relaxed(&s->rig.entry[0].scope_kind, STROBE_KIND_MUTEX);
}

static const struct explore_program withdraw_last_program = {
    .name = "suspend/withdraw-last",
    .what = "the same when that request is the last (S-46)",
    .thread_count = 2,
    .state_bytes = sizeof(struct suspend_state),
    .setup = setup_withdraw_last,
    .thread = {late_signal, look_once},
    .check = check_withdraw,
    .quick = 1,
    .nightly = 1,
};

const struct explore_program *const explore_suspend_programs[] = {
    &stop_program, &again_program,   &wake_program,   &watchdog_program, &rewatched_program,
    &two_program,  &blocked_program, &settle_program, &withdraw_program, &withdraw_last_program,
    NULL,
};
