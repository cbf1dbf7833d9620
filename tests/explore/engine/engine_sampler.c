/* The sampler's passes and the end of a capture, while threads attach, run hooks, wait and end. A stop does not stop
 * threads here (engine_suspend.c explores that), so the sampler reads their memory while they run. It must bear that
 * anyway when it samples a waiting thread. */
#include "tests/explore/engine/engine_rig.h"
#include "tests/explore/programs.h"

enum { PASS_TICKS = 5000000, FIRST = 0x1000, SECOND = 0x2000, NEVER = UINT32_MAX };

struct sampler_state {
    struct explore_rig rig;
    strobe_a32 gone; /* the thread has ended, as the system reports */
    uint64_t signed_off_ticks;
    uint32_t stops, passes;
    uint32_t in_engine; /* plain; each thread that takes a sample writes it, and the one that finds the engine quiet */
    bool quiet, roused;
};

static struct sampler_state *the_state;

static struct strobe_thread *own(struct sampler_state *s)
{
    return &s->rig.thread[0];
}

/* ---- the host */

static enum strobe_status thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx, (void)tid;
    *out = 0;
    return strobe_load_acquire(&the_state->gone) ? STROBE_GONE : STROBE_OK;
}

static enum strobe_status suspend(void *ctx, uint32_t tid, const strobe_a32 *blocked, uint64_t timeout_ns,
                                  struct strobe_regs *out)
{
    (void)ctx, (void)tid, (void)timeout_ns;
    if (strobe_load_relaxed(blocked))
        return STROBE_UNSUPPORTED;
    the_state->stops++;
    *out = (struct strobe_regs){.pc = FIRST, .sp = rig_site(&the_state->rig, 4).frame};
    return STROBE_OK;
}

static enum strobe_status resume(void *ctx, uint32_t tid)
{
    (void)ctx, (void)tid;
    the_state->stops--;
    return STROBE_OK;
}

/* Turns the sampler off after its first pass. */
static void sleep_until(void *ctx, uint64_t deadline)
{
    (void)ctx, (void)deadline;
    if (the_state->passes++)
        strobe_store_relaxed(&the_state->rig.engine.sampler_stop, 1);
}

static void make(void *state, uint32_t threads)
{
    struct sampler_state *s = the_state = state;
    rig_make(&s->rig, threads);
    s->rig.host.thread_cpu_ns = thread_cpu_ns;
    s->rig.host.suspend = suspend;
    s->rig.host.resume = resume;
    s->rig.host.sleep_until = sleep_until;
    s->rig.unwinder.self = NULL;
    s->rig.engine.config.async_interval_ns = 1000000;
    s->rig.sampler.engine = &s->rig.engine;
    s->rig.sampler.interval_ticks = 1000000;
}

static void pass(void *state)
{
    struct sampler_state *s = state;
    s->rig.now[explore_self()] = PASS_TICKS;
    strobe_sampler_pass(&s->rig.sampler, PASS_TICKS);
}

/* Writes the outermost frame record at word i. */
static void frame(struct sampler_state *s, uint32_t i, uint64_t address)
{
    strobe_store_relaxed(&s->rig.word[i + 1], address);
}

/* Checks the accounting of the thread's stops and samples. */
static void check_books(void *state)
{
    struct sampler_state *s = state;
    struct strobe_account *a = &s->rig.entry[0].account[STROBE_KIND_ASYNC];
    explore_require(s->stops == 0);
    explore_require(strobe_load_relaxed(&s->rig.header.suspends) == strobe_load_relaxed(&s->rig.header.resumes));
    explore_require(strobe_load_relaxed(&a->requests) == strobe_load_relaxed(&a->sampled) +
                                                             strobe_load_relaxed(&a->unwind_failed) +
                                                             strobe_load_relaxed(&a->dropped));
}

/* ---- sampler/life */

static void setup_life(void *state)
{
    make(state, 0);
}

static void live(void *state)
{
    struct sampler_state *s = state;
    struct strobe_thread *t = rig_attach(&s->rig, 1);
    t->gate.due_ticks = 1000000;
    strobe_point(t, STROBE_ON, STROBE_KIND_ALLOC, 0, rig_site(&s->rig, 2));
    if (explore_size() > 1) {
        uint32_t scope = strobe_scope_begin(t, STROBE_KIND_MUTEX, 0, rig_site(&s->rig, 2));
        strobe_scope_end(t, scope, rig_site(&s->rig, 2));
    }
    strobe_thread_detach(t);
}

