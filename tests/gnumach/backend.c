/* Tests of the Mach backend's unchanged sources: its host stops threads of this task, its unwinder walks their
 * stacks, whose frames are known. Each test leaves no suspended thread and no right. */
#include "engine/backend/mach/host_mach.h"
#include "tests/gnumach/task.h"

#include <string.h>

enum { WORKERS = 4, FRAMES_MAX = 64, DEPTH_MAX = 40, ROUNDS = 100 };

/* A thread that makes `depth` calls from its first function on, and then computes or waits. */
struct worker {
    unsigned depth;
    mach_port_t gate; /* port at which it waits for a message; without one, it computes */
    strobe_a32 ready, quit, turns;
    uint32_t made;              /* frames up to the function that computes or waits */
    uint64_t frame[FRAMES_MAX]; /* their return addresses, outermost first */
    thread_act_t port;
    uint32_t tid;
};

static struct worker workers[WORKERS];
static unsigned started;
static struct strobe_mach_host host;

/* ---- work of workers; the linker defines the begin and end of a section ---- */

#define PART(name) __attribute__((noinline, section("of_" #name)))
extern const char __start_of_spin[], __stop_of_spin[], __start_of_step[], __stop_of_step[];

static void note_frame(struct worker *w, const void *return_address)
{
    w->frame[w->made++] = (uintptr_t)return_address;
}

PART(step) static void step(struct worker *w)
{
    strobe_bump(&w->turns, 1);
}

/* Called through a pointer, so that the code does not prove the caller. */
static void (*volatile call_step)(struct worker *) = step;

PART(spin) static void spin(struct worker *w)
{
    note_frame(w, __builtin_return_address(0));
    strobe_store_release(&w->ready, 1);
    while (!strobe_load_relaxed(&w->quit))
        call_step(w);
}

__attribute__((noinline)) static void wait_for_message(struct worker *w)
{
    note_frame(w, __builtin_return_address(0));
    strobe_store_release(&w->ready, 1);
    gate_wait(w->gate);
    strobe_bump(&w->turns, 1);
}

__attribute__((noinline)) static void climb(struct worker *w, unsigned left)
{
    note_frame(w, __builtin_return_address(0));
    if (left)
        climb(w, left - 1);
    else if (w->gate)
        wait_for_message(w);
    else
        spin(w);
    strobe_bump(&w->turns, 1);
}

static void work(void *arg)
{
    struct worker *w = arg;
    note_frame(w, __builtin_return_address(0));
    climb(w, w->depth);
    strobe_bump(&w->turns, 1);
}

static bool becomes(const strobe_a32 *word, uint32_t was)
{
    for (int i = 0; i < 200 && strobe_load_acquire(word) == was; i++)
        thread_pass(10);
    return strobe_load_acquire(word) != was;
}

static uint32_t tid_of(thread_act_t port)
{
    struct thread_identifier_info id;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    kern_return_t kr = thread_info(port, THREAD_IDENTIFIER_INFO, (thread_info_t)&id, &count);
    return kr == KERN_SUCCESS ? strobe_mach_tid(id.thread_id) : 0;
}

static bool begin(struct worker *w, unsigned depth, mach_port_t gate)
{
    memset(w, 0, sizeof *w);
    w->depth = depth;
    w->gate = gate;
    w->port = thread_start((unsigned)(w - workers), work, w);
    if (w->port == MACH_PORT_NULL)
        return false;
    w->tid = tid_of(w->port);
    return becomes(&w->ready, 0);
}

/* Starts the next worker. NULL: it could not be started. */
static struct worker *start(unsigned depth, mach_port_t gate)
{
    struct worker *w = &workers[started++];
    return begin(w, depth, gate) ? w : NULL;
}

static void stop(struct worker *w)
{
    strobe_store_relaxed(&w->quit, 1);
    if (w->gate && strobe_load_relaxed(&w->turns) == 0)
        gate_open(w->gate);
    thread_join((unsigned)(w - workers));
    w->port = MACH_PORT_NULL;
}

