/* Litmus tests: refused texts and their error messages, and the meaning of each construct when a test is explored. */
#include "engine/base/error.h"
#include "sim/explore/litmus/litmus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A test of one thread with this code in its body. The body is in line 3. */
#define BODY(code)  "C a\n{ [x] = 0; [y] = 0; }\nP0 (int* x, int *y) { " code " }\n"
#define ENDED(text) BODY("int r0 = 0;") text

static const struct {
    const char *text, *why;
} refused[] = {
    /* head */
    {"", "1:1: expected 'C' and the test's name, found the end of the file"},
    {"X86 SB", "1:1: expected 'C' and the test's name, found 'X86'"},
    {"C \n{ }", "1:3: expected the test's name, at most 200 characters of ASCII, on the line of the 'C'"},
    {"C a\x01\n{ }", "1:3: expected the test's name, at most 200 characters of ASCII, on the line of the 'C'"},
    {"C a\n", "2:1: expected '{', found the end of the file"},
    {"C a\n\"b { c\"\n(* { *) D=\xff", "3:12: expected '{', found the end of the file"},
    {"C a\n{ (* no end }", "2:14: expected the name of a location or '}', found the end of the file"},
    /* initial state */
    {"C a\n{ [x = 0; }", "2:6: expected ']', found '='"},
    {"C a\n{ x = ; }", "2:7: expected a number or the name of a location, found ';'"},
    {"C a\n{ x = 0 y }", "2:9: expected ';', found 'y'"},
    {"C a\n{ x = 99999999999999999999; }", "2:7: expected a number or the name of a location, found "
                                           "'99999999999999999999'"},
    {"C a\n{ x = 0x; }", "2:7: expected a number or the name of a location, found '0x'"},
    {"C a\n{ x = &3; }", "2:8: expected the name of a location, found '3'"},
    {"C a\n{ int y[2] = {0, 0}; }", "2:8: expected no array, found '['"},
    {"C a\n{ 7:r0 = 1; }", "2:3: expected the number of a thread from 0 to 4, found '7'"},
    {"C a\n{ \xc3\xa9 = 1; }", "2:3: expected the name of a location or '}', found a character that is not of ASCII"},
    {"C a\n{ \x01 }", "2:3: expected the name of a location or '}', found a byte that is no character"},
    /* threads */
    {"C a\n{ }", "2:4: expected thread P0, found the end of the file"},
    {"C a\n{ }\nP1 () { }", "3:1: expected thread P0, found 'P1'"},
    {"C a\n{ }\nP0 () { } P0 () { }", "3:11: expected thread P1, found 'P0'"},
    {"C a\n{ }\nP0(){} P1(){} P2(){} P3(){} P4(){} P5(){}", "3:36: expected at most 5 threads, found 'P5'"},
    {"C a\n{ }\nP0 (x) { }", "3:5: expected the type of a parameter, found 'x'"},
    {"C a\n{ }\nP0 (int x) { }", "3:9: expected '*': a parameter points to a shared location, found 'x'"},
    {"C a\n{ }\nP0 (int* 3) { }", "3:10: expected the name of a parameter, found '3'"},
    {"C a\n{ }\nP0 (_Atomic(x)* y) { }", "3:13: expected a type, found 'x'"},
    {"C a\n{ }\nP0 (int* x { }", "3:12: expected ')', found '{'"},
    {"C a\n{ }\nP0 (int* x)", "3:12: expected '{', found the end of the file"},
    {"C a\n{ }\nP0 () { *", "3:10: expected a value, found the end of the file"},
    /* statements */
    {BODY("r0"), "3:23: expected a value: a local or parameter of P0, or a call that is known, found 'r0'"},
    {BODY("int r0"), "3:30: expected ';', found '}'"},
    {BODY("int x = 1;"), "3:27: expected the name of a new local, found 'x'"},
    {BODY("void r0;"), "3:28: expected the name of a new local, found 'r0'"},
    {BODY("int r0 = *z;"), "3:33: expected a value: a local or parameter of P0, or a call that is known, found 'z'"},
    {BODY("*x = ;"), "3:28: expected a value, found ';'"},
    {BODY("if (1 *x = 1;"), "3:32: expected ')', found '='"},
    {BODY("if 1) ;"), "3:26: expected '(', found '1'"},
    {BODY("else ;"), "3:23: expected a value: a local or parameter of P0, or a call that is known, found 'else'"},
    {BODY("do { } whilst (1);"), "3:30: expected 'while', found 'whilst'"},
    {BODY("goto end;"), "3:23: expected a value: a local or parameter of P0, or a call that is known, found 'goto'"},
    {BODY("spin_lock(x);"), "3:23: expected a value: a local or parameter of P0, or a call that is known, found "
                            "'spin_lock'"},
    /* calls */
    {BODY("int r0 = atomic_load(x, memory_order_relaxed);"), "3:45: expected ')', found ','"},
    {BODY("int r0 = atomic_load_explicit(x);"), "3:54: expected ',', found ')'"},
    {BODY("int r0 = atomic_load_explicit(x, relaxed);"),
     "3:56: expected an order (as memory_order_acquire), found 'relaxed'"},
    {BODY("int r0 = atomic_store(x, 1);"), "3:32: expected a value, found 'atomic_store'"},
    {BODY("atomic_thread_fence();"), "3:43: expected an order (as memory_order_acquire), found ')'"},
    {BODY("int r0 = atomic_compare_exchange_strong(x, &q, 1);"), "3:67: expected the name of a local, found 'q'"},
    {BODY("int r0 = READ_ONCE(x);"), "3:42: expected '*', found 'x'"},
    {BODY("int r0 = (void) 1;"), "3:33: expected a value, found 'void'"},
    {BODY("int r0 = 3abc;"), "3:32: expected a value, found '3abc'"},
    {BODY("int r0 = 1 ? 2;"), "3:37: expected ':', found ';'"},
    /* condition */
    {ENDED("x=1"),
     "4:1: expected a thread, locations, filter, exists, ~exists, forall or the end of the file, found 'x'"},
    {ENDED("exists"), "4:7: expected a claim (as 0:r0=1), found the end of the file"},
    {ENDED("exists 0:r1=1"), "4:10: expected the name of a local of P0, found 'r1'"},
    {ENDED("exists 1:r0=1"), "4:10: expected the name of a local of P1, found 'r0'"},
    {ENDED("exists z=1"), "4:8: expected the name of a location, found 'z'"},
    {ENDED("exists x"), "4:9: expected '=' or '!=', found the end of the file"},
    {ENDED("exists x=z"), "4:10: expected a number or the name of a location, found 'z'"},
    {ENDED("exists (x=1"), "4:12: expected ')', found the end of the file"},
    {ENDED("exists x=1 y=1"), "4:12: expected the end of the file, found 'y'"},
    {ENDED("~ x=1"), "4:3: expected 'exists', found 'x'"},
    {ENDED("locations [x y]"), "4:14: expected ';', found 'y'"},
    {ENDED("locations [x; z]"), "4:15: expected the name of a location, found 'z'"},
    {ENDED("locations [x]\nx=1"), "5:1: expected exists, ~exists, forall or the end of the file, found 'x'"},
};

