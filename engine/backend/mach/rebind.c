#include "engine/backend/mach/rebind.h"

#include "engine/backend/mach/image.h"
#include "engine/base/atomic.h"

#include <mach/mach.h>
#include <string.h>
#if defined(__has_feature)
#if __has_feature(ptrauth_calls)
#include <ptrauth.h>
#define SIGNS_POINTERS 1
#endif
#endif

enum {
    PAGE = 4096,       /* the smallest page size; the kernel rounds to its own */
    PROTECT_TRIES = 3, /* the kernel may lack memory for a moment, and a hook that stays prevents the next capture */
};

/* ---- pointers ---- */

static uint64_t load(void **at)
{
    return strobe_load_acquire((strobe_a64 *)(void *)at);
}

/* Returns the address in a pointer's value, without its signature. */
static uint64_t strip_pointer(uint64_t value)
{
#ifdef SIGNS_POINTERS
    return (uint64_t)(uintptr_t)ptrauth_strip((void *)(uintptr_t)value, ptrauth_key_function_pointer);
#else
    return value;
#endif
}

static uint64_t address_of_function(void *function)
{
    return strip_pointer((uint64_t)(uintptr_t)function);
}

/* Returns the value that the pointer at `at` must hold for `function`. Pointers of __auth_got are signed with their own
 * address. */
static uint64_t value_for(void *function, void **at, bool is_signed)
{
#ifdef SIGNS_POINTERS
    void *address = ptrauth_strip(function, ptrauth_key_function_pointer);
    if (is_signed)
        return (uint64_t)(uintptr_t)ptrauth_sign_unauthenticated(address, ptrauth_key_function_pointer, at);
    return (uint64_t)(uintptr_t)address;
#else
    (void)at, (void)is_signed;
    return (uint64_t)(uintptr_t)function;
#endif
}

/* ---- pages that are not writable ---- */

/* The pages that are writable at present; none when bytes is 0. */
struct pages {
    vm_address_t start;
    vm_size_t bytes;
};

static bool protect(const struct pages *p, vm_prot_t to)
{
    int tries = 0;
    while (tries < PROTECT_TRIES && vm_protect(mach_task_self(), p->start, p->bytes, 0, to) != KERN_SUCCESS)
        tries++;
    return tries < PROTECT_TRIES;
}

static bool make_writable(struct pages *p, uint64_t start, uint64_t bytes)
{
    p->start = (vm_address_t)(start & ~(uint64_t)(PAGE - 1));
    p->bytes = (vm_size_t)(((start + bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1)) - p->start);
    if (protect(p, VM_PROT_READ | VM_PROT_WRITE | VM_PROT_COPY))
        return true;
    p->bytes = 0;
    return false;
}

static void make_read_only(struct pages *p)
{
    if (p->bytes)
        protect(p, VM_PROT_READ);
    p->bytes = 0;
}

/* ---- sections of pointers ---- */

struct tables {
    struct strobe_mach_image image;
    const struct nlist_64 *symbols;
    const char *strings;
    const uint32_t *indirect;
};

/* A section of pointers. */
struct pointer_section {
    void **pointers;
    uint64_t count;
    const uint32_t *indirect; /* indirect symbol table, one entry for each pointer */
    bool is_lazy, is_signed, read_only;
};

/* Returns false when a table is outside of __LINKEDIT or not aligned. */
static bool read_tables(struct tables *t)
{
    const struct symtab_command *s = t->image.symtab;
    const struct dysymtab_command *d = t->image.dysymtab;
    t->symbols = strobe_mach_image_linkedit(&t->image, s->symoff, (uint64_t)s->nsyms * sizeof *t->symbols);
    t->strings = strobe_mach_image_linkedit(&t->image, s->stroff, s->strsize);
    t->indirect =
        strobe_mach_image_linkedit(&t->image, d->indirectsymoff, (uint64_t)d->nindirectsyms * sizeof *t->indirect);
    return t->symbols && t->strings && t->indirect && (uintptr_t)t->symbols % _Alignof(uint64_t) == 0 &&
           (uintptr_t)t->indirect % _Alignof(uint32_t) == 0;
}

