/* The Mach host, on the fake over real threads: threads stop and resume, whichever call fails. */
#include "engine/backend/mach/host_mach.h"
#include "sim/fake/mach/fake.h"

#include <pthread_np.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { MS = 1000000, PAGE = 4096, SPIN_MS = 5000 };

static struct strobe_mach_host mach;
static struct strobe_host *const host = &mach.host;
static struct strobe_mach_threads *table;
static int64_t rights_before;
static const strobe_a32 not_blocked, is_blocked = 1;

/* A thread that counts, in or out of the kernel, or waits there. */
enum job { COMPUTES, COMPUTES_IN_KERNEL, WAITS_IN_KERNEL, ENDS };
static struct worker {
    pthread_t thread;
    _Atomic int job, does;
    _Atomic uint64_t count;
    uint32_t tid;
    uint64_t stack_low, stack_high;
} worker;

static void *work(void *p)
{
    struct worker *w = p;
    uint64_t id;
    pthread_threadid_np(0, &id);
    w->tid = strobe_mach_tid(id);
    w->stack_high = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(pthread_self());
    w->stack_low = w->stack_high - pthread_get_stacksize_np(pthread_self());
    strobe_mach_threads_put(table, w->tid, mach_thread_self());
    for (int job; (job = atomic_load(&w->job)) != ENDS;) {
        if (job != COMPUTES)
            fake_mach_in_kernel(true, job == WAITS_IN_KERNEL);
        atomic_store(&w->does, job);
        while (atomic_load(&w->job) == job) {
            atomic_fetch_add(&w->count, 1);
            if (job == WAITS_IN_KERNEL)
                usleep(100);
        }
        if (job != COMPUTES)
            fake_mach_in_kernel(false, false);
    }
    return NULL;
}

static void give_job(enum job job)
{
    atomic_store(&worker.job, job);
    while (atomic_load(&worker.does) != (int)job)
        sched_yield();
}

static void end_worker(void)
{
    atomic_store(&worker.job, ENDS);
    pthread_join(worker.thread, NULL);
    worker.thread = 0;
}

static int start(void **state)
{
    (void)state;
    table = calloc(1, sizeof *table);
    rights_before = fake_mach_rights();
    strobe_mach_host_init(&mach, table);
    memset(&worker, 0, sizeof worker);
    atomic_store(&worker.does, -1);
    assert_int_equal(pthread_create(&worker.thread, NULL, work, &worker), 0);
    give_job(COMPUTES);
    return 0;
}

/* Asserts that the test left no suspension and no right. */
static int stop(void **state)
{
    (void)state;
    fake_mach_fail_none();
    assert_int_equal(fake_mach_suspended(), 0);
    if (worker.thread)
        end_worker();
    strobe_mach_threads_clear(table);
    assert_int_equal(fake_mach_rights(), rights_before);
    free(table);
    return 0;
}

static bool moves(unsigned ms)
{
    uint64_t before = atomic_load(&worker.count);
    for (unsigned i = 0; i < ms; i++) {
        if (atomic_load(&worker.count) != before)
            return true;
        usleep(1000);
    }
    return false;
}

static enum strobe_status stop_it(struct strobe_regs *regs)
{
    return host->suspend(host->ctx, worker.tid, &not_blocked, 1000 * (uint64_t)MS, regs);
}

static enum strobe_status resume_it(void)
{
    return host->resume(host->ctx, worker.tid);
}

/* ---- stop and go */

static void a_stopped_thread_stays_at_its_registers_until_it_is_resumed(void **state)
{
    (void)state;
    struct strobe_regs regs;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(stop_it(&regs), STROBE_OK);
        assert_in_range(regs.sp, worker.stack_low, worker.stack_high);
        assert_int_not_equal(regs.pc, 0);
        assert_false(moves(i ? 0 : 20));
        assert_int_equal(resume_it(), STROBE_OK);
    }
    assert_true(moves(SPIN_MS));
}

static void a_thread_that_waits_in_the_kernel_stands_as_well(void **state)
{
    (void)state;
    struct strobe_regs regs;
    give_job(WAITS_IN_KERNEL);
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_in_range(regs.sp, worker.stack_low, worker.stack_high);
    assert_int_equal(resume_it(), STROBE_OK);
}

