/* Detours: functions with each kind of first instructions are detoured, and behave as before through the trampoline.
 * Removing the detour restores their bytes. A function whose instructions cannot be moved is refused and not changed.
 * Threads run the functions meanwhile. */
#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/detour/detour_code.h"

#include "engine/backend/common/slots/mapping.h"
#include "tests/unit/support/detour_functions.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static function *original, *original_below;
static int calls, calls_below;

static long count_call(long a, long b)
{
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return original(a, b);
}

static long count_call_below(long a, long b)
{
    calls_below++;
    return original_below(a, b);
}

static int install(function *f, function *replacement, function **calls_original, void **handle)
{
    return strobe_detours.install(strobe_detours.ctx, (void *)(uintptr_t)f, (void *)(uintptr_t)replacement,
                                  (void **)(void *)calls_original, handle);
}

static int take_out(void *handle)
{
    return strobe_detours.remove(strobe_detours.ctx, handle);
}

static int protection_of(function *f)
{
    struct strobe_mapping m;
    assert_int_equal(strobe_mapping_at((void *)(uintptr_t)f, &m), STROBE_OK);
    return m.protection;
}

static const long arguments[][2] = {{0, 0}, {0, 5}, {1, 2}, {7, 3}, {12, 40}, {3, -9}};
enum { ARGUMENTS = sizeof arguments / sizeof arguments[0] };

static void detour_and_back(const struct movable *m)
{
    unsigned char before[CODE_BYTES], after[CODE_BYTES];
    long says[ARGUMENTS];
    void *handle = NULL;
    for (int i = 0; i < ARGUMENTS; i++)
        says[i] = m->function(arguments[i][0], arguments[i][1]);
    read_code(before, m->function);
    int refused = install(m->function, count_call, &original, &handle);
    if (refused)
        fail_msg("%s: refused: %s", m->name, strerror(refused));
    assert_int_equal(protection_of(m->function), PROT_READ | PROT_EXEC);
    for (int i = 0; i < ARGUMENTS; i++) {
        long a = arguments[i][0], expected = m->recurses ? a + 1 : 1;
        calls = 0;
        if (m->function(a, arguments[i][1]) != says[i] || calls != expected)
            fail_msg("%s: other result, or %d calls instead of %ld", m->name, calls, expected);
    }
    assert_int_equal(take_out(handle), 0);
    read_code(after, m->function);
    if (memcmp(before, after, sizeof before))
        fail_msg("%s: other bytes afterwards", m->name);
    assert_int_equal(protection_of(m->function), PROT_READ | PROT_EXEC);
    calls = 0;
    assert_int_equal(m->function(arguments[2][0], arguments[2][1]), says[2]);
    assert_int_equal(calls, 0);
}

static void functions_of_every_beginning_can_be_detoured_and_are_as_before(void **state)
{
    (void)state;
    for (const struct movable *m = movables; m->name; m++)
        for (int round = 0; round < 2; round++)
            detour_and_back(m);
}

static void what_cannot_be_moved_is_refused_and_left_alone(void **state)
{
    unsigned char before[CODE_BYTES], after[CODE_BYTES];
    void *handle = NULL;
    (void)state;
    for (const struct immovable *m = immovables; m->name; m++) {
        read_code(before, m->function);
        int refused = install(m->function, count_call, &original, &handle);
        if (refused != m->refused)
            fail_msg("%s: said %s", m->name, strerror(refused));
        read_code(after, m->function);
        assert_memory_equal(before, after, sizeof before);
    }
}

static void data_in_place_of_code_is_refused(void **state)
{
    static long data[4];
    void *handle;
    (void)state;
    assert_int_equal(strobe_detours.install(NULL, data, data, (void **)(void *)&original, &handle), EFAULT);
    assert_int_equal(strobe_detours.install(NULL, NULL, data, (void **)(void *)&original, &handle), EFAULT);
}

