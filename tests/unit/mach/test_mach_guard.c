/* The guard of the suspended window in real mode: a call that could wait for the suspended thread ends the process, and
 * the message has its name and a stack. */
#include "sim/fake/mach/app.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <pthread_np.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

void objc_msgSend(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static os_unfair_lock plain = OS_UNFAIR_LOCK_INIT;
static dispatch_once_t once;
static void *volatile kept;
static char text[32];

static void nothing(void *p)
{
    (void)p;
}
static void call_malloc(void)
{
    kept = malloc(24);
}
static void call_free(void)
{
    free(kept);
}
static void call_realloc(void)
{
    kept = realloc(kept, 100);
}
static void call_mutex(void)
{
    pthread_mutex_lock(&mutex);
}
static void call_rwlock(void)
{
    pthread_rwlock_rdlock(&rwlock);
}
static void call_plain_lock(void)
{
    os_unfair_lock_lock(&plain);
}
static void call_printf(void)
{
    printf("%d %f\n", getpid(), 0.5);
}
static void call_snprintf(void)
{
    snprintf(text, sizeof text, "%d", getpid());
}
static void call_dlsym(void)
{
    kept = dlsym(RTLD_DEFAULT, "getpid");
}
static void call_dyld(void)
{
    _dyld_image_count();
}
static void call_sync(void)
{
    dispatch_sync_f(dispatch_get_global_queue(0, 0), NULL, nothing);
}
static void call_once(void)
{
    dispatch_once_f(&once, NULL, nothing);
}
static void call_objc(void)
{
    objc_msgSend();
}
static void call_strdup(void)
{
    kept = strdup("of the heap, by the C library's own hand");
}
static void call_getpid(void)
{
    getpid();
}

static const struct {
    const char *name;
    void (*call)(void);
} forbidden[] = {{"malloc", call_malloc},
                 {"free", call_free},
                 {"realloc", call_realloc},
                 {"strdup", call_strdup},
                 {"pthread_mutex_lock", call_mutex},
                 {"pthread_rwlock_rdlock", call_rwlock},
                 {"os_unfair_lock_lock", call_plain_lock},
                 {"printf", call_printf},
                 {"snprintf", call_snprintf},
                 {"dlsym", call_dlsym},
                 {"_dyld_image_count", call_dyld},
                 {"dispatch_sync_f", call_sync},
                 {"dispatch_once_f", call_once},
                 {"objc_msgSend", call_objc}};

static void *spin(void *end)
{
    while (!atomic_load((_Atomic bool *)end))
        sched_yield();
    return NULL;
}

/* Makes the call in a child process, while a thread is suspended or after it was resumed. Returns the child's exit
 * status and, in `said`, its messages. */
static int child(void (*call)(void), bool in_window, char *said, size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static _Atomic bool end;
        pthread_t thread;
        dup2(ends[1], 2);
        dup2(ends[1], 1);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        pthread_create(&thread, NULL, spin, &end);
        mach_port_t port = pthread_mach_thread_np(thread);
        if (thread_suspend(port) != KERN_SUCCESS)
            _exit(3);
        if (in_window)
            call();
        thread_resume(port);
        if (!in_window)
            call();
        atomic_store(&end, true);
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], said + n, room - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    return status;
}

/* A sanitizer's entry points come before the guard's, which then does nothing. */
static bool is_first(void)
{
    return !dlsym(RTLD_DEFAULT, "__asan_init") && !dlsym(RTLD_DEFAULT, "__tsan_init");
}

static void each_forbidden_call_in_the_window_is_caught_by_name_with_a_stack_S40(void **state)
{
    (void)state;
    char said[8192], line[96];
    if (!is_first())
        skip();
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        int status = child(forbidden[i].call, true, said, sizeof said);
        snprintf(line, sizeof line, "window: %s called while thread ", forbidden[i].name);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strncmp(said, line, strlen(line)) != 0)
            fail_msg("%s: status %d, said: %s", forbidden[i].name, status, said);
        assert_non_null(strstr(said, " stands\n"));
        assert_non_null(strstr(said, "test_mach_guard("));
    }
}

static void outside_the_window_and_of_what_is_allowed_nothing_is_caught(void **state)
{
    (void)state;
    char said[8192];
    if (!is_first())
        skip();
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (forbidden[i].call != call_objc && child(forbidden[i].call, false, said, sizeof said) != 0)
            fail_msg("%s: %s", forbidden[i].name, said);
    assert_int_equal(child(call_getpid, true, said, sizeof said), 0);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_forbidden_call_in_the_window_is_caught_by_name_with_a_stack_S40),
        cmocka_unit_test(outside_the_window_and_of_what_is_allowed_nothing_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
