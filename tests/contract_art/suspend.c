/* The runtime's objects, the ids of its threads, and suspension of other threads by id. */
#include "engine/base/error.h"
#include "tests/contract_art/support/java.h"
#include "tests/contract_art/support/workload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 128, TURNS = 60, NO_TID = 1 << 22 }; /* NO_TID: larger than the kernel's ids */

static struct strobe_art_walk walk;
static uint64_t frames[ROOM];

/* Returns frame i of the last walk, counted from the innermost. */
static uint64_t frame(uint32_t i)
{
    return frames[ROOM - 1 - i];
}

static uint32_t walk_thread(const struct strobe_libart *a, void *thread)
{
    uint32_t count;
    strobe_art_walk(&walk, a, thread, frames + ROOM, NULL, ROOM, &count);
    return count;
}

/* ---- threads that cases stop ---- */

/* Starts a thread that runs Main.a, b, c, busy until stop_worker. */
static void *start_worker(struct contract *c)
{
    union strobe_jvalue mode = {.i = 0};
    strobe_jobject worker = java_static(c->art.env, "Main", "spawn", "(I)Ljava/lang/Thread;", &mode).l;
    void *thread = workload_thread_of(c->art.env, worker);
    while (workload_int(c->art.env, "Main", "spins") == 0)
        workload_pause(1);
    return thread;
}

static void stop_worker(struct contract *c)
{
    workload_set_bool(c->art.env, "Main", "stop", true);
}

/* A thread made by pthread_create that is attached, and calls managed code. */
struct guest {
    struct java_thread java;
    struct contract *c;
    strobe_a32 ready, over; /* 1: it is at the place where the case stops it; it has left that place */
    int gate[2];            /* a pipe; it waits for a byte */
    void *thread;
    uint32_t thin_lock_id, tid;
};

static struct guest guest;

static void await(strobe_a32 *word)
{
    for (int i = 0; i < 10000 && !strobe_load_acquire(word); i++)
        workload_pause(1);
}

static struct guest *start_guest(struct contract *c, void (*run)(struct strobe_jni *, void *))
{
    guest = (struct guest){.c = c};
    if (pipe(guest.gate) != 0)
        _exit(1);
    java_thread_start(&guest.java, c->art.vm, run, &guest);
    await(&guest.ready);
    struct strobe_art_runtime r = workload_runtime(c);
    struct strobe_linux here;
    uint32_t tid = 0;
    strobe_linux_init(&here, clock_gettime);
    CHECK(c, strobe_art_thread_ids(&r, &here.host, guest.thread, &guest.thin_lock_id, &tid), "ids");
    CHECK(c, tid == guest.tid, "%u, not %u", tid, guest.tid);
    return &guest;
}

static void open_gate(struct guest *g)
{
    if (write(g->gate[1], "", 1) != 1)
        _exit(1);
}

static void is_here(struct guest *g)
{
    g->thread = strobe_art_current(&g->c->libart);
    g->tid = workload_tid();
    strobe_store_release(&g->ready, 1);
}

static void stay_in_native(struct strobe_jni *env, strobe_jclass class, int32_t what)
{
    char byte;
    (void)env, (void)class, (void)what;
    is_here(&guest);
    if (read(guest.gate[0], &byte, 1) != 1)
        _exit(1);
}

static void call_native(struct strobe_jni *env, void *g)
{
    java_static(env, "Main", "deep", "(I)V", &(union strobe_jvalue){.i = 3});
    strobe_store_release(&((struct guest *)g)->over, 1);
}

/* Checks that the stack is Main.sample, called by Main.deep, four times. */
static void check_native_stack(struct contract *c, uint32_t count)
{
    uint64_t deep = workload_static(c->art.env, "Main", "deep", "(I)V");
    CHECK(c, count == 5, "%u frames", count);
    CHECK(c, frame(0) == workload_static(c->art.env, "Main", "sample", "(I)V"), "%#llx", (unsigned long long)frame(0));
    for (uint32_t i = 1; i < count; i++)
        CHECK(c, frame(i) == deep, "frame %u", i);
}

static struct guest *start_in_native(struct contract *c)
{
    workload_bind(c->art.env, "Main", "sample", "(I)V", (void *)(uintptr_t)stay_in_native);
    return start_guest(c, call_native);
}

static void wait_in_java(struct strobe_jni *env, void *g)
{
    is_here(g);
    java_static(env, "Main", "waitMs", "(J)V", &(union strobe_jvalue){.j = 60000}); /* longer than the case */
}

/* ---- discovery ---- */