/* ---- steps of the sampler ---- */

static unsigned found_count;

static void note_found(void *ctx, const struct strobe_mach_found *found)
{
    (void)ctx;
    for (unsigned i = 0; i < started; i++)
        found_count += workers[i].tid == found->tid && workers[i].port == found->port;
}

/* Returns how many workers the table found as new. */
static unsigned look(void)
{
    found_count = 0;
    strobe_mach_threads_look(host.threads, note_found, NULL);
    return found_count;
}

struct stack {
    uint64_t frame[FRAMES_MAX];
    uint64_t *first; /* outermost */
    uint32_t count;
    enum strobe_walk_end end;
};

enum bounds { KNOWN, UNKNOWN };

/* Stops a thread, walks it and resumes it. */
static enum strobe_status take(struct worker *w, enum bounds bounds, uint32_t max, struct stack *s)
{
    static const strobe_a32 not_blocked;
    const struct strobe_unwinder *u = &strobe_unwinder_mach;
    const struct strobe_host *h = &host.host;
    struct strobe_window window = {0, 0, 0, 0};
    struct strobe_stack_top top = {0, 0, {0}};
    struct strobe_regs regs;
    uintptr_t low, high;
    enum strobe_status status = h->suspend(h->ctx, w->tid, &not_blocked, 1000000000, &regs);
    if (status != STROBE_OK)
        return status;
    if (bounds == KNOWN && thread_stack((uintptr_t)regs.sp, &low, &high))
        window = (struct strobe_window){regs.sp, high, 0, 0};
    s->end = u->stopped(h, &regs, &window, &top, s->frame + FRAMES_MAX, max, &s->count);
    status = h->resume(h->ctx, w->tid);
    s->end = u->resumed(h, &regs, &top, s->end, s->frame + FRAMES_MAX, max, &s->count);
    s->first = s->frame + FRAMES_MAX - s->count;
    return status;
}

static bool in(uint64_t address, const char *begin, const char *end)
{
    return address > (uintptr_t)begin && address <= (uintptr_t)end; /* as for return addresses */
}

/* True when the frames are those that the thread noted, followed by the function that computes, and possibly by the
 * function that it calls. */
static bool is_exact(const struct worker *w, const struct stack *s)
{
    if (s->count < w->made + 1 || s->count > w->made + 2 || s->end != STROBE_WALK_ROOT)
        return false;
    for (uint32_t i = 0; i < w->made; i++)
        if (s->first[i] != w->frame[i])
            return false;
    if (!in(s->first[w->made], __start_of_spin, __stop_of_spin))
        return false;
    return s->count == w->made + 1 || in(s->first[w->made + 1], __start_of_step, __stop_of_step);
}

static int suspend_count(thread_act_t port)
{
    struct thread_basic_info info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    return thread_info(port, THREAD_BASIC_INFO, (thread_info_t)&info, &count) ? -1 : info.suspend_count;
}

/* ---- tests ---- */

static const unsigned depths[WORKERS] = {0, 3, 12, DEPTH_MAX};

static const char *finds_threads(void)
{
    for (unsigned i = 0; i < 3; i++)
        REQUIRE(start(depths[i], MACH_PORT_NULL));
    REQUIRE(look() == 3);
    REQUIRE(look() == 0);
    REQUIRE(start(1, MACH_PORT_NULL));
    REQUIRE(look() == 1);
    return NULL;
}

static const char *stacks_are_exact(enum bounds bounds)
{
    struct stack s;
    for (unsigned i = 0; i < WORKERS; i++)
        REQUIRE(start(depths[i], MACH_PORT_NULL));
    REQUIRE(look() == WORKERS);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct worker *w = &workers[round % WORKERS];
        REQUIRE(take(w, bounds, FRAMES_MAX, &s) == STROBE_OK);
        REQUIRE(is_exact(w, &s));
        if (round % WORKERS == WORKERS - 1)
            thread_pass(1);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        REQUIRE(suspend_count(workers[i].port) == 0 && becomes(&workers[i].turns, workers[i].turns));
    return NULL;
}

