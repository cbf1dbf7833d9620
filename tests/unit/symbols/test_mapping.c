/* Names that a shrinker changed are restored by mapping files of ProGuard and R8. */
#include "engine/base/error.h"
#include "engine/trace/symbols/mapping.h"
#include "engine/trace/symbols/symbolize.h"

#include "engine/store/session.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char mapping[] = "# compiler: R8\n"
                              "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.0\"}\n"
                              "com.example.Cache -> a.b:\n"
                              "# {\"id\":\"sourceFile\",\"fileName\":\"Cache.java\"}\n"
                              "    int size -> a\n"
                              "    java.lang.String get(int,com.example.Key) -> c\n"
                              "    void get(com.example.Key[]) -> c\n"
                              "    1:3:void put(int):10:12 -> d\n"
                              "    4:9:void put(int):14:19 -> d\n"
                              "    1:1:void com.example.Log.trace(int):7:7 -> e\n"
                              "    1:1:void evict(int):30 -> e\n"
                              "    2:2:void evict(int):31:31 -> e\n"
                              "    1:2:void first():1:2 -> f\n"
                              "    3:4:void second():5:6 -> f\n"
                              "    void com.example.Base.moved() -> g\n"
                              "com.example.Key -> a.d:\r\n"
                              "    void <init>() -> <init>\r\n"
                              "com.example.Kept -> com.example.Kept:\n"
                              "    void run() -> run\n";

static void expect(const char *method, const char *was)
{
    struct strobe_mapping *m;
    struct strobe_error error;
    assert_int_equal(strobe_mapping_parse(mapping, strlen(mapping), "mapping.txt", &m, &error), STROBE_OK);
    char *found = strobe_mapping_method(m, method);
    assert_string_equal(found, was);
    free(found);
    strobe_mapping_free(m);
}

static void overloads_are_distinguished_by_parameters(void **state)
{
    (void)state;
    expect("java.lang.String a.b.c(int, a.d)", "java.lang.String com.example.Cache.get(int, com.example.Key)");
    expect("void a.b.c(a.d[])", "void com.example.Cache.get(com.example.Key[])");
}

static void a_method_with_several_ranges_of_lines_is_one_method(void **state)
{
    (void)state;
    expect("void a.b.d(int)", "void com.example.Cache.put(int)");
}

static void what_was_inlined_is_not_taken_for_the_method(void **state)
{
    (void)state;
    expect("void a.b.e(int)", "void com.example.Cache.evict(int)");
}

static void methods_that_cannot_be_distinguished_are_all_named(void **state)
{
    (void)state;
    expect("void a.b.f()", "void com.example.Cache.first or void com.example.Cache.second()");
}

static void a_method_that_was_moved_has_its_old_class(void **state)
{
    (void)state;
    expect("void a.b.g()", "void com.example.Base.moved()");
}

static void types_are_named_even_where_the_method_is_not_known(void **state)
{
    (void)state;
    expect("a.d[][] a.b.unknown(a.b, int)", "com.example.Key[][] com.example.Cache.unknown(com.example.Cache, int)");
    expect("a.d other.Class.c(a.d)", "com.example.Key other.Class.c(com.example.Key)");
}

static void names_that_the_mapping_lacks_stay(void **state)
{
    (void)state;
    expect("void com.example.Kept.run()", "void com.example.Kept.run()");
    expect("void java.lang.Object.wait(long, int)", "void java.lang.Object.wait(long, int)");
    expect("unloaded method 0x7001000", "unloaded method 0x7001000");
    expect("", "");
    expect("()", "()");
    expect("void a.b.", "void a.b.");
}

static void line_ends_of_other_systems_do_not_matter(void **state)
{
    (void)state;
    expect("void a.d.<init>()", "void com.example.Key.<init>()");
}

static void expect_refused(const char *text, const char *why_expected)
{
    struct strobe_mapping *m;
    struct strobe_error error = {""};
    assert_int_equal(strobe_mapping_parse(text, strlen(text), "m.txt", &m, &error), STROBE_BAD_INPUT);
    assert_null(m);
    assert_string_equal(error.text, why_expected);
}

