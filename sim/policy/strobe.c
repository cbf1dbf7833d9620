#include "sim/policy/strobe.h"

#include "engine/base/mix.h"
#include "engine/capture/blocking.h"
#include "engine/capture/guard.h"
#include "sim/kernel/fiber.h"
#include "sim/policy/scratch.h"
#include "sim/runtime/session_names.h"
#include "sim/runtime/vstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The engine's switch; off between runs. */
static strobe_a32 switched;

static struct sim_strobe *strobe_policy_of(struct sim_tracer *t)
{
    return (struct sim_strobe *)t;
}

/* ---- costs ---- */

static uint64_t ps(double ns)
{
    return (uint64_t)(ns * 1000 + 0.5);
}

static struct sim_strobe_costs costs_in_ps(const struct sim_costs *c)
{
    return (struct sim_strobe_costs){
        .hook = ps(c->hook),
        .clock = ps(c->clock),
        .thread_clock = ps(c->thread_clock),
        .usage = ps(c->usage),
        .scope = ps(c->scope),
        .sample = ps(c->sample),
        .frame = ps(c->frame),
        .frame_known = ps(c->frame_known),
        .release = ps(c->release),
        .look = ps(c->look),
        .suspend = ps(c->suspend),
        .suspend_target = ps(c->suspend_target),
        .tick = ps(c->tick),
        .tick_sample = ps(c->tick_sample),
        .copy = ps(c->copy),
        .copy_kib = ps(c->copy_kib),
        .resume = ps(c->resume),
        .unwind_frame = ps(c->unwind_frame),
        .stop_far = ps(c->stop_far),
        .stop_far_target = ps(c->stop_far_target),
        .resume_far = ps(c->resume_far),
        .sampler_wake = ps(c->sampler_wake),
        .sampler_wake_soon = ps(c->sampler_wake_soon),
        .attach = ps(c->attach),
        .detach = ps(c->detach),
        .clock_start = ps(c->clock_start),
        .clock_end = ps(c->clock_end),
    };
}

void sim_strobe_charge(struct sim_strobe *s, uint64_t cost_ps)
{
    struct sim_thread *self = sim_self();
    struct sim_vthread *v = self ? self->user : NULL;
    struct sim_traced *traced = v ? v->tracer : NULL;
    uint64_t *owed = traced ? &traced->owed_ps : &s->sampler_owed_ps;
    *owed += cost_ps;
    uint64_t ns = *owed / 1000;
    if (!self || ns == 0)
        return;
    *owed -= ns * 1000;
    if (v)
        sim_tracer_charge(v, ns);
    else
        sim_charge(ns);
}

/* Charges the sample that the hook took, if any. Frames that it shares with the previous sample were only compared. */
static void strobe_policy_charge_sample(struct sim_strobe *s, struct sim_traced *t)
{
    uint32_t samples = strobe_load_relaxed(&t->thread->sync_samples);
    if (samples == t->samples || !t->thread->buffers)
        return;
    t->samples = samples;
    const struct strobe_stack_cursor *c = &t->thread->buffers->cursor;
    uint32_t known = 0;
    while (known < c->depth && known < t->depth && c->address[known] == t->address[known])
        known++;
    memcpy(t->address + known, c->address + known, (c->depth - known) * sizeof c->address[0]);
    t->depth = c->depth;
    sim_strobe_charge(s, s->costs.sample + known * s->costs.frame_known + (c->depth - known) * s->costs.frame);
}

static uint64_t charged_ps(const struct sim_traced *t)
{
    return t->v->tracer_ns * 1000 + t->owed_ps;
}

/* Charges the rest of a cost, of which the running thread has been charged a part since `before_ps`. */
static void charge_rest(struct sim_strobe *s, const struct sim_traced *t, uint64_t before_ps, uint64_t cost_ps)
{
    uint64_t since_ps = charged_ps(t) - before_ps;
    sim_strobe_charge(s, cost_ps > since_ps ? cost_ps - since_ps : 0);
}

/* ---- hooks ---- */

static struct strobe_site strobe_policy_hook_site(const struct sim_vthread *v)
{
    return (struct strobe_site){v->fp, ((const struct strobe_frame_record *)(uintptr_t)v->fp)->return_address};
}