static void errors_are_reported_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct explore_litmus *test;
        struct strobe_error error = {""};
        char expected[256];
        enum strobe_status status =
            explore_litmus_parse(refused[i].text, strlen(refused[i].text), "a.litmus", &test, &error);
        snprintf(expected, sizeof expected, "a.litmus:%s", refused[i].why);
        if (status != STROBE_BAD_INPUT || strcmp(error.text, expected))
            fail_msg("%zu: \"%s\"\n is refused with \"%s\"\n  expected was \"%s\"", i, refused[i].text, error.text,
                     expected);
        assert_null(test);
    }
}

/* Returns `before`, then `count` times `piece`, then `after`. */
static char *repeated(const char *before, const char *piece, size_t count, const char *after)
{
    size_t n = strlen(piece);
    char *text = malloc(strlen(before) + count * n + strlen(after) + 1), *to = text + strlen(before);
    assert_non_null(text);
    strcpy(text, before);
    for (size_t i = 0; i < count; i++, to += n)
        strcpy(to, piece);
    strcpy(to, after);
    return text;
}

static void refused_with(char *text, const char *what)
{
    struct explore_litmus *test;
    struct strobe_error error = {""};
    assert_int_equal(explore_litmus_parse(text, strlen(text), "a.litmus", &test, &error), STROBE_BAD_INPUT);
    if (!strstr(error.text, what))
        fail_msg("refused with \"%s\", expected was \"%s\"", error.text, what);
    free(text);
}

