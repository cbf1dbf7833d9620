/* Native waits: a library of the app waits in locks, files and sockets, and another thread ends the wait. */
#include "engine/backend/art/hooks/events.h"
#include "engine/cmd/preload.h"
#include "tests/contract_art/native/calls.h"
#include "tests/contract_art/support/stage.h"
#include "tests/contract_art/support/workload.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

static const struct native_calls *open_calls(struct contract *c, const char *path, void **library)
{
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct native_calls *calls = *library ? dlsym(*library, NATIVE_SYMBOL) : NULL;
    if (!CHECK(c, calls, "%s", dlerror()))
        exit(1);
    return calls;
}

static const struct native_calls *app; /* of the case's process */

const struct native_calls *native_load_app(struct contract *c)
{
    static void *library;
    char path[STROBE_PRELOAD_BYTES];
    if (!app && CHECK(c, strobe_library_find(NATIVE_LIBRARY, path, sizeof path), "there is no " NATIVE_LIBRARY))
        app = open_calls(c, path, &library);
    return app;
}

/* ---- which slots ---- */

enum { CALLS = offsetof(struct native_calls, lock_by_call) / sizeof(void *) };

static void each_function_is_exchanged_while_a_capture_runs_and_only_then(struct contract *c)
{
    struct capture k;
    struct strobe_config config;
    void *before[CALLS], *during[CALLS];
    const struct native_calls *calls = native_load_app(c);
    memcpy(before, calls, sizeof before);
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    CHECK(c, capture_has(&k, STROBE_ART_LIBC), "off: %s", k.status.off[STROBE_ART_LIBC]);
    CHECK(c, k.status.native_slots >= CALLS, "%u slots for %d functions", k.status.native_slots, (int)CALLS);
    memcpy(during, calls, sizeof during);
    capture_end(&k);
    for (int i = 0; i < CALLS; i++)
        CHECK(c, during[i] != before[i], "function %d is not exchanged", i);
    CHECK(c, memcmp(before, calls, sizeof before) == 0, "not all functions are restored");
    capture_drop(&k);
}

/* ---- who ended a wait ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    sem_t semaphore;
    int pipe[2], event, set;
    _Atomic uint32_t word;
    _Atomic bool ready;
} scene;

static void open_scene(void)
{
    memset(&scene, 0, sizeof scene);
    pthread_mutex_init(&scene.mutex, NULL);
    pthread_rwlock_init(&scene.rwlock, NULL);
    pthread_cond_init(&scene.condition, NULL);
    sem_init(&scene.semaphore, 0, 0);
}

static void lock_mutex(void)
{
    app->pthread_mutex_lock(&scene.mutex);
    app->pthread_mutex_unlock(&scene.mutex);
}

static void lock_mutex_by_call(void)
{
    app->lock_by_call(&scene.mutex);
    app->pthread_mutex_unlock(&scene.mutex);
}

static void hold_mutex(void)
{
    app->pthread_mutex_lock(&scene.mutex);
}

static void release_mutex(void)
{
    app->pthread_mutex_unlock(&scene.mutex);
}

static void write_lock(void)
{
    app->pthread_rwlock_wrlock(&scene.rwlock);
    app->pthread_rwlock_unlock(&scene.rwlock);
}

static void read_lock(void)
{
    app->pthread_rwlock_rdlock(&scene.rwlock);
    app->pthread_rwlock_unlock(&scene.rwlock);
}

static void hold_rwlock(void)
{
    app->pthread_rwlock_wrlock(&scene.rwlock);
}

static void release_rwlock(void)
{
    app->pthread_rwlock_unlock(&scene.rwlock);
}

static void wait_condition(void)
{
    app->pthread_mutex_lock(&scene.mutex);
    while (!scene.ready)
        app->pthread_cond_wait(&scene.condition, &scene.mutex);
    app->pthread_mutex_unlock(&scene.mutex);
}

static void signal_condition(void)
{
    app->pthread_mutex_lock(&scene.mutex);
    scene.ready = true;
    app->pthread_cond_signal(&scene.condition);
    app->pthread_mutex_unlock(&scene.mutex);
}

/* ---- Android's own functions ---- */

static struct timespec in_an_hour(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (struct timespec){t.tv_sec + 3600, t.tv_nsec};
}

