#include "sim/fake/art/dex/class.h"
#include "engine/base/error_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct fake_mutex lock;
    struct fake_class **table; /* by descriptor, open addressing; at most half full */
    size_t places, used;
    struct fake_class *all;
    struct fake_class *object, *class; /* java.lang.Object, java.lang.Class */
} classes;

__attribute__((constructor)) static void init_class_list(void)
{
    fake_mutex_init(&classes.lock);
}

void fake_class_lock(void)
{
    fake_mutex_lock(&classes.lock);
}
void fake_class_unlock(void)
{
    fake_mutex_unlock(&classes.lock);
}

uint32_t fake_name_hash(const char *name, const char *signature)
{
    uint32_t hash = 2166136261u; /* FNV-1a, by G. Fowler, L. C. Noll, K.-P. Vo */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    for (; *signature; signature++)
        hash = (hash ^ (uint8_t)*signature) * 16777619u;
    return hash;
}

/* ---- table ---- */

static struct fake_class **class_table_place(const char *descriptor)
{
    size_t i = fake_name_hash(descriptor, "") & (classes.places - 1);
    while (classes.table[i] && strcmp(classes.table[i]->descriptor, descriptor) != 0)
        i = (i + 1) & (classes.places - 1);
    return &classes.table[i];
}

static void class_table_grow(void)
{
    if (2 * classes.used < classes.places)
        return;
    classes.places = classes.places ? 2 * classes.places : 1024;
    free(classes.table);
    classes.table = calloc(classes.places, sizeof *classes.table);
    FAKE_CHECK(classes.table);
    for (struct fake_class *c = classes.all; c; c = c->next)
        *class_table_place(c->descriptor) = c;
}

static struct fake_class *class_table_enter(const char *descriptor)
{
    class_table_grow();
    struct fake_class *c = calloc(1, sizeof *c);
    FAKE_CHECK(c);
    c->descriptor = descriptor;
    c->next = classes.all;
    *class_table_place(descriptor) = c;
    classes.all = c;
    classes.used++;
    return c;
}

/* ---- classes without a dex file ---- */

static uint8_t shift_of(char primitive)
{
    switch (primitive) {
    case 'Z':
    case 'B': return 0;
    case 'S':
    case 'C': return 1;
    case 'J':
    case 'D': return 3;
    default: return 2;
    }
}

static void make_primitive(const char *descriptor)
{
    struct fake_class *c = class_table_enter(descriptor);
    c->primitive = descriptor[0];
    c->flags = FAKE_ACC_PUBLIC | FAKE_ACC_FINAL | FAKE_ACC_ABSTRACT;
    c->state = FAKE_INITIALIZED;
}

/* Arrays are objects that can be cloned; their methods are Object's. */
static struct fake_class *make_array(const char *descriptor)
{
    struct fake_class *component = fake_class_find_locked(descriptor + 1);
    if (!component || component->primitive == 'V')
        return NULL;
    struct fake_class *c = class_table_enter(strdup(descriptor));
    c->component = component;
    c->element_shift = component->primitive ? shift_of(component->primitive) : 2;
    c->object_bytes = c->element_shift == 3 ? 16 : 12;
    c->super = classes.object;
    c->vtable = classes.object->vtable;
    c->vtable_count = classes.object->vtable_count;
    c->flags = FAKE_ACC_PUBLIC | FAKE_ACC_FINAL | FAKE_ACC_ABSTRACT;
    c->state = FAKE_INITIALIZED;
    static const char *const interfaces[] = {"Ljava/lang/Cloneable;", "Ljava/io/Serializable;"};
    c->interfaces = calloc(2, sizeof *c->interfaces);
    FAKE_CHECK(c->interfaces);
    for (int i = 0; i < 2; i++) {
        struct fake_class *interface = fake_class_find_locked(interfaces[i]);
        if (interface)
            c->interfaces[c->interface_count++] = interface;
    }
    return c;
}

/* ---- mirrors ---- */

static void mirror_word(struct fake_object *mirror, const char *name, const char *type, uint64_t value)
{
    struct fake_field *f = fake_class_field(classes.class, name, type, false);
    if (f && type[0] == 'J')
        FAKE_AT(mirror, f->offset, uint64_t) = value;
    else if (f)
        FAKE_AT(mirror, f->offset, uint32_t) = (uint32_t)value;
}