static void sizes_have_limits(void **state)
{
    static const char head[] = "C a\n{ }\nP0 (int* x) { int r0 = ";
    enum { MANY = 100000 };
    (void)state;
    refused_with(repeated(head, "(", MANY, "1"), "at most 64 values");
    refused_with(repeated(head, "- ", MANY, "1"), "at most 64 values");
    refused_with(repeated(head, "1 ? ", MANY, "1"), "at most 64 values");
    refused_with(repeated(head, "1 + ", MANY, "1; }"), "less deep");
    refused_with(repeated("C a\n{ }\nP0 () { ", "{", MANY, ""), "at most 64 values");
    refused_with(repeated("C a\n{ }\nP0 () { ", "if (1) ", MANY, ";"), "at most 64 values");
    refused_with(repeated("C a\n{ [x] = 0; }\nP0 () { }\nexists ", "(", MANY, ""), "at most 64 propositions");
    refused_with(repeated("C a\n{ [x] = 0; }\nP0 () { }\nexists ", "~", MANY, ""), "at most 64 propositions");
    refused_with(repeated("C a\n{ [x] = 0; }\nP0 () { }\nexists ", "x=0 => ", MANY, "x=0"), "at most 64 propositions");
}

/* Each prefix of a test is either a test or refused in a line that names the file. The parser reads no byte behind it.
 * */
static void tests_cut_anywhere_are_refused_in_order(void **state)
{
    static const char text[] =
        "C cut\n{ [x] = 0; int *p = &x; }\nP0 (atomic_int* x, int** p) {\n  int r0 = atomic_load_explicit(x, "
        "memory_order_acquire);\n  if (r0 == 0x1f) { *x = r0 << 2; } else { while (!r0) r0 = atomic_exchange(x, 3); }\n"
        "}\nlocations [x; p;]\n~exists (0:r0=1 /\\ not ([x]=2 \\/ p=x)) (* end *)\n";
    (void)state;
    for (size_t n = sizeof text; n-- > 0;) {
        struct explore_litmus *test;
        struct strobe_error error = {""};
        char *exact = malloc(n ? n : 1);
        assert_non_null(exact);
        memcpy(exact, text, n);
        if (explore_litmus_parse(exact, n, "cut.litmus", &test, &error) == STROBE_OK)
            explore_litmus_free(test);
        else
            assert_int_equal(strncmp(error.text, "cut.litmus:", 11), 0);
        assert_true(n < sizeof text - 1 || error.text[0] == '\0'); /* the whole text is a test */
        free(exact);
    }
}

static void files_that_cannot_be_read_are_said(void **state)
{
    struct explore_litmus *test;
    struct strobe_error error = {""};
    (void)state;
    assert_int_equal(explore_litmus_read("none.litmus", &test, &error), STROBE_IO);
    assert_string_equal(error.text, "none.litmus: expected a litmus test: No such file or directory");
    assert_int_equal(explore_litmus_read("/dev/zero", &test, &error), STROBE_IO);
    assert_string_equal(error.text, "/dev/zero: expected a litmus test: larger than 1 MiB");
    assert_int_equal(explore_litmus_read("tests", &test, &error), STROBE_IO);
    assert_string_equal(error.text, "tests: expected a litmus test: Is a directory");
}

/* ---- meaning */

static struct explore_litmus *present;
static struct explore_outcomes found;

static void explore_as(const char *text, enum explore_memory memory)
{
    struct explore_options options;
    struct strobe_error error;
    explore_outcomes_free(&found);
    explore_litmus_free(present);
    if (explore_litmus_parse(text, strlen(text), "a.litmus", &present, &error) != STROBE_OK)
        fail_msg("%s in\n%s", error.text, text);
    explore_options_default(&options);
    options.memory = memory;
    options.all_failures = true;
    assert_int_equal(explore_litmus_run(present, &options, &found), STROBE_OK);
}

static int leave(void **state)
{
    (void)state;
    explore_outcomes_free(&found);
    explore_litmus_free(present);
    present = NULL;
    return 0;
}

/* Returns all outcomes, separated by " | ". */
static const char *outcomes(void)
{
    static char text[4096];
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < found.count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " | " : "", found.outcome[i].text);
    assert_true(n < sizeof text);
    return text;
}

