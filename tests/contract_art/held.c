/* Threads that the sampler suspends: the calls meanwhile, and threads that end, leave the runtime or stay suspended
 * (properties S-40 to S-46). One case has a thread that never leaves the engine.
 *
 *   S-40   every other case checks it, too (window.h)
 *   S-41   the memory is the runtime's own here, not a stack that could be unmapped: a suspended thread cannot end
 *   S-43   the runtime handles frames that compilers omit. The cases check that a stack is exact wherever a thread is
 *          stopped, against the workload's calls
 *   S-44   visitor.c has another case
 *   S-45   the kernel reuses a thread id only after all others, so the case uses the runtime's own ids. The runtime
 *          always assigns the lowest free one
 */
#include "engine/backend/art/hooks/events.h"
#include "engine/base/error.h"
#include "engine/capture/guard.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/graph.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/window.h"
#include "tests/contract_art/support/workload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000 * 1000, MANY = 12 };

static struct capture k;
static atomic_int go_on, over;
static _Thread_local int within_native;

static void async_config(struct strobe_config *config)
{
    capture_config(config);
    config->interval_main_ns = config->interval_other_ns = config->async_interval_ns = MS;
}

static uint64_t own_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void calculate(struct strobe_jni *env, uint64_t cpu_ns)
{
    for (uint64_t end = own_cpu_ns() + cpu_ns; own_cpu_ns() < end;)
        java_static(env, "Main", "busy", "(I)I", &(union strobe_jvalue){.i = 20000});
}

static void calculate_as(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    calculate(env, 30 * MS);
}

static void calculate_until_stopped(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    while (go_on)
        calculate(env, MS);
    over = 1;
}

/* ---- a thread's samples in the session ---- */

struct looked {
    uint32_t thread;
    uint64_t from, until;
    int samples;
    const char *leaf;
    int elsewhere;
};

static void look_at_async(void *ctx, const struct strobe_record *r)
{
    struct looked *l = ctx;
    if (r->kind != STROBE_KIND_ASYNC || r->thread != l->thread)
        return;
    if (r->ticks + r->duration < l->from || (l->until && r->ticks > l->until))
        return;
    l->samples += (int)r->count;
    if (l->leaf && strcmp(capture_frame(&k, r->stack, 0), l->leaf))
        l->elsewhere += (int)r->count;
}

static struct looked look(const char *name, uint64_t from, uint64_t until, const char *leaf)
{
    struct looked l = {.thread = capture_thread(&k, name), .from = from, .until = until, .leaf = leaf};
    if (l.thread != UINT32_MAX)
        capture_visit(&k, look_at_async, &l);
    return l;
}

static bool ended(const char *name)
{
    uint32_t t = capture_thread(&k, name);
    return t != UINT32_MAX && strobe_load_relaxed(&k.session.threads[t].state) == STROBE_THREAD_ENDED;
}

/* ---- S-40 ---- */

static enum strobe_walk_end walk_and_allocate(const struct strobe_host *host, const struct strobe_regs *regs,
                                              const struct strobe_window *stack, struct strobe_stack_top *top,
                                              uint64_t *frames_end, uint32_t max, uint32_t *count)
{
    void *volatile p = malloc(16);
    free(p);
    return strobe_unwinder_art.stopped(host, regs, stack, top, frames_end, max, count);
}

static const struct strobe_unwinder allocates = {.stopped = walk_and_allocate};

static void what_takes_memory_while_a_thread_is_held_is_found_out(struct contract *c)
{
    struct strobe_config config;
    struct java_thread t;
    if (!window_is_watched())
        return;
    async_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    java_thread_start(&t, c->art.vm, calculate_as, "watched");
    java_thread_join(&t);
    const char *offence = window_offence();
    CHECK(c, !offence, "the engine itself calls %s", offence);
    strobe_art.engine.unwinder = &allocates;
    go_on = 1;
    java_thread_start(&t, c->art.vm, calculate_until_stopped, "offended");
    for (int i = 0; i < 2000 && !offence; i++) {
        workload_pause(1);
        offence = window_offence();
    }
    strobe_art.engine.unwinder = &strobe_unwinder_art;
    go_on = 0;
    java_thread_join(&t);
    capture_end(&k);
    window_offence();
    CHECK(c, offence, "nobody noticed");
    CHECK(c, look("watched", 0, 0, NULL).samples > 0, "nobody was held");
    capture_drop(&k);
}

/* ---- S-41 ---- */

static struct java_thread victim;
static uint64_t real_suspend;
static _Atomic uint32_t victim_id;
static atomic_int chosen, joined;

