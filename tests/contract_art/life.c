/* Life cycle of captures: refused, begun, ended and begun again, while threads start, end, overflow their stacks and
 * throw exceptions. */
#include "engine/base/error.h"
#include "tests/contract_art/support/capture.h"
#include "tests/contract_art/support/java.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200, BUSY_SAMPLES = 20 };

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static void *starts_unattached(void *p)
{
    struct contract *c = p;
    struct strobe_error error;
    struct strobe_art_options o = {.session_path = "/nonexistent", .library = c->art.library_name, .api = c->art.api};
    enum strobe_status status = strobe_art_start(c->art.vm, &o, NULL, &error);
    CHECK(c, status == STROBE_UNSUPPORTED, "%s", strobe_status_text(status));
    return NULL;
}

static void a_start_that_is_refused_changes_nothing(struct contract *c)
{
    struct strobe_error error;
    uint64_t before = capture_code_sum(c);
    pthread_t unattached;
    struct strobe_art_options o = {.session_path = "/nonexistent", .library = c->art.library_name, .api = c->art.api};
    enum strobe_status status = strobe_art_start(c->art.vm, &o, NULL, &error);
    CHECK(c, status == STROBE_IO && strstr(error.text, "/nonexistent"), "%s: %s", strobe_status_text(status),
          error.text);
    o.api = 99;
    status = strobe_art_start(c->art.vm, &o, NULL, &error);
    CHECK(c, status == STROBE_UNSUPPORTED && strstr(error.text, "99"), "%s: %s", strobe_status_text(status),
          error.text);
    o.library = "libnone.so";
    o.api = c->art.api;
    status = strobe_art_start(c->art.vm, &o, NULL, &error);
    CHECK(c, status == STROBE_NO_ENTRY && strstr(error.text, "libnone.so"), "%s: %s", strobe_status_text(status),
          error.text);
    pthread_create(&unattached, NULL, starts_unattached, c);
    pthread_join(unattached, NULL);
    CHECK(c, capture_code_sum(c) == before, "the runtime's code is as it was");
    strobe_art_stop();
}

static void the_end_leaves_the_runtime_as_it_was_found_and_another_can_begin(struct contract *c)
{
    struct strobe_config config;
    uint64_t before = capture_code_sum(c);
    capture_config(&config);
    config.async_interval_ns = 1000000;
    for (int i = 0; i < 3; i++) {
        struct capture k;
        struct strobe_error error;
        if (!capture_begin(c, &config, &k))
            return;
        struct strobe_art_options o = {.session_path = k.path, .library = c->art.library_name, .api = c->art.api};
        CHECK(c, strobe_art_start(c->art.vm, &o, NULL, &error) == STROBE_EXISTS, "one at a time: %s", error.text);
        CHECK(c, capture_code_sum(c) != before, "hooks are in place");
        capture_call(c, "alloc", "(I)V", 1000);
        capture_end(&k);
        CHECK(c, capture_code_sum(c) == before, "the runtime's code is as it was, %d", i);
        CHECK(c, capture_requests(&k, STROBE_KIND_ALLOC) >= 2000 || !capture_has(&k, STROBE_ART_ALLOC),
              "%llu allocations", (unsigned long long)capture_requests(&k, STROBE_KIND_ALLOC));
        capture_drop(&k);
    }
}

/* ---- overflow and exceptions ---- */

static void call_static(struct contract *c, const char *class, const char *name, const char *signature, int32_t i)
{
    java_static(strobe_jvm_env(c->art.vm), class, name, signature, (union strobe_jvalue[]){{.i = i}});
}

static void stacks_that_overflow_are_survived_with_every_event_a_sample(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    for (int i = 0; i < 20; i++)
        call_static(c, "Stress", "overflowCaught", "()V", 0);
    capture_end(&k);
    uint64_t events = capture_requests(&k, STROBE_KIND_ALLOC) + k.session.header->events_untracked;
    CHECK(c, events >= 20 || !capture_has(&k, STROBE_ART_ALLOC), "an error for each is allocated: %llu",
          (unsigned long long)events);
    capture_drop(&k);
}