static void values_are_those_of_c(void **state)
{
    static const struct {
        const char *value;
        long long is;
    } values[] = {
        {"2 + 3 * 4 - 6 / 2 % 2", 13},
        {"(2 + 3) * 4", 20},
        {"-7 / 2", -3},
        {"-7 % 3", -1},
        {"~0", -1},
        {"!5", 0},
        {"+3 - -3", 6},
        {"1 << 4 >> 2", 4},
        {"6 & 3 ^ 1 | 8", 11},
        {"1 < 2 == 2 > 1", 1},
        {"3 <= 2 || 2 >= 2", 1},
        {"1 && 0", 0},
        {"0 ? 1 : 2 ? 3 : 4", 3},
        {"0x1F + 0Xa", 41},
        {"10u + 5UL", 15},
        {"(char) 300", 44},
        {"(unsigned char) -1", 255},
        {"(_Bool) 7", 1},
        {"(short) 0x18000", -32768},
        {"(uint16_t) 0x18000", 32768},
        {"(signed char) 200", -56},
        {"(unsigned) -1", -1},
        {"(unsigned) -1 > 0", 1},
        {"1 != 2 && 3 == 3", 1},
        {"0x7fffffff + 1", -2147483647 - 1},
        {"(long) 0x7fffffff + 1 == 0x80000000", 1},
        {"9 - 3 - 2", 4},
        {"64 / 4 / 2", 8},
        {"(int) (unsigned int) 5", 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[256], expected[64];
        snprintf(text, sizeof text, "C a\n{ }\nP0 () { int r0 = %s; }\nlocations [0:r0]", values[i].value);
        snprintf(expected, sizeof expected, "0:r0=%lld;", values[i].is);
        explore_as(text, EXPLORE_SC);
        if (strcmp(outcomes(), expected))
            fail_msg("%s: %s, expected was %s", values[i].value, outcomes(), expected);
    }
}

static void statements_are_those_of_c(void **state)
{
    (void)state;
    explore_as("C a\n{ [x] = 5; int y = -2; atomic_int z; 0:r9 = 4; }\n"
               "P0 (atomic_int* x, volatile int* y, _Atomic(int) *z) {\n"
               "  int r0 = atomic_fetch_add(x, 1), r1 = *y, r2;\n"
               "  r2 = atomic_fetch_sub_explicit(x, 2, memory_order_relaxed);\n"
               "  int r3 = atomic_exchange(x, 12); r4 = atomic_fetch_and(x, 10);\n"
               "  r5 = atomic_fetch_or(x, 1); int r6 = atomic_fetch_xor(x, 3);\n"
               "  if (r0 == 5) { if (r1) r7 = 1; else r7 = 2; } else r7 = 3;\n"
               "  if (r7 == 2) ; else { r7 += 10; r7 |= 32; r7 ^= 1; r7 &= ~2; r7 -= 1; }\n"
               "  do { r9 = r9 - 1; } while (r9 > 1);\n"
               "  int r8 = 0; while (r8 < 3) { r8 += 1; }\n"
               "  *y = r8; *y += 4; atomic_init(z, 3); (void) atomic_exchange_explicit(z, 8, memory_order_relaxed);\n"
               "}\nlocations [x; y; z; 0:r0; 0:r1; 0:r2; 0:r3; 0:r4; 0:r5; 0:r6; 0:r7; 0:r8; 0:r9]",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "0:r0=5; 0:r1=-2; 0:r2=6; 0:r3=4; 0:r4=12; 0:r5=8; 0:r6=9; 0:r7=39; 0:r8=3; "
                                    "0:r9=1; [x]=10; [y]=7; [z]=8;");
    assert_int_equal(found.result.executions, 1);
    assert_int_equal(found.result.failure.fault, EXPLORE_FINE);
}

static void compare_exchanges_leave_what_they_found(void **state)
{
    (void)state;
    explore_as("C a\n{ [x] = 5; e = 4; }\nP0 (atomic_int* x, int* e) {\n"
               "  int r0 = 4;\n"
               "  int r1 = atomic_compare_exchange_strong(x, &r0, 6);\n"
               "  int r2 = atomic_compare_exchange_weak_explicit(x, &r0, 7, memory_order_acq_rel, "
               "memory_order_relaxed);\n"
               "  int r3 = atomic_compare_exchange_strong_explicit(x, e, 8, memory_order_seq_cst, "
               "memory_order_acquire);\n"
               "  int r4 = atomic_compare_exchange_weak(x, e, 9);\n"
               "}\nlocations [0:r0; 0:r1; 0:r2; 0:r3; 0:r4; x; e]",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "0:r0=5; 0:r1=0; 0:r2=1; 0:r3=0; 0:r4=1; [e]=7; [x]=9;");
}

static void widths_are_those_of_their_types(void **state)
{
    (void)state;
    explore_as("C a\n{ uint8_t b = 255; int16_t h = 0x7fff; unsigned u; uint64_t q = -1; _Bool t = 9; }\n"
               "P0 (_Atomic uint8_t* b, _Atomic(int16_t)* h, atomic_uint* u, uint64_t* q, atomic_bool* t) {\n"
               "  int r0 = atomic_fetch_add(b, 1); int r1 = atomic_fetch_add(h, 1); atomic_store(u, -1);\n"
               "  unsigned long r2 = *q; long r3 = *q; unsigned char r4 = 511;\n"
               "}\nlocations [b; h; u; q; t; 0:r0; 0:r1; 0:r2; 0:r3; 0:r4]",
               EXPLORE_TSO);
    assert_string_equal(outcomes(), "0:r0=255; 0:r1=32767; 0:r2=18446744073709551615; 0:r3=-1; 0:r4=255; [b]=0; "
                                    "[h]=-32768; [q]=18446744073709551615; [t]=1; [u]=4294967295;");
}

static void pointers_lead_to_locations(void **state)
{
    (void)state;
    explore_as("C MP+addr\n{ int x = 1; int y = 2; int *p = &x; }\n"
               "P0 (atomic_int* x, atomic_int* y, atomic_int** p) {\n"
               "  atomic_store_explicit(y, 3, memory_order_relaxed);\n"
               "  atomic_store_explicit(p, y, memory_order_release);\n}\n"
               "P1 (atomic_int** p) {\n  int *r0 = atomic_load_explicit(p, memory_order_consume);\n"
               "  int r1 = atomic_load_explicit(r0, memory_order_relaxed);\n}\n"
               "exists (1:r0=y /\\ 1:r1=2)",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "1:r0=x; 1:r1=1; | 1:r0=y; 1:r1=3;");
    assert_int_equal(found.observed, EXPLORE_NEVER);
    assert_false(found.ok);
    explore_as(BODY("int r0 = 3; *r0 = 1;"), EXPLORE_C11);
    assert_int_equal(found.result.failure.fault, EXPLORE_REQUIRE);
    assert_non_null(strstr(found.result.failure.message, "a pointer holds the address of a location"));
    assert_non_null(strstr(found.result.failure.message, "a.litmus:3"));
}

static void an_operation_without_a_meaning_is_a_failure(void **state)
{
    static const struct {
        const char *code, *message;
    } wrong[] = {
        {"int r0 = 1 / 0;", "no number is divided by 0"},
        {"int r0 = 1 % (1 - 1);", "no number is divided by 0"},
        {"int r0 = 1 << 64;", "numbers are shifted by 0 to 63"},
        {"int r0 = 0; while (1) r0 += 1;", "a thread's loops end within 10,000 turns"},
        {"while (1) ;", "a thread's loops end within 10,000 turns"},
        {"*(x + 1) = 1;", "a pointer holds the address of a location"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, "C a\n{ [x] = 0; }\nP0 (int* x) { %s }\n", wrong[i].code);
        explore_as(text, EXPLORE_SC);
        if (!strstr(found.result.failure.message, wrong[i].message))
            fail_msg("%s: \"%s\"", wrong[i].code, found.result.failure.message);
        assert_false(found.ok);
    }
}

static void linux_forms_are_the_documented_operations(void **state)
{
    static const char sb[] = "C SB+mbs\n{ }\n"
                             "P0(int *x, int *y, int *z) { int r0; WRITE_ONCE(*x, 1); %s; r0 = READ_ONCE(*y); }\n"
                             "P1(int *x, int *y, int *z) { int r0; WRITE_ONCE(*y, 1); %s; r0 = READ_ONCE(*x); }\n"
                             "exists (0:r0=0 /\\ 1:r0=0)";
    static const struct {
        const char *between;
        bool seen;
    } variants[] = {
        {"", true},
        {"smp_mb()", false},
        {"smp_rmb()", true},
        {"smp_wmb()", true},
        {"int r1 = xchg(z, 1)", false},
        {"int r1 = xchg_relaxed(z, 1)", true},
    };
    static const char mp[] = "C MP\n{ }\n"
                             "P0(int *x, int *y) { WRITE_ONCE(*x, 1); smp_store_release(y, 1); }\n"
                             "P1(int *x, int *y) { int r0 = smp_load_acquire(y); int r1 = READ_ONCE(*x); }\n"
                             "exists (1:r0=1 /\\ 1:r1=0)";
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        char text[512];
        snprintf(text, sizeof text, sb, variants[i].between, variants[i].between);
        explore_as(text, EXPLORE_C11);
        if (found.ok != variants[i].seen)
            fail_msg("%s: ok %d, %s", variants[i].between, found.ok, outcomes());
    }
    explore_as(mp, EXPLORE_C11);
    assert_int_equal(found.count, 3);
    assert_false(found.ok);
}

