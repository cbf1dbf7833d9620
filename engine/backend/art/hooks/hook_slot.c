/* Exchanges slots of the global offset table. All slots are found first, under the loader's lock (dl_iterate_phdr(3)),
 * and then changed. The caller must not unload a library in between.
 *
 * Source of the tables: System V ABI (gABI) chapter 5, and its supplements for each processor. Packed relocations
 * (RELR, Android's APS2) are not read. RELR names no symbols. APS2 may hold GLOB_DAT, whose calls are then not seen,
 * and never holds JUMP_SLOT. */
#include "engine/backend/art/hooks/hook_slot.h"
#include "engine/backend/art/mapping.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT, ABSOLUTE = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT, ABSOLUTE = R_AARCH64_ABS64 };
#elif defined(__arm__)
enum { JUMP_SLOT = R_ARM_JUMP_SLOT, GLOB_DAT = R_ARM_GLOB_DAT, ABSOLUTE = R_ARM_ABS32 };
#elif defined(__i386__)
enum { JUMP_SLOT = R_386_JMP_SLOT, GLOB_DAT = R_386_GLOB_DAT, ABSOLUTE = R_386_32 };
#else
#error "the relocations that bind functions are known for x86 and ARM only"
#endif

#if __SIZEOF_POINTER__ == 8
#define RELOCATION_TYPE(info)   ELF64_R_TYPE(info)
#define RELOCATION_SYMBOL(info) ELF64_R_SYM(info)
#else
#define RELOCATION_TYPE(info)   ELF32_R_TYPE(info)
#define RELOCATION_SYMBOL(info) ELF32_R_SYM(info)
#endif

/* A library's table of relocations. */
struct table {
    uintptr_t at;
    size_t bytes;
    bool addends;
};

struct library {
    const struct dl_phdr_info *info;
    uintptr_t symbols, names;
    size_t names_bytes;
    struct table all, of_calls, without_addends;
};

struct slot {
    void **at;
    void *value;
    bool bound; /* false: the value leads to the loader, which binds the slot at its first call */
};

struct search {
    const char *symbol;
    struct slot slot[STROBE_HOOK_SLOTS_MAX];
    uint32_t count;
    bool full;
};

/* ---- finding slots ---- */

static bool is_within_library(const struct library *l, uintptr_t at, size_t bytes)
{
    for (int i = 0; i < l->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &l->info->dlpi_phdr[i];
        uintptr_t start = l->info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && at >= start && bytes <= segment->p_memsz &&
            at - start <= segment->p_memsz - bytes)
            return true;
    }
    return false;
}

/* Returns the address of an entry of the dynamic section. Some loaders add the bias to it, others leave the file's
 * value. */
static uintptr_t dynamic_address(const struct library *l, uintptr_t said)
{
    return is_within_library(l, said, 1) ? said : l->info->dlpi_addr + said;
}

/* Returns false when the library has no symbol table, and therefore no slots. */
static bool read_slot_tables(struct library *l, const ElfW(Dyn) * d, size_t count)
{
    bool calls_have_addends = false;
    for (size_t i = 0; i < count && d[i].d_tag != DT_NULL; i++)
        switch (d[i].d_tag) {
        case DT_SYMTAB: l->symbols = dynamic_address(l, d[i].d_un.d_ptr); break;
        case DT_STRTAB: l->names = dynamic_address(l, d[i].d_un.d_ptr); break;
        case DT_STRSZ: l->names_bytes = d[i].d_un.d_val; break;
        case DT_JMPREL: l->of_calls.at = dynamic_address(l, d[i].d_un.d_ptr); break;
        case DT_PLTRELSZ: l->of_calls.bytes = d[i].d_un.d_val; break;
        case DT_PLTREL: calls_have_addends = d[i].d_un.d_val == DT_RELA; break;
        case DT_RELA: l->all.at = dynamic_address(l, d[i].d_un.d_ptr); break;
        case DT_RELASZ: l->all.bytes = d[i].d_un.d_val; break;
        case DT_REL: l->without_addends.at = dynamic_address(l, d[i].d_un.d_ptr); break;
        case DT_RELSZ: l->without_addends.bytes = d[i].d_un.d_val; break;
        }
    l->all.addends = true;
    l->of_calls.addends = calls_have_addends;
    return l->symbols && l->names && is_within_library(l, l->names, l->names_bytes);
}