static const struct explore_program life_program = {
    .name = "sampler/life",
    .what = "a thread comes, runs hooks and signs off, a pass at any time: the accounting is consistent",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_life,
    .thread = {live, pass},
    .check = check_books,
    .quick = 2,
    .nightly = 2,
    .frozen = 1u << 0,
};

/* ---- sampler/end: a reader reads the session's entry of a thread */

static void setup_one(void *state)
{
    make(state, 1);
}

static void sign_off(void *state)
{
    struct sampler_state *s = state;
    strobe_thread_detach(own(s));
    s->signed_off_ticks = s->rig.now[explore_self()];
    strobe_store_release(&s->gone, 1);
}

static void die(void *state)
{
    struct sampler_state *s = state;
    struct strobe_record r = {.ticks = 1, .count = 1, .kind = STROBE_KIND_ALLOC};
    strobe_ring_write(&s->rig.engine.session.ring, &own(s)->writer, &r, NULL);
    own(s)->scope_count = 1;
    strobe_wait_begin(own(s), RIG_WHAT);
    strobe_store_release(&s->gone, 1);
}

static void read_end(void *state)
{
    struct sampler_state *s = state;
    if (strobe_load_acquire(&s->rig.entry[0].state) == STROBE_THREAD_ENDED)
        explore_require(s->rig.entry[0].end_ticks != 0);
}

static void check_signed_off(void *state)
{
    struct sampler_state *s = state;
    check_books(state);
    explore_require(strobe_load_relaxed(&s->rig.entry[0].state) == STROBE_THREAD_ENDED);
    explore_require(s->rig.entry[0].end_ticks == s->signed_off_ticks);
}

static const struct explore_program signed_off_program = {
    .name = "sampler/signed-off",
    .what = "a thread that signs off is not retired; a reader of its end sees the time of the end",
    .thread_count = 3,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_one,
    .thread = {sign_off, pass, read_end},
    .check = check_signed_off,
    .quick = 1,
    .nightly = 1,
};

/* All resources of the dead thread are released, or none yet. */
static void check_retired(void *state)
{
    struct sampler_state *s = state;
    bool retired = strobe_load_relaxed(&s->rig.entry[0].state) == STROBE_THREAD_ENDED;
    uint32_t block = strobe_block_index(RIG_WHAT);
    check_books(state);
    explore_require((strobe_load_relaxed(&s->rig.engine.session.ring.chunks[0]) & 1) == !retired);
    explore_require(strobe_load_relaxed(&s->rig.blocking.block[block].waiting) == !retired);
    explore_require((s->rig.entry[0].end_ticks != 0) == retired);
}

static const struct explore_program retired_program = {
    .name = "sampler/retired",
    .what = "a thread that dies without signing off is retired: chunk, wait and end (S-16, S-42)",
    .thread_count = 3,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_one,
    .thread = {die, pass, read_end},
    .check = check_retired,
    .quick = 1,
    .nightly = 1,
};

/* ---- sampler/waiting */

static void setup_waiting(void *state)
{
    struct sampler_state *s = state;
    make(state, 1);
    s->rig.engine.config.message_per_poll = 1;
    frame(s, 2, FIRST);
    strobe_scope_begin(own(s), STROBE_KIND_POLL, 0, rig_site(&s->rig, 2));
}

/* After its return the thread reuses the stack above the hook. */
static void wait_again(void *state)
{
    struct sampler_state *s = state;
    strobe_scope_end(own(s), 1, rig_site(&s->rig, 2));
    frame(s, 2, SECOND);
    if (explore_size() > 1) {
        frame(s, 4, SECOND);
        strobe_scope_begin(own(s), STROBE_KIND_POLL, 0, rig_site(&s->rig, 4));
    }
}

static void look(void *state)
{
    struct sampler_state *s = state;
    s->rig.now[explore_self()] = PASS_TICKS;
    strobe_sampler_finish(&s->rig.sampler);
}

/* The recorded stack and message are those of the call that was in progress. */
static void check_waiting(void *state)
{
    struct sampler_state *s = state;
    struct strobe_ring_item item;
    check_books(state);
    if (!strobe_load_relaxed(&s->rig.entry[0].account[STROBE_KIND_ASYNC].requests))
        return;
    explore_require(strobe_ring_look(&s->rig.engine.session.ring, 0, &item) == STROBE_LOOK_RECORD);
    uint64_t frames[2] = {0};
    uint32_t count;
    explore_require(strobe_stack_frames(&s->rig.engine.session.stacks, item.record.stack, frames, 2, &count) ==
                    STROBE_OK);
    explore_require(count == 1 && frames[0] == (item.record.message ? SECOND : FIRST));
}

