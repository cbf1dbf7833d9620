/* Code computes, throws and catches the same on every runtime. Code.smali has a method for each kind of code. */
#include "tests/contract_art/support/contract.h"
#include "tests/contract_art/support/java.h"

#include <limits.h>
#include <math.h>
#include <string.h>

typedef union strobe_jvalue value;

static value code(struct contract *c, const char *name, const char *signature, const value *arguments)
{
    return java_static(c->art.env, "Code", name, signature, arguments);
}

/* ---- numbers ---- */

static int32_t ints(int32_t a, int32_t b)
{
    uint32_t ua = (uint32_t)a, ub = (uint32_t)b, v = (ua + ub) * 31;
    v ^= ua - ub;
    v += ua * ub;
    v -= b == -1 ? 0 - ua : (uint32_t)(a / b);
    v |= b == -1 ? 0 : (uint32_t)(a % b);
    v ^= ua & ub;
    v += ua << (ub & 31);
    v ^= (uint32_t)(a >> (ub & 31));
    v ^= ua >> (ub & 31);
    v += 0x1234 - ua;
    v ^= (uint32_t)-5 - ub;
    v += (uint32_t)(a / -3);
    v ^= (uint32_t)(a % 1000);
    v += 0 - ua;
    v ^= ~ub;
    return (int32_t)(v + (uint32_t)(int8_t)a + (uint16_t)a + (uint32_t)(int16_t)a);
}

static int64_t longs(int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b, v = ua + ub;
    v ^= ua - ub;
    v += ua * ub;
    v -= b == -1 ? 0 - ua : (uint64_t)(a / b);
    v ^= b == -1 ? 0 : (uint64_t)(a % b);
    v += ua << (ub & 63);
    v ^= (uint64_t)(a >> (ub & 63));
    v += ua >> (ub & 63);
    v ^= 0 - ua;
    return (int64_t)(v + (uint64_t)((a > b) - (a < b)));
}

static void whole_numbers_wrap_and_divide_as_javas_do(struct contract *c)
{
    static const int64_t some[] = {
        1, -1, 2, -3, 31, 33, 64, 1000003, -77777, INT_MAX, INT_MIN, 0x123456789ab, INT64_MAX, INT64_MIN};
    enum { COUNT = sizeof some / sizeof *some };
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++) {
            int32_t a = (int32_t)some[i], b = (int32_t)some[k];
            if (b != 0) {
                int32_t got = code(c, "ints", "(II)I", (value[]){{.i = a}, {.i = b}}).i;
                CHECK(c, got == ints(a, b), "%d and %d: %d, not %d", a, b, got, ints(a, b));
            }
            int64_t wide = code(c, "longs", "(JJ)J", (value[]){{.j = some[i]}, {.j = some[k]}}).j;
            CHECK(c, wide == longs(some[i], some[k]), "%lld and %lld: %lld", (long long)some[i], (long long)some[k],
                  (long long)wide);
        }
}

static value of_float(float f)
{
    value v = {.j = 0};
    memcpy(&v, &f, sizeof f);
    return v;
}

static void broken_numbers_are_those_of_ieee_754(struct contract *c)
{
    static const double some[] = {0.5, -1.25, 3, 1e10, -7.75e-3};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            volatile double a = some[i], b = some[k], v = a + b;
            volatile float fa = (float)a, fb = (float)b, f = fa + fb;
            v *= a;
            v -= b;
            v /= b;
            v += fmod(a, b);
            f *= fa;
            f /= fb;
            f -= fmodf(fa, fb);
            int32_t wide = code(c, "doubles", "(DDD)I", (value[]){{.d = a}, {.d = b}, {.d = v}}).i;
            int32_t narrow = code(c, "floats", "(FFF)I", (value[]){of_float(fa), of_float(fb), of_float(f)}).i;
            CHECK(c, wide == 0 && narrow == 0, "%g and %g: %d, %d", a, b, wide, narrow);
        }
}