static void detours_of_one_function_go_last_first(void **state)
{
    unsigned char before[CODE_BYTES], after[CODE_BYTES];
    void *lower, *upper;
    (void)state;
    for (const struct movable *m = movables; m->name; m++) {
        if (m->recurses)
            continue;
        long says = m->function(7, 3);
        read_code(before, m->function);
        assert_int_equal(install(m->function, count_call_below, &original_below, &lower), 0);
        assert_int_equal(install(m->function, count_call, &original, &upper), 0);
        calls = calls_below = 0;
        assert_int_equal(m->function(7, 3), says);
        assert_int_equal(calls, 1);
        assert_int_equal(calls_below, 1);
        assert_int_equal(take_out(lower), EEXIST);
        assert_int_equal(take_out(upper), 0);
        assert_int_equal(m->function(7, 3), says);
        assert_int_equal(calls, 1);
        assert_int_equal(calls_below, 2);
        assert_int_equal(take_out(lower), 0);
        read_code(after, m->function);
        assert_memory_equal(before, after, sizeof before);
    }
}

static void write_code(uint8_t *code, const uint8_t bytes[STROBE_DETOUR_JUMP_BYTES])
{
    struct strobe_unprotected u;
    assert_int_equal(strobe_unprotect(code, STROBE_DETOUR_JUMP_BYTES, &u), STROBE_OK);
    struct strobe_detour_patch patch = {.at = code, .bytes = bytes};
    strobe_detour_write(&patch, 1);
    assert_int_equal(patch.refused, 0);
    assert_int_equal(strobe_protect_again(&u), STROBE_OK);
}

static void code_that_another_library_has_written_stays(void **state)
{
    unsigned char jump[CODE_BYTES], other[CODE_BYTES], after[CODE_BYTES];
    uint8_t *code = (uint8_t *)(uintptr_t)movables[0].function;
    void *handle;
    (void)state;
    assert_int_equal(install(movables[0].function, count_call, &original, &handle), 0);
    read_code(jump, movables[0].function);
    memcpy(other, jump, sizeof jump);
    other[STROBE_DETOUR_JUMP_BYTES - 2] ^= 1;
    write_code(code, other);
    assert_int_equal(take_out(handle), EEXIST);
    read_code(after, movables[0].function);
    assert_memory_equal(after, other, sizeof after);
    write_code(code, jump);
    assert_int_equal(take_out(handle), 0);
}

static void *call_often(void *p)
{
    const struct movable *m = p;
    long wrong = 0, says = m->function(0, 5);
    for (int i = 0; i < 20000; i++)
        wrong += m->function(0, 5) != says;
    return (void *)wrong;
}

static void many_threads_may_call_through_a_detour(void **state)
{
    enum { THREADS = 4 };
    (void)state;
    for (const struct movable *m = movables; m->name; m++) {
        pthread_t thread[THREADS];
        void *handle, *wrong;
        assert_int_equal(install(m->function, count_call, &original, &handle), 0);
        calls = 0;
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, call_often, (void *)(uintptr_t)m), 0);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(thread[i], &wrong);
            assert_null(wrong);
        }
        assert_int_equal(calls, THREADS * 20001);
        assert_int_equal(take_out(handle), 0);
    }
}

/* ---- while threads run ---- */

enum { RUNNERS = 3, ROUNDS = 1000 };

struct runner {
    const struct movable *m;
    _Atomic int ends;
    _Atomic long calls, wrong;
};

static void *run_until_told(void *p)
{
    struct runner *r = p;
    long says = r->m->function(0, 5);
    while (!r->ends) {
        r->wrong += r->m->function(0, 5) != says;
        r->calls++;
    }
    return NULL;
}

static void a_function_that_threads_run_is_patched_a_thousand_times(void **state)
{
    (void)state;
    struct runner r = {.m = &movables[0]};
    pthread_t thread[RUNNERS];
    long before = 0;
    calls = 0;
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_until_told, &r), 0);
    for (int i = 0; i < ROUNDS; i++) {
        void *handle;
        assert_int_equal(install(r.m->function, count_call, &original, &handle), 0);
        assert_int_equal(r.m->function(0, 5), 5);
        assert_int_equal(take_out(handle), 0);
        before = r.calls;
    }
    while (r.calls == before)
        sched_yield(); /* the threads still run */
    r.ends = 1;
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(r.wrong, 0);
    assert_true(calls >= ROUNDS);
}

