/* Which events become samples, and what is captured between them (properties S-1 to S-7). Other tests check S-1, S-2
 * and S-6 exactly, in virtual time. These cases include the runtime, its hooks and its suspension of threads. */
#include "engine/backend/art/hooks/events.h"
#include "engine/backend/art/own_threads.h"
#include "sim/genuine/jni_calls.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HOOKS = 400, MS = 1000 * 1000, BURSTS = 4, LEAF_NS = 90 * 1000 };

/* ---- a thread that runs below a Java frame ---- */

static void (*play)(struct strobe_jni *env);
static struct capture k;
static strobe_jobject monitor;

static void native_sample(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    play(env);
}

static void call_deep(struct strobe_jni *env, void *more)
{
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = *(int32_t *)more});
}

/* Runs `what` during a capture, in a thread, below Main.deep, which calls itself `more` times. */
static bool perform(struct contract *c, const struct strobe_config *config, void (*what)(struct strobe_jni *),
                    int32_t more)
{
    struct java_thread t;
    play = what;
    monitor = java_new(c->art.env, "java/lang/Object");
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)native_sample);
    if (!capture_begin(c, config, &k))
        return false;
    java_thread_start(&t, c->art.vm, call_deep, &more);
    java_thread_join(&t);
    capture_end(&k);
    return k.open;
}

static uint64_t clock_ns(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_ms(struct strobe_jni *env, int64_t ms)
{
    java_enter(env, monitor);
    java_wait(env, monitor, ms);
    java_exit(env, monitor);
}

static void calculate(struct strobe_jni *env, uint64_t cpu_ns)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        java_static(env, "Main", "busy", "(I)I", &(union strobe_jvalue){.i = 20000});
}

/* Returns the calling thread's account of a kind so far. */
static struct strobe_account account(enum strobe_kind kind)
{
    struct strobe_thread *t = strobe_local.thread;
    return t ? *strobe_account_of(t, kind) : (struct strobe_account){0};
}

/* ---- S-1 ---- */

static uint64_t expected_samples;
static struct strobe_account hooks_account;

/* Calls hooked functions, and computes the expected number of samples: those that a grid of 1 ms lets through. The grid
 * restarts after a pause. */
static void meet_hooks_and_count(struct strobe_jni *env)
{
    uint64_t due = 0;
    struct timespec pause = {0, 250 * 1000};
    strobe_jclass object = strobe_jni_find_class(env, "java/lang/Object");
    struct strobe_account before = account(STROBE_KIND_ALLOC);
    expected_samples = 0;
    for (int i = 0; i < HOOKS; i++) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        sim_jni_drop_local(env, sim_jni_allocate(env, object));
        if (now >= due) {
            expected_samples++;
            due = due + MS > now ? due + MS : now + MS;
        }
        nanosleep(&pause, NULL);
    }
    hooks_account = account(STROBE_KIND_ALLOC);
    hooks_account.requests -= before.requests;
    hooks_account.sampled -= before.sampled;
    hooks_account.gated -= before.gated;
}

static void samples_are_as_many_as_the_times_of_hooks_say(struct contract *c)
{
    struct strobe_config config;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = MS;
    if (!perform(c, &config, meet_hooks_and_count, 0) || !capture_has(&k, STROBE_ART_ALLOC))
        return; /* Android 7.0 and 7.1 have no hooked point event that a test can cause */
    uint64_t sampled = hooks_account.sampled, tolerance = 3 + expected_samples / 20;
    CHECK(c, hooks_account.requests == HOOKS, "%llu requests", (unsigned long long)hooks_account.requests);
    CHECK(c, sampled + tolerance >= expected_samples && sampled <= expected_samples + tolerance,
          "%llu samples, %llu expected", (unsigned long long)sampled, (unsigned long long)expected_samples);
    CHECK(c, hooks_account.gated == HOOKS - sampled, "%llu turned away", (unsigned long long)hooks_account.gated);
    capture_drop(&k);
}

/* ---- S-2 ---- */

static struct strobe_account waits_account;
static uint64_t short_waits, short_wait_ticks;

