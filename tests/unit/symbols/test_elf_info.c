/* Facts about program files, on files that this test writes and on programs that the compiler builds for it. */
#include "engine/trace/symbols/elf_info.h"

#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static const char *const program = "#include <stdio.h>\n#include <stdlib.h>\n"
                                   "__attribute__((noinline)) int f(int n, int *p) { int x[50];\n"
                                   "  for (int i = 0; i < 50; i++) x[i] = rand() % n;\n"
                                   "  qsort(x, 50, 4, (void *)p); return x[3]; }\n"
                                   "__attribute__((noinline)) int g(int n) {\n"
                                   "  return printf(\"%d\\n\", f(n, 0)) + f(n, 0); }\n"
                                   "int main(int c, char **v) { return g(c) + f(c, (int *)v); }\n";

/* Builds the program with `flags` and returns its facts. Skips the test when there is no compiler. */
static struct strobe_elf_info *build(const char *flags)
{
    static struct strobe_elf_info info;
    temp_dir_write("p.c", program, strlen(program), 0644);
    temp_dir_run("$CC -O2 %s -o p p.c", flags);
    assert_int_equal(strobe_elf_info(temp_dir_path("p"), &info), STROBE_OK);
    strobe_elf_count_frames(temp_dir_path("p"), &info);
    return &info;
}

static enum strobe_elf_kind kind_of(const char *path, struct strobe_elf_info *info)
{
    assert_int_equal(strobe_elf_info(path, info), STROBE_OK);
    return info->kind;
}

static void a_program_built_with_frame_pointers_is_known_by_its_call_frames(void **state)
{
    (void)state;
    struct strobe_elf_info *info = build("-fno-omit-frame-pointer");
    assert_int_equal(info->kind, STROBE_ELF_DYNAMIC);
    assert_true(info->functions >= 3);
    assert_true(strobe_elf_fp_share(info) > 0.95);
    assert_true(info->flags & STROBE_ELF_SYMTAB);
    assert_true(info->flags & STROBE_ELF_DYNSYM);
    assert_false(info->flags & STROBE_ELF_DEBUG);
    assert_true(strstr(info->interpreter, "ld-") != NULL);
}

/* Every recording inspects its program. So the call frame entries are read only on request. */
static void a_program_s_call_frames_are_not_read_unless_asked_for(void **state)
{
    (void)state;
    build("");
    struct strobe_elf_info info;
    assert_int_equal(kind_of(temp_dir_path("p"), &info), STROBE_ELF_DYNAMIC);
    assert_true(info.flags & STROBE_ELF_EH_FRAME);
    assert_int_equal(info.functions, 0);
    strobe_elf_count_frames(temp_dir_path("p"), &info);
    assert_true(info.functions >= 3);
}

static void a_program_built_without_frame_pointers_is_not_taken_for_one_with(void **state)
{
    (void)state;
    struct strobe_elf_info *info = build("-fomit-frame-pointer");
    assert_true(info->functions >= 3);
    /* No function of the program has one. On arm64 the C library's start-up code adds one. */
    assert_true(info->functions_with_fp <= 1);
    assert_true(strobe_elf_fp_share(info) < 0.5);
}

static void debug_information_and_stripping_are_seen(void **state)
{
    (void)state;
    assert_true(build("-g")->flags & STROBE_ELF_DEBUG);
    struct strobe_elf_info *info = build("-s");
    assert_int_equal(info->flags & (STROBE_ELF_DEBUG | STROBE_ELF_SYMTAB), 0);
    assert_true(info->flags & STROBE_ELF_DYNSYM);
    assert_true(info->flags & STROBE_ELF_EH_FRAME);
}

static void static_programs_are_distinguished_from_dynamic_ones(void **state)
{
    (void)state;
    assert_int_equal(build("-static")->kind, STROBE_ELF_STATIC);
    assert_int_equal(build("-static-pie -fPIE")->kind, STROBE_ELF_STATIC);
    assert_int_equal(build("-c")->kind, STROBE_ELF_NOT_A_PROGRAM);
}

static void the_build_id_is_the_one_the_linker_wrote(void **state)
{
    (void)state;
    struct strobe_elf_info *info = build("-Wl,--build-id=0x0102030405060708");
    static const uint8_t id[] = {1, 2, 3, 4, 5, 6, 7, 8};
    assert_int_equal(info->build_id_bytes, sizeof id);
    assert_memory_equal(info->build_id, id, sizeof id);
    assert_int_equal(build("-Wl,--build-id=none")->build_id_bytes, 0);
}