static void lock_mutex_until(void)
{
    struct timespec until = in_an_hour();
    app->pthread_mutex_timedlock_monotonic_np(&scene.mutex, &until);
    app->pthread_mutex_unlock(&scene.mutex);
}

static void write_lock_until(void)
{
    struct timespec until = in_an_hour();
    app->pthread_rwlock_timedwrlock_monotonic_np(&scene.rwlock, &until);
    app->pthread_rwlock_unlock(&scene.rwlock);
}

static void read_lock_until(void)
{
    struct timespec until = in_an_hour();
    app->pthread_rwlock_timedrdlock_monotonic_np(&scene.rwlock, &until);
    app->pthread_rwlock_unlock(&scene.rwlock);
}

static void wait_condition_until(void)
{
    struct timespec until = in_an_hour();
    app->pthread_mutex_lock(&scene.mutex);
    while (!scene.ready)
        app->pthread_cond_timedwait_monotonic_np(&scene.condition, &scene.mutex, &until);
    app->pthread_mutex_unlock(&scene.mutex);
}

static void wait_semaphore_until(void)
{
    struct timespec until = in_an_hour();
    app->sem_timedwait_monotonic_np(&scene.semaphore, &until);
}

static void write_pipe_checked(void)
{
    (void)!app->__write_chk(scene.pipe[1], "x", 1, 2);
}

static void poll_event_checked(void)
{
    struct pollfd one = {.fd = scene.event, .events = POLLIN};
    app->__ppoll_chk(&one, 1, NULL, NULL, sizeof one);
}

static void wait_semaphore(void)
{
    app->sem_wait(&scene.semaphore);
}

static void post_semaphore(void)
{
    app->sem_post(&scene.semaphore);
}

static void open_pipe(void)
{
    (void)!app->pipe(scene.pipe);
}

static void read_pipe(void)
{
    char byte;
    (void)!app->read(scene.pipe[0], &byte, 1);
}

static void write_pipe(void)
{
    (void)!app->write(scene.pipe[1], "x", 1);
}

static void open_event(void)
{
    scene.event = app->eventfd(0, 0);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = scene.event};
    scene.set = app->epoll_create1(0);
    app->epoll_ctl(scene.set, EPOLL_CTL_ADD, scene.event, &e);
}

static void poll_event(void)
{
    app->poll(&(struct pollfd){.fd = scene.event, .events = POLLIN}, 1, -1);
}

static void wait_set(void)
{
    struct epoll_event e;
    app->epoll_wait(scene.set, &e, 1, -1);
}

static void write_event(void)
{
    app->eventfd_write(scene.event, 1);
}

