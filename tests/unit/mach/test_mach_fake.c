/* The fake Mach over real threads: properties of ports, suspensions, memory and faults that tests/contract_mach does
 * not check. */
#include "sim/fake/mach/kernel.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* A thread that counts: the count shows whether it runs. */
struct counter {
    pthread_t thread;
    mach_port_t port;
    _Atomic bool end, in_kernel, inside;
    _Atomic uint64_t count, started;
};

static void *count_up(void *p)
{
    struct counter *c = p;
    atomic_store(&c->started, 1);
    while (!atomic_load(&c->end)) {
        atomic_fetch_add(&c->count, 1);
        if (atomic_load(&c->in_kernel)) {
            fake_mach_in_kernel(true, false);
            atomic_store(&c->inside, true);
            while (atomic_load(&c->in_kernel))
                atomic_fetch_add(&c->count, 1);
            fake_mach_in_kernel(false, false);
            atomic_store(&c->inside, false);
        }
    }
    return NULL;
}

static void begin(struct counter *c)
{
    memset(c, 0, sizeof *c);
    assert_int_equal(pthread_create(&c->thread, NULL, count_up, c), 0);
    while (!atomic_load(&c->started))
        sched_yield();
    c->port = pthread_mach_thread_np(c->thread);
    assert_int_not_equal(c->port, MACH_PORT_NULL);
}

static void finish(struct counter *c)
{
    atomic_store(&c->end, true);
    pthread_join(c->thread, NULL);
}

static bool moves_within(struct counter *c, unsigned ms)
{
    uint64_t before = atomic_load(&c->count);
    for (unsigned i = 0; i < ms; i++) {
        if (atomic_load(&c->count) != before)
            return true;
        usleep(1000);
    }
    return false;
}

static struct thread_basic_info basic(mach_port_t port)
{
    struct thread_basic_info info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    assert_int_equal(thread_info(port, THREAD_BASIC_INFO, (thread_info_t)&info, &count), KERN_SUCCESS);
    assert_int_equal(count, THREAD_BASIC_INFO_COUNT);
    return info;
}

/* ---- suspensions */

static void a_suspended_thread_is_stopped_until_it_is_resumed_as_often(void **state)
{
    (void)state;
    struct counter c;
    begin(&c);
    assert_int_equal(thread_resume(c.port), KERN_FAILURE);
    assert_int_equal(thread_suspend(c.port), KERN_SUCCESS);
    assert_int_equal(thread_suspend(c.port), KERN_SUCCESS);
    assert_int_equal(basic(c.port).suspend_count, 2);
    assert_int_equal(fake_mach_holds(), 2);
    assert_false(moves_within(&c, 10));
    assert_int_equal(thread_resume(c.port), KERN_SUCCESS);
    assert_false(moves_within(&c, 10));
    assert_int_equal(fake_mach_suspended(), 1);
    assert_int_equal(thread_resume(c.port), KERN_SUCCESS);
    assert_true(moves_within(&c, 5000));
    assert_int_equal(thread_resume(c.port), KERN_FAILURE);
    assert_int_equal(fake_mach_holds(), 0);
    assert_int_equal(fake_mach_suspended(), 0);
    finish(&c);
}

static void each_kernel_calls_a_stopped_thread_by_its_own_name(void **state)
{
    (void)state;
    struct counter c;
    begin(&c);
    assert_int_equal(thread_suspend(c.port), KERN_SUCCESS);
    assert_int_equal(basic(c.port).run_state, TH_STATE_WAITING);
    fake_mach_kernel(FAKE_MACH_GNU);
    assert_int_equal(basic(c.port).run_state, TH_STATE_STOPPED);
    fake_mach_kernel(FAKE_MACH_XNU);
    assert_int_equal(thread_resume(c.port), KERN_SUCCESS);
    assert_int_equal(basic(c.port).run_state, TH_STATE_RUNNING);
    finish(&c);
}

