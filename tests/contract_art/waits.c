/* Who waited, for how long, and who ended it: what a session says of threads that play it out in Java's monitors. */
#include "tests/contract_art/capture.h"
#include "tests/contract_art/java.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { PAUSE_MS = 30, LEAST_NS = 20 * 1000 * 1000, ACTORS = 4 };

struct stage;

/* A thread whose part is played below a frame of Java, so that its samples have a stack. */
struct actor {
    struct stage *s;
    const char *name;
    void (*play)(struct strobe_jni *env, struct stage *s);
    struct java_thread thread;
};

struct stage {
    struct contract *c;
    strobe_jobject lock, other;
    struct capture k;
    struct actor actor[ACTORS];
    int actors;
    _Atomic int cue;
};

static _Thread_local struct actor *playing;

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static void await(const struct stage *s, int cue)
{
    while (s->cue < cue)
        pause_ms(1);
}

/* Main.sample(int), which Main.deep(0) calls. */
static void native_sample(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    if (playing)
        playing->play(env, playing->s);
}

static void run_actor(struct strobe_jni *env, void *p)
{
    struct actor *a = p;
    playing = a;
    prctl(PR_SET_NAME, a->name);
    java_static(env, "Main", "deep", "(I)V", (union strobe_jvalue[]){{.i = 0}});
    playing = NULL;
}

/* The monitors are fat from the begin, as those are that were ever waited in. */
static void make_fat(struct strobe_jni *env, strobe_jobject o)
{
    java_enter(env, o);
    java_wait(env, o, 1);
    java_exit(env, o);
}

static bool stage_opens(struct contract *c, struct stage *s)
{
    struct strobe_jni *env = c->art.env;
    struct strobe_jni_native native = {"sample", "(I)V", (void *)native_sample};
    struct strobe_config config;
    memset(s, 0, sizeof *s);
    s->c = c;
    s->lock = java_new(env, "java/lang/Object");
    s->other = java_new(env, "java/lang/Object");
    make_fat(env, s->lock);
    make_fat(env, s->other);
    ((int32_t (*)(struct strobe_jni *, strobe_jclass, const struct strobe_jni_native *, int32_t))(uintptr_t)
         strobe_jni_at(env, STROBE_JNI_REGISTER_NATIVES))(env, strobe_jni_find_class(env, "Main"), &native, 1);
    capture_config(&config);
    return capture_begin(c, &config, &s->k);
}

static struct actor *enters(struct stage *s, const char *name, void (*play)(struct strobe_jni *, struct stage *))
{
    struct actor *a = &s->actor[s->actors++];
    *a = (struct actor){.s = s, .name = name, .play = play};
    java_thread_start(&a->thread, s->c->art.vm, run_actor, a);
    return a;
}

static void stage_closes(struct stage *s)
{
    for (int i = 0; i < s->actors; i++)
        java_thread_join(&s->actor[i].thread);
    capture_end(&s->k);
}

/* ---- what the session says ---- */

struct found {
    const struct stage *s;
    uint32_t thread;
    enum strobe_kind kind;           /* of the scope */
    struct strobe_record scope, wake;   /* the longest scope, and the wake at its end */
    int scopes, wakes;
};

static void find_scope(void *ctx, const struct strobe_record *r)
{
    struct found *f = ctx;
    if (r->thread != f->thread || r->kind != f->kind || !(r->flags & STROBE_FLAG_SCOPE))
        return;
    f->scopes++;
    if (r->duration >= f->scope.duration)
        f->scope = *r;
}

static void find_wake(void *ctx, const struct strobe_record *r)
{
    struct found *f = ctx;
    if (r->thread != f->thread || r->kind != STROBE_KIND_WAKE || r->arg != f->scope.arg ||
        r->ticks + r->duration != f->scope.ticks + f->scope.duration)
        return;
    f->wakes++;
    f->wake = *r;
}

/* Of the actor's longest wait of a kind. */
static struct found look(const struct stage *s, const char *who, enum strobe_kind kind)
{
    struct found f = {.s = s, .thread = capture_thread(&s->k, who), .kind = kind};
    capture_visit(&s->k, find_scope, &f);
    capture_visit(&s->k, find_wake, &f);
    CHECK(s->c, f.scopes > 0 && f.scope.duration >= LEAST_NS, "%s waits in %s: %d scopes, the longest %llu ns", who,
          strobe_kind_name(kind), f.scopes, (unsigned long long)f.scope.duration);
    return f;
}

static void expect_waker(const struct stage *s, const char *who, enum strobe_kind kind, const char *waker)
{
    struct found f = look(s, who, kind);
    uint32_t expected = capture_thread(&s->k, waker);
    CHECK(s->c, f.wakes == 1 && f.wake.cpu_span_ns == expected + 1, "%s's %s ended by %s (%u): %d wakes, by %d", who,
          strobe_kind_name(kind), waker, expected, f.wakes, (int)f.wake.cpu_span_ns - 1);
}

