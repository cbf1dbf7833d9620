/* Executor in an Android runtime. Methods are those of the scenario's dex file, and each thread is attached to the
 * runtime. Monitors, their conditions, permits, managed objects, exceptions and collections are the runtime's own.
 * Mutexes, their conditions, semaphores and I/O use sim_executor_frames. */
#include "sim/genuine/jni_calls.h"
#include "sim/player/art.h"

#include <unistd.h>

/* ---- threads ---- */

static pthread_key_t acting;

struct sim_actor *sim_real_art_acting(void)
{
    return pthread_getspecific(acting);
}

static void make_thread_key(void)
{
    pthread_key_create(&acting, NULL);
}

static bool art_exec_enter(struct sim_actor *a, const char *name)
{
    struct sim_art_play *p = a->play->art;
    struct strobe_jvm *vm = p->art.vm;
    struct strobe_jvm_attach how = {STROBE_JNI_VERSION, name, NULL};
    int32_t (*attach)(struct strobe_jvm *, void **, void *) =
        (int32_t(*)(struct strobe_jvm *, void **, void *))(uintptr_t)strobe_jvm_at(vm, STROBE_JVM_ATTACH);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_thread_key);
    pthread_setspecific(acting, a);
    a->env = strobe_jvm_env(vm);
    if (!a->env && attach(vm, &a->env, &how) != STROBE_JNI_OK)
        return false;
    strobe_jobject sleeper = sim_jni_allocate(a->env, p->object);
    a->sleeper = sim_jni_global(a->env, sleeper);
    sim_jni_drop_local(a->env, sleeper);
    if (p->unparks) {
        strobe_jobject peer = sim_jni_get_static(a->env, p->thread, p->current, NULL);
        a->peer = sim_jni_global(a->env, peer);
        sim_jni_drop_local(a->env, peer);
    }
    return true;
}

static void art_exec_leave(struct sim_actor *a)
{
    struct strobe_jvm *vm = a->play->art->art.vm;
    int32_t (*detach)(struct strobe_jvm *) =
        (int32_t(*)(struct strobe_jvm *))(uintptr_t)strobe_jvm_at(vm, STROBE_JVM_DETACH);
    sim_jni_drop_global(a->env, a->sleeper);
    a->env = NULL;
    if (!a->is_main)
        detach(vm);
}

/* ---- frames ---- */

static void art_exec_call(struct sim_actor *a, uint32_t method)
{
    const struct sim_art_method *m = &a->play->art->methods[method];
    sim_jni_call_static(a->env, m->class, m->method, (const union strobe_jvalue[]){{.j = (int64_t)(uintptr_t)a}});
}

/* Calls the managed method a->callee. It is called by a function of libapp.so, so its parameters are those of a frame.
 */
static void art_exec_managed(void *player, size_t bytes)
{
    struct sim_actor *a = player;
    (void)bytes;
    art_exec_call(a, a->callee);
    a->may_throw = true;
}

/* Takes the exception that is pending. Native code asks the runtime only after a call that may have thrown: a thread
 * that is to be suspended waits in such a call. */
static strobe_jobject take_exception_of_call(struct sim_actor *a)
{
    bool may = a->may_throw;
    a->may_throw = false;
    return may ? sim_jni_take_exception(a->env) : NULL;
}

/* Returns the function that performs a call from native code: the method's own function, or one that enters the
 * runtime. */
static struct sim_real_next art_call_from_native(struct sim_actor *a, const struct sim_next *next)
{
    if (!a->play->scenario->methods[next->method].managed)
        return (struct sim_real_next){sim_app_frame_of(a->play->frames, next->method), next->bytes};
    a->callee = next->method;
    return (struct sim_real_next){art_exec_managed, 0};
}

/* Next step of a native method. Does the same as the bytecode of a managed method (dex.h). An exception of the method
 * that was called last is pending. */
