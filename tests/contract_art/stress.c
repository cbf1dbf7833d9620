/* Stress. Twelve threads call all hooked functions at once, with the sampler on, while another thread collects garbage.
 * The session must be possible and complete, and must agree with independent counts. The case runs for one second, or
 * for STROBE_STRESS_SECONDS; it then also prints its figures. Other cases begin and end captures during permanent
 * allocations and collections. */
#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/hooks/events.h"
#include "tests/contract_art/support/graph.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    SECONDS = 1,
    JAVA_THREADS = 8,
    C_THREADS = 4,
    BRIEF_THREADS = 300,
    WORKERS = 3, /* threads of class Worker, which compute until the end; in a long play MORE_WORKERS */
    MORE_WORKERS = 15,
    WARM_PERCENT = 40,
    GROWTH_BYTES = 32 << 20, /* permitted variation of the garbage-collected heap and the C heap together */
    GRACE_SECONDS = 60,      /* time for all threads to end; a longer time is a hang */
};

static struct contract *the_case;
static atomic_int stop;
static int seconds, workers;
static strobe_jobject lock, parker;

/* ---- workloads in native code; Stress.smali has the others ---- */

static _Thread_local int within_native;

/* Main.sample. Main.deep and Square.area call it, and it calls managed code again. */
static void call_up(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class;
    if (within_native || what != 2)
        return;
    within_native = 1;
    java_static(env, "Main", "thrower", "(I)I", &(union strobe_jvalue){.i = 0});
    java_static(env, "Main", "a", "()V", NULL);
    within_native = 0;
}

static void call_virtually(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    while (!stop)
        java_static(env, "Main", "shapes", "()V", NULL);
}

static void park_and_wait(struct strobe_jni *env, void *name)
{
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    prctl(PR_SET_NAME, name);
    while (!stop) {
        java_virtual(env, unsafe, "park", "(ZJ)V", (union strobe_jvalue[]){{.z = 0}, {.j = 2000000}});
        java_enter(env, lock);
        java_wait(env, lock, 2);
        java_exit(env, lock);
    }
}

static void unpark_and_notify(struct strobe_jni *env, void *name)
{
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    prctl(PR_SET_NAME, name);
    while (!stop) {
        java_virtual(env, unsafe, "unpark", "(Ljava/lang/Object;)V", &(union strobe_jvalue){.l = parker});
        java_enter(env, lock);
        java_notify(env, lock, true);
        java_exit(env, lock);
        workload_pause(1);
    }
}

static atomic_int miscounted, counted;

/* Checks that every allocation of a thread is counted, regardless of the other threads. */
static void allocate_and_end(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = 1});
    struct strobe_thread *t = strobe_local.thread;
    uint64_t before = t ? strobe_load_relaxed(&t->entry->alloc_count) : 0;
    java_static(env, "Main", "alloc", "(I)V", &(union strobe_jvalue){.i = 50});
    uint64_t made = t ? strobe_load_relaxed(&t->entry->alloc_count) - before : 100;
    counted++;
    miscounted += made != 100;
}

static void begin_others(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    for (int i = 0; !stop; i++) {
        struct java_thread t;
        java_thread_start(&t, the_case->art.vm, allocate_and_end, "brief");
        java_thread_join(&t);
        if (i % (BRIEF_THREADS / workers) == 0) {
            strobe_jobject worker =
                java_static(env, "Main", "spawn", "(I)Ljava/lang/Thread;", &(union strobe_jvalue){.i = 0}).l;
            java_drop(env, java_global(env, worker));
        }
        workload_pause((unsigned)(seconds * 1000 / BRIEF_THREADS));
    }
}

/* ---- the runtime's own count: MonitorCallback ---- */

static atomic_ulong wait_begins, wait_ends, contended, entered;

