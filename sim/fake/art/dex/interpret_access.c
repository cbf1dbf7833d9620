#include "sim/fake/art/dex/interpret.h"

#include <stdio.h>

/* Kinds of instructions for arrays and fields, in the order of their opcodes. */
enum kind { WORD, WIDE, OBJECT, BOOLEAN, BYTE, CHAR, SHORT };

static void interpret_load(struct fake_run *x, enum kind kind, uint32_t to, const void *from)
{
    switch (kind) {
    case WORD:
    case OBJECT: x->registers[to] = __atomic_load_n((const uint32_t *)from, __ATOMIC_SEQ_CST); break;
    case WIDE: fake_set_wide(x, to, __atomic_load_n((const uint64_t *)from, __ATOMIC_SEQ_CST)); break;
    case BOOLEAN: x->registers[to] = __atomic_load_n((const uint8_t *)from, __ATOMIC_SEQ_CST); break;
    case BYTE: x->registers[to] = (uint32_t)__atomic_load_n((const int8_t *)from, __ATOMIC_SEQ_CST); break;
    case CHAR: x->registers[to] = __atomic_load_n((const uint16_t *)from, __ATOMIC_SEQ_CST); break;
    case SHORT: x->registers[to] = (uint32_t)__atomic_load_n((const int16_t *)from, __ATOMIC_SEQ_CST); break;
    }
}

static void interpret_store(struct fake_run *x, enum kind kind, uint32_t from, void *to)
{
    uint32_t v = x->registers[from];
    switch (kind) {
    case WORD:
    case OBJECT: __atomic_store_n((uint32_t *)to, v, __ATOMIC_RELEASE); break;
    case WIDE: __atomic_store_n((uint64_t *)to, fake_wide(x, from), __ATOMIC_RELEASE); break;
    case BOOLEAN:
    case BYTE: __atomic_store_n((uint8_t *)to, (uint8_t)v, __ATOMIC_RELEASE); break;
    case CHAR:
    case SHORT: __atomic_store_n((uint16_t *)to, (uint16_t)v, __ATOMIC_RELEASE); break;
    }
}

/* ---- arrays ---- */

static bool stores_well(struct fake_run *x, const struct fake_class *array, const struct fake_object *value)
{
    if (!value || fake_class_is(fake_class_of(value), array->component))
        return true;
    char text[512], *at = text, *end = text + sizeof text - 40;
    at = fake_pretty_type(at, end, fake_class_of(value)->descriptor);
    at += sprintf(at, " cannot be stored in an array of type ");
    fake_pretty_type(at, text + sizeof text - 1, array->descriptor);
    fake_throw(x->self, "Ljava/lang/ArrayStoreException;", text);
    return false;
}

static bool array_element(struct fake_run *x, uint32_t op)
{
    bool is_load = op < 0x4b;
    enum kind kind = is_load ? op - 0x44 : op - 0x4b;
    struct fake_object *array = fake_object(x->registers[fake_unit(x, 1) & 0xff]);
    int32_t index = (int32_t)x->registers[fake_unit(x, 1) >> 8];
    if (!array)
        return fake_null(x, is_load ? "Attempt to read from null array" : "Attempt to write to null array");
    int32_t length = ((struct fake_array *)(void *)array)->length;
    if (index < 0 || index >= length) {
        char text[64];
        snprintf(text, sizeof text, "length=%d; index=%d", length, index);
        fake_throw(x->self, "Ljava/lang/ArrayIndexOutOfBoundsException;", text);
        return false;
    }
    struct fake_class *c = fake_class_of(array);
    char *at = (char *)fake_elements(array, c) + ((size_t)index << c->element_shift);
    if (is_load)
        interpret_load(x, kind, fake_aa(x), at);
    else if (kind == OBJECT && !stores_well(x, c, fake_object(x->registers[fake_aa(x)])))
        return false;
    else
        interpret_store(x, kind, fake_aa(x), at);
    return true;
}

static bool interpret_array_length(struct fake_run *x)
{
    struct fake_object *array = fake_object(x->registers[fake_b(x)]);
    if (!array)
        return fake_null(x, "Attempt to get length of null array");
    x->registers[fake_a(x)] = (uint32_t)((struct fake_array *)(void *)array)->length;
    return true;
}

static bool fill_array(struct fake_run *x)
{
    struct fake_array *array = (void *)fake_object(x->registers[fake_aa(x)]);
    const uint16_t *data = x->code + x->pc + (int32_t)fake_two_units(x, 1);
    if (!array)
        return fake_null(x, "null array in FILL_ARRAY_DATA");
    uint32_t width = data[1], count = data[2] | (uint32_t)data[3] << 16;
    FAKE_CHECK(data[0] == 0x0300 && count <= (uint32_t)array->length);
    memcpy(fake_elements(&array->object, fake_class_of(&array->object)), data + 4, (size_t)width * count);
    return true;
}

/* ---- new objects ---- */

