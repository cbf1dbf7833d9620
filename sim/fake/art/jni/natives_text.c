/* Natives of java.lang.String and StringFactory. */
#include "sim/fake/art/jni/natives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint16_t *chars_of(const struct fake_object *s)
{
    uint32_t length = fake_string_length(s);
    uint16_t *chars = calloc(length + 1, sizeof *chars);
    FAKE_CHECK(chars);
    for (uint32_t i = 0; i < length; i++)
        chars[i] = fake_string_char(s, i);
    return chars;
}

static void *made_of(struct strobe_jni *env, uint16_t *chars, uint32_t count)
{
    void *made = fake_local_ref(env->self, fake_string_of_chars(env->self, chars, count));
    free(chars);
    return made;
}

static bool in_string(struct strobe_jni *env, const struct fake_object *s, int32_t index)
{
    if (index >= 0 && (uint32_t)index < fake_string_length(s))
        return true;
    char text[64];
    snprintf(text, sizeof text, "length=%u; index=%d", fake_string_length(s), index);
    fake_throw(env->self, "Ljava/lang/StringIndexOutOfBoundsException;", text);
    return false;
}

static uint16_t char_at(struct strobe_jni *env, void *this, int32_t index)
{
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, this);
    uint16_t c = in_string(env, s, index) ? fake_string_char(s, (uint32_t)index) : 0;
    fake_leave(env, was);
    return c;
}

static bool not_null(struct strobe_jni *env, const struct fake_object *o)
{
    if (!o)
        fake_throw(env->self, "Ljava/lang/NullPointerException;", NULL);
    return o != NULL;
}

static int32_t compare_to(struct strobe_jni *env, void *this, void *other)
{
    bool was = fake_enter(env);
    struct fake_object *a = fake_decode(env->self, this), *b = fake_decode(env->self, other);
    int32_t difference = 0;
    if (not_null(env, b)) {
        uint32_t la = fake_string_length(a), lb = fake_string_length(b);
        difference = (int32_t)la - (int32_t)lb;
        for (uint32_t i = 0; i < la && i < lb; i++)
            if (fake_string_char(a, i) != fake_string_char(b, i)) {
                difference = fake_string_char(a, i) - fake_string_char(b, i);
                break;
            }
    }
    fake_leave(env, was);
    return difference;
}

static void *native_concat(struct strobe_jni *env, void *this, void *other)
{
    bool was = fake_enter(env);
    struct fake_object *a = fake_decode(env->self, this), *b = fake_decode(env->self, other);
    void *made = NULL;
    if (not_null(env, b)) {
        uint32_t la = fake_string_length(a), lb = fake_string_length(b);
        uint16_t *chars = calloc(la + lb + 1, sizeof *chars);
        FAKE_CHECK(chars);
        for (uint32_t i = 0; i < la + lb; i++)
            chars[i] = i < la ? fake_string_char(a, i) : fake_string_char(b, i - la);
        made = made_of(env, chars, la + lb);
    }
    fake_leave(env, was);
    return made;
}

static void *native_replace(struct strobe_jni *env, void *this, uint16_t from, uint16_t to)
{
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, this);
    uint32_t length = fake_string_length(s);
    uint16_t *chars = chars_of(s);
    for (uint32_t i = 0; i < length; i++)
        if (chars[i] == from)
            chars[i] = to;
    void *made = made_of(env, chars, length);
    fake_leave(env, was);
    return made;
}

static void *native_substring(struct strobe_jni *env, void *this, int32_t start, int32_t count)
{
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, this);
    void *made = NULL;
    if (count == 0 || (in_string(env, s, start) && in_string(env, s, start + count - 1))) {
        uint16_t *chars = chars_of(s);
        made = fake_local_ref(env->self, fake_string_of_chars(env->self, chars + start, (uint32_t)count));
        free(chars);
    }
    fake_leave(env, was);
    return made;
}

static void *native_intern(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    void *one = fake_local_ref(env->self, fake_string_intern(fake_decode(env->self, this)));
    fake_leave(env, was);
    return one;
}