static int count_mappings(void)
{
    int lines = 0, c;
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while ((c = fgetc(f)) != EOF)
        lines += c == '\n';
    fclose(f);
    return lines;
}

static void a_detour_that_is_made_again_uses_its_island_again(void **state)
{
    function *first;
    void *handle;
    (void)state;
    assert_int_equal(install(movables[0].function, count_call, &first, &handle), 0);
    assert_int_equal(take_out(handle), 0);
    int before = count_mappings();
    for (int i = 0; i < 100; i++) {
        assert_int_equal(install(movables[0].function, count_call, &original, &handle), 0);
        assert_ptr_equal((void *)(uintptr_t)original, (void *)(uintptr_t)first);
        assert_int_equal(take_out(handle), 0);
    }
    assert_int_equal(count_mappings(), before);
}

static void more_detours_than_there_is_room_for_are_refused(void **state)
{
    void *handles[STROBE_DETOURS_MAX + 1];
    function *originals[STROBE_DETOURS_MAX + 1];
    int i = 0, refused;
    (void)state;
    while ((refused = install(movables[0].function, count_call, &originals[i], &handles[i])) == 0)
        assert_true(++i <= STROBE_DETOURS_MAX);
    assert_int_equal(refused, ENOMEM);
    assert_int_equal(i, STROBE_DETOURS_MAX);
    while (i-- > 0)
        assert_int_equal(take_out(handles[i]), 0);
    assert_int_equal(movables[0].function(1, 2), 3);
}

static void code_without_the_right_to_read_it_is_detoured(void **state)
{
    void *handle;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *code = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    memcpy(code, (const void *)(uintptr_t)movables[0].function, CODE_BYTES);
    __builtin___clear_cache((char *)code, (char *)code + CODE_BYTES);
    assert_int_equal(mprotect(code, page, PROT_EXEC), 0);
    function *f = (function *)(uintptr_t)code;
    assert_int_equal(install(f, count_call, &original, &handle), 0);
    calls = 0;
    assert_int_equal(f(1, 2), 3);
    assert_int_equal(calls, 1);
    assert_int_equal(take_out(handle), 0);
    assert_int_equal(protection_of(f), PROT_READ | PROT_EXEC);
    munmap(code, page);
}

#if defined(__aarch64__)

/* A detour of a first instruction that calls would lose the return address. So the moved call is placed between the
 * set-up of a frame and its removal. */
static void a_moved_call_has_the_same_target(void **state)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const uint32_t make_frame = 0xa9bf7bfd, end_frame = 0xa8c17bfd, ret = 0xd65f03c0;
    struct strobe_detour_code c = {page, (uint64_t *)(void *)(page + 4096)};
    (void)state;
    memcpy(c.at, &make_frame, 4);
    c.at += 4;
    const uint8_t *call = (const uint8_t *)(uintptr_t)call_after_frame + 4;
    assert_int_equal(strobe_detour_move(&c, call, call + 4), 0);
    memcpy(c.at, &end_frame, 4);
    memcpy(c.at + 4, &ret, 4);
    __builtin___clear_cache((char *)page, (char *)page + 4096);
    assert_int_equal(((function *)(uintptr_t)page)(20, 2), call_after_frame(20, 2));
    munmap(page, 4096);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_every_beginning_can_be_detoured_and_are_as_before),
        cmocka_unit_test(what_cannot_be_moved_is_refused_and_left_alone),
        cmocka_unit_test(data_in_place_of_code_is_refused),
        cmocka_unit_test(detours_of_one_function_go_last_first),
        cmocka_unit_test(code_that_another_library_has_written_stays),
        cmocka_unit_test(many_threads_may_call_through_a_detour),
        cmocka_unit_test(a_function_that_threads_run_is_patched_a_thousand_times),
        cmocka_unit_test(a_detour_that_is_made_again_uses_its_island_again),
        cmocka_unit_test(more_detours_than_there_is_room_for_are_refused),
        cmocka_unit_test(code_without_the_right_to_read_it_is_detoured),
#if defined(__aarch64__)
        cmocka_unit_test(a_moved_call_has_the_same_target),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
