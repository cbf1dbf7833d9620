/* The choice of an inline hooker, and the adapter for ShadowHook with a stand-in for its library. Each test has its own
 * process, because a library once found stays open. */
#include "engine/backend/art/hooks/hooker.h"
#include "engine/backend/art/hooks/shadowhook.h"
#include "tests/support/shadowhook.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct stand_in_shadowhook *stand_in;

static void in_child(void (*check)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define EXPECT(holds)                                                                                                  \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #holds);                                       \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static void load_stand_in(const char *version)
{
    char path[512];
    const char *build = getenv("B");
    snprintf(path, sizeof path, "%s/shadowhook/%s/libshadowhook.so", build ? build : "build", version);
    void *library = dlopen(path, RTLD_NOW);
    EXPECT(library);
    stand_in = dlsym(library, "stand_in");
}

__attribute__((noinline)) static long twice(long a)
{
    __asm__ volatile("" : "+r"(a));
    return a * 2 + (a >> 40);
}

static long (*original)(long);

static long one_more(long a)
{
    return original(a) + 1;
}

static int hook_twice(const struct strobe_inline_hooker *h, void **handle)
{
    return h->install(h->ctx, (void *)(uintptr_t)twice, (void *)(uintptr_t)one_more, (void **)(void *)&original,
                      handle);
}

/* ---- the choice ---- */

static void check_order(void)
{
    struct strobe_error error;
    const struct strobe_inline_hooker *h = strobe_hooker_choose(STROBE_ART_HOOKING_ANY, &error);
    EXPECT(h && !strcmp(h->name, "detours"));
    EXPECT(!strobe_hooker_choose(STROBE_ART_HOOKING_SHADOWHOOK, &error) && strstr(error.text, "libshadowhook.so"));
    EXPECT(!strobe_hooker_choose(STROBE_ART_HOOKING_NONE, &error) && !strcmp(error.text, "not asked for"));
    load_stand_in("new");
    h = strobe_hooker_choose(STROBE_ART_HOOKING_ANY, &error);
    EXPECT(h && !strcmp(h->name, "shadowhook"));
    h = strobe_hooker_choose(STROBE_ART_HOOKING_DETOURS, &error);
    EXPECT(h && !strcmp(h->name, "detours"));
}

static void shadowhook_comes_before_detours_only_when_the_app_has_loaded_it(void **state)
{
    (void)state;
    in_child(check_order);
}

/* ---- ShadowHook ---- */

static void check_hook(void)
{
    void *handle;
    struct strobe_error error = {""};
    const struct strobe_inline_hooker *h = strobe_shadowhook(false, &error);
    EXPECT(h);
    EXPECT(hook_twice(h, &handle) == 0 && stand_in->installed == 1);
    EXPECT(twice(20) == 41);
    EXPECT(h->remove(h->ctx, handle) == 0 && stand_in->installed == 0);
    EXPECT(twice(20) == 40);
}

static void check_new(void)
{
    load_stand_in("new");
    stand_in->app_mode_is_shared = true;
    check_hook();
    EXPECT(stand_in->flags == 4);
}

static void check_old(void)
{
    load_stand_in("old");
    check_hook();
    EXPECT(stand_in->mode == 1);
}

static void a_hook_is_made_in_multi_mode_or_by_an_older_library_in_unique_mode(void **state)
{
    (void)state;
    in_child(check_new);
    in_child(check_old);
}

static void check_shared(void)
{
    struct strobe_error error = {""};
    load_stand_in("old");
    stand_in->app_mode_is_shared = true;
    EXPECT(!strobe_shadowhook(false, &error) && strstr(error.text, "shared mode"));
    const struct strobe_inline_hooker *h = strobe_hooker_choose(STROBE_ART_HOOKING_ANY, &error);
    EXPECT(h && !strcmp(h->name, "detours"));
}

static void check_init_refused(void)
{
    struct strobe_error error = {""};
    load_stand_in("new");
    stand_in->init_refused = 12;
    EXPECT(!strobe_shadowhook(false, &error) && strstr(error.text, "shadowhook_init"));
}

static void a_library_that_cannot_be_used_is_passed_over_with_a_reason(void **state)
{
    (void)state;
    in_child(check_shared);
    in_child(check_init_refused);
}

static void check_refusal(void)
{
    void *handle;
    struct strobe_error error = {""};
    load_stand_in("new");
    const struct strobe_inline_hooker *h = strobe_shadowhook(false, &error);
    stand_in->hooks_left = 0;
    int refused = hook_twice(h, &handle);
    EXPECT(refused && !strcmp(h->explain(h->ctx, refused), "rewrite failed"));
    EXPECT(twice(20) == 40);
}

static void check_no_original(void)
{
    void *handle;
    struct strobe_error error = {""};
    load_stand_in("new");
    const struct strobe_inline_hooker *h = strobe_shadowhook(false, &error);
    stand_in->gives_no_original = true;
    int refused = hook_twice(h, &handle);
    EXPECT(refused && strstr(h->explain(h->ctx, refused), "original"));
    EXPECT(stand_in->installed == 0 && twice(20) == 40);
}

static void a_refused_or_half_made_hook_leaves_the_function_alone(void **state)
{
    (void)state;
    in_child(check_refusal);
    in_child(check_no_original);
}

static void check_unhook(int error_of_shadowhook, int refused)
{
    void *handle;
    struct strobe_error error = {""};
    load_stand_in("new");
    const struct strobe_inline_hooker *h = strobe_shadowhook(false, &error);
    EXPECT(hook_twice(h, &handle) == 0);
    stand_in->unhook_refused = error_of_shadowhook;
    EXPECT(h->remove(h->ctx, handle) == refused);
    EXPECT(h->remove(h->ctx, handle) == refused); /* the stand-in traps when its stub is used again */
    EXPECT(twice(20) == 41);
}

static void check_unhook_mismatch(void)
{
    check_unhook(28, EEXIST);
}
static void check_unhook_error(void)
{
    check_unhook(32, EIO);
}

static void a_stub_that_could_not_be_removed_is_not_used_again(void **state)
{
    (void)state;
    in_child(check_unhook_mismatch);
    in_child(check_unhook_error);
}

/* ---- no executable memory ---- */

/* Makes mmap and mprotect with PROT_EXEC fail with EACCES, as SELinux's execmem does. */
static void forbid_executable_memory(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void check_refused_memory(void)
{
    void *handle;
    struct strobe_error error;
    const struct strobe_inline_hooker *h = strobe_hooker_choose(STROBE_ART_HOOKING_DETOURS, &error);
    EXPECT(h);
    forbid_executable_memory();
    EXPECT(hook_twice(h, &handle) == EACCES);
    EXPECT(twice(20) == 40);
    EXPECT(!strobe_hooker_choose(STROBE_ART_HOOKING_ANY, &error));
    EXPECT(!strcmp(error.text, "the system lets no page be executable"));
}

static void without_executable_memory_there_is_no_hooker_and_a_reason(void **state)
{
    (void)state;
    if (getenv("STROBE_TEST_EMULATED"))
        skip(); /* qemu's user-mode emulator has no seccomp filters */
    in_child(check_refused_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shadowhook_comes_before_detours_only_when_the_app_has_loaded_it),
        cmocka_unit_test(a_hook_is_made_in_multi_mode_or_by_an_older_library_in_unique_mode),
        cmocka_unit_test(a_library_that_cannot_be_used_is_passed_over_with_a_reason),
        cmocka_unit_test(a_refused_or_half_made_hook_leaves_the_function_alone),
        cmocka_unit_test(a_stub_that_could_not_be_removed_is_not_used_again),
        cmocka_unit_test(without_executable_memory_there_is_no_hooker_and_a_reason),
    };
    return cmocka_run_group_tests_name("inline hookers", tests, NULL, NULL);
}