/* True before the function has pushed its caller's frame pointer, before it has set its own, and at its return. */
static bool has_no_record(uint64_t innermost)
{
    uint64_t pc = innermost - 1;
    return pc == (uintptr_t)step || pc == (uintptr_t)step + 1 || pc == (uintptr_t)__stop_of_step - 1;
}

/* Varies the time between rounds. Otherwise clock ticks would interrupt the thread at the same instructions again
 * and again. */
static void dawdle(unsigned round)
{
    for (volatile unsigned i = 0; i < 7 * round; i++)
        continue;
}

static const char *caller_without_record(void)
{
    struct worker *w = start(2, MACH_PORT_NULL);
    struct stack s;
    uint32_t met = 0;
    REQUIRE(w && look() == 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        dawdle(round);
        thread_pass(1);
        REQUIRE(take(w, round % 2 ? KNOWN : UNKNOWN, FRAMES_MAX, &s) == STROBE_OK);
        REQUIRE(is_exact(w, &s));
        met += has_no_record(s.first[s.count - 1]);
    }
    REQUIRE(met > 0);
    return NULL;
}

static const char *exact_in_place(void)
{
    return stacks_are_exact(KNOWN);
}
static const char *exact_without_bounds(void)
{
    return stacks_are_exact(UNKNOWN);
}

static const char *cut_keeps_the_innermost(void)
{
    struct worker *w = start(DEPTH_MAX, MACH_PORT_NULL);
    struct stack s;
    REQUIRE(w && look() == 1);
    REQUIRE(take(w, KNOWN, 10, &s) == STROBE_OK);
    REQUIRE(s.end == STROBE_WALK_CUT && s.count == 10);
    REQUIRE(in(s.first[9], __start_of_spin, __stop_of_spin) || in(s.first[9], __start_of_step, __stop_of_step));
    return NULL;
}

static const char *waiting_thread(void)
{
    mach_port_t gate;
    REQUIRE(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &gate) == KERN_SUCCESS);
    struct worker *w = start(5, gate);
    struct stack s;
    REQUIRE(w);
    thread_pass(20);
    REQUIRE(look() == 1);
    for (int i = 0; i < 10; i++) {
        REQUIRE(take(w, i % 2 ? KNOWN : UNKNOWN, FRAMES_MAX, &s) == STROBE_OK);
        REQUIRE(s.end == STROBE_WALK_ROOT && s.count > w->made + 1);
        for (uint32_t f = 0; f < w->made; f++)
            REQUIRE(s.first[f] == w->frame[f]);
        REQUIRE(in(s.first[s.count - 1], (const char *)mach_msg_trap, (const char *)mach_msg_trap + 13));
    }
    uint32_t turns = strobe_load_relaxed(&w->turns);
    REQUIRE(turns == 0);
    gate_open(gate);
    REQUIRE(becomes(&w->turns, 0));
    stop(w);
    REQUIRE(mach_port_mod_refs(mach_task_self(), gate, MACH_PORT_RIGHT_RECEIVE, -1) == KERN_SUCCESS);
    return NULL;
}

static const char *suspensions_of_others_stay(void)
{
    struct worker *w = start(2, MACH_PORT_NULL);
    struct stack s;
    REQUIRE(w && look() == 1);
    REQUIRE(thread_suspend(w->port) == KERN_SUCCESS);
    REQUIRE(take(w, KNOWN, FRAMES_MAX, &s) == STROBE_OK && is_exact(w, &s));
    REQUIRE(suspend_count(w->port) == 1);
    REQUIRE(thread_resume(w->port) == KERN_SUCCESS);
    REQUIRE(becomes(&w->turns, strobe_load_relaxed(&w->turns)));
    return NULL;
}