static void wait_futex(void)
{
    while (!scene.ready)
        app->syscall(SYS_futex, &scene.word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void wake_futex(void)
{
    scene.ready = true;
    scene.word = 1;
    app->syscall(SYS_futex, &scene.word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static const struct native_wait {
    enum strobe_kind kind;
    void (*open)(void); /* by the releaser, before the wait; may be NULL */
    void (*wait)(void);
    void (*release)(void);
} native_waits[] = {
    {STROBE_KIND_MUTEX, hold_mutex, lock_mutex, release_mutex},
    {STROBE_KIND_MUTEX, hold_mutex, lock_mutex_by_call, release_mutex},
    {STROBE_KIND_RWLOCK, hold_rwlock, write_lock, release_rwlock},
    {STROBE_KIND_RWLOCK, hold_rwlock, read_lock, release_rwlock},
    {STROBE_KIND_COND, NULL, wait_condition, signal_condition},
    {STROBE_KIND_COND, NULL, wait_futex, wake_futex},
    {STROBE_KIND_SEM, NULL, wait_semaphore, post_semaphore},
    {STROBE_KIND_READ, open_pipe, read_pipe, write_pipe},
    {STROBE_KIND_POLL, open_event, poll_event, write_event},
    {STROBE_KIND_POLL, open_event, wait_set, write_event},
    {STROBE_KIND_MUTEX, hold_mutex, lock_mutex_until, release_mutex},
    {STROBE_KIND_RWLOCK, hold_rwlock, write_lock_until, release_rwlock},
    {STROBE_KIND_RWLOCK, hold_rwlock, read_lock_until, release_rwlock},
    {STROBE_KIND_COND, NULL, wait_condition_until, signal_condition},
    {STROBE_KIND_SEM, NULL, wait_semaphore_until, post_semaphore},
    {STROBE_KIND_READ, open_pipe, read_pipe, write_pipe_checked},
    {STROBE_KIND_POLL, open_event, poll_event_checked, write_event},
};
static const struct native_wait *waits_now;

static void play_waiter(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    stage_await(s, 1);
    s->cue++;
    waits_now->wait();
}

static void play_releaser(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    if (waits_now->open)
        waits_now->open();
    s->cue++;
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    waits_now->release();
}

static void a_native_wait_names_the_thread_that_ended_it(struct contract *c)
{
    native_load_app(c);
    for (size_t i = 0; i < sizeof native_waits / sizeof native_waits[0] && !c->failures; i++) {
        struct stage s;
        waits_now = &native_waits[i];
        open_scene();
        if (!stage_opens(c, &s))
            return;
        stage_enters(&s, "waiter", play_waiter);
        stage_enters(&s, "releaser", play_releaser);
        stage_closes(&s);
        stage_expect_waker(&s, "waiter", waits_now->kind, "releaser");
        struct stage_found f = stage_look(&s, "waiter", waits_now->kind);
        CHECK(c, strstr(capture_frame(&s.k, f.scope.stack, 1), "deep"), "wait %d has the stack of %s", (int)i,
              capture_frame(&s.k, f.scope.stack, 1));
        capture_drop(&s.k);
    }
}

/* ---- waits that no hook sees ---- */

static bool begin_with_sampler(struct contract *c, struct capture *k)
{
    struct strobe_config config;
    capture_config(&config);
    config.async_interval_ns = 1000000;
    return capture_begin(c, &config, k);
}

static long (*slotless_syscall)(long number, ...);

static void compute_ms(int ms)
{
    clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
    while (clock() < end)
        continue;
}

/* A call that the kernel restarts, because the thread was stopped right before it, loses its number: on a busy machine
 * up to 8 % of them. All of one kind do with a probability of 3e-7. */
enum { SLOTLESS_WAITS = 6 };

/* Calls the C library by an address that is in no slot. */
static void wait_without_slot(struct strobe_jni *env, void *result)
{
    static uint32_t word;
    const struct timespec pause = {0, 4 * STAGE_PAUSE_MS * 1000000};
    (void)env;
    for (int i = 0; i < SLOTLESS_WAITS; i++) {
        compute_ms(5);
        slotless_syscall(SYS_futex, &word, FUTEX_WAIT, 0, &pause, NULL, 0);
        compute_ms(5);
        slotless_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
        compute_ms(5);
    }
    *(bool *)result = true;
}

struct seen_calls {
    uint32_t thread, futex, sleep, other, scopes;
};

static void count_seen_call(void *ctx, const struct strobe_record *r)
{
    struct seen_calls *f = ctx;
    if (r->thread != f->thread)
        return;
    f->scopes += (r->flags & STROBE_FLAG_SCOPE) && r->kind != STROBE_KIND_MONITOR;
    if (r->kind != STROBE_KIND_COUNTER || r->cpu_span_ns != STROBE_SERIES_WAIT_CALL)
        return;
    uint32_t number = (uint32_t)r->arg;
    *(number == SYS_futex ? &f->futex : number == SYS_clock_nanosleep ? &f->sleep : &f->other) += 1;
}

static void the_system_call_of_a_wait_that_no_hook_sees_is_known(struct contract *c)
{
    struct java_thread thread = {0};
    struct capture k;
    bool waited = false;
    *(void **)&slotless_syscall = dlsym(RTLD_DEFAULT, "syscall");
    if (!begin_with_sampler(c, &k))
        return;
    java_thread_start(&thread, c->art.vm, wait_without_slot, &waited);
    struct seen_calls found = {.thread = UINT32_MAX};
    java_thread_join(&thread);
    capture_end(&k);
    for (uint32_t i = 0; i < strobe_session_thread_count(&k.session); i++)
        if (k.session.threads[i].tid == (uint32_t)thread.tid)
            found.thread = i;
    capture_visit(&k, count_seen_call, &found);
    bool known = found.futex >= 1 && found.futex <= SLOTLESS_WAITS && found.sleep >= 1 && found.sleep <= SLOTLESS_WAITS;
    CHECK(c, waited && known && !found.other, "%u futex waits, %u sleeps, %u other calls; %d of each were made",
          found.futex, found.sleep, found.other, SLOTLESS_WAITS);
    CHECK(c, !found.scopes, "%u of the calls were hooked", found.scopes);
    capture_drop(&k);
}

/* ---- waits that no thread ends ---- */

enum { NAP_NS = STAGE_PAUSE_MS * 1000000 };

static const struct timespec nap = {0, NAP_NS};

/* Returns a time that is late enough for a wait, even if the thread loses its processor before it waits. */
static struct timespec in_ten_naps(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += 10 * NAP_NS;
    return t.tv_nsec < 1000000000 ? t : (struct timespec){t.tv_sec + 1, t.tv_nsec - 1000000000};
}

static void play_sleeps(struct strobe_jni *env, struct stage *s)
{
    (void)env, (void)s;
    app->usleep(NAP_NS / 1000);
    app->nanosleep(&nap, NULL);
    app->clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
}

static void play_polls(struct strobe_jni *env, struct stage *s)
{
    struct timeval t = {0, NAP_NS / 1000};
    (void)env, (void)s;
    app->poll(NULL, 0, STAGE_PAUSE_MS);
    app->ppoll(NULL, 0, &nap, NULL);
    app->select(0, NULL, NULL, NULL, &t);
    app->pselect(0, NULL, NULL, NULL, &nap, NULL);
}

static void play_timeouts(struct strobe_jni *env, struct stage *s)
{
    struct timespec until = in_ten_naps(CLOCK_REALTIME);
    (void)env, (void)s;
    app->sem_timedwait(&scene.semaphore, &until);
}

static void sleeps_and_timeouts_are_waits_that_no_thread_ended(struct contract *c)
{
    struct stage s;
    native_load_app(c);
    open_scene();
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "sleeper", play_sleeps);
    stage_enters(&s, "poller", play_polls);
    stage_enters(&s, "hasty", play_timeouts);
    stage_closes(&s);
    int sleeps = stage_look(&s, "sleeper", STROBE_KIND_SLEEP).scopes;
    int polls = stage_look(&s, "poller", STROBE_KIND_POLL).scopes;
    CHECK(c, sleeps == 3, "%d sleeps of 3", sleeps);
    CHECK(c, polls == 4, "%d polls of 4", polls);
    stage_expect_nobody(&s, "hasty", STROBE_KIND_SEM);
    capture_drop(&s.k);
}

/* ---- a wait within another hooked call ---- */

static void poll_once(struct strobe_jni *env, strobe_jobject queue, int64_t native_queue, int32_t ms)
{
    (void)env, (void)queue, (void)native_queue, (void)ms;
    app->poll(&(struct pollfd){.fd = scene.event, .events = POLLIN}, 1, -1);
}

static void play_looper(struct strobe_jni *env, struct stage *s)
{
    strobe_jobject queue = java_new(env, "android/os/MessageQueue");
    stage_await(s, 1);
    s->cue++;
    java_virtual(env, queue, "nativePollOnce", "(JI)V", (union strobe_jvalue[]){{.j = 1}, {.i = -1}});
}

static void play_poster(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    open_event();
    s->cue++;
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    write_event();
}

static void a_poll_within_a_loopers_poll_is_one_wait_with_its_waker(struct contract *c)
{
    struct stage s;
    native_load_app(c);
    workload_bind(c->art.env, "android/os/MessageQueue", "nativePollOnce", "(JI)V", (void *)poll_once);
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "looper", play_looper);
    stage_enters(&s, "poster", play_poster);
    stage_closes(&s);
    struct stage_found f = stage_look(&s, "looper", STROBE_KIND_POLL);
    CHECK(c, f.scopes == 1, "%d polls", f.scopes);
    CHECK(c, f.scope.arg == (uint64_t)scene.event, "the reader finds no waker of %llx",
          (unsigned long long)f.scope.arg);
    stage_expect_waker(&s, "looper", STROBE_KIND_POLL, "poster");
    capture_drop(&s.k);
}

/* ---- descriptors that were open before ---- */

static void wait_in_old_set(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    s->cue++;
    wait_set();
}

static void write_old_event(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    stage_await(s, 1);
    stage_pause(STAGE_PAUSE_MS);
    write_event();
}

static void a_set_of_events_that_was_open_before_the_capture_has_wakers(struct contract *c)
{
    struct stage s;
    native_load_app(c);
    open_scene();
    open_event();
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "looper", wait_in_old_set);
    stage_enters(&s, "poster", write_old_event);
    stage_closes(&s);
    stage_expect_waker(&s, "looper", STROBE_KIND_POLL, "poster");
    capture_drop(&s.k);
}

/* ---- waits that outlast the capture ---- */

static void wait_beyond_the_end(struct strobe_jni *env, void *p)
{
    (void)env;
    *(_Atomic int *)p = 1;
    app->sem_wait(&scene.semaphore);
}

static void wait_below_java(struct strobe_jni *env, struct stage *s)
{
    wait_beyond_the_end(env, &s->cue);
}

struct stacks {
    const struct capture *k;
    uint32_t thread;
    uint64_t from; /* ticks when the thread had waited for some time */
    int deep;
};

static void count_deep_stack(void *ctx, const struct strobe_record *r)
{
    struct stacks *s = ctx;
    s->deep += r->kind == STROBE_KIND_ASYNC && r->thread == s->thread && r->ticks >= s->from &&
               strstr(capture_frame(s->k, r->stack, 1), "deep");
}

static void a_native_wait_that_outlasts_the_capture_has_its_stack(struct contract *c)
{
    struct stage s;
    native_load_app(c);
    open_scene();
    if (!stage_opens(c, &s))
        return;
    capture_end(&s.k);
    capture_drop(&s.k);
    if (!begin_with_sampler(c, &s.k))
        return;
    struct stage_actor *a = stage_enters(&s, "waiter", wait_below_java);
    stage_await(&s, 1);
    java_thread_asleep(&a->thread);
    stage_pause(STAGE_PAUSE_MS);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t from = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    capture_end(&s.k);
    post_semaphore();
    java_thread_join(&a->thread);
    struct stacks found = {.k = &s.k, .thread = capture_thread(&s.k, "waiter"), .from = from};
    capture_visit(&s.k, count_deep_stack, &found);
    CHECK(c, found.deep >= 1, "%d stacks of the wait", found.deep);
    capture_drop(&s.k);
}

/* ---- threads that the runtime does not know ---- */

static void *run_unattached(void *p)
{
    struct stage *s = p;
    prctl(PR_SET_NAME, "unattached");
    app->pthread_mutex_lock(&scene.mutex);
    s->cue++;
    stage_pause(2 * STAGE_PAUSE_MS);
    app->usleep(1000);
    app->pthread_mutex_unlock(&scene.mutex);
    return NULL;
}

static void play_meets_unattached(struct strobe_jni *env, struct stage *s)
{
    pthread_t thread;
    (void)env;
    pthread_create(&thread, NULL, run_unattached, s);
    stage_await(s, 1);
    lock_mutex();
    pthread_join(thread, NULL);
}

static void a_thread_that_is_not_attached_calls_on_unrecorded_and_is_no_waker(struct contract *c)
{
    struct stage s;
    native_load_app(c);
    open_scene();
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "waiter", play_meets_unattached);
    stage_closes(&s);
    struct stage_found f = stage_look(&s, "waiter", STROBE_KIND_MUTEX);
    CHECK(c, f.wakes == 0, "%d wakers from nowhere", f.wakes);
    CHECK(c, capture_thread(&s.k, "unattached") == UINT32_MAX, "a thread without a runtime is recorded");
    capture_drop(&s.k);
}