/* Release on a load and acquire on a store have no effect. Operations without _explicit are seq_cst. Consume is
 * acquire. */
static void orders_are_those_that_are_written(void **state)
{
    static const char sb[] =
        "C SB\n{ }\nP0 (atomic_int* x, atomic_int* y) { atomic_store(x, 1); int r0 = "
        "atomic_load(y); }\nP1 (atomic_int* x, atomic_int* y) { atomic_store(y, 1); int r0 = atomic_load(x); }\n"
        "exists (0:r0=0 /\\ 1:r0=0)";
    static const char mp[] =
        "C MP\n{ }\nP0 (atomic_int* x, atomic_int* y) { atomic_store_explicit(x, 1, "
        "memory_order_relaxed); atomic_store_explicit(y, 1, memory_order_%s); }\nP1 (atomic_int* x, atomic_int* y) { "
        "int r0 = atomic_load_explicit(y, memory_order_%s); int r1 = atomic_load_explicit(x, memory_order_relaxed); }\n"
        "exists (1:r0=1 /\\ 1:r1=0)";
    static const struct {
        const char *store, *load;
        bool seen;
    } orders[] = {
        {"release", "acquire", false}, {"acq_rel", "acq_rel", false}, {"seq_cst", "seq_cst", false},
        {"release", "consume", false}, {"acquire", "acquire", true},  {"release", "release", true},
        {"release", "relaxed", true},  {"relaxed", "acquire", true},
    };
    (void)state;
    explore_as(sb, EXPLORE_C11);
    assert_false(found.ok);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char text[768];
        snprintf(text, sizeof text, mp, orders[i].store, orders[i].load);
        explore_as(text, EXPLORE_C11);
        assert_int_equal(found.ok, orders[i].seen);
    }
}