/* Charges the way to the hook, and returns the thread's engine data. NULL: there is none, or the capture has ended. */
static struct sim_traced *enter_strobe_hook(struct sim_strobe *s, struct sim_vthread *v)
{
    struct sim_traced *t = v->tracer;
    if (strobe_switched() == STROBE_OFF)
        return NULL;
    sim_strobe_charge(s, s->costs.hook);
    if (t && t->thread)
        return t;
    strobe_add_relaxed(&s->session.header->events_untracked, 1);
    return NULL;
}

static void strobe_policy_point(struct sim_tracer *tracer, struct sim_vthread *v, enum strobe_kind kind, uint64_t arg)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    struct sim_traced *t = enter_strobe_hook(s, v);
    if (!t)
        return;
    if (kind == STROBE_KIND_ALLOC)
        strobe_point_alloc(t->thread, strobe_switched(), arg, strobe_policy_hook_site(v));
    else
        strobe_point_called(t->thread, strobe_switched(), kind, arg, strobe_policy_hook_site(v));
    strobe_policy_charge_sample(s, t);
}

/* The hooks of a wait run before and after it. Their cost in total was measured by the length of the wait. The rest of
 * it is charged after a wait in which the thread gave up its core. */
static void leave_hook_of_wait(struct sim_traced *t, uint64_t before_ps)
{
    t->wait_began_ns = sim_now();
    t->wait_switches = t->v->thread->voluntary_switches;
    t->wait_charged_ps = charged_ps(t) - before_ps;
}

static void charge_wait(struct sim_strobe *s, struct sim_traced *t, uint64_t waited_ns, uint64_t before_ps)
{
    if (t->v->thread->voluntary_switches == t->wait_switches)
        return;
    uint64_t cost_ns = sim_span_cost_ns(&s->run->options.costs.wait_record, waited_ns);
    charge_rest(s, t, before_ps - t->wait_charged_ps, cost_ns * 1000);
    t->wait_switches = t->v->thread->voluntary_switches; /* the time of this wait does not count for an enclosing
                                                            call */
}

static uint32_t strobe_policy_scope_begin(struct sim_tracer *tracer, struct sim_vthread *v, enum strobe_kind kind,
                                          uint64_t what)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    const struct sim_traced *known = v->tracer;
    uint64_t before_ps = known ? charged_ps(known) : 0;
    struct sim_traced *t = enter_strobe_hook(s, v);
    if (!t)
        return 0;
    sim_strobe_charge(s, s->costs.scope / 2);
    uint32_t token = strobe_scope_begin(t->thread, kind, what, strobe_policy_hook_site(v));
    if (what && token)
        strobe_wait_begin(t->thread, what);
    leave_hook_of_wait(t, before_ps);
    return token;
}

static void strobe_policy_scope_end(struct sim_tracer *tracer, struct sim_vthread *v, uint32_t token,
                                    enum strobe_kind kind, uint64_t what, enum strobe_wake how)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    struct sim_traced *t = v->tracer;
    (void)kind;
    if (!t || !t->thread)
        return;
    if (strobe_switched() == STROBE_OFF) {
        strobe_scope_left(t->thread);
        return;
    }
    uint64_t waited_ns = sim_now() - t->wait_began_ns, before_ps = charged_ps(t);
    if (what && token)
        strobe_wait_end(t->thread, what, how, v->shared);
    sim_strobe_charge(s, s->costs.scope / 2);
    strobe_scope_end(t->thread, token, strobe_policy_hook_site(v));
    strobe_policy_charge_sample(s, t);
    charge_wait(s, t, waited_ns, before_ps);
}

static void strobe_policy_release(struct sim_tracer *tracer, struct sim_vthread *v, uint64_t what,
                                  enum strobe_release how)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    struct sim_traced *t = enter_strobe_hook(s, v);
    if (!t)
        return;
    uint32_t samples = t->samples;
    strobe_release(t->thread, strobe_switched(), what, how, strobe_policy_hook_site(v));
    strobe_policy_charge_sample(s, t);
    if (t->samples != samples)
        sim_strobe_charge(s, s->costs.release);
}

static void strobe_policy_message(struct sim_tracer *tracer, struct sim_vthread *v, uint32_t id)
{
    const struct sim_traced *t = v->tracer;
    (void)tracer;
    if (t && t->thread)
        strobe_store_relaxed(&t->thread->entry->message, id);
}

/* ---- threads ---- */

