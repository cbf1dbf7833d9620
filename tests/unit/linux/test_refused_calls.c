/* The Linux host on a kernel that lacks a system call, or in a container that forbids it: it takes another way, or says
 * that it cannot. It never ends with another result, a descriptor left open, or a thread left standing.
 *
 * alone: a thread that waits for a processor can't be stopped in time. */
#include "engine/backend/linux/cpu_clock.h"
#include "engine/backend/linux/descriptors.h"
#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/images.h"
#include "engine/backend/linux/maps.h"
#include "engine/backend/linux/suspend.h"
#include "engine/store/session.h"
#include "tests/faults/refused.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, PERIOD_NS = 1000000, TIMEOUT_NS = 2000000000, CALLS_MAX = 200 };

static struct strobe_linux host;

static uint32_t count_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/thread-self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

/* ---- memory ---- */

/* Reads three pages, the last of which is a hole, and returns the status. */
static enum strobe_status read_to_hole(char *pages, char *out, size_t *copied)
{
    memset(out, 0, 3 * PAGE);
    *copied = 0;
    return host.host.read(&host, (uint64_t)(uintptr_t)pages, out, 3 * PAGE, copied);
}

static void memory_is_read_up_to_a_hole_also_without_process_vm_readv(void **state)
{
    static char out[3 * PAGE];
    size_t copied;
    (void)state;
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    munmap(pages + 2 * PAGE, PAGE);
    for (size_t i = 0; i < 2 * PAGE; i++)
        pages[i] = (char)(i * 7);
    const int errors[] = {0, ENOSYS, EPERM};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i])
            refuse_call(SYS_process_vm_readv, errors[i]);
        enum strobe_status status = read_to_hole(pages, out, &copied);
        assert_int_equal(refuse_none() != 0, errors[i] != 0);
        assert_int_equal(status, STROBE_OK);
        assert_int_equal(copied, 2 * PAGE);
        assert_memory_equal(out, pages, 2 * PAGE);
    }
    munmap(pages, 2 * PAGE);
}

static void memory_that_no_call_reads_is_unreadable(void **state)
{
    static char out[3 * PAGE];
    static char pages[3 * PAGE];
    size_t copied;
    (void)state;
    refuse_call(SYS_process_vm_readv, EFAULT); /* as for a hole: another way to read finds nothing there either */
    enum strobe_status hole = read_to_hole(pages, out, &copied);
    assert_int_equal(refuse_none(), 1);
    assert_int_equal(hole, STROBE_UNREADABLE);
    assert_int_equal(copied, 0);
    refuse_call(SYS_process_vm_readv, ENOSYS);
    enum strobe_status none = host.host.read(&host, 0, out, 16, &copied);
    refuse_none();
    assert_int_equal(none, STROBE_UNREADABLE);
    assert_int_equal(copied, 0);
}

/* A fault in any call of a read: the bytes are right, or there are none. */
static void a_read_that_meets_any_refused_call_leaves_no_descriptor(void **state)
{
    static char out[3 * PAGE], pages[3 * PAGE] = {1, 2, 3};
    (void)state;
    uint32_t before = count_descriptors();
    uint64_t met = 1;
    for (uint64_t at = 1; met && at < CALLS_MAX; at++) {
        size_t copied;
        refuse_nth_call(at, ENOSYS);
        enum strobe_status status = read_to_hole(pages, out, &copied);
        met = refuse_none();
        assert_int_equal(status, STROBE_OK);
        assert_int_equal(copied, sizeof pages);
        assert_memory_equal(out, pages, sizeof pages);
    }
    assert_int_equal(met, 0);
    assert_int_equal(count_descriptors(), before);
}

/* ---- what a session states of its process ---- */

static void without_proc_command_and_program_are_empty(void **state)
{
    struct strobe_session_header header = {.exe = "?"};
    char command[64] = "?";
    (void)state;
    refuse_call(SYS_readlinkat, ENOENT);
    strobe_linux_begin_header(&host, &header);
    assert_int_equal(refuse_none(), 1);
    assert_string_equal(header.exe, "");
    assert_true(header.begin.monotonic_ns > 0);
    refuse_call(SYS_openat, ENOENT);
    strobe_linux_command(command, sizeof command);
    assert_int_equal(refuse_none(), 1);
    assert_string_equal(command, "");
    refuse_call(SYS_read, EACCES);
    strobe_linux_command(command, sizeof command);
    assert_int_equal(refuse_none(), 1);
    assert_string_equal(command, "");
    strobe_linux_command(command, 5); /* cut to what fits */
    assert_int_equal(strlen(command), 4);
}