/* Quick code enters the runtime to allocate: a walk from there meets the runtime's frame first. */
static struct fake_object *from_quick_code(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    if (!fake_quick_frames)
        return fake_alloc(self, c, bytes);
    struct fake_pseudo pseudo;
    fake_pseudo_push(self, &pseudo);
    struct fake_object *o = fake_alloc(self, c, bytes);
    fake_pseudo_pop(self, &pseudo);
    return o;
}

static bool new_instance(struct fake_run *x)
{
    struct fake_class *c = fake_resolve_class(x->self, x->dex, fake_unit(x, 1));
    struct fake_object *o = c ? fake_object_new(x->self, c, from_quick_code) : NULL;
    x->registers[fake_aa(x)] = fake_ref_of(o);
    return o != NULL;
}

static bool interpret_new_array(struct fake_run *x)
{
    struct fake_class *c = fake_resolve_class(x->self, x->dex, fake_unit(x, 1));
    int32_t length = (int32_t)x->registers[fake_b(x)];
    struct fake_object *o = c ? fake_array_new(x->self, c, length, from_quick_code) : NULL;
    if (o)
        x->registers[fake_a(x)] = fake_ref_of(o);
    return o != NULL;
}

static bool filled_new_array(struct fake_run *x, bool is_range)
{
    struct fake_class *c = fake_resolve_class(x->self, x->dex, fake_unit(x, 1));
    uint32_t count = is_range ? fake_aa(x) : fake_b(x), list = fake_unit(x, 2);
    struct fake_object *o = c ? fake_array_new(x->self, c, (int32_t)count, from_quick_code) : NULL;
    if (!o)
        return false;
    FAKE_CHECK(c->element_shift == 2);
    uint32_t *to = fake_elements(o, c);
    for (uint32_t i = 0; i < count; i++)
        to[i] = x->registers[is_range ? list + i : i < 4 ? list >> 4 * i & 15 : fake_a(x)];
    x->result.l = fake_ref_of(o);
    return true;
}

/* ---- types ---- */

static bool check_cast(struct fake_run *x)
{
    struct fake_class *c = fake_resolve_class(x->self, x->dex, fake_unit(x, 1));
    struct fake_object *o = fake_object(x->registers[fake_aa(x)]);
    if (!c)
        return false;
    if (!o || fake_class_is(fake_class_of(o), c))
        return true;
    char text[512], *at = text, *end = text + sizeof text - 40;
    at = fake_pretty_type(at, end, fake_class_of(o)->descriptor);
    at += sprintf(at, " cannot be cast to ");
    fake_pretty_type(at, text + sizeof text - 1, c->descriptor);
    fake_throw(x->self, "Ljava/lang/ClassCastException;", text);
    return false;
}

static bool instance_of(struct fake_run *x)
{
    struct fake_class *c = fake_resolve_class(x->self, x->dex, fake_unit(x, 1));
    struct fake_object *o = fake_object(x->registers[fake_b(x)]);
    x->registers[fake_a(x)] = c && o && fake_class_is(fake_class_of(o), c);
    return c != NULL;
}

/* ---- fields ---- */

static bool instance_field(struct fake_run *x, uint32_t op)
{
    struct fake_field *f = fake_resolve_field(x->self, x->dex, fake_unit(x, 1));
    if (!f)
        return false;
    bool is_load = op < 0x59;
    struct fake_object *o = fake_object(x->registers[fake_b(x)]);
    if (!o) {
        char text[512];
        snprintf(text, sizeof text, "Attempt to %s field '%s' on a null object reference",
                 is_load ? "read from" : "write to", f->name);
        return fake_null(x, text);
    }
    if (is_load)
        interpret_load(x, op - 0x52, fake_a(x), (char *)o + f->offset);
    else
        interpret_store(x, op - 0x59, fake_a(x), (char *)o + f->offset);
    return true;
}

static bool static_field(struct fake_run *x, uint32_t op)
{
    struct fake_field *f = fake_resolve_field(x->self, x->dex, fake_unit(x, 1));
    if (!f || !fake_class_initialize(x->self, f->class))
        return false;
    char *at = (char *)f->class->mirror + f->offset;
    if (op < 0x67)
        interpret_load(x, op - 0x60, fake_aa(x), at);
    else
        interpret_store(x, op - 0x67, fake_aa(x), at);
    return true;
}

bool fake_run_access(struct fake_run *x)
{
    uint32_t op = x->code[x->pc] & 0xff;
    switch (op) {
    case 0x1f: return check_cast(x);
    case 0x20: return instance_of(x);
    case 0x21: return interpret_array_length(x);
    case 0x22: return new_instance(x);
    case 0x23: return interpret_new_array(x);
    case 0x24:
    case 0x25: return filled_new_array(x, op == 0x25);
    case 0x26: return fill_array(x);
    default:
        if (op <= 0x51)
            return array_element(x, op);
        return op <= 0x5f ? instance_field(x, op) : static_field(x, op);
    }
}