static void weak_compare_exchanges_also_fail_for_no_reason_if_asked_to(void **state)
{
    static const char text[] =
        "C weak\n{ }\nP0 (atomic_int* x) { int r0 = 0; int r1 = atomic_compare_exchange_weak(x, "
        "&r0, 1); int r2 = atomic_compare_exchange_strong(x, &r0, 2); }\nlocations [0:r1; 0:r2; x]";
    struct explore_options options;
    (void)state;
    explore_as(text, EXPLORE_C11);
    assert_string_equal(outcomes(), "0:r1=1; 0:r2=0; [x]=1;");
    explore_outcomes_free(&found);
    explore_options_default(&options);
    options.spurious = true;
    assert_int_equal(explore_litmus_run(present, &options, &found), STROBE_OK);
    assert_string_equal(outcomes(), "0:r1=0; 0:r2=1; [x]=2; | 0:r1=1; 0:r2=0; [x]=1;");
}

static void loops_that_wait_are_not_unrolled(void **state)
{
    (void)state;
    explore_as("C wait\n{ }\nP0 (int* x, atomic_int* y) {\n  *x = 7;\n"
               "  atomic_store_explicit(y, 1, memory_order_release);\n}\n"
               "P1 (int* x, atomic_int* y) {\n"
               "  while (atomic_load_explicit(y, memory_order_acquire) == 0) {}\n  int r0 = *x;\n}\n"
               "forall (1:r0=7)",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "1:r0=7;");
    assert_int_equal(found.result.failure.fault, EXPLORE_FINE);
    assert_true(found.ok && found.observed == EXPLORE_ALWAYS && found.result.executions == 1);
    explore_as("C lock\n{ }\nP0 (int* x, atomic_int* l) {\n"
               "  do { while (atomic_load(l)) ; } while (atomic_exchange(l, 1));\n  *x += 1; atomic_store(l, 0); }\n"
               "P1 (int* x, atomic_int* l) {\n  int e;\n"
               "  do { e = 0; } while (!atomic_compare_exchange_weak(l, &e, 1));\n"
               "  *x += 1; atomic_store(l, 0);\n}\nforall (x=2)",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "[x]=2;");
    assert_int_equal(found.result.failure.fault, EXPLORE_FINE);
    assert_true(found.ok);
    explore_as("C never\n{ }\nP0 (atomic_int* y) { while (!atomic_load(y)) ; }\n", EXPLORE_C11);
    assert_int_equal(found.result.failure.fault, EXPLORE_DEADLOCK);
    assert_false(found.ok);
}

