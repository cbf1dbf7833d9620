/* JNI functions for strings and arrays. Native code gets copies of their content. */
#include "sim/fake/art/jni/jni.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMIT = 1, ABORT = 2 };

/* ---- strings ---- */

static void *new_string(struct strobe_jni *env, const uint16_t *chars, int32_t count)
{
    bool was = fake_enter(env);
    void *made = fake_local_ref(env->self, fake_string_of_chars(env->self, chars, (uint32_t)count));
    fake_leave(env, was);
    return made;
}

static void *new_string_utf(struct strobe_jni *env, const char *text)
{
    if (!text)
        return NULL;
    bool was = fake_enter(env);
    void *made = fake_local_ref(env->self, fake_string_new(env->self, text));
    fake_leave(env, was);
    return made;
}

static int32_t string_length(struct strobe_jni *env, void *string)
{
    bool was = fake_enter(env);
    uint32_t length = fake_string_length(fake_decode(env->self, string));
    fake_leave(env, was);
    return (int32_t)length;
}

static char *string_utf(struct strobe_jni *env, void *string, uint8_t *is_copy)
{
    bool was = fake_enter(env);
    char *text = fake_string_utf(fake_decode(env->self, string));
    if (is_copy)
        *is_copy = 1;
    fake_leave(env, was);
    return text;
}

static int32_t string_utf_length(struct strobe_jni *env, void *string)
{
    char *text = string_utf(env, string, NULL);
    size_t bytes = strlen(text);
    free(text);
    return (int32_t)bytes;
}

static uint16_t *string_chars(struct strobe_jni *env, void *string, uint8_t *is_copy)
{
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, string);
    uint32_t length = fake_string_length(s);
    uint16_t *chars = calloc(length + 1, sizeof *chars);
    FAKE_CHECK(chars);
    for (uint32_t i = 0; i < length; i++)
        chars[i] = fake_string_char(s, i);
    if (is_copy)
        *is_copy = 1;
    fake_leave(env, was);
    return chars;
}

static void release_copy(struct strobe_jni *env, void *string, void *copy)
{
    (void)env;
    (void)string;
    free(copy);
}

static bool jni_is_in_range(struct strobe_jni *env, int32_t length, int32_t start, int32_t count)
{
    if (start >= 0 && count >= 0 && (int64_t)start + count <= length)
        return true;
    char text[96];
    snprintf(text, sizeof text, "length=%d; regionStart=%d; regionLength=%d", length, start, count);
    fake_throw(env->self, "Ljava/lang/ArrayIndexOutOfBoundsException;", text);
    return false;
}

static void string_region(struct strobe_jni *env, void *string, int32_t start, int32_t count, uint16_t *out)
{
    bool was = fake_enter(env);
    struct fake_object *s = fake_decode(env->self, string);
    if (jni_is_in_range(env, (int32_t)fake_string_length(s), start, count))
        for (int32_t i = 0; i < count; i++)
            out[i] = fake_string_char(s, (uint32_t)(start + i));
    fake_leave(env, was);
}

static void string_utf_region(struct strobe_jni *env, void *string, int32_t start, int32_t count, char *out)
{
    uint16_t *chars = string_chars(env, string, NULL);
    bool was = fake_enter(env);
    if (jni_is_in_range(env, (int32_t)fake_string_length(fake_decode(env->self, string)), start, count)) {
        struct fake_object *part = fake_string_of_chars(env->self, chars + start, (uint32_t)count);
        char *text = part ? fake_string_utf(part) : NULL;
        if (text)
            strcpy(out, text);
        free(text);
    }
    fake_leave(env, was);
    free(chars);
}

/* ---- arrays ---- */

static struct fake_array *array_of(struct strobe_jni *env, void *array)
{
    struct fake_object *o = fake_decode(env->self, array);
    FAKE_CHECK(o && fake_class_of(o)->component);
    return (void *)o;
}

static int32_t jni_array_length(struct strobe_jni *env, void *array)
{
    bool was = fake_enter(env);
    int32_t length = array_of(env, array)->length;
    fake_leave(env, was);
    return length;
}

static void *jni_new_array(struct strobe_jni *env, const char *descriptor, int32_t length)
{
    bool was = fake_enter(env);
    struct fake_object *o = fake_array_new(env->self, fake_class_find(descriptor), length, fake_alloc_slow);
    void *made = fake_local_ref(env->self, o);
    fake_leave(env, was);
    return made;
}

static void *jni_new_object_array(struct strobe_jni *env, int32_t length, void *jclass, void *first)
{
    bool was = fake_enter(env);
    struct fake_class *component = fake_decode_class(env, jclass);
    char descriptor[512];
    snprintf(descriptor, sizeof descriptor, "[%s", component->descriptor);
    struct fake_class *c = fake_class_find(descriptor);
    struct fake_object *o = fake_array_new(env->self, c, length, fake_alloc_slow);
    for (int32_t i = 0; o && first && i < length; i++)
        ((fake_ref *)fake_elements(o, c))[i] = fake_ref_of(fake_decode(env->self, first));
    void *made = fake_local_ref(env->self, o);
    fake_leave(env, was);
    return made;
}