static const char *watchdog_lets_go(void)
{
    static const strobe_a32 not_blocked;
    const struct strobe_host *h = &host.host;
    struct strobe_regs regs;
    struct worker *w = start(2, MACH_PORT_NULL);
    REQUIRE(w && look() == 1);
    REQUIRE(!strobe_mach_host_watch(&host));
    REQUIRE(h->suspend(h->ctx, w->tid, &not_blocked, 1000000000, &regs) == STROBE_OK);
    REQUIRE(!strobe_mach_host_watch(&host));
    uint32_t turns = strobe_load_relaxed(&w->turns);
    thread_pass((unsigned)(STROBE_MACH_WATCHDOG_NS / 1000000u) + 50);
    REQUIRE(strobe_load_relaxed(&w->turns) == turns && suspend_count(w->port) == 1);
    REQUIRE(strobe_mach_host_watch(&host));
    REQUIRE(suspend_count(w->port) == 0 && becomes(&w->turns, turns));
    REQUIRE(!strobe_mach_host_watch(&host));
    REQUIRE(h->resume(h->ctx, w->tid) == STROBE_LATE);
    REQUIRE(suspend_count(w->port) == 0);
    return NULL;
}

static const char *ended_thread_is_gone(void)
{
    struct worker *w = start(2, MACH_PORT_NULL);
    struct stack s;
    uint64_t cpu_ns;
    REQUIRE(w && look() == 1);
    stop(w);
    REQUIRE(take(w, KNOWN, FRAMES_MAX, &s) == STROBE_GONE);
    look();
    look();
    REQUIRE(take(w, KNOWN, FRAMES_MAX, &s) == STROBE_GONE);
    REQUIRE(host.host.thread_cpu_ns(host.host.ctx, w->tid, &cpu_ns) == STROBE_GONE);
    return NULL;
}

static const char *threads_come_and_go(void)
{
    enum { CHANGES = 24 };
    struct stack s;
    for (unsigned i = 0; i < WORKERS; i++)
        REQUIRE(start(depths[i], MACH_PORT_NULL));
    for (unsigned i = 0; i < CHANGES; i++) {
        struct worker *w = &workers[i % WORKERS];
        look();
        REQUIRE(take(w, KNOWN, FRAMES_MAX, &s) == STROBE_OK && is_exact(w, &s));
        stop(w);
        REQUIRE(take(w, KNOWN, FRAMES_MAX, &s) == STROBE_GONE);
        REQUIRE(begin(w, depths[i % WORKERS], MACH_PORT_NULL));
    }
    return NULL;
}

static vm_size_t task_bytes(void)
{
    struct task_basic_info info;
    mach_msg_type_number_t count = TASK_BASIC_INFO_COUNT;
    return task_info(mach_task_self(), TASK_BASIC_INFO, (task_info_t)&info, &count) ? 0 : info.virtual_size;
}

static const char *looks_and_walks_keep_no_memory(void)
{
    struct worker *w = start(3, MACH_PORT_NULL);
    struct stack s;
    REQUIRE(w && look() == 1);
    vm_size_t bytes = task_bytes();
    REQUIRE(bytes > 0);
    for (int i = 0; i < 20; i++) {
        look();
        REQUIRE(take(w, UNKNOWN, FRAMES_MAX, &s) == STROBE_OK);
    }
    REQUIRE(task_bytes() == bytes);
    return NULL;
}

static const char *time_of_threads(void)
{
    struct worker *w = start(2, MACH_PORT_NULL);
    const struct strobe_host *h = &host.host;
    uint64_t was, is;
    REQUIRE(w && look() == 1);
    REQUIRE(h->thread_cpu_ns(h->ctx, w->tid, &was) == STROBE_OK);
    thread_pass(100);
    REQUIRE(h->thread_cpu_ns(h->ctx, w->tid, &is) == STROBE_OK && is > was);
    REQUIRE(thread_suspend(w->port) == KERN_SUCCESS);
    REQUIRE(h->thread_cpu_ns(h->ctx, w->tid, &was) == STROBE_OK);
    thread_pass(100);
    REQUIRE(h->thread_cpu_ns(h->ctx, w->tid, &is) == STROBE_OK && is == was);
    REQUIRE(thread_resume(w->port) == KERN_SUCCESS);
    return NULL;
}

