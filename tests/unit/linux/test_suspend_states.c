/* The Linux host stops only running threads. It does not stop a thread that sleeps in a call, because a signal would
 * end the call with EINTR. It reports a thread that has ended as gone.
 *
 * alone: a thread that waits for a processor can't be stopped in time. */
#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/suspend.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { MANY = 150, TIMEOUT_NS = 1000000000, DESCRIPTORS_MAX = 144 };

static struct strobe_linux host;

struct target {
    pthread_t thread;
    strobe_a32 tid, stop, interrupted, sleeps, turns;
    sem_t sleep;
};

/* The sleeper waits in a call without a hook. It computes after the call when `sleeps` is false then. */
static void *live(void *arg)
{
    struct target *t = arg;
    strobe_store_release(&t->tid, (uint32_t)gettid());
    while (strobe_load_relaxed(&t->sleeps) && sem_wait(&t->sleep) != 0)
        strobe_store_release(&t->interrupted, errno == EINTR);
    while (!strobe_load_relaxed(&t->sleeps) && !strobe_load_acquire(&t->stop))
        strobe_store_relaxed(&t->turns, strobe_load_relaxed(&t->turns) + 1);
    return NULL;
}

/* Returns when the thread computes. An emulator's thread may sleep in a call of the emulator before. A wakeup may be
 * queued for the thread's processor: until that processor has handled it, the kernel reports the call that has ended
 * (try_to_wake_up in kernel/sched/core.c). */
static void await_turns(const struct target *t)
{
    uint32_t before = strobe_load_relaxed(&t->turns);
    while (strobe_load_relaxed(&t->turns) - before < 2)
        usleep(100);
}

static void begin(struct target *t, bool sleeps)
{
    *t = (struct target){0};
    strobe_store_relaxed(&t->sleeps, sleeps);
    sem_init(&t->sleep, 0, 0);
    assert_int_equal(pthread_create(&t->thread, NULL, live, t), 0);
    while (!strobe_load_acquire(&t->tid))
        usleep(100);
    if (sleeps)
        usleep(2000);
}

static void end(struct target *t)
{
    strobe_store_release(&t->stop, 1);
    sem_post(&t->sleep);
    pthread_join(t->thread, NULL);
    /* A joined thread may still be in its exit in the kernel. */
    while (syscall(SYS_tgkill, getpid(), strobe_load_relaxed(&t->tid), 0) == 0)
        sched_yield();
    sem_destroy(&t->sleep);
}

static enum strobe_status stop_and_go(uint32_t tid)
{
    strobe_a32 blocked = 0;
    struct strobe_regs regs;
    enum strobe_status status = host.host.suspend(&host, tid, &blocked, TIMEOUT_NS, &regs);
    return status == STROBE_OK ? host.host.resume(&host, tid) : status;
}

static uint32_t descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/thread-self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* The results for each state of a thread. The thread that collects them gives up its descriptors and must not
 * assert. */
struct findings {
    enum strobe_status running, sleeping, ended;
    uint32_t not_stopped, wrong, interrupted, descriptors;
    uint64_t running_call, sleeping_call, ended_call, own_table_call;
    uint32_t wrong_calls;
};

static uint64_t call_of(const struct target *t)
{
    return host.host.wait_call(&host, strobe_load_relaxed(&t->tid));
}

static void one_of_each(struct findings *f, struct target *t)
{
    begin(t, false);
    await_turns(t);
    f->running = stop_and_go(strobe_load_relaxed(&t->tid));
    await_turns(t);
    f->running_call = call_of(t);
    end(t);
    f->ended = stop_and_go(strobe_load_relaxed(&t->tid));
    f->ended_call = call_of(t);
    begin(t, true);
    f->sleeping = stop_and_go(strobe_load_relaxed(&t->tid));
    f->sleeping_call = call_of(t);
    f->interrupted += strobe_load_acquire(&t->interrupted);
    end(t);
}

