/* The functions of JNI, by their index in the table, return the same results on every runtime. */
#include "tests/contract_art/support/contract.h"
#include "tests/contract_art/support/java.h"

#include <stdarg.h>
#include <string.h>

typedef struct strobe_jni *jni;
typedef strobe_jobject object;

/* The function at an index of the table, cast to a type. */
#define FUNCTION(env, place, type) ((type)(uintptr_t)strobe_jni_at(env, (enum strobe_jni_place)(place)))

enum place {
    SUPERCLASS = 10,
    IS_ASSIGNABLE = 11,
    THROW = 13,
    THROW_NEW = 14,
    OCCURRED = 15,
    CLEAR = 17,
    PUSH_FRAME = 19,
    POP_FRAME = 20,
    NEW_LOCAL = 25,
    NEW_OBJECT = 28,
    IS_INSTANCE = 32,
    CALL_INT = 49,
    CALL_INT_LIST = 50,
    GET_FIELD_ID = 94,
    GET_FIELD = 95,
    SET_FIELD = 104,
    CALL_STATIC_INT = 129,
    CALL_STATIC_INT_LIST = 130,
    CALL_STATIC_INT_ARRAY = 131,
    STRING_LENGTH = 164,
    NEW_STRING = 167,
    UTF_LENGTH = 168,
    UTF = 169,
    RELEASE_UTF = 170,
    ARRAY_LENGTH = 171,
    NEW_OBJECTS = 172,
    GET_ELEMENT = 173,
    SET_ELEMENT = 174,
    NEW_INTS = 179,
    GET_INTS = 203,
    SET_INTS = 211,
    CHECK_EXCEPTION = 228,
    REFERENCE_TYPE = 232
};

static void strings_are_modified_utf_8_outside_and_chars_inside(struct contract *c)
{
    static const char *const texts[] = {"", "abc", "\xc3\xbc und \xe4\xb8\xad", "a\xc0\x80z"};
    static const int32_t lengths[] = {0, 3, 7, 3};
    jni env = c->art.env;
    for (int i = 0; i < 4; i++) {
        object s = FUNCTION(env, NEW_STRING, object(*)(jni, const char *))(env, texts[i]);
        int32_t length = FUNCTION(env, STRING_LENGTH, int32_t(*)(jni, object))(env, s);
        int32_t bytes = FUNCTION(env, UTF_LENGTH, int32_t(*)(jni, object))(env, s);
        const char *back = FUNCTION(env, UTF, const char *(*)(jni, object, uint8_t *))(env, s, NULL);
        CHECK(c, length == lengths[i], "%d: %d chars", i, length);
        CHECK(c, bytes == (int32_t)strlen(texts[i]), "%d: %d bytes", i, bytes);
        CHECK(c, strcmp(back, texts[i]) == 0, "%d came back as %s", i, back);
        FUNCTION(env, RELEASE_UTF, void (*)(jni, object, const char *))(env, s, back);
    }
}

static void arrays_are_copied_in_parts_that_are_within(struct contract *c)
{
    jni env = c->art.env;
    int32_t out[8] = {0};
    static const int32_t in[4] = {1, -2, 3, -4};
    object ints = FUNCTION(env, NEW_INTS, object(*)(jni, int32_t))(env, 6);
    typedef void (*region)(jni, object, int32_t, int32_t, const int32_t *);
    FUNCTION(env, SET_INTS, region)(env, ints, 2, 4, in);
    FUNCTION(env, GET_INTS, region)(env, ints, 0, 6, out);
    CHECK(c, out[0] == 0 && out[1] == 0 && memcmp(out + 2, in, sizeof in) == 0, "%d %d %d", out[1], out[2], out[5]);
    int32_t length = FUNCTION(env, ARRAY_LENGTH, int32_t(*)(jni, object))(env, ints);
    CHECK(c, length == 6, "%d", length);
    static const int32_t wrong[][2] = {{3, 4}, {-1, 2}, {0, -1}, {7, 0}};
    for (int i = 0; i < 4; i++) {
        FUNCTION(env, GET_INTS, region)(env, ints, wrong[i][0], wrong[i][1], out);
        CHECK(c, java_thrown(env, "java/lang/ArrayIndexOutOfBoundsException"), "%d from %d", wrong[i][1], wrong[i][0]);
    }
}

