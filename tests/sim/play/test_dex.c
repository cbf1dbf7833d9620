/* The dex file of a scenario: its form follows the rules of the format, and an interpreter in this test executes its
 * code. tests/contract_art shows that runtimes accept the file. */
#include "engine/base/error.h"
#include "sim/player/dex/dex.h"
#include "sim/player/dex/dex_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <cmocka.h>

struct file {
    const uint8_t *at;
    size_t bytes;
    struct sim_scenario *scenario;
};

static struct file open_text(const char *text)
{
    struct file f;
    struct strobe_error error = {""};
    void *out = NULL;
    if (sim_scenario_parse(text, "t.scn", &f.scenario, &error) != STROBE_OK ||
        sim_dex_of_scenario(f.scenario, &out, &f.bytes, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    f.at = out;
    return f;
}

static void close_file(struct file *f)
{
    free((void *)(uintptr_t)f->at);
    sim_scenario_free(f->scenario);
}

/* ---- reads numbers of a file, with checks of its bounds */

static uint32_t u16(const struct file *f, size_t at)
{
    assert_true(at + 2 <= f->bytes);
    return f->at[at] | (uint32_t)f->at[at + 1] << 8;
}

static uint32_t u32(const struct file *f, size_t at)
{
    return u16(f, at) | u16(f, at + 2) << 16;
}

static uint32_t uleb(const struct file *f, size_t *at)
{
    uint32_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(*at < f->bytes && shift < 32);
        uint8_t byte = f->at[(*at)++];
        n |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
}

enum { STRINGS = 56, TYPES = 64, PROTOS = 72, METHODS = 88, CLASSES = 96, DATA = 104 };

static const char *string_at(const struct file *f, uint32_t i)
{
    assert_true(i < u32(f, STRINGS));
    size_t at = u32(f, u32(f, STRINGS + 4) + i * 4);
    uint32_t length = uleb(f, &at);
    assert_true(at + length < f->bytes && f->at[at + length] == 0 && strlen((const char *)f->at + at) == length);
    return (const char *)f->at + at;
}

static const char *type_at(const struct file *f, uint32_t i)
{
    assert_true(i < u32(f, TYPES));
    return string_at(f, u32(f, u32(f, TYPES + 4) + i * 4));
}

/* Returns the method's class and name: "LCache;.get". */
static const char *method_at(const struct file *f, uint32_t i)
{
    static char text[256];
    assert_true(i < u32(f, METHODS));
    size_t at = u32(f, METHODS + 4) + i * 8;
    assert_true(u16(f, at + 2) < u32(f, PROTOS));
    snprintf(text, sizeof text, "%s.%s", type_at(f, u16(f, at)), string_at(f, u32(f, at + 4)));
    return text;
}

/* Returns the offset of a method's code, and its flags. 0: no class defines the method. */
static size_t code_of(const struct file *f, const char *name, uint32_t *flags)
{
    for (uint32_t c = 0; c < u32(f, CLASSES); c++) {
        size_t at = u32(f, u32(f, CLASSES + 4) + c * 32 + 24);
        assert_int_equal(uleb(f, &at), 0);
        assert_int_equal(uleb(f, &at), 0);
        uint32_t direct = uleb(f, &at);
        assert_int_equal(uleb(f, &at), 0);
        for (uint32_t method = 0; direct; direct--) {
            method += uleb(f, &at);
            *flags = uleb(f, &at);
            size_t code = uleb(f, &at);
            if (!strcmp(method_at(f, method), name))
                return code ? code : 1;
        }
    }
    return 0;
}

/* ---- the interpreter: executes a method, with a list of answers in place of the player */

enum end { RETURNED, THREW };
struct machine {
    const struct file *file;
    const int *steps;
    int caught;
    char log[512];
};

static void note(struct machine *m, const char *what)
{
    strncat(m->log, what, sizeof m->log - strlen(m->log) - 1);
    strcat(m->log, " ");
}

/* Executes a call. Returns true when it throws; each method of the scenario that is named "bad" throws. */
static bool call(struct machine *m, uint32_t method, int32_t *result)
{
    const char *name = method_at(m->file, method);
    if (!strcmp(name, "Lstrobe/Player;.step"))
        *result = *m->steps++;
    else if (!strcmp(name, "Lstrobe/Player;.caught"))
        *result = m->caught;
    else if (strcmp(name, "Lstrobe/Player;.thrown") != 0)
        note(m, name);
    return strstr(name, ".bad") != NULL;
}

static enum end run(struct machine *m, size_t code)
{
    const struct file *f = m->file;
    size_t begin = code + 16, units = u32(f, code + 12), tries = (begin + units * 2 + 3) & ~(size_t)3;
    size_t handler = tries + 8 + 2, pc = 0;
    assert_int_equal(code % 4, 0);
    assert_int_equal(u16(f, code + 6), 1);
    size_t covered = u16(f, tries + 4), catcher = uleb(f, &handler);
    int32_t result = 0, v[4] = {0};
    for (int turns = 0; turns < 1000; turns++) {
        assert_true(pc < units);
        uint32_t word = u16(f, begin + pc * 2), reg = word >> 8;
        bool thrown = false;
        switch (word & 0xff) {
        case 0x71:
            thrown = call(m, u16(f, begin + pc * 2 + 2), &result);
            pc += thrown ? 0 : 3;
            break;
        case 0x0a:
            v[reg] = result;
            pc++;
            break;
        case 0x0c:
        case 0x0d: pc++; break;
        case 0x0e: return RETURNED;
        case 0x27: thrown = true; break;
        case 0x2a: pc += (size_t)(int32_t)u32(f, begin + pc * 2 + 2); break;
        case 0x38: pc += v[reg] == 0 ? u16(f, begin + pc * 2 + 2) : 2; break;
        case 0x2c: {
            size_t table = pc + u32(f, begin + pc * 2 + 2), count = u16(f, begin + table * 2 + 2), next = pc + 3;
            assert_int_equal(table % 2, 0);
            for (size_t i = 0; i < count; i++) {
                size_t key = begin + table * 2 + 4 + i * 4;
                assert_true(i == 0 || (int32_t)u32(f, key) > (int32_t)u32(f, key - 4));
                if ((int32_t)u32(f, key) == v[reg])
                    next = pc + u32(f, key + count * 4);
            }
            pc = next;
            break;
        }
        default: fail_msg("no such operation: %x", word & 0xff);
        }
        if (thrown && pc >= covered)
            return THREW;
        if (thrown)
            pc = catcher;
    }
    fail_msg("does not end");
    return THREW;
}

/* ---- tests */

static const char app[] = "scenario t \"A test\"\nduration 1ms\nqueue q\n"
                          "image base { method native { } }\n"
                          "image app managed { method Cache.get { call Cache.bad; recurse a.b.C.deep 3; jni native }\n"
                          "method Cache.bad { throw }\n method a.b.C.deep { }\n method main { loop q }\n }\n"
                          "thread main main run main\n";

static void check_order(const struct file *f)
{
    for (uint32_t i = 1; i < u32(f, STRINGS); i++)
        assert_true(strcmp(string_at(f, i - 1), string_at(f, i)) < 0);
    for (uint32_t i = 1; i < u32(f, TYPES); i++)
        assert_true(strcmp(type_at(f, i - 1), type_at(f, i)) < 0);
    for (uint32_t i = 1; i < u32(f, METHODS); i++) {
        size_t at = u32(f, METHODS + 4) + i * 8, before = at - 8;
        assert_true(u16(f, before) < u16(f, at) ||
                    (u16(f, before) == u16(f, at) && u32(f, before + 4) < u32(f, at + 4)));
    }
}

static void check_map(const struct file *f)
{
    size_t map = u32(f, 52), items = u32(f, map), before = 0;
    assert_int_equal(map % 4, 0);
    assert_int_equal(map + 4 + items * 12, f->bytes);
    for (size_t i = 0; i < items; i++) {
        size_t at = u32(f, map + 4 + i * 12 + 8);
        assert_true(i == 0 ? at == 0 : at > before);
        assert_true(at < f->bytes);
        before = at;
    }
}

static void the_file_has_the_form_that_the_format_asks_for(void **state)
{
    (void)state;
    struct file f = open_text(app);
    assert_memory_equal(f.at, "dex\n035", 8);
    assert_int_equal(u32(&f, 8), adler32(adler32(0, NULL, 0), f.at + 12, (uInt)f.bytes - 12));
    assert_int_equal(u32(&f, 32), f.bytes);
    assert_int_equal(u32(&f, 36), 0x70);
    assert_int_equal(u32(&f, DATA) + u32(&f, DATA + 4), f.bytes);
    check_order(&f);
    check_map(&f);
    close_file(&f);
}

static void every_method_is_where_its_name_says(void **state)
{
    (void)state;
    struct file f = open_text(app);
    uint32_t flags;
    assert_true(code_of(&f, "LCache;.get", &flags) > 1 && flags == 9);
    assert_true(code_of(&f, "La/b/C;.deep", &flags) > 1 && flags == 9);
    assert_true(code_of(&f, "LApp;.main", &flags) > 1);
    assert_true(code_of(&f, "LApp;.native", &flags) == 1 && flags == 0x109);
    assert_int_equal(code_of(&f, "Lstrobe/Player;.step", &flags), 0);
    close_file(&f);
}

static int number_of(const struct file *f, const char *name)
{
    for (uint32_t i = 0; i < f->scenario->method_count; i++)
        if (!strcmp(f->scenario->methods[i].name, name))
            return (int)i;
    fail_msg("no %s", name);
    return -1;
}

static void code_calls_what_the_player_answers_until_it_returns(void **state)
{
    (void)state;
    struct file f = open_text(app);
    uint32_t flags;
    int native = number_of(&f, "native"), deep = number_of(&f, "a.b.C.deep");
    struct machine m = {.file = &f, .steps = (int[]){native, deep, native, SIM_DEX_RETURN}};
    assert_int_equal(run(&m, code_of(&f, "LCache;.get", &flags)), RETURNED);
    assert_string_equal(m.log, "LApp;.native La/b/C;.deep LApp;.native ");
    m = (struct machine){.file = &f, .steps = (int[]){deep, SIM_DEX_RETURN}};
    assert_int_equal(run(&m, code_of(&f, "La/b/C;.deep", &flags)), RETURNED);
    assert_string_equal(m.log, "La/b/C;.deep ");
    close_file(&f);
}

static void what_is_thrown_goes_out_unless_the_player_catches_it(void **state)
{
    (void)state;
    struct file f = open_text(app);
    uint32_t flags;
    int native = number_of(&f, "native"), bad = number_of(&f, "Cache.bad");
    size_t code = code_of(&f, "LCache;.get", &flags);
    struct machine m = {.file = &f, .steps = (int[]){bad, native, SIM_DEX_RETURN}, .caught = 1};
    assert_int_equal(run(&m, code), RETURNED);
    assert_string_equal(m.log, "LCache;.bad LApp;.native ");
    m = (struct machine){.file = &f, .steps = (int[]){bad, SIM_DEX_RETURN}};
    assert_int_equal(run(&m, code), THREW);
    m = (struct machine){.file = &f, .steps = (int[]){SIM_DEX_THROW}};
    assert_int_equal(run(&m, code), THREW);
    close_file(&f);
}

static void refused(const char *method, const char *expected)
{
    struct sim_scenario *s;
    struct strobe_error error = {""};
    char text[512];
    void *out;
    size_t bytes;
    snprintf(text, sizeof text,
             "scenario t \"A test\"\nduration 1ms\nimage app managed {\n"
             " method %s { }\n method App.x { }\n}\nthread main main run App.x\n",
             method);
    assert_int_equal(sim_scenario_parse(text, "t.scn", &s, &error), STROBE_OK);
    assert_int_equal(sim_dex_of_scenario(s, &out, &bytes, &error), STROBE_BAD_INPUT);
    assert_null(out);
    assert_non_null(strstr(error.text, expected));
    sim_scenario_free(s);
}

static void names_that_java_cannot_have_are_refused(void **state)
{
    (void)state;
    refused("\"-[]\"", "-[]");
    refused("\"Cache.\"", "Cache.");
    refused("\"a..b\"", "a..b");
    refused("java.lang.Object.wait", "java.lang.Object.wait");
    refused("x", "App.x");
}

static void names_of_other_languages_become_different_java_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *class, *method;
    } cases[] = {
        {"\"-[Cell layout]\"", "Cell", "layout"},
        {"\"+[Cell layout]\"", "Cell", "layout_1"},
        {"\"dyld4::prepare\"", "dyld4", "prepare"},
        {"\"a::B::set(int)\"", "a/B", "set_int_"},
        {"\"static initializers\"", "App", "static_initializers"},
        {"Cell.layout_9", "Cell", "layout_9"},
        {"\"-[Cell draw:in:]\"", "Cell", "draw_in_"},
        {"Cell.one", "Cell", "one"},
        {"\"-[Cell one]\"", "Cell", "one_8"},
    };
    struct sim_scenario *s;
    struct strobe_error error = {""};
    char text[2048] = "scenario t \"A test\"\nduration 1ms\nimage app managed {\n", class[512], name[512];
    void *out;
    size_t bytes;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " method %s { }\n", cases[i].name);
    strcat(text, "}\nthread main main run Cell.one\n");
    assert_int_equal(sim_scenario_parse(text, "t.scn", &s, &error), STROBE_OK);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sim_dex_method_name(s, i, class, name, sizeof class);
        assert_string_equal(class, cases[i].class);
        assert_string_equal(name, cases[i].method);
    }
    assert_int_equal(sim_dex_of_scenario(s, &out, &bytes, &error), STROBE_OK);
    free(out);
    sim_scenario_free(s);
}

static void sums_are_those_of_their_standards(void **state)
{
    (void)state;
    uint8_t sum[20];
    static const uint8_t abc[20] = {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
                                    0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d};
    static const uint8_t longer[20] = {0x84, 0x98, 0x3e, 0x44, 0x1c, 0x3b, 0xd2, 0x6e, 0xba, 0xae,
                                       0x4a, 0xa1, 0xf9, 0x51, 0x29, 0xe5, 0xe5, 0x46, 0x70, 0xf1};
    static const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sim_dex_sha1((const uint8_t *)"abc", 3, sum);
    assert_memory_equal(sum, abc, 20);
    sim_dex_sha1((const uint8_t *)text, sizeof text - 1, sum);
    assert_memory_equal(sum, longer, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_has_the_form_that_the_format_asks_for),
        cmocka_unit_test(every_method_is_where_its_name_says),
        cmocka_unit_test(code_calls_what_the_player_answers_until_it_returns),
        cmocka_unit_test(what_is_thrown_goes_out_unless_the_player_catches_it),
        cmocka_unit_test(names_that_java_cannot_have_are_refused),
        cmocka_unit_test(names_of_other_languages_become_different_java_names),
        cmocka_unit_test(sums_are_those_of_their_standards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
