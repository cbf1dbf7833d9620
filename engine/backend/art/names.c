#include "engine/backend/art/names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NAME_BYTES = 512, CLASS_BYTES = 256, PSEUDO = -1 };

/* ---- is it still a method? */

static bool copy_exactly(const struct strobe_host *host, uint64_t address, void *out, size_t bytes)
{
    size_t copied;
    return address && host->read(host->ctx, address, out, bytes, &copied) == STROBE_OK && copied == bytes;
}

/* Returns whether it is a class: an object whose class, java.lang.Class, is its own class. References have 32 bits. */
static bool is_class_object(const struct strobe_host *host, uint32_t object)
{
    uint32_t class, again;
    return copy_exactly(host, object, &class, sizeof class) && copy_exactly(host, class, &again, sizeof again) &&
           again == class;
}

/* Returns whether `array` is an array of methods of that class: its length, then the methods from the next word on. */
static bool is_array_of_methods(const struct strobe_host *host, uint64_t array, uint32_t class, uint32_t *count)
{
    uint32_t first;
    return array && array % sizeof(void *) == 0 && copy_exactly(host, array, count, sizeof *count) && *count &&
           *count <= UINT16_MAX && copy_exactly(host, array + sizeof(void *), &first, sizeof first) && first == class;
}

/* Returns whether the method can be the class's. If the class has arrays of methods, and none of them contains the
 * method, then another class's memory is there now. */
static bool is_in_its_class(const struct strobe_art_level *v, const struct strobe_host *host, uint32_t class,
                            uint64_t method)
{
    uint64_t words[CLASS_BYTES / 8], size = sizeof(void *) == 8 ? v->method_bytes : v->method_bytes_32;
    size_t copied;
    bool has_array = false;
    if (host->read(host->ctx, class, words, sizeof words, &copied) != STROBE_OK)
        return false;
    for (size_t i = 1; i < copied / 8; i++) {
        uint32_t count;
        if (!is_array_of_methods(host, words[i], class, &count))
            continue;
        uint64_t into = method - words[i] - sizeof(void *);
        if (into < count * size && into % size == 0)
            return true;
        has_array = true;
    }
    return !has_array;
}

static bool is_live_method(const struct strobe_libart *a, const struct strobe_host *host, uint64_t method)
{
    unsigned char bytes[64];
    uint32_t class, dex_index;
    const struct strobe_art_level *v = a->level;
    if (method % 4 || !copy_exactly(host, method, bytes, sizeof(void *) == 8 ? v->method_bytes : v->method_bytes_32))
        return false;
    memcpy(&class, bytes, sizeof class);
    memcpy(&dex_index, bytes + v->method_dex_index, sizeof dex_index);
    return dex_index != (uint32_t)PSEUDO && is_class_object(host, class) && is_in_its_class(v, host, class, method);
}

/* ---- its name ---- */

/* std::string as functions return it, in memory of the caller, as a C structure of that size. libstdc++: pointer,
 * length, then 15 bytes of text in place, or the capacity of a long text. libc++: if the lowest bit of the first byte
 * is set, capacity, length, pointer; else that byte is twice the length, and the text follows. */
struct string {
    uintptr_t word[4];
};

enum { SHORT_MAX = 15 };

static const char *cxx_string_text(struct string *s, bool libcxx, size_t *length, void **to_free)
{
    unsigned char head;
    memcpy(&head, s, 1);
    bool is_short = libcxx ? !(head & 1) : s->word[1] <= SHORT_MAX;
    *to_free = is_short ? NULL : (void *)s->word[libcxx ? 2 : 0];
    if (libcxx) {
        *length = is_short ? head >> 1 : s->word[1];
        return is_short ? (const char *)s + 1 : *to_free;
    }
    *length = s->word[1];
    return is_short ? (const char *)&s->word[2] : *to_free;
}

/* Calls the C++ library's operator delete, or free if there is none. */
static void cxx_delete(void *p)
{
    static void (*operator_delete)(void *);
    if (!operator_delete)
        *(void **)&operator_delete = dlsym(RTLD_DEFAULT, "_ZdlPv");
    if (operator_delete)
        operator_delete(p);
    else
        free(p);
}

static void copy_pretty_name(const struct strobe_libart *a, uint64_t method, char *out, size_t bytes)
{
    struct string (*pretty)(void *, bool) =
        (struct string(*)(void *, bool))(uintptr_t)a->address[STROBE_ART_METHOD_PRETTY];
    struct string s = pretty((void *)(uintptr_t)method, true);
    size_t length;
    void *to_free;
    const char *text = cxx_string_text(&s, a->libcxx, &length, &to_free);
    length = length < bytes ? length : bytes - 1;
    memcpy(out, text, length);
    out[length] = '\0';
    if (to_free)
        cxx_delete(to_free);
}