static void discovery_finds_what_the_runtime_holds(struct contract *c)
{
    struct strobe_art_runtime r = workload_runtime(c);
    const struct strobe_art_level *v = c->libart.level;
    void *const *vm = r.vm, *const *runtime = r.runtime;
    size_t java_vm = r.java_vm_offset / sizeof(void *);
    CHECK(c, r.proof == STROBE_ART_PROOF_INSTANCE, "%d", r.proof);
    CHECK(c, r.runtime == vm[1], "JavaVMExt's is %p, found %p", vm[1], r.runtime);
    CHECK(c, runtime[java_vm] == c->art.vm, "%p", runtime[java_vm]);
    CHECK(c, r.thread_list == runtime[java_vm - v->thread_list_before[0]], "%p", r.thread_list);
    CHECK(c, r.class_linker == runtime[java_vm - v->class_linker_before[0]], "%p", r.class_linker);
    CHECK(c, r.heap == runtime[java_vm - v->heap_before[0]], "%p", r.heap);
    CHECK(c, (r.callbacks != NULL) == (c->libart.address[STROBE_ART_CALLBACKS_GET] != 0), "%p", r.callbacks);
}

static void without_its_symbol_the_runtime_is_proven_by_what_it_holds(struct contract *c)
{
    struct strobe_art_runtime r = workload_runtime(c);
    c->libart.address[STROBE_ART_RUNTIME_INSTANCE] = 0;
    struct strobe_art_runtime crossed = workload_runtime(c);
    CHECK(c, crossed.proof == STROBE_ART_PROOF_CROSS, "%d", crossed.proof);
    CHECK(c,
          crossed.runtime == r.runtime && crossed.thread_list == r.thread_list &&
              crossed.class_linker == r.class_linker && crossed.heap == r.heap,
          "not the same");
}

/* Discovery on a level with other member offsets, as a later release of Android may have them. */
static void members_at_other_places_are_refused(struct contract *c)
{
    struct strobe_linux here;
    struct strobe_art_level level = *c->libart.level, other;
    strobe_linux_init(&here, clock_gettime);
    for (int which = 0; which < 3; which++)
        for (int by = -2; by <= 2; by++) {
            struct strobe_error error = {""};
            struct strobe_art_runtime r;
            uint8_t *before[] = {other.thread_list_before, other.class_linker_before, other.heap_before};
            other = level;
            /* On Android 14 the member one word nearer also passes as a class linker. Its level does not try that
             * offset. */
            if (by == 0 || (c->art.genuine && c->art.api == 34 && which == 1 && by == -1))
                continue;
            memset(before[which], 0, sizeof level.heap_before);
            before[which][0] = (uint8_t)((which == 0   ? level.thread_list_before
                                          : which == 1 ? level.class_linker_before
                                                       : level.heap_before)[0] +
                                         by);
            c->libart.level = &other;
            enum strobe_status status = strobe_art_discover(&c->libart, &here.host, c->art.vm,
                                                            strobe_art_current(&c->libart), workload_tid(), &r, &error);
            CHECK(c, status == STROBE_NO_ENTRY && error.text[0], "member %d, %+d words: %d, %s", which, by, status,
                  error.text);
        }
}

static void a_threads_ids_are_those_of_its_thin_locks_and_of_the_kernel(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_runtime r = workload_runtime(c);
    struct strobe_linux here;
    uint32_t id, tid;
    strobe_linux_init(&here, clock_gettime);
    CHECK(c, strobe_art_thread_ids(&r, &here.host, strobe_art_current(&c->libart), &id, &tid), "own");
    CHECK(c, id == 1 && tid == workload_tid(), "%u, %u", id, tid);
    CHECK(c, g->thin_lock_id > 1, "%u", g->thin_lock_id);
    CHECK(c, !strobe_art_thread_ids(&r, &here.host, (void *)(uintptr_t)64, &id, &tid), "wild");
    open_gate(g);
}

/* ---- suspension by id ---- */