static bool count_map(void *count, const struct strobe_linux_map *map)
{
    (void)map;
    ++*(uint32_t *)count;
    return true;
}

static void without_proc_no_mapping_is_visited_and_errno_stays(void **state)
{
    uint32_t count = 0;
    (void)state;
    const long numbers[] = {SYS_openat, SYS_read};
    for (size_t i = 0; i < 2; i++) {
        uint32_t before = count_descriptors();
        refuse_call(numbers[i], EACCES);
        errno = ERANGE;
        strobe_linux_visit_maps(count_map, &count);
        int after = errno;
        assert_int_equal(refuse_none(), 1);
        assert_int_equal(after, ERANGE);
        assert_int_equal(count, 0);
        assert_int_equal(count_descriptors(), before);
    }
}

static void without_proc_images_are_listed_with_their_ranges(void **state)
{
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    (void)state;
    strobe_build_begin(&build, temp_dir_path("images.strobe"), &config);
    refuse_call(SYS_readlinkat, ENOENT);
    strobe_linux_note_images(&build.session, 1, true);
    refuse_none();
    uint32_t count = strobe_session_image_count(&build.session);
    assert_true(count > 2); /* program, C library, dynamic linker */
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_image_entry *e = &build.session.images[i];
        assert_int_equal(strobe_load_acquire(&e->published), 1);
        assert_true(e->start < e->end);
        assert_int_equal(e->path[0] == '\0', i == 0); /* only the program's own path comes from /proc */
    }
    strobe_build_end(&build, 1);
}

static void a_descriptor_that_cannot_be_raised_stays_as_it_is(void **state)
{
    struct rlimit limit, few;
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    refuse_call(SYS_fcntl, EMFILE);
    errno = ERANGE;
    int same = strobe_linux_raise_descriptor(fd);
    assert_int_equal(errno, ERANGE);
    assert_int_equal(refuse_none(), 1);
    assert_int_equal(same, fd);
    /* With few descriptors the engine takes the upper half of them. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){24, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int raised = strobe_linux_raise_descriptor(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_in_range(raised, 12, 23);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* the old number is free again */
    int lowest = limit.rlim_cur > 1024 ? 1024 - 16 : (int)limit.rlim_cur - 16;
    assert_int_equal(strobe_linux_raise_descriptor(strobe_linux_raise_descriptor(raised)), lowest);
    close(lowest);
}

/* ---- CPU clocks ---- */

static void skip_where_clocks_are_refused(void)
{
    int refusal = strobe_linux_clock_refusal();
    if (refusal) {
        print_message("perf_event_open: %s\n", strerror(refusal));
        skip();
    }
}

static void a_kernel_without_perf_events_is_reported_with_its_error(void **state)
{
    (void)state;
    const int errors[] = {ENOSYS, EACCES, EPERM};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        refuse_call(SYS_perf_event_open, errors[i]);
        int refusal = strobe_linux_clock_refusal();
        enum strobe_status kept = strobe_linux_clock_keep(&host, 0, (uint32_t)gettid(), PERIOD_NS, 0);
        assert_int_equal(refuse_none(), 2);
        assert_int_equal(refusal, errors[i]);
        assert_int_equal(kept, STROBE_UNSUPPORTED);
    }
}

static void a_clock_whose_start_meets_any_refused_call_leaves_no_descriptor(void **state)
{
    (void)state;
    skip_where_clocks_are_refused();
    uint32_t before = count_descriptors();
    uint64_t met = 1;
    for (uint64_t at = 1; met; at++) {
        refuse_nth_call(at, EPERM);
        enum strobe_status status = strobe_linux_clock_keep(&host, 0, (uint32_t)gettid(), PERIOD_NS, 0);
        met = refuse_none();
        assert_in_range(at, 1, CALLS_MAX);
        assert_int_equal(status, met ? STROBE_UNSUPPORTED : STROBE_OK);
        assert_int_equal(count_descriptors(), met ? before : before + 1);
        if (met) /* the handler of the signal could not be read: as when the program has taken the signal */
            strobe_store_relaxed(&host.signal_taken, 0);
    }
    strobe_linux_clock_end(&host, 0);
    assert_int_equal(count_descriptors(), before);
    strobe_linux_clock_end(&host, 0); /* a second end has nothing to end */
    assert_int_equal(count_descriptors(), before);
}

