/* Order of the engine's record of an event and the runtime's action, with a delay between the two. */
#include "engine/backend/art/detour/detour.h"
#include "tests/contract_art/support/stage.h"
#include "tests/contract_art/support/workload.h"

#include "engine/capture/thread.h"

#include <sys/mman.h>

/* ---- an inline hooker that delays the return of two original functions: a released thread runs meanwhile ---- */

static struct contract *of;
static bool (*real_unlock)(void *, void *);
static void (*real_unpark)(void *);

static bool unlock_late(void *monitor, void *self)
{
    bool left = real_unlock(monitor, self);
    stage_pause(STAGE_PAUSE_MS);
    return left;
}

static void unpark_late(void *thread)
{
    real_unpark(thread);
    stage_pause(STAGE_PAUSE_MS);
}

static int install(void *ctx, void *target, void *replacement, void **original, void **handle)
{
    const uint64_t *address = of->libart.address;
    int refused = strobe_detours.install(ctx, target, replacement, original, handle);
    if (refused)
        return refused;
    if ((uintptr_t)target == address[STROBE_ART_MONITOR_UNLOCK]) {
        *(void **)&real_unlock = *original;
        *original = (void *)unlock_late;
    } else if ((uintptr_t)target == address[STROBE_ART_UNPARK_THREAD]) {
        *(void **)&real_unpark = *original;
        *original = (void *)unpark_late;
    }
    return 0;
}

static int take_out(void *ctx, void *handle)
{
    return strobe_detours.remove(ctx, handle);
}

static const struct strobe_inline_hooker late = {.name = "late", .install = install, .remove = take_out};

static bool opens_late(struct contract *c, struct stage *s)
{
    of = c;
    return stage_opens_by(c, &late, s);
}

/* ---- wakers ---- */

static void holds(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue = 1;
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static void enters(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    s->cue = 2;
    java_enter(env, s->lock);
    java_exit(env, s->lock);
}

static void who_leaves_a_monitor_says_so_before_another_can_enter(struct contract *c)
{
    struct stage s;
    if (!opens_late(c, &s))
        return;
    stage_enters(&s, "holder", holds);
    stage_enters(&s, "waiter", enters);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    capture_drop(&s.k);
}

static void parks(struct strobe_jni *env, struct stage *s)
{
    strobe_jobject unsafe = java_new(env, "sun/misc/Unsafe");
    s->cue = 1;
    java_virtual(env, unsafe, "park", "(ZJ)V", (union strobe_jvalue[]){{.z = 0}, {.j = 0}});
}

static void unparks(struct strobe_jni *env, struct stage *s)
{
    stage_await(s, 1);
    stage_pause(STAGE_PAUSE_MS);
    java_virtual(env, java_new(env, "sun/misc/Unsafe"), "unpark", "(Ljava/lang/Object;)V",
                 (union strobe_jvalue[]){{.l = s->actor[0].thread.peer}});
}

static void who_unparks_says_so_before_the_other_can_go_on(struct contract *c)
{
    struct stage s;
    if (!opens_late(c, &s))
        return;
    stage_enters(&s, "parker", parks);
    stage_enters(&s, "unparker", unparks);
    stage_closes(&s);
    stage_expect_waker(&s, "parker", STROBE_KIND_PARK, "unparker");
    capture_drop(&s.k);
}

/* The time is over long after the waiter has entered, also on a busy machine. */
static void holds_and_waits(struct strobe_jni *env, struct stage *s)
{
    java_enter(env, s->lock);
    s->cue = 1;
    stage_await(s, 2);
    stage_pause(STAGE_PAUSE_MS);
    java_wait(env, s->lock, 12 * STAGE_PAUSE_MS);
    java_exit(env, s->lock);
}

static void who_waits_in_a_monitor_is_the_waker_of_who_enters_it_meanwhile(struct contract *c)
{
    struct stage s;
    if (!stage_opens(c, &s))
        return;
    stage_enters(&s, "holder", holds_and_waits);
    stage_enters(&s, "waiter", enters);
    stage_closes(&s);
    stage_expect_waker(&s, "waiter", STROBE_KIND_MONITOR, "holder");
    capture_drop(&s.k);
}

/* ---- the listener ---- */

enum { HEAP_BYTES = 8192 };

/* Counts the words of the Heap that point into this program's data, where the engine's listener is. */
static int words_of_ours(struct contract *c)
{
    extern char __data_start[], _end[];
    static uintptr_t words[HEAP_BYTES / sizeof(uintptr_t)];
    const struct strobe_host *host = &workload_host(c)->linux.host;
    size_t bytes = 0;
    int count = 0;
    host->read(host->ctx, (uintptr_t)workload_runtime(c).heap, words, sizeof words, &bytes);
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        count += words[i] >= (uintptr_t)__data_start && words[i] < (uintptr_t)_end;
    return count;
}

static void the_heap_holds_a_listener_while_a_capture_lasts_and_no_longer(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    int before = words_of_ours(c);
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    int during = words_of_ours(c);
    capture_end(&k);
    CHECK(c, during == before + capture_has(&k, STROBE_ART_ALLOC), "%d words, %d before", during, before);
    CHECK(c, words_of_ours(c) == before, "%d words at the end, %d before", words_of_ours(c), before);
    capture_drop(&k);
}

/* ---- little stack left ---- */

enum { STEP = 2048, DEEPEST = 64 * 1024 };

/* The case moves the recorded end of the stack step by step, so that some allocations occur just above it. */
static void an_event_near_the_stacks_end_takes_no_sample_and_is_counted(struct contract *c)
{
    struct strobe_config config;
    struct capture k;
    capture_config(&config);
    if (!capture_begin(c, &config, &k))
        return;
    capture_call(c, "alloc", "(I)V", 1); /* registers the thread */
    struct strobe_thread *t = strobe_local.thread;
    if (capture_has(&k, STROBE_ART_ALLOC) && CHECK(c, t, "not registered")) {
        uint64_t low = t->stack_low, here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
        for (uint64_t deep = 0; deep < DEEPEST; deep += STEP) {
            t->stack_low = here - deep;
            capture_call(c, "alloc", "(I)V", 1);
        }
        t->stack_low = low;
    }
    capture_end(&k);
    CHECK(c, k.session.header->events_untracked > 0 || !capture_has(&k, STROBE_ART_ALLOC), "none was too near");
    capture_drop(&k);
}

const struct contract_case contract_cases_order[] = {
    {"who_leaves_a_monitor_says_so_before_another_can_enter", who_leaves_a_monitor_says_so_before_another_can_enter, 0},
    {"who_unparks_says_so_before_the_other_can_go_on", who_unparks_says_so_before_the_other_can_go_on, 0},
    {"who_waits_in_a_monitor_is_the_waker_of_who_enters_it_meanwhile",
     who_waits_in_a_monitor_is_the_waker_of_who_enters_it_meanwhile, 0},
    {"the_heap_holds_a_listener_while_a_capture_lasts_and_no_longer",
     the_heap_holds_a_listener_while_a_capture_lasts_and_no_longer, 0},
    {"an_event_near_the_stacks_end_takes_no_sample_and_is_counted",
     an_event_near_the_stacks_end_takes_no_sample_and_is_counted, 0},
    {0},
};