static const struct explore_program waiting_program = {
    .name = "sampler/waiting",
    .what = "a call that is looked at as it ends: its own stack and message, or none (S-41)",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_waiting,
    .thread = {wait_again, look},
    .check = check_waiting,
    .quick = 2,
    .nightly = 2,
};

static void attach(void *state)
{
    struct sampler_state *s = state;
    frame(s, 2, FIRST);
    strobe_scope_begin(rig_attach(&s->rig, 1), STROBE_KIND_MUTEX, 0, rig_site(&s->rig, 2));
}

static const struct explore_program last_look_program = {
    .name = "sampler/last-look",
    .what = "the last look at all who wait meets a thread that comes at that moment",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_life,
    .thread = {attach, look},
    .check = check_books,
    .quick = 1,
    .nightly = 1,
};

/* ---- sampler/asked */

static void setup_asked(void *state)
{
    struct sampler_state *s = state;
    make(state, 1);
    frame(s, 2, FIRST);
    strobe_scope_begin(own(s), STROBE_KIND_MUTEX, 0, rig_site(&s->rig, 2));
    s->rig.engine.config.refresh_other_ns = 2 * PASS_TICKS;
}

static void end_and_call(void *state)
{
    struct sampler_state *s = state;
    strobe_scope_end(own(s), 1, rig_site(&s->rig, 2));
    uint32_t scope = strobe_scope_begin(own(s), STROBE_KIND_MUTEX, 0, rig_site(&s->rig, 2));
    strobe_scope_end(own(s), scope, rig_site(&s->rig, 2));
}

static void check_asked(void *state)
{
    struct sampler_state *s = state;
    struct strobe_account *a = &s->rig.entry[0].account[STROBE_KIND_MUTEX];
    bool asked =
        own(s)->sampled.seen_ticks && !strobe_load_relaxed(&s->rig.entry[0].account[STROBE_KIND_ASYNC].requests);
    check_books(state);
    explore_require(strobe_load_relaxed(&a->requests) == 2);
    explore_require(strobe_load_relaxed(&a->sampled) + strobe_load_relaxed(&a->gated) == 2);
    explore_require(strobe_load_relaxed(&a->sampled) + strobe_load_relaxed(&own(s)->asked) == asked);
}

static const struct explore_program asked_program = {
    .name = "sampler/asked",
    .what = "a thread that is asked for its stack takes it once, at the end of a call",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_asked,
    .thread = {end_and_call, pass},
    .check = check_asked,
    .quick = 1,
    .nightly = 1,
};

/* ---- sampler/rest */

static enum strobe_status keep_no_clock(void *ctx, uint32_t index, uint32_t tid, uint64_t period_ns, uint32_t taken)
{
    (void)ctx, (void)index, (void)tid, (void)period_ns, (void)taken;
    return STROBE_UNSUPPORTED;
}

static void note_rouse(void *ctx, strobe_a32 *word)
{
    (void)ctx, (void)word;
    the_state->roused = true;
}

static void setup_rest(void *state)
{
    struct sampler_state *s = state;
    make(state, 0);
    s->rig.host.clock_keep = keep_no_clock;
    s->rig.host.rouse = note_rouse;
    s->rig.sampler.quiet_passes = s->rig.sampler.passes_unrung = 100;
}

static void come(void *state)
{
    struct sampler_state *s = state;
    rig_attach(&s->rig, 1);
}

static void pass_and_rest(void *state)
{
    struct sampler_state *s = state;
    pass(state);
    strobe_sampler_go_on(&s->rig.sampler, PASS_TICKS);
}

static void check_rest(void *state)
{
    struct sampler_state *s = state;
    explore_require(!s->rig.sampler.rests || s->roused);
}

static const struct explore_program rest_program = {
    .name = "sampler/rest",
    .what = "a thread that comes around a pass is met by the next one at once, or ends the rest",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_rest,
    .thread = {come, pass_and_rest},
    .check = check_rest,
    .quick = 1,
    .nightly = 1,
};

/* ---- sampler/quiet-*: the end of a capture. in_engine is plain, so concurrent accesses are a race. */