static void kernel_code_that_runs_on_is_waited_for_up_to_the_limit_and_not_sampled_S42(void **state)
{
    (void)state;
    struct strobe_regs regs;
    give_job(COMPUTES_IN_KERNEL);
    uint64_t read = fake_mach_calls("thread_get_state"), began = host->ticks(host->ctx);
    assert_int_equal(host->suspend(host->ctx, worker.tid, &not_blocked, 5 * MS, &regs), STROBE_LATE);
    assert_true(host->ticks(host->ctx) - began >= strobe_ticks_of_ns(host, 5 * MS));
    assert_int_equal(fake_mach_calls("thread_get_state"), read);
    assert_int_equal(fake_mach_suspended(), 0);
    give_job(COMPUTES);
    assert_true(moves(SPIN_MS)); /* the request does not stop it later, either */
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_int_equal(resume_it(), STROBE_OK);
}

static void a_thread_that_blocks_is_left_alone(void **state)
{
    (void)state;
    struct strobe_regs regs;
    uint64_t suspends = fake_mach_calls("thread_suspend");
    assert_int_equal(host->suspend(host->ctx, worker.tid, &is_blocked, MS, &regs), STROBE_UNSUPPORTED);
    assert_int_equal(fake_mach_calls("thread_suspend"), suspends);
}

static void a_thread_that_is_not_in_the_table_is_left_alone(void **state)
{
    (void)state;
    struct strobe_regs regs;
    uint64_t ns;
    assert_int_equal(host->suspend(host->ctx, worker.tid + 1, &not_blocked, MS, &regs), STROBE_UNSUPPORTED);
    assert_int_equal(host->thread_cpu_ns(host->ctx, worker.tid + 1, &ns), STROBE_UNSUPPORTED);
    assert_false(host->thread_runs(host->ctx, worker.tid + 1));
}

static void a_thread_that_has_ended_is_gone_S41(void **state)
{
    (void)state;
    struct strobe_regs regs;
    uint64_t ns;
    end_worker();
    assert_int_equal(host->thread_cpu_ns(host->ctx, worker.tid, &ns), STROBE_GONE);
    assert_int_equal(stop_it(&regs), STROBE_GONE);
    assert_false(host->thread_runs(host->ctx, worker.tid));
}

static void a_thread_that_ends_at_any_call_of_a_stop_is_gone_S41(void **state)
{
    (void)state;
    static const kern_return_t codes[] = {KERN_TERMINATED, MACH_SEND_INVALID_DEST, KERN_INVALID_ARGUMENT};
    const struct {
        const char *call;
        uint64_t nth;
    } calls[] = {
        {"thread_suspend", 1},
        {"thread_info", 1},
        {"thread_get_state", 1},
    };
    struct strobe_regs regs;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            fake_mach_fail(calls[i].call, calls[i].nth, 1, codes[k]);
            assert_int_equal(stop_it(&regs), STROBE_GONE);
            fake_mach_fail_none();
            assert_int_equal(fake_mach_suspended(), 0);
        }
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_int_equal(resume_it(), STROBE_OK);
}

static void whichever_call_of_a_stop_fails_the_thread_runs_on(void **state)
{
    (void)state;
    struct strobe_regs regs;
    uint64_t n = 0;
    const char *failed;
    do {
        fake_mach_fail_any(++n, KERN_FAILURE);
        enum strobe_status status = stop_it(&regs);
        failed = fake_mach_failed();
        fake_mach_fail_none();
        if (status == STROBE_OK)
            assert_int_equal(resume_it(), STROBE_OK);
        else
            assert_int_equal(status, STROBE_UNSUPPORTED);
        assert_int_equal(fake_mach_suspended(), 0);
    } while (failed);
    assert_true(n > 3);
    assert_true(moves(SPIN_MS));
}

static void an_idle_or_halted_thread_is_resumed_and_not_sampled(void **state)
{
    (void)state;
    static const struct {
        integer_t state, flags;
    } unfit[] = {
        {0, TH_FLAGS_IDLE},
        {TH_STATE_HALTED, 0},
        {TH_STATE_RUNNING, TH_FLAGS_IDLE},
    };
    struct strobe_regs regs;
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        fake_mach_say(unfit[i].state, unfit[i].flags);
        assert_int_equal(stop_it(&regs), STROBE_UNSUPPORTED);
        assert_false(host->thread_runs(host->ctx, worker.tid));
        fake_mach_say(0, 0);
        assert_int_equal(fake_mach_suspended(), 0);
        assert_true(moves(SPIN_MS));
    }
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_int_equal(resume_it(), STROBE_OK);
}