bool strobe_art_method_name(const struct strobe_libart *a, const struct strobe_host *host, uint64_t method, char *out,
                            size_t bytes)
{
    if (!is_live_method(a, host, method))
        return false;
    copy_pretty_name(a, method, out, bytes);
    return true;
}

/* ---- all of a session ---- */

struct batch {
    uint32_t count;
    uint64_t method[STROBE_ART_NAMES_BATCH];
    bool named[STROBE_ART_NAMES_BATCH];
    char name[STROBE_ART_NAMES_BATCH][NAME_BYTES];
};

/* Returns whether the address is that of a native frame, in an image of the session. */
static bool is_native_frame(const struct strobe_session *s, uint64_t address)
{
    uint32_t count = strobe_session_image_count(s);
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_image_entry *e = &s->images[i];
        if (strobe_load_acquire(&e->published) && address - 1 >= e->start && address - 1 < e->end)
            return true;
    }
    return false;
}

/* The set of addresses already seen, and the present batch, in mapped memory for the duration of the work. */
struct work {
    struct batch *batch;
    uint64_t *seen;
    uint64_t slots;
    size_t bytes;
};

static bool reserve_name_work(uint32_t nodes, struct work *w)
{
    for (w->slots = 64; w->slots < 4ull * nodes; w->slots *= 2)
        continue;
    w->bytes = sizeof *w->batch + (size_t)w->slots * sizeof *w->seen;
    void *p = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    w->batch = p;
    w->seen = (uint64_t *)(void *)(w->batch + 1);
    return true;
}

static bool is_new_address(struct work *w, uint64_t address)
{
    uint64_t at = address * 0x9e3779b97f4a7c15u >> 20 & (w->slots - 1);
    for (; w->seen[at]; at = (at + 1) & (w->slots - 1))
        if (w->seen[at] == address)
            return false;
    w->seen[at] = address;
    return true;
}

/* The number of names is limited, because names of code and of earlier captures may be there, too. */
static void add_named_addresses(struct work *w, const struct strobe_names *names)
{
    struct strobe_named_address named;
    uint64_t added = 0;
    for (uint64_t at = 0; added < w->slots / 2 && strobe_names_next(names, &at, &named);)
        added += is_new_address(w, named.address);
    strobe_store_relaxed(&names->head->refused, 0); /* this run tries them again */
}

static void ask_method_names(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                             const struct strobe_host *host, struct batch *b)
{
    void (*suspend)(void *, const char *, bool) =
        (void (*)(void *, const char *, bool))(uintptr_t)a->address[STROBE_ART_SUSPEND_ALL];
    void (*resume)(void *) = (void (*)(void *))(uintptr_t)a->address[STROBE_ART_RESUME_ALL];
    suspend(r->thread_list, "strobe names methods", false);
    for (uint32_t i = 0; i < b->count; i++)
        b->named[i] = strobe_art_method_name(a, host, b->method[i], b->name[i], NAME_BYTES);
    resume(r->thread_list);
}

static void write_method_names(struct batch *b, struct strobe_session *session, bool at_end,
                               struct strobe_art_names *out)
{
    for (uint32_t i = 0; i < b->count; i++) {
        char *name = b->name[i];
        if (!b->named[i] && (!at_end || is_native_frame(session, b->method[i])))
            continue; /* the reader finds a native frame's name in the image's file */
        if (!b->named[i])
            snprintf(name, NAME_BYTES, "unloaded method 0x%llx", (unsigned long long)b->method[i]);
        enum strobe_status status =
            strobe_names_add(&session->names, b->method[i], name, strlen(name), b->named[i] ? 0 : STROBE_NAME_STALE);
        *(status != STROBE_OK ? &out->refused : b->named[i] ? &out->named : &out->stale) += 1;
    }
    b->count = 0;
}

enum strobe_status strobe_art_name_methods(const struct strobe_libart *a, const struct strobe_art_runtime *r,
                                           const struct strobe_host *host, struct strobe_session *session, bool at_end,
                                           struct strobe_art_names *out)
{
    const struct strobe_stack_table *table = &session->stacks;
    uint32_t nodes = strobe_stack_node_count(table);
    struct work w;
    *out = (struct strobe_art_names){0};
    if (!strobe_libart_has(a, STROBE_ART_NAMES) || !session->names.head || !reserve_name_work(nodes, &w))
        return STROBE_UNSUPPORTED;
    struct batch *b = w.batch;
    add_named_addresses(&w, &session->names);
    for (uint32_t id = 1; id <= nodes; id++) {
        const struct strobe_stack_node *n = strobe_stack_node_of(table, id);
        if (n && n->address && is_new_address(&w, n->address))
            b->method[b->count++] = n->address;
        if (b->count == STROBE_ART_NAMES_BATCH || (id == nodes && b->count)) {
            ask_method_names(a, r, host, b);
            write_method_names(b, session, at_end, out);
        }
    }
    munmap(w.batch, w.bytes);
    return STROBE_OK;
}