static void expect_nobody(const struct stage *s, const char *who, enum strobe_kind kind)
{
    struct found f = look(s, who, kind);
    CHECK(s->c, f.wakes == 1 && f.wake.cpu_span_ns == 0, "%s's %s ended by nobody: %d wakes, by %d", who,
          strobe_kind_name(kind), f.wakes, (int)f.wake.cpu_span_ns - 1);
}

/* ---- monitors ---- */

static void hold_for_a_while(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue = 1;
    await(s, 2);
    pause_ms(PAUSE_MS);
    java_exit(env, s->lock);
}

static void hold_three_times(struct strobe_jni *env, struct stage *s)
{
    for (int i = 0; i < 3; i++)
        java_enter(env, s->lock);
    s->cue = 1;
    await(s, 2);
    for (int i = 0; i < 3; i++) {
        pause_ms(PAUSE_MS);
        java_exit(env, s->lock);
    }
}

static void enter_once(struct strobe_jni *env, struct stage *s)
{
    await(s, 1);
    s->cue = 2;
    java_enter(env, s->lock);
    java_exit(env, s->lock);
}

static void who_leaves_a_monitor_is_the_waker_of_who_enters_it(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "holder", hold_for_a_while);
    enters(&s, "waiter", enter_once);
    stage_closes(&s);
    expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    CHECK(c, !strcmp(capture_frame(&s.k, look(&s, "waiter", STROBE_KIND_MONITOR).scope.stack, 1),
                     "void Main.deep(int)"), "a stack of the wait");
    capture_drop(&s.k);
}

static void the_last_of_three_exits_is_the_one_that_wakes(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "holder", hold_three_times);
    enters(&s, "waiter", enter_once);
    stage_closes(&s);
    expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    struct found f = look(&s, "waiter", STROBE_KIND_MONITOR);
    CHECK(c, f.wake.duration < LEAST_NS, "%llu ns from the last exit to the end of the wait",
          (unsigned long long)f.wake.duration);
    capture_drop(&s.k);
}

static void hold_next(struct strobe_jni *env, struct stage *s)
{
    await(s, 1);
    s->cue = 2;
    java_enter(env, s->lock);
    s->cue = 3;
    pause_ms(2 * PAUSE_MS);
    java_exit(env, s->lock);
}

static void enter_last(struct strobe_jni *env, struct stage *s)
{
    await(s, 3);
    java_enter(env, s->lock);
    java_exit(env, s->lock);
}

static void of_a_chain_of_holders_each_is_the_waker_of_the_next(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "first", hold_for_a_while);
    enters(&s, "second", hold_next);
    enters(&s, "third", enter_last);
    stage_closes(&s);
    expect_waker(&s, "third", STROBE_KIND_MONITOR, "second");
    capture_drop(&s.k);
}

/* ---- waits ---- */

static void wait_to_be_told(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue++;
    java_wait(env, s->lock, 0);
    java_exit(env, s->lock);
}

static void notify_once(struct strobe_jni *env, struct stage *s)
{
    await(s, 1);
    pause_ms(PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, false);
    java_exit(env, s->lock);
}

static void notify_and_hold(struct strobe_jni *env, struct stage *s)
{
    await(s, 1);
    pause_ms(PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, true);
    java_exit(env, s->lock);   /* which is when the waiter is woken */
    java_enter(env, s->lock);
    pause_ms(4 * PAUSE_MS);
    java_exit(env, s->lock);
}

static void who_notifies_is_the_waker_of_who_waits(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "waiter", wait_to_be_told);
    enters(&s, "notifier", notify_once);
    stage_closes(&s);
    expect_waker(&s, "waiter", STROBE_KIND_COND, "notifier");
    capture_drop(&s.k);
}

static void wait_for_100_ms(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue++;
    java_wait(env, s->lock, 100);
    java_exit(env, s->lock);
}

/* Told in time, but let in only when its time was over long ago. */
static void a_wait_that_was_notified_in_time_has_its_waker_however_long_the_monitor_is_held(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "waiter", wait_for_100_ms);
    enters(&s, "notifier", notify_and_hold);
    stage_closes(&s);
    expect_waker(&s, "waiter", STROBE_KIND_COND, "notifier");
    capture_drop(&s.k);
}

static void a_wait_that_timed_out_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "waiter", wait_for_100_ms);
    stage_closes(&s);
    expect_nobody(&s, "waiter", STROBE_KIND_COND);
    capture_drop(&s.k);
}

