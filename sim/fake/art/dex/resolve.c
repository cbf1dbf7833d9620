#include "sim/fake/art/dex/class.h"

#include <stdio.h>
#include <string.h>

/* ---- indices of a dex file ---- */

static void throw_named(struct fake_thread *self, const char *exception, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "%s", what);
    fake_throw(self, exception, text);
}

struct fake_class *fake_resolve_class(struct fake_thread *self, struct fake_dex *d, uint32_t index)
{
    FAKE_CHECK(index < d->type_count);
    struct fake_class *c = d->class_at[index];
    if (c)
        return c;
    c = fake_class_find(fake_dex_type(d, index));
    if (!c) {
        char text[512];
        snprintf(text, sizeof text, "Failed resolution of: %s", fake_dex_type(d, index));
        throw_named(self, "Ljava/lang/NoClassDefFoundError;", text);
        return NULL;
    }
    d->class_at[index] = c;
    return c;
}

static struct fake_method *any_method(struct fake_class *c, const char *name, const char *signature)
{
    struct fake_method *m = fake_class_method(c, name, signature, false);
    return m ? m : fake_class_method(c, name, signature, true);
}

struct fake_method *fake_resolve_method(struct fake_thread *self, struct fake_dex *d, uint32_t index)
{
    FAKE_CHECK(index < d->method_count);
    struct fake_method *m = d->method_at[index];
    if (m)
        return m;
    const struct fake_dex_member *id = &d->methods[index];
    struct fake_class *c = fake_resolve_class(self, d, id->class);
    if (!c)
        return NULL;
    fake_class_lock();
    const char *name = fake_dex_string(d, id->name), *signature = fake_dex_signature(d, id->type);
    fake_class_unlock();
    m = any_method(c, name, signature);
    if (!m) {
        char text[512];
        snprintf(text, sizeof text, "No method %s%s in class %s", name, signature, c->descriptor);
        throw_named(self, "Ljava/lang/NoSuchMethodError;", text);
        return NULL;
    }
    d->method_at[index] = m;
    return m;
}

struct fake_field *fake_resolve_field(struct fake_thread *self, struct fake_dex *d, uint32_t index)
{
    FAKE_CHECK(index < d->field_count);
    struct fake_field *f = d->field_at[index];
    if (f)
        return f;
    const struct fake_dex_member *id = &d->fields[index];
    struct fake_class *c = fake_resolve_class(self, d, id->class);
    if (!c)
        return NULL;
    const char *name = fake_dex_string(d, id->name), *type = fake_dex_type(d, id->type);
    f = fake_class_field(c, name, type, false);
    if (!f)
        f = fake_class_field(c, name, type, true);
    if (!f) {
        char text[512];
        snprintf(text, sizeof text, "No field %s of type %s in class %s", name, type, c->descriptor);
        throw_named(self, "Ljava/lang/NoSuchFieldError;", text);
        return NULL;
    }
    d->field_at[index] = f;
    return f;
}

struct fake_object *fake_resolve_string(struct fake_thread *self, struct fake_dex *d, uint32_t index)
{
    FAKE_CHECK(index < d->string_count);
    fake_ref known = d->string_at[index];
    if (known)
        return fake_object(known);
    struct fake_object *s = fake_string_new(self, fake_dex_string(d, index));
    if (!s)
        return NULL;
    s = fake_string_intern(s);
    d->string_at[index] = fake_ref_of(s);
    return s;
}

/* ---- new objects ---- */

struct fake_object *fake_object_new(struct fake_thread *self, struct fake_class *c, fake_allocator alloc)
{
    if (c->component || c->primitive || c->flags & (FAKE_ACC_ABSTRACT | FAKE_ACC_INTERFACE)) {
        throw_named(self, "Ljava/lang/InstantiationError;", c->descriptor);
        return NULL;
    }
    return fake_class_initialize(self, c) ? alloc(self, c, c->object_bytes) : NULL;
}

struct fake_object *fake_array_new(struct fake_thread *self, struct fake_class *array, int32_t length,
                                   fake_allocator alloc)
{
    if (length < 0) {
        char text[32];
        snprintf(text, sizeof text, "%d", length);
        fake_throw(self, "Ljava/lang/NegativeArraySizeException;", text);
        return NULL;
    }
    size_t bytes = array->object_bytes + ((size_t)(uint32_t)length << array->element_shift);
    struct fake_array *a = (void *)alloc(self, array, bytes);
    if (a)
        a->length = length;
    return a ? &a->object : NULL;
}

/* ---- initialization, by the Java Virtual Machine Specification 5.5 ---- */

static struct {
    struct fake_mutex lock;
    struct fake_cond changed;
} initializing;

__attribute__((constructor)) static void init_class_initialization(void)
{
    fake_mutex_init(&initializing.lock);
    fake_cond_init(&initializing.changed);
}

static uint64_t encoded_number_of(struct fake_dex_reader *r, unsigned bytes, bool is_signed, bool to_the_right)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)fake_dex_byte(r) << 8 * i;
    if (to_the_right)
        return value << 8 * (8 - bytes);
    if (is_signed && bytes < 8 && value >> (8 * bytes - 1))
        value |= UINT64_MAX << 8 * bytes;
    return value;
}