/* Reports the forced point of a thread's begin or end, as the backends do, for all threads except main. The sample is
 * taken in the hook's function where the thread begins, outside of all frames of the app. */
static void strobe_policy_lifetime_point(struct sim_strobe *s, struct sim_traced *t, uint64_t begins)
{
    uint64_t outermost = t->v->sp - 16, frame = outermost - 16, code = SIM_HOOK_CODE + 1;
    if (!s->tracer.point || t->v->is_main)
        return;
    sim_stack_word(outermost, 0);
    sim_stack_word(outermost + 8, 0);
    sim_stack_word(frame, outermost);
    sim_stack_word(frame + 8, code);
    strobe_point_forced(t->thread, STROBE_KIND_THREAD, begins, (struct strobe_site){frame, code});
    strobe_policy_charge_sample(s, t);
}

static void strobe_policy_thread_begin(struct sim_tracer *tracer, struct sim_vthread *v)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    struct sim_traced *t = s->spare ? s->spare : calloc(1, sizeof *t);
    v->tracer = t;
    if (!t)
        return;
    s->spare = s->spare ? s->spare->next : NULL;
    *t = (struct sim_traced){.next = s->live, .strobe = s, .v = v};
    s->live = t;
    struct strobe_stack_bounds stack = {(uint64_t)(uintptr_t)v->stack_low, (uint64_t)(uintptr_t)v->stack_high, 0};
    uint64_t before_ps = charged_ps(t);
    t->thread = strobe_thread_attach(&s->engine, v->tid, v->is_main, v->thread->name, &stack);
    if (!t->thread)
        return;
    strobe_policy_lifetime_point(s, t, 1);
    if (!v->is_main)
        charge_rest(s, t, before_ps, s->costs.attach);
}

static void strobe_policy_thread_end(struct sim_tracer *tracer, struct sim_vthread *v)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    struct sim_traced *t = v->tracer, **link = &s->live;
    if (!t)
        return;
    if (t->thread) {
        uint64_t before_ps = charged_ps(t);
        strobe_policy_lifetime_point(s, t, 0);
        strobe_thread_detach(t->thread);
        charge_rest(s, t, before_ps, s->costs.detach);
    }
    v->tracer = NULL;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    t->next = s->spare;
    s->spare = t;
}

static void free_all(struct sim_traced *t)
{
    for (struct sim_traced *next; t; t = next) {
        next = t->next;
        free(t);
    }
}

/* ---- the session ---- */

static uint32_t strobe_policy_power_of_two(uint64_t least, uint32_t from, uint32_t most)
{
    uint32_t n = from;
    while (n < least && n < most)
        n *= 2;
    return n < most ? n : most;
}

static bool starts_more(const struct sim_scenario *sc)
{
    for (uint32_t i = 0; i < sc->op_count; i++)
        if (sc->ops[i].kind == SIM_OP_SPAWN)
            return true;
    return false;
}

/* Reduces the settings that the scenario leaves at their defaults to what it can fill, so that a small run costs
 * little. A busy thread writes up to about 24 slots per ms: its samples and blocks, with metrics and wakers. */
static void shrink_config(struct strobe_config *c, const struct sim_scenario *sc)
{
    enum { SLOTS_PER_MS = 24, NODES_PER_SLOT = 4, SPAWNED = 8 };
    enum { LEAST_SLOTS = 16384, LEAST_NODES = 16384, LEAST_THREADS = 16 };
    struct strobe_config usual;
    uint64_t threads = starts_more(sc) ? SPAWNED : 1;
    strobe_config_default(&usual);
    for (uint32_t i = 0; i < sc->thread_count; i++)
        threads += sc->threads[i].count;
    if (c->threads_max == usual.threads_max && !starts_more(sc))
        c->threads_max = strobe_policy_power_of_two(threads, LEAST_THREADS, usual.threads_max);
    if (c->images_max == usual.images_max && sc->image_count < usual.images_max)
        c->images_max = sc->image_count + SIM_SESSION_OWN_IMAGES;
    uint64_t slots = threads * (sc->duration_ns / 1000000 + 1) * SLOTS_PER_MS;
    c->names_bytes = sim_session_names_bytes(sc);
    if (c->ring_slots == usual.ring_slots)
        c->ring_slots = strobe_policy_power_of_two(slots, LEAST_SLOTS, usual.ring_slots);
    if (c->stack_nodes == usual.stack_nodes)
        c->stack_nodes = strobe_policy_power_of_two(slots * NODES_PER_SLOT, LEAST_NODES, usual.stack_nodes);
}