static void races_leave_the_outcome_undefined(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to;
    (void)state;
    explore_as("C race\n{ }\nP0 (int* x) { *x = 1; }\nP1 (int* x) { int r0 = *x; }\nexists (1:r0=1)", EXPLORE_C11);
    assert_true(found.undefined && !found.ok);
    assert_int_equal(found.result.failure.fault, EXPLORE_RACE);
    for (uint32_t i = 0; i < found.result.failure.step_count; i++)
        assert_null(strstr(found.result.failure.step[i].place, "state"));
    to = open_memstream(&text, &bytes);
    explore_litmus_print(to, present, &found);
    fclose(to);
    assert_non_null(strstr(text, "undefined behaviour: data race: "));
    assert_non_null(strstr(text, "\nNo\n"));
    free(text);
}

/* ---- conditions */

#define PAIR                                                                                                           \
    "C pair\n{ [x] = 1; [y] = 2; }\nP0 (atomic_int* x) { int r0 = atomic_load(x); }\n"                                 \
    "P1 (atomic_int* x) { atomic_store(x, 2); }\n"

static void conditions_hold_always_sometimes_or_never(void **state)
{
    static const struct {
        const char *condition;
        enum explore_observed observed;
        bool ok;
    } conditions[] = {
        {"exists (0:r0=2)", EXPLORE_SOMETIMES, true},
        {"exists (0:r0=3)", EXPLORE_NEVER, false},
        {"~exists (0:r0=2)", EXPLORE_SOMETIMES, false},
        {"not exists (0:r0=3)", EXPLORE_NEVER, true},
        {"forall (x=2)", EXPLORE_ALWAYS, true},
        {"forall (0:r0=1)", EXPLORE_SOMETIMES, false},
        {"exists true", EXPLORE_ALWAYS, true},
        {"forall false", EXPLORE_NEVER, false},
        {"", EXPLORE_ALWAYS, true},
        {"(0:r0=1)", EXPLORE_SOMETIMES, true},
        {"final ([x]=2);", EXPLORE_ALWAYS, true},
        {"exists (x=y)", EXPLORE_NEVER, false}, /* y is its address */
        {"forall (x=[y])", EXPLORE_ALWAYS, true},
        {"forall (x=*y && x==2)", EXPLORE_ALWAYS, true},
        {"forall (0:r0=1 \\/ 0:r0=2)", EXPLORE_ALWAYS, true},
        {"forall (0:r0!=0)", EXPLORE_ALWAYS, true},
        {"forall (0:r0=1 || 0:r0=[x])", EXPLORE_ALWAYS, true},
        {"forall (0:r0=2 => x=2)", EXPLORE_ALWAYS, true},
        {"forall (0:r0=1 => 0:r0=2 => x=3)", EXPLORE_ALWAYS, true}, /* to the right */
        {"exists (not 0:r0=1 /\\ ~(x=1))", EXPLORE_SOMETIMES, true},
        {"forall (0:r0=0:r0)", EXPLORE_ALWAYS, true},
        /* "and" binds before "or" */
        {"exists (x=2 \\/ x=3 /\\ 0:r0=3)", EXPLORE_ALWAYS, true},
        {"locations [x; 0:r0; y;] filter (0:r0=1) forall (0:r0=1)", EXPLORE_ALWAYS, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        char text[512];
        snprintf(text, sizeof text, PAIR "%s", conditions[i].condition);
        explore_as(text, EXPLORE_SC);
        if (found.observed != conditions[i].observed || found.ok != conditions[i].ok)
            fail_msg("%s: observed %d, ok %d", conditions[i].condition, found.observed, found.ok);
    }
}

static void outcomes_are_printed_as_by_herd(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    (void)state;
    assert_non_null(to);
    explore_as(PAIR "locations [y;]\nexists (0:r0=2 /\\\n  [x]=2)", EXPLORE_SC);
    explore_litmus_print(to, present, &found);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, "Test pair Allowed\nStates 2\n0:r0=1; [x]=2; [y]=2;\n0:r0=2; [x]=2; [y]=2;\nOk\n"
                              "Witnesses\nPositive: 1 Negative: 1\nCondition exists (0:r0=2 /\\ [x]=2)\n"
                              "Observation pair Sometimes 1 1\n");
    free(text);
    assert_int_equal(explore_litmus_quantifier(present), EXPLORE_EXISTS);
    assert_string_equal(explore_litmus_name(present), "pair");
    assert_string_equal(explore_litmus_program(present)->name, "pair");
}