/* ---- libraries that come and go ---- */

static void copy_library(struct contract *c, char path[TEMPORARY_BYTES], int number)
{
    Dl_info about;
    char command[2 * TEMPORARY_BYTES + 600];
    native_load_app(c);
    temporary_path(path, "contract-native-%d-%d.so", (int)getpid(), number);
    CHECK(c, dladdr(app, &about) != 0, "the library has no path");
    snprintf(command, sizeof command, "cp '%s' '%s'", about.dli_fname, path);
    CHECK(c, system(command) == 0, "%s", command);
}

static void a_library_that_is_loaded_during_a_capture_is_hooked_soon(struct contract *c)
{
    struct capture k;
    char path[TEMPORARY_BYTES];
    void *library;
    copy_library(c, path, 0);
    if (!begin_with_sampler(c, &k))
        return;
    const struct native_calls *calls = open_calls(c, path, &library);
    unlink(path);
    void *function = dlsym(RTLD_DEFAULT, "usleep");
    for (int ms = 0; ms < 5000 && *(void *const volatile *)(const void *)&calls->usleep == function; ms++)
        stage_pause(1);
    CHECK(c, (void *)(uintptr_t)calls->usleep != function, "not hooked within 5 s");
    capture_end(&k);
    CHECK(c, (void *)(uintptr_t)calls->usleep == function, "not restored");
    dlclose(library);
    capture_drop(&k);
}