static bool has_pointers(const struct segment_command_64 *g, const struct section_64 *s)
{
    uint32_t type = s->flags & SECTION_TYPE;
    return (type == S_LAZY_SYMBOL_POINTERS || type == S_NON_LAZY_SYMBOL_POINTERS) && g->initprot & VM_PROT_WRITE;
}

static bool overlaps(uint64_t at, uint64_t bytes, uint64_t start, uint64_t end)
{
    return at < end && start < at + bytes;
}

/* Returns true when the pointers overlap neither the header's segment nor __LINKEDIT, which this code reads while it
 * writes pointers. */
static bool is_outside_tables(const struct tables *t, uint64_t at, uint64_t bytes)
{
    const struct segment_command_64 *l = t->image.linkedit;
    uint64_t linkedit = l->vmaddr + (uint64_t)t->image.slide;
    return !overlaps(at, bytes, t->image.text_start, t->image.text_end) &&
           !overlaps(at, bytes, linkedit, linkedit + l->vmsize);
}

static bool read_pointer_section(const struct tables *t, const struct segment_command_64 *g, const struct section_64 *s,
                                 struct pointer_section *out)
{
    uint64_t count = s->size / sizeof(void *), into = s->addr - g->vmaddr, all = t->image.dysymtab->nindirectsyms;
    uint64_t at = s->addr + (uint64_t)t->image.slide;
    if (s->addr < g->vmaddr || into > g->vmsize || s->size > g->vmsize - into || at % sizeof(void *) ||
        s->size % sizeof(void *) || s->reserved1 > all || count > all - s->reserved1 ||
        !is_outside_tables(t, at, s->size))
        return false;
    *out = (struct pointer_section){
        .pointers = (void **)(uintptr_t)at,
        .count = count,
        .indirect = t->indirect + s->reserved1,
        .is_lazy = (s->flags & SECTION_TYPE) == S_LAZY_SYMBOL_POINTERS,
        .is_signed = memcmp(s->sectname, "__auth_got", sizeof "__auth_got") == 0,
        .read_only = g->flags & SG_READ_ONLY,
    };
    return true;
}

/* Returns the name of the symbol to which the nth pointer of a section is bound; "" when the pointer has no symbol.
 * NULL: the tables are invalid. */
static const char *symbol_name(const struct tables *t, const struct pointer_section *s, uint64_t n)
{
    uint32_t index = s->indirect[n], strings = t->image.symtab->strsize;
    if (index & (INDIRECT_SYMBOL_LOCAL | INDIRECT_SYMBOL_ABS))
        return "";
    if (index >= t->image.symtab->nsyms)
        return NULL;
    uint32_t at = t->symbols[index].n_un.n_strx;
    return at < strings && memchr(t->strings + at, 0, strings - at) ? t->strings + at : NULL;
}

typedef bool visitor(void *ctx, const struct tables *t, const struct pointer_section *s);

/* Calls `f` for each section of pointers. Stops and returns false when a section is invalid or `f` returns false. */
static bool visit_sections(const struct tables *t, visitor *f, void *ctx)
{
    const struct load_command *c = NULL;
    while (strobe_mach_image_command(&t->image, &c)) {
        const struct segment_command_64 *g = (const void *)c;
        const struct section_64 *s = (const void *)(g + 1);
        struct pointer_section found;
        for (uint32_t i = 0; c->cmd == LC_SEGMENT_64 && i < g->nsects; i++)
            if (has_pointers(g, &s[i]) && (!read_pointer_section(t, g, &s[i], &found) || !f(ctx, t, &found)))
                return false;
    }
    return true;
}

static bool has_valid_names(void *ctx, const struct tables *t, const struct pointer_section *s)
{
    (void)ctx;
    for (uint64_t n = 0; n < s->count; n++)
        if (!symbol_name(t, s, n))
            return false;
    return true;
}

/* ---- exchange of pointers ---- */

struct exchange {
    const struct strobe_rebinding *rebindings;
    size_t rebinding_count;
    struct strobe_rebound *log;
    size_t capacity;
    size_t *count;
    enum strobe_status status;
};

