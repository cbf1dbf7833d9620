/* Facts about program files, on files this test writes and on programs it has the compiler build. */
#include "engine/trace/elf_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const char *text, size_t bytes, mode_t mode)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static const char *const program = "#include <stdio.h>\n#include <stdlib.h>\n"
                                   "__attribute__((noinline)) int f(int n, int *p) { int x[50];\n"
                                   "  for (int i = 0; i < 50; i++) x[i] = rand() % n;\n"
                                   "  qsort(x, 50, 4, (void *)p); return x[3]; }\n"
                                   "__attribute__((noinline)) int g(int n) { return printf(\"%d\\n\", f(n, 0)) + f(n, 0); }\n"
                                   "int main(int c, char **v) { return g(c) + f(c, (int *)v); }\n";

/* Builds the program with `flags` and returns what it is; the test is skipped where there is no compiler. */
static struct strobe_elf_info *build(const char *flags)
{
    static struct strobe_elf_info info;
    char command[512], source[128];
    snprintf(source, sizeof source, "%s", write_file("p.c", program, strlen(program), 0644));
    const char *cc = getenv("CC");
    snprintf(command, sizeof command, "%s -O2 %s -o %s/p %s 2>/dev/null", cc ? cc : "cc", flags, folder, source);
    if (system(command)) {
        print_message("SKIPPED: can't run: %s\n", command);
        skip();
    }
    assert_int_equal(strobe_elf_info(path_of("p"), &info), STROBE_OK);
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
    assert_true(strobe_elf_has_frame_pointers(info));
    assert_true(info->flags & STROBE_ELF_SYMTAB);
    assert_true(info->flags & STROBE_ELF_DYNSYM);
    assert_false(info->flags & STROBE_ELF_DEBUG);
    assert_true(strstr(info->interpreter, "ld-") != NULL);
}

static void a_program_built_without_frame_pointers_is_not_taken_for_one_with(void **state)
{
    (void)state;
    struct strobe_elf_info *info = build("-fomit-frame-pointer");
    assert_true(info->functions >= 3);
    assert_true(strobe_elf_fp_share(info) < 0.05);
    assert_false(strobe_elf_has_frame_pointers(info));
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

static void static_programs_are_told_from_dynamic_ones(void **state)
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
    assert_int_equal(chmod(path_of("p"), 04755), 0);
    assert_int_equal(kind_of(path_of("p"), info), STROBE_ELF_DYNAMIC);
    assert_true(info->flags & STROBE_ELF_SET_UID);
    assert_int_equal(chmod(path_of("p"), 02755), 0);
    kind_of(path_of("p"), info);
    assert_true(info->flags & STROBE_ELF_SET_GID);
    assert_false(info->flags & STROBE_ELF_SET_UID);
}

static void a_script_names_its_interpreter_as_the_kernel_reads_it(void **state)
{
    (void)state;
    static const struct { const char *text, *interpreter, *arg; } cases[] = {
        {"#!/bin/sh\nexit 0\n", "/bin/sh", ""},
        {"#! /usr/bin/env  python3 -u \nprint()\n", "/usr/bin/env", "python3 -u"},
        {"#!\t/bin/a\t-x\r\n", "/bin/a", "-x"},
        {"#!/bin/sh", "/bin/sh", ""},
    };
    struct strobe_elf_info info;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_file("s", cases[i].text, strlen(cases[i].text), 0755);
        assert_int_equal(kind_of(path, &info), STROBE_ELF_SCRIPT);
        assert_string_equal(info.interpreter, cases[i].interpreter);
        assert_string_equal(info.interpreter_arg, cases[i].arg);
    }
    assert_int_equal(kind_of(write_file("s", "#!\n", 3, 0755), &info), STROBE_ELF_TEXT);
}

