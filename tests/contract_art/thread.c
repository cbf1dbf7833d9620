/* Threads: start and end, the runtime's callbacks, thread ids, and rare events that fakes can force. */
#include "engine/base/error.h"
#include "sim/genuine/jni_calls.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, PATIENCE_MS = 10000 };

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint32_t thin_lock_id(const struct strobe_art_runtime *r, const void *thread)
{
    uint32_t id;
    memcpy(&id, (const char *)thread + r->thread_ids_offset, sizeof id);
    return id;
}

/* ---- attaching ---- */

static int32_t attach(struct contract *c, struct strobe_jni **env, const char *name)
{
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, name, NULL};
    return ((int32_t(*)(struct strobe_jvm *, struct strobe_jni **, void *))(uintptr_t)strobe_jvm_at(
        c->art.vm, STROBE_JVM_ATTACH))(c->art.vm, env, &how);
}

static void detach(struct contract *c)
{
    ((int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(c->art.vm, STROBE_JVM_DETACH))(c->art.vm);
}

static void *attaches_and_detaches(void *arg)
{
    struct contract *c = arg;
    struct strobe_jni *env = NULL, *again = NULL;
    for (int round = 0; round < 3; round++) {
        CHECK(c, !strobe_art_current(&c->libart), "round %d: before", round);
        CHECK(c, !strobe_jvm_env(c->art.vm), "round %d: an environment before", round);
        if (!CHECK(c, attach(c, &env, "guest") == STROBE_JNI_OK && env, "round %d", round))
            break;
        const void *thread = strobe_art_current(&c->libart);
        CHECK(c, thread && thread == ((void **)(void *)env)[1], "round %d: %p", round, thread);
        CHECK(c, strobe_jvm_env(c->art.vm) == env, "round %d: another environment", round);
        CHECK(c, attach(c, &again, "guest") == STROBE_JNI_OK && again == env, "round %d: attached twice", round);
        detach(c);
    }
    CHECK(c, !strobe_art_current(&c->libart), "after");
    return NULL;
}

static void a_thread_is_the_current_one_from_attaching_to_detaching(struct contract *c)
{
    pthread_t thread;
    CHECK(c, pthread_create(&thread, NULL, attaches_and_detaches, c) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void *has_a_name(void *arg)
{
    struct contract *c = arg;
    struct strobe_jni *env;
    char name[32] = "";
    attach(c, &env, "strobe guest");
    pthread_getname_np(pthread_self(), name, sizeof name);
    CHECK(c, !strcmp(name, "strobe guest"), "\"%s\"", name);
    detach(c);
    return NULL;
}

static void an_attached_threads_name_is_the_kernels_too(struct contract *c)
{
    pthread_t thread;
    CHECK(c, pthread_create(&thread, NULL, has_a_name, c) == 0, "no thread");
    pthread_join(thread, NULL);
}

struct guest {
    struct contract *c;
    struct strobe_art_runtime *r;
    _Atomic bool go;
    _Atomic(void *) thread;
    uint32_t id;
};

static void report_own_id(struct strobe_jni *env, void *arg)
{
    struct guest *g = arg;
    (void)env;
    g->id = thin_lock_id(g->r, strobe_art_current(&g->c->libart));
    g->thread = strobe_art_current(&g->c->libart);
    while (!g->go)
        usleep(500);
}

static void start_guest(struct guest *g, struct java_thread *t, struct contract *c, struct strobe_art_runtime *r)
{
    *g = (struct guest){.c = c, .r = r};
    java_thread_start(t, c->art.vm, report_own_id, g);
    while (!g->thread)
        usleep(200);
}

static void the_lowest_free_id_is_given_again(struct contract *c)
{
    struct strobe_art_runtime r = workload_runtime(c);
    struct guest a, b, again;
    struct java_thread ta, tb, tagain;
    start_guest(&a, &ta, c, &r);
    start_guest(&b, &tb, c, &r);
    CHECK(c, a.id < b.id, "%u, then %u", a.id, b.id);
    a.go = true;
    java_thread_join(&ta);
    start_guest(&again, &tagain, c, &r);
    CHECK(c, again.id == a.id, "%u, which had been %u's", again.id, a.id);
    again.go = b.go = true;
    java_thread_join(&tb);
    java_thread_join(&tagain);
}

static void count(void *thread, void *ctx)
{
    (void)thread;
    ++*(int *)ctx;
}

static int threads(struct contract *c, const struct strobe_art_runtime *r)
{
    int n = 0;
    ((void (*)(void *, void (*)(void *, void *), void *))(uintptr_t)c->libart.address[STROBE_ART_FOR_EACH])(
        r->thread_list, count, &n);
    return n;
}

static void each_thread_is_on_the_list_once(struct contract *c)
{
    struct strobe_art_runtime r = workload_runtime(c);
    struct guest g[3];
    struct java_thread t[3];
    if (!c->libart.address[STROBE_ART_FOR_EACH])
        contract_skip(c, "ThreadList::ForEach is not exported");
    int before = threads(c, &r);
    for (int i = 0; i < 3; i++)
        start_guest(&g[i], &t[i], c, &r);
    CHECK(c, threads(c, &r) == before + 3, "%d, then %d", before, threads(c, &r));
    for (int i = 0; i < 3; i++) {
        g[i].go = true;
        java_thread_join(&t[i]);
    }
    CHECK(c, threads(c, &r) == before, "%d, after all %d", before, threads(c, &r));
}

/* ---- callbacks ---- */

enum life_event { START = 1, DEATH };

/* art::ThreadLifecycleCallback: two destructors, ThreadStart(Thread *), ThreadDeath(Thread *). */
static struct lifecycle {
    void (*const *vtable)(void);
    struct contract *c;
    _Atomic int taken, count; /* of events: entries reserved, entries written */
    struct {
        enum life_event what;
        void *thread;
        bool by_itself;
        uint32_t tid;
    } event[EVENTS_MAX];
    _Atomic int stay_ms; /* time in ThreadStart, in which the thread is RUNNABLE and reaches no suspension point */
    _Atomic(void *) stays;
} lifecycle;

static void record_event(struct lifecycle *l, enum life_event what, void *thread)
{
    int i = atomic_fetch_add(&l->taken, 1);
    if (i >= EVENTS_MAX)
        return;
    l->event[i].what = what;
    l->event[i].thread = thread;
    l->event[i].by_itself = strobe_art_current(&l->c->libart) == thread;
    l->event[i].tid = (uint32_t)gettid();
    l->count++;
}

static void no_destructor(struct lifecycle *l)
{
    (void)l;
}

static void thread_start(struct lifecycle *l, void *thread)
{
    record_event(l, START, thread);
    int64_t until = now_ms() + l->stay_ms;
    l->stays = thread;
    while (now_ms() < until)
        ;
    l->stays = NULL;
}

static void thread_death(struct lifecycle *l, void *thread)
{
    record_event(l, DEATH, thread);
}

static void (*const lifecycle_calls[])(void) = {
    (void (*)(void))no_destructor,
    (void (*)(void))no_destructor,
    (void (*)(void))thread_start,
    (void (*)(void))thread_death,
};

static void call_callbacks(struct contract *c, enum strobe_art_symbol s)
{
    ((void (*)(void *, void *))(uintptr_t)c->libart.address[s])(workload_runtime(c).callbacks, &lifecycle);
}

static bool listen(struct contract *c)
{
    lifecycle.vtable = lifecycle_calls;
    lifecycle.c = c;
    if (!c->libart.address[STROBE_ART_ADD_THREAD_CALLBACK]) {
        CHECK(c, c->art.api < 26, "level %d has no callbacks", c->art.api);
        return false;
    }
    call_callbacks(c, STROBE_ART_ADD_THREAD_CALLBACK);
    return true;
}

static void check_event(struct contract *c, int i, enum life_event what, const void *thread, uint32_t tid)
{
    CHECK(c, i < lifecycle.count && lifecycle.event[i].what == what, "%d of %d: %d", i, lifecycle.count,
          lifecycle.event[i].what);
    CHECK(c, lifecycle.event[i].thread == thread && lifecycle.event[i].by_itself, "%d: another thread's", i);
    CHECK(c, lifecycle.event[i].tid == tid, "%d: by %u, not %u", i, lifecycle.event[i].tid, tid);
}

static void callbacks_report_a_threads_start_and_death_on_that_thread(struct contract *c)
{
    struct strobe_art_runtime r = workload_runtime(c);
    struct guest a, b;
    struct java_thread ta, tb;
    if (!listen(c))
        return;
    start_guest(&a, &ta, c, &r);
    CHECK(c, lifecycle.count == 1, "%d events", lifecycle.count);
    start_guest(&b, &tb, c, &r);
    void *first = a.thread, *second = b.thread;
    b.go = true;
    java_thread_join(&tb);
    a.go = true;
    java_thread_join(&ta);
    CHECK(c, lifecycle.count == 4, "%d events", lifecycle.count);
    check_event(c, 0, START, first, (uint32_t)ta.tid);
    check_event(c, 1, START, second, (uint32_t)tb.tid);
    check_event(c, 2, DEATH, second, (uint32_t)tb.tid);
    check_event(c, 3, DEATH, first, (uint32_t)ta.tid);
    call_callbacks(c, STROBE_ART_REMOVE_THREAD_CALLBACK);
    start_guest(&a, &ta, c, &r);
    a.go = true;
    java_thread_join(&ta);
    CHECK(c, lifecycle.count == 4, "%d events after removal", lifecycle.count);
}

/* Returns a new Worker, which runs from its start until Main.stop is set. */
static strobe_jobject new_worker(struct strobe_jni *env)
{
    strobe_jclass class = strobe_jni_find_class(env, "Worker");
    return java_global(
        env, sim_jni_new(env, class, strobe_jni_method(env, class, "<init>", "(I)V"), &(union strobe_jvalue){.i = 0}));
}

static int64_t native_peer(struct strobe_jni *env, strobe_jobject thread)
{
    strobe_jclass class = strobe_jni_find_class(env, "java/lang/Thread");
    void *field = ((void *(*)(struct strobe_jni *, strobe_jclass, const char *, const char *))(uintptr_t)strobe_jni_at(
        env, STROBE_JNI_GET_FIELD_ID))(env, class, "nativePeer", "J");
    return ((int64_t(*)(struct strobe_jni *, strobe_jobject, void *))(uintptr_t)strobe_jni_at(
        env, STROBE_JNI_GET_LONG_FIELD))(env, thread, field);
}

static void a_thread_that_java_starts_is_its_peers_until_it_ends(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    strobe_jobject worker = new_worker(env);
    bool listening = listen(c);
    CHECK(c, !native_peer(env, worker), "before its start");
    java_virtual(env, worker, "start", "()V", NULL);
    int64_t thread = native_peer(env, worker);
    CHECK(c, thread, "started, and without a thread");
    workload_set_bool(env, "Main", "stop", true);
    int64_t until = now_ms() + PATIENCE_MS;
    while (native_peer(env, worker) && now_ms() < until)
        usleep(1000);
    CHECK(c, !native_peer(env, worker), "after its end");
    while (listening && lifecycle.count < 2 && now_ms() < until)
        usleep(1000);
    if (listening && CHECK(c, lifecycle.count == 2, "%d events", lifecycle.count)) {
        check_event(c, 0, START, (void *)(uintptr_t)thread, lifecycle.event[0].tid);
        check_event(c, 1, DEATH, (void *)(uintptr_t)thread, lifecycle.event[0].tid);
    }
}

/* ---- rare events, on fakes ---- */

/* In ThreadStart a thread is RUNNABLE and reaches no suspension point. */
static void who_does_not_stop_in_time_is_not_suspended(struct contract *c)
{
    struct strobe_art_runtime r = workload_runtime(c);
    struct guest g = {.c = c, .r = &r};
    struct java_thread t;
    if (!listen(c))
        return;
    setenv("FAKE_ART_SUSPEND_TIMEOUT_MS", "100", 1);
    lifecycle.stay_ms = 600;
    pthread_t starter;
    CHECK(c, pthread_create(&starter, NULL, attaches_and_detaches, c) == 0, "no thread");
    while (!lifecycle.stays)
        usleep(200);
    uint32_t id = thin_lock_id(&r, lifecycle.stays);
    int64_t begin = now_ms();
    void *stopped = strobe_art_suspend(&c->libart, r.thread_list, id);
    CHECK(c, !stopped, "%p stopped", stopped);
    CHECK(c, now_ms() - begin >= 99 && now_ms() - begin < 500, "%lld ms", (long long)(now_ms() - begin));
    lifecycle.stay_ms = 0;
    pthread_join(starter, NULL);
    start_guest(&g, &t, c, &r);
    CHECK(c, strobe_art_suspend(&c->libart, r.thread_list, g.id) == g.thread, "the next one");
    CHECK(c, strobe_art_resume(&c->libart, r.thread_list, g.thread), "its resume");
    if (c->art.api >= 27) /* before, Resume reports no result */
        CHECK(c, !strobe_art_resume(&c->libart, r.thread_list, g.thread), "a resume too many");
    g.go = true;
    java_thread_join(&t);
}

static enum strobe_status discover_among(struct contract *c, const char *decoys, struct strobe_error *error)
{
    struct strobe_art_runtime r;
    struct strobe_linux here;
    strobe_linux_init(&here, clock_gettime);
    setenv("FAKE_ART_DECOYS", decoys, 1);
    enum strobe_status status = sim_art_start(c->runtime, &c->options, &c->art, error);
    if (status == STROBE_OK)
        status = strobe_libart_open(c->art.library_name, c->art.api, &c->libart, error);
    if (!CHECK(c, status == STROBE_OK, "%s", error ? error->text : ""))
        return STROBE_OK;
    return strobe_art_discover(&c->libart, &here.host, c->art.vm, strobe_art_current(&c->libart), workload_tid(), &r,
                               error);
}

static void another_word_like_the_java_vm_misleads_nobody(struct contract *c)
{
    struct strobe_error error = {""};
    CHECK(c, discover_among(c, "before", &error) == STROBE_OK, "%s", error.text);
}

static void a_misaligned_java_vm_misleads_nobody(struct contract *c)
{
    struct strobe_error error = {""};
    CHECK(c, discover_among(c, "misaligned", &error) == STROBE_OK, "%s", error.text);
}

static void a_runtime_without_its_java_vm_is_refused(struct contract *c)
{
    struct strobe_error error = {""};
    enum strobe_status status = discover_among(c, "absent", &error);
    CHECK(c, status == STROBE_NO_ENTRY && error.text[0], "%d, %s", status, error.text);
}

const struct contract_case contract_cases_thread[] = {
    {"a_thread_is_the_current_one_from_attaching_to_detaching", a_thread_is_the_current_one_from_attaching_to_detaching,
     0},
    {"an_attached_threads_name_is_the_kernels_too", an_attached_threads_name_is_the_kernels_too, 0},
    {"the_lowest_free_id_is_given_again", the_lowest_free_id_is_given_again, 0},
    {"each_thread_is_on_the_list_once", each_thread_is_on_the_list_once, 0},
    {"callbacks_report_a_threads_start_and_death_on_that_thread",
     callbacks_report_a_threads_start_and_death_on_that_thread, 0},
    {"a_thread_that_java_starts_is_its_peers_until_it_ends", a_thread_that_java_starts_is_its_peers_until_it_ends, 0},
    {"who_does_not_stop_in_time_is_not_suspended", who_does_not_stop_in_time_is_not_suspended, CONTRACT_FAKE},
    {"another_word_like_the_java_vm_misleads_nobody", another_word_like_the_java_vm_misleads_nobody,
     CONTRACT_FAKE | CONTRACT_STOPPED},
    {"a_misaligned_java_vm_misleads_nobody", a_misaligned_java_vm_misleads_nobody, CONTRACT_FAKE | CONTRACT_STOPPED},
    {"a_runtime_without_its_java_vm_is_refused", a_runtime_without_its_java_vm_is_refused,
     CONTRACT_FAKE | CONTRACT_STOPPED},
    {0},
};