/* Returns the address of an element of an array of objects. NULL: exception pending. */
static fake_ref *jni_array_element(struct strobe_jni *env, void *array, int32_t index)
{
    struct fake_array *a = array_of(env, array);
    if (index >= 0 && index < a->length)
        return (fake_ref *)fake_elements(&a->object, fake_class_of(&a->object)) + index;
    char text[64];
    snprintf(text, sizeof text, "length=%d; index=%d", a->length, index);
    fake_throw(env->self, "Ljava/lang/ArrayIndexOutOfBoundsException;", text);
    return NULL;
}

static void *get_element(struct strobe_jni *env, void *array, int32_t index)
{
    bool was = fake_enter(env);
    const fake_ref *place = jni_array_element(env, array, index);
    void *got = place ? fake_local_ref(env->self, fake_object(*place)) : NULL;
    fake_leave(env, was);
    return got;
}

static void set_element(struct strobe_jni *env, void *array, int32_t index, void *value)
{
    bool was = fake_enter(env);
    fake_ref *place = jni_array_element(env, array, index);
    struct fake_object *o = fake_decode(env->self, value);
    if (place && o && !fake_class_is(fake_class_of(o), fake_class_of(&array_of(env, array)->object)->component))
        fake_throw(env->self, "Ljava/lang/ArrayStoreException;", NULL);
    else if (place)
        *place = fake_ref_of(o);
    fake_leave(env, was);
}

static void region(struct strobe_jni *env, void *array, int32_t start, int32_t count, void *memory, bool set)
{
    bool was = fake_enter(env);
    struct fake_array *a = array_of(env, array);
    const struct fake_class *c = fake_class_of(&a->object);
    if (jni_is_in_range(env, a->length, start, count)) {
        char *at = (char *)fake_elements(&a->object, c) + ((size_t)start << c->element_shift);
        size_t bytes = (size_t)count << c->element_shift;
        memcpy(set ? at : memory, set ? memory : at, bytes);
    }
    fake_leave(env, was);
}

static void get_region(struct strobe_jni *env, void *array, int32_t start, int32_t count, void *out)
{
    region(env, array, start, count, out, false);
}

static void set_region(struct strobe_jni *env, void *array, int32_t start, int32_t count, const void *from)
{
    region(env, array, start, count, (void *)(uintptr_t)from, true);
}

static void *get_elements(struct strobe_jni *env, void *array, uint8_t *is_copy)
{
    bool was = fake_enter(env);
    struct fake_array *a = array_of(env, array);
    const struct fake_class *c = fake_class_of(&a->object);
    size_t bytes = (size_t)a->length << c->element_shift;
    void *copy = malloc(bytes + 1);
    FAKE_CHECK(copy);
    memcpy(copy, fake_elements(&a->object, c), bytes);
    if (is_copy)
        *is_copy = 1;
    fake_leave(env, was);
    return copy;
}

static void release_elements(struct strobe_jni *env, void *array, void *copy, int32_t mode)
{
    if (mode != ABORT)
        region(env, array, 0, jni_array_length(env, array), copy, true);
    if (mode != COMMIT)
        free(copy);
}

#define PRIMITIVE(name, descriptor)                                                                                    \
    static void *new_##name(struct strobe_jni *env, int32_t length)                                                    \
    {                                                                                                                  \
        return jni_new_array(env, descriptor, length);                                                                 \
    }

PRIMITIVE(boolean, "[Z")
PRIMITIVE(byte, "[B")
PRIMITIVE(char, "[C")
PRIMITIVE(short, "[S")
PRIMITIVE(int, "[I")
PRIMITIVE(long, "[J")
PRIMITIVE(float, "[F")
PRIMITIVE(double, "[D")

#define PUT(place, function) table[place] = (const void *)(uintptr_t)(function)

void fake_jni_fill_arrays(const void **table)
{
    static void *(*const made[])(struct strobe_jni *, int32_t) = {
        new_boolean, new_byte, new_char, new_short, new_int, new_long, new_float, new_double,
    };
    for (int i = 0; i < 8; i++) {
        PUT(175 + i, made[i]);
        PUT(183 + i, get_elements);
        PUT(191 + i, release_elements);
        PUT(199 + i, get_region);
        PUT(207 + i, set_region);
    }
    PUT(163, new_string);
    PUT(164, string_length);
    PUT(165, string_chars);
    PUT(166, release_copy);
    PUT(167, new_string_utf);
    PUT(168, string_utf_length);
    PUT(169, string_utf);
    PUT(170, release_copy);
    PUT(171, jni_array_length);
    PUT(172, jni_new_object_array);
    PUT(173, get_element);
    PUT(174, set_element);
    PUT(220, string_region);
    PUT(221, string_utf_region);
    PUT(222, get_elements);
    PUT(223, release_elements);
    PUT(224, string_chars);
    PUT(225, release_copy);
}