static void wait_right_after_a_sample(struct strobe_jni *env)
{
    for (int i = 0; i <= STROBE_BRIEF_BURST; i++)
        wait_ms(env, 2); /* may pass the gate, or count as brief calls */
    struct strobe_account before = account(STROBE_KIND_COND);
    wait_ms(env, 2);
    waits_account = account(STROBE_KIND_COND);
    waits_account.sampled -= before.sampled;
    waits_account.gated -= before.gated;
    short_waits = strobe_local.thread->entry->short_waits;
    short_wait_ticks = strobe_local.thread->entry->short_wait_ticks;
}

static void a_wait_right_after_a_sample_is_recorded_when_it_is_long_and_counted_when_not(struct contract *c)
{
    struct strobe_config config;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = UINT64_C(10000) * MS;
    config.scope_min_ns = MS / 2;
    if (!perform(c, &config, wait_right_after_a_sample, 0))
        return;
    CHECK(c, waits_account.sampled == 1 && waits_account.gated == 0, "%llu sampled, %llu gated",
          (unsigned long long)waits_account.sampled, (unsigned long long)waits_account.gated);
    capture_drop(&k);
    config.scope_min_ns = UINT64_C(10000) * MS;
    if (!perform(c, &config, wait_right_after_a_sample, 0))
        return;
    CHECK(c, waits_account.sampled == 0 && waits_account.gated == 1, "%llu sampled, %llu gated",
          (unsigned long long)waits_account.sampled, (unsigned long long)waits_account.gated);
    CHECK(c, short_waits >= 1 && short_wait_ticks >= 2 * MS, "%llu short waits, of %llu ticks",
          (unsigned long long)short_waits, (unsigned long long)short_wait_ticks);
    capture_drop(&k);
}

/* ---- S-2b ---- */

static void poll_and_wait_near_the_end(struct strobe_jni *env, strobe_jobject queue, int64_t pointer, int32_t ms)
{
    (void)queue, (void)pointer;
    workload_pause((unsigned)ms);
    wait_ms(env, 1);
}

struct scopes {
    struct strobe_record outer, inner;
    int outers, inners;
};

static void note_scopes(void *ctx, const struct strobe_record *r)
{
    struct scopes *s = ctx;
    if (r->kind == STROBE_KIND_POLL && r->flags & STROBE_FLAG_SCOPE) {
        s->outers++;
        s->outer = *r;
    } else if (r->kind == STROBE_KIND_COND && r->flags & STROBE_FLAG_SCOPE) {
        s->inners++;
        s->inner = *r;
    }
}

static void a_sample_near_the_end_of_a_call_takes_nothing_from_the_calls_own(struct contract *c)
{
    struct strobe_config config;
    struct strobe_jni *env = c->art.env;
    struct scopes s = {0};
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = UINT64_C(10) * MS;
    workload_bind(env, "android/os/MessageQueue", "nativePollOnce", "(JI)V", (void *)poll_and_wait_near_the_end);
    strobe_jobject queue = java_new(env, "android/os/MessageQueue");
    monitor = java_new(env, "java/lang/Object");
    if (!capture_begin(c, &config, &k))
        return;
    java_virtual(env, queue, "nativePollOnce", "(JI)V", (union strobe_jvalue[]){{.j = 1}, {.i = 40}});
    CHECK(c, strobe_load_relaxed(&strobe_local.thread->entry->scope_kind) == STROBE_KIND_NONE, "no scope is open");
    capture_end(&k);
    capture_visit(&k, note_scopes, &s);
    CHECK(c, s.outers == 1 && s.inners == 1, "%d polls, %d waits", s.outers, s.inners);
    CHECK(c,
          s.outer.duration >= UINT64_C(40) * MS && s.inner.ticks >= s.outer.ticks &&
              s.inner.ticks + s.inner.duration <= s.outer.ticks + s.outer.duration,
          "%llu ns, and the wait within", (unsigned long long)s.outer.duration);
    capture_drop(&k);
}

/* ---- S-3 ---- */

static void wait_once(struct strobe_jni *env)
{
    wait_ms(env, 1);
}