static void *sample_many(void *arg)
{
    struct findings *f = arg;
    static struct target sleepers[MANY], runner;
    begin(&runner, true);
    f->own_table_call = call_of(&runner);
    end(&runner);
    strobe_linux_sampler_begins();
    one_of_each(f, &runner);
    for (int i = 0; i < MANY; i++)
        begin(&sleepers[i], true);
    begin(&runner, false);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            f->wrong += stop_and_go(strobe_load_relaxed(&sleepers[i].tid)) != STROBE_UNSUPPORTED;
        for (int i = 0; i < MANY; i++)
            f->wrong_calls += (uint32_t)call_of(&sleepers[i]) != SYS_futex;
        await_turns(&runner);
        f->not_stopped += stop_and_go(strobe_load_relaxed(&runner.tid)) != STROBE_OK;
    }
    f->descriptors = descriptors();
    end(&runner);
    for (int i = 0; i < MANY; i++) {
        f->interrupted += strobe_load_acquire(&sleepers[i].interrupted);
        end(&sleepers[i]);
    }
    return NULL;
}

static struct findings found;

static int look_at_all(void **state)
{
    (void)state;
    pthread_t sampler;
    strobe_linux_init(&host, clock_gettime);
    int number = strobe_trial_emulated() ? SIGRTMAX - 2 : 0;
    assert_int_equal(strobe_linux_take_signal(&host, number, sigaction, NULL), STROBE_OK);
    assert_int_equal(pthread_create(&sampler, NULL, sample_many, &found), 0);
    pthread_join(sampler, NULL);
    return 0;
}

static void a_running_thread_is_stopped_and_resumed(void **state)
{
    (void)state;
    if (strobe_trial_valgrind())
        skip(); /* one thread runs at a time there; the others sleep in the kernel */
    assert_int_equal(found.running, STROBE_OK);
    assert_int_equal(found.not_stopped, 0);
}

static void a_thread_that_sleeps_in_a_call_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(found.sleeping, STROBE_UNSUPPORTED);
    assert_int_equal(found.interrupted, 0);
}

static void a_thread_that_has_ended_is_gone(void **state)
{
    (void)state;
    if (strobe_trial_emulated())
        skip();
    assert_int_equal(found.ended, STROBE_GONE);
}

static void more_threads_than_are_kept_open_are_distinguished(void **state)
{
    (void)state;
    assert_int_equal(found.wrong, 0);
    assert_in_range(found.descriptors, 1, DESCRIPTORS_MAX);
}

static void the_call_of_a_thread_is_that_in_which_it_sleeps(void **state)
{
    (void)state;
    if (strobe_trial_emulated() || strobe_trial_valgrind())
        skip(); /* the kernel's file has the emulator's calls */
    assert_int_equal((uint32_t)found.sleeping_call, SYS_futex);
    assert_int_not_equal(found.sleeping_call >> 32, 0);
    assert_int_equal(found.wrong_calls, 0);
    assert_int_equal(found.running_call, 0);
    assert_int_equal(found.ended_call, 0);
}

static void no_file_is_opened_for_a_call_in_the_programs_descriptor_table(void **state)
{
    (void)state;
    assert_int_equal(found.own_table_call, 0);
}

static int refuse_opens(unsigned action)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Runs in a process that may not open files. From the second filter on, an attempt ends the process. */
static int two_refused_calls(void)
{
    uint32_t tid = (uint32_t)getppid();
    strobe_linux_init(&host, clock_gettime);
    if (refuse_opens(SECCOMP_RET_ERRNO | EACCES))
        return 77;
    uint64_t call = strobe_linux_wait_call_once(&host, tid);
    if (refuse_opens(SECCOMP_RET_KILL))
        return 77;
    return call || strobe_linux_wait_call_once(&host, tid);
}