static void suspensions_by_others_count_beside_ours(void **state)
{
    (void)state;
    struct strobe_regs regs;
    mach_port_t port = pthread_mach_thread_np(worker.thread);
    assert_int_equal(thread_suspend(port), KERN_SUCCESS);
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_int_equal(resume_it(), STROBE_OK);
    assert_int_equal(fake_mach_suspended(), 1);
    assert_false(moves(10));
    assert_int_equal(thread_resume(port), KERN_SUCCESS);
    assert_int_equal(thread_resume(port), KERN_FAILURE);
}

/* ---- the watchdog */

/* Moves the begin of the current stop back by `ns`. */
static void pass_time(uint64_t ns)
{
    strobe_store_relaxed(&mach.hold.since, strobe_load_relaxed(&mach.hold.since) -
                                               (strobe_ticks_of_ns(host, ns) & ~(uint64_t)STROBE_HOLD_WALKED));
}

static void a_thread_whose_sampler_died_is_resumed_once_S46(void **state)
{
    (void)state;
    struct strobe_regs regs;
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_false(strobe_mach_host_watch(&mach));
    pass_time(STROBE_MACH_WATCHDOG_NS);
    assert_true(strobe_mach_host_watch(&mach));
    assert_true(moves(SPIN_MS));
    uint64_t resumes = fake_mach_calls("thread_resume");
    assert_false(strobe_mach_host_watch(&mach));
    assert_int_equal(resume_it(), STROBE_LATE); /* so the sampler does not use what it read */
    assert_int_equal(fake_mach_calls("thread_resume"), resumes);
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_int_equal(resume_it(), STROBE_OK);
}

static void a_thread_that_is_walked_in_place_has_a_longer_limit_S46(void **state)
{
    (void)state;
    struct strobe_regs regs;
    assert_int_equal(stop_it(&regs), STROBE_OK);
    assert_int_equal(strobe_hold_walk(&mach.hold), pthread_mach_thread_np(worker.thread));
    pass_time(STROBE_MACH_WATCHDOG_NS);
    assert_false(strobe_mach_host_watch(&mach));
    pass_time(STROBE_MACH_WALK_NS);
    assert_true(strobe_mach_host_watch(&mach));
    strobe_hold_walked(&mach.hold);
    assert_int_equal(resume_it(), STROBE_LATE);
}

static void a_port_that_the_watchdog_is_busy_with_is_kept_until_it_has_done(void **state)
{
    (void)state;
    struct strobe_regs regs;
    uint64_t ns;
    assert_int_equal(stop_it(&regs), STROBE_OK);
    mach_port_t port = (mach_port_t)strobe_hold_claim(&mach.hold); /* as the watchdog; it resumes below */
    strobe_store_relaxed(&mach.watchdog_busy, 1);
    assert_int_equal(resume_it(), STROBE_LATE);
    int64_t rights = fake_mach_rights();
    strobe_mach_threads_drop(table, worker.tid);
    assert_int_equal(fake_mach_rights(), rights);
    assert_int_equal(host->thread_cpu_ns(host->ctx, worker.tid, &ns), STROBE_UNSUPPORTED);
    assert_int_equal(fake_mach_rights(), rights);
    assert_int_equal(thread_resume(port), KERN_SUCCESS);
    strobe_store_release(&mach.watchdog_busy, 0);
    assert_int_equal(host->thread_cpu_ns(host->ctx, worker.tid, &ns), STROBE_UNSUPPORTED);
    assert_int_equal(fake_mach_rights(), rights - 1);
}

/* ---- clocks and memory */

static void ticks_are_those_of_the_system_and_sleep_ends_at_its_deadline(void **state)
{
    (void)state;
    assert_int_equal(host->ticks_per_second, 24000000);
    uint64_t now = host->ticks(host->ctx), deadline = now + strobe_ticks_of_ns(host, 3 * MS);
    host->sleep_until(host->ctx, deadline);
    assert_true(host->ticks(host->ctx) >= deadline);
    host->sleep_until(host->ctx, now); /* a deadline in the past */
}