static enum strobe_status strobe_policy_create_session(struct sim_strobe *s)
{
    const struct sim_run *run = s->run;
    char command[1024];
    snprintf(command, sizeof command, "%s --seed %llu", run->scenario->name, (unsigned long long)run->options.seed);
    if (!run->options.session_path)
        return sim_scratch_session(&s->config, command, &s->session, s->path, sizeof s->path);
    snprintf(s->path, sizeof s->path, "%s", run->options.session_path);
    return strobe_session_create(s->path, &s->config, command, run->options.replace, &s->session);
}

/* The images have no files, so the session itself has the names of their methods. The calls that wait are functions of
 * a C library; a hook is the engine's own. */
static void add_strobe_images(const struct sim_strobe *s)
{
    const struct sim_scenario *sc = s->run->scenario;
    const struct strobe_session *to = &s->session;
    for (uint32_t i = 0; i < sc->image_count; i++)
        sim_session_add_image(to, sc->images[i].name, sc->images[i].start, sc->images[i].bytes);
    sim_session_add_image(to, SIM_SESSION_LIBC, SIM_WAIT_CODE, (uint64_t)STROBE_KIND_COUNT * SIM_OWN_CODE_BYTES);
    sim_session_add_image(to, SIM_SESSION_PLAYER, SIM_HOOK_CODE, SIM_OWN_CODE_BYTES);
    for (uint32_t i = 0; i < sc->method_count; i++)
        sim_session_add_name(to, sc->methods[i].name, sc->methods[i].address, sc->methods[i].bytes);
    for (unsigned kind = 0; kind < STROBE_KIND_COUNT; kind++)
        sim_session_add_name(to, strobe_kind_name((enum strobe_kind)kind),
                             SIM_WAIT_CODE + (uint64_t)kind * SIM_OWN_CODE_BYTES, SIM_OWN_CODE_BYTES);
}

static void strobe_policy_run_sampler(void *arg)
{
    struct sim_strobe *s = arg;
    strobe_sampler_init(s->sampler, &s->engine, SIM_SAMPLER_TID);
    strobe_sampler_run(s->sampler);
}

static bool strobe_policy_start_sampler(struct sim_strobe *s)
{
    struct sim_thread_options options = {.name = "strobe sampler",
                                         .tid = SIM_SAMPLER_TID,
                                         .realtime = true,
                                         .daemon = true,
                                         .entry = strobe_policy_run_sampler,
                                         .arg = s};
    s->sampler = calloc(1, sizeof *s->sampler);
    s->sampler_thread = s->sampler ? sim_thread_start(s->run->kernel, &options) : NULL;
    s->tracer.sampler = s->sampler_thread;
    return s->sampler_thread != NULL;
}

static void choose_config(struct sim_strobe *s)
{
    struct strobe_config *c = &s->config;
    *c = s->run->scenario->config;
    c->seed = c->seed ? c->seed : strobe_mix64(s->run->options.seed) | 1; /* all random choices follow from the run's
                                                                             seed */
    if (s->no_sampler)
        c->async_interval_ns = 0;
    if (s->interval_ns) {
        /* Every thread is sampled in every interval, which the gate sets. */
        c->interval_main_ns = c->interval_other_ns = s->interval_ns;
        c->async_interval_ns = s->interval_ns / 2;
    }
    shrink_config(c, s->run->scenario);
    s->tracer.interval_main_ns = c->interval_main_ns;
    s->tracer.interval_other_ns =
        c->async_interval_ns > c->interval_other_ns ? c->async_interval_ns : c->interval_other_ns;
}