static void wait_to_be_interrupted(struct strobe_jni *env, struct stage *s)
{
    wait_to_be_told(env, s);
    CHECK(s->c, java_thrown(env, "java/lang/InterruptedException"), "the interrupt");
}

static void a_wait_that_was_interrupted_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    struct actor *waiter = enters(&s, "waiter", wait_to_be_interrupted);
    await(&s, 1);
    pause_ms(PAUSE_MS);
    java_virtual(c->art.env, waiter->thread.peer, "interrupt0", "()V", NULL);
    stage_closes(&s);
    expect_nobody(&s, "waiter", STROBE_KIND_COND);
    capture_drop(&s.k);
}

static void notify_second(struct strobe_jni *env, struct stage *s)
{
    await(s, 2);
    pause_ms(3 * PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, false);
    java_exit(env, s->lock);
}

static void notify_first(struct strobe_jni *env, struct stage *s)
{
    await(s, 2);
    notify_once(env, s);
}

/* The runtime wakes who has waited longest. */
static void of_two_waiters_each_has_the_notifier_that_woke_it(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "waiter1", wait_to_be_told);
    await(&s, 1);
    pause_ms(5);
    enters(&s, "waiter2", wait_to_be_told);
    enters(&s, "notifier1", notify_first);
    enters(&s, "notifier2", notify_second);
    stage_closes(&s);
    expect_waker(&s, "waiter1", STROBE_KIND_COND, "notifier1");
    expect_waker(&s, "waiter2", STROBE_KIND_COND, "notifier2");
    capture_drop(&s.k);
}

static void notify_all(struct strobe_jni *env, struct stage *s)
{
    await(s, 2);
    pause_ms(PAUSE_MS);
    java_enter(env, s->lock);
    java_notify(env, s->lock, true);
    java_exit(env, s->lock);
}

static void who_notifies_all_is_the_waker_of_all(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "waiter1", wait_to_be_told);
    enters(&s, "waiter2", wait_to_be_told);
    enters(&s, "notifier", notify_all);
    stage_closes(&s);
    expect_waker(&s, "waiter1", STROBE_KIND_COND, "notifier");
    expect_waker(&s, "waiter2", STROBE_KIND_COND, "notifier");
    capture_drop(&s.k);
}

/* Its hook returns into another capture than it was called in. */
static void a_wait_that_outlasts_its_capture_is_no_event_of_the_next(struct contract *c)
{
    struct stage s;
    struct strobe_config config;
    struct strobe_jni *env = c->art.env;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "waiter", wait_to_be_told);
    await(&s, 1);
    pause_ms(PAUSE_MS);
    capture_end(&s.k);
    capture_drop(&s.k);
    capture_config(&config);
    if (!capture_begin(c, &config, &s.k))
        return;
    java_enter(env, s.lock);
    java_notify(env, s.lock, true);
    java_exit(env, s.lock);
    stage_closes(&s);
    CHECK(c, capture_requests(&s.k, STROBE_KIND_COND) == 0, "%llu waits",
          (unsigned long long)capture_requests(&s.k, STROBE_KIND_COND));
    capture_drop(&s.k);
}

/* ---- sleeps ---- */

/* As Thread.sleep(long) does: with a lock of its own. */
static void sleep_for_100_ms(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->other);
    java_static(env, "java/lang/Thread", "sleep", "(Ljava/lang/Object;JI)V",
                (union strobe_jvalue[]){{.l = s->other}, {.j = 100}, {.i = 0}});
    java_exit(env, s->other);
}

static void count_scope(void *ctx, const struct strobe_record *r)
{
    struct found *f = ctx;
    f->scopes += r->thread == f->thread && r->kind == f->kind;
}

static void a_sleep_is_no_wait_and_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "sleeper", sleep_for_100_ms);
    stage_closes(&s);
    struct found slept = look(&s, "sleeper", STROBE_KIND_SLEEP);
    struct found waited = {.s = &s, .thread = slept.thread, .kind = STROBE_KIND_COND};
    capture_visit(&s.k, count_scope, &waited);
    CHECK(c, slept.scopes == 1 && slept.wakes == 0, "%d sleeps, %d wakes", slept.scopes, slept.wakes);
    CHECK(c, waited.scopes == 0, "%d waits", waited.scopes);
    capture_drop(&s.k);
}

/* ---- parks ---- */

static void park(struct strobe_jni *env, int64_t ns)
{
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    java_virtual(env, unsafe, "park", "(ZJ)V", (union strobe_jvalue[]){{.z = 0}, {.j = ns}});
}

static void park_for_ever(struct strobe_jni *env, struct stage *s)
{
    s->cue = 1;
    park(env, 0);
}

static void park_for_50_ms(struct strobe_jni *env, struct stage *s)
{
    (void)s;
    park(env, 50 * 1000 * 1000);
}