struct sim_real_next sim_real_art_native_step(struct sim_actor *a)
{
    static const struct sim_real_next leave = {NULL, 0};
    for (;;) {
        strobe_jobject thrown = take_exception_of_call(a);
        if (!thrown) {
            struct sim_next next = sim_real_next(a);
            if (next.kind == SIM_NEXT_RETURN)
                return leave;
            if (next.kind == SIM_NEXT_CALL)
                return art_call_from_native(a, &next);
            thrown = sim_jni_local(a->env, a->play->art->thrown);
        }
        if (!sim_real_caught(a)) {
            sim_jni_throw(a->env, thrown);
            a->may_throw = true;
            return leave;
        }
        sim_jni_drop_local(a->env, thrown);
    }
}

/* The functions of libapp.so call this function by its exported name, in every player. It gets the executor's function
 * from the play. */
struct sim_real_next sim_app_step(void *player)
{
    struct sim_actor *a = player;
    return a->play->art->native_step(a);
}

static void art_exec_perform(struct sim_actor *a)
{
    struct sim_next first = sim_real_next(a);
    if (first.kind != SIM_NEXT_CALL)
        return;
    struct sim_real_next call = art_call_from_native(a, &first);
    call.call(a, call.bytes);
    strobe_jobject thrown = sim_jni_take_exception(a->env);
    if (thrown)
        sim_jni_drop_local(a->env, thrown);
}

int32_t sim_real_art_step(struct strobe_jni *env, strobe_jclass class, int64_t player)
{
    struct sim_next next = sim_real_next((struct sim_actor *)(uintptr_t)player);
    (void)env;
    (void)class;
    return next.kind == SIM_NEXT_CALL ? (int32_t)next.method : next.kind == SIM_NEXT_THROW ? -2 : -1;
}

uint8_t sim_real_art_caught(struct strobe_jni *env, strobe_jclass class, int64_t player, strobe_jobject thrown)
{
    (void)env;
    (void)class;
    (void)thrown;
    return sim_real_caught((struct sim_actor *)(uintptr_t)player);
}

strobe_jobject sim_real_art_thrown(struct strobe_jni *env, strobe_jclass class, int64_t player)
{
    (void)env;
    (void)class;
    return ((struct sim_actor *)(uintptr_t)player)->play->art->thrown;
}

/* ---- monitors ---- */

static void art_exec_lock(struct sim_actor *a, struct sim_real_lock *l)
{
    if (l->object)
        sim_jni_monitor(a->env, l->object, true);
    else
        sim_executor_frames.lock(a, l);
}

static void art_exec_unlock(struct sim_actor *a, struct sim_real_lock *l)
{
    if (l->object)
        sim_jni_monitor(a->env, l->object, false);
    else
        sim_executor_frames.unlock(a, l);
}

static void monitor_wait_until(struct sim_actor *a, struct sim_real_lock *l, uint64_t until_ns)
{
    const struct sim_art_play *p = a->play->art;
    uint64_t now = sim_work_now_ns(), left = until_ns > now ? until_ns - now : 1;
    union strobe_jvalue forever[2] = {{.j = 0}, {.i = 0}};
    union strobe_jvalue timed[2] = {{.j = (int64_t)(left / 1000000)}, {.i = (int32_t)(left % 1000000)}};
    sim_jni_call(a->env, l->object, p->wait, until_ns ? timed : forever);
}

static void art_exec_wait(struct sim_actor *a, struct sim_real_lock *l, uint32_t depth, uint64_t timeout_ns)
{
    if (!l->object) {
        sim_executor_frames.wait(a, l, depth, timeout_ns);
        return;
    }
    uint64_t until_ns = timeout_ns ? sim_work_now_ns() + timeout_ns : 0;
    monitor_wait_until(a, l, until_ns);
    while (!atomic_load(&a->notifier) && (!until_ns || sim_work_now_ns() < until_ns)) {
        sim_real_wait_again(a);
        sim_hand_off(a, &l->released); /* a spurious wake-up: the thread had the monitor and releases it again */
        monitor_wait_until(a, l, until_ns);
    }
}

/* Wakes actor `b`. The runtime's notify wakes the longest waiter of the monitor, whatever condition it waits for. When
 * several conditions share the monitor that may be another actor, so all waiters are woken; the others wait again. */