/* Replaces ThreadList::SuspendThreadByThreadId. The victim ends right after it was chosen. */
static void *suspend_when_ended(void *list, uint32_t id, uintptr_t a, uintptr_t b)
{
    if (id == victim_id && !atomic_exchange(&chosen, 1)) {
        go_on = 0;
        while (!joined)
            workload_pause(1);
    }
    return ((void *(*)(void *, uint32_t, uintptr_t, uintptr_t))(uintptr_t)real_suspend)(list, id, a, b);
}

static void know_own_id(struct strobe_jni *env, void *name)
{
    uint32_t id, tid;
    if (strobe_art_thread_ids(&strobe_art.runtime, &strobe_art.host.linux.host, strobe_art_current(&strobe_art.libart),
                              &id, &tid))
        victim_id = id;
    calculate_until_stopped(env, name);
}

static void a_thread_that_ends_after_it_was_chosen_is_gone_and_no_harm(struct contract *c)
{
    struct strobe_config config;
    async_config(&config);
    chosen = joined = 0;
    go_on = 1;
    if (!capture_begin(c, &config, &k))
        return;
    real_suspend = strobe_art.libart.address[STROBE_ART_SUSPEND_BY_ID];
    strobe_art.libart.address[STROBE_ART_SUSPEND_BY_ID] = (uint64_t)(uintptr_t)suspend_when_ended;
    java_thread_start(&victim, c->art.vm, know_own_id, "victim");
    java_thread_join(&victim);
    joined = 1;
    workload_pause(20);
    capture_end(&k);
    CHECK(c, chosen, "it was never chosen");
    CHECK(c, k.session.header->suspend_gone + k.session.header->suspend_late >= 1 || c->art.genuine, "%llu gone",
          (unsigned long long)k.session.header->suspend_gone);
    CHECK(c, ended("victim"), "it has ended");
    capture_drop(&k);
}

static void threads_that_come_and_go_under_the_sampler_are_all_let_go(struct contract *c)
{
    struct strobe_config config;
    struct java_thread t[MANY];
    async_config(&config);
    config.async_interval_ns = MS / 4;
    go_on = 0;
    if (!capture_begin(c, &config, &k))
        return;
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < MANY; i++)
            java_thread_start(&t[i], c->art.vm, calculate_until_stopped, "brief");
        for (int i = 0; i < MANY; i++)
            java_thread_join(&t[i]);
    }
    capture_end(&k);
    for (uint32_t i = 0; i < strobe_session_thread_count(&k.session); i++)
        CHECK(c,
              strcmp(k.session.threads[i].name, "brief") ||
                  strobe_load_relaxed(&k.session.threads[i].state) == STROBE_THREAD_ENDED,
              "thread %u lives", i);
    capture_drop(&k);
}

/* ---- S-42 ---- */

static void calculate_in_native(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)env, (void)class, (void)what;
    for (uint64_t end = own_cpu_ns() + 40 * MS; own_cpu_ns() < end;)
        continue;
}

static void go_native(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = 3});
}

static void a_thread_that_stays_in_native_code_is_seen_there(struct contract *c)
{
    struct strobe_config config;
    struct java_thread t;
    async_config(&config);
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)calculate_in_native);
    if (!capture_begin(c, &config, &k))
        return;
    java_thread_start(&t, c->art.vm, go_native, "native");
    java_thread_join(&t);
    capture_end(&k);
    struct looked l = look("native", 0, 0, "void Main.sample(int)");
    CHECK(c, l.samples - l.elsewhere >= 4, "%d samples, %d elsewhere", l.samples, l.elsewhere);
    capture_drop(&k);
}

/* The thread detaches from the runtime, computes as a native thread for a while, and attaches again. */
static uint64_t away_from, away_until;

