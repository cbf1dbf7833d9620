/* Calls through hooked slots, in each way that broke hook libraries with a list of frames per thread (ShadowHook,
 * bhook): recursion, depth, longjmp, threads that end, hooks removed during a call, signals. Slots have no such list.
 * The proxy runs at each call, and a call that leaves it by longjmp leaves no state. The regressions R-13. */
#include "engine/backend/art/hooks/hook.h"
#include "tests/unit/support/temp_dir.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHAIN = 20 };

/* Functions that call each other through slots: count(n) itself (a compiler would call it directly under its own name);
 * ping and pong each other; chain_0 chain_1, and so on to the last, which calls the `inside` it was given. */
static const char source_head[] = "typedef int fn(int);\n"
                                  "static fn *inside; void set_inside(fn *f) { inside = f; }\n"
                                  "int count_by_slot(int n) __asm__(\"count\");\n"
                                  "int count(int n) { return n ? 1 + count_by_slot(n - 1) : 0; }\n"
                                  "int ping(int n), pong(int n);\n"
                                  "int ping(int n) { return n ? 1 + pong(n - 1) : 0; }\n"
                                  "int pong(int n) { return n ? 1 + ping(n - 1) : 0; }\n"
                                  "int leaf(int n) { return inside ? inside(n) : n; }\n"
                                  "int call_leaf(int n) { return leaf(n); }\n"
                                  "int call_count(int n) { return count_by_slot(n); }\n"
                                  "int call_ping(int n) { return ping(n); }\n";

typedef int function(int);

static void *library;
static function *call_leaf, *call_count, *call_ping, *call_chain;
static void (*set_inside)(function *);

static void *find(const char *name)
{
    void *at = dlsym(library, name);
    if (!at)
        fail_msg("%s", dlerror());
    return at;
}

static int load(void **state)
{
    char source[8192];
    int used = snprintf(source, sizeof source, "%sint chain_%d(int n) { return leaf(n); }\n", source_head, CHAIN - 1);
    for (int i = CHAIN - 2; i >= 0; i--)
        used += snprintf(source + used, sizeof source - (size_t)used,
                         "int chain_%d(int n) { return 1 + chain_%d(n); }\n", i, i + 1);
    used += snprintf(source + used, sizeof source - (size_t)used, "int call_chain(int n) { return chain_0(n); }\n");
    if (temp_dir_open(state) != 0)
        return -1;
    temp_dir_write("called.c", source, (size_t)used, 0600);
    temp_dir_run("$CC -O0 -w -fPIC -fsemantic-interposition -shared -o libcalled.so called.c");
    library = dlopen(temp_dir_path("libcalled.so"), RTLD_NOW);
    if (!library)
        fail_msg("%s", dlerror());
    call_leaf = (function *)(uintptr_t)find("call_leaf");
    call_count = (function *)(uintptr_t)find("call_count");
    call_ping = (function *)(uintptr_t)find("call_ping");
    call_chain = (function *)(uintptr_t)find("call_chain");
    set_inside = (void (*)(function *))(uintptr_t)find("set_inside");
    return 0;
}

static int unload(void **state)
{
    dlclose(library);
    return temp_dir_close(state);
}

/* ---- proxies */

static struct strobe_hook leaf_hook, top_hook, count_hook, ping_hook, pong_hook, chain_hook[CHAIN];
static int leaf_calls, top_calls, count_calls, ping_calls, pong_calls, chain_calls[CHAIN];

static int original(const struct strobe_hook *h, int n)
{
    return ((function *)(uintptr_t)h->original)(n);
}

static int on_leaf(int n)
{
    leaf_calls++;
    return original(&leaf_hook, n);
}
static int on_top(int n)
{
    top_calls++;
    return original(&top_hook, n) + 100;
}
static int on_count(int n)
{
    count_calls++;
    return original(&count_hook, n);
}
static int on_ping(int n)
{
    ping_calls++;
    return original(&ping_hook, n);
}
static int on_pong(int n)
{
    pong_calls++;
    return original(&pong_hook, n);
}

#define EACH_OF_CHAIN(X)                                                                                               \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#define ON_CHAIN(i)                                                                                                    \
    static int on_chain_##i(int n)                                                                                     \
    {                                                                                                                  \
        chain_calls[i]++;                                                                                              \
        return original(&chain_hook[i], n);                                                                            \
    }
EACH_OF_CHAIN(ON_CHAIN)
#define NAME_CHAIN(i) on_chain_##i,
static function *const on_chain[CHAIN] = {EACH_OF_CHAIN(NAME_CHAIN)};