static void on_contended(void *l, void *monitor)
{
    (void)l, (void)monitor, contended++;
}
static void on_entered(void *l, void *monitor)
{
    (void)l, (void)monitor, entered++;
}
static void on_wait(void *l, void *object, int64_t ms)
{
    (void)l, (void)object, (void)ms, wait_begins++;
}
static void on_waited(void *l, void *monitor, bool timed_out)
{
    (void)l, (void)monitor, (void)timed_out, wait_ends++;
}
static void keep(void *l)
{
    (void)l;
}

static void *const vtable[] = {(void *)on_contended, (void *)on_entered, (void *)on_wait,
                               (void *)on_waited,    (void *)keep,       (void *)keep};
static struct {
    void *const *vtable;
} listener = {vtable};

static bool call_callbacks(const struct contract *c, enum strobe_art_symbol what)
{
    void *callbacks = strobe_art.runtime.callbacks;
    if (!callbacks || !c->libart.address[what])
        return false;
    ((void (*)(void *, void *))(uintptr_t)c->libart.address[what])(callbacks, &listener);
    return true;
}

/* ---- memory ---- */

static size_t resident_now(void)
{
    unsigned long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the minimum of several measurements, because the size of a heap varies between collections. */
static size_t resident_bytes(struct contract *c)
{
    size_t least = SIZE_MAX;
    for (int i = 0; i < 4; i++) {
        contract_collect(c);
        size_t now = resident_now();
        least = now < least ? now : least;
    }
    return least;
}

/* ---- all threads ---- */

struct play {
    strobe_jobject java[JAVA_THREADS];
    struct java_thread native[C_THREADS];
    size_t warm_bytes, end_bytes;
};

static void begin_play(struct contract *c, struct play *p)
{
    static const int modes[JAVA_THREADS] = {0, 1, 1, 2, 3, 4, 5, 6};
    static void (*const parts[C_THREADS])(struct strobe_jni *, void *) = {park_and_wait, unpark_and_notify,
                                                                          call_virtually, begin_others};
    static char names[C_THREADS][16] = {"parks", "unparks", "shapes", "begins"};
    for (int i = 0; i < JAVA_THREADS; i++)
        p->java[i] =
            java_static(c->art.env, "Stress", "go", "(I)Ljava/lang/Thread;", &(union strobe_jvalue){.i = modes[i]}).l;
    for (int i = 0; i < C_THREADS; i++) {
        java_thread_start(&p->native[i], c->art.vm, parts[i], names[i]);
        if (i == 0)
            parker = p->native[0].peer;
    }
}

/* Collects on the main thread for `ms`. A collection may take long, because it stops many threads. */
static void go_on(struct contract *c, int ms)
{
    uint64_t end = strobe_art_now() + (uint64_t)ms * 1000000;
    while (strobe_art_now() < end) {
        contract_collect(c);
        workload_pause(50);
    }
}

static void end_play(struct contract *c, struct play *p)
{
    stop = 1;
    workload_set_bool(c->art.env, "Main", "stop", true);
    for (int i = 0; i < JAVA_THREADS; i++)
        java_virtual(c->art.env, p->java[i], "join", "()V", NULL);
    for (int i = 0; i < C_THREADS; i++)
        java_thread_join(&p->native[i]);
}

/* ---- checks of the session ---- */

struct wakes {
    const struct capture *k;
    uint64_t named, odd;
};

static void look_at_wake(void *ctx, const struct strobe_record *r)
{
    struct wakes *w = ctx;
    if (r->kind != STROBE_KIND_WAKE || !r->cpu_span_ns)
        return;
    w->named++;
    w->odd += r->cpu_span_ns - 1 == r->thread || r->cpu_span_ns > strobe_session_thread_count(&w->k->session);
}

static uint64_t reentrant(const struct capture *k)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++)
        for (int kind = 0; kind < STROBE_KIND_COUNT; kind++)
            n += strobe_load_relaxed(&k->session.threads[i].account[kind].reentrant);
    return n;
}