static void a_clock_whose_credit_is_refused_is_reported_and_goes_on(void **state)
{
    (void)state;
    skip_where_clocks_are_refused();
    uint32_t tid = (uint32_t)gettid();
    assert_int_equal(strobe_linux_clock_keep(&host, 0, tid, PERIOD_NS, 0), STROBE_OK);
    refuse_call(SYS_ioctl, EBADF);
    enum strobe_status enough = strobe_linux_clock_keep(&host, 0, tid, PERIOD_NS, STROBE_CPU_CLOCK_CREDIT / 2 - 1);
    assert_int_equal(refuse_none(), 0); /* more than half of the credit is left */
    refuse_call(SYS_ioctl, EBADF);
    enum strobe_status less = strobe_linux_clock_keep(&host, 0, tid, PERIOD_NS, STROBE_CPU_CLOCK_CREDIT / 2);
    assert_int_equal(refuse_none(), 1);
    enum strobe_status again = strobe_linux_clock_keep(&host, 0, tid, 2 * PERIOD_NS, STROBE_CPU_CLOCK_CREDIT);
    strobe_linux_clock_end(&host, 0);
    assert_int_equal(enough, STROBE_OK);
    assert_int_equal(less, STROBE_UNSUPPORTED);
    assert_int_equal(again, STROBE_OK);
}

static void clocks_need_a_signal_memory_and_room_for_pending_signals(void **state)
{
    (void)state;
    struct strobe_linux other;
    struct rlimit limit, little;
    strobe_linux_init(&other, clock_gettime);
    assert_false(strobe_linux_clocks_begin(&other, 4)); /* no signal was taken */
    assert_null(other.host.clock_keep);
    other.signal = host.signal;
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &limit), 0);
    little = (struct rlimit){STROBE_CPU_CLOCK_CREDIT, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &little), 0);
    bool began = strobe_linux_clocks_begin(&other, 4);
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &limit), 0);
    assert_false(began);
    assert_null(other.host.clock_keep);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    little = (struct rlimit){1 << 20, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    began = strobe_linux_clocks_begin(&other, 1 << 16);
    bool began_again = strobe_linux_clocks_begin(&other, 4);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_false(began);      /* no memory */
    assert_true(began_again); /* the table of the last capture is used again */
    assert_non_null(other.host.clock_keep);
}

/* ---- stops ---- */

struct target {
    pthread_t thread;
    strobe_a32 tid, stop, interrupted;
    strobe_a64 count;
    sem_t sleep;
    bool sleeps;
};

static void *run_or_sleep(void *arg)
{
    struct target *t = arg;
    strobe_store_release(&t->tid, (uint32_t)gettid());
    while (!t->sleeps && !strobe_load_acquire(&t->stop))
        strobe_bump(&t->count, 1);
    while (t->sleeps && sem_wait(&t->sleep) != 0)
        strobe_store_release(&t->interrupted, errno == EINTR);
    return NULL;
}

static void begin_target(struct target *t, bool sleeps)
{
    *t = (struct target){.sleeps = sleeps};
    sem_init(&t->sleep, 0, 0);
    pthread_create(&t->thread, NULL, run_or_sleep, t);
    while (!strobe_load_acquire(&t->tid))
        usleep(100);
    if (sleeps)
        usleep(2000);
}

static void end_target(struct target *t)
{
    strobe_store_release(&t->stop, 1);
    sem_post(&t->sleep);
    pthread_join(t->thread, NULL);
    sem_destroy(&t->sleep);
}

static bool target_moves(struct target *t)
{
    uint64_t before = strobe_load_relaxed(&t->count);
    for (int i = 0; i < 2000; i++) {
        usleep(1000);
        if (strobe_load_relaxed(&t->count) != before)
            return true;
    }
    return false;
}

/* What a sampler found. It gives up its descriptors, so it must not assert. */
struct stops {
    bool asleep;
    uint32_t tried, stopped, stands, unended, wrong;
};

/* Stops the target with each of the sampler's calls refused in turn. */
static void *stop_with_refused_calls(void *arg)
{
    struct stops *found = arg;
    struct target t;
    strobe_a32 blocked = 0;
    strobe_linux_sampler_begins();
    begin_target(&t, found->asleep);
    uint32_t tid = strobe_load_relaxed(&t.tid);
    uint64_t met = 1;
    for (uint64_t at = 1; met && at < CALLS_MAX; at++) {
        struct strobe_regs regs;
        refuse_nth_call(at, EACCES);
        enum strobe_status status = host.host.suspend(&host, tid, &blocked, TIMEOUT_NS, &regs);
        met = refuse_none();
        found->tried++;
        found->stopped += status == STROBE_OK;
        if (status == STROBE_OK && host.host.resume(&host, tid) != STROBE_OK)
            found->stands++;
        found->wrong += status == STROBE_GONE;
        if (!found->asleep && !target_moves(&t))
            found->stands++;
        strobe_store_relaxed(&host.signal_taken, 0);
    }
    found->unended = met != 0;
    found->wrong += strobe_load_acquire(&t.interrupted);
    end_target(&t);
    return NULL;
}

