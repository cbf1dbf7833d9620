/* Many detours that are installed or removed at once: threads are stopped once for all of them, a function that is
 * refused leaves the others unaffected, and a thread inside one of the functions continues in its moved bytes. */
#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/detour/detour_code.h"

#include "engine/backend/common/slots/mapping.h"
#include "tests/unit/support/detour_functions.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY_MAX = 40, ENTRY_BYTES = 9 /* a landing pad and a jump; the next function may follow */ };

/* ---- the system's calls: holds are counted, and a protection may be refused */

static int holds; /* real-time signals that got a handler */
static bool executable_is_refused;

int sigaction(int signal, const struct sigaction *new, struct sigaction *old)
{
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    holds += signal >= SIGRTMIN && new &&new->sa_handler != SIG_DFL;
    return real(signal, new, old);
}

/* Code that was changed cannot be executed again, as SELinux may decide. */
int mprotect(void *start, size_t bytes, int protection)
{
    if (executable_is_refused && protection == (PROT_READ | PROT_EXEC)) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

/* ---- all movable functions ---- */

static struct strobe_inline_request many[MANY_MAX];
static function *originals[MANY_MAX];
static unsigned char before[MANY_MAX][CODE_BYTES];
static size_t count;
static int calls;

/* The replacement of each function. It calls no original, because it is one function for all. */
static long count_call(long a, long b)
{
    calls++;
    return a - b;
}

static void add_function(function *f)
{
    assert_true(count < MANY_MAX);
    read_code(before[count], f);
    many[count] = (struct strobe_inline_request){.target = (void *)(uintptr_t)f,
                                                 .replacement = (void *)(uintptr_t)count_call,
                                                 .original = (void **)(void *)&originals[count]};
    count++;
}

static int add_all(void **state)
{
    (void)state;
    count = 0;
    calls = 0;
    for (const struct movable *m = movables; m->name; m++)
        add_function(m->function);
    return 0;
}

/* Pages that could not be protected again stay writable. */
static int protect_all(void **state)
{
    struct strobe_mapping m;
    (void)state;
    executable_is_refused = false;
    for (size_t i = 0; i < count; i++)
        if (strobe_mapping_at(many[i].target, &m) == STROBE_OK && m.protection & PROT_EXEC)
            mprotect((void *)m.start, m.end - m.start, PROT_READ | PROT_EXEC);
    return 0;
}

static function *function_of(size_t i)
{
    return (function *)(uintptr_t)many[i].target;
}

static bool is_unchanged(size_t i)
{
    unsigned char now[CODE_BYTES];
    read_code(now, function_of(i));
    return !memcmp(before[i], now, ENTRY_BYTES);
}

static void install_many(void)
{
    strobe_detours.install_all(strobe_detours.ctx, many, count);
}

static void remove_many(void)
{
    strobe_detours.remove_all(strobe_detours.ctx, many, count);
}

/* Checks the answers to all requests, and the code: `refused` of the one at `odd`, 0 of the others. */
static void expect_all_but(size_t odd, int refused)
{
    for (size_t i = 0; i < count; i++) {
        if (many[i].refused != (i == odd ? refused : 0))
            fail_msg("function %zu: %s", i, strerror(many[i].refused));
        calls = 0;
        if (i != odd && (function_of(i)(7, 3) != 4 || calls != 1))
            fail_msg("function %zu is not detoured", i);
    }
}

static void expect_all_unchanged(void)
{
    for (size_t i = 0; i < count; i++)
        if (!is_unchanged(i))
            fail_msg("function %zu has other bytes", i);
}

static void threads_are_held_once_for_all_detours(void **state)
{
    (void)state;
    holds = 0;
    install_many();
    expect_all_but(count, 0);
#if defined(__x86_64__)
    assert_int_equal(holds, 1);
#else
    assert_int_equal(holds, 0);
#endif
    holds = 0;
    remove_many();
    assert_true(holds <= 1);
    expect_all_unchanged();
    holds = 0;
    strobe_detours.install_all(strobe_detours.ctx, many, 0);
    assert_int_equal(holds, 0);
}

static void a_function_that_is_refused_leaves_the_others_detoured(void **state)
{
    static long data[4];
    size_t odd = count;
    (void)state;
    add_function(immovables[0].function);
    add_function(movables[0].function); /* again */
    many[2].target = data;
    install_many();
    assert_int_equal(many[2].refused, EFAULT);
    assert_int_equal(many[odd].refused, immovables[0].refused);
    assert_int_equal(many[odd + 1].refused, EBUSY);
    assert_true(is_unchanged(odd));
    many[2] = many[3]; /* twice in the batches that follow */
    count = odd;
    expect_all_but(count, 0);
    remove_many();
    for (size_t i = 0; i < count; i++)
        assert_true(many[i].refused == 0 && (i == 2 || is_unchanged(i)));
}

static void write_code(uint8_t *code, const uint8_t *bytes)
{
    struct strobe_unprotected u;
    assert_int_equal(strobe_unprotect(code, ENTRY_BYTES, &u), STROBE_OK);
    memcpy(code, bytes, ENTRY_BYTES);
    __builtin___clear_cache((char *)code, (char *)code + ENTRY_BYTES);
    assert_int_equal(strobe_protect_again(&u), STROBE_OK);
}

static void a_detour_that_other_code_has_replaced_stays_while_the_others_are_removed(void **state)
{
    unsigned char jump[CODE_BYTES], other[CODE_BYTES];
    uint8_t *code = (uint8_t *)(uintptr_t)movables[0].function;
    (void)state;
    install_many();
    read_code(jump, movables[0].function);
    memcpy(other, jump, sizeof other);
    other[STROBE_DETOUR_JUMP_BYTES - 2] ^= 1;
    write_code(code, other);
    remove_many();
    assert_int_equal(many[0].refused, EEXIST);
    for (size_t i = 1; i < count; i++)
        assert_true(many[i].refused == 0 && is_unchanged(i));
    write_code(code, jump);
    count = 1;
    remove_many();
    assert_int_equal(many[0].refused, 0);
    assert_true(is_unchanged(0));
}

static void code_that_cannot_be_executed_once_it_is_changed_has_its_bytes_back(void **state)
{
    (void)state;
    install_many(); /* makes the islands */
    remove_many();
    executable_is_refused = true;
    install_many();
    executable_is_refused = false;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(many[i].refused, EACCES);
    expect_all_unchanged();
    protect_all(state);
    install_many();
    expect_all_but(count, 0);
    remove_many();
    expect_all_unchanged();
}

/* The pages of code are made writable in parts of 64 KiB. Here a function lies on both sides of such a part's end, and
 * the batch asks for data between the two functions of one mapping. */
static void a_batch_over_several_mappings_sees_functions_whole(void **state)
{
    enum { PART = 1 << 16, WHOLE_ENTRY = 8 };
    static long data[4];
    uint8_t *room = mmap(NULL, 3 * PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *end = (uint8_t *)(((uintptr_t)room + 2 * PART - 1) & ~(uintptr_t)(PART - 1));
    (void)state;
    memcpy(end - 2 * CODE_BYTES, (const void *)(uintptr_t)movables[0].function, CODE_BYTES);
    memcpy(end - WHOLE_ENTRY, (const void *)(uintptr_t)movables[0].function, CODE_BYTES);
    __builtin___clear_cache((char *)room, (char *)room + 3 * PART);
    assert_int_equal(mprotect(room, 3 * PART, PROT_READ | PROT_EXEC), 0);
    count = 0;
    add_function((function *)(uintptr_t)(end - 2 * CODE_BYTES));
    many[1] = (struct strobe_inline_request){.target = data, .replacement = data, .original = &many[1].handle};
    count = 2;
    add_function((function *)(uintptr_t)(end - WHOLE_ENTRY));
    install_many();
    assert_int_equal(many[0].refused, 0);
    assert_int_equal(many[1].refused, EFAULT);
    assert_int_equal(many[2].refused, 0);
    many[1] = many[2];
    count = 2;
    expect_all_but(count, 0);
    remove_many();
    assert_true(many[0].refused == 0 && many[1].refused == 0);
    munmap(room, 3 * PART);
}

static void removed_detours_that_cannot_be_executed_once_changed_stay(void **state)
{
    (void)state;
    install_many();
    executable_is_refused = true;
    remove_many();
    executable_is_refused = false;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(many[i].refused, EACCES);
    for (size_t i = 0; i < count; i++)
        many[i].refused = 0;
    expect_all_but(count, 0);
    remove_many();
    expect_all_unchanged();
}

#if defined(__x86_64__)

/* ---- threads ---- */

static int ends[2];
static char byte_read;
static _Atomic uint32_t reader_tid;

static void *read_inside(void *p)
{
    long result;
    (void)p;
    reader_tid = (uint32_t)syscall(SYS_gettid);
    __asm__ volatile("xor %%eax, %%eax\n call reads_inside" /* rax: number of read */
                     : "=a"(result)
                     : "D"((long)ends[0]), "S"(&byte_read), "d"(1l)
                     : "rcx", "r11", "memory");
    return (void *)result;
}

/* Returns whether the thread is blocked in read. */
static bool is_in_read(uint32_t tid)
{
    char path[64], text[8] = "";
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    FILE *f = tid ? fopen(path, "r") : NULL;
    bool is = f && fgets(text, sizeof text, f) && text[0] == '0' && text[1] == ' ';
    if (f)
        fclose(f);
    return is;
}

static void a_thread_inside_the_first_bytes_continues_in_their_new_place(void **state)
{
    pthread_t thread;
    void *result;
    (void)state;
    add_function(reads_inside);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_inside, NULL), 0);
    while (!is_in_read(reader_tid))
        sched_yield();
    install_many();
    expect_all_but(count, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    pthread_join(thread, &result);
    assert_int_equal((long)result, 1);
    assert_int_equal(byte_read, 'x');
    remove_many();
    expect_all_unchanged();
    close(ends[0]);
    close(ends[1]);
}

static void *block_all_signals(void *p)
{
    sigset_t all;
    _Atomic int *ends_now = p;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    ends_now[1] = 1;
    while (!ends_now[0])
        sched_yield();
    return NULL;
}

/* Those that one store replaces need no hold. */
static void a_thread_that_cannot_be_held_makes_the_detours_be_refused_that_need_it(void **state)
{
    static _Atomic int ends_now[2];
    pthread_t thread;
    size_t refused = 0;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, block_all_signals, ends_now), 0);
    while (!ends_now[1])
        sched_yield();
    install_many();
    for (size_t i = 0; i < count; i++) {
        assert_true(many[i].refused == 0 || many[i].refused == ETIMEDOUT);
        assert_int_equal(many[i].refused != 0, is_unchanged(i));
        refused += many[i].refused != 0;
    }
    assert_int_equal(many[0].refused, ETIMEDOUT);
    assert_true(refused < count);
    ends_now[0] = 1;
    pthread_join(thread, NULL);
    for (size_t i = 0; i < count; i++)
        if (!many[i].refused)
            assert_int_equal(strobe_detours.remove(strobe_detours.ctx, many[i].handle), 0);
    install_many();
    expect_all_but(count, 0);
    remove_many();
    expect_all_unchanged();
}

