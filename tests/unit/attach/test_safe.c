/* Where a thread of a program may load the library of `strobe attach`. */
#include "engine/cmd/attach/safe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

enum { RUNS = -1 };

#define CODE(name)                                                                                                     \
    {                                                                                                                  \
        STROBE_FRAME_CODE, name                                                                                        \
    }
#define LIBC(name)                                                                                                     \
    {                                                                                                                  \
        STROBE_FRAME_LIBC, name                                                                                        \
    }
#define LINKER(name)                                                                                                   \
    {                                                                                                                  \
        STROBE_FRAME_LINKER, name                                                                                      \
    }
#define SIGNAL                                                                                                         \
    {                                                                                                                  \
        STROBE_FRAME_SIGNAL, "__restore_rt"                                                                            \
    }
#define START LIBC("start_thread"), LIBC("clone3")
#define MAIN  CODE("main"), LIBC("__libc_start_call_main"), LIBC("__libc_start_main"), CODE("_start")

#define assert_safe(call, ...)   assert_null(judge((struct strobe_frame[]){__VA_ARGS__, {0}}, call))
#define assert_unsafe(call, ...) assert_non_null(judge((struct strobe_frame[]){__VA_ARGS__, {0}}, call))

/* `frames` ends with a frame without a name. */
static const char *judge(const struct strobe_frame *frames, long call)
{
    size_t count = 0;
    while (frames[count].function)
        count++;
    return strobe_unsafe_reason(frames, count, call, true);
}

static void a_thread_in_code_of_the_program_is_safe(void **state)
{
    (void)state;
    assert_safe(RUNS, CODE("compute"), CODE("run"), START);
    assert_safe(RUNS, MAIN);
}

static void the_entry_of_a_program_without_symbols_is_known_by_its_callee(void **state)
{
    static const struct strobe_frame main_thread[] = {CODE(NULL), LIBC(NULL), LIBC("__libc_start_main_impl"),
                                                      CODE(NULL)};
    static const struct strobe_frame callback[] = {CODE(NULL), LIBC(NULL), LIBC("qsort_r"), CODE(NULL)};
    (void)state;
    assert_null(strobe_unsafe_reason(main_thread, 4, RUNS, true));
    assert_non_null(strobe_unsafe_reason(callback, 4, RUNS, true));
}

static void a_thread_that_runs_in_the_c_library_or_the_linker_is_not_safe(void **state)
{
    (void)state;
    assert_unsafe(RUNS, LIBC("memcpy"), CODE("run"), START);
    assert_unsafe(RUNS, LINKER("_dl_runtime_resolve"), CODE("run"), START);
    assert_unsafe(RUNS, CODE("constructor"), LINKER("call_init"), LINKER("_dl_open"), CODE("run"), START);
}

static void a_thread_that_waits_in_a_plain_call_is_safe(void **state)
{
    (void)state;
    assert_safe(SYS_read, LIBC("read"), CODE("run"), START);
    assert_safe(SYS_clock_nanosleep, LIBC("clock_nanosleep"), LIBC("nanosleep"), MAIN);
    assert_safe(SYS_read, CODE("own_read"), CODE("run"), START);
    assert_unsafe(SYS_mmap, LIBC("mmap"), CODE("run"), START);
    assert_unsafe(SYS_openat, LIBC("open"), CODE("run"), START);
    assert_unsafe(SYS_read, LINKER("open_verify"), LINKER("_dl_map_object"), CODE("run"), START);
}

static void a_wait_for_a_futex_is_safe_in_functions_that_hold_no_lock(void **state)
{
    (void)state;
    assert_safe(SYS_futex, LIBC("__futex_abstimed_wait_common"), LIBC("pthread_cond_wait"), CODE("run"), START);
    assert_safe(SYS_futex, LIBC("___pthread_mutex_lock"), CODE("run"), START);
    assert_unsafe(SYS_futex, LIBC("__lll_lock_wait_private"), LIBC("pthread_create"), CODE("run"), START);
    assert_unsafe(SYS_futex, LIBC("pthread_cond_wait"), LIBC("getaddrinfo"), CODE("run"), START);
    assert_unsafe(SYS_futex, LIBC("__lll_lock_wait_private"), LIBC(NULL), CODE("run"), START);
}

static void a_thread_that_allocates_is_not_safe_wherever_the_allocator_is(void **state)
{
    (void)state;
    assert_unsafe(SYS_futex, LIBC("pthread_mutex_lock"), CODE("arena_lock"), CODE("malloc"), CODE("run"), START);
    assert_unsafe(RUNS, CODE("tcache_fill"), CODE("je_malloc_default"), CODE("run"), START);
    assert_unsafe(RUNS, CODE("_ZdlPv"), CODE("run"), START);
    assert_unsafe(RUNS, CODE("cfree"), CODE("run"), START);
    assert_safe(RUNS, CODE("allocate_seats"), CODE("free_seats"), START);
}

static void a_callback_of_the_c_library_is_not_safe(void **state)
{
    (void)state;
    assert_unsafe(RUNS, CODE("compare"), LIBC("qsort_r"), CODE("run"), START);
    assert_unsafe(RUNS, CODE("at_exit"), LIBC("__run_exit_handlers"), LIBC("exit"), CODE("run"), START);
    assert_unsafe(SYS_read, LIBC("read"), CODE("on_child"), LIBC("fork"), CODE("run"), START);
    assert_unsafe(RUNS, CODE("handler"), SIGNAL, CODE("run"), START);
    assert_unsafe(SYS_read, LIBC("read"), CODE("handler"), SIGNAL, CODE("run"), START);
}

static void a_stack_that_cannot_be_walked_to_its_end_is_not_safe(void **state)
{
    static const struct strobe_frame frames[] = {CODE("run")};
    (void)state;
    assert_non_null(strobe_unsafe_reason(frames, 1, RUNS, false));
    assert_non_null(strobe_unsafe_reason(frames, 0, RUNS, true));
}

static void a_call_that_transfers_a_part_is_not_interrupted(void **state)
{
    (void)state;
    assert_true(strobe_call_may_be_interrupted(RUNS));
    assert_true(strobe_call_may_be_interrupted(SYS_read));
    assert_true(strobe_call_may_be_interrupted(SYS_futex));
    assert_false(strobe_call_may_be_interrupted(SYS_write));
    assert_false(strobe_call_may_be_interrupted(SYS_sendto));
    assert_false(strobe_call_may_be_interrupted(SYS_rt_sigtimedwait));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_in_code_of_the_program_is_safe),
        cmocka_unit_test(the_entry_of_a_program_without_symbols_is_known_by_its_callee),
        cmocka_unit_test(a_thread_that_runs_in_the_c_library_or_the_linker_is_not_safe),
        cmocka_unit_test(a_thread_that_waits_in_a_plain_call_is_safe),
        cmocka_unit_test(a_wait_for_a_futex_is_safe_in_functions_that_hold_no_lock),
        cmocka_unit_test(a_thread_that_allocates_is_not_safe_wherever_the_allocator_is),
        cmocka_unit_test(a_callback_of_the_c_library_is_not_safe),
        cmocka_unit_test(a_stack_that_cannot_be_walked_to_its_end_is_not_safe),
        cmocka_unit_test(a_call_that_transfers_a_part_is_not_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