/* Returns the index of the symbol's rebinding; rebinding_count when there is none. */
static size_t find_rebinding(const struct exchange *e, const char *symbol)
{
    size_t i = 0;
    if (symbol[0] != '_')
        return e->rebinding_count;
    while (i < e->rebinding_count &&
           (e->rebindings[i].symbol[0] != symbol[1] || strcmp(e->rebindings[i].symbol, symbol + 1) != 0))
        i++;
    return i;
}

/* Returns true when the pointer is bound to the genuine function, or is lazy and not yet bound: it then points to a
 * helper in its own image. Otherwise other code has changed the pointer. */
static bool is_genuine(const struct tables *t, const struct pointer_section *s, uint64_t value,
                       const struct strobe_rebinding *r)
{
    uint64_t address = strip_pointer(value);
    return address == address_of_function(r->genuine) ||
           (s->is_lazy && address >= t->image.start && address < t->image.end);
}

static void set_first_failure(struct exchange *e, enum strobe_status status)
{
    if (e->status == STROBE_OK)
        e->status = status;
}

/* Retries when the loader binds a lazy pointer meanwhile. */
static void exchange_one(struct exchange *e, const struct tables *t, const struct pointer_section *s, void **at,
                         uint32_t with)
{
    const struct strobe_rebinding *r = &e->rebindings[with];
    uint64_t was = load(at), hook = value_for(r->hook, at, s->is_signed);
    if (*e->count == e->capacity) {
        set_first_failure(e, STROBE_FULL);
        return;
    }
    do {
        if (!is_genuine(t, s, was, r))
            return;
    } while (!strobe_cas_acq_rel((strobe_a64 *)(void *)at, &was, hook));
    e->log[(*e->count)++] = (struct strobe_rebound){at, (void *)(uintptr_t)was, with, s->read_only};
}

static bool exchange_section(void *ctx, const struct tables *t, const struct pointer_section *s)
{
    struct exchange *e = ctx;
    struct pages pages = {0};
    for (uint64_t n = 0; n < s->count; n++) {
        size_t with = find_rebinding(e, symbol_name(t, s, n));
        if (with == e->rebinding_count || !e->rebindings[with].genuine ||
            !is_genuine(t, s, load(&s->pointers[n]), &e->rebindings[with]))
            continue;
        if (s->read_only && !pages.bytes &&
            !make_writable(&pages, (uint64_t)(uintptr_t)s->pointers, s->count * sizeof(void *))) {
            set_first_failure(e, STROBE_UNSUPPORTED);
            break;
        }
        exchange_one(e, t, s, &s->pointers[n], (uint32_t)with);
    }
    make_read_only(&pages);
    return true;
}

enum strobe_status strobe_rebind_image(const struct mach_header_64 *header, intptr_t slide,
                                       const struct strobe_rebinding *rebindings, size_t rebinding_count,
                                       struct strobe_rebound *log, size_t capacity, size_t *count)
{
    struct tables t = {0};
    struct exchange e = {rebindings, rebinding_count, log, capacity, count, STROBE_OK};
    if (!strobe_mach_image_read(header, slide, &t.image))
        return STROBE_BAD_INPUT;
    if (!t.image.symtab || !t.image.dysymtab)
        return STROBE_OK; /* without symbol tables the image has no symbol pointers */
    if (!read_tables(&t) || !visit_sections(&t, has_valid_names, NULL))
        return STROBE_BAD_INPUT;
    visit_sections(&t, exchange_section, &e);
    return e.status;
}

size_t strobe_rebind_undo(const struct strobe_rebinding *rebindings, const struct strobe_rebound *log, size_t count)
{
    struct pages pages = {0};
    size_t left = 0;
    for (size_t i = count; i-- > 0;) {
        const struct strobe_rebound *r = &log[i];
        uint64_t at = (uint64_t)(uintptr_t)r->at, now = load(r->at);
        if (strip_pointer(now) != address_of_function(rebindings[r->rebinding].hook))
            continue;
        if (r->read_only && !(pages.bytes && at >= pages.start && at - pages.start < pages.bytes)) {
            make_read_only(&pages);
            if (!make_writable(&pages, at, sizeof *r->at)) {
                left++;
                continue;
            }
        }
        strobe_cas_acq_rel((strobe_a64 *)(void *)r->at, &now, (uint64_t)(uintptr_t)r->was);
    }
    make_read_only(&pages);
    return left;
}