static struct stops stop_in_own_thread(bool asleep)
{
    struct stops found = {.asleep = asleep};
    pthread_t sampler;
    assert_int_equal(pthread_create(&sampler, NULL, stop_with_refused_calls, &found), 0);
    pthread_join(sampler, NULL);
    assert_int_equal(found.unended, 0);
    assert_int_equal(found.stands, 0);
    assert_int_equal(found.wrong, 0);
    return found;
}

static void a_stop_that_meets_any_refused_call_leaves_the_thread_running(void **state)
{
    (void)state;
    if (strobe_trial_valgrind())
        skip(); /* one thread runs at a time there */
    struct stops found = stop_in_own_thread(false);
    assert_true(found.tried > 2);
    assert_true(found.stopped > 0); /* at least the last one, which met no fault */
}

static void a_sleeping_thread_is_not_interrupted_whichever_call_is_refused(void **state)
{
    (void)state;
    struct stops found = stop_in_own_thread(true);
    assert_true(found.tried > 2);
    assert_int_equal(found.stopped, 0);
}

/* ---- the stop signal ---- */

static int refused_signals; /* how many numbers the test's sigaction refuses, from the highest on */

static int refuse_some_signals(int number, const struct sigaction *action, struct sigaction *old)
{
    if (action && number > SIGRTMAX - refused_signals) {
        errno = EINVAL;
        return -1;
    }
    return sigaction(number, action, old);
}

static void the_highest_signal_that_can_be_taken_is_the_stop_signal(void **state)
{
    struct strobe_linux other;
    (void)state;
    strobe_linux_init(&other, clock_gettime);
    refused_signals = SIGRTMAX - SIGRTMIN + 1;
    assert_int_equal(strobe_linux_take_signal(&other, 0, refuse_some_signals, NULL), STROBE_UNSUPPORTED);
    assert_int_equal(other.signal, 0);
    refused_signals = 3;
    assert_int_equal(strobe_linux_take_signal(&other, 0, refuse_some_signals, NULL), STROBE_OK);
    assert_int_equal(other.signal, SIGRTMAX - 3);
    assert_int_equal(strobe_linux_take_signal(&host, host.signal, sigaction, NULL), STROBE_UNSUPPORTED); /* taken */
    signal(SIGRTMAX - 3, SIG_DFL);
}

static int begin(void **state)
{
    strobe_linux_init(&host, clock_gettime);
    if (strobe_linux_take_signal(&host, 0, sigaction, NULL) != STROBE_OK || !strobe_linux_clocks_begin(&host, 4))
        return -1;
    return temp_dir_open(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_read_up_to_a_hole_also_without_process_vm_readv),
        cmocka_unit_test(memory_that_no_call_reads_is_unreadable),
        cmocka_unit_test(a_read_that_meets_any_refused_call_leaves_no_descriptor),
        cmocka_unit_test(without_proc_command_and_program_are_empty),
        cmocka_unit_test(without_proc_no_mapping_is_visited_and_errno_stays),
        cmocka_unit_test(without_proc_images_are_listed_with_their_ranges),
        cmocka_unit_test(a_descriptor_that_cannot_be_raised_stays_as_it_is),
        cmocka_unit_test(a_kernel_without_perf_events_is_reported_with_its_error),
        cmocka_unit_test(a_clock_whose_start_meets_any_refused_call_leaves_no_descriptor),
        cmocka_unit_test(a_clock_whose_credit_is_refused_is_reported_and_goes_on),
        cmocka_unit_test(clocks_need_a_signal_memory_and_room_for_pending_signals),
        cmocka_unit_test(a_stop_that_meets_any_refused_call_leaves_the_thread_running),
        cmocka_unit_test(a_sleeping_thread_is_not_interrupted_whichever_call_is_refused),
        cmocka_unit_test(the_highest_signal_that_can_be_taken_is_the_stop_signal),
    };
    return cmocka_run_group_tests_name("refused calls", tests, begin, temp_dir_close);
}