/* Stores one encoded value in a static field. Returns false with an exception pending. */
static bool set_value(struct fake_thread *self, struct fake_field *f, struct fake_dex_reader *r)
{
    enum {
        SHORT = 2,
        CHAR = 3,
        INT = 4,
        LONG = 6,
        FLOAT = 0x10,
        DOUBLE = 0x11,
        STRING = 0x17,
        TYPE = 0x18,
        NOTHING = 0x1e,
        BOOLEAN = 0x1f
    };
    uint8_t head = fake_dex_byte(r);
    unsigned bytes = (head >> 5) + 1u;
    struct fake_object *mirror = f->class->mirror, *o = NULL;
    switch (head & 0x1f) {
    case 0: FAKE_AT(mirror, f->offset, uint8_t) = (uint8_t)encoded_number_of(r, bytes, true, false); return true;
    case SHORT: FAKE_AT(mirror, f->offset, uint16_t) = (uint16_t)encoded_number_of(r, bytes, true, false); return true;
    case CHAR: FAKE_AT(mirror, f->offset, uint16_t) = (uint16_t)encoded_number_of(r, bytes, false, false); return true;
    case INT: FAKE_AT(mirror, f->offset, uint32_t) = (uint32_t)encoded_number_of(r, bytes, true, false); return true;
    case LONG: FAKE_AT(mirror, f->offset, uint64_t) = encoded_number_of(r, bytes, true, false); return true;
    case FLOAT:
        FAKE_AT(mirror, f->offset, uint32_t) = (uint32_t)(encoded_number_of(r, bytes, false, true) >> 32);
        return true;
    case DOUBLE: FAKE_AT(mirror, f->offset, uint64_t) = encoded_number_of(r, bytes, false, true); return true;
    case BOOLEAN: FAKE_AT(mirror, f->offset, uint8_t) = head >> 5; return true;
    case NOTHING: return true;
    case STRING:
        o = fake_resolve_string(self, f->class->dex, (uint32_t)encoded_number_of(r, bytes, false, false));
        break;
    case TYPE: {
        struct fake_class *c =
            fake_resolve_class(self, f->class->dex, (uint32_t)encoded_number_of(r, bytes, false, false));
        o = c ? c->mirror : NULL;
        break;
    }
    default:
        fprintf(stderr, "fake libart: %s.%s has a value of kind %#x\n", f->class->descriptor, f->name, head & 0x1fu);
        FAKE_CHECK(!"a static value of a kind that is not known");
    }
    FAKE_AT(mirror, f->offset, fake_ref) = fake_ref_of(o);
    return o != NULL;
}

static bool run_initializer(struct fake_thread *self, struct fake_class *c)
{
    if (c->super && !(c->flags & FAKE_ACC_INTERFACE) && !fake_class_initialize(self, c->super))
        return false;
    if (c->definition->static_values) {
        struct fake_dex_reader r = fake_dex_read_at(c->dex, c->definition->static_values);
        uint32_t count = fake_dex_uleb(&r);
        for (uint32_t i = 0; i < count && i < c->static_count && !r.bad; i++)
            if (!set_value(self, &c->fields[i], &r))
                return false;
    }
    struct fake_method *clinit = fake_class_declared(c, "<clinit>", "()V");
    union fake_value nothing;
    return !clinit || fake_invoke(self, clinit, NULL, &nothing);
}

static void settle_class_state(struct fake_class *c, enum fake_class_state state)
{
    fake_mutex_lock(&initializing.lock);
    c->state = state;
    fake_cond_broadcast(&initializing.changed);
    fake_mutex_unlock(&initializing.lock);
}

/* Returns true when this thread must initialize the class. Other threads wait until it is done, not RUNNABLE. */
static bool claim_initialisation(struct fake_thread *self, struct fake_class *c)
{
    fake_mutex_lock(&initializing.lock);
    bool mine = c->state == FAKE_LINKED;
    if (mine) {
        c->initializer = fake_thread_id(self);
        c->state = FAKE_INITIALIZING;
    }
    bool others = c->state == FAKE_INITIALIZING && c->initializer != fake_thread_id(self);
    fake_mutex_unlock(&initializing.lock);
    if (!others)
        return mine;
    fake_to_native(self, FAKE_WAITING);
    fake_mutex_lock(&initializing.lock);
    while (c->state == FAKE_INITIALIZING)
        fake_cond_wait(&initializing.changed, &initializing.lock, UINT64_MAX);
    fake_mutex_unlock(&initializing.lock);
    fake_to_runnable(self);
    return false;
}

static void wrap_exception(struct fake_thread *self)
{
    struct fake_class *error = fake_class_find("Ljava/lang/Error;");
    struct fake_object *cause = fake_exception(self);
    if (error && fake_class_is(fake_class_of(cause), error))
        return;
    uint32_t mark = fake_local_mark(self);
    fake_local_ref(self, cause);
    fake_throw(self, "Ljava/lang/ExceptionInInitializerError;", NULL);
    struct fake_object *thrown = fake_exception(self);
    struct fake_field *f = fake_class_field(fake_class_of(thrown), "cause", "Ljava/lang/Throwable;", false);
    if (f)
        FAKE_AT(thrown, f->offset, fake_ref) = fake_ref_of(cause);
    fake_local_release(self, mark);
}

bool fake_class_initialize(struct fake_thread *self, struct fake_class *c)
{
    if (c->state == FAKE_INITIALIZED)
        return true;
    if (claim_initialisation(self, c)) {
        bool done = run_initializer(self, c);
        if (!done)
            wrap_exception(self);
        settle_class_state(c, done ? FAKE_INITIALIZED : FAKE_ERRONEOUS);
        return done;
    }
    if (c->state != FAKE_ERRONEOUS)
        return true;
    throw_named(self, "Ljava/lang/NoClassDefFoundError;", c->descriptor);
    return false;
}