static void expect_depth(struct contract *c, uint32_t depth_max, int32_t more)
{
    struct strobe_config config;
    struct scopes s = {0};
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count = 0, all = (uint32_t)more + 4; /* Object.wait twice, Main.sample, Main.deep once more */
    capture_config(&config);
    config.depth_max = depth_max;
    capture_managed_only = true;
    if (!perform(c, &config, wait_once, more))
        return;
    capture_visit(&k, note_scopes, &s);
    if (!CHECK(c, s.inners == 1, "%d records at a depth of %u", s.inners, all))
        return;
    strobe_stack_frames(&k.session.stacks, s.inner.stack, frames, STROBE_STACK_DEPTH_MAX, &count);
    CHECK(c, count == (all < depth_max ? all : depth_max), "%u of %u frames", count, all);
    CHECK(c, !(s.inner.flags & STROBE_FLAG_CUT) == (all <= depth_max), "%u frames, flags %#x", all, s.inner.flags);
    for (uint32_t i = 0; i < count; i++) {
        static const char *const inner[] = {"void java.lang.Object.wait(long, int)", "void java.lang.Object.wait(long)",
                                            "void Main.sample(int)"};
        const char *name = capture_frame(&k, s.inner.stack, i);
        if (!CHECK(c, !strcmp(name, i < 3 ? inner[i] : "void Main.deep(int)"), "frame %u is %s", i, name))
            break;
    }
    capture_drop(&k);
}

static void a_stack_that_is_too_deep_is_cut_and_says_so_and_is_not_lost(struct contract *c)
{
    expect_depth(c, 128, 124);
    expect_depth(c, 128, 129);
    expect_depth(c, STROBE_STACK_DEPTH_MAX, 129);
    expect_depth(c, STROBE_STACK_DEPTH_MAX, 400);
}

/* ---- S-4, S-5 ---- */

struct span {
    uint64_t begin, end;
    int samples;
};
static struct span spans[BURSTS];
static int span_count;

static void begin_span(void)
{
    spans[span_count] = (struct span){.begin = strobe_art_now()};
}

static void end_span(void)
{
    spans[span_count++].end = strobe_art_now();
}

static void count_in_spans(void *ctx, const struct strobe_record *r)
{
    (void)ctx;
    for (int i = 0; i < span_count; i++)
        if (r->kind == STROBE_KIND_ASYNC && r->ticks + r->duration >= spans[i].begin && r->ticks <= spans[i].end)
            spans[i].samples += (int)r->count;
}

static void calculate_between_two_hooks(struct strobe_jni *env)
{
    java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = 1});
    begin_span();
    calculate(env, 50 * MS);
    end_span();
    java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = 1});
}

static void what_runs_between_two_hooks_is_seen(struct contract *c)
{
    struct strobe_config config;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = MS;
    config.async_interval_ns = MS;
    span_count = 0;
    if (!perform(c, &config, calculate_between_two_hooks, 0))
        return;
    capture_visit(&k, count_in_spans, NULL);
    CHECK(c, spans[0].samples >= 5, "%d samples of 50 ms", spans[0].samples);
    capture_drop(&k);
}

struct merged {
    uint64_t begin, end;
    int over;
};

static void look_for_merged(void *ctx, const struct strobe_record *r)
{
    struct merged *m = ctx;
    m->over += r->kind == STROBE_KIND_ALLOC && r->ticks < m->begin && r->ticks + r->duration > m->end;
}

static void without_a_sampler_what_lies_between_two_hooks_is_a_gap(struct contract *c)
{
    struct strobe_config config;
    capture_config(&config);
    span_count = 0;
    if (!perform(c, &config, calculate_between_two_hooks, 0))
        return;
    struct merged m = {spans[0].begin, spans[0].end, 0};
    capture_visit(&k, look_for_merged, &m);
    CHECK(c, m.over == 0, "%d records over the gap", m.over);
    capture_drop(&k);
}

static void rest_and_burst(struct strobe_jni *env)
{
    for (int i = 0; i < BURSTS; i++) {
        workload_pause(40);
        begin_span();
        calculate(env, 10 * MS);
        end_span();
    }
}

static void a_thread_that_was_idle_is_seen_as_soon_as_it_runs(struct contract *c)
{
    struct strobe_config config;
    int seen = 0;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = MS;
    config.async_interval_ns = MS;
    config.refresh_main_ns = config.refresh_other_ns = UINT64_C(10000) * MS;
    span_count = 0;
    if (!perform(c, &config, rest_and_burst, 0))
        return;
    capture_visit(&k, count_in_spans, NULL);
    for (int i = 0; i < BURSTS; i++)
        seen += spans[i].samples > 0;
    CHECK(c, seen >= BURSTS - 1, "%d of %d bursts of 10 ms", seen, BURSTS); /* on a loaded machine one may be missed */
    capture_drop(&k);
}