static void hook(struct strobe_hook *h, const char *symbol, function *to)
{
    assert_int_equal(strobe_hook_slots(h, symbol, (void *)(uintptr_t)to), STROBE_OK);
}

static int take_out(void **state)
{
    (void)state;
    set_inside(NULL);
    strobe_hook_remove(&top_hook);
    strobe_hook_remove(&leaf_hook);
    strobe_hook_remove(&count_hook);
    strobe_hook_remove(&ping_hook);
    strobe_hook_remove(&pong_hook);
    for (int i = 0; i < CHAIN; i++)
        strobe_hook_remove(&chain_hook[i]);
    leaf_calls = top_calls = count_calls = ping_calls = pong_calls = 0;
    memset(chain_calls, 0, sizeof chain_calls);
    return 0;
}

/* ---- depth */

static void recursion_passes_the_proxy_at_every_level(void **state)
{
    (void)state;
    hook(&count_hook, "count", on_count);
    assert_int_equal(call_count(10), 10);
    assert_int_equal(count_calls, 11);
    assert_int_equal(call_count(1000), 1000);
    assert_int_equal(count_calls, 1012);
}

static void cross_recursion_passes_both_proxies_at_every_level(void **state)
{
    (void)state;
    hook(&ping_hook, "ping", on_ping);
    hook(&pong_hook, "pong", on_pong);
    assert_int_equal(call_ping(9), 9);
    assert_int_equal(ping_calls, 5);
    assert_int_equal(pong_calls, 5);
}

static void hooks_nest_16_17_and_20_deep(void **state)
{
    static const int depths[] = {16, 17, 20};
    for (size_t k = 0; k < sizeof depths / sizeof depths[0]; k++) {
        for (int i = 0; i < depths[k]; i++) {
            char name[16];
            snprintf(name, sizeof name, "chain_%d", i);
            hook(&chain_hook[i], name, on_chain[i]);
        }
        assert_int_equal(call_chain(5), 5 + CHAIN - 1);
        for (int i = 0; i < CHAIN; i++)
            assert_int_equal(chain_calls[i], i < depths[k]);
        take_out(state);
    }
}

/* ---- ways out */

static jmp_buf out;

static int jump_out(int n)
{
    longjmp(out, n);
}

static void a_longjmp_over_proxies_leaves_nothing_behind(void **state)
{
    volatile int left = 0;
    (void)state;
    hook(&leaf_hook, "leaf", on_leaf);
    for (int i = 0; i < CHAIN; i++) {
        char name[16];
        snprintf(name, sizeof name, "chain_%d", i);
        hook(&chain_hook[i], name, on_chain[i]);
    }
    for (volatile int round = 0; round < 50; round++) {
        set_inside(jump_out);
        if (setjmp(out) == 0)
            call_chain(1);
        else
            left++;
        set_inside(NULL);
        assert_int_equal(call_chain(1), CHAIN);
    }
    assert_int_equal(left, 50);
    assert_int_equal(leaf_calls, 100);
    assert_int_equal(chain_calls[0], 100);
    assert_int_equal(chain_calls[CHAIN - 1], 100);
}

static int end_thread(int n)
{
    (void)n;
    pthread_exit(NULL);
}

static void *call_in_thread(void *arg)
{
    (void)arg;
    call_leaf(1);
    return NULL;
}

static void threads_may_end_inside_a_proxy(void **state)
{
    (void)state;
    hook(&leaf_hook, "leaf", on_leaf);
    set_inside(end_thread);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, call_in_thread, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(leaf_calls, 20);
    set_inside(NULL);
    assert_int_equal(call_leaf(3), 3);
    assert_int_equal(leaf_calls, 21);
}

static int return_early(int n)
{
    leaf_calls++;
    return -n;
}

static void a_proxy_that_does_not_call_on_is_called_again(void **state)
{
    (void)state;
    hook(&leaf_hook, "leaf", return_early);
    for (int i = 0; i < 5; i++)
        assert_int_equal(call_leaf(3), -3);
    assert_int_equal(leaf_calls, 5);
    assert_int_equal(strobe_hook_remove(&leaf_hook), STROBE_OK);
    assert_int_equal(call_leaf(3), 3);
}

/* ---- hooks that come and go */

static int unhook_and_call(int n)
{
    leaf_calls++;
    assert_int_equal(strobe_hook_remove(&leaf_hook), STROBE_OK);
    return original(&leaf_hook, n);
}