static void the_time_of_a_thread_and_whether_it_runs_are_fresh_S5(void **state)
{
    (void)state;
    uint64_t before, after = 0;
    assert_int_equal(host->thread_cpu_ns(host->ctx, worker.tid, &before), STROBE_OK);
    assert_true(host->thread_runs(host->ctx, worker.tid));
    for (int i = 0; i < SPIN_MS && after < before + MS; i++) {
        usleep(1000);
        assert_int_equal(host->thread_cpu_ns(host->ctx, worker.tid, &after), STROBE_OK);
    }
    assert_true(after >= before + MS);
    give_job(WAITS_IN_KERNEL);
    for (int i = 0; i < SPIN_MS && host->thread_runs(host->ctx, worker.tid); i++)
        usleep(1000);
    assert_false(host->thread_runs(host->ctx, worker.tid));
}

static void own_time_moves_and_what_is_not_counted_is_zero(void **state)
{
    (void)state;
    struct strobe_usage usage = {1, 1, 1, 1};
    const struct strobe_usage none = {0};
    uint64_t before = host->self_cpu_ns(host->ctx);
    while (host->self_cpu_ns(host->ctx) < before + MS / 10)
        continue;
    host->self_usage(host->ctx, &usage);
    assert_memory_equal(&usage, &none, sizeof none);
}

static void memory_is_read_up_to_where_it_ends(void **state)
{
    (void)state;
    static char out[4 * PAGE];
    size_t copied;
    char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    for (int i = 0; i < 4 * PAGE; i++)
        at[i] = (char)(i * 7);
    munmap(at + 3 * PAGE, PAGE);
    const struct {
        size_t from, bytes, want;
    } cases[] = {
        {0, 3 * PAGE, 3 * PAGE}, {0, 4 * PAGE, 3 * PAGE},        {100, 4 * PAGE, 3 * PAGE - 100},
        {3 * PAGE - 8, 16, 8},   {3 * PAGE - 8, 8, 8},           {3 * PAGE, 8, 0},
        {3 * PAGE + 5, PAGE, 0}, {2 * PAGE + 1, PAGE, PAGE - 1}, {5, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(out, 0x55, sizeof out);
        enum strobe_status status =
            host->read(host->ctx, (uint64_t)(uintptr_t)at + cases[i].from, out, cases[i].bytes, &copied);
        assert_int_equal(status, cases[i].want ? STROBE_OK : STROBE_UNREADABLE);
        assert_int_equal(copied, cases[i].want);
        assert_memory_equal(out, at + cases[i].from, copied);
        for (size_t k = copied; k < sizeof out; k++)
            assert_int_equal(out[k], 0x55);
    }
    munmap(at, 3 * PAGE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(a_stopped_thread_stays_at_its_registers_until_it_is_resumed),
        TEST(a_thread_that_waits_in_the_kernel_stands_as_well),
        TEST(kernel_code_that_runs_on_is_waited_for_up_to_the_limit_and_not_sampled_S42),
        TEST(a_thread_that_blocks_is_left_alone),
        TEST(a_thread_that_is_not_in_the_table_is_left_alone),
        TEST(a_thread_that_has_ended_is_gone_S41),
        TEST(a_thread_that_ends_at_any_call_of_a_stop_is_gone_S41),
        TEST(whichever_call_of_a_stop_fails_the_thread_runs_on),
        TEST(an_idle_or_halted_thread_is_resumed_and_not_sampled),
        TEST(suspensions_by_others_count_beside_ours),
        TEST(a_thread_whose_sampler_died_is_resumed_once_S46),
        TEST(a_thread_that_is_walked_in_place_has_a_longer_limit_S46),
        TEST(a_port_that_the_watchdog_is_busy_with_is_kept_until_it_has_done),
        TEST(ticks_are_those_of_the_system_and_sleep_ends_at_its_deadline),
        TEST(the_time_of_a_thread_and_whether_it_runs_are_fresh_S5),
        TEST(own_time_moves_and_what_is_not_counted_is_zero),
        TEST(memory_is_read_up_to_where_it_ends),
    };
    return cmocka_run_group_tests_name("mach host", tests, NULL, NULL);
}