static void attach_calculate_detach(struct contract *c)
{
    struct strobe_jni *env;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, "comes-back", NULL};
    ((int32_t(*)(struct strobe_jvm *, struct strobe_jni **, void *))(uintptr_t)strobe_jvm_at(
        c->art.vm, STROBE_JVM_ATTACH))(c->art.vm, &env, &how);
    /* Before Android 9 the engine registers a thread at its first event. */
    java_static(env, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", NULL);
    calculate(env, 25 * MS);
    ((int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(c->art.vm, STROBE_JVM_DETACH))(c->art.vm);
}

static void *comes_back(void *c)
{
    attach_calculate_detach(c);
    away_from = strobe_art_now();
    for (uint64_t end = own_cpu_ns() + 20 * MS; own_cpu_ns() < end;)
        continue;
    away_until = strobe_art_now();
    attach_calculate_detach(c);
    return NULL;
}

static void a_thread_that_leaves_the_runtime_is_left_alone_until_it_comes_back(struct contract *c)
{
    struct strobe_config config;
    pthread_t t;
    async_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    pthread_create(&t, NULL, comes_back, c);
    pthread_join(t, NULL);
    capture_end(&k);
    struct looked before = look("comes-back", 0, away_from, NULL), after = look("comes-back", away_until, 0, NULL);
    struct looked away = look("comes-back", away_from, away_until, NULL);
    CHECK(c, before.samples >= 2 && after.samples >= 2, "%d before, %d after", before.samples, after.samples);
    CHECK(c, away.samples <= 2, "%d while it was away", away.samples); /* one may begin, and one may end */
    capture_drop(&k);
}

/* ---- S-43 ---- */

static void call_up(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    if (within_native)
        return;
    within_native = 1;
    java_static(env, "Main", "thrower", "(I)I", &(union strobe_jvalue){.i = 0});
    java_static(env, "Main", "a", "()V", NULL);
    within_native = 0;
}

static void do_everything(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    for (uint64_t end = own_cpu_ns() + 60 * MS; own_cpu_ns() < end;) {
        java_static(env, "Main", "shapes", "()V", NULL);
        java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = 20});
        java_static(env, "Main", "thrower", "(I)I", &(union strobe_jvalue){.i = 0});
        java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = 5});
    }
}

static void wherever_a_thread_is_stopped_its_stack_is_one_that_it_can_have(struct contract *c)
{
    struct strobe_config config;
    struct java_thread t[2];
    async_config(&config);
    config.async_interval_ns = MS / 4;
    config.interval_main_ns = config.interval_other_ns = MS / 4;
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)call_up);
    if (!capture_begin(c, &config, &k))
        return;
    for (int i = 0; i < 2; i++)
        java_thread_start(&t[i], c->art.vm, do_everything, "calls");
    for (int i = 0; i < 2; i++)
        java_thread_join(&t[i]);
    capture_end(&k);
    struct graph_tally g = graph_check(&k);
    CHECK(c, g.records >= 20 && g.stacks >= 3 && g.wrong == 0, "%llu records, %llu stacks, %llu wrong",
          (unsigned long long)g.records, (unsigned long long)g.stacks, (unsigned long long)g.wrong);
    capture_drop(&k);
}

/* ---- S-45 ---- */

static uint32_t ids[2];

static void calculate_and_report_id(struct strobe_jni *env, void *name)
{
    uint32_t tid;
    prctl(PR_SET_NAME, name);
    strobe_art_thread_ids(&strobe_art.runtime, &strobe_art.host.linux.host, strobe_art_current(&strobe_art.libart),
                          &ids[strcmp(name, "first") != 0], &tid);
    calculate(env, 25 * MS);
}

static void two_threads_with_one_id_are_two(struct contract *c)
{
    struct strobe_config config;
    struct java_thread t;
    async_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    java_thread_start(&t, c->art.vm, calculate_and_report_id, "first");
    java_thread_join(&t);
    uint64_t between = strobe_art_now();
    java_thread_start(&t, c->art.vm, calculate_and_report_id, "second");
    java_thread_join(&t);
    capture_end(&k);
    struct looked first = look("first", 0, between, NULL), second = look("second", between, 0, NULL);
    CHECK(c, ids[0] && ids[0] == ids[1], "ids %u and %u", ids[0], ids[1]);
    CHECK(c, first.thread != second.thread && first.samples >= 2 && second.samples >= 2,
          "threads %u and %u, of %d and %d samples", first.thread, second.thread, first.samples, second.samples);
    CHECK(c, look("first", between, 0, NULL).samples == 0 && look("second", 0, between, NULL).samples == 0,
          "samples of one are the other's");
    capture_drop(&k);
}

/* ---- S-46 ---- */

static atomic_int stalls_with; /* thread with which the sampler must stall */
static atomic_int stalls;      /* 1: the sampler must stall; 2: it stalls; 0: it must continue */

static enum strobe_walk_end stall(const struct strobe_host *host, const struct strobe_regs *regs,
                                  const struct strobe_window *stack, struct strobe_stack_top *top, uint64_t *frames_end,
                                  uint32_t max, uint32_t *count)
{
    int wanted = 1;
    if ((int)strobe_art.host.tid != stalls_with)
        return strobe_unwinder_art.stopped(host, regs, stack, top, frames_end, max, count);
    if (atomic_compare_exchange_strong(&stalls, &wanted, 2))
        while (stalls)
            workload_pause(5);
    return strobe_unwinder_art.stopped(host, regs, stack, top, frames_end, max, count);
}