static void a_refused_file_of_a_call_is_not_opened_again(void **state)
{
    int status;
    (void)state;
    if (strobe_trial_emulated() || strobe_trial_valgrind())
        skip();
    pid_t child = fork();
    if (child == 0)
        syscall(SYS_exit_group, two_refused_calls()); /* _exit opens files in a build with coverage */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) /* no seccomp filters on this machine */
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Two samplers, one after another, each with a descriptor table of its own. The second one opens the files of the two
 * threads in the opposite order. One thread sleeps, the other one waits for the samplers' processor. */
struct turns {
    struct target sleeper, waiter;
    bool sleeper_waits; /* the second sampler takes the sleeper for a thread that waits for a processor */
};

static void stay_on_one_processor(pthread_t thread)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    pthread_setaffinity_np(thread, sizeof one, &one);
}

static bool waits(struct target *t)
{
    return strobe_linux_waits_for_processor(&host, strobe_load_relaxed(&t->tid));
}

static void *look_in_turn(void *arg)
{
    struct turns *t = arg;
    strobe_linux_sampler_begins();
    waits(&t->sleeper);
    waits(&t->waiter);
    return NULL;
}

static void *look_in_opposite_turn(void *arg)
{
    struct turns *t = arg;
    strobe_linux_sampler_begins();
    while (!waits(&t->waiter))
        continue;
    t->sleeper_waits = waits(&t->sleeper);
    return NULL;
}

static void run_sampler(void *(*look)(void *), struct turns *t)
{
    pthread_t sampler;
    assert_int_equal(pthread_create(&sampler, NULL, look, t), 0);
    pthread_join(sampler, NULL);
}

static void a_second_sampler_reads_the_state_of_the_thread_that_it_asks_for(void **state)
{
    static struct turns t;
    cpu_set_t before;
    (void)state;
    if (strobe_trial_emulated() || strobe_trial_valgrind())
        skip();
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    stay_on_one_processor(pthread_self()); /* threads that it starts stay there, too */
    begin(&t.sleeper, true);
    begin(&t.waiter, true);
    run_sampler(look_in_turn, &t);
    strobe_store_relaxed(&t.waiter.sleeps, 0); /* it computes from now on */
    sem_post(&t.waiter.sleep);
    run_sampler(look_in_opposite_turn, &t);
    end(&t.waiter);
    end(&t.sleeper);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    assert_false(t.sleeper_waits);
}

/* Runs in a process whose seccomp filter refuses the clock of another thread. */
static int a_refused_clock(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    uint64_t cpu;
    strobe_linux_init(&host, clock_gettime);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    return host.host.thread_cpu_ns(&host, (uint32_t)gettid(), &cpu) == STROBE_UNSUPPORTED ? 0 : 1;
}

static void a_thread_whose_clock_is_refused_is_not_taken_for_gone_S16(void **state)
{
    int status;
    (void)state;
    if (strobe_trial_emulated())
        skip();
    pid_t child = fork();
    if (child == 0)
        _exit(a_refused_clock());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) /* no seccomp filters on this machine */
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_thread_is_stopped_and_resumed),
        cmocka_unit_test(a_thread_that_sleeps_in_a_call_is_left_alone),
        cmocka_unit_test(a_thread_that_has_ended_is_gone),
        cmocka_unit_test(more_threads_than_are_kept_open_are_distinguished),
        cmocka_unit_test(the_call_of_a_thread_is_that_in_which_it_sleeps),
        cmocka_unit_test(no_file_is_opened_for_a_call_in_the_programs_descriptor_table),
        cmocka_unit_test(a_refused_file_of_a_call_is_not_opened_again),
        cmocka_unit_test(a_second_sampler_reads_the_state_of_the_thread_that_it_asks_for),
        cmocka_unit_test(a_thread_whose_clock_is_refused_is_not_taken_for_gone_S16),
    };
    return cmocka_run_group_tests_name("suspend_states", tests, look_at_all, NULL);
}
