/* Stopping real threads on Linux: they stop and resume, and no event in between leaves a thread stopped.
 *
 * alone: a thread that waits for a processor can't be stopped in time. */
#include "engine/backend/linux/handshake.h"
#include "engine/backend/linux/host_linux.h"
#include "engine/base/hint.h"
#include "engine/capture/walk_fp.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/support/trial.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct strobe_linux linux_host;
static strobe_a32 unblocked;
static const uint64_t SECOND = 1000000000;

/* A thread that counts: the count shows whether it runs. It settles when it is asked to. */
struct counter {
    pthread_t thread;
    strobe_a32 tid, stop, block, settle;
    strobe_a64 count, slept; /* slept: how often it slept in the last settle */
    strobe_a64 frame;        /* address of count_up's frame */
};

/* A thread that sleeps gives up its processor, which the kernel counts. */
static uint64_t sleeps_so_far(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_nvcsw;
}

/* Returns how often the calling thread slept in it. */
static uint64_t settle(uint32_t tid)
{
    uint64_t before = sleeps_so_far();
    linux_host.host.settle(&linux_host, tid);
    return sleeps_so_far() - before;
}

static void *count_up(void *p)
{
    struct counter *c = p;
    unsigned long all = ~0ul;
    if (strobe_load_relaxed(&c->block)) /* a raw call, as of a program that bypasses the C library */
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8);
    strobe_store_relaxed(&c->frame, (uint64_t)(uintptr_t)__builtin_frame_address(0));
    strobe_store_release(&c->tid, (uint32_t)syscall(SYS_gettid));
    while (!strobe_load_relaxed(&c->stop)) {
        strobe_bump(&c->count, 1);
        if (strobe_load_relaxed(&c->settle)) {
            strobe_store_relaxed(&c->slept, settle(strobe_load_relaxed(&c->tid)));
            strobe_store_release(&c->settle, 0);
        }
    }
    return NULL;
}

static void counter_start(struct counter *c)
{
    pthread_create(&c->thread, NULL, count_up, c);
    while (!strobe_load_acquire(&c->tid))
        sched_yield();
}

static void counter_stop(struct counter *c)
{
    strobe_store_relaxed(&c->stop, 1);
    pthread_join(c->thread, NULL);
}

static bool moves(struct counter *c)
{
    uint64_t before = strobe_load_relaxed(&c->count);
    for (int i = 0; i < 2000; i++) {
        usleep(1000);
        if (strobe_load_relaxed(&c->count) != before)
            return true;
    }
    return false;
}

static uint64_t now_ns(void)
{
    return linux_host.host.ticks(&linux_host);
}

static uint64_t asked_ns; /* time of the last request to stop */

static enum strobe_status stop(struct counter *c, struct strobe_regs *regs)
{
    asked_ns = now_ns();
    return linux_host.host.suspend(&linux_host, strobe_load_relaxed(&c->tid), &unblocked, 5 * SECOND, regs);
}

static enum strobe_status go(struct counter *c)
{
    return linux_host.host.resume(&linux_host, strobe_load_relaxed(&c->tid));
}

/* Resumes the thread and returns true when it stood until then. On a busy machine this thread may come so late that
 * the watchdog has resumed the other one. */
static bool stood_until_now(struct counter *c)
{
    enum strobe_status status = go(c);
    if (status != STROBE_OK) {
        assert_int_equal(status, STROBE_LATE);
        assert_true(now_ns() - asked_ns >= STROBE_LINUX_WATCHDOG_NS);
    }
    return status == STROBE_OK;
}

/* The race detector delays signals until the thread calls into it, so the thread stops later and elsewhere. */
enum { SIGNALS_ARE_PROMPT = !THREAD_SANITIZER };

static void needs_prompt_signals(void)
{
    if (!SIGNALS_ARE_PROMPT)
        skip();
}

