/* Stacks omit the engine's frames in a hook, and keep the program's frames below it. */
#include "engine/trace/model/function_tree.h"

#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* The first digit of an address is its image, the rest is its function. */
enum {
    MAIN = 0x1001,
    WORK = 0x1002,
    STRDUP = 0x2001,
    MALLOC = 0x2002,
    START_THREAD = 0x2003,
    BACKTRACE = 0x3001,
    CLOCK = 0x4001,
    HOOK = 0x5001,
    SAMPLE = 0x6001,
    TRAMPOLINE = 0x6002,
    OTHER = 0x7001,
    ANDROID_HOOK = 0x8001,
    LAB_HOOK = 0x9001
};

static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    static const char *const image[] = {"",
                                        "/bin/app",
                                        "/lib/libc.so.6",
                                        "/lib/libunwind.so.8",
                                        "[vdso]",
                                        "/opt/lib/strobe/libstrobe-preload.so",
                                        "/opt/lib/strobe/libstrobe-preload.so",
                                        "/lib/libunrelated.so",
                                        "/data/app/com.example/base.apk!/lib/arm64-v8a/libstrobe.so",
                                        "/build/libstrobe-art.so"};
    static char name[0xa000][8];
    (void)ctx, (void)max;
    snprintf(name[address], sizeof name[0], "%x", (unsigned)address);
    *out = (struct strobe_symbol){.function = address == TRAMPOLINE ? "run_traced_thread" : name[address],
                                  .image = image[address >> 12],
                                  .file = "",
                                  .function_id = (uint32_t)address,
                                  .function_address = address,
                                  .is_local = address >> 12 == 6};
    return 1;
}

static struct strobe_build build;
static struct strobe_function_tree *tree;

static int open_tree(void **state)
{
    struct strobe_config config = strobe_build_config();
    temp_dir_open(state);
    strobe_build_begin(&build, temp_dir_path("s.strobe"), &config);
    return 0;
}

/* Names of the shown path, outermost first, separated by blanks. `frames` ends with 0. */
static const char *shown(const uint64_t *frames, unsigned way, uint32_t *stack)
{
    static char text[256];
    uint32_t count = 0;
    while (frames[count])
        count++;
    *stack = strobe_build_stack(&build, frames, count);
    if (!tree)
        assert_int_equal(strobe_function_tree_open(&build.session.stacks,
                                                   (struct strobe_resolver){.resolve = resolve, .ctx = NULL}, &tree),
                         STROBE_OK);
    uint32_t path[16], depth = 0;
    for (uint32_t node = strobe_function_tree_of_stack(tree, *stack, way); node;
         node = strobe_function_tree_node(tree, node)->parent)
        path[depth++] = strobe_function_tree_node(tree, node)->name;
    text[0] = '\0';
    while (depth--) {
        strcat(text, strobe_function_tree_name(tree, path[depth])->text);
        strcat(text, depth ? " " : "");
    }
    return text;
}

static void is_shown(const uint64_t *frames, const char *expected, int in_engine)
{
    uint32_t stack;
    tree = NULL;
    assert_string_equal(shown(frames, 0, &stack), expected);
    assert_int_equal(strobe_function_tree_in_engine(tree, stack, 0), in_engine);
    uint32_t until = strobe_function_tree_shown_stack(tree, stack, 0);
    assert_true(in_engine ? until != stack : until == stack);
    assert_string_equal(strobe_function_tree_of_stack(tree, until, 0) == strobe_function_tree_of_stack(tree, stack, 0)
                            ? expected
                            : "another path",
                        expected);
    strobe_function_tree_close(tree);
}

#define PATH(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void what_the_engine_calls_in_a_hook_is_left_out(void **state)
{
    (void)state;
    is_shown(PATH(MAIN, STRDUP, HOOK, SAMPLE, BACKTRACE), "1001 2001", 1);
    is_shown(PATH(MAIN, STRDUP, HOOK, SAMPLE, CLOCK), "1001 2001", 1);
    is_shown(PATH(MAIN, STRDUP, HOOK, SAMPLE), "1001 2001", 1);
    is_shown(PATH(MAIN, HOOK, SAMPLE, BACKTRACE, HOOK, MALLOC), "1001", 1);
}

static void hooks_of_the_libraries_for_android_are_left_out(void **state)
{
    (void)state;
    is_shown(PATH(MAIN, ANDROID_HOOK, WORK), "1001 1002", 0);
    is_shown(PATH(MAIN, LAB_HOOK, WORK), "1001 1002", 0);
}

static void what_the_program_calls_through_a_hook_stays(void **state)
{
    (void)state;
    is_shown(PATH(MAIN, STRDUP, HOOK, MALLOC), "1001 2001 2002", 0);
    is_shown(PATH(MAIN, HOOK, CLOCK), "1001 4001", 0);
    is_shown(PATH(MAIN, HOOK), "1001", 0);
}

static void a_thread_that_the_engine_has_started_for_the_program_stays(void **state)
{
    (void)state;
    is_shown(PATH(START_THREAD, TRAMPOLINE, WORK), "2003 1002", 0);
    is_shown(PATH(START_THREAD, TRAMPOLINE, WORK, STRDUP, HOOK, MALLOC), "2003 1002 2001 2002", 0);
    is_shown(PATH(START_THREAD, TRAMPOLINE, OTHER, STRDUP), "2003 7001 2001", 0);
    is_shown(PATH(START_THREAD, TRAMPOLINE, MALLOC), "2003 2002", 0);
    is_shown(PATH(START_THREAD, TRAMPOLINE, SAMPLE, MALLOC), "2003", 1);
    is_shown(PATH(START_THREAD, TRAMPOLINE, WORK, HOOK, SAMPLE, BACKTRACE), "2003 1002", 1);
}

static void stacks_with_frames_of_the_engine_only_are_empty(void **state)
{
    (void)state;
    is_shown(PATH(SAMPLE, BACKTRACE), "[no stack]", 1);
}

static void the_same_holds_for_stacks_that_are_not_whole(void **state)
{
    uint32_t stack;
    (void)state;
    tree = NULL;
    assert_string_equal(shown(PATH(MAIN, HOOK, SAMPLE, CLOCK), STROBE_STACK_CUT, &stack), "[stack cut] 1001");
    assert_true(strobe_function_tree_in_engine(tree, stack, STROBE_STACK_CUT));
    assert_string_equal(shown(PATH(MAIN, HOOK, SAMPLE, CLOCK), STROBE_STACK_LOST, &stack), "[stack lost] 1001");
    strobe_function_tree_close(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_engine_calls_in_a_hook_is_left_out),
        cmocka_unit_test(hooks_of_the_libraries_for_android_are_left_out),
        cmocka_unit_test(what_the_program_calls_through_a_hook_stays),
        cmocka_unit_test(a_thread_that_the_engine_has_started_for_the_program_stays),
        cmocka_unit_test(stacks_with_frames_of_the_engine_only_are_empty),
        cmocka_unit_test(the_same_holds_for_stacks_that_are_not_whole),
    };
    return cmocka_run_group_tests(tests, open_tree, temp_dir_close);
}