static const char *reads_what_can_be_read(void)
{
    const struct strobe_host *h = &host.host;
    vm_address_t at = 0;
    uint32_t out[4];
    size_t copied;
    REQUIRE(vm_allocate(mach_task_self(), &at, (vm_size_t)3 * TASK_PAGE, VM_FLAGS_ANYWHERE) == KERN_SUCCESS);
    REQUIRE(vm_deallocate(mach_task_self(), at + TASK_PAGE, TASK_PAGE) == KERN_SUCCESS);
    *(uint32_t *)(at + TASK_PAGE - 4) = 77;
    REQUIRE(h->read(h->ctx, at + TASK_PAGE - 4, out, sizeof out, &copied) == STROBE_OK && copied == 4 && out[0] == 77);
    REQUIRE(h->read(h->ctx, at + TASK_PAGE, out, sizeof out, &copied) == STROBE_UNREADABLE);
    REQUIRE(h->read(h->ctx, at, out, sizeof out, &copied) == STROBE_OK && copied == sizeof out && out[0] == 0);
    REQUIRE(vm_deallocate(mach_task_self(), at, TASK_PAGE) == KERN_SUCCESS);
    REQUIRE(vm_deallocate(mach_task_self(), at + 2 * TASK_PAGE, TASK_PAGE) == KERN_SUCCESS);
    return NULL;
}

static const char *sleeps_until(void)
{
    const struct strobe_host *h = &host.host;
    uint64_t deadline = h->ticks(h->ctx) + strobe_ticks_of_ns(h, 50000000);
    h->sleep_until(h->ctx, deadline);
    REQUIRE(h->ticks(h->ctx) >= deadline);
    return NULL;
}

const struct task_test backend_tests[] = {
    {"the table finds each thread once", finds_threads},
    {"stacks that are walked in place are exact", exact_in_place},
    {"stacks whose bounds are not known are exact", exact_without_bounds},
    {"the caller of a function that has no frame record, yet or any more, is in its place", caller_without_record},
    {"a cut stack keeps its innermost frames", cut_keeps_the_innermost},
    {"the stack of a thread that waits in the kernel leads to its call, and the wait goes on", waiting_thread},
    {"a thread that others suspended stays suspended", suspensions_of_others_stay},
    {"the watchdog lets a thread go that the sampler forgot", watchdog_lets_go},
    {"a thread that has ended is gone", ended_thread_is_gone},
    {"threads that come and go are found, walked, and gone", threads_come_and_go},
    {"looks and walks keep no memory", looks_and_walks_keep_no_memory},
    {"CPU time of a thread grows while it runs, and not while it stands", time_of_threads},
    {"a read gives what is mapped, up to where it ends", reads_what_can_be_read},
    {"a sleep ends at its deadline, not before", sleeps_until},
    {NULL, NULL},
};

/* ---- around each test ---- */

const char *backend_check(const struct task_test *test)
{
    vm_address_t table = 0;
    vm_size_t bytes = sizeof(struct strobe_mach_threads);
    unsigned names = task_names();
    started = 0;
    REQUIRE(vm_allocate(mach_task_self(), &table, bytes, VM_FLAGS_ANYWHERE) == KERN_SUCCESS);
    strobe_mach_host_init(&host, (struct strobe_mach_threads *)table);
    const char *wrong = test->check();
    for (unsigned i = 0; i < started; i++)
        if (workers[i].port != MACH_PORT_NULL)
            stop(&workers[i]);
    strobe_mach_threads_clear(host.threads);
    vm_deallocate(mach_task_self(), table, bytes);
    if (!wrong && task_names() != names)
        wrong = "rights are left behind";
    return wrong;
}