static void a_running_thread_stands_while_it_is_suspended_and_goes_on_after(struct contract *c)
{
    void *worker = start_worker(c);
    struct strobe_art_runtime r = workload_runtime(c);
    struct strobe_linux here;
    uint32_t id, tid;
    strobe_linux_init(&here, clock_gettime);
    CHECK(c, strobe_art_thread_ids(&r, &here.host, worker, &id, &tid), "ids");
    for (int i = 0; i < 20; i++) {
        void *stopped = strobe_art_suspend(&c->libart, r.thread_list, id);
        if (!CHECK(c, stopped == worker, "%p, not %p", stopped, worker))
            break;
        int32_t before = workload_int(c->art.env, "Main", "spins");
        workload_pause(3);
        int32_t after = workload_int(c->art.env, "Main", "spins");
        CHECK(c, before == after, "from %d to %d", before, after);
        CHECK(c, strobe_art_resume(&c->libart, r.thread_list, stopped), "resume");
        for (int ms = 0; ms < 10000 && workload_int(c->art.env, "Main", "spins") == after; ms++)
            workload_pause(1);
        CHECK(c, workload_int(c->art.env, "Main", "spins") != after, "still %d", after);
    }
    stop_worker(c);
}

/* The stack must be a prefix of the call chain Worker.run, Main.a, b, c, busy. */
static void a_suspended_thread_is_walked_exactly(struct contract *c)
{
    struct strobe_jni *env = c->art.env;
    const uint64_t calls[] = {workload_method(env, "Worker", "run", "()V"), workload_static(env, "Main", "a", "()V"),
                              workload_static(env, "Main", "b", "()V"), workload_static(env, "Main", "c", "()V"),
                              workload_static(env, "Main", "busy", "(I)I")};
    void *worker = start_worker(c);
    struct strobe_art_runtime r = workload_runtime(c);
    struct strobe_linux here;
    uint32_t id, tid, deepest = 0;
    strobe_linux_init(&here, clock_gettime);
    CHECK(c, strobe_art_thread_ids(&r, &here.host, worker, &id, &tid), "ids");
    for (int i = 0; i < TURNS; i++) {
        void *stopped = strobe_art_suspend(&c->libart, r.thread_list, id);
        uint32_t count = stopped ? walk_thread(&c->libart, stopped) : 0;
        if (stopped)
            strobe_art_resume(&c->libart, r.thread_list, stopped);
        if (!CHECK(c, count >= 1 && count <= 5, "%u frames", count))
            break;
        for (uint32_t k = 0; k < count; k++)
            CHECK(c, frame(count - 1 - k) == calls[k], "frame %u of %u", k, count);
        deepest = count > deepest ? count : deepest;
        workload_pause(1); /* lets the thread run on to another place */
    }
    CHECK(c, deepest == 5, "%u", deepest);
    stop_worker(c);
}

/* The walk leaves out methods whose dex index is all ones, which are the runtime's own. The case repeats each walk with
 * the offset of the class in place of that of the dex index, so that no method counts as the runtime's own. That walk
 * finds more frames: a thread at a suspension point in quick code is in such a method, and such a method has entered
 * the interpreter. */
static void the_runtimes_own_methods_are_left_out(struct contract *c)
{
    void *worker = start_worker(c);
    struct strobe_art_runtime r = workload_runtime(c);
    struct strobe_libart other = c->libart;
    struct strobe_art_level level = *other.level;
    struct strobe_linux here;
    uint32_t id, tid, more = 0;
    level.method_dex_index = 0;
    other.level = &level;
    strobe_linux_init(&here, clock_gettime);
    CHECK(c, strobe_art_thread_ids(&r, &here.host, worker, &id, &tid), "ids");
    for (int i = 0; i < TURNS; i++) {
        void *stopped = strobe_art_suspend(&c->libart, r.thread_list, id);
        if (!CHECK(c, stopped, "turn %d", i))
            break;
        more += walk_thread(&other, stopped) > walk_thread(&c->libart, stopped);
        strobe_art_resume(&c->libart, r.thread_list, stopped);
    }
    CHECK(c, more > 0, "in %d walks none had such a method", TURNS);
    stop_worker(c);
}

static void a_thread_in_native_code_counts_as_stopped_and_comes_back_only_when_resumed(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_runtime r = workload_runtime(c);
    void *stopped = strobe_art_suspend(&c->libart, r.thread_list, g->thin_lock_id);
    if (!CHECK(c, stopped == g->thread, "%p, not %p", stopped, g->thread))
        return;
    check_native_stack(c, walk_thread(&c->libart, g->thread));
    open_gate(g);
    workload_pause(50);
    CHECK(c, !strobe_load_acquire(&g->over), "it came back");
    check_native_stack(c, walk_thread(&c->libart, g->thread));
    CHECK(c, strobe_art_resume(&c->libart, r.thread_list, stopped), "resume");
    await(&g->over);
    CHECK(c, strobe_load_acquire(&g->over), "it did not come back");
}