static void exceptions_pass_hooks_unharmed(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    struct strobe_jni *env = c->art.env;
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        union strobe_jvalue v = java_static(env, "Main", "thrower", "(I)I", (union strobe_jvalue[]){{.i = 0}});
        CHECK(c, v.i == -7, "caught in Java: %d", v.i);
        java_static(env, "Main", "npe", "(Ljava/lang/String;)I", (union strobe_jvalue[]){{.l = NULL}});
        CHECK(c, java_thrown(env, "java/lang/NullPointerException"), "thrown to the caller");
    }
    capture_end(&k);
    CHECK(c, capture_requests(&k, STROBE_KIND_ALLOC) >= 2 * ROUNDS || !capture_has(&k, STROBE_ART_ALLOC),
          "an exception for each is allocated");
    capture_drop(&k);
}

/* ---- threads ---- */

static void allocates(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    java_static(env, "Main", "alloc", "(I)V", (union strobe_jvalue[]){{.i = 100}});
}

static void *attaches_twice(void *p)
{
    struct contract *c = p;
    for (int i = 0; i < 2; i++) {
        struct strobe_jni *env;
        struct strobe_jvm_attach how = {STROBE_JNI_VERSION, "twice", NULL};
        ((int32_t(*)(struct strobe_jvm *, struct strobe_jni **, void *))(uintptr_t)strobe_jvm_at(
            c->art.vm, STROBE_JVM_ATTACH))(c->art.vm, &env, &how);
        allocates(env, "twice");
        ((int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(c->art.vm, STROBE_JVM_DETACH))(c->art.vm);
    }
    return NULL;
}

static void threads_that_come_and_go_are_each_seen_once(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    static char names[8][16];
    for (int i = 0; i < 8; i++) {
        struct java_thread t;
        snprintf(names[i], sizeof names[i], "short%d", i % 8);
        java_thread_start(&t, c->art.vm, allocates, names[i]);
        java_thread_join(&t);
    }
    pthread_t twice;
    pthread_create(&twice, NULL, attaches_twice, c);
    pthread_join(twice, NULL);
    capture_end(&k);
    for (int i = 0; i < 9; i++) {
        const char *name = i < 8 ? names[i] : "twice";
        uint32_t t = capture_thread(&k, name);
        if (!CHECK(c, t != UINT32_MAX, "no thread %s", name))
            continue;
        struct strobe_thread_entry *e = &k.session.threads[t];
        CHECK(c, strobe_load_relaxed(&e->state) == STROBE_THREAD_ENDED && e->end_ticks > e->start_ticks, "%s ended",
              name);
        CHECK(c, strobe_account_requests(&e->account[STROBE_KIND_THREAD]) == (i < 8 ? 2 : 4), "%s: begin and end",
              name);
        CHECK(c, e->alloc_count >= (i < 8 ? 200 : 400) || !capture_has(&k, STROBE_ART_ALLOC), "%s allocates %llu times",
              name, (unsigned long long)e->alloc_count);
    }
    CHECK(c, strobe_session_thread_count(&k.session) <= 16, "%u threads in all",
          strobe_session_thread_count(&k.session));
    capture_drop(&k);
}

static void a_thread_that_lives_on_has_the_name_it_had_at_the_end(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    prctl(PR_SET_NAME, "first");
    if (!capture_begin(c, &config, &k))
        return;
    capture_call(c, "deep", "(I)V", 3);
    prctl(PR_SET_NAME, "later");
    capture_end(&k);
    CHECK(c, capture_thread(&k, "later") != UINT32_MAX && capture_thread(&k, "first") == UINT32_MAX,
          "%u threads, one of them called later", strobe_session_thread_count(&k.session));
    capture_drop(&k);
}

/* ---- the sampler ---- */

static _Atomic bool calculates_on;
static _Atomic uint32_t calculating_tid;

static void calculates(struct strobe_jni *env, void *name)
{
    prctl(PR_SET_NAME, name);
    calculating_tid = (uint32_t)gettid();
    do
        java_static(env, "Main", "busy", "(I)I", (union strobe_jvalue[]){{.i = 1000000}});
    while (calculates_on);
}

/* Lets the thread calculate until it has been sampled so often. */
static void end_when_sampled(const struct capture *k, struct java_thread *t)
{
    while (capture_count_async(k, calculating_tid) < BUSY_SAMPLES)
        pause_ms(1);
    calculates_on = false;
    java_thread_join(t);
}

struct async {
    const struct capture *k;
    uint32_t thread;
    int samples, in_busy;
};

static void count_async(void *ctx, const struct strobe_record *r)
{
    struct async *a = ctx;
    if (r->kind != STROBE_KIND_ASYNC || r->thread != a->thread)
        return;
    a->samples += (int)r->count;
    if (!strcmp(capture_frame(a->k, r->stack, 0), "int Main.busy(int)"))
        a->in_busy += (int)r->count;
}

static void a_thread_that_calculates_is_sampled_though_it_meets_no_hook(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    struct java_thread t;
    capture_config(&config);
    config.async_interval_ns = 2000000;
    config.interval_other_ns = 1000000;
    if (!capture_begin(c, &config, &k))
        return;
    calculates_on = true;
    java_thread_start(&t, c->art.vm, calculates, "busy");
    end_when_sampled(&k, &t);
    capture_end(&k);
    struct async a = {&k, capture_thread(&k, "busy"), 0, 0};
    capture_visit(&k, count_async, &a);
    CHECK(c, a.samples >= BUSY_SAMPLES && a.in_busy >= a.samples * 9 / 10, "%d samples, %d of them in Main.busy",
          a.samples, a.in_busy);
    capture_drop(&k);
}

/* Returns the id of the thread of this process with the name; 0: there is none. */
static long find_own_thread(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    long found = 0;
    for (struct dirent *e; tasks && !found && (e = readdir(tasks));) {
        char path[sizeof "/proc/self/task//comm" + sizeof e->d_name], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *in = fopen(path, "r");
        if (in && fgets(comm, sizeof comm, in)) {
            comm[strcspn(comm, "\n")] = '\0';
            found = strcmp(comm, name) == 0 ? strtol(e->d_name, NULL, 10) : 0;
        }
        if (in)
            fclose(in);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* An app may set any niceness; here the limit may forbid it. */
static void the_sampler_goes_before_the_threads_of_the_app(struct contract *c)
{
    enum { TRIES = 1000, NICEST = -20 };
    struct strobe_config config;
    struct capture k;
    struct rlimit limit = {0, 0};
    capture_config(&config);
    config.async_interval_ns = 2000000;
    if (!capture_begin(c, &config, &k))
        return;
    getrlimit(RLIMIT_NICE, &limit);
    bool allowed = geteuid() == 0 || limit.rlim_cur >= 20 - NICEST;
    long tid = 0;
    int nice = 0;
    for (int i = 0; i < TRIES && (!tid || (allowed && nice != NICEST)); i++) {
        tid = find_own_thread("strobe-sampler");
        nice = tid ? getpriority(PRIO_PROCESS, (id_t)tid) : 0;
        pause_ms(1);
    }
    CHECK(c, tid && nice == (allowed ? NICEST : getpriority(PRIO_PROCESS, 0)), "thread %ld of niceness %d", tid, nice);
    capture_end(&k);
    capture_drop(&k);
}

/* The thread runs already when the capture begins, and calls no hooked function. */
static void a_thread_from_before_is_found(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    struct java_thread t;
    capture_config(&config);
    config.async_interval_ns = 2000000;
    calculates_on = true;
    java_thread_start(&t, c->art.vm, calculates, "before");
    pause_ms(20);
    if (!capture_begin(c, &config, &k))
        return;
    end_when_sampled(&k, &t);
    capture_end(&k);
    CHECK(c, capture_thread(&k, "before") != UINT32_MAX, "no thread of that name");
    CHECK(c, capture_thread(&k, "strobe-sampler") == UINT32_MAX, "the engine's own is left out");
    capture_drop(&k);
}

const struct contract_case contract_cases_life[] = {
    {"a_start_that_is_refused_changes_nothing", a_start_that_is_refused_changes_nothing, 0},
    {"the_end_leaves_the_runtime_as_it_was_found_and_another_can_begin",
     the_end_leaves_the_runtime_as_it_was_found_and_another_can_begin, 0},
    {"stacks_that_overflow_are_survived_with_every_event_a_sample",
     stacks_that_overflow_are_survived_with_every_event_a_sample, 0},
    {"exceptions_pass_hooks_unharmed", exceptions_pass_hooks_unharmed, 0},
    {"threads_that_come_and_go_are_each_seen_once", threads_that_come_and_go_are_each_seen_once, 0},
    {"a_thread_that_lives_on_has_the_name_it_had_at_the_end", a_thread_that_lives_on_has_the_name_it_had_at_the_end, 0},
    {"a_thread_that_calculates_is_sampled_though_it_meets_no_hook",
     a_thread_that_calculates_is_sampled_though_it_meets_no_hook, CONTRACT_HEAVY},
    {"the_sampler_goes_before_the_threads_of_the_app", the_sampler_goes_before_the_threads_of_the_app, 0},
    {"a_thread_from_before_is_found", a_thread_from_before_is_found, CONTRACT_HEAVY},
    {0},
};