static void set_uid_and_set_gid_are_seen(void **state)
{
    (void)state;
    struct strobe_elf_info *info = build("");
    assert_int_equal(info->flags & (STROBE_ELF_SET_UID | STROBE_ELF_SET_GID | STROBE_ELF_CAPABILITIES), 0);
    assert_int_equal(chmod(temp_dir_path("p"), 04755), 0);
    assert_int_equal(kind_of(temp_dir_path("p"), info), STROBE_ELF_DYNAMIC);
    assert_true(info->flags & STROBE_ELF_SET_UID);
    assert_int_equal(chmod(temp_dir_path("p"), 02755), 0);
    kind_of(temp_dir_path("p"), info);
    assert_true(info->flags & STROBE_ELF_SET_GID);
    assert_false(info->flags & STROBE_ELF_SET_UID);
}

static void names_of_symbols_and_libraries_show_how_a_program_was_built(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        unsigned flags;
    } rows[] = {
        {"int used;", 0},
        {"void __cyg_profile_func_enter(void) {}", STROBE_ELF_INSTRUMENTED},
        {"void __asan_init(void) {}", STROBE_ELF_ASAN},
        {"void __tsan_init(void) {}", STROBE_ELF_TSAN},
        {"void libasan_init(void) {} void x__asan_init(void) {}", 0}, /* other names with the same end */
    };
    const unsigned all = STROBE_ELF_INSTRUMENTED | STROBE_ELF_ASAN | STROBE_ELF_TSAN | STROBE_ELF_SANITIZER_SHARED;
    struct strobe_elf_info info;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        temp_dir_write("l.c", rows[i].source, strlen(rows[i].source), 0644);
        temp_dir_run("$CC -shared -fPIC -nostdlib -o l l.c");
        kind_of(temp_dir_path("l"), &info);
        assert_int_equal(info.flags & all, rows[i].flags);
    }
    temp_dir_run("$CC -shared -fPIC -nostdlib -Wl,-soname,libtsan.so.9 -o l l.c && "
                 "$CC -shared -fPIC -nostdlib -Wl,--no-as-needed -o m l.c ./l");
    kind_of(temp_dir_path("m"), &info);
    assert_int_equal(info.flags & all, STROBE_ELF_SANITIZER_SHARED);
}

static void a_compressed_symbol_table_is_seen(void **state)
{
    (void)state;
    struct strobe_elf_info info;
    build("-s");
    temp_dir_run("echo symbols >table && objcopy --add-section .gnu_debugdata=table p q");
    assert_int_equal(kind_of(temp_dir_path("q"), &info), STROBE_ELF_DYNAMIC);
    assert_int_equal(info.flags & (STROBE_ELF_MINI_DEBUG | STROBE_ELF_SYMTAB), STROBE_ELF_MINI_DEBUG);
}

/* Each kind completes the sentence "it is ...", and no two kinds have one text. */
static void every_kind_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int kind = STROBE_ELF_DYNAMIC; kind <= STROBE_ELF_UNREADABLE + 1; kind++)
        for (int other = STROBE_ELF_DYNAMIC; other < kind; other++)
            assert_string_not_equal(strobe_elf_kind_text((enum strobe_elf_kind)kind),
                                    strobe_elf_kind_text((enum strobe_elf_kind)other));
    assert_string_equal(strobe_elf_kind_text((enum strobe_elf_kind)99), "of unknown kind");
}

static void a_path_that_leads_nowhere_is_not_found(void **state)
{
    (void)state;
    char name[400];
    struct strobe_elf_info info;
    temp_dir_write("file", "x", 1, 0755);
    temp_dir_run("ln -sf loop loop");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(kind_of(temp_dir_path("file/below"), &info), STROBE_ELF_NOT_FOUND);
    assert_int_equal(kind_of(temp_dir_path("loop"), &info), STROBE_ELF_NOT_FOUND);
    assert_int_equal(kind_of(name, &info), STROBE_ELF_NOT_FOUND);
}

static void a_script_names_its_interpreter_as_the_kernel_reads_it(void **state)
{
    (void)state;
    static const struct {
        const char *text, *interpreter, *arg;
    } cases[] = {
        {"#!/bin/sh\nexit 0\n", "/bin/sh", ""},
        {"#! /usr/bin/env  python3 -u \nprint()\n", "/usr/bin/env", "python3 -u"},
        {"#!\t/bin/a\t-x\r\n", "/bin/a", "-x"},
        {"#!/bin/sh", "/bin/sh", ""},
    };
    struct strobe_elf_info info;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = temp_dir_write("s", cases[i].text, strlen(cases[i].text), 0755);
        assert_int_equal(kind_of(path, &info), STROBE_ELF_SCRIPT);
        assert_string_equal(info.interpreter, cases[i].interpreter);
        assert_string_equal(info.interpreter_arg, cases[i].arg);
    }
    assert_int_equal(kind_of(temp_dir_write("s", "#!\n", 3, 0755), &info), STROBE_ELF_TEXT);
}