/* ---- S-6 ---- */

/* Without stops in the leaf its share is 0. A stop on a genuine runtime finds the thread where it next checks for one.
 * So the leaf, which has 0.96 of the time, had 0.64 of the stops with a load of 15. Of 60 stops that each find it with
 * a probability of 0.6, at most 15 do so in less than 1 of 10^6 runs. The exact share, and the points of hooks beside
 * the stops, are tested in virtual time (test_properties_sampling). */
enum { SHARE_SAMPLES = 60 };

static double leaf_share;

static void alternate_leaf_work_and_allocation(struct strobe_jni *env)
{
    strobe_jclass main = strobe_jni_find_class(env, "Main");
    strobe_jmethod busy = strobe_jni_static_method(env, main, "busy", "(I)I");
    strobe_jmethod alloc = strobe_jni_static_method(env, main, "alloc", "(I)V");
    union strobe_jvalue turns = {.i = 1000}, once = {.i = 1};
    uint64_t leaf = 0, begin, took;
    do { /* finds the number of turns that takes 90 us */
        turns.i += turns.i / 4;
        begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        sim_jni_call_static(env, main, busy, &turns);
        took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    } while (took < LEAF_NS);
    uint64_t first = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    do {
        begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        sim_jni_call_static(env, main, busy, &turns);
        took = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        leaf += took - begin;
        sim_jni_call_static(env, main, alloc, &once);
    } while (took - first < 120 * MS || capture_count_async(&k, (uint32_t)gettid()) < SHARE_SAMPLES);
    leaf_share = (double)leaf / (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - first);
}

struct shares {
    int all, leaf;
};

static void count_leaf(void *ctx, const struct strobe_record *r)
{
    struct shares *s = ctx;
    if (r->kind == STROBE_KIND_ASYNC)
        s->all += (int)r->count;
    if (r->kind == STROBE_KIND_ASYNC && !strcmp(capture_frame(&k, r->stack, 0), "int Main.busy(int)"))
        s->leaf += (int)r->count;
}

static void work_without_hooks_has_its_share_beside_allocations(struct contract *c)
{
    struct strobe_config config;
    struct shares s = {0};
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = MS;
    config.async_interval_ns = MS;
    if (!perform(c, &config, alternate_leaf_work_and_allocation, 0))
        return;
    capture_visit(&k, count_leaf, &s);
    double seen = s.all ? (double)s.leaf / s.all : 0;
    CHECK(c, s.all >= SHARE_SAMPLES && seen > 0.25, "%.2f of %d stops in Main.busy, which has %.2f of the time", seen,
          s.all, leaf_share);
    capture_drop(&k);
}

/* ---- S-7 ---- */

static uint64_t (*real_cpu_ns)(void *ctx);
static struct strobe_jni *hook_env;
static int within, deepest, times;

/* Replaces a function of the host that the engine calls while it takes a sample. It allocates, and enters and leaves a
 * monitor. */
static uint64_t cpu_ns_with_hooks(void *ctx)
{
    within++;
    deepest = within > deepest ? within : deepest;
    if (hook_env && strobe_local.thread && strobe_load_relaxed(&strobe_local.thread->inside)) {
        times++;
        java_enter(hook_env, monitor);
        sim_jni_drop_local(hook_env, sim_jni_allocate(hook_env, strobe_jni_find_class(hook_env, "java/lang/Object")));
        java_exit(hook_env, monitor);
    }
    within--;
    return real_cpu_ns(ctx);
}

static void poll_nothing(struct strobe_jni *env, strobe_jobject queue, int64_t pointer, int32_t ms)
{
    (void)env, (void)queue, (void)pointer;
    workload_pause((unsigned)ms);
}