static void a_thread_in_the_kernel_runs_on_after_a_suspend_until_it_comes_out(void **state)
{
    (void)state;
    struct counter c;
    begin(&c);
    atomic_store(&c.in_kernel, true);
    while (!atomic_load(&c.inside))
        sched_yield();
    assert_int_equal(thread_suspend(c.port), KERN_SUCCESS);
    assert_int_equal(basic(c.port).run_state, TH_STATE_RUNNING);
    assert_int_equal(basic(c.port).suspend_count, 1);
    assert_true(moves_within(&c, 5000));
    atomic_store(&c.in_kernel, false);
    while (basic(c.port).run_state == TH_STATE_RUNNING)
        sched_yield();
    assert_true(atomic_load(&c.inside)); /* it is stopped at its exit from the kernel */
    assert_false(moves_within(&c, 10));
    assert_int_equal(thread_resume(c.port), KERN_SUCCESS);
    assert_true(moves_within(&c, 5000));
    finish(&c);
}

static uint64_t pc_of(mach_port_t port)
{
    fake_mach_registers r;
    mach_msg_type_number_t count = FAKE_MACH_STATE_COUNT;
    assert_int_equal(thread_get_state(port, FAKE_MACH_STATE, (thread_state_t)&r, &count), KERN_SUCCESS);
    assert_int_equal(count, FAKE_MACH_STATE_COUNT);
#if defined(__aarch64__)
    return r.__pc;
#else
    return r.__rip;
#endif
}

static void the_registers_of_a_running_thread_are_read_and_it_runs_on(void **state)
{
    (void)state;
    struct counter c;
    begin(&c);
    assert_true(pc_of(c.port) > 4096);
    assert_true(moves_within(&c, 5000));
    assert_int_equal(fake_mach_suspended(), 0);
    finish(&c);
}

/* ---- ports */

static void rights_are_given_back_to_the_last(void **state)
{
    (void)state;
    struct counter c[3];
    int64_t before = fake_mach_rights();
    for (int i = 0; i < 3; i++)
        begin(&c[i]);
    for (int round = 0; round < 20; round++) {
        thread_act_array_t list;
        mach_msg_type_number_t count;
        assert_int_equal(task_threads(mach_task_self(), &list, &count), KERN_SUCCESS);
        assert_true(count >= 4);
        assert_int_equal(fake_mach_rights(), before + count);
        for (mach_msg_type_number_t i = 0; i < count; i++)
            assert_int_equal(mach_port_deallocate(mach_task_self(), list[i]), KERN_SUCCESS);
        assert_int_equal(vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof *list), KERN_SUCCESS);
        assert_int_equal(fake_mach_rights(), before);
    }
    for (int i = 0; i < 3; i++)
        finish(&c[i]);
    assert_int_equal(fake_mach_rights(), before);
}

static mach_port_urefs_t refs(mach_port_t name, mach_port_right_t right)
{
    mach_port_urefs_t n = 77;
    return mach_port_get_refs(mach_task_self(), name, right, &n) == KERN_SUCCESS ? n : 99;
}

static void *take_my_name(void *p)
{
    *(mach_port_t *)p = mach_thread_self();
    return NULL;
}

static void the_name_of_a_thread_that_has_ended_is_dead_until_it_is_given_back(void **state)
{
    (void)state;
    pthread_t thread;
    mach_port_t name = MACH_PORT_NULL, next = MACH_PORT_NULL;
    pthread_create(&thread, NULL, take_my_name, &name);
    pthread_join(thread, NULL);
    for (int i = 0; i < 1000 && thread_resume(name) == KERN_FAILURE; i++) /* joined a moment before it has ended */
        usleep(1000);
    assert_int_equal(thread_suspend(name), MACH_SEND_INVALID_DEST);
    assert_int_equal(refs(name, MACH_PORT_RIGHT_DEAD_NAME), 1);
    assert_int_equal(refs(name, MACH_PORT_RIGHT_SEND), 0);
    assert_int_equal(mach_port_deallocate(mach_task_self(), name), KERN_SUCCESS);
    assert_int_equal(mach_port_deallocate(mach_task_self(), name), KERN_INVALID_NAME);
    pthread_create(&thread, NULL, take_my_name, &next);
    pthread_join(thread, NULL);
    assert_int_equal(next >> 8, name >> 8);
    assert_int_not_equal(next, name);
    assert_int_equal(mach_port_deallocate(mach_task_self(), next), KERN_SUCCESS);
}

