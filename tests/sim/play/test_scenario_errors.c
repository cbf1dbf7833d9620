/* Refused scenarios and their error texts: one line with the position, the expected and the found text. */
#include "engine/base/error.h"
#include "sim/app/scenario.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Three lines of a scenario that lack only the method M. */
#define HEAD "scenario a \"b\"\nduration 1s\nthread main main run M\n"
/* A scenario with these operations in the body of M, which begins at line 4, column 12. */
#define BODY(ops)      HEAD "method M { " ops " }\n"
#define DECLARED(text) HEAD "method M { }\n" text "\n"

static const struct {
    const char *text, *why;
} refused[] = {
    /* words */
    {"\x01", "1:1: expected a declaration (as method or thread), found byte 0x01"},
    {"scenario \xff", "1:10: expected a word as the scenario's name, found byte 0xff"},
    {"scenario @", "1:10: expected a word as the scenario's name, found '@'"},
    {"scenario a \"b", "1:12: expected a sentence in \"\" on what the scenario is about, found a text without its "
                       "closing '\"'"},
    {"scenario a \"\\n\"", "1:12: expected a sentence in \"\" on what the scenario is about, found a text with a '\\' "
                           "in it that is before neither '\"' nor '\\'"},
    {"scenario a \"\xc0\x80\"", "1:12: expected a sentence in \"\" on what the scenario is about, found a text with "
                                "bytes in it that are no characters"},
    {"metod", "1:1: expected a declaration (as method or thread), found 'metod'"},
    {"\xc3\xa9 x", "1:1: expected a declaration (as method or thread), found '\xc3\xa9'"},
    /* required lines */
    {"", "1:1: expected a line 'scenario NAME \"ABOUT\"', found the end of the file"},
    {"scenario a \"b\"\n", "2:1: expected a line 'duration TIME', found the end of the file"},
    {"scenario a \"b\"\nduration 1s\n", "3:1: expected a thread that is main, found the end of the file"},
    {"scenario\n", "1:9: expected a word as the scenario's name, found the end of the line"},
    {"scenario a \"b\" c", "1:16: expected the end of the line, found 'c'"},
    {"scenario a \"b\"\nscenario a \"b\"", "2:1: expected 'scenario' only once, found another after x.scn:1:1"},
    {"duration 1s\nduration 2s", "2:1: expected 'duration' only once, found another after x.scn:1:1"},
    {"cores 2\ncores 2", "2:1: expected 'cores' only once, found another after x.scn:1:1"},
    {"busy 2\nbusy 2", "2:1: expected 'busy' only once, found another after x.scn:1:1"},
    {"busy 257", "1:6: expected a number of threads from 0 to 256, found '257'"},
    {"cores 65", "1:7: expected a number of cores from 1 to 64, found '65'"},
    {"duration 0", "1:10: expected a time from 1ns to 3600000000000000ns, found '0'"},
    {"}", "1:1: expected a declaration (as method or thread), found '}'"},
    {"duration 1s }", "1:13: expected the end of the line, found '}'"},
    /* settings */
    {"config speed 3", "1:8: expected a setting of the engine (as interval_main), found 'speed'"},
    {"config interval_main 3", "1:22: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '3'"},
    {"config depth_max 193", "1:18: expected a number from 1 to 192, found '193'"},
    {"config ring_subs 3", "1:8: expected a power of two for ring_subs, found '3'"},
    {"config ring_mode latest", "1:18: expected newest or oldest, found 'latest'"},
    {"config metrics cpu, alloc", "1:19: expected the end of the line, found ','"},
    {"config metrics speed", "1:16: expected some of cpu, alloc, faults, switches, or none, found 'speed'"},
    {"config depth_max 3\nconfig depth_max 3", "2:8: expected each setting only once, found 'depth_max'"},
    /* values */
    {BODY("compute 2"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '2'"},
    {BODY("compute 2 ms"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '2'"},
    {BODY("compute 1.5ns"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '1.5ns'"},
    {BODY("compute 1001h"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '1001h'"},
    {BODY("compute 99999999999999999999s"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, "
                                            "found '99999999999999999999s'"},
    {BODY("compute -1ms"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '-1ms'"},
    {BODY("compute"), "4:20: expected a time (as 2ms) of at most 1000h, a whole number of ns, found '}'"},
    {BODY("compute 3ms..2ms"), "4:25: expected an upper end that is not below the lower, found '2ms'"},
    {BODY("compute exp 2ms"), "4:24: expected '(', found '2ms'"},
    {BODY("compute exp(2ms"), "4:28: expected ')', found '}'"},
    {BODY("compute lognormal(2ms)"), "4:33: expected ',', found ')'"},
    {BODY("compute lognormal(2ms, 5)"), "4:35: expected a sigma from 0 to 4, found '5'"},
    {BODY("compute one_of()"), "4:27: expected a time (as 2ms) of at most 1000h, a whole number of ns, found ')'"},
    {BODY("park timeout 0"), "4:25: expected a time (as 2ms) from 1ns to 1000h, a whole number of ns, found '0'"},
    {BODY("alloc 2ms"), "4:18: expected a size (as 64 or 4KiB) of at most 1024GiB, found '2ms'"},
    {BODY("alloc 1025GiB"), "4:18: expected a size (as 64 or 4KiB) of at most 1024GiB, found '1025GiB'"},
    {BODY("repeat 1000001 { }"), "4:19: expected a number from 0 to 1000000, found '1000001'"},
    {BODY("recurse M 0"), "4:22: expected a depth from 1 to 10000, found '0'"},
    /* operations */
    {BODY("compte 2ms"), "4:12: expected an operation or '}', found 'compte'"},
    {BODY("clock clock"), "4:18: expected the end of the line, found 'clock'"},
    {BODY("call"), "4:17: expected the name of a method, found '}'"},
    {BODY("repeat 3 compute 1ms"), "4:21: expected '{', found 'compute'"},
    {BODY("read 4KiB 2ms"), "4:22: expected 'takes', found '2ms'"},
    {BODY("choose { }"), "4:21: expected the weight of a choice from 1 to 1000000, found '}'"},
    {BODY("choose { 0 { } }"), "4:21: expected the weight of a choice from 1 to 1000000, found '0'"},
    {BODY("try { }"), "4:20: expected 'catch', found '}'"},
    {BODY("post M ui"), "4:19: expected 'to', found 'ui'"},
    {BODY("post M to q priority 1001"), "4:33: expected a priority from -1000 to 1000, found '1001'"},
    {BODY("exit; clock"), "4:18: expected '}', since nothing runs after 'exit', found 'clock'"},
    {BODY("fault gremlin"), "4:18: expected a kind of fault (as suspend_refused), found 'gremlin'"},
    {BODY("fault clock_back by 1ms"), "4:29: expected of, at, times, chance, thread or the end of the line, found "
                                      "'by'"},
    {BODY("fault clock_back of 0"), "4:32: expected a time, a size or a number, at least 1, found '0'"},
    {HEAD "method M { clock\n", "5:1: expected an operation or '}', found the end of the file"},
    {HEAD "method M frameless { alloc 1 }", "4:22: expected nothing but compute, repeat, forever and choose in a "
                                            "frameless method, found 'alloc'"},
    /* names */
    {BODY("call N"), "4:17: expected a method, found 'N', which is not declared"},
    {BODY("lock m { }") "monitor m", "4:17: expected a mutex, found 'm', which is a monitor (x.scn:5:9)"},
    {BODY("synchronized m { }") "mutex m", "4:25: expected a monitor, found 'm', which is a mutex (x.scn:5:7)"},
    {BODY("read_lock m { }") "mutex m", "4:22: expected an rwlock, found 'm', which is a mutex (x.scn:5:7)"},
    {BODY("notify q") "queue q", "4:19: expected a condition, found 'q', which is a queue (x.scn:5:7)"},
    {BODY("acquire M"), "4:20: expected a semaphore, found 'M', which is a native method (x.scn:4:8)"},
    {BODY("jni N") "method N managed { }", "4:16: expected a native method, found 'N', which is a managed method "
                                           "(x.scn:5:8)"},
    {BODY("load i takes 1ms") "image i", "4:17: expected an image that is loaded later, found 'i', which is an image "
                                         "that is there from the start (x.scn:5:7)"},
    {BODY("spawn M"), "4:18: expected a thread, found 'M', which is a native method (x.scn:4:8)"},
    {DECLARED("method M { }"), "5:8: expected a new name, found 'M', which is declared at x.scn:4:8"},
    {DECLARED("mutex a\nrwlock a"), "6:8: expected a new name, found 'a', which is declared at x.scn:5:7"},
    {DECLARED("method \"\" { }"), "5:8: expected a name for the method of 1 to 255 bytes, found \"\""},
    {DECLARED("mutex 3"), "5:7: expected a name for the mutex, found '3'"},
    /* locks that the thread already holds */
    {BODY("lock m { lock m { } }") "mutex m", "4:26: expected a mutex that is not held here already, found 'm'"},
    {BODY("write_lock m { read_lock m { } }") "rwlock m", "4:37: expected an rwlock that is not held here already, "
                                                          "found 'm'"},
    {BODY("wait c holding m") "mutex m\ncond c", "4:27: expected a mutex or monitor in whose block we are, found 'm'"},
    {BODY("lock m { }; wait c holding m") "mutex m\ncond c", "4:39: expected a mutex or monitor in whose block we "
                                                             "are, found 'm'"},
    {BODY("read_lock m { wait c holding m }") "rwlock m\ncond c", "4:41: expected a mutex or monitor in whose block "
                                                                  "we are, found 'm'"},
    /* methods, images, threads, queues */
    {DECLARED("method N managed native { }"), "5:18: expected 'native' only once, found 'native'"},
    {DECLARED("method N frame 8 { }"), "5:16: expected a frame that is a multiple of 16 bytes, found 8"},
    {DECLARED("method N frame 1MiB { }"), "5:16: expected a size from 0 to 65536 bytes, found '1MiB'"},
    {DECLARED("method N in i { }"), "5:13: expected an image, found 'i', which is not declared"},
    {DECLARED("method N"), "5:9: expected managed, native, frameless, frame, as, in or '{', found the end of the line"},
    {DECLARED("image i managed"), "5:16: expected '{', found the end of the line"},
    {DECLARED("image i { clock }"), "5:11: expected 'method' or '}', found 'clock'"},
    {DECLARED("image i { method N in i { } }"),
     "5:20: expected managed, native, frameless, frame, as or '{', found 'in'"},
    {DECLARED("thread t main run M"), "5:8: expected 'main' only once, found another after x.scn:3:8"},
    {DECLARED("thread t x2 tid 7 run M"), "5:8: expected one thread of a given tid, found x2"},
    {DECLARED("thread t nice 20 run M"), "5:15: expected a niceness from -20 to 19, found '20'"},
    {DECLARED("thread t x131072 run M"), "5:8: expected at most 131072 threads in all, found 131073"},
    {DECLARED("thread t do M"), "5:10: expected main, xN, start, nice, tid, reuse_tid or run, found 'do'"},
    {DECLARED("thread t run N"), "5:14: expected a method, found 'N', which is not declared"},
    {"scenario a \"b\"\nduration 1s\nthread t main x2 run M\n", "3:8: expected one main thread, found x2"},
    {DECLARED("queue q vsync 1us frame M"), "5:15: expected a time from 100000ns to 3600000000000000ns, found '1us'"},
    {DECLARED("queue q vsync 16ms"), "5:19: expected 'frame', found the end of the line"},
    {DECLARED("semaphore s -1"), "5:13: expected a count from 0 to 1000000, found '-1'"},
    {DECLARED("expect agreement strobe 0.9"), "5:28: expected '..' (a range, as 0.95..1), found the end of the line"},
    {DECLARED("expect agreement strobe on fake37 0..1"), "5:28: expected a runtime (as fake30, fake, mach or art11), "
                                                         "found 'fake37'"},
    {DECLARED("expect agreement strobe on fake2 0..1"), "5:28: expected a runtime (as fake30, fake, mach or art11), "
                                                        "found 'fake2'"},
    {DECLARED("expect agreement strobe 1..0.9"), "5:28: expected an upper end that is not below the lower (a range, "
                                                 "as 0.95..1), found '0.9'"},
    /* errors that only the whole scenario shows */
    {BODY("call M"), "4:8: expected a method that returns, found 'M', which always calls itself; recursion is "
                     "`recurse`, or a call in a `choose`"},
    {BODY("call N") "method N { repeat 1..2 { call M } }", "4:8: expected a method that returns, found 'M', which "
                                                           "always calls 'N', which leads back to it"},
    {BODY("forever { clock }"), "4:12: expected a 'forever' with something in it that always takes time, found none "
                                "in 'M'"},
    {BODY("forever { try { throw } catch { } }"), "4:12: expected a 'forever' with something in it that always takes "
                                                  "time, found none in 'M'"},
    {BODY("forever { choose { 1 { } 1 { sleep 1ms } } }"), "4:12: expected a 'forever' with something in it that "
                                                           "always takes time, found none in 'M'"},
};

static void errors_are_reported_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct sim_scenario *s;
        struct strobe_error error = {""};
        char expected[512];
        snprintf(expected, sizeof expected, "x.scn:%s", refused[i].why);
        if (sim_scenario_parse(refused[i].text, "x.scn", &s, &error) != STROBE_BAD_INPUT)
            fail_msg("accepted: %s", refused[i].text);
        assert_null(s);
        if (strcmp(error.text, expected) != 0)
            fail_msg("of\n%s\nit says\n%s\ninstead of\n%s", refused[i].text, error.text, expected);
    }
}

static const char *const accepted[] = {
    BODY("choose { 1 { call M } 1 { } }"),
    BODY("repeat 0..3 { call M }"),
    BODY("forever { throw }"),
    BODY("forever { try { compute 1us; throw } catch { } }"),
    BODY("synchronized m { synchronized m { wait c holding m } }") "monitor m\ncond c",
    BODY("forever { call N }") "method N { choose { 1 { sleep 1ms } 2 { park } } }",
    BODY("") "mutex x\ncond x\nsemaphore x\nqueue x\nimage x\nmethod x { }\n",
    "scenario a \"b\"\r\nthread main main run M\r\nmethod M{}\r\nduration 0.5s\r\n",
};

static void what_is_odd_but_right_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct sim_scenario *s;
        struct strobe_error error = {""};
        if (sim_scenario_parse(accepted[i], "x.scn", &s, &error) != STROBE_OK)
            fail_msg("%s\n%s", error.text, accepted[i]);
        sim_scenario_free(s);
    }
}

/* Returns a text with `inner` in `depth` nested blocks. */
static char *nested(unsigned depth)
{
    char *text = malloc(100 + depth * 20), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", HEAD "method M {");
    for (unsigned i = 1; i < depth; i++)
        at += sprintf(at, "repeat 2 {");
    for (unsigned i = 0; i < depth; i++)
        at += sprintf(at, "}");
    return text;
}

static void nesting_has_a_limit(void **state)
{
    struct sim_scenario *s;
    struct strobe_error error = {""};
    char *text = nested(64);
    (void)state;
    assert_int_equal(sim_scenario_parse(text, "x.scn", &s, &error), STROBE_OK);
    sim_scenario_free(s);
    free(text);
    text = nested(65);
    assert_int_equal(sim_scenario_parse(text, "x.scn", &s, &error), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "expected blocks nested at most 64 deep, found '{'"));
    free(text);
}

/* ---- files */

static char folder[TEMPORARY_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(temporary_path(folder, "strobe-scenario-XXXXXX")) ? 0 : -1;
}

static int drop_folder(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static const char *file(const char *name, const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Reads the file and compares the error text without the folder's name. */
static void assert_refused(const char *path, enum strobe_status status, const char *expected)
{
    struct sim_scenario *s;
    struct strobe_error error = {""};
    char plain[512] = "", *out = plain;
    assert_int_equal(sim_scenario_read(path, &s, &error), status);
    assert_null(s);
    for (const char *p = error.text; *p;) {
        bool is_folder = !strncmp(p, folder, strlen(folder)) && p[strlen(folder)] == '/';
        if (is_folder)
            p += strlen(folder) + 1;
        else
            *out++ = *p++;
    }
    assert_string_equal(plain, expected);
}

static void includes_are_read_beside_the_file_that_includes(void **state)
{
    struct sim_scenario *s;
    struct strobe_error error = {""};
    (void)state;
    file("part.scn", "method M { call N }\n");
    file("last.scn", "method N { compute 1ms }");
    assert_int_equal(
        sim_scenario_read(file("whole.scn", HEAD "include \"part.scn\"; include \"last.scn\"\ncores 1"), &s, &error),
        STROBE_OK);
    assert_int_equal(s->method_count, 2);
    assert_int_equal(s->cores, 1);
    sim_scenario_free(s);
}

static void faults_of_included_files_name_them(void **state)
{
    (void)state;
    file("bad.scn", "method M {\n    forever { clock }\n}\n");
    assert_refused(file("whole.scn", HEAD "include \"bad.scn\""), STROBE_BAD_INPUT,
                   "bad.scn:2:5: expected a 'forever' with something in it that always takes time, found none in 'M'");
    file("twice.scn", "method M { }\n");
    assert_refused(file("whole.scn", HEAD "include \"twice.scn\"\ninclude \"twice.scn\""), STROBE_BAD_INPUT,
                   "twice.scn:1:8: expected a new name, found 'M', which is declared at twice.scn:1:8");
}

static void includes_that_go_round_are_refused(void **state)
{
    (void)state;
    file("a.scn", "include \"b.scn\"\n");
    file("b.scn", "\ninclude \"./a.scn\"\n");
    assert_refused(file("self.scn", HEAD "include \"self.scn\""), STROBE_BAD_INPUT,
                   "self.scn:4:9: expected a file that does not include itself, found \"self.scn\"");
    assert_refused(file("whole.scn", HEAD "include \"a.scn\""), STROBE_BAD_INPUT,
                   "b.scn:2:9: expected a file that does not include itself, found \"./a.scn\"");
}

static void files_that_cannot_be_read_are_said(void **state)
{
    char path[256];
    (void)state;
    assert_refused(file("whole.scn", HEAD "include \"none.scn\""), STROBE_BAD_INPUT,
                   "whole.scn:4:9: expected a file, found \"none.scn\": No such file or directory");
    assert_refused(file("whole.scn", HEAD "include \"/dev/zero\""), STROBE_BAD_INPUT,
                   "whole.scn:4:9: expected a file, found \"/dev/zero\": not a file");
    snprintf(path, sizeof path, "%s/none.scn", folder);
    assert_refused(path, STROBE_IO, "none.scn: expected a scenario: No such file or directory");
}

static void files_have_a_limit(void **state)
{
    enum { BYTES = (4 << 20) + 1 };
    char *text = malloc(BYTES + 1);
    (void)state;
    assert_non_null(text);
    memset(text, '#', BYTES);
    text[BYTES] = '\0';
    assert_refused(file("large.scn", text), STROBE_IO, "large.scn: expected a scenario: larger than 4 MiB");
    free(text);
}

/* Each prefix of a valid scenario is either valid or refused with a line that names the file. */
static void scenarios_cut_anywhere_are_refused_in_order(void **state)
{
    struct sim_scenario *s = sim_scenario_random(3, 100, false);
    (void)state;
    assert_non_null(s);
    char *text = sim_scenario_print(s);
    sim_scenario_free(s);
    assert_non_null(text);
    for (size_t n = strlen(text); n-- > 0;) {
        struct strobe_error error = {""};
        text[n] = '\0';
        if (sim_scenario_parse(text, "cut.scn", &s, &error) == STROBE_OK)
            sim_scenario_free(s);
        else
            assert_int_equal(strncmp(error.text, "cut.scn:", 8), 0);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_reported_in_one_line),
        cmocka_unit_test(what_is_odd_but_right_is_accepted),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(includes_are_read_beside_the_file_that_includes),
        cmocka_unit_test(faults_of_included_files_name_them),
        cmocka_unit_test(includes_that_go_round_are_refused),
        cmocka_unit_test(files_that_cannot_be_read_are_said),
        cmocka_unit_test(files_have_a_limit),
        cmocka_unit_test(scenarios_cut_anywhere_are_refused_in_order),
    };
    return cmocka_run_group_tests_name("scenario_errors", tests, make_folder, drop_folder);
}
