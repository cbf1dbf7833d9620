/* Parks that time out, and the callbacks of parks. thread.c tests permits. */
#include "tests/contract_art/support/contract.h"
#include "tests/contract_art/support/java.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* Functions of RuntimeCallbacks for parks. The engine does not use them. */
#define ADD_CALLBACK    "_ZN3art16RuntimeCallbacks15AddParkCallbackEPNS_12ParkCallbackE"
#define REMOVE_CALLBACK "_ZN3art16RuntimeCallbacks18RemoveParkCallbackEPNS_12ParkCallbackE"

enum { LONG_MS = 20000 };

static int64_t now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct scene {
    strobe_jobject unsafe;
    _Atomic int parked;
    _Atomic bool go;
};

static struct scene scene_of(struct contract *c)
{
    return (struct scene){.unsafe = java_new(c->art.env, "sun/misc/Unsafe")};
}

/* Parks and returns its duration in ms. */
static int park(struct strobe_jni *env, const struct scene *s, bool absolute, int64_t time)
{
    int64_t begin = now_ms(CLOCK_MONOTONIC);
    java_virtual(env, s->unsafe, "park", "(ZJ)V", (union strobe_jvalue[]){{.z = absolute}, {.j = time}});
    return (int)(now_ms(CLOCK_MONOTONIC) - begin);
}

static void unpark(struct strobe_jni *env, const struct scene *s, strobe_jobject thread)
{
    java_virtual(env, s->unsafe, "unpark", "(Ljava/lang/Object;)V", &(union strobe_jvalue){.l = thread});
}

static strobe_jobject current(struct strobe_jni *env)
{
    return java_global(env, java_static(env, "java/lang/Thread", "currentThread", "()Ljava/lang/Thread;", NULL).l);
}

static void a_park_ends_when_its_time_is_up(struct contract *c)
{
    struct scene s = scene_of(c);
    int took = park(c->art.env, &s, false, 60000000);
    CHECK(c, took >= 59 && took < LONG_MS, "%d of 60 ms", took);
    took = park(c->art.env, &s, true, now_ms(CLOCK_REALTIME) + 60);
    CHECK(c, took >= 58 && took < LONG_MS, "%d of 60 ms to a point in time", took);
    took = park(c->art.env, &s, true, now_ms(CLOCK_REALTIME) - 1000);
    CHECK(c, took < LONG_MS / 2, "%d ms to a point gone by", took);
}

static void parks_twice(struct strobe_jni *env, void *arg)
{
    struct scene *s = arg;
    while (!s->go)
        usleep(500);
    for (int i = 0; i < 2; i++) {
        park(env, s, false, 0);
        s->parked++;
    }
}

/* ---- callbacks ---- */

enum { START = 1, FINISHED, TIMED_OUT };

struct listener {
    void *const *vtable;
    _Atomic int tid, count, events[8];
};

static void record_event(struct listener *l, int what)
{
    if (gettid() == l->tid && l->count < 8)
        l->events[l->count++] = what;
}

static void on_start(struct listener *l, bool absolute, int64_t time)
{
    record_event(l, !absolute && time >= 0 ? START : -1);
}

static void on_finished(struct listener *l, bool timed_out)
{
    record_event(l, timed_out ? TIMED_OUT : FINISHED);
}
static void on_destroy(struct listener *l)
{
    (void)l;
}

static void *const listener_calls[] = {(void *)on_start, (void *)on_finished, (void *)on_destroy, (void *)on_destroy};

static bool call_callbacks(struct contract *c, const char *name, struct listener *l)
{
    void *function = dlsym(c->art.library, name);
    if (!function)
        return false;
    void *runtime = *(void **)(uintptr_t)c->libart.address[STROBE_ART_RUNTIME_INSTANCE];
    void *callbacks = ((void *(*)(void *))(uintptr_t)c->libart.address[STROBE_ART_CALLBACKS_GET])(runtime);
    ((void (*)(void *, struct listener *))(uintptr_t)function)(callbacks, l);
    return true;
}

static void callbacks_report_parks_that_find_no_permit(struct contract *c)
{
    static const int expected[] = {START, TIMED_OUT, START, FINISHED, START, FINISHED};
    struct scene s = scene_of(c);
    struct listener l = {.vtable = listener_calls, .tid = gettid()};
    struct java_thread t;
    if (!call_callbacks(c, ADD_CALLBACK, &l)) {
        CHECK(c, c->art.api < 30, "level %d has no callbacks", c->art.api);
        return;
    }
    strobe_jobject self = current(c->art.env);
    unpark(c->art.env, &s, self);
    park(c->art.env, &s, false, 0);
    CHECK(c, l.count == 0, "%d events of a park that found its permit", l.count);
    park(c->art.env, &s, false, 10000000);
    java_thread_start(&t, c->art.vm, parks_twice, &s);
    l.tid = (int)t.tid;
    s.go = true;
    for (int i = 0; i < 2; i++) {
        java_thread_asleep(&t);
        CHECK(c, l.count == 3 + 2 * i, "%d events while it is parked", l.count);
        unpark(c->art.env, &s, t.peer);
        while (s.parked <= i)
            usleep(500);
    }
    java_thread_join(&t);
    for (int i = 0; i < 6; i++)
        CHECK(c, l.events[i] == expected[i], "event %d of 6 is %d, not %d", i, l.events[i], expected[i]);
    call_callbacks(c, REMOVE_CALLBACK, &l);
    l.tid = gettid();
    park(c->art.env, &s, false, 1000000);
    CHECK(c, l.count == 6, "%d events after removal", l.count);
}

const struct contract_case contract_cases_park[] = {
    {"a_park_ends_when_its_time_is_up", a_park_ends_when_its_time_is_up, 0},
    {"callbacks_report_parks_that_find_no_permit", callbacks_report_parks_that_find_no_permit, 0},
    {0},
};