/* Forms that other collections use: return without a value, no blanks, a compare-exchange whose expected value is in
 * shared memory, plain and atomic access to one location, comments and keys in the head. */
static void tests_are_read_as_others_write_them(void **state)
{
    (void)state;
    explore_as("C lift+dead\n\nHash=0123\n\n(* From: \"elsewhere\" *)\n{ x = 27; y = 53; expected = 27 }\n\n"
               "void\nP0(atomic_int *x, volatile atomic_int *const y)\n{\n    bool dead = true;\n"
               "    int r0 = 0 /* none */;\n    while (false) { dead = false; }\n"
               "    if(dead == true)atomic_store_explicit (y, 98,memory_order_seq_cst);\n"
               "    else { }\n    { { r0 = atomic_load( x ) ; } }\n}\n\n"
               "static void P1(atomic_int *x,int* expected) {\n"
               "  atomic_compare_exchange_strong_explicit(x, expected, 1, memory_order_acquire, "
               "memory_order_relaxed);\n}\n\n"
               "exists(0:r0 == 1 /\\ y=98/\\x=1)\n",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "0:r0=1; [x]=1; [y]=98; | 0:r0=27; [x]=1; [y]=98;");
    assert_true(found.ok);
    explore_as("C mixed\n{\n[x] = 0;\n}\nP0 (atomic_int* x) {\n atomic_store_explicit(x, 1, memory_order_relaxed);\n}\n"
               "P1 (int* x) {\n int r0 = *x;\n}\nexists (1:r0=1)",
               EXPLORE_C11);
    assert_true(found.undefined);
}

/* Sorting the outcomes does not change the claims about named outcomes. */
static void claims_name_what_they_say_whatever_the_order(void **state)
{
    (void)state;
    explore_as("C order\n{ [z] = 26; [a] = 1; }\nP0 (atomic_int* z) { int s = 19; int b = 2; int r = 18; }\n"
               "P1 (atomic_int* a) { int c = 3; }\nlocations [z; 1:c; 0:s; a]\n"
               "forall (z=26 /\\ 0:b=2 /\\ 0:r=18 /\\ 1:c=3 /\\ a=1 /\\ 0:s=19 /\\ not 0:s=0:b)",
               EXPLORE_C11);
    assert_string_equal(outcomes(), "0:b=2; 0:r=18; 0:s=19; 1:c=3; [a]=1; [z]=26;");
    assert_true(found.ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_reported_in_one_line),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(tests_cut_anywhere_are_refused_in_order),
        cmocka_unit_test(files_that_cannot_be_read_are_said),
        cmocka_unit_test(values_are_those_of_c),
        cmocka_unit_test(statements_are_those_of_c),
        cmocka_unit_test(compare_exchanges_leave_what_they_found),
        cmocka_unit_test(widths_are_those_of_their_types),
        cmocka_unit_test(pointers_lead_to_locations),
        cmocka_unit_test(an_operation_without_a_meaning_is_a_failure),
        cmocka_unit_test(linux_forms_are_the_documented_operations),
        cmocka_unit_test(orders_are_those_that_are_written),
        cmocka_unit_test(weak_compare_exchanges_also_fail_for_no_reason_if_asked_to),
        cmocka_unit_test(loops_that_wait_are_not_unrolled),
        cmocka_unit_test(races_leave_the_outcome_undefined),
        cmocka_unit_test(conditions_hold_always_sometimes_or_never),
        cmocka_unit_test(outcomes_are_printed_as_by_herd),
        cmocka_unit_test(tests_are_read_as_others_write_them),
        cmocka_unit_test(claims_name_what_they_say_whatever_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