static void *to_chars(struct strobe_jni *env, void *this)
{
    bool was = fake_enter(env);
    struct fake_class *c = fake_class_find("[C");
    int32_t length = (int32_t)fake_string_length(fake_decode(env->self, this));
    struct fake_object *array = fake_array_new(env->self, c, length, fake_alloc_slow);
    for (int32_t i = 0; array && i < length; i++)
        ((uint16_t *)fake_elements(array, c))[i] = fake_string_char(fake_decode(env->self, this), (uint32_t)i);
    void *made = fake_local_ref(env->self, array);
    fake_leave(env, was);
    return made;
}

static void get_chars(struct strobe_jni *env, void *this, int32_t start, int32_t end, void *buffer, int32_t at)
{
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, this), *array = fake_decode(env->self, buffer);
    uint16_t *out = fake_elements(array, fake_class_of(array));
    FAKE_CHECK(start >= 0 && (uint32_t)end <= fake_string_length(s));
    FAKE_CHECK(at >= 0 && at + (end - start) <= ((struct fake_array *)(void *)array)->length);
    for (int32_t i = start; i < end; i++)
        out[at + i - start] = fake_string_char(s, (uint32_t)i);
    fake_leave(env, was);
}

static void *from_chars(struct strobe_jni *env, void *class, int32_t offset, int32_t count, void *data)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_array *array = (void *)fake_decode(env->self, data);
    void *made = NULL;
    if (not_null(env, &array->object)) {
        FAKE_CHECK(offset >= 0 && count >= 0 && offset <= array->length - count);
        uint16_t *chars = calloc((uint32_t)count + 1, sizeof *chars);
        FAKE_CHECK(chars);
        const uint16_t *from = fake_elements(&array->object, fake_class_of(&array->object));
        memcpy(chars, from + offset, sizeof *chars * (uint32_t)count);
        made = made_of(env, chars, (uint32_t)count);
    }
    fake_leave(env, was);
    return made;
}

static void *from_bytes(struct strobe_jni *env, void *class, void *data, int32_t high, int32_t offset, int32_t count)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_array *array = (void *)fake_decode(env->self, data);
    void *made = NULL;
    if (not_null(env, &array->object)) {
        FAKE_CHECK(offset >= 0 && count >= 0 && offset <= array->length - count);
        uint16_t *chars = calloc((uint32_t)count + 1, sizeof *chars);
        FAKE_CHECK(chars);
        const uint8_t *from = fake_elements(&array->object, fake_class_of(&array->object));
        for (int32_t i = 0; i < count; i++)
            chars[i] = (uint16_t)(from[offset + i] | high << 8);
        made = made_of(env, chars, (uint32_t)count);
    }
    fake_leave(env, was);
    return made;
}

static void *from_string(struct strobe_jni *env, void *class, void *string)
{
    (void)class;
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, string);
    void *made = not_null(env, s) ? made_of(env, chars_of(s), fake_string_length(s)) : NULL;
    fake_leave(env, was);
    return made;
}

#define STRING  "Ljava/lang/String;"
#define FACTORY "Ljava/lang/StringFactory;"

const struct fake_native fake_natives_text[] = {
    FAKE_BOUND(STRING, "charAt", "(I)C", char_at),
    FAKE_BOUND(STRING, "compareTo", "(Ljava/lang/String;)I", compare_to),
    FAKE_BOUND(STRING, "concat", "(Ljava/lang/String;)Ljava/lang/String;", native_concat),
    FAKE_BOUND(STRING, "doReplace", "(CC)Ljava/lang/String;", native_replace),
    FAKE_BOUND(STRING, "fastSubstring", "(II)Ljava/lang/String;", native_substring),
    FAKE_BOUND(STRING, "getCharsNoCheck", "(II[CI)V", get_chars),
    FAKE_BOUND(STRING, "intern", "()Ljava/lang/String;", native_intern),
    FAKE_BOUND(STRING, "toCharArray", "()[C", to_chars),
    FAKE_BOUND(FACTORY, "newStringFromBytes", "([BIII)Ljava/lang/String;", from_bytes),
    FAKE_BOUND(FACTORY, "newStringFromChars", "(II[C)Ljava/lang/String;", from_chars),
    FAKE_BOUND(FACTORY, "newStringFromString", "(Ljava/lang/String;)Ljava/lang/String;", from_string),
    {0},
};