static void each_program_that_cannot_run_has_its_own_error(void **state)
{
    (void)state;
    struct strobe_elf_info info;
    assert_int_equal(kind_of(temp_dir_path("nothing-here"), &info), STROBE_ELF_NOT_FOUND);
    assert_int_equal(kind_of(temp_dir_path(""), &info), STROBE_ELF_DIRECTORY);
    assert_int_equal(kind_of("/dev/null", &info), STROBE_ELF_NOT_A_FILE);
    assert_int_equal(kind_of(temp_dir_write("e", "", 0, 0755), &info), STROBE_ELF_EMPTY);
    assert_int_equal(kind_of(temp_dir_write("t", "echo hi\n", 8, 0755), &info), STROBE_ELF_TEXT);
    assert_int_equal(kind_of(temp_dir_write("n", "#!/bin/sh\n", 10, 0644), &info), STROBE_ELF_NOT_EXECUTABLE);
    assert_int_equal(kind_of(temp_dir_write("b", "\177ELF\2\1\1garbage", 14, 0755), &info), STROBE_ELF_BROKEN);
    static const char other[64] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\x16\0\1"; /* s390 */
    assert_int_equal(kind_of(temp_dir_write("o", other, sizeof other, 0755), &info), STROBE_ELF_OTHER_MACHINE);
}

/* Any prefix of a program and any damaged copy of it gets an answer. Sanitized builds check that no read is out of
 * bounds. */
static void damaged_programs_get_an_answer(void **state)
{
    (void)state;
    build("");
    srand(strobe_trial_seed("test_elf_info"));
    size_t bytes;
    char *whole = temp_dir_read("p", &bytes), *copy = malloc(bytes);
    assert_non_null(copy);
    struct strobe_elf_info info;
    for (int i = 0; i < 300; i++) {
        memcpy(copy, whole, bytes);
        size_t keep = i % 3 ? bytes : (size_t)rand() % bytes;
        for (int k = i % 3 ? 1 + rand() % 20 : 0; k > 0; k--)
            copy[(size_t)rand() % (rand() % 2 ? 1024 : bytes)] = (char)rand();
        const char *path = temp_dir_write("d", copy, keep, 0755);
        kind_of(path, &info);
        strobe_elf_count_frames(path, &info);
        assert_true(info.functions_with_fp <= info.functions);
        assert_non_null(strobe_elf_kind_text(info.kind));
    }
    free(copy);
    free(whole);
}

static void programs_are_found_along_the_path_as_execvp_does(void **state)
{
    (void)state;
    char out[256], path[256], old[4096];
    snprintf(old, sizeof old, "%s", getenv("PATH") ? getenv("PATH") : "");
    temp_dir_write("tool", "#!/bin/sh\n", 10, 0755);
    temp_dir_write("plain", "text", 4, 0644);
    snprintf(path, sizeof path, "/nowhere:%s", temp_dir_path("."));
    setenv("PATH", path, 1);
    assert_int_equal(strobe_elf_find("tool", out, sizeof out), STROBE_OK);
    assert_string_equal(out, temp_dir_path("./tool"));
    assert_int_equal(strobe_elf_find("plain", out, sizeof out), STROBE_NO_ENTRY);
    assert_string_equal(out, "plain");
    assert_int_equal(strobe_elf_find("", out, sizeof out), STROBE_NO_ENTRY);
    assert_int_equal(strobe_elf_find(temp_dir_path("plain"), out, sizeof out), STROBE_OK);
    assert_int_equal(strobe_elf_find("./no-such-file", out, sizeof out), STROBE_NO_ENTRY);
    assert_int_equal(strobe_elf_find("tool", out, 9), STROBE_NO_ENTRY); /* no path fits */
    unsetenv("PATH");
    assert_int_equal(strobe_elf_find("sh", out, sizeof out), STROBE_OK);
    assert_string_equal(out, "/bin/sh");
    setenv("PATH", old, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_built_with_frame_pointers_is_known_by_its_call_frames),
        cmocka_unit_test(a_program_built_without_frame_pointers_is_not_taken_for_one_with),
        cmocka_unit_test(a_program_s_call_frames_are_not_read_unless_asked_for),
        cmocka_unit_test(debug_information_and_stripping_are_seen),
        cmocka_unit_test(static_programs_are_distinguished_from_dynamic_ones),
        cmocka_unit_test(the_build_id_is_the_one_the_linker_wrote),
        cmocka_unit_test(set_uid_and_set_gid_are_seen),
        cmocka_unit_test(names_of_symbols_and_libraries_show_how_a_program_was_built),
        cmocka_unit_test(a_compressed_symbol_table_is_seen),
        cmocka_unit_test(every_kind_has_a_text_of_its_own),
        cmocka_unit_test(a_path_that_leads_nowhere_is_not_found),
        cmocka_unit_test(a_script_names_its_interpreter_as_the_kernel_reads_it),
        cmocka_unit_test(each_program_that_cannot_run_has_its_own_error),
        cmocka_unit_test(damaged_programs_get_an_answer),
        cmocka_unit_test(programs_are_found_along_the_path_as_execvp_does),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