static void unpark(struct strobe_jni *env, struct stage *s)
{
    await(s, 1);
    pause_ms(PAUSE_MS);
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    java_virtual(env, unsafe, "unpark", "(Ljava/lang/Object;)V",
                 (union strobe_jvalue[]){{.l = s->actor[0].thread.peer}});
}

/* Before 10 a park is a native function that tells not whose: its wait has a scope, and no word of a waker. */
static bool tells_who(const struct contract *c)
{
    return c->libart.address[STROBE_ART_PARK_THREAD] != 0;
}

static void who_unparks_is_the_waker_of_who_parks(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "parker", park_for_ever);
    enters(&s, "unparker", unpark);
    stage_closes(&s);
    if (tells_who(c))
        expect_waker(&s, "parker", STROBE_KIND_PARK, "unparker");
    else
        CHECK(c, look(&s, "parker", STROBE_KIND_PARK).wakes == 0, "a waker from nowhere");
    capture_drop(&s.k);
}

static void a_park_that_timed_out_has_no_waker(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "parker", park_for_50_ms);
    stage_closes(&s);
    if (tells_who(c))
        expect_nobody(&s, "parker", STROBE_KIND_PARK);
    else
        look(&s, "parker", STROBE_KIND_PARK);
    capture_drop(&s.k);
}

/* ---- collections ---- */

enum { COLLECTIONS = 30, COLLECTION = 2 };   /* what is waited for, as the engine numbers it */

static void collect(struct strobe_jni *env, struct stage *s)
{
    (void)env;
    for (int i = 0; i < COLLECTIONS; i++)
        contract_collect(s->c);
}

struct collected { const struct stage *s; int scopes, woken, by_itself; };

static void count_collections(void *ctx, const struct strobe_record *r)
{
    struct collected *n = ctx;
    n->scopes += r->kind == STROBE_KIND_GC;
    if (r->kind != STROBE_KIND_WAKE || r->arg != COLLECTION || !r->cpu_span_ns)
        return;
    n->woken++;
    n->by_itself += r->cpu_span_ns == r->thread + 1;
}

static void who_collects_is_the_waker_of_those_who_wait_for_that(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    enters(&s, "collector1", collect);
    enters(&s, "collector2", collect);
    enters(&s, "collector3", collect);
    stage_closes(&s);
    struct collected n = {.s = &s};
    capture_visit(&s.k, count_collections, &n);
    CHECK(c, n.scopes >= 3 * COLLECTIONS, "%d scopes of collections", n.scopes);
    CHECK(c, n.by_itself == 0, "%d woken by themselves", n.by_itself);
    CHECK(c, n.woken > 0 || !c->libart.address[STROBE_ART_GC_FINISH], "%d waits with a waker", n.woken);
    capture_drop(&s.k);
}

const struct contract_case contract_cases_waits[] = {
    {"who_leaves_a_monitor_is_the_waker_of_who_enters_it", who_leaves_a_monitor_is_the_waker_of_who_enters_it, 0},
    {"the_last_of_three_exits_is_the_one_that_wakes", the_last_of_three_exits_is_the_one_that_wakes, 0},
    {"of_a_chain_of_holders_each_is_the_waker_of_the_next", of_a_chain_of_holders_each_is_the_waker_of_the_next, 0},
    {"who_notifies_is_the_waker_of_who_waits", who_notifies_is_the_waker_of_who_waits, 0},
    {"a_wait_that_was_notified_in_time_has_its_waker_however_long_the_monitor_is_held",
     a_wait_that_was_notified_in_time_has_its_waker_however_long_the_monitor_is_held, 0},
    {"a_wait_that_timed_out_has_no_waker", a_wait_that_timed_out_has_no_waker, 0},
    {"a_wait_that_was_interrupted_has_no_waker", a_wait_that_was_interrupted_has_no_waker, 0},
    {"of_two_waiters_each_has_the_notifier_that_woke_it", of_two_waiters_each_has_the_notifier_that_woke_it, 0},
    {"who_notifies_all_is_the_waker_of_all", who_notifies_all_is_the_waker_of_all, 0},
    {"a_wait_that_outlasts_its_capture_is_no_event_of_the_next",
     a_wait_that_outlasts_its_capture_is_no_event_of_the_next, 0},
    {"a_sleep_is_no_wait_and_has_no_waker", a_sleep_is_no_wait_and_has_no_waker, 0},
    {"who_unparks_is_the_waker_of_who_parks", who_unparks_is_the_waker_of_who_parks, 0},
    {"a_park_that_timed_out_has_no_waker", a_park_that_timed_out_has_no_waker, 0},
    {"who_collects_is_the_waker_of_those_who_wait_for_that", who_collects_is_the_waker_of_those_who_wait_for_that, 0},
    {0},
};