enum { STORMS = 3, ROUNDS = 150 };
static char storm_path[STORMS][TEMPORARY_BYTES];

static void run_storm(struct strobe_jni *env, void *p)
{
    (void)env;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < ROUNDS; i++) {
        void *library = dlopen(p, RTLD_NOW | RTLD_LOCAL);
        const struct native_calls *calls = library ? dlsym(library, NATIVE_SYMBOL) : NULL;
        for (int k = 0; calls && k < 20; k++) {
            calls->lock_by_call(&m);
            calls->usleep(20);
            calls->pthread_mutex_unlock(&m);
        }
        if (library)
            dlclose(library);
    }
}

static void libraries_come_and_go_while_threads_call_them(struct contract *c)
{
    struct capture k;
    struct java_thread thread[STORMS] = {0};
    for (int i = 0; i < STORMS; i++)
        copy_library(c, storm_path[i], i);
    if (!begin_with_sampler(c, &k))
        return;
    for (int i = 0; i < STORMS; i++)
        java_thread_start(&thread[i], c->art.vm, run_storm, storm_path[i]);
    for (int i = 0; i < STORMS; i++)
        java_thread_join(&thread[i]);
    capture_end(&k);
    for (int i = 0; i < STORMS; i++)
        unlink(storm_path[i]);
    CHECK(c, (void *)(uintptr_t)app->usleep == dlsym(RTLD_DEFAULT, "usleep"), "not restored");
    CHECK(c, capture_requests(&k, STROBE_KIND_SLEEP) > 0, "no call was recorded");
    capture_drop(&k);
}