static void hooks_met_while_a_sample_is_taken_are_counted_and_take_none(struct contract *c)
{
    struct strobe_config config;
    struct strobe_jni *env = c->art.env;
    capture_config(&config);
    workload_bind(env, "android/os/MessageQueue", "nativePollOnce", "(JI)V", (void *)poll_nothing);
    strobe_jobject queue = java_new(env, "android/os/MessageQueue");
    monitor = java_new(env, "java/lang/Object");
    wait_ms(env, 1); /* makes the monitor fat */
    if (!capture_begin(c, &config, &k))
        return;
    within = deepest = times = 0;
    real_cpu_ns = strobe_art.host.linux.host.self_cpu_ns;
    strobe_art.host.linux.host.self_cpu_ns = cpu_ns_with_hooks;
    hook_env = env;
    java_virtual(env, queue, "nativePollOnce", "(JI)V", (union strobe_jvalue[]){{.j = 1}, {.i = 2}});
    hook_env = NULL;
    strobe_art.host.linux.host.self_cpu_ns = real_cpu_ns;
    struct strobe_account unlock = account(STROBE_KIND_UNLOCK), alloc = account(STROBE_KIND_ALLOC);
    capture_end(&k);
    CHECK(c, times >= 1 && deepest == 1, "%d times, %d deep", times, deepest);
    CHECK(c, unlock.reentrant >= (uint64_t)times, "%llu of %d exits", (unsigned long long)unlock.reentrant, times);
    CHECK(c, alloc.reentrant >= (uint64_t)times || !capture_has(&k, STROBE_ART_ALLOC), "%llu of %d allocations",
          (unsigned long long)alloc.reentrant, times);
    capture_drop(&k);
}

/* The watchdog checks every 50 ms. Only the end of the engine's threads is measured, because the rest of an end takes
 * long on a busy machine. The shortest of several counts. */
static void an_end_does_not_wait_for_the_watchdogs_next_check(struct contract *c)
{
    enum { CAPTURES = 5, SHORT_NS = 25 * 1000 * 1000 };
    struct strobe_config config;
    uint64_t shortest = UINT64_MAX;
    capture_config(&config);
    config.async_interval_ns = 1000000;
    for (int i = 0; i < CAPTURES; i++) {
        struct timespec begin, end;
        if (!capture_begin(c, &config, &k))
            return;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        strobe_store_seq_cst(strobe_switch, STROBE_OFF);
        CHECK(c, strobe_art_own_threads_stop(), "they have ended");
        clock_gettime(CLOCK_MONOTONIC, &end);
        uint64_t ns = (uint64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (uint64_t)end.tv_nsec;
        ns -= (uint64_t)begin.tv_nsec;
        shortest = ns < shortest ? ns : shortest;
        capture_end(&k);
        capture_drop(&k);
    }
    CHECK(c, shortest < SHORT_NS, "%llu ns", (unsigned long long)shortest);
}

const struct contract_case contract_cases_sampling[] = {
    {"samples_are_as_many_as_the_times_of_hooks_say", samples_are_as_many_as_the_times_of_hooks_say, 0},
    {"a_wait_right_after_a_sample_is_recorded_when_it_is_long_and_counted_when_not",
     a_wait_right_after_a_sample_is_recorded_when_it_is_long_and_counted_when_not, 0},
    {"a_sample_near_the_end_of_a_call_takes_nothing_from_the_calls_own",
     a_sample_near_the_end_of_a_call_takes_nothing_from_the_calls_own, 0},
    {"a_stack_that_is_too_deep_is_cut_and_says_so_and_is_not_lost",
     a_stack_that_is_too_deep_is_cut_and_says_so_and_is_not_lost, 0},
    {"what_runs_between_two_hooks_is_seen", what_runs_between_two_hooks_is_seen, 0},
    {"without_a_sampler_what_lies_between_two_hooks_is_a_gap", without_a_sampler_what_lies_between_two_hooks_is_a_gap,
     0},
    {"a_thread_that_was_idle_is_seen_as_soon_as_it_runs", a_thread_that_was_idle_is_seen_as_soon_as_it_runs, 0},
    {"work_without_hooks_has_its_share_beside_allocations", work_without_hooks_has_its_share_beside_allocations,
     CONTRACT_HEAVY},
    {"hooks_met_while_a_sample_is_taken_are_counted_and_take_none",
     hooks_met_while_a_sample_is_taken_are_counted_and_take_none, 0},
    {"an_end_does_not_wait_for_the_watchdogs_next_check", an_end_does_not_wait_for_the_watchdogs_next_check, 0},
    {0},
};