static void art_exec_wake(struct sim_actor *a, struct sim_actor *b)
{
    const struct sim_art_play *p = a->play->art;
    struct sim_real_lock *l = b->waits_with;
    if (!l->object) {
        sim_executor_frames.wake(a, b);
        return;
    }
    bool has = atomic_load(&l->owner) == a;
    if (!has)
        sim_real_lock_mutex(a, l);
    sim_jni_call(a->env, l->object, l->shared ? p->notify_all : p->notify, NULL);
    if (!has)
        sim_real_unlock_mutex(a, l);
}

/* ---- permits ---- */

static bool art_exec_park(struct sim_actor *a, uint64_t timeout_ns)
{
    const struct sim_art_play *p = a->play->art;
    uint64_t begin_ns = sim_work_now_ns(), waited_ns = 0;
    do {
        union strobe_jvalue v[2] = {{.z = 0}, {.j = timeout_ns ? (int64_t)(timeout_ns - waited_ns) : 0}};
        sim_jni_call(a->env, p->unsafe, p->park, v);
        waited_ns = sim_work_now_ns() - begin_ns;
    } while (!atomic_load(&a->permit) && (!timeout_ns || waited_ns < timeout_ns));
    return atomic_load(&a->permit);
}

static void art_exec_unpark(struct sim_actor *a, struct sim_actor *b)
{
    const struct sim_art_play *p = a->play->art;
    if (b->peer)
        sim_jni_call(a->env, p->unsafe, p->unpark, (const union strobe_jvalue[]){{.l = b->peer}});
}

/* ---- memory ---- */

enum { KEPT_MOST = 40000 };

/* Reserves a global reference. Returns false when the scenario frees nothing or no reference is left; the object is
 * then garbage at once. */
static bool reserve_reference(struct sim_art_play *p)
{
    if (!p->frees || atomic_fetch_add(&p->kept, 1) < KEPT_MOST)
        return p->frees;
    atomic_fetch_sub(&p->kept, 1);
    return false;
}