const struct contract_case contract_cases_native[] = {
    {"each_function_is_exchanged_while_a_capture_runs_and_only_then",
     each_function_is_exchanged_while_a_capture_runs_and_only_then, 0},
    {"a_native_wait_names_the_thread_that_ended_it", a_native_wait_names_the_thread_that_ended_it, 0},
    {"the_system_call_of_a_wait_that_no_hook_sees_is_known", the_system_call_of_a_wait_that_no_hook_sees_is_known, 0},
    {"sleeps_and_timeouts_are_waits_that_no_thread_ended", sleeps_and_timeouts_are_waits_that_no_thread_ended, 0},
    {"a_poll_within_a_loopers_poll_is_one_wait_with_its_waker", a_poll_within_a_loopers_poll_is_one_wait_with_its_waker,
     0},
    {"a_set_of_events_that_was_open_before_the_capture_has_wakers",
     a_set_of_events_that_was_open_before_the_capture_has_wakers, 0},
    {"a_native_wait_that_outlasts_the_capture_has_its_stack", a_native_wait_that_outlasts_the_capture_has_its_stack, 0},
    {"a_thread_that_is_not_attached_calls_on_unrecorded_and_is_no_waker",
     a_thread_that_is_not_attached_calls_on_unrecorded_and_is_no_waker, 0},
    {"a_library_that_is_loaded_during_a_capture_is_hooked_soon",
     a_library_that_is_loaded_during_a_capture_is_hooked_soon, 0},
    {"libraries_come_and_go_while_threads_call_them", libraries_come_and_go_while_threads_call_them, CONTRACT_HEAVY},
    {0}};