static const struct strobe_unwinder stalling = {.stopped = stall};

static void count_turns(struct strobe_jni *env, void *turns)
{
    while (go_on) {
        calculate(env, MS);
        ++*(atomic_int *)turns;
    }
}

static void a_thread_goes_on_when_the_sampler_that_holds_it_does_not(struct contract *c)
{
    struct strobe_config config;
    struct java_thread t;
    static atomic_int turns;
    async_config(&config);
    go_on = 1;
    stalls = 0;
    if (!capture_begin(c, &config, &k))
        return;
    strobe_art.engine.unwinder = &stalling;
    java_thread_start(&t, c->art.vm, count_turns, &turns);
    stalls_with = t.tid;
    stalls = 1;
    for (int i = 0; i < 2000 && stalls != 2; i++)
        workload_pause(1);
    CHECK(c, stalls == 2, "it does not stall");
    workload_pause(50);
    int held = turns;
    workload_pause(100);
    CHECK(c, turns == held, "the thread is held: %d turns, then %d", held, (int)turns);
    workload_pause(STROBE_ART_WATCHDOG_NS / MS + 150);
    CHECK(c, turns > held, "the thread stands yet");
    stalls = 0;
    go_on = 0;
    java_thread_join(&t);
    strobe_art.engine.unwinder = &strobe_unwinder_art;
    capture_end(&k);
    uint64_t failed = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k.session); i++)
        failed += strobe_load_relaxed(&k.session.threads[i].account[STROBE_KIND_ASYNC].unwind_failed);
    CHECK(c, failed >= 1, "what was seen of it is not used");
    capture_drop(&k);
}

/* A thread that never leaves the engine may write into its capture's memory at any time. */
static void a_thread_that_stays_in_the_engine_keeps_the_session_open_and_no_other_capture_begins(struct contract *c)
{
    struct strobe_config config;
    struct strobe_error error = {""};
    struct strobe_session session;
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    capture_call(c, "alloc", "(I)V", 10);
    strobe_store_release(&strobe_art.engine.threads[0].inside, 1);
    strobe_art_stop();
    struct strobe_art_options o = {.session_path = k.path, .library = c->art.library_name, .api = c->art.api};
    enum strobe_status status = strobe_art_start(c->art.vm, &o, NULL, &error);
    CHECK(c, status == STROBE_EXISTS && strstr(error.text, "have not ended"), "%s: %s", strobe_status_text(status),
          error.text);
    if (CHECK(c, strobe_session_open(k.path, &session) == STROBE_OK, "%s", k.path)) {
        CHECK(c, strobe_load_relaxed(&session.header->state) == STROBE_SESSION_RUNNING, "the session is open");
        strobe_session_unmap(&session);
    }
    unlink(k.path);
}

const struct contract_case contract_cases_held[] = {
    {"what_takes_memory_while_a_thread_is_held_is_found_out", what_takes_memory_while_a_thread_is_held_is_found_out, 0},
    {"a_thread_that_ends_after_it_was_chosen_is_gone_and_no_harm",
     a_thread_that_ends_after_it_was_chosen_is_gone_and_no_harm, 0},
    {"threads_that_come_and_go_under_the_sampler_are_all_let_go",
     threads_that_come_and_go_under_the_sampler_are_all_let_go, 0},
    {"a_thread_that_stays_in_native_code_is_seen_there", a_thread_that_stays_in_native_code_is_seen_there, 0},
    {"a_thread_that_leaves_the_runtime_is_left_alone_until_it_comes_back",
     a_thread_that_leaves_the_runtime_is_left_alone_until_it_comes_back, 0},
    {"wherever_a_thread_is_stopped_its_stack_is_one_that_it_can_have",
     wherever_a_thread_is_stopped_its_stack_is_one_that_it_can_have, CONTRACT_HEAVY},
    {"two_threads_with_one_id_are_two", two_threads_with_one_id_are_two, 0},
    {"a_thread_goes_on_when_the_sampler_that_holds_it_does_not",
     a_thread_goes_on_when_the_sampler_that_holds_it_does_not, CONTRACT_HEAVY},
    {"a_thread_that_stays_in_the_engine_keeps_the_session_open_and_no_other_capture_begins",
     a_thread_that_stays_in_the_engine_keeps_the_session_open_and_no_other_capture_begins, CONTRACT_HEAVY},
    {0},
};