/* ---- threads that come and go under the sampler's hands */

enum { PARENTS = 6, LOOKS = 12 };

static _Atomic bool over;
static _Atomic unsigned bred;

static void *short_life(void *p)
{
    free(malloc((size_t)(uintptr_t)p * 16 + 1));
    mach_port_deallocate(mach_task_self(), mach_thread_self());
    return NULL;
}

static void *breed(void *p)
{
    pthread_t child;
    for (; !atomic_load(&over); atomic_fetch_add(&bred, 1))
        if (pthread_create(&child, NULL, short_life, p) == 0)
            pthread_join(child, NULL);
    return NULL;
}

struct tally {
    unsigned suspends, resumes;
};

static void stop_each_once(struct tally *tally)
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    mach_port_t me = pthread_mach_thread_np(pthread_self());
    assert_int_equal(task_threads(mach_task_self(), &list, &count), KERN_SUCCESS);
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        fake_mach_registers r;
        mach_msg_type_number_t room = FAKE_MACH_STATE_COUNT;
        if (list[i] != me && thread_suspend(list[i]) == KERN_SUCCESS) {
            tally->suspends++;
            kern_return_t known = thread_get_state(list[i], FAKE_MACH_STATE, (thread_state_t)&r, &room);
            kern_return_t resumed = thread_resume(list[i]);
            assert_true(known == KERN_SUCCESS || resumed == MACH_SEND_INVALID_DEST || known == KERN_ABORTED);
            assert_true(resumed == KERN_SUCCESS || resumed == MACH_SEND_INVALID_DEST);
            tally->resumes++;
        }
        assert_int_equal(mach_port_deallocate(mach_task_self(), list[i]), KERN_SUCCESS);
    }
    vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof *list);
}

static void threads_that_end_while_they_are_suspended_leave_nothing_behind(void **state)
{
    (void)state;
    pthread_t parents[PARENTS];
    struct tally tally = {0, 0};
    uint32_t names = fake_mach_names();
    for (uintptr_t i = 0; i < PARENTS; i++)
        pthread_create(&parents[i], NULL, breed, (void *)i);
    while (atomic_load(&bred) < PARENTS)
        sched_yield();
    for (int i = 0; i < LOOKS; i++)
        stop_each_once(&tally);
    atomic_store(&over, true);
    for (int i = 0; i < PARENTS; i++)
        pthread_join(parents[i], NULL);
    for (int i = 0; i < 1000 && fake_mach_names() > names; i++) /* joined a moment before they have ended */
        usleep(1000);
    assert_true(tally.suspends >= LOOKS && tally.suspends == tally.resumes);
    assert_int_equal(fake_mach_names(), names);
    assert_int_equal(fake_mach_rights(), 0);
    assert_int_equal(fake_mach_suspended(), 0);
    assert_int_equal(fake_mach_holds(), 0);
}

/* ---- a thread is listed as long as it lives, whichever other threads end */

enum { ENDERS = 8, ROUNDS = 300 };

static _Atomic bool enders_go, stayer_goes;
static _Atomic mach_port_t stayer_port;

static void *end_when_asked(void *p)
{
    while (!atomic_load(&enders_go))
        sched_yield();
    return p;
}

static void *stay_until_asked(void *p)
{
    atomic_store(&stayer_port, pthread_mach_thread_np(pthread_self()));
    while (!atomic_load(&stayer_goes))
        sched_yield();
    return p;
}

