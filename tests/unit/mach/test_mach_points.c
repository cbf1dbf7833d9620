/* Points of the Mach backend: pages, which __syscall_logger reports, files, sockets and polls, and waits for a word. */
#include "engine/backend/mach/events.h"
#include "engine/base/error.h"
#include "engine/capture/guard.h"
#include "engine/trace/session/reader.h"
#include "sim/fake/mach/app.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc_logger.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ulock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGES = 1 << 16 };

static struct fake_mach_app *app;
static char path[TEMPORARY_BYTES];
static struct strobe_reader *seen;

static enum strobe_status begin_capture(struct strobe_error *error)
{
    struct strobe_config c;
    struct strobe_session session;
    strobe_config_default(&c);
    c.interval_main_ns = c.interval_other_ns = 0;
    c.async_interval_ns = 0; /* the cases count points */
    c.threads_max = 64;
    enum strobe_status status = strobe_session_create(path, &c, "app", 1, &session);
    if (status != STROBE_OK)
        return status;
    strobe_session_unmap(&session);
    close(session.fd);
    return strobe_mach_start(&(struct strobe_mach_options){.session_path = path}, NULL, error);
}

static void begin(void)
{
    struct strobe_error error = {""};
    if (begin_capture(&error) != STROBE_OK)
        fail_msg("%s", error.text);
    app->free(app->malloc(8)); /* the thread is known */
}

static const struct strobe_reader_thread *end(void)
{
    struct strobe_error error = {""};
    strobe_mach_stop();
    if (strobe_reader_open(path, &seen, &error) != STROBE_OK || !strobe_reader_check(seen, &error))
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < seen->thread_count; i++)
        if (seen->threads[i].is_main)
            return &seen->threads[i];
    fail_msg("main is not in the session");
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    app = fake_mach_app();
    temporary_path(path, "strobe-mach-points-%d", (int)getpid());
    seen = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    strobe_mach_stop();
    if (seen)
        strobe_reader_close(seen);
    return unlink(path);
}

static void pages_are_points_and_no_allocations_of_the_heap(void **state)
{
    vm_address_t at;
    (void)state;
    begin();
    void *p = app->mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(app->mprotect(p, PAGES, PROT_READ), 0);
    assert_int_equal(app->munmap(p, PAGES), 0);
    assert_int_equal(app->vm_allocate(mach_task_self(), &at, PAGES, VM_FLAGS_ANYWHERE), KERN_SUCCESS);
    assert_int_equal(app->vm_deallocate(mach_task_self(), at, PAGES), KERN_SUCCESS);
    const struct strobe_reader_thread *t = end();
    assert_int_equal(t->kind[STROBE_KIND_ALLOC].requests, 1 + 3); /* malloc; mmap, mprotect, vm_allocate */
    assert_int_equal(t->kind[STROBE_KIND_FREE].requests, 1 + 2);
    assert_int_equal(t->alloc_count, 1);
    assert_int_equal(t->alloc_bytes, 8);
}

static _Thread_local unsigned logged; /* the engine's threads map pages, too */

static void other_logger(uint32_t type, uintptr_t task, uintptr_t arg2, uintptr_t arg3, uintptr_t result, uint32_t skip)
{
    (void)type, (void)task, (void)arg2, (void)arg3, (void)result, (void)skip;
    logged++;
}