/* Returns the symbol of a relocation if it has the wanted name. */
static const ElfW(Sym) * symbol_named(const struct library *l, size_t index, const char *name)
{
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)l->symbols + index;
    size_t bytes = strlen(name) + 1;
    if (index == 0 || !is_within_library(l, (uintptr_t)symbol, sizeof *symbol) || symbol->st_name >= l->names_bytes ||
        bytes > l->names_bytes - symbol->st_name)
        return NULL;
    return memcmp((const char *)l->names + symbol->st_name, name, bytes) == 0 ? symbol : NULL;
}

static bool is_bound_slot(const struct library *l, const ElfW(Sym) * symbol, const void *value)
{
    return !is_within_library(l, (uintptr_t)value, 1) ||
           (symbol->st_shndx != SHN_UNDEF && (uintptr_t)value == l->info->dlpi_addr + symbol->st_value);
}

static void add_found_slot(struct search *s, struct slot found)
{
    for (uint32_t i = 0; i < s->count; i++) /* tables may overlap */
        if (s->slot[i].at == found.at)
            return;
    if (s->count == STROBE_HOOK_SLOTS_MAX)
        s->full = true;
    else
        s->slot[s->count++] = found;
}

static void search_relocations(const struct library *l, const struct table *t, struct search *s)
{
    size_t bytes = t->addends ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    if (!t->at || !is_within_library(l, t->at, t->bytes))
        return;
    for (size_t i = 0; i < t->bytes / bytes; i++) {
        const ElfW(Rel) *r = (const ElfW(Rel) *)(t->at + i * bytes); /* a Rela begins as a Rel does */
        unsigned long type = RELOCATION_TYPE(r->r_info);
        if (type != JUMP_SLOT && type != GLOB_DAT && type != ABSOLUTE)
            continue;
        const ElfW(Sym) *symbol = symbol_named(l, RELOCATION_SYMBOL(r->r_info), s->symbol);
        uintptr_t at = l->info->dlpi_addr + r->r_offset;
        bool beyond = t->addends && ((const ElfW(Rela) *)r)->r_addend != 0;
        if (!symbol || beyond || at % sizeof(void *) || !is_within_library(l, at, sizeof(void *)))
            continue;
        void *value = __atomic_load_n((void **)at, __ATOMIC_ACQUIRE);
        if (value)
            add_found_slot(s, (struct slot){(void **)at, value, is_bound_slot(l, symbol, value)});
    }
}

static int search_library(struct dl_phdr_info *info, size_t info_bytes, void *p)
{
    struct library l = {.info = info};
    struct search *s = p;
    (void)info_bytes;
    if (is_within_library(&l, (uintptr_t)&strobe_hook_slots, 1))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
            read_slot_tables(&l, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                             info->dlpi_phdr[i].p_memsz / sizeof(ElfW(Dyn)))) {
            search_relocations(&l, &l.of_calls, s);
            search_relocations(&l, &l.all, s);
            search_relocations(&l, &l.without_addends, s);
        }
    return s->full;
}

/* Returns the function to which most slots lead. Other slots lead to another function of that name (a version, a
 * private one). The original would be the wrong one for them. */
static void *function_of_most(const struct search *s)
{
    void *most = NULL;
    uint32_t votes = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t alike = 0;
        for (uint32_t k = 0; k < s->count; k++)
            alike += s->slot[k].bound && s->slot[k].value == s->slot[i].value;
        if (s->slot[i].bound && alike > votes) {
            most = s->slot[i].value;
            votes = alike;
        }
    }
    return most ? most : dlsym(RTLD_DEFAULT, s->symbol);
}

/* ---- changing them ---- */