static bool is_listed(mach_port_t port)
{
    thread_act_array_t list;
    mach_msg_type_number_t count;
    bool listed = false;
    assert_int_equal(task_threads(mach_task_self(), &list, &count), KERN_SUCCESS);
    for (mach_msg_type_number_t i = 0; i < count; i++) {
        listed |= list[i] == port;
        mach_port_deallocate(mach_task_self(), list[i]);
    }
    vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof *list);
    return listed;
}

/* Linux lists the threads of a process in order of creation. The list may end early when a thread ends meanwhile.
 * Here the threads that end are older than the thread that stays. */
static void a_thread_that_lives_is_listed_while_older_ones_end(void **state)
{
    (void)state;
    unsigned missed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t enders[ENDERS], stayer;
        atomic_store(&enders_go, false);
        atomic_store(&stayer_goes, false);
        atomic_store(&stayer_port, MACH_PORT_NULL);
        for (int i = 0; i < ENDERS; i++)
            assert_int_equal(pthread_create(&enders[i], NULL, end_when_asked, NULL), 0);
        assert_int_equal(pthread_create(&stayer, NULL, stay_until_asked, NULL), 0);
        while (!atomic_load(&stayer_port))
            sched_yield();
        atomic_store(&enders_go, true);
        for (int look = 0; look < 10; look++)
            missed += !is_listed(atomic_load(&stayer_port));
        atomic_store(&stayer_goes, true);
        for (int i = 0; i < ENDERS; i++)
            pthread_join(enders[i], NULL);
        pthread_join(stayer, NULL);
    }
    assert_int_equal(missed, 0);
}

static void *suspend_me(void *p)
{
    mach_port_t me = mach_thread_self();
    atomic_store((_Atomic mach_port_t *)p, me);
    kern_return_t answer = thread_suspend(me);
    mach_port_deallocate(mach_task_self(), me);
    return (void *)(intptr_t)(answer == KERN_SUCCESS ? 1 : 0);
}

static void a_thread_that_suspends_itself_counts_as_no_hold(void **state)
{
    (void)state;
    pthread_t thread;
    void *answer;
    _Atomic mach_port_t port = MACH_PORT_NULL;
    pthread_create(&thread, NULL, suspend_me, &port);
    while (!atomic_load(&port) || thread_resume(port) == KERN_FAILURE)
        sched_yield();
    pthread_join(thread, &answer);
    assert_int_equal((intptr_t)answer, 1);
    assert_int_equal(fake_mach_holds(), 0);
}

/* ---- memory */

static void absent_and_protected_memory_have_different_errors_and_are_never_half_read(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char out[64], untouched[64];
    vm_size_t got = 0;
    vm_address_t at;
    assert_int_equal(vm_allocate(mach_task_self(), &at, 3 * page, VM_FLAGS_ANYWHERE), KERN_SUCCESS);
    memset((void *)at, 'x', 3 * page);
    assert_int_equal(vm_deallocate(mach_task_self(), at + page, page), KERN_SUCCESS);
    assert_int_equal(vm_protect(mach_task_self(), at + 2 * page, page, 0, VM_PROT_NONE), KERN_SUCCESS);
    memset(out, 'o', sizeof out);
    memset(untouched, 'o', sizeof untouched);
    mach_port_t me = mach_task_self();
    assert_int_equal(vm_read_overwrite(me, at + page - 8, 64, (vm_address_t)out, &got), KERN_INVALID_ADDRESS);
    assert_memory_equal(out, untouched, sizeof out);
    assert_int_equal(vm_read_overwrite(me, at + page, 8, (vm_address_t)out, &got), KERN_INVALID_ADDRESS);
    assert_int_equal(vm_read_overwrite(me, at + 2 * page, 8, (vm_address_t)out, &got), KERN_PROTECTION_FAILURE);
    assert_int_equal(vm_read_overwrite(me, at + page - 8, 8, (vm_address_t)out, &got), KERN_SUCCESS);
    assert_int_equal(got, 8);
    assert_memory_equal(out, "xxxxxxxxo", 9);
    assert_int_equal(vm_deallocate(me, at, 3 * page), KERN_SUCCESS);
}