static void make_mirror(struct fake_class *c)
{
    uint32_t end = fake_class_lay_statics(c, classes.class->object_bytes);
    c->mirror = fake_immortal(end, c);
    c->mirror->class = fake_ref_of(classes.class == c ? c->mirror : classes.class->mirror);
    if (c->super && c->super->mirror)
        mirror_word(c->mirror, "superClass", "Ljava/lang/Class;", fake_ref_of(c->super->mirror));
    if (c->component)
        mirror_word(c->mirror, "componentType", "Ljava/lang/Class;", fake_ref_of(c->component->mirror));
    mirror_word(c->mirror, "accessFlags", "I", c->flags);
    mirror_word(c->mirror, "objectSize", "I", c->object_bytes);
    if (c->method_count > 0) /* the runtime's arrays of methods have their length in the word before them */
        mirror_word(c->mirror, "methods", "J", (uintptr_t)fake_method_art(c->methods) - 8);
    for (uint32_t i = 0; i < c->method_count; i++)
        fake_method_publish(&c->methods[i]);
}

/* The mirrors of Object and Class need both classes, so these two are made first. */
static bool class_table_begin(void)
{
    static const char *const primitives[] = {"Z", "B", "S", "C", "I", "J", "F", "D", "V"};
    struct fake_class *object = *class_table_place("Ljava/lang/Object;"),
                      *class = *class_table_place("Ljava/lang/Class;");
    if (!object || !class || !fake_class_link(object))
        return false;
    classes.object = object;
    if (!fake_class_link(class))
        return false;
    classes.class = class;
    make_mirror(class);
    make_mirror(object);
    mirror_word(class->mirror, "superClass", "Ljava/lang/Class;", fake_ref_of(object->mirror));
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        make_primitive(primitives[i]);
    return true;
}

struct fake_class *fake_class_find_locked(const char *descriptor)
{
    if (!classes.object)
        return NULL;
    struct fake_class *c = *class_table_place(descriptor);
    if (!c && descriptor[0] == '[')
        c = make_array(descriptor);
    if (!c || (c->definition && !fake_class_link(c)))
        return NULL;
    if (!c->mirror && classes.class)
        make_mirror(c);
    return c;
}

struct fake_class *fake_class_find(const char *descriptor)
{
    fake_class_lock();
    struct fake_class *c = fake_class_find_locked(descriptor);
    fake_class_unlock();
    return c;
}

bool fake_dex_open(const char *path, struct strobe_error *error)
{
    struct fake_dex *d = malloc(sizeof *d);
    FAKE_CHECK(d);
    if (!fake_dex_map(path, d, error)) {
        free(d);
        return false;
    }
    fake_class_lock();
    for (uint32_t i = 0; i < d->class_count; i++) {
        const char *descriptor = fake_dex_type(d, d->classes[i].type);
        class_table_grow();
        if (*class_table_place(descriptor))
            continue; /* the class of an earlier file on the class path counts */
        struct fake_class *c = class_table_enter(descriptor);
        c->dex = d;
        c->definition = &d->classes[i];
        c->flags = d->classes[i].flags & 0xffff;
    }
    bool begun = classes.class || class_table_begin();
    fake_class_unlock();
    if (!begun)
        strobe_error_set(error, "%s: has no java.lang.Object and java.lang.Class to begin with", path);
    return begun;
}

/* ---- queries ---- */

struct fake_class *fake_class_mirrored(const struct fake_object *class_object)
{
    return class_object ? ((struct fake_class *const *)(const void *)class_object)[-1] : NULL;
}

struct fake_class *fake_class_of(const struct fake_object *object)
{
    return fake_class_mirrored(fake_object(object->class));
}

struct fake_object *fake_class_mirror(struct fake_class *c)
{
    return c->mirror;
}
const char *fake_class_descriptor(const struct fake_class *c)
{
    return c->descriptor;
}
uint32_t fake_class_object_bytes(const struct fake_class *c)
{
    return c->object_bytes;
}
uint32_t fake_field_offset(const struct fake_field *f)
{
    return f->offset;
}

bool fake_class_is(const struct fake_class *c, const struct fake_class *super)
{
    if (c == super || (super == classes.object && !c->primitive))
        return true;
    if (c->component && super->component)
        return !c->component->primitive && fake_class_is(c->component, super->component);
    for (const struct fake_class *k = c; k; k = k->super) {
        if (k == super)
            return true;
        if (super->flags & FAKE_ACC_INTERFACE)
            for (uint32_t i = 0; i < k->interface_count; i++)
                if (fake_class_is(k->interfaces[i], super))
                    return true;
    }
    return false;
}

