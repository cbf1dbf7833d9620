#include "sim/fake/art/dex/class.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory in the low 4 GiB ---- */

enum { IMMORTAL_BYTES = 64 << 20 };

static char *low_memory(size_t bytes)
{
    for (uintptr_t at = 0x10000000; at < 0x7c000000; at += 0x4000000) {
        void *got = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == (void *)at)
            return got;
        if (got != MAP_FAILED)
            munmap(got, bytes);
    }
    return NULL;
}

struct fake_object *fake_immortal(size_t bytes, struct fake_class *mirrored)
{
    static char *base;
    static size_t used;
    if (!base)
        base = low_memory(IMMORTAL_BYTES);
    FAKE_CHECK(base);
    bytes = (bytes + 8 + 7) / 8 * 8;
    FAKE_CHECK(used + bytes <= IMMORTAL_BYTES);
    char *at = base + used;
    used += bytes;
    *(struct fake_class **)(void *)at = mirrored;
    return (void *)(at + 8);
}

/* ---- fields ---- */

static uint32_t field_bytes_of(char type)
{
    switch (type) {
    case 'Z':
    case 'B': return 1;
    case 'S':
    case 'C': return 2;
    case 'J':
    case 'D': return 8;
    default: return 4;
    }
}

static uint32_t align_field(uint32_t at, uint32_t to)
{
    return (at + to - 1) / to * to;
}

/* Places references first, consecutively, then the other fields by size, then in the order of the file. Returns the
 * end. */
static uint32_t lay_out_fields(struct fake_field *fields, uint32_t count, uint32_t at, uint32_t *references_at,
                               uint32_t *references)
{
    at = count > 0 ? align_field(at, 4) : at;
    *references_at = at;
    *references = 0;
    for (uint32_t i = 0; i < count; i++)
        if (fake_is_reference(fields[i].type[0])) {
            fields[i].offset = at;
            at += 4;
            ++*references;
        }
    for (uint32_t size = 8; size > 0; size /= 2)
        for (uint32_t i = 0; i < count; i++) {
            if (fake_is_reference(fields[i].type[0]) || field_bytes_of(fields[i].type[0]) != size)
                continue;
            at = align_field(at, size);
            fields[i].offset = at;
            at += size;
        }
    return at;
}

uint32_t fake_class_lay_statics(struct fake_class *c, uint32_t at)
{
    return lay_out_fields(c->fields, c->static_count, at, &c->static_references_at, &c->static_references);
}

static void read_fields(struct fake_class *c, struct fake_dex_reader *r, uint32_t statics, uint32_t instances)
{
    c->static_count = statics;
    c->field_count = statics + instances;
    c->fields = calloc((size_t)c->field_count + 1, sizeof *c->fields);
    FAKE_CHECK(c->fields);
    uint32_t index = 0;
    for (uint32_t i = 0; i < c->field_count; i++) {
        index = (i == statics ? 0 : index) + fake_dex_uleb(r);
        c->fields[i] = (struct fake_field){c,
                                           fake_dex_string(c->dex, c->dex->fields[index].name),
                                           fake_dex_type(c->dex, c->dex->fields[index].type),
                                           fake_dex_uleb(r),
                                           0,
                                           index};
    }
}

/* ---- methods ---- */

static uint32_t words_of(const char *shorty)
{
    uint32_t words = 0;
    for (shorty++; *shorty; shorty++)
        words += *shorty == 'J' || *shorty == 'D' ? 2 : 1;
    return words;
}

static void link_method(struct fake_class *c, struct fake_method *m, uint32_t index, uint32_t flags, uint32_t code)
{
    static const char fast[] = "Ldalvik/annotation/optimization/FastNative;",
                      critical[] = "Ldalvik/annotation/optimization/CriticalNative;";
    struct fake_dex *d = c->dex;
    const struct fake_dex_member *id = &d->methods[index];
    *m = (struct fake_method){.class = c,
                              .dex = d,
                              .name = fake_dex_string(d, id->name),
                              .signature = fake_dex_signature(d, id->type),
                              .shorty = fake_dex_shorty(d, id->type),
                              .flags = flags,
                              .dex_index = index,
                              .code = fake_dex_code(d, code)};
    m->hash = fake_name_hash(m->name, m->signature);
    m->argument_words = words_of(m->shorty) + (flags & FAKE_ACC_STATIC ? 0 : 1);
    FAKE_CHECK(!m->code || m->code->ins == m->argument_words);
    if (flags & FAKE_ACC_NATIVE && fake_dex_annotated(d, c->definition, index, fast))
        m->flags |= FAKE_ACC_FAST_NATIVE;
    if (flags & FAKE_ACC_NATIVE && fake_dex_annotated(d, c->definition, index, critical))
        m->flags |= FAKE_ACC_CRITICAL_NATIVE;
}