/* ---- faults */

static void the_call_that_is_to_fail_fails_and_no_other(void **state)
{
    (void)state;
    struct counter c;
    begin(&c);
    fake_mach_fail("thread_suspend", 2, 1, KERN_RESOURCE_SHORTAGE);
    assert_int_equal(thread_suspend(c.port), KERN_SUCCESS);
    assert_int_equal(thread_suspend(c.port), KERN_RESOURCE_SHORTAGE);
    assert_int_equal(basic(c.port).suspend_count, 1);
    assert_int_equal(thread_resume(c.port), KERN_SUCCESS);
    fake_mach_fail_any(2, KERN_ABORTED);
    assert_int_equal(thread_suspend(c.port), KERN_SUCCESS);
    assert_int_equal(thread_resume(c.port), KERN_ABORTED);
    assert_string_equal(fake_mach_failed(), "thread_resume");
    fake_mach_fail_none();
    assert_int_equal(thread_resume(c.port), KERN_SUCCESS);
    finish(&c);
}

static void the_clock_counts_24_million_a_second(void **state)
{
    (void)state;
    struct mach_timebase_info base;
    assert_int_equal(mach_timebase_info(&base), KERN_SUCCESS);
    assert_int_equal(base.numer * 3, base.denom * 125);
    uint64_t from = mach_absolute_time(), ns = fake_on->now_ns();
    assert_int_equal(mach_wait_until(from + 240000), KERN_SUCCESS); /* 10 ms */
    assert_true(mach_absolute_time() >= from + 240000);
    assert_true(fake_on->now_ns() - ns >= 9990000);
}

static void *name_itself(void *out)
{
    *(mach_port_t *)out = mach_thread_self();
    return NULL;
}

static void a_thread_has_a_name_when_the_app_has_used_up_its_files(void **state)
{
    (void)state;
    struct rlimit before, few;
    pthread_t thread;
    mach_port_t port = MACH_PORT_NULL;
    int fd = open("/dev/null", O_RDONLY), top = fd;
    mach_port_deallocate(mach_task_self(), mach_thread_self());
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        top = fd;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, name_itself, &port), 0);
        pthread_join(thread, NULL);
        assert_int_not_equal(port, MACH_PORT_NULL);
        mach_port_deallocate(mach_task_self(), port);
        port = MACH_PORT_NULL;
    }
    setrlimit(RLIMIT_NOFILE, &before);
    close(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_suspended_thread_is_stopped_until_it_is_resumed_as_often),
        cmocka_unit_test(each_kernel_calls_a_stopped_thread_by_its_own_name),
        cmocka_unit_test(a_thread_in_the_kernel_runs_on_after_a_suspend_until_it_comes_out),
        cmocka_unit_test(the_registers_of_a_running_thread_are_read_and_it_runs_on),
        cmocka_unit_test(rights_are_given_back_to_the_last),
        cmocka_unit_test(the_name_of_a_thread_that_has_ended_is_dead_until_it_is_given_back),
        cmocka_unit_test(threads_that_end_while_they_are_suspended_leave_nothing_behind),
        cmocka_unit_test(a_thread_that_lives_is_listed_while_older_ones_end),
        cmocka_unit_test(a_thread_that_suspends_itself_counts_as_no_hold),
        cmocka_unit_test(absent_and_protected_memory_have_different_errors_and_are_never_half_read),
        cmocka_unit_test(the_call_that_is_to_fail_fails_and_no_other),
        cmocka_unit_test(a_thread_has_a_name_when_the_app_has_used_up_its_files),
        cmocka_unit_test(the_clock_counts_24_million_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