static void arrays_of_objects_take_what_their_type_takes(struct contract *c)
{
    jni env = c->art.env;
    object shape = strobe_jni_find_class(env, "Shape"), square = java_new(env, "Square");
    object text = FUNCTION(env, NEW_STRING, object(*)(jni, const char *))(env, "x");
    object array = FUNCTION(env, NEW_OBJECTS, object(*)(jni, int32_t, object, object))(env, 3, shape, NULL);
    typedef void (*set)(jni, object, int32_t, object);
    typedef object (*get)(jni, object, int32_t);
    FUNCTION(env, SET_ELEMENT, set)(env, array, 1, square);
    CHECK(c, java_same(env, FUNCTION(env, GET_ELEMENT, get)(env, array, 1), square), "another one");
    CHECK(c, !FUNCTION(env, GET_ELEMENT, get)(env, array, 0), "no null");
    FUNCTION(env, SET_ELEMENT, set)(env, array, 2, text);
    CHECK(c, java_thrown(env, "java/lang/ArrayStoreException"), "a string among shapes");
    FUNCTION(env, SET_ELEMENT, set)(env, array, 3, square);
    CHECK(c, java_thrown(env, "java/lang/ArrayIndexOutOfBoundsException"), "a fourth of three");
}

/* Fields in the order of their types in the table: object, boolean, byte, char, short, int, long. */
static void fields_hold_what_their_type_holds(struct contract *c)
{
    static const struct {
        const char *name, *type;
        int64_t value;
    } fields[] = {
        {"z", "Z", 1},      {"b", "B", -128},      {"c", "C", 0xffff},
        {"s", "S", -32768}, {"i", "I", INT32_MIN}, {"j", "J", INT64_MIN + 1},
    };
    jni env = c->art.env;
    object class = strobe_jni_find_class(env, "Code"), o = java_new(env, "Code");
    typedef strobe_jfield (*find)(jni, object, const char *, const char *);
    for (int i = 0; i < 6; i++) {
        strobe_jfield f = FUNCTION(env, GET_FIELD_ID, find)(env, class, fields[i].name, fields[i].type);
        FUNCTION(env, SET_FIELD + 1 + i, void (*)(jni, object, strobe_jfield, int64_t))(env, o, f, fields[i].value);
        int64_t got = FUNCTION(env, GET_FIELD + 1 + i, int64_t(*)(jni, object, strobe_jfield))(env, o, f);
        switch (fields[i].type[0]) {
        case 'Z': got = (uint8_t)got; break;
        case 'B': got = (int8_t)got; break;
        case 'C': got = (uint16_t)got; break;
        case 'S': got = (int16_t)got; break;
        case 'I': got = (int32_t)got; break;
        default: break;
        }
        CHECK(c, got == fields[i].value, "%s: %lld", fields[i].name, (long long)got);
    }
    strobe_jfield self = FUNCTION(env, GET_FIELD_ID, find)(env, class, "o", "Ljava/lang/Object;");
    FUNCTION(env, SET_FIELD, void (*)(jni, object, strobe_jfield, object))(env, o, self, o);
    object got = FUNCTION(env, GET_FIELD, object(*)(jni, object, strobe_jfield))(env, o, self);
    CHECK(c, java_same(env, got, o), "another object");
}

static int32_t by_list(jni env, object class, strobe_jmethod m, ...)
{
    va_list list;
    va_start(list, m);
    int32_t got =
        FUNCTION(env, CALL_STATIC_INT_LIST, int32_t(*)(jni, object, strobe_jmethod, va_list))(env, class, m, list);
    va_end(list);
    return got;
}