static void a_waiting_thread_is_walked_where_it_waits(struct contract *c)
{
    struct guest *g = start_guest(c, wait_in_java);
    struct strobe_art_runtime r = workload_runtime(c);
    uint64_t wait = workload_static(c->art.env, "Main", "waitMs", "(J)V");
    uint64_t native = workload_method(c->art.env, "java/lang/Object", "wait", "(JI)V");
    workload_pause(50); /* until it waits */
    void *stopped = strobe_art_suspend(&c->libart, r.thread_list, g->thin_lock_id);
    if (!CHECK(c, stopped == g->thread, "%p, not %p", stopped, g->thread))
        return;
    uint32_t count = walk_thread(&c->libart, g->thread);
    CHECK(c, count >= 2 && frame(0) == native && frame(count - 1) == wait, "%u frames", count);
    CHECK(c, strobe_art_resume(&c->libart, r.thread_list, stopped), "resume");
}

static void suspensions_nest(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_runtime r = workload_runtime(c);
    for (int i = 0; i < 3; i++)
        CHECK(c, strobe_art_suspend(&c->libart, r.thread_list, g->thin_lock_id) == g->thread, "%d", i);
    open_gate(g);
    for (int i = 0; i < 3; i++) {
        workload_pause(20);
        CHECK(c, !strobe_load_acquire(&g->over), "it came back after %d resumes", i);
        CHECK(c, strobe_art_resume(&c->libart, r.thread_list, g->thread), "%d", i);
    }
    await(&g->over);
    CHECK(c, strobe_load_acquire(&g->over), "it did not come back");
}

static void an_id_that_is_nobodys_suspends_nobody(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_runtime r = workload_runtime(c);
    open_gate(g);
    java_thread_join(&g->java);
    void *next = strobe_art_suspend(&c->libart, r.thread_list, g->thin_lock_id);
    if (next) { /* a new thread of the runtime has got the id meanwhile */
        struct strobe_linux here;
        uint32_t id = 0, tid = 0;
        strobe_linux_init(&here, clock_gettime);
        CHECK(c, strobe_art_thread_ids(&r, &here.host, next, &id, &tid) && tid != g->tid, "the one that ended");
        strobe_art_resume(&c->libart, r.thread_list, next);
    }
    CHECK(c, strobe_art_suspend(&c->libart, r.thread_list, 60000) == NULL, "one that never was");
}

/* ---- the host ---- */

static enum strobe_status host_suspend(struct strobe_art_host *h, uint32_t tid, const strobe_a32 *blocked)
{
    struct strobe_regs regs;
    return h->linux.host.suspend(h->linux.host.ctx, tid, blocked, 1000000, &regs);
}

static enum strobe_status host_resume(struct strobe_art_host *h, uint32_t tid)
{
    return h->linux.host.resume(h->linux.host.ctx, tid);
}

static const strobe_a32 not_blocked, is_blocked = 1;

static uint32_t host_walk(struct strobe_art_host *h)
{
    const struct strobe_regs regs = {0};
    const struct strobe_window stack = {0};
    struct strobe_stack_top top = {0};
    uint32_t count;
    strobe_unwinder_art.stopped(&h->linux.host, &regs, &stack, &top, frames + ROOM, ROOM, &count);
    return count;
}

static void the_host_stops_a_thread_walks_it_and_lets_it_go(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_host *h = workload_host(c);
    CHECK(c, host_suspend(h, g->tid, &not_blocked) == STROBE_UNSUPPORTED, "one it does not know");
    CHECK(c, strobe_art_threads_put(h->threads, g->tid, g->thread, g->thin_lock_id) == STROBE_OK, "put");
    CHECK(c, host_suspend(h, g->tid, &is_blocked) == STROBE_UNSUPPORTED, "one that blocks");
    for (int i = 0; i < TURNS; i++) {
        CHECK(c, host_suspend(h, g->tid, &not_blocked) == STROBE_OK, "turn %d", i);
        check_native_stack(c, host_walk(h));
        CHECK(c, host_resume(h, g->tid) == STROBE_OK, "turn %d", i);
    }
    CHECK(c, host_resume(h, g->tid) == STROBE_LATE, "one that does not stand");
    CHECK(c, host_walk(h) == 0, "nor is walked");
    open_gate(g);
    await(&g->over);
    CHECK(c, strobe_load_acquire(&g->over), "it is still held");
}

