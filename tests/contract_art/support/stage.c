#include "tests/contract_art/support/stage.h"

#include "tests/contract_art/support/workload.h"

#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static _Thread_local struct stage_actor *playing;
static struct stage *present; /* the scene that is played */

static void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static bool is_at_rest(const struct stage *s, const struct stage_actor *a)
{
    return a->ended || a->pauses || a->awaits > s->cue || (a->tid && capture_wait_of(&s->k, a->tid));
}

/* A thread is in a wait for the session a moment before it sleeps. */
static void await_sleep_of_others(const struct stage *s)
{
    for (int i = 0; i < s->actors; i++)
        if (&s->actor[i] != playing && s->actor[i].tid && capture_wait_of(&s->k, s->actor[i].tid))
            java_thread_asleep(&s->actor[i].thread);
}

static bool are_others_at_rest(const struct stage *s)
{
    for (int i = 0; i < s->actors; i++)
        if (&s->actor[i] != playing && !is_at_rest(s, &s->actor[i]))
            return false;
    return true;
}

void stage_pause(int ms)
{
    if (playing)
        playing->pauses = true;
    while (present && !are_others_at_rest(present))
        sleep_ms(1);
    if (present)
        await_sleep_of_others(present);
    sleep_ms(ms);
    if (playing)
        playing->pauses = false;
}

void stage_await_wait(const struct stage *s, const char *who, enum strobe_kind kind)
{
    for (int i = 0; i < s->actors; i++)
        while (!strcmp(s->actor[i].name, who) && capture_wait_of(&s->k, s->actor[i].tid) != kind)
            sleep_ms(1);
}

void stage_await(const struct stage *s, int cue)
{
    if (playing)
        playing->awaits = cue;
    while (s->cue < cue)
        sleep_ms(1);
}

/* Main.sample(int); Main.deep(0) calls it. */
static void native_sample(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    (void)class, (void)what;
    if (playing)
        playing->play(env, playing->s);
}

static void run_actor(struct strobe_jni *env, void *p)
{
    struct stage_actor *a = p;
    playing = a;
    a->tid = (uint32_t)gettid();
    prctl(PR_SET_NAME, a->name);
    java_static(env, "Main", "deep", "(I)V", (union strobe_jvalue[]){{.i = 0}});
    playing = NULL;
    a->ended = true;
}

static void make_fat(struct strobe_jni *env, strobe_jobject o)
{
    java_enter(env, o);
    java_wait(env, o, 1);
    java_exit(env, o);
}

static void set_up_stage(struct contract *c, struct strobe_config *config, struct stage *s)
{
    struct strobe_jni *env = c->art.env;
    memset(s, 0, sizeof *s);
    present = s;
    s->c = c;
    s->lock = java_new(env, "java/lang/Object");
    s->other = java_new(env, "java/lang/Object");
    make_fat(env, s->lock);
    make_fat(env, s->other);
    workload_bind(env, "Main", "sample", "(I)V", (void *)(uintptr_t)native_sample);
    capture_config(config);
}

bool stage_opens(struct contract *c, struct stage *s)
{
    struct strobe_config config;
    set_up_stage(c, &config, s);
    return capture_begin(c, &config, &s->k);
}

bool stage_opens_by(struct contract *c, const struct strobe_inline_hooker *hooker, struct stage *s)
{
    struct strobe_config config;
    set_up_stage(c, &config, s);
    return capture_begin_by(c, &config, hooker, &s->k);
}

struct stage_actor *stage_enters(struct stage *s, const char *name, void (*play)(struct strobe_jni *, struct stage *))
{
    struct stage_actor *a = &s->actor[s->actors++];
    *a = (struct stage_actor){.s = s, .name = name, .play = play};
    java_thread_start(&a->thread, s->c->art.vm, run_actor, a);
    return a;
}

void stage_closes(struct stage *s)
{
    for (int i = 0; i < s->actors; i++)
        java_thread_join(&s->actor[i].thread);
    capture_end(&s->k);
}

/* ---- queries of the session ---- */

static void find_scope(void *ctx, const struct strobe_record *r)
{
    struct stage_found *f = ctx;
    if (r->thread != f->thread || r->kind != f->kind || !(r->flags & STROBE_FLAG_SCOPE))
        return;
    f->scopes++;
    if (r->duration >= f->scope.duration)
        f->scope = *r;
}

static void find_wake(void *ctx, const struct strobe_record *r)
{
    struct stage_found *f = ctx;
    if (r->thread != f->thread || r->kind != STROBE_KIND_WAKE || r->arg != f->scope.arg ||
        r->ticks + r->duration != f->scope.ticks + f->scope.duration)
        return;
    f->wakes++;
    f->wake = *r;
}

struct stage_found stage_look(const struct stage *s, const char *who, enum strobe_kind kind)
{
    struct stage_found f = {.s = s, .thread = capture_thread(&s->k, who), .kind = kind};
    capture_visit(&s->k, find_scope, &f);
    capture_visit(&s->k, find_wake, &f);
    CHECK(s->c, f.scopes > 0 && f.scope.duration >= STAGE_LEAST_NS, "%s waits in %s: %d scopes, the longest %llu ns",
          who, strobe_kind_name(kind), f.scopes, (unsigned long long)f.scope.duration);
    return f;
}

void stage_expect_waker(const struct stage *s, const char *who, enum strobe_kind kind, const char *waker)
{
    struct stage_found f = stage_look(s, who, kind);
    uint32_t expected = capture_thread(&s->k, waker);
    CHECK(s->c, f.wakes == 1 && f.wake.cpu_span_ns == expected + 1, "%s's %s ended by %s (%u): %d wakes, by %d", who,
          strobe_kind_name(kind), waker, expected, f.wakes, (int)f.wake.cpu_span_ns - 1);
}

void stage_expect_nobody(const struct stage *s, const char *who, enum strobe_kind kind)
{
    struct stage_found f = stage_look(s, who, kind);
    CHECK(s->c, f.wakes == 1 && f.wake.cpu_span_ns == 0, "%s's %s ended by nobody: %d wakes, by %d", who,
          strobe_kind_name(kind), f.wakes, (int)f.wake.cpu_span_ns - 1);
}