/* Returns true when the chain of frames of the stopped thread begins in count_up, or in one or two calls by it. */
static STROBE_READS_STACKS bool leads_to_count_up(const struct counter *c, uint64_t fp, uint64_t sp)
{
    for (int calls = 0; calls < 3 && fp >= sp && fp - sp < 4096; calls++) {
        if (fp == strobe_load_relaxed(&c->frame))
            return true;
        fp = *(const uint64_t *)(uintptr_t)fp;
    }
    return false;
}

static void a_stopped_thread_does_not_run_and_a_resumed_one_does(void **state)
{
    struct counter c = {0};
    struct strobe_regs regs;
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(stop(&c, &regs), STROBE_OK);
        uint64_t at = strobe_load_relaxed(&c.count);
        sched_yield();
        uint64_t later = strobe_load_relaxed(&c.count);
        bool in_count_up = leads_to_count_up(&c, regs.fp, regs.sp);
        if (stood_until_now(&c)) {
            assert_int_equal(later, at);
            assert_true(in_count_up);
        }
        uint64_t pc = regs.pc, routine = (uint64_t)(uintptr_t)count_up;
        assert_in_range(pc - routine + 4096, 0, 8192); /* in its loop, or in a function that the loop calls */
    }
    assert_true(moves(&c));
    counter_stop(&c);
}

/* One round in time is enough: without the wake-up each round takes the watchdog's time. The bound is a quarter of
 * that. A false alarm needs 20 rounds that all take 50 ms. It is rarer than 1 in 10^6 as long as half of them take
 * less. */
static void a_resumed_thread_does_not_wait_for_its_watchdog(void **state)
{
    struct counter c = {0};
    struct strobe_regs regs;
    uint64_t least = UINT64_MAX;
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(stop(&c, &regs), STROBE_OK);
        usleep(1000); /* by then the stopped thread sleeps */
        uint64_t at = strobe_load_relaxed(&c.count), began = now_ns();
        stood_until_now(&c);
        while (strobe_load_relaxed(&c.count) == at)
            sched_yield();
        uint64_t took = now_ns() - began;
        least = took < least ? took : least;
    }
    assert_true(least < STROBE_LINUX_WATCHDOG_NS / 4);
    counter_stop(&c);
}

static void a_blocked_word_set_in_time_keeps_the_thread_undisturbed(void **state)
{
    struct counter c = {0};
    struct strobe_regs regs;
    strobe_a32 blocked = 1;
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    assert_int_equal(linux_host.host.suspend(&linux_host, strobe_load_relaxed(&c.tid), &blocked, SECOND, &regs),
                     STROBE_UNSUPPORTED);
    assert_true(moves(&c));
    assert_int_equal(stop(&c, &regs), STROBE_OK);
    go(&c);
    counter_stop(&c);
}

static void a_thread_that_has_ended_is_reported_as_gone(void **state)
{
    struct counter c = {0};
    struct strobe_regs regs;
    uint64_t cpu;
    (void)state;
    needs_prompt_signals();
    if (strobe_trial_emulated())
        skip();
    counter_start(&c);
    counter_stop(&c);
    /* A joined thread is still a thread to the kernel for a moment. */
    while (syscall(SYS_tgkill, getpid(), strobe_load_relaxed(&c.tid), 0) == 0)
        sched_yield();
    assert_int_equal(stop(&c, &regs), STROBE_GONE);
    assert_int_equal(linux_host.host.thread_cpu_ns(&linux_host, strobe_load_relaxed(&c.tid), &cpu), STROBE_GONE);
}

static void a_thread_that_blocks_all_signals_is_late_and_never_stops_later(void **state)
{
    struct counter c = {.block = 1}, other = {0};
    struct strobe_regs regs;
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    counter_start(&other);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            linux_host.host.suspend(&linux_host, strobe_load_relaxed(&c.tid), &unblocked, SECOND / 100, &regs),
            STROBE_LATE);
    assert_int_equal(stop(&other, &regs), STROBE_OK);
    go(&other);
    assert_true(moves(&c));
    counter_stop(&other);
    counter_stop(&c);
}

