/* The index follows the dynamic linker: loaded libraries have rules, unloaded ones do not. */
#include "engine/backend/linux/host_linux.h"
#include "engine/backend/linux/unwind_images.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_linux linux_host;
static struct strobe_unwind_index *rules;
static char folder[TEMPORARY_BYTES];

static uint8_t kind_at(uint64_t pc)
{
    return strobe_unwind_index_find(rules, pc).kind;
}

static int start(void **state)
{
    (void)state;
    char command[512];
    strobe_linux_init(&linux_host, clock_gettime);
    rules = strobe_unwind_images_update(&linux_host.host);
    if (!rules || !mkdtemp(temporary_path(folder, "strobe-unwind-XXXXXX")))
        return 1;
    snprintf(command, sizeof command,
             "cd %s && for n in one two; do echo \"int $n(int x) { volatile int a[9] = {x}; return a[x & 7]; }\" >$n.c "
             "&& ${CC:-cc} -O1 -fPIC -shared -o $n.so $n.c || exit 1; done",
             folder);
    return system(command);
}

static int end(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void *open_library(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void code_that_was_there_at_the_start_has_rules(void **state)
{
    (void)state;
    assert_int_equal(kind_at((uint64_t)(uintptr_t)open_library), STROBE_UNWIND_FRAME);
    assert_int_equal(kind_at((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort")), STROBE_UNWIND_FRAME);
}

static void a_library_has_rules_from_the_next_update_on_and_none_after_it_went(void **state)
{
    (void)state;
    void *library = open_library("one");
    assert_non_null(library);
    uint64_t pc = (uint64_t)(uintptr_t)dlsym(library, "one");
    strobe_store_relaxed(&rules->missed, 0);
    assert_int_equal(kind_at(pc), STROBE_UNWIND_BY_FP);
    assert_int_equal(strobe_load_relaxed(&rules->missed), 1);
    strobe_unwind_images_update(&linux_host.host);
    assert_int_equal(kind_at(pc), STROBE_UNWIND_FRAME);
    dlclose(library);
    /* The library's memory is unmapped: before an update, lookups use the copy. */
    assert_int_equal(kind_at(pc + 1), STROBE_UNWIND_FRAME);
    strobe_unwind_images_update(&linux_host.host);
    assert_int_equal(kind_at(pc), STROBE_UNWIND_BY_FP);
    assert_int_equal(kind_at(pc + 1), STROBE_UNWIND_BY_FP);
}

/* Loads many more libraries than the memory would hold without reuse. */
static void libraries_that_come_and_go_leave_no_memory_behind(void **state)
{
    (void)state;
    const char *const names[] = {"one", "two"};
    for (int i = 0; i < 5000; i++) {
        void *library = open_library(names[i & 1]);
        strobe_unwind_images_update(&linux_host.host);
        uint64_t pc = (uint64_t)(uintptr_t)dlsym(library, names[i & 1]);
        assert_int_equal(kind_at(pc), STROBE_UNWIND_FRAME);
        dlclose(library);
        strobe_unwind_images_update(&linux_host.host);
    }
    assert_true(strobe_load_relaxed(&rules->images) < 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_that_was_there_at_the_start_has_rules),
        cmocka_unit_test(a_library_has_rules_from_the_next_update_on_and_none_after_it_went),
        cmocka_unit_test(libraries_that_come_and_go_leave_no_memory_behind),
    };
    return cmocka_run_group_tests_name("images of the index", tests, start, end);
}