static void read_methods(struct fake_class *c, struct fake_dex_reader *r, uint32_t direct, uint32_t virtuals)
{
    c->method_count = direct + virtuals;
    c->methods = fake_methods_new(c->method_count);
    uint32_t index = 0;
    for (uint32_t i = 0; i < c->method_count; i++) {
        index = (i == direct ? 0 : index) + fake_dex_uleb(r);
        uint32_t flags = fake_dex_uleb(r);
        link_method(c, &c->methods[i], index, flags, fake_dex_uleb(r));
    }
}

static bool in_vtable(const struct fake_method *m)
{
    return !(m->flags & (FAKE_ACC_STATIC | FAKE_ACC_PRIVATE | FAKE_ACC_CONSTRUCTOR)) &&
           !(m->class->flags & FAKE_ACC_INTERFACE);
}

static void fill_vtable(struct fake_class *c)
{
    uint32_t inherited = c->super ? c->super->vtable_count : 0;
    c->vtable = calloc((size_t)inherited + c->method_count + 1, sizeof *c->vtable);
    FAKE_CHECK(c->vtable);
    if (inherited > 0)
        memcpy(c->vtable, c->super->vtable, inherited * sizeof *c->vtable);
    c->vtable_count = inherited;
    for (uint32_t i = 0; i < c->method_count; i++) {
        struct fake_method *m = &c->methods[i];
        if (!in_vtable(m))
            continue;
        uint32_t at = 0;
        while (at < inherited && (c->vtable[at]->hash != m->hash || strcmp(c->vtable[at]->name, m->name) != 0 ||
                                  strcmp(c->vtable[at]->signature, m->signature) != 0))
            at++;
        if (at == inherited)
            at = c->vtable_count++;
        c->vtable[at] = m;
        m->vtable_index = at;
    }
}

/* ---- a class ---- */

static bool find_supers(struct fake_class *c)
{
    const struct fake_dex_class *def = c->definition;
    if (def->super != (uint32_t)FAKE_DEX_NONE) {
        c->super = fake_class_find_locked(fake_dex_type(c->dex, def->super));
        if (!c->super)
            return false;
    }
    const uint16_t *list = fake_dex_type_list(c->dex, def->interfaces, &c->interface_count);
    c->interfaces = calloc((size_t)c->interface_count + 1, sizeof *c->interfaces);
    FAKE_CHECK(c->interfaces);
    for (uint32_t i = 0; i < c->interface_count; i++) {
        c->interfaces[i] = fake_class_find_locked(fake_dex_type(c->dex, list[i]));
        if (!c->interfaces[i])
            return false;
    }
    return true;
}

bool fake_class_link(struct fake_class *c)
{
    if (c->state != FAKE_DEFINED)
        return c->state != FAKE_LINKING && c->state != FAKE_ERRONEOUS;
    c->state = FAKE_LINKING;
    if (!find_supers(c)) {
        c->state = FAKE_ERRONEOUS;
        return false;
    }
    uint32_t counts[4] = {0};
    struct fake_dex_reader r = fake_dex_read_at(c->dex, c->definition->data);
    for (int i = 0; i < 4 && c->definition->data != 0; i++)
        counts[i] = fake_dex_uleb(&r);
    read_fields(c, &r, counts[0], counts[1]);
    read_methods(c, &r, counts[2], counts[3]);
    fill_vtable(c);
    c->object_bytes = lay_out_fields(c->fields + c->static_count, c->field_count - c->static_count,
                                     c->super ? c->super->object_bytes : 0, &c->references_at, &c->references);
    c->state = FAKE_LINKED;
    return true;
}
