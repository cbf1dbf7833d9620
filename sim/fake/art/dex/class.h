/* Classes, methods and fields of the fake, for its files that run code. The objects that a tracer sees (mirrors,
 * ArtMethods) are made from these, in the level's layout.
 *
 * A class is made under one lock when it is first found. It is constant from then on, except for its state. */
#ifndef STROBE_SIM_FAKE_ART_DEX_CLASS_H
#define STROBE_SIM_FAKE_ART_DEX_CLASS_H

#include "sim/fake/art/dex/dexfile.h"

enum { /* access flags of the format, and the runtime's own */
       FAKE_ACC_PUBLIC = 1,
       FAKE_ACC_PRIVATE = 2,
       FAKE_ACC_STATIC = 8,
       FAKE_ACC_FINAL = 0x10,
       FAKE_ACC_SYNCHRONIZED = 0x20,
       FAKE_ACC_NATIVE = 0x100,
       FAKE_ACC_INTERFACE = 0x200,
       FAKE_ACC_ABSTRACT = 0x400,
       FAKE_ACC_CONSTRUCTOR = 0x10000,
       FAKE_ACC_FAST_NATIVE = 0x80000,
       FAKE_ACC_CRITICAL_NATIVE = 0x100000
};

struct fake_field {
    struct fake_class *class;
    const char *name, *type;
    uint32_t flags, offset, dex_index;
};

struct fake_method {
    struct fake_class *class; /* NULL: the element between the methods of two classes */
    struct fake_dex *dex;
    const struct fake_dex_code *code; /* NULL: native or abstract */
    const char *name, *signature, *shorty;
    uint32_t hash; /* of name and signature */
    uint32_t flags, dex_index, vtable_index;
    uint32_t argument_words; /* registers for arguments, including `this` */
};

enum fake_class_state { FAKE_DEFINED, FAKE_LINKING, FAKE_LINKED, FAKE_INITIALIZING, FAKE_INITIALIZED, FAKE_ERRONEOUS };

struct fake_class {
    const char *descriptor;
    struct fake_dex *dex; /* NULL: an array or a primitive */
    const struct fake_dex_class *definition;
    struct fake_class *super, *component;
    struct fake_class **interfaces;
    uint32_t interface_count, flags;
    char primitive;            /* 'I'...; 0 = none */
    uint8_t element_shift;     /* of an array: log2 of an element's bytes */
    struct fake_field *fields; /* static ones first */
    uint32_t static_count, field_count;
    uint32_t references_at, references; /* its own instance fields that are references, which are consecutive */
    uint32_t static_references_at, static_references;
    uint32_t object_bytes; /* of an instance; of an array: offset of its elements */
    struct fake_method *methods;
    uint32_t method_count;
    struct fake_method **vtable;
    uint32_t vtable_count;
    struct fake_object *mirror;
    _Atomic uint32_t state;  /* enum fake_class_state */
    uint32_t initializer;    /* thin-lock id of the thread that initializes the class */
    struct fake_class *next; /* of all */
};

struct fake_array {
    struct fake_object object;
    int32_t length;
};
struct fake_text {
    struct fake_object object;
    uint32_t count, hash;
}; /* count: length << 1 | has 16-bit chars */

static inline bool fake_is_reference(char type)
{
    return type == 'L' || type == '[';
}

/* The begin of an array's elements. */
static inline void *fake_elements(const struct fake_object *array, const struct fake_class *c)
{
    return (char *)(uintptr_t)array + c->object_bytes;
}

void fake_class_lock(void);
void fake_class_unlock(void);
/* Finds a class with the lock held. */
struct fake_class *fake_class_find_locked(const char *descriptor);
bool fake_class_link(struct fake_class *c);
/* Places static fields in the mirror, from `at` on; returns the end. */
uint32_t fake_class_lay_statics(struct fake_class *c, uint32_t at);

/* Allocates zeroed memory at a low address that is never freed. The returned object is preceded by a pointer of the
 * fake. */
struct fake_object *fake_immortal(size_t bytes, struct fake_class *mirrored);

/* Allocates consecutive methods, with an empty element before them. */
struct fake_method *fake_methods_new(uint32_t count);
/* Writes an ArtMethod's words, once its class has a mirror. */
void fake_method_publish(struct fake_method *m);
/* Returns the native function of a method, or NULL when none was registered. */
void *fake_method_native(const struct fake_method *m);
void fake_method_bind(struct fake_method *m, void *function); /* NULL: removes it */

uint32_t fake_name_hash(const char *name, const char *signature);
/* Finds a method that the class itself declares; NULL = none. */
struct fake_method *fake_class_declared(const struct fake_class *c, const char *name, const char *signature);
/* Returns the method that a call on an object of class c runs; NULL: none. */
struct fake_method *fake_class_dispatch(const struct fake_class *c, const struct fake_method *m);

/* Resolve an index of a method's dex file. NULL: not found, with an exception pending. */
struct fake_class *fake_resolve_class(struct fake_thread *self, struct fake_dex *d, uint32_t index);
struct fake_method *fake_resolve_method(struct fake_thread *self, struct fake_dex *d, uint32_t index);
struct fake_field *fake_resolve_field(struct fake_thread *self, struct fake_dex *d, uint32_t index);
struct fake_object *fake_resolve_string(struct fake_thread *self, struct fake_dex *d, uint32_t index);

/* Make new objects by fake_alloc or fake_alloc_slow. NULL: exception pending. */
typedef struct fake_object *(*fake_allocator)(struct fake_thread *self, struct fake_class *c, size_t bytes);
struct fake_object *fake_array_new(struct fake_thread *self, struct fake_class *array, int32_t length,
                                   fake_allocator alloc);
struct fake_object *fake_object_new(struct fake_thread *self, struct fake_class *c, fake_allocator alloc);

/* Writes a class's name in Java syntax: "int[]", "java.lang.String". */
char *fake_pretty_type(char *at, const char *end, const char *descriptor);

/* ---- strings ---- */

struct fake_object *fake_string_of_chars(struct fake_thread *self, const uint16_t *chars, uint32_t count);
uint32_t fake_string_length(const struct fake_object *string);
uint16_t fake_string_char(const struct fake_object *string, uint32_t i);
/* Returns the unique string with that text, which is never freed: this one if it is the first. */
struct fake_object *fake_string_intern(struct fake_object *string);
/* Returns modified UTF-8, allocated by malloc. */
char *fake_string_utf(const struct fake_object *string);
void fake_string_roots(void (*visit)(fake_ref *, void *), void *ctx);

#endif