static void each_form_of_a_call_passes_the_same(struct contract *c)
{
    jni env = c->art.env;
    object class = strobe_jni_find_class(env, "Code");
    strobe_jmethod doubles = strobe_jni_static_method(env, class, "order", "(DD)I");
    strobe_jmethod ints = strobe_jni_static_method(env, class, "ints", "(II)I");
    typedef int32_t (*open)(jni, object, strobe_jmethod, ...);
    typedef int32_t (*array)(jni, object, strobe_jmethod, const union strobe_jvalue *);
    int32_t one = FUNCTION(env, CALL_STATIC_INT, open)(env, class, doubles, 1.0, 2.0);
    CHECK(c, one == -11 && by_list(env, class, doubles, 1.0, 2.0) == -11, "%d", one);
    int32_t first = FUNCTION(env, CALL_STATIC_INT, open)(env, class, ints, 1234567, -89);
    int32_t third = FUNCTION(env, CALL_STATIC_INT_ARRAY, array)(env, class, ints,
                                                                (union strobe_jvalue[]){{.i = 1234567}, {.i = -89}});
    CHECK(c, first == third && by_list(env, class, ints, 1234567, -89) == third, "%d, %d", first, third);

    strobe_jmethod init = strobe_jni_method(env, class, "<init>", "()V");
    object o = FUNCTION(env, NEW_OBJECT, object(*)(jni, object, strobe_jmethod, ...))(env, class, init);
    strobe_jmethod area = strobe_jni_method(env, strobe_jni_find_class(env, "Shape"), "area", "()I");
    int32_t got = FUNCTION(env, CALL_INT, open)(env, o, area);
    CHECK(c, got == 17, "the object's class's method gives %d", got);
}

static void a_local_frame_takes_its_references_with_it_but_one(struct contract *c)
{
    jni env = c->art.env;
    object global = java_new(env, "Square");
    typedef object (*renew)(jni, object);
    typedef int (*type)(jni, object);
    CHECK(c, FUNCTION(env, PUSH_FRAME, int32_t(*)(jni, int32_t))(env, 16) == 0, "no room");
    object local = FUNCTION(env, NEW_LOCAL, renew)(env, global);
    CHECK(c, FUNCTION(env, REFERENCE_TYPE, type)(env, local) == 1, "no local reference");
    CHECK(c, FUNCTION(env, REFERENCE_TYPE, type)(env, global) == 2, "no global reference");
    object kept = FUNCTION(env, POP_FRAME, renew)(env, local);
    CHECK(c, java_same(env, kept, global), "what was to be kept is another");
    java_drop(env, global);
}

static void exceptions_are_pending_until_cleared(struct contract *c)
{
    jni env = c->art.env;
    object class = strobe_jni_find_class(env, "java/lang/IllegalStateException");
    int32_t thrown = FUNCTION(env, THROW_NEW, int32_t(*)(jni, object, const char *))(env, class, "so");
    uint8_t pending = FUNCTION(env, CHECK_EXCEPTION, uint8_t(*)(jni))(env);
    object e = FUNCTION(env, OCCURRED, object(*)(jni))(env);
    FUNCTION(env, CLEAR, void (*)(jni))(env);
    CHECK(c, thrown == 0 && pending && e, "%d, %d", thrown, pending);
    CHECK(c, !FUNCTION(env, CHECK_EXCEPTION, uint8_t(*)(jni))(env), "still pending");
    typedef uint8_t (*is)(jni, object, object);
    CHECK(c, FUNCTION(env, IS_INSTANCE, is)(env, e, class), "of another class");
    object above = FUNCTION(env, SUPERCLASS, object(*)(jni, object))(env, class);
    CHECK(c, FUNCTION(env, IS_ASSIGNABLE, is)(env, class, above), "no class above");
    CHECK(c, !FUNCTION(env, IS_ASSIGNABLE, is)(env, above, class), "nor below");
    FUNCTION(env, THROW, int32_t(*)(jni, object))(env, e);
    CHECK(c, java_thrown(env, "java/lang/IllegalStateException"), "not thrown again");
    strobe_jni_method(env, class, "no such", "()V");
    CHECK(c, !FUNCTION(env, CHECK_EXCEPTION, uint8_t(*)(jni))(env), "a method that is not there leaves one");
}

const struct contract_case contract_cases_jni[] = {
    {"strings_are_modified_utf_8_outside_and_chars_inside", strings_are_modified_utf_8_outside_and_chars_inside, 0},
    {"arrays_are_copied_in_parts_that_are_within", arrays_are_copied_in_parts_that_are_within, 0},
    {"arrays_of_objects_take_what_their_type_takes", arrays_of_objects_take_what_their_type_takes, 0},
    {"fields_hold_what_their_type_holds", fields_hold_what_their_type_holds, 0},
    {"each_form_of_a_call_passes_the_same", each_form_of_a_call_passes_the_same, 0},
    {"a_local_frame_takes_its_references_with_it_but_one", a_local_frame_takes_its_references_with_it_but_one, 0},
    {"exceptions_are_pending_until_cleared", exceptions_are_pending_until_cleared, 0},
    {0},
};