static void *art_exec_allocate(struct sim_actor *a, uint64_t *bytes)
{
    enum { HEAD_BYTES = 12, ALIGNMENT = 8 };
    const struct sim_art_method *m = &a->play->art->allocate;
    union strobe_jvalue count[1] = {{.i = *bytes < INT32_MAX ? (int32_t)*bytes : INT32_MAX}};
    *bytes = (*bytes + HEAD_BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    strobe_jobject made = sim_jni_get_static(a->env, m->class, m->method, count);
    if (!made) {
        sim_jni_drop_local(a->env, sim_jni_take_exception(a->env));
        sim_real_fail(a->play, NULL, "no more managed memory than there is");
        return NULL;
    }
    strobe_jobject kept = reserve_reference(a->play->art) ? sim_jni_global(a->env, made) : NULL;
    sim_jni_drop_local(a->env, made);
    return kept;
}

static void art_exec_release(struct sim_actor *a, void *object)
{
    sim_jni_drop_global(a->env, object);
    atomic_fetch_sub(&a->play->art->kept, 1);
}

static void art_exec_collect(struct sim_actor *a, uint64_t amount_ns)
{
    a->pause_ns = amount_ns;
    sim_real_wait_begin(a, STROBE_KIND_GC, true);
    sim_art_collect(&a->play->art->art, a->env);
    sim_real_wait_end(a, 0);
    a->pause_ns = 0;
}

/* ---- calls out ---- */

/* Native code spends the time of a call, so the runtime's own code handles the call up to that point. */
void sim_real_art_answer(struct sim_actor *a)
{
    sim_work_device(&a->device, a->latency_ns);
}

/* libstrobe-binder.so calls this function by its exported name, in every player. It gets the executor's function from
 * the play. */
int32_t sim_real_art_binder(void *actor, int32_t handle, uint32_t code, const void *data, void *reply, uint32_t flags)
{
    struct sim_actor *a = actor;
    (void)handle;
    (void)code;
    (void)data;
    (void)reply;
    (void)flags;
    a->play->art->answer(a);
    return 0;
}

uint8_t sim_real_art_transact(struct strobe_jni *env, strobe_jobject binder, int32_t code, strobe_jobject data,
                              strobe_jobject reply, int32_t flags)
{
    (void)env;
    (void)binder;
    (void)code;
    (void)data;
    (void)reply;
    (void)flags;
    struct sim_actor *a = sim_real_art_acting();
    if (a->play->art->call_binder)
        a->play->art->call_binder(a);
    else
        sim_real_art_answer(a);
    return 1;
}

strobe_jobject sim_real_art_load(struct strobe_jni *env, strobe_jclass class, strobe_jobject name,
                                 strobe_jobject loader, strobe_jclass caller)
{
    (void)env;
    (void)class;
    (void)name;
    (void)loader;
    (void)caller;
    sim_real_art_answer(sim_real_art_acting());
    return NULL;
}

static void art_exec_wait_for(struct sim_actor *a, enum sim_op_kind kind, uint64_t latency_ns)
{
    const struct sim_art_play *p = a->play->art;
    union strobe_jvalue none[4] = {{.l = NULL}};
    a->latency_ns = latency_ns;
    if (kind == SIM_OP_LOAD) {
        sim_real_wait_begin(a, STROBE_KIND_LOAD, true);
        sim_jni_get_static(a->env, p->load.class, p->load.method, none);
    } else if (kind == SIM_OP_IPC) {
        sim_real_wait_begin(a, STROBE_KIND_IPC, true);
        sim_jni_call(a->env, p->binder, p->transact, none);
    } else {
        sim_executor_frames.wait_for(a, kind, latency_ns);
        return;
    }
    sim_real_wait_end(a, 0);
}

void sim_real_art_poll(struct strobe_jni *env, strobe_jobject queue, int64_t player, int32_t ms)
{
    struct sim_actor *a = (struct sim_actor *)(uintptr_t)player;
    (void)env;
    (void)queue;
    (void)ms;
    sim_real_poll(a, a->poll_what, a->poll_patience);
}

static void art_exec_poll_queue(struct sim_actor *a, struct pollfd *what, const struct timespec *patience)
{
    const struct sim_art_play *p = a->play->art;
    union strobe_jvalue v[2] = {{.j = (int64_t)(uintptr_t)a}, {.i = (int32_t)(patience->tv_sec * 1000)}};
    a->poll_what = what;
    a->poll_patience = patience;
    sim_jni_call(a->env, p->queue, p->poll, v);
}

static bool art_exec_count_waits(const struct sim_actor *a, enum strobe_kind kind, uint64_t *out)
{
    const struct sim_art_play *p = a->play->art;
    if (!p->waits || (kind != STROBE_KIND_MONITOR && kind != STROBE_KIND_COND && kind != STROBE_KIND_PARK))
        return false;
    *out = p->waits();
    return true;
}

/* Sleeps as Thread.sleep(long) does, with a lock that only this thread uses. */
static void art_exec_sleep_for(struct sim_actor *a, uint64_t ns)
{
    const struct sim_art_play *p = a->play->art;
    union strobe_jvalue v[3] = {{.l = a->sleeper}, {.j = (int64_t)(ns / 1000000)}, {.i = (int32_t)(ns % 1000000)}};
    sim_real_wait_begin(a, STROBE_KIND_SLEEP, true);
    sim_jni_monitor(a->env, a->sleeper, true);
    sim_jni_call_static(a->env, p->thread, p->sleep, v);
    sim_jni_monitor(a->env, a->sleeper, false);
    sim_real_wait_end(a, 0);
}

const struct sim_executor sim_executor_art = {
    .enter = art_exec_enter,
    .perform = art_exec_perform,
    .leave = art_exec_leave,
    .throws = true,
    .lock = art_exec_lock,
    .unlock = art_exec_unlock,
    .wait = art_exec_wait,
    .wake = art_exec_wake,
    .park_kind = STROBE_KIND_PARK,
    .park = art_exec_park,
    .unpark = art_exec_unpark,
    .allocate = art_exec_allocate,
    .release = art_exec_release,
    .collect = art_exec_collect,
    .wait_for = art_exec_wait_for,
    .sleep = art_exec_sleep_for,
    .poll = art_exec_poll_queue,
    .count_waits = art_exec_count_waits,
};