static void a_sampler_that_dies_leaves_no_thread_standing_S46(void **state)
{
    struct counter c = {0};
    struct strobe_regs regs;
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    assert_int_equal(stop(&c, &regs), STROBE_OK);
    /* The watchdog resumes the thread. */
    assert_true(moves(&c));
    assert_int_equal(go(&c), STROBE_LATE); /* the late sampler learns that its data is not valid */
    assert_int_equal(stop(&c, &regs), STROBE_OK);
    stood_until_now(&c);
    counter_stop(&c);
}

static void settle_does_not_sleep_unless_a_request_to_the_thread_is_pending(void **state)
{
    struct counter c = {0};
    struct strobe_regs regs;
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    assert_int_equal(stop(&c, &regs), STROBE_OK);
    assert_int_equal(settle(self), 0); /* the request is to the other thread */
    stood_until_now(&c);
    strobe_store_relaxed(&c.settle, 1); /* the request is over */
    while (strobe_load_acquire(&c.settle))
        sched_yield();
    assert_int_equal(strobe_load_relaxed(&c.slept), 0);
    counter_stop(&c);
}

static void memory_is_read_up_to_the_first_hole_and_never_faults_S41(void **state)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char out[3 * 4096];
    size_t copied;
    (void)state;
    pages[0] = 'a';
    pages[8191] = 'z';
    mprotect(pages + 2 * 4096, 4096, PROT_NONE);
    const struct strobe_host *h = &linux_host.host;
    assert_int_equal(h->read(h->ctx, (uint64_t)(uintptr_t)pages, out, sizeof out, &copied), STROBE_OK);
    /* An emulated program reads by another call, which reads protected memory too. */
    assert_int_equal(copied, strobe_trial_emulated() ? 3 * 4096 : 2 * 4096);
    assert_int_equal(out[0], 'a');
    assert_int_equal(out[8191], 'z');
    munmap(pages, 4096);
    assert_int_equal(h->read(h->ctx, (uint64_t)(uintptr_t)pages, out, 100, &copied), STROBE_UNREADABLE);
    assert_int_equal(h->read(h->ctx, 8, out, 8, &copied), STROBE_UNREADABLE);
    munmap(pages + 4096, 2 * 4096);
}

static void the_stop_signal_is_only_heeded_from_ourselves(void **state)
{
    struct counter c = {0};
    (void)state;
    needs_prompt_signals();
    counter_start(&c);
    for (int i = 0; i < 10; i++)
        pthread_kill(c.thread, linux_host.signal);
    assert_true(moves(&c));
    counter_stop(&c);
}

static int start(void **state)
{
    (void)state;
    strobe_linux_init(&linux_host, clock_gettime);
    int number = strobe_trial_emulated() ? SIGRTMAX - 2 : 0;
    return strobe_linux_take_signal(&linux_host, number, sigaction, NULL) == STROBE_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_thread_does_not_run_and_a_resumed_one_does),
        cmocka_unit_test(a_resumed_thread_does_not_wait_for_its_watchdog),
        cmocka_unit_test(a_blocked_word_set_in_time_keeps_the_thread_undisturbed),
        cmocka_unit_test(a_thread_that_has_ended_is_reported_as_gone),
        cmocka_unit_test(a_thread_that_blocks_all_signals_is_late_and_never_stops_later),
        cmocka_unit_test(a_sampler_that_dies_leaves_no_thread_standing_S46),
        cmocka_unit_test(settle_does_not_sleep_unless_a_request_to_the_thread_is_pending),
        cmocka_unit_test(memory_is_read_up_to_the_first_hole_and_never_faults_S41),
        cmocka_unit_test(the_stop_signal_is_only_heeded_from_ourselves),
    };
    return cmocka_run_group_tests_name("suspend", tests, start, NULL);
}