static void an_invalid_mapping_is_refused_with_its_position(void **state)
{
    (void)state;
    expect_refused("", "m.txt:1: expected a class, \"NAME -> NEW:\"");
    expect_refused("# nothing\n", "m.txt:1: expected a class, \"NAME -> NEW:\"");
    expect_refused("    int a -> b\n", "m.txt:1: expected a class, \"NAME -> NEW:\", before its members");
    expect_refused("A -> b:\n\n  some words\n", "m.txt:3: expected a member, \"TYPE NAME -> NEW\"");
    expect_refused("A -> b:\nC -> d\n", "m.txt:2: expected a class, \"NAME -> NEW:\"");
    expect_refused("A -> :\n", "m.txt:1: expected a class, \"NAME -> NEW:\"");
}

/* ---- a session ---- */

static void make_session(const char *path, const char *name)
{
    struct strobe_config c;
    struct strobe_session s;
    char text[64];
    strobe_config_default(&c);
    c.ring_slots = c.stack_nodes = 64;
    c.ring_subs = 1;
    c.threads_max = c.images_max = 4;
    c.names_bytes = STROBE_NAMES_BYTES_MIN;
    assert_int_equal(strobe_session_create(path, &c, "app", 1, &s), STROBE_OK);
    assert_int_equal(strobe_session_begin(&s, 1), STROBE_OK);
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, name, i);
        assert_int_equal(strobe_names_add(&s.names, 1000 + (uint64_t)i, text, strlen(text), 0), STROBE_OK);
    }
    assert_int_equal(strobe_names_add(&s.names, 7, "void a.b.d(int)", 15, STROBE_NAME_STALE), STROBE_OK);
    strobe_session_unmap(&s);
}

static enum strobe_status symbolize(const char *from, const char *to, const char *text, int replace,
                                    struct strobe_symbolized *made)
{
    struct strobe_mapping *m;
    struct strobe_error error;
    assert_int_equal(strobe_mapping_parse(text, strlen(text), "mapping.txt", &m, &error), STROBE_OK);
    enum strobe_status status = strobe_symbolize(from, to, m, replace, made, &error);
    strobe_mapping_free(m);
    return status;
}

static void a_session_gets_its_names_back_and_keeps_all_else(void **state)
{
    char folder[TEMPORARY_BYTES], from[TEMPORARY_BYTES + 16], to[TEMPORARY_BYTES + 16], longer[600] = "com.example.";
    struct strobe_symbolized made;
    struct strobe_session s;
    struct strobe_named_address name;
    uint64_t count = 0, at = 0;
    (void)state;
    assert_non_null(mkdtemp(temporary_path(folder, "strobe-mapping-XXXXXX")));
    snprintf(from, sizeof from, "%s/in.strobe", folder);
    snprintf(to, sizeof to, "%s/out.strobe", folder);
    make_session(from, "void a.b.m%d(int)");
    memset(longer + 12, 'x', 400);
    strcat(longer, " -> a.b:\n");
    assert_int_equal(symbolize(from, to, longer, 0, &made), STROBE_OK);
    assert_int_equal(made.names, 51);
    assert_int_equal(made.changed, 50);
    assert_int_equal(symbolize(from, to, longer, 0, &made), STROBE_EXISTS);
    assert_int_equal(symbolize(from, from, longer, 1, &made), STROBE_OK);
    assert_int_equal(strobe_session_open(to, &s), STROBE_OK);
    assert_string_equal(s.header->command, "app");
    for (; strobe_names_next(&s.names, &at, &name); count++) {
        if (name.flags & STROBE_NAME_STALE)
            assert_memory_equal(name.text, "void a.b.d(int)", name.bytes); /* of a method that does not exist */
        else
            assert_memory_equal(name.text, "void com.example.xxx", 20);
    }
    assert_int_equal(count, 51);
    strobe_session_unmap(&s);
    unlink(from);
    unlink(to);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overloads_are_distinguished_by_parameters),
        cmocka_unit_test(a_method_with_several_ranges_of_lines_is_one_method),
        cmocka_unit_test(what_was_inlined_is_not_taken_for_the_method),
        cmocka_unit_test(methods_that_cannot_be_distinguished_are_all_named),
        cmocka_unit_test(a_method_that_was_moved_has_its_old_class),
        cmocka_unit_test(types_are_named_even_where_the_method_is_not_known),
        cmocka_unit_test(names_that_the_mapping_lacks_stay),
        cmocka_unit_test(line_ends_of_other_systems_do_not_matter),
        cmocka_unit_test(an_invalid_mapping_is_refused_with_its_position),
        cmocka_unit_test(a_session_gets_its_names_back_and_keeps_all_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