static void whoever_has_a_threads_id_now_is_let_go_at_once(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_host *h = workload_host(c);
    void *other = (char *)g->thread + 64;
    strobe_art_threads_put(h->threads, g->tid, other, g->thin_lock_id);
    CHECK(c, host_suspend(h, g->tid, &not_blocked) == STROBE_UNSUPPORTED, "another Thread");
    strobe_art_threads_put(h->threads, workload_tid(), g->thread, g->thin_lock_id);
    CHECK(c, host_suspend(h, workload_tid(), &not_blocked) == STROBE_UNSUPPORTED, "another kernel thread");
    strobe_art_threads_put(h->threads, NO_TID, other, g->thin_lock_id);
    CHECK(c, host_suspend(h, NO_TID, &not_blocked) == STROBE_GONE, "one that the kernel does not know");
    open_gate(g);
    await(&g->over);
    CHECK(c, strobe_load_acquire(&g->over), "it is held");
}

static void a_thread_that_has_ended_is_gone_for_the_host(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_host *h = workload_host(c);
    strobe_art_threads_put(h->threads, g->tid, g->thread, g->thin_lock_id);
    open_gate(g);
    java_thread_join(&g->java);
    for (int ms = 0; ms < 1000 && host_suspend(h, g->tid, &not_blocked) != STROBE_GONE; ms++)
        workload_pause(1); /* the thread may end in the kernel some time after the join */
    CHECK(c, host_suspend(h, g->tid, &not_blocked) == STROBE_GONE, "without its word");
    strobe_art_threads_end(h->threads, g->tid);
    CHECK(c, host_suspend(h, g->tid, &not_blocked) == STROBE_GONE, "with it");
}

static void the_host_does_not_stop_the_caller(struct contract *c)
{
    struct strobe_art_host *h = workload_host(c);
    strobe_art_threads_put(h->threads, workload_tid(), strobe_art_current(&c->libart), 1);
    CHECK(c, host_suspend(h, workload_tid(), &not_blocked) == STROBE_UNSUPPORTED, "itself");
}

static void the_watchdog_lets_go_of_a_thread_that_stands_too_long(struct contract *c)
{
    struct guest *g = start_in_native(c);
    struct strobe_art_host *h = workload_host(c);
    strobe_art_threads_put(h->threads, g->tid, g->thread, g->thin_lock_id);
    CHECK(c, !strobe_art_host_watch(h), "nobody stands");
    CHECK(c, host_suspend(h, g->tid, &not_blocked) == STROBE_OK, "suspend");
    check_native_stack(c, host_walk(h)); /* after the walk, the watchdog's normal limit applies */
    CHECK(c, !strobe_art_host_watch(h), "not yet");
    open_gate(g);
    workload_pause(STROBE_ART_WATCHDOG_NS / 1000000 + 20);
    CHECK(c, !strobe_load_acquire(&g->over), "it came back by itself");
    CHECK(c, strobe_art_host_watch(h), "now");
    CHECK(c, !strobe_art_host_watch(h), "once");
    await(&g->over);
    CHECK(c, strobe_load_acquire(&g->over), "it did not come back");
    CHECK(c, host_walk(h) == 0, "it is not walked any more");
    CHECK(c, host_resume(h, g->tid) == STROBE_LATE, "the resume reports that it came late");
}

#define CASE(f, needs)                                                                                                 \
    {                                                                                                                  \
#f, f, needs                                                                                                   \
    }
const struct contract_case contract_cases_suspend[] = {
    CASE(discovery_finds_what_the_runtime_holds, 0),
    CASE(without_its_symbol_the_runtime_is_proven_by_what_it_holds, 0),
    CASE(members_at_other_places_are_refused, 0),
    CASE(a_threads_ids_are_those_of_its_thin_locks_and_of_the_kernel, 0),
    CASE(a_running_thread_stands_while_it_is_suspended_and_goes_on_after, 0),
    CASE(a_suspended_thread_is_walked_exactly, 0),
    CASE(the_runtimes_own_methods_are_left_out, 0),
    CASE(a_thread_in_native_code_counts_as_stopped_and_comes_back_only_when_resumed, 0),
    CASE(a_waiting_thread_is_walked_where_it_waits, 0),
    CASE(suspensions_nest, 0),
    CASE(an_id_that_is_nobodys_suspends_nobody, 0),
    CASE(the_host_stops_a_thread_walks_it_and_lets_it_go, 0),
    CASE(whoever_has_a_threads_id_now_is_let_go_at_once, 0),
    CASE(a_thread_that_has_ended_is_gone_for_the_host, 0),
    CASE(the_host_does_not_stop_the_caller, 0),
    CASE(the_watchdog_lets_go_of_a_thread_that_stands_too_long, 0),
    {0},
};
