/* Exchanges the slots of one function (elf_slots.h). All slots are found first, under the loader's lock
 * (dl_iterate_phdr(3)), and then changed. The caller must not unload a library in between. */
#include "engine/backend/art/hooks/hook_slot.h"
#include "engine/backend/common/slots/elf_slots.h"
#include "engine/backend/common/slots/mapping.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

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

static void search_slot(void *p, const struct strobe_elf_slot *slot)
{
    struct search *s = p;
    if (strcmp(slot->name, s->symbol) == 0)
        add_found_slot(s, (struct slot){slot->at, slot->value, slot->bound});
}

static int search_library(struct dl_phdr_info *info, size_t info_bytes, void *p)
{
    struct strobe_elf_dynamic d;
    struct search *s = p;
    (void)info_bytes;
    if (!strobe_elf_contains(info, (uintptr_t)&strobe_hook_slots, 1) && strobe_elf_dynamic(info, &d))
        strobe_elf_slots(&d, search_slot, s);
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