static void a_proxy_may_take_its_own_hook_out(void **state)
{
    (void)state;
    hook(&leaf_hook, "leaf", unhook_and_call);
    assert_int_equal(call_leaf(3), 3);
    assert_int_equal(call_leaf(4), 4);
    assert_int_equal(leaf_calls, 1);
}

static int take_the_others_out(int n)
{
    for (int i = 0; i < CHAIN; i++)
        assert_int_equal(strobe_hook_remove(&chain_hook[i]), STROBE_OK);
    return n;
}

static void hooks_may_be_taken_out_below_the_proxies_they_called(void **state)
{
    (void)state;
    for (int i = 0; i < CHAIN; i++) {
        char name[16];
        snprintf(name, sizeof name, "chain_%d", i);
        hook(&chain_hook[i], name, on_chain[i]);
    }
    set_inside(take_the_others_out);
    assert_int_equal(call_chain(5), 5 + CHAIN - 1);
    assert_int_equal(chain_calls[CHAIN - 1], 1);
    set_inside(NULL);
    assert_int_equal(call_chain(5), 5 + CHAIN - 1);
    assert_int_equal(chain_calls[CHAIN - 1], 1);
}

static int hook_another(int n)
{
    leaf_calls++;
    if (count_hook.kind == STROBE_HOOK_NONE)
        hook(&count_hook, "count", on_count);
    return original(&leaf_hook, n);
}

static void a_proxy_may_hook_another_function(void **state)
{
    (void)state;
    hook(&leaf_hook, "leaf", hook_another);
    assert_int_equal(call_leaf(3), 3);
    assert_int_equal(call_count(2), 2);
    assert_int_equal(count_calls, 3);
}

static void of_two_hooks_the_newer_runs_first_and_calls_the_older(void **state)
{
    (void)state;
    hook(&leaf_hook, "leaf", on_leaf);
    hook(&top_hook, "leaf", on_top);
    assert_int_equal(call_leaf(3), 103);
    assert_int_equal(top_calls, 1);
    assert_int_equal(leaf_calls, 1);
    assert_int_equal(strobe_hook_remove(&leaf_hook), STROBE_EXISTS);
    assert_int_equal(call_leaf(3), 103);
    assert_int_equal(leaf_calls, 2);
    assert_int_equal(strobe_hook_remove(&top_hook), STROBE_OK);
    assert_int_equal(call_leaf(3), 3);
    assert_int_equal(leaf_calls, 3);
    assert_int_equal(strobe_hook_remove(&leaf_hook), STROBE_OK);
    assert_int_equal(call_leaf(3), 3);
    assert_int_equal(leaf_calls, 3);
}

/* ---- signals */

static void in_handler(int signal)
{
    (void)signal;
    set_inside(NULL);
    call_leaf(1);
}

static int raise_inside(int n)
{
    raise(SIGUSR1);
    return n;
}

static void a_signal_handler_may_call_what_it_has_interrupted(void **state)
{
    struct sigaction act = {.sa_handler = in_handler}, before;
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &act, &before), 0);
    hook(&leaf_hook, "leaf", on_leaf);
    for (int i = 0; i < 10; i++) {
        set_inside(raise_inside);
        assert_int_equal(call_leaf(3), 3);
    }
    assert_int_equal(leaf_calls, 20);
    sigaction(SIGUSR1, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(recursion_passes_the_proxy_at_every_level, take_out),
        cmocka_unit_test_teardown(cross_recursion_passes_both_proxies_at_every_level, take_out),
        cmocka_unit_test_teardown(hooks_nest_16_17_and_20_deep, take_out),
        cmocka_unit_test_teardown(a_longjmp_over_proxies_leaves_nothing_behind, take_out),
        cmocka_unit_test_teardown(threads_may_end_inside_a_proxy, take_out),
        cmocka_unit_test_teardown(a_proxy_that_does_not_call_on_is_called_again, take_out),
        cmocka_unit_test_teardown(a_proxy_may_take_its_own_hook_out, take_out),
        cmocka_unit_test_teardown(hooks_may_be_taken_out_below_the_proxies_they_called, take_out),
        cmocka_unit_test_teardown(a_proxy_may_hook_another_function, take_out),
        cmocka_unit_test_teardown(of_two_hooks_the_newer_runs_first_and_calls_the_older, take_out),
        cmocka_unit_test_teardown(a_signal_handler_may_call_what_it_has_interrupted, take_out),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