static void what_cannot_run_is_told_apart(void **state)
{
    (void)state;
    struct strobe_elf_info info;
    assert_int_equal(kind_of(path_of("nothing-here"), &info), STROBE_ELF_NOT_FOUND);
    assert_int_equal(kind_of(folder, &info), STROBE_ELF_DIRECTORY);
    assert_int_equal(kind_of("/dev/null", &info), STROBE_ELF_NOT_A_FILE);
    assert_int_equal(kind_of(write_file("e", "", 0, 0755), &info), STROBE_ELF_EMPTY);
    assert_int_equal(kind_of(write_file("t", "echo hi\n", 8, 0755), &info), STROBE_ELF_TEXT);
    assert_int_equal(kind_of(write_file("n", "#!/bin/sh\n", 10, 0644), &info), STROBE_ELF_NOT_EXECUTABLE);
    assert_int_equal(kind_of(write_file("b", "\177ELF\2\1\1garbage", 14, 0755), &info), STROBE_ELF_BROKEN);
    static const char other[64] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\x16\0\1";   /* s390 */
    assert_int_equal(kind_of(write_file("o", other, sizeof other, 0755), &info), STROBE_ELF_OTHER_MACHINE);
}

/* Any prefix of a program and any damaged copy of it gets an answer; sanitized builds show that it is a safe one. */
static void damaged_programs_get_an_answer(void **state)
{
    (void)state;
    build("");
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u; repeat with: SEED=%u build/tests/unit/test_elf_info\n", seed, seed);
    FILE *f = fopen(path_of("p"), "rb");
    static char whole[1 << 16], copy[1 << 16];
    size_t bytes = fread(whole, 1, sizeof whole, f);
    fclose(f);
    srand(seed);
    struct strobe_elf_info info;
    for (int i = 0; i < 300; i++) {
        memcpy(copy, whole, bytes);
        size_t keep = i % 3 ? bytes : (size_t)rand() % bytes;
        for (int k = i % 3 ? 1 + rand() % 20 : 0; k > 0; k--)
            copy[(size_t)rand() % (rand() % 2 ? 1024 : bytes)] = (char)rand();
        kind_of(write_file("d", copy, keep, 0755), &info);
        assert_true(info.functions_with_fp <= info.functions);
        assert_non_null(strobe_elf_kind_text(info.kind));
    }
}

static void programs_are_found_along_the_path_as_execvp_does(void **state)
{
    (void)state;
    char out[256], path[256], old[4096];
    snprintf(old, sizeof old, "%s", getenv("PATH") ? getenv("PATH") : "");
    write_file("tool", "#!/bin/sh\n", 10, 0755);
    write_file("plain", "text", 4, 0644);
    snprintf(path, sizeof path, "/nowhere:%s", folder);
    setenv("PATH", path, 1);
    assert_int_equal(strobe_elf_find("tool", out, sizeof out), STROBE_OK);
    assert_string_equal(out, path_of("tool"));
    assert_int_equal(strobe_elf_find("plain", out, sizeof out), STROBE_NO_ENTRY);
    assert_string_equal(out, "plain");
    assert_int_equal(strobe_elf_find("", out, sizeof out), STROBE_NO_ENTRY);
    assert_int_equal(strobe_elf_find(path_of("plain"), out, sizeof out), STROBE_OK);
    assert_int_equal(strobe_elf_find("./no-such-file", out, sizeof out), STROBE_NO_ENTRY);
    setenv("PATH", old, 1);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/strobe-elf-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_built_with_frame_pointers_is_known_by_its_call_frames),
        cmocka_unit_test(a_program_built_without_frame_pointers_is_not_taken_for_one_with),
        cmocka_unit_test(debug_information_and_stripping_are_seen),
        cmocka_unit_test(static_programs_are_told_from_dynamic_ones),
        cmocka_unit_test(the_build_id_is_the_one_the_linker_wrote),
        cmocka_unit_test(set_uid_and_set_gid_are_seen),
        cmocka_unit_test(a_script_names_its_interpreter_as_the_kernel_reads_it),
        cmocka_unit_test(what_cannot_run_is_told_apart),
        cmocka_unit_test(damaged_programs_get_an_answer),
        cmocka_unit_test(programs_are_found_along_the_path_as_execvp_does),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