static void print_figures(const struct capture *k, const struct play *p, const struct graph_tally *g,
                          const struct wakes *w)
{
    const struct strobe_session_header *h = k->session.header;
    for (int kind = 1; kind < STROBE_KIND_COUNT; kind++) {
        uint64_t sampled = 0;
        for (uint32_t i = 0; i < strobe_session_thread_count(&k->session); i++)
            sampled += strobe_load_relaxed(&k->session.threads[i].account[kind].sampled);
        if (capture_requests(k, (enum strobe_kind)kind))
            printf("%-8s %12llu events %9llu samples\n", strobe_kind_name((unsigned)kind),
                   (unsigned long long)capture_requests(k, (enum strobe_kind)kind), (unsigned long long)sampled);
    }
    printf("%llu suspends, %llu late, %llu gone, %llu moved; %llu untracked, %llu re-entrant events; %u threads\n",
           (unsigned long long)h->suspends, (unsigned long long)h->suspend_late, (unsigned long long)h->suspend_gone,
           (unsigned long long)h->suspend_moved, (unsigned long long)h->events_untracked,
           (unsigned long long)reentrant(k), strobe_session_thread_count(&k->session));
    printf("%llu records of %llu stacks checked, %llu cut, %llu wrong; %llu wakers, %llu odd; %d brief threads\n",
           (unsigned long long)g->records, (unsigned long long)g->stacks, (unsigned long long)g->cut,
           (unsigned long long)g->wrong, (unsigned long long)w->named, (unsigned long long)w->odd, counted);
    printf("resident: %zu KiB when warm, %zu KiB at the end\n", p->warm_bytes >> 10, p->end_bytes >> 10);
}

static void stress_config(struct strobe_config *config)
{
    capture_config(config);
    config->interval_main_ns = config->interval_other_ns = 200000;
    config->async_interval_ns = 1000000;
    config->threads_max = 2 * BRIEF_THREADS;
}

static void check_session(struct contract *c, struct capture *k, const struct play *p, bool with_callbacks)
{
    uint64_t untracked = k->session.header->events_untracked, waits = capture_requests(k, STROBE_KIND_COND);
    struct graph_tally g = graph_check(k);
    struct wakes w = {.k = k};
    capture_visit(k, look_at_wake, &w);
    if (getenv("STROBE_STRESS_SECONDS"))
        print_figures(k, p, &g, &w);
    CHECK(c, g.records >= 500 && g.wrong == 0, "%llu of %llu stacks are wrong", (unsigned long long)g.wrong,
          (unsigned long long)g.stacks);
    CHECK(c, w.odd == 0, "%llu of %llu wakers woke themselves, or are nobody", (unsigned long long)w.odd,
          (unsigned long long)w.named);
    CHECK(c, k->session.header->suspends > 0, "nobody was suspended");
    CHECK(c, miscounted == 0 || !capture_has(k, STROBE_ART_ALLOC), "allocations of %d of %d threads are miscounted",
          miscounted, counted);
    CHECK(c, p->end_bytes <= p->warm_bytes + GROWTH_BYTES, "%zu KiB, then %zu KiB", p->warm_bytes >> 10,
          p->end_bytes >> 10);
    if (!with_callbacks)
        return;
    CHECK(c, contended == entered && wait_begins == wait_ends, "by the runtime: %lu of %lu entries, %lu of %lu waits",
          entered, contended, wait_ends, wait_begins);
    CHECK(c, waits <= wait_begins && waits + untracked >= wait_begins, "%llu waits, %lu by the runtime's own count",
          (unsigned long long)waits, wait_begins);
}