static void numbers_out_of_range_become_the_nearest_whole_one(struct contract *c)
{
    static const struct {
        double from;
        int32_t to;
        int64_t wide;
    } cases[] = {
        {1.9, 1, 1},
        {-1.9, -1, -1},
        {3e9, INT_MAX, 3000000000},
        {-3e9, INT_MIN, -3000000000},
        {1e19, INT_MAX, INT64_MAX},
        {-1e19, INT_MIN, INT64_MIN},
        {NAN, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value from = {.d = cases[i].from};
        int32_t to = code(c, "toInt", "(D)I", &from).i;
        int64_t wide = code(c, "toLong", "(D)J", &from).j;
        CHECK(c, to == cases[i].to && wide == cases[i].wide, "%g: %d, %lld", from.d, to, (long long)wide);
    }
    int32_t less = code(c, "order", "(DD)I", (value[]){{.d = 1}, {.d = 2}}).i;
    int32_t unordered = code(c, "order", "(DD)I", (value[]){{.d = NAN}, {.d = 2}}).i;
    CHECK(c, less == -11 && unordered == -9, "%d, %d", less, unordered);
}

/* ---- switches, arrays, fields, calls ---- */

static void a_switch_leads_where_its_table_says(struct contract *c)
{
    static const struct {
        const char *name;
        int32_t key, to;
    } cases[] = {
        {"packed", -2, -1},       {"packed", -1, 100},     {"packed", 0, 101},        {"packed", 1, 100},
        {"packed", 2, -1},        {"packed", INT_MIN, -1}, {"sparse", -INT_MAX, 100}, {"sparse", 16, 101},
        {"sparse", INT_MAX, 100}, {"sparse", 0, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t to = code(c, cases[i].name, "(I)I", &(value){.i = cases[i].key}).i;
        CHECK(c, to == cases[i].to, "%s %d: %d", cases[i].name, cases[i].key, to);
    }
}

static void arrays_and_fields_hold_what_their_type_holds(struct contract *c)
{
    static const int64_t elements[][4] = {
        {1, -2, INT64_MAX, INT64_MIN},
        {1, -2, 127, -128},
        {1, 0xfffe, 0x7fff, 0x8000},
        {1, -2, INT_MAX, INT_MIN},
    };
    for (int width = 0; width < 4; width++)
        for (int i = 0; i < 4; i++) {
            int64_t got = code(c, "element", "(II)J", (value[]){{.i = width}, {.i = i}}).j;
            CHECK(c, got == elements[width][i], "%d of width %d: %lld", i, width, (long long)got);
        }
    int32_t n = 0x1fedc;
    int64_t sum = 1000000000000 + (int8_t)n + (uint16_t)n + (int16_t)n + n + 7;
    int64_t got = code(c, "fields", "(IJF)J", (value[]){{.i = n}, {.j = 1000000000000}, of_float(7.5f)}).j;
    CHECK(c, got == sum, "%lld, not %lld", (long long)got, (long long)sum);
}

static void constants_and_texts_are_what_the_file_says(struct contract *c)
{
    int64_t sum = -0x123456789abcdef + 0x12345678 - 2 + 1 + 4 + 100;
    int64_t constants = code(c, "constants", "()J", NULL).j;
    int32_t text = code(c, "text", "()I", NULL).i, expected = 0x30000 + 0x4e2d + ('a' - 0x4e2d);
    CHECK(c, constants == sum, "%lld, not %lld", (long long)constants, (long long)sum);
    CHECK(c, text == expected, "%#x, not %#x", text, expected);
}

static void calls_and_types_follow_the_objects_class(struct contract *c)
{
    int32_t calls = code(c, "calls", "()I", NULL).i, types = code(c, "types", "()I", NULL).i;
    CHECK(c, calls == 1217, "calls: %d", calls);
    CHECK(c, types == 31, "types: %d", types);
}

/* ---- exceptions ---- */

static const char *const faults[] = {
    "java/lang/ArrayIndexOutOfBoundsException", "java/lang/ArrayStoreException",  "java/lang/ClassCastException",
    "java/lang/NegativeArraySizeException",     "java/lang/NullPointerException", "java/lang/ArithmeticException",
    "java/lang/NullPointerException",           "java/lang/NullPointerException", "java/lang/NullPointerException",
};
enum { FAULTS = sizeof faults / sizeof *faults };

static void what_goes_wrong_throws_what_java_says(struct contract *c)
{
    for (int i = 0; i < FAULTS; i++) {
        code(c, "fault", "(I)V", &(value){.i = i});
        CHECK(c, java_thrown(c->art.env, faults[i]), "fault %d is no %s", i, faults[i]);
    }
    code(c, "fault", "(I)V", &(value){.i = FAULTS});
    CHECK(c, !java_thrown(c->art.env, "java/lang/Throwable"), "something is thrown for nothing");
}

static void handlers_are_tried_in_order_and_unwinding_goes_on_where_none_is(struct contract *c)
{
    for (int i = 0; i < FAULTS; i++) {
        int32_t by = code(c, "caught", "(I)I", &(value){.i = i}).i;
        CHECK(c, by == 5, "fault %d: %d", i, by);
    }
    int32_t none = code(c, "caught", "(I)I", &(value){.i = FAULTS}).i;
    CHECK(c, none == 0, "%d", none);
}

static void a_class_whose_initializer_throws_is_broken_for_good(struct contract *c)
{
    code(c, "broken", "()I", NULL);
    CHECK(c, java_thrown(c->art.env, "java/lang/ExceptionInInitializerError"), "at the first time");
    for (int i = 0; i < 3; i++) {
        code(c, "broken", "()I", NULL);
        CHECK(c, java_thrown(c->art.env, "java/lang/NoClassDefFoundError"), "later");
    }
}

static void a_synchronized_method_that_throws_lets_go(struct contract *c)
{
    strobe_jobject o = java_new(c->art.env, "Code");
    for (int i = 0; i <= FAULTS; i++) {
        java_virtual(c->art.env, o, "held", "(I)V", &(value){.i = i});
        bool thrown = i == FAULTS || java_thrown(c->art.env, faults[i]);
        CHECK(c, thrown && !java_holds(c->art.env, o), "fault %d", i);
    }
    java_drop(c->art.env, o);
}

static void a_stack_that_overflows_is_caught_and_can_be_used_again(struct contract *c)
{
    for (int i = 0; i < 3; i++)
        java_static(c->art.env, "Stress", "overflowCaught", "()V", NULL);
    CHECK(c, !java_thrown(c->art.env, "java/lang/Throwable"), "an error got out");
    int32_t answer = java_static(c->art.env, "Main", "answer", "()I", NULL).i;
    CHECK(c, answer == 42, "%d", answer);
}

const struct contract_case contract_cases_code[] = {
    {"whole_numbers_wrap_and_divide_as_javas_do", whole_numbers_wrap_and_divide_as_javas_do, 0},
    {"broken_numbers_are_those_of_ieee_754", broken_numbers_are_those_of_ieee_754, 0},
    {"numbers_out_of_range_become_the_nearest_whole_one", numbers_out_of_range_become_the_nearest_whole_one, 0},
    {"a_switch_leads_where_its_table_says", a_switch_leads_where_its_table_says, 0},
    {"arrays_and_fields_hold_what_their_type_holds", arrays_and_fields_hold_what_their_type_holds, 0},
    {"calls_and_types_follow_the_objects_class", calls_and_types_follow_the_objects_class, 0},
    {"constants_and_texts_are_what_the_file_says", constants_and_texts_are_what_the_file_says, 0},
    {"a_class_whose_initializer_throws_is_broken_for_good", a_class_whose_initializer_throws_is_broken_for_good, 0},
    {"what_goes_wrong_throws_what_java_says", what_goes_wrong_throws_what_java_says, 0},
    {"handlers_are_tried_in_order_and_unwinding_goes_on_where_none_is",
     handlers_are_tried_in_order_and_unwinding_goes_on_where_none_is, 0},
    {"a_synchronized_method_that_throws_lets_go", a_synchronized_method_that_throws_lets_go, 0},
    {"a_stack_that_overflows_is_caught_and_can_be_used_again", a_stack_that_overflows_is_caught_and_can_be_used_again,
     0},
    {0},
};
