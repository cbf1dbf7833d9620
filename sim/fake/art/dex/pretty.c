#include "sim/fake/art/dex/class.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* std::string as on devices, libc++'s: up to 22 bytes in the string itself, after a byte with twice their number;
 * else an odd capacity, the length, the address. It is returned by value: the caller passes the memory for it and
 * owns it. */
union text {
    struct {
        size_t capacity, bytes;
        char *at;
    } far;
    struct {
        uint8_t twice_bytes;
        char at[23];
    } near;
};

char *fake_pretty_type(char *at, const char *end, const char *descriptor)
{
    unsigned arrays = 0;
    for (; *descriptor == '['; descriptor++)
        arrays++;
    static const char *const primitives[] = {"Zboolean", "Bbyte",  "Cchar",   "Sshort", "Iint",
                                             "Jlong",    "Ffloat", "Ddouble", "Vvoid"};
    if (*descriptor == 'L') {
        for (descriptor++; *descriptor && *descriptor != ';' && at < end; descriptor++)
            *at++ = (char)(*descriptor == '/' ? '.' : *descriptor);
    } else {
        for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
            if (primitives[i][0] == *descriptor)
                for (const char *name = primitives[i] + 1; *name && at < end; name++)
                    *at++ = *name;
    }
    for (; arrays > 0 && at + 2 <= end; arrays--) {
        *at++ = '[';
        *at++ = ']';
    }
    *at = 0;
    return at;
}

static const char *after_type(const char *descriptor)
{
    while (*descriptor == '[')
        descriptor++;
    return *descriptor == 'L' ? strchr(descriptor, ';') + 1 : descriptor + 1;
}

static char *text_append(char *at, const char *end, const char *text)
{
    while (*text && at < end)
        *at++ = *text++;
    *at = 0;
    return at;
}

/* "void Main.sample(int)", or "Main.sample". */
static void pretty_method_name(const struct fake_method *m, bool with_signature, char *out, size_t bytes)
{
    char *at = out, *end = out + bytes - 1;
    if (with_signature)
        at = text_append(fake_pretty_type(at, end, strchr(m->signature, ')') + 1), end, " ");
    at = text_append(text_append(fake_pretty_type(at, end, m->class->descriptor), end, "."), end, m->name);
    if (!with_signature)
        return;
    at = text_append(at, end, "(");
    for (const char *type = m->signature + 1; *type != ')'; type = after_type(type))
        at = fake_pretty_type(type == m->signature + 1 ? at : text_append(at, end, ", "), end, type);
    text_append(at, end, ")");
}

/* Text that does not fit in the string itself is allocated by operator new, for the caller's operator delete. */
static void text_assign(union text *out, const char *text)
{
    static void *(*operator_new)(size_t);
    size_t bytes = strlen(text);
    if (bytes < sizeof out->near.at) {
        out->near.twice_bytes = (uint8_t)(2 * bytes);
        memcpy(out->near.at, text, bytes + 1);
        return;
    }
    if (!operator_new)
        *(void **)(void *)&operator_new = dlsym(RTLD_DEFAULT, "_Znwm");
    if (!operator_new)
        *(void **)(void *)&operator_new = dlsym(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL), "_Znwm");
    FAKE_CHECK(operator_new);
    out->far.capacity = (bytes + 1 + 15) / 16 * 16 | 1;
    out->far.bytes = bytes;
    out->far.at = operator_new(out->far.capacity);
    memcpy(out->far.at, text, bytes + 1);
}

static union text *describe_method(union text *out, const void *art_method, bool with_signature)
{
    char text[4096] = "null";
    const struct fake_method *m = fake_method_of(art_method);
    if (m)
        pretty_method_name(m, with_signature, text, sizeof text);
    else if (art_method == fake_pseudo_method())
        strcpy(text, "<runtime method>.<runtime internal callee-save reference and argument registers method>");
    else
        FAKE_CHECK(art_method == NULL);
    text_assign(out, text);
    return out;
}

/* A function that returns such a structure gets its address in the first argument on x86-64, and in register x8 on
 * arm64. */
#ifdef __aarch64__
__attribute__((used)) union text *fake_pretty_describe(union text *out, const void *art_method, bool with_signature);
__attribute__((used)) union text *fake_pretty_describe(union text *out, const void *art_method, bool with_signature)
{
    return describe_method(out, art_method, with_signature);
}
#define RETURNS_STRING(name, mangled)                                                                                  \
    __asm__(".text\n.globl " mangled "\n.type " mangled ", %function\n" mangled ":\n"                                  \
            "mov w2, w1\nmov x1, x0\nmov x0, x8\nb fake_pretty_describe\n")
#else
#define RETURNS_STRING(name, mangled)                                                                                  \
    union text *name(union text *out, const void *art_method, bool with_signature) FAKE_EXPORT(mangled);               \
    union text *name(union text *out, const void *art_method, bool with_signature)                                     \
    {                                                                                                                  \
        return describe_method(out, art_method, with_signature);                                                       \
    }                                                                                                                  \
    _Static_assert(sizeof(union text) == 24, "of 64-bit processors")
#endif

RETURNS_STRING(pretty_of_any, "_ZN3art12PrettyMethodEPNS_9ArtMethodEb"); /* up to level 25 */
RETURNS_STRING(pretty_member, "_ZN3art9ArtMethod12PrettyMethodEb");
RETURNS_STRING(pretty_static, "_ZN3art9ArtMethod12PrettyMethodEPS0_b");