static void another_logger_of_pages_is_called_beside_ours_and_is_restored_afterwards(void **state)
{
    (void)state;
    __syscall_logger = other_logger;
    begin();
    logged = 0;
    void *p = app->mmap(NULL, PAGES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    app->munmap(p, PAGES);
    unsigned called = logged;
    const struct strobe_reader_thread *t = end();
    assert_int_equal(called, 2);
    assert_ptr_equal((void *)__syscall_logger, (void *)other_logger);
    __syscall_logger = NULL;
    assert_null(malloc_logger);
    assert_int_equal(t->kind[STROBE_KIND_FREE].requests, 2);
}

static void another_logger_of_the_heap_is_called_beside_ours_and_is_restored_afterwards(void **state)
{
    (void)state;
    malloc_logger = other_logger;
    begin();
    logged = 0;
    app->free(app->malloc(8));
    unsigned called = logged;
    const struct strobe_reader_thread *t = end();
    assert_int_equal(called, 2);
    assert_ptr_equal((void *)malloc_logger, (void *)other_logger);
    malloc_logger = NULL;
    assert_int_equal(t->kind[STROBE_KIND_ALLOC].requests, 2); /* one of begin() */
}

static void calls_that_ask_about_files_and_sockets_are_scopes(void **state)
{
    struct stat about;
    struct timespec none = {0, 0};
    int ends[2], kind = 0;
    socklen_t bytes = sizeof kind;
    fd_set readable;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    begin();
    assert_int_equal(app->stat("/", &about), 0);
    assert_int_equal(app->lstat("/", &about), 0);
    assert_int_equal(app->fstat(ends[0], &about), 0);
    int fd = app->open("/dev/null", O_RDONLY);
    assert_int_equal(app->getsockopt(ends[0], SOL_SOCKET, SO_TYPE, &kind, &bytes), 0);
    assert_int_equal(kind, SOCK_STREAM);
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    assert_int_equal(app->pselect(ends[0] + 1, &readable, NULL, NULL, &none, NULL), 0);
    const struct strobe_reader_thread *t = end();
    assert_true(fd >= 0);
    assert_int_equal(t->kind[STROBE_KIND_OPEN].requests, 4);
    assert_int_equal(t->kind[STROBE_KIND_NET].requests, 1);
    assert_int_equal(t->kind[STROBE_KIND_POLL].requests, 1);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

/* Calls with the same results in both rounds, without a capture and in one. Returns how many failed. */
static unsigned use_descriptors(const char *file)
{
    char bytes[16] = "0123456789abcdef";
    struct iovec vector = {bytes, 8};
    struct timespec none = {0, 0};
    int ends[2], fd = app->open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    unsigned wrong = fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0;
    wrong += app->write(fd, bytes, 16) != 16;
    wrong += app->writev(fd, &vector, 1) != 8;
    wrong += app->pwrite(fd, bytes, 4, 20) != 4;
    wrong += app->pread(fd, bytes, 16, 0) != 16;
    wrong += lseek(fd, 0, SEEK_SET) != 0;
    wrong += app->read(fd, bytes, 16) != 16;
    wrong += app->readv(fd, &vector, 1) != 8 || memcmp(bytes, "01230123", 4) != 0;
    wrong += app->read(fd, bytes, 16) != 0; /* at the end */
    wrong += app->fsync(fd) != 0;
    wrong += app->send(ends[0], bytes, 4, 0) != 4;
    wrong += app->recv(ends[1], bytes, 16, 0) != 4;
    wrong += app->recv(ends[1], bytes, 16, MSG_DONTWAIT) != -1 || errno != EAGAIN;
    wrong += app->nanosleep(&none, NULL) != 0 || app->usleep(0) != 0;
    struct pollfd polled = {ends[0], POLLOUT, 0};
    wrong += app->poll(&polled, 1, 0) != 1;
    wrong += app->open("/nowhere/at/all", O_RDONLY) != -1 || errno != ENOENT;
    wrong += app->close(fd) != 0;
    wrong += app->close(fd) != -1 || errno != EBADF;
    close(ends[0]);
    close(ends[1]);
    return wrong;
}

static void calls_on_descriptors_have_the_same_results_in_a_capture_and_are_counted_once(void **state)
{
    char file[TEMPORARY_BYTES];
    (void)state;
    temporary_path(file, "strobe-mach-file-%d", (int)getpid());
    assert_int_equal(use_descriptors(file), 0);
    begin();
    unsigned wrong = use_descriptors(file);
    const struct strobe_reader_thread *t = end();
    unlink(file);
    assert_int_equal(wrong, 0);
    assert_int_equal(t->kind[STROBE_KIND_OPEN].requests, 2);
    assert_int_equal(t->kind[STROBE_KIND_CLOSE].requests, 2);
    assert_int_equal(t->kind[STROBE_KIND_WRITE].requests, 3);
    assert_int_equal(t->kind[STROBE_KIND_READ].requests, 4);
    assert_int_equal(t->kind[STROBE_KIND_SYNC].requests, 1);
    assert_int_equal(t->kind[STROBE_KIND_NET].requests, 3);
    assert_int_equal(t->kind[STROBE_KIND_SLEEP].requests, 2);
    assert_int_equal(t->kind[STROBE_KIND_POLL].requests, 1);
}

/* ---- the suspended window */

/* As the sampler, makes a call that it must not make while it holds a thread suspended. */
static void offend(int errors)
{
    struct strobe_error error;
    if (begin_capture(&error) != STROBE_OK)
        _exit(2);
    dup2(errors, STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    strobe_mach_thread_is_own();
    strobe_guard_enter();
    app->close(app->open("/dev/null", O_RDONLY));
    _exit(0);
}

static void a_hook_that_is_called_in_the_suspended_window_names_its_call_and_ends_the_process(void **state)
{
    char said[4096] = "";
    int ends[2], status;
    ssize_t got = 1;
    size_t used = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork(); /* a capture does not go on in a child, so the child begins one */
    if (child == 0)
        offend(ends[1]);
    close(ends[1]);
    while (got > 0 && used < sizeof said - 1) {
        got = read(ends[0], said + used, sizeof said - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    static const char first[] = "strobe: invariant broken: called while a thread is suspended: open\n  ";
    assert_memory_equal(said, first, sizeof first - 1);
    assert_memory_equal(said + sizeof first - 1, "0x", 2); /* the first of the frames */
    assert_int_equal(said[used - 1], '\n');
}

static _Atomic uint32_t word;
static _Atomic bool by_second_form;

static void *change_word(void *operation)
{
    (app->pthread_setname_np)("com.app.the-thread-that-wakes");
    usleep(20000);
    atomic_store(&word, 1);
    app->ulock_wake((uint32_t)(uintptr_t)operation, &word, 0);
    return NULL;
}

static void wait_for_word(uint32_t operation)
{
    pthread_t thread;
    atomic_store(&word, 0);
    assert_int_equal(app->pthread_create(&thread, NULL, change_word, (void *)(uintptr_t)operation), 0);
    while (!atomic_load(&word)) {
        if (atomic_load(&by_second_form))
            app->ulock_wait2(operation, &word, 0, 0, 0);
        else
            app->ulock_wait(operation, &word, 0, 0);
    }
    app->pthread_join(thread, NULL);
}

static size_t wakes_by(const struct strobe_reader_thread *t, const char *name, uint64_t what)
{
    size_t n = 0;
    for (size_t i = 0; i < t->woken_count; i++)
        n += t->woken[i].waker != STROBE_NO_THREAD && t->woken[i].what == what &&
             !strcmp(seen->threads[t->woken[i].waker].name, name);
    return n;
}

static void a_wait_for_a_word_is_a_scope_and_who_wakes_it_is_its_waker(void **state)
{
    (void)state;
    begin();
    atomic_store(&by_second_form, false);
    wait_for_word(UL_COMPARE_AND_WAIT);
    atomic_store(&by_second_form, true);
    wait_for_word(UL_COMPARE_AND_WAIT | ULF_WAKE_ALL);
    wait_for_word(UL_UNFAIR_LOCK);
    const struct strobe_reader_thread *t = end();
    assert_int_equal(wakes_by(t, "com.app.the-thread-that-wakes", STROBE_MACH_OBJECT(&word)), 3);
    assert_true(t->kind[STROBE_KIND_COND].sampled >= 2 && t->kind[STROBE_KIND_MUTEX].sampled >= 1);
}

static void a_wait_for_a_word_that_times_out_has_no_waker(void **state)
{
    (void)state;
    atomic_store(&word, 0);
    begin();
    assert_int_equal(app->ulock_wait(UL_COMPARE_AND_WAIT, &word, 0, 5000), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(app->ulock_wait(UL_COMPARE_AND_WAIT | ULF_NO_ERRNO, &word, 0, 5000), -ETIMEDOUT);
    const struct strobe_reader_thread *t = end();
    assert_int_equal(t->woken_count, 2);
    for (size_t i = 0; i < t->woken_count; i++)
        assert_int_equal(t->woken[i].waker, STROBE_NO_THREAD);
}

/* ---- messages */

struct letter {
    mach_msg_header_t header;
    char rest[64];
};

static void *receive_one(void *port)
{
    struct letter l;
    app->mach_msg(&l.header, MACH_RCV_MSG, 0, sizeof l, *(mach_port_t *)port, 0, MACH_PORT_NULL);
    return NULL;
}

/* Another thread waits for a message, and main sends it in a call with `more` options. Returns the flags of main's
 * call. */
static unsigned flags_of_sending(mach_msg_option_t more)
{
    mach_port_t port, answers;
    pthread_t receiver;
    unsigned flags = 0;
    assert_int_equal(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port), KERN_SUCCESS);
    assert_int_equal(mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &answers), KERN_SUCCESS);
    begin();
    assert_int_equal(app->pthread_create(&receiver, NULL, receive_one, &port), 0);
    while (
        !strobe_load_relaxed(&strobe_mach.engine.blocking->block[strobe_block_index(STROBE_MACH_PORT(port))].waiting))
        sched_yield();
    struct letter l = {.header = {.msgh_size = sizeof l.header, .msgh_remote_port = port}};
    app->mach_msg(&l.header, MACH_SEND_MSG | more, sizeof l.header, sizeof l, answers, 1, MACH_PORT_NULL);
    app->pthread_join(receiver, NULL);
    const struct strobe_reader_thread *t = end();
    for (size_t i = 0; i < t->item_count; i++)
        if (t->items[i].record.kind == STROBE_KIND_IPC)
            flags = t->items[i].record.flags;
    strobe_reader_close(seen);
    seen = NULL;
    mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1);
    mach_port_mod_refs(mach_task_self(), answers, MACH_PORT_RIGHT_RECEIVE, -1);
    return flags;
}

static void a_message_to_a_waiting_thread_is_sent_without_a_wait(void **state)
{
    (void)state;
    unsigned flags = flags_of_sending(0);
    assert_true(flags & STROBE_FLAG_SCOPE && flags & STROBE_FLAG_NO_WAIT);
}

static void a_call_that_sends_and_awaits_an_answer_waits(void **state)
{
    (void)state;
    unsigned flags = flags_of_sending(MACH_RCV_MSG | MACH_RCV_TIMEOUT);
    assert_true(flags & STROBE_FLAG_SCOPE && !(flags & STROBE_FLAG_NO_WAIT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: its child begins a capture, which a child of a captured process cannot */
        cmocka_unit_test_setup_teardown(
            a_hook_that_is_called_in_the_suspended_window_names_its_call_and_ends_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pages_are_points_and_no_allocations_of_the_heap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_logger_of_pages_is_called_beside_ours_and_is_restored_afterwards,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_logger_of_the_heap_is_called_beside_ours_and_is_restored_afterwards,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_that_ask_about_files_and_sockets_are_scopes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_on_descriptors_have_the_same_results_in_a_capture_and_are_counted_once,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_for_a_word_is_a_scope_and_who_wakes_it_is_its_waker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_for_a_word_that_times_out_has_no_waker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_to_a_waiting_thread_is_sent_without_a_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_sends_and_awaits_an_answer_waits, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