static struct fake_method *find_declared_method(const struct fake_class *c, const char *name, const char *signature,
                                                uint32_t hash)
{
    for (uint32_t i = 0; i < c->method_count; i++) {
        struct fake_method *m = &c->methods[i];
        if (m->hash == hash && strcmp(m->name, name) == 0 && strcmp(m->signature, signature) == 0)
            return m;
    }
    return NULL;
}

struct fake_method *fake_class_declared(const struct fake_class *c, const char *name, const char *signature)
{
    return find_declared_method(c, name, signature, fake_name_hash(name, signature));
}

static struct fake_method *of_interfaces(const struct fake_class *c, const char *name, const char *signature,
                                         uint32_t hash, bool with_code)
{
    for (; c; c = c->super)
        for (uint32_t i = 0; i < c->interface_count; i++) {
            const struct fake_class *interface = c->interfaces[i];
            struct fake_method *m = find_declared_method(interface, name, signature, hash);
            if (!m || (with_code && (m->flags & FAKE_ACC_ABSTRACT)))
                m = of_interfaces(interface, name, signature, hash, with_code);
            if (m)
                return m;
        }
    return NULL;
}

struct fake_method *fake_class_method(struct fake_class *c, const char *name, const char *signature, bool is_static)
{
    uint32_t hash = fake_name_hash(name, signature);
    struct fake_method *m = NULL;
    for (struct fake_class *k = c; k && !m; k = k->super)
        m = find_declared_method(k, name, signature, hash);
    if (!m)
        m = of_interfaces(c, name, signature, hash, false);
    return m && !(m->flags & FAKE_ACC_STATIC) == !is_static ? m : NULL;
}

struct fake_method *fake_class_dispatch(const struct fake_class *c, const struct fake_method *m)
{
    if (m->flags & (FAKE_ACC_PRIVATE | FAKE_ACC_CONSTRUCTOR | FAKE_ACC_STATIC))
        return (struct fake_method *)(uintptr_t)m;
    if (!(m->class->flags & FAKE_ACC_INTERFACE))
        return m->vtable_index < c->vtable_count ? c->vtable[m->vtable_index] : NULL;
    for (uint32_t i = c->vtable_count; i-- > 0;) {
        struct fake_method *v = c->vtable[i];
        if (v->hash == m->hash && strcmp(v->name, m->name) == 0 && strcmp(v->signature, m->signature) == 0)
            return v;
    }
    return of_interfaces(c, m->name, m->signature, m->hash, true);
}

struct fake_field *fake_class_field(struct fake_class *c, const char *name, const char *signature, bool is_static)
{
    for (; c; c = c->super) {
        for (uint32_t i = is_static ? 0 : c->static_count; i < (is_static ? c->static_count : c->field_count); i++)
            if (strcmp(c->fields[i].name, name) == 0 && strcmp(c->fields[i].type, signature) == 0)
                return &c->fields[i];
        if (is_static)
            for (uint32_t i = 0; i < c->interface_count; i++) {
                struct fake_field *f = fake_class_field(c->interfaces[i], name, signature, true);
                if (f)
                    return f;
            }
    }
    return NULL;
}

/* ---- references, for the collector ---- */

static void visit_row(void *base, uint32_t at, uint32_t count, void (*visit)(fake_ref *, void *), void *ctx)
{
    for (uint32_t i = 0; i < count; i++)
        visit(&FAKE_AT(base, at + 4 * i, fake_ref), ctx);
}

void fake_object_references(struct fake_object *o, void (*visit)(fake_ref *, void *), void *ctx)
{
    struct fake_class *c = fake_class_of(o);
    if (c->component) {
        if (!c->component->primitive)
            visit_row(o, c->object_bytes, (uint32_t)((struct fake_array *)o)->length, visit, ctx);
        return;
    }
    for (struct fake_class *k = c; k != classes.object && k; k = k->super)
        visit_row(o, k->references_at, k->references, visit, ctx);
    if (c == classes.class) {
        struct fake_class *of = fake_class_mirrored(o);
        visit_row(o, of->static_references_at, of->static_references, visit, ctx);
    }
}

void fake_class_roots(void (*visit)(fake_ref *, void *), void *ctx)
{
    for (struct fake_class *c = classes.all; c; c = c->next)
        if (c->mirror)
            fake_object_references(c->mirror, visit, ctx);
    fake_string_roots(visit, ctx);
}