static enum strobe_status strobe_policy_start(struct sim_tracer *tracer, struct sim_run *run)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    s->run = run;
    sim_fiber_local(&strobe_local, sizeof strobe_local);
    sim_fiber_local(&strobe_guard_window, sizeof strobe_guard_window);
    s->costs = costs_in_ps(&run->options.costs);
    choose_config(s);
    enum strobe_status status = strobe_policy_create_session(s);
    if (status != STROBE_OK)
        return status;
    struct strobe_session_header *h = s->session.header;
    h->pid = 1;
    h->begin = (struct strobe_clock_pair){SIM_STROBE_ORIGIN_NS, SIM_STROBE_ORIGIN_NS, SIM_STROBE_ORIGIN_NS,
                                          SIM_STROBE_ORIGIN_NS};
    strobe_store_release(&h->state, STROBE_SESSION_RUNNING);
    add_strobe_images(s);
    sim_strobe_host(s);
    s->memory_bytes = strobe_engine_memory_bytes(&s->config);
    s->memory = mmap(NULL, s->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->memory == MAP_FAILED) {
        s->memory = NULL;
        return STROBE_IO;
    }
    const struct strobe_unwinder *unwinder = s->interval_ns ? &strobe_unwinder_fp : sim_strobe_unwinder_tables(run);
    strobe_engine_init(&s->engine, &s->session, &s->host, unwinder, s->memory);
    strobe_store_relaxed(&switched, s->config.delay_ns ? STROBE_PAUSED : STROBE_ON);
    strobe_switch = &switched;
    return s->config.async_interval_ns == 0 || strobe_policy_start_sampler(s) ? STROBE_OK : STROBE_IO;
}

/* Ends the capture as the Linux backend does, and with its limits (wait_for_quiet_engine in preload.c): no hook takes a
 * sample any more, and all threads have a second to leave the hooks that they are in. */
static void strobe_policy_settle(struct sim_tracer *tracer, struct sim_run *run)
{
    enum { STEPS = 5000, STEP_NS = 200000 };
    const struct sim_strobe *s = strobe_policy_of(tracer);
    strobe_store_seq_cst(strobe_switch, STROBE_OFF);
    for (uint64_t i = 1; i <= STEPS && run->end == SIM_END_LIMIT && !strobe_engine_quiet(&s->engine); i++)
        sim_kernel_go_on(run->kernel, run->end_ns + i * STEP_NS);
}

static void close_strobe(struct sim_tracer *tracer)
{
    struct sim_strobe *s = strobe_policy_of(tracer);
    strobe_store_relaxed(&switched, STROBE_OFF);
    strobe_reader_close(s->reader);
    if (s->session.header)
        strobe_session_unmap(&s->session);
    free_all(s->live);
    free_all(s->spare);
    if (s->memory)
        munmap(s->memory, s->memory_bytes);
    free(s->sampler);
    free(s);
}

/* ---- the policies ---- */

struct sim_tracer *sim_policy_strobe(void)
{
    struct sim_strobe *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->session.fd = -1;
    s->tracer = (struct sim_tracer){
        .start = strobe_policy_start,
        .thread_begin = strobe_policy_thread_begin,
        .thread_end = strobe_policy_thread_end,
        .point = strobe_policy_point,
        .scope_begin = strobe_policy_scope_begin,
        .scope_end = strobe_policy_scope_end,
        .release = strobe_policy_release,
        .message = strobe_policy_message,
        .settle = strobe_policy_settle,
        .reconstruct = sim_strobe_reconstruct,
        .save = sim_strobe_save,
        .check = sim_strobe_check,
        .close = close_strobe,
        .policy = "strobe",
        .posts_are_scopes = true,
        .tries_locks_first = true,
    };
    return &s->tracer;
}

struct sim_tracer *sim_policy_strobe_stops(void)
{
    struct sim_tracer *t = sim_policy_strobe();
    if (!t)
        return NULL;
    t->policy = "strobe-stops";
    strobe_policy_of(t)->no_ticks = true;
    return t;
}

struct sim_tracer *sim_policy_sync_only(void)
{
    struct sim_tracer *t = sim_policy_strobe();
    if (!t)
        return NULL;
    t->policy = "sync-only";
    strobe_policy_of(t)->no_sampler = true;
    return t;
}

/* Only the hooks of a thread's begin and end are used; the sampler needs them to find the threads. */
struct sim_tracer *sim_policy_async(uint64_t interval_ns)
{
    struct sim_tracer *t = sim_policy_strobe();
    if (!t)
        return NULL;
    t->policy = interval_ns == 1000000 ? "async-1ms" : "async-10ms";
    t->point = NULL;
    t->scope_begin = NULL;
    t->scope_end = NULL;
    t->release = NULL;
    t->message = NULL;
    strobe_policy_of(t)->interval_ns = interval_ns;
    return t;
}