static void twelve_threads_at_all_hooks_leave_no_wrong_stack(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    struct play p;
    const char *text = getenv("STROBE_STRESS_SECONDS");
    seconds = text ? atoi(text) : SECONDS;
    workers = text ? MORE_WORKERS : WORKERS;
    alarm((unsigned)seconds + GRACE_SECONDS);
    the_case = c;
    lock = java_new(c->art.env, "java/lang/Object");
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)call_up);
    stress_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    bool with_callbacks = call_callbacks(c, STROBE_ART_ADD_MONITOR_CALLBACK);
    begin_play(c, &p);
    go_on(c, seconds * 10 * WARM_PERCENT);
    p.warm_bytes = resident_bytes(c);
    go_on(c, seconds * 10 * (100 - WARM_PERCENT));
    p.end_bytes = resident_bytes(c);
    end_play(c, &p);
    if (with_callbacks)
        call_callbacks(c, STROBE_ART_REMOVE_MONITOR_CALLBACK);
    capture_end(&k);
    check_session(c, &k, &p, with_callbacks);
    capture_drop(&k);
}

/* ---- captures amid collections ---- */

enum { ALLOCATORS = 3, CAPTURES = 10, CAPTURE_MS = 20 };

static void collect_without_rest(struct strobe_jni *env, void *name)
{
    (void)env, (void)name;
    while (!stop)
        contract_collect(the_case);
}

static void captures_begin_and_end_amid_allocations_and_collections(struct contract *c)
{
    struct strobe_config config;
    struct java_thread collector;
    strobe_jobject thread[ALLOCATORS];
    int seen = 0;
    the_case = c;
    capture_config(&config);
    config.interval_main_ns = config.interval_other_ns = config.async_interval_ns = 1000000;
    for (int i = 0; i < ALLOCATORS; i++)
        thread[i] = java_static(c->art.env, "Stress", "go", "(I)Ljava/lang/Thread;", &(union strobe_jvalue){.i = 2}).l;
    java_thread_start(&collector, c->art.vm, collect_without_rest, NULL);
    for (int i = 0; i < CAPTURES; i++) {
        struct capture k;
        if (!capture_begin(c, &config, &k))
            break;
        workload_pause(CAPTURE_MS);
        capture_end(&k);
        seen += capture_requests(&k, STROBE_KIND_ALLOC) > 0 || !capture_has(&k, STROBE_ART_ALLOC);
        capture_drop(&k);
    }
    CHECK(c, seen >= CAPTURES / 2, "%d of %d captures have allocations", seen, CAPTURES); /* in some none ran */
    stop = 1;
    java_thread_join(&collector);
    workload_set_bool(c->art.env, "Main", "stop", true);
    for (int i = 0; i < ALLOCATORS; i++)
        java_virtual(c->art.env, thread[i], "join", "()V", NULL);
}

static void (*real_reset)(void *, bool);
static atomic_int resets, unsafe_resets;

static void on_reset(void *thread, bool is_marking)
{
    resets++;
    unsafe_resets += !is_marking;
    real_reset(thread, is_marking);
}

/* No collection runs here, because a collection would select the entry points itself. */
static void threads_take_entry_points_that_are_right_while_a_collector_marks(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    void *handle, *reset = (void *)(uintptr_t)c->libart.address[STROBE_ART_RESET_ALLOC_ENTRYPOINTS];
    if (c->libart.shape[STROBE_ART_RESET_ALLOC_ENTRYPOINTS] != STROBE_ART_SHAPE_MORE_FLAGS ||
        strobe_detours.install(strobe_detours.ctx, reset, (void *)on_reset, (void **)&real_reset, &handle) != 0)
        return;
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    capture_end(&k);
    CHECK(c, resets > 0 || !capture_has(&k, STROBE_ART_ALLOC), "nobody took any");
    CHECK(c, unsafe_resets == 0, "%d of %d are not", unsafe_resets, resets);
    capture_drop(&k);
}

const struct contract_case contract_cases_stress[] = {
    {"threads_take_entry_points_that_are_right_while_a_collector_marks",
     threads_take_entry_points_that_are_right_while_a_collector_marks, 0},
    {"captures_begin_and_end_amid_allocations_and_collections", captures_begin_and_end_amid_allocations_and_collections,
     CONTRACT_HEAVY},
    {"twelve_threads_at_all_hooks_leave_no_wrong_stack", twelve_threads_at_all_hooks_leave_no_wrong_stack,
     CONTRACT_HEAVY},
    {0},
};
