#include "sim/fake/art/dex/class.h"

#include <string.h>
#include <sys/mman.h>

/* All methods, and their ArtMethods in a second table in the same order: the index leads from one to the other. */
enum { METHODS_MAX = 1 << 18 };

static struct fake_method *methods;
static char *art_methods;
static _Atomic uint32_t used = 1; /* the first is the pseudo-method; read without a lock */

/* The address of code in ArtMethods. The fake never calls it. */
static void interpreter_bridge(void)
{
    FAKE_CHECK(!"called");
}
static void jni_trampoline(void)
{
    FAKE_CHECK(!"called");
}
static void lookup_stub(void)
{
    FAKE_CHECK(!"called");
}

static void *method_table_reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    FAKE_CHECK(at != MAP_FAILED);
    return at;
}

static void method_table_begin(void)
{
    methods = method_table_reserve((size_t)METHODS_MAX * sizeof *methods);
    art_methods = method_table_reserve((size_t)METHODS_MAX * fake_layout->method_bytes);
    FAKE_AT(art_methods, fake_layout->method_dex_index, uint32_t) = UINT32_MAX;
}

struct fake_method *fake_methods_new(uint32_t count)
{
    if (!methods)
        method_table_begin();
    if (count == 0)
        return NULL;
    FAKE_CHECK(count < METHODS_MAX - used - 1);
    used++;
    struct fake_method *row = methods + used;
    used += count;
    FAKE_AT(fake_method_art(row), -8, uint32_t) = count;
    return row;
}

void *fake_method_art(const struct fake_method *m)
{
    return art_methods + (size_t)(m - methods) * fake_layout->method_bytes;
}

struct fake_method *fake_method_of(const void *art_method)
{
    uintptr_t at = (uintptr_t)art_method - (uintptr_t)art_methods;
    if (!art_methods || at / fake_layout->method_bytes >= used || at % fake_layout->method_bytes != 0)
        return NULL;
    struct fake_method *m = methods + at / fake_layout->method_bytes;
    return m->class ? m : NULL;
}

void *fake_pseudo_method(void)
{
    return art_methods;
}

void fake_method_publish(struct fake_method *m)
{
    void *art = fake_method_art(m);
    FAKE_AT(art, fake_layout->method_class, fake_ref) = fake_ref_of(m->class->mirror);
    FAKE_AT(art, fake_layout->method_flags, uint32_t) = m->flags;
    FAKE_AT(art, fake_layout->method_dex_index, uint32_t) = m->dex_index;
    bool native = m->flags & FAKE_ACC_NATIVE;
    if (native)
        FAKE_AT(art, fake_layout->method_data, void *) = (void *)(uintptr_t)lookup_stub;
    FAKE_AT(art, fake_layout->method_quick_code, void *) =
        (void *)(native ? (uintptr_t)jni_trampoline : (uintptr_t)interpreter_bridge);
}

void *fake_method_native(const struct fake_method *m)
{
    void *data = *(void *volatile *)&FAKE_AT(fake_method_art(m), fake_layout->method_data, void *);
    return data == (void *)(uintptr_t)lookup_stub ? NULL : data;
}

void fake_method_bind(struct fake_method *m, void *function)
{
    *(void *volatile *)&FAKE_AT(fake_method_art(m), fake_layout->method_data, void *) =
        function ? function : (void *)(uintptr_t)lookup_stub;
}