/* ---- threads that start while others are held ---- */

static _Atomic int starts_end;
static _Atomic long wrong, begun;

static void *call_once(void *unused)
{
    long a = movables[0].function(7, 3);
    wrong += a != 10 && a != 4; /* as it is, or detoured */
    begun++;
    return unused;
}

static void *start_threads(void *unused)
{
    while (!starts_end) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, call_once, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return unused;
}

static void threads_that_start_meanwhile_run_whole_functions(void **state)
{
    enum { STARTERS = 4, ROUNDS = 100 };
    pthread_t thread[STARTERS];
    (void)state;
    assert_int_equal(movables[0].function(7, 3), 10);
    for (int i = 0; i < STARTERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, start_threads, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        install_many();
        for (size_t k = 0; k < count; k++)
            assert_int_equal(many[k].refused, 0);
        remove_many();
    }
    long seen = begun;
    while (begun == seen)
        sched_yield();
    starts_end = 1;
    for (int i = 0; i < STARTERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(wrong, 0);
    expect_all_unchanged();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_are_held_once_for_all_detours, add_all, protect_all),
        cmocka_unit_test_setup_teardown(a_function_that_is_refused_leaves_the_others_detoured, add_all, protect_all),
        cmocka_unit_test_setup_teardown(a_detour_that_other_code_has_replaced_stays_while_the_others_are_removed,
                                        add_all, protect_all),
        cmocka_unit_test_setup_teardown(code_that_cannot_be_executed_once_it_is_changed_has_its_bytes_back, add_all,
                                        protect_all),
        cmocka_unit_test_setup_teardown(a_batch_over_several_mappings_sees_functions_whole, add_all, protect_all),
        cmocka_unit_test_setup_teardown(removed_detours_that_cannot_be_executed_once_changed_stay, add_all,
                                        protect_all),
#if defined(__x86_64__)
        cmocka_unit_test_setup_teardown(a_thread_inside_the_first_bytes_continues_in_their_new_place, add_all,
                                        protect_all),
        cmocka_unit_test_setup_teardown(a_thread_that_cannot_be_held_makes_the_detours_be_refused_that_need_it, add_all,
                                        protect_all),
        cmocka_unit_test_setup_teardown(threads_that_start_meanwhile_run_whole_functions, add_all, protect_all),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