/* Exchanges a slot. STROBE_EXISTS: the slot does not hold `from`. After a failure nothing is changed. */
static enum strobe_status exchange_slot(void **at, void *from, void *to)
{
    struct strobe_unprotected u;
    enum strobe_status status = strobe_unprotect(at, sizeof *at, &u);
    if (status != STROBE_OK)
        return status;
    void *there = from;
    bool was = __atomic_compare_exchange_n(at, &there, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (strobe_protect_again(&u) == STROBE_OK)
        return was ? STROBE_OK : STROBE_EXISTS;
    int why = errno;
    if (was) {
        there = to;
        __atomic_compare_exchange_n(at, &there, from, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    strobe_protect_again(&u);
    errno = why;
    return STROBE_IO;
}

static struct strobe_hook_slot *find_known_slot(struct strobe_hook *h, void **at)
{
    for (uint32_t i = 0; i < h->slot_count; i++)
        if (h->slot[i].at == at)
            return &h->slot[i];
    return NULL;
}

/* Moves the slots that must be exchanged to the front. */
static uint32_t keep_unhooked_slots(const struct strobe_hook *h, struct search *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->slot[i].value != h->replacement && (!s->slot[i].bound || s->slot[i].value == h->original))
            s->slot[kept++] = s->slot[i];
    return kept;
}

static enum strobe_status exchange_slots(struct strobe_hook *h, struct slot *slot, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        enum strobe_status status = exchange_slot(slot[i].at, slot[i].value, h->replacement);
        if (status == STROBE_EXISTS) { /* the first call has bound it since */
            slot[i].value = h->original;
            status = exchange_slot(slot[i].at, slot[i].value, h->replacement);
        }
        if (status == STROBE_OK)
            continue;
        int why = errno;
        for (uint32_t k = 0; k < i; k++)
            exchange_slot(slot[k].at, h->replacement, slot[k].value);
        errno = why;
        return STROBE_IO;
    }
    return STROBE_OK;
}

static uint32_t count_new_slots(struct strobe_hook *h, const struct slot *slot, uint32_t count)
{
    uint32_t more = 0;
    for (uint32_t i = 0; i < count; i++)
        more += find_known_slot(h, slot[i].at) == NULL;
    return more;
}

static void remember_slots(struct strobe_hook *h, const struct slot *slot, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct strobe_hook_slot *known = find_known_slot(h, slot[i].at);
        if (!known) {
            known = &h->slot[h->slot_count++];
            known->at = slot[i].at;
        }
        known->before = slot[i].value;
    }
}

enum strobe_status strobe_hook_slots(struct strobe_hook *h, const char *symbol, void *replacement)
{
    struct search s = {.symbol = symbol};
    bool again = h->kind == STROBE_HOOK_SLOT && h->replacement == replacement;
    if (h->kind != STROBE_HOOK_NONE && !again)
        return STROBE_EXISTS;
    dl_iterate_phdr(search_library, &s);
    if (s.full)
        return STROBE_FULL;
    if (!again) {
        /* The original is known before the first call can come. */
        h->slot_count = 0;
        h->replacement = replacement;
        h->original = s.count ? function_of_most(&s) : NULL;
        if (!h->original)
            return STROBE_NO_ENTRY;
        if (h->original == replacement)
            return STROBE_EXISTS;
    }
    uint32_t count = keep_unhooked_slots(h, &s);
    if (h->slot_count + count_new_slots(h, s.slot, count) > STROBE_HOOK_SLOTS_MAX)
        return STROBE_FULL;
    enum strobe_status status = exchange_slots(h, s.slot, count);
    if (status != STROBE_OK)
        return status;
    remember_slots(h, s.slot, count);
    h->kind = STROBE_HOOK_SLOT;
    return STROBE_OK;
}

/* Returns whether the slot still holds the replacement. It does not when its library is gone, or when it was restored
 * or bound again. */
static bool is_slot_exchanged(const struct strobe_hook *h, const struct strobe_hook_slot *slot, bool *taken)
{
    struct strobe_mapping m;
    if (strobe_mapping_at(slot->at, &m) != STROBE_OK || !(m.protection & PROT_READ))
        return false;
    void *there = __atomic_load_n(slot->at, __ATOMIC_ACQUIRE);
    *taken |= there != h->replacement && there != slot->before && there != h->original;
    return there == h->replacement;
}

enum strobe_status strobe_hook_slots_restore(const struct strobe_hook *h)
{
    uint64_t ours = 0;
    bool taken = false;
    _Static_assert(STROBE_HOOK_SLOTS_MAX <= 64, "a bit a slot");
    for (uint32_t i = 0; i < h->slot_count; i++)
        ours |= (uint64_t)is_slot_exchanged(h, &h->slot[i], &taken) << i;
    if (taken)
        return STROBE_EXISTS;
    for (uint32_t i = 0; i < h->slot_count; i++)
        if (ours >> i & 1 && exchange_slot(h->slot[i].at, h->replacement, h->slot[i].before) != STROBE_OK)
            return STROBE_IO;
    return STROBE_OK;
}