static enum strobe_walk_end walk_marking(uint64_t at, uint64_t caller, const struct strobe_window *stack, uint64_t *end,
                                         uint32_t max, uint32_t *count)
{
    (void)at, (void)caller, (void)stack, (void)max;
    the_state->in_engine++;
    explore_require(!the_state->quiet);
    end[-1] = FIRST;
    *count = 1;
    return STROBE_WALK_ROOT;
}

static void mark_pass(void *ctx)
{
    (void)ctx;
    the_state->in_engine++;
    explore_require(!the_state->quiet);
}

static void setup_quiet(void *state)
{
    struct sampler_state *s = state;
    make(state, 1);
    s->rig.unwinder.self = walk_marking;
    s->rig.host.between_passes = mark_pass;
    own(s)->gate.due_ticks = 0;
    if (explore_size() > 1)
        strobe_store_relaxed(strobe_switch, STROBE_PAUSED);
}

static void close(void *state)
{
    struct sampler_state *s = state;
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    if (!strobe_engine_quiet(&s->rig.engine))
        return;
    s->in_engine += own(s)->pending.open; /* reads what the thread wrote inside the engine */
    s->quiet = true;
}

static void point(void *state)
{
    struct sampler_state *s = state;
    if (strobe_switched() == STROBE_ON)
        strobe_point(own(s), STROBE_ON, STROBE_KIND_ALLOC, 0, rig_site(&s->rig, 2));
}

static const struct explore_program quiet_point_program = {
    .name = "sampler/quiet-point",
    .what = "no point takes a sample once the engine was said to be quiet",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_quiet,
    .thread = {point, close},
    .quick = 1,
    .nightly = 1,
};

static void forced_point(void *state)
{
    struct sampler_state *s = state;
    if (strobe_switched() == STROBE_ON)
        strobe_point_forced(own(s), STROBE_KIND_UNLOCK, 0, rig_site(&s->rig, 2));
}

static const struct explore_program quiet_forced_program = {
    .name = "sampler/quiet-forced",
    .what = "nor does a forced one",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_quiet,
    .thread = {forced_point, close},
    .quick = 1,
    .nightly = 1,
};

static void scope(void *state)
{
    struct sampler_state *s = state;
    if (strobe_switched() != STROBE_ON)
        return;
    uint32_t token = strobe_scope_begin(own(s), STROBE_KIND_MUTEX, 0, rig_site(&s->rig, 2));
    strobe_scope_end(own(s), token, rig_site(&s->rig, 2));
}

static const struct explore_program quiet_scope_program = {
    .name = "sampler/quiet-scope",
    .what = "nor does the end of a call",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_quiet,
    .thread = {scope, close},
    .quick = 1,
    .nightly = 1,
};

static void run(void *state)
{
    struct sampler_state *s = state;
    strobe_sampler_run(&s->rig.sampler);
}

static void close_and_finish(void *state)
{
    struct sampler_state *s = state;
    close(state);
    if (s->quiet)
        strobe_sampler_finish(&s->rig.sampler);
}

/* A switch that was turned off stays off, also when a delay ends at the same time. */
static void check_off(void *state)
{
    (void)state;
    check_books(state);
    explore_require(strobe_switched() == STROBE_OFF);
}

static const struct explore_program quiet_pass_program = {
    .name = "sampler/quiet-pass",
    .what = "no pass is under way once the engine was said to be quiet",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_quiet,
    .thread = {run, close_and_finish},
    .check = check_off,
    .quick = 1,
    .nightly = 1,
};

static void setup_delay(void *state)
{
    setup_quiet(state);
    strobe_store_relaxed(strobe_switch, STROBE_PAUSED);
}

static const struct explore_program delay_program = {
    .name = "sampler/delay",
    .what = "the end of a delay does not turn on what was turned off",
    .thread_count = 2,
    .state_bytes = sizeof(struct sampler_state),
    .setup = setup_delay,
    .thread = {run, close_and_finish},
    .check = check_off,
    .quick = 1,
    .nightly = 1,
};

const struct explore_program *const explore_sampler_programs[] = {
    &life_program,
    &signed_off_program,
    &retired_program,
    &waiting_program,
    &last_look_program,
    &asked_program,
    &rest_program,
    &quiet_point_program,
    &quiet_forced_program,
    &quiet_scope_program,
    &quiet_pass_program,
    &delay_program,
    NULL,
};
