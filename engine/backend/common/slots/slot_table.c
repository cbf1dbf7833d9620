#include "engine/backend/common/slots/slot_table.h"

#include "engine/backend/common/slots/elf_slots.h"
#include "engine/backend/common/slots/mapping.h"

#include <string.h>
#include <sys/mman.h>

/* ---- names ---- */

/* FNV-1a. */
static uint64_t slot_hash(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static const uint64_t hash_begin = UINT64_C(0xcbf29ce484222325);

static uint64_t hash_name(const char *name)
{
    return slot_hash(hash_begin, name, strlen(name));
}

static void index_functions(struct strobe_slot_table *t, uint32_t count)
{
    memset(t->index, 0, sizeof t->index);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = hash_name(t->functions[i].name) % STROBE_SLOT_INDEX;
        while (t->index[at])
            at = (at + 1) % STROBE_SLOT_INDEX;
        t->index[at] = (uint16_t)(i + 1);
    }
}

static const struct strobe_slot_function *function_named(const struct strobe_slot_table *t, const char *name)
{
    for (uint64_t at = hash_name(name) % STROBE_SLOT_INDEX; t->index[at]; at = (at + 1) % STROBE_SLOT_INDEX)
        if (strcmp(t->functions[t->index[at] - 1].name, name) == 0)
            return &t->functions[t->index[at] - 1];
    return NULL;
}

/* ---- libraries that are left alone ---- */

static bool is_left_alone(const struct strobe_slot_table *t, const char *soname)
{
    uint64_t hash = hash_name(soname);
    for (uint32_t i = 0; i < t->left_alone_count; i++)
        if (t->left_alone[i] == hash)
            return true;
    return false;
}

static void leave_alone(struct strobe_slot_table *t, const char *soname)
{
    if (!is_left_alone(t, soname) && t->left_alone_count < STROBE_SLOT_LEFT_ALONE)
        t->left_alone[t->left_alone_count++] = hash_name(soname);
}

static int leave_needed_alone(struct dl_phdr_info *info, size_t info_bytes, void *p)
{
    struct strobe_slot_table *t = p;
    struct strobe_elf_dynamic d;
    (void)info_bytes;
    if (!strobe_elf_dynamic(info, &d) || !is_left_alone(t, d.soname))
        return 0;
    for (size_t i = 0; i < d.entry_count && d.entries[i].d_tag != DT_NULL; i++)
        if (d.entries[i].d_tag == DT_NEEDED && d.entries[i].d_un.d_ptr < d.names_bytes)
            leave_alone(t, d.names + d.entries[i].d_un.d_ptr);
    return 0;
}

/* Repeats until no library is added: a library may precede the one that needs it. */
static void find_left_alone(struct strobe_slot_table *t, const char *library)
{
    uint32_t before;
    t->left_alone_count = 0;
    leave_alone(t, library);
    do {
        before = t->left_alone_count;
        dl_iterate_phdr(leave_needed_alone, t);
    } while (t->left_alone_count != before);
}

/* ---- a pass over all slots ---- */

struct slot_pass {
    struct strobe_slot_table *table;
    bool ends;
    uint32_t exchanged, refused;
    struct strobe_mapping open; /* the mapping that is writable now; start == end: none */
};

static void close_mapping(struct slot_pass *p)
{
    const struct strobe_mapping *m = &p->open;
    if (m->end > m->start && !(m->protection & PROT_WRITE))
        mprotect((void *)m->start, m->end - m->start, m->protection);
    p->open = (struct strobe_mapping){0};
}

/* Makes the mapping of a slot writable. Slots of one library are close to each other, so the mapping stays writable
 * until a slot in another one follows, or the library ends. */
static bool open_mapping(struct slot_pass *p, void **at)
{
    uintptr_t address = (uintptr_t)at;
    struct strobe_mapping m;
    if (address >= p->open.start && address < p->open.end)
        return true;
    close_mapping(p);
    if (strobe_mapping_at(at, &m) != STROBE_OK)
        return false;
    if (!(m.protection & PROT_WRITE) && mprotect((void *)m.start, m.end - m.start, m.protection | PROT_WRITE) != 0)
        return false;
    p->open = m;
    return true;
}

static bool write_slot(struct slot_pass *p, void **at, void *from, void *to)
{
    if (!open_mapping(p, at)) {
        p->refused++;
        return false;
    }
    return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void pass_slot(void *ctx, const struct strobe_elf_slot *slot)
{
    struct slot_pass *p = ctx;
    const struct strobe_slot_function *f = function_named(p->table, slot->name);
    if (!f || !f->function || (p->table->calls_only && !slot->is_call))
        return;
    if (slot->value == f->replacement) {
        if (p->ends)
            write_slot(p, slot->at, f->replacement, f->function);
        else
            p->exchanged++;
    } else if (!p->ends && (!slot->bound || slot->value == f->function)) {
        p->exchanged += write_slot(p, slot->at, slot->value, f->replacement);
    }
}

static int pass_library(struct dl_phdr_info *info, size_t info_bytes, void *ctx)
{
    struct slot_pass *p = ctx;
    struct strobe_elf_dynamic d;
    (void)info_bytes;
    if (!strobe_load_relaxed(&p->table->on) || strobe_elf_contains(info, (uintptr_t)&strobe_slot_table_begin, 1) ||
        !strobe_elf_dynamic(info, &d) || is_left_alone(p->table, d.soname))
        return 0;
    strobe_elf_slots(&d, pass_slot, p);
    close_mapping(p);
    return 0;
}

static void pass_all(struct strobe_slot_table *t, bool ends)
{
    struct slot_pass p = {.table = t, .ends = ends};
    dl_iterate_phdr(pass_library, &p);
    strobe_store_relaxed(&t->exchanged, p.exchanged);
    strobe_store_relaxed(&t->refused, p.refused);
}

/* ---- changes of the list of libraries ---- */

/* dl_phdr_info has the counters of loads and unloads from Android 11 on. Before, a library that takes the exact place
 * of another one between two calls is not noticed. */
static int hash_library(struct dl_phdr_info *info, size_t info_bytes, void *p)
{
    uint64_t *hash = p;
    *hash = slot_hash(*hash, &info->dlpi_addr, sizeof info->dlpi_addr);
    *hash = slot_hash(*hash, &info->dlpi_phdr, sizeof info->dlpi_phdr);
    if (info_bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        *hash = slot_hash(*hash, &info->dlpi_adds, sizeof info->dlpi_adds);
        *hash = slot_hash(*hash, &info->dlpi_subs, sizeof info->dlpi_subs);
    }
    return 0;
}

static bool libraries_changed(struct strobe_slot_table *t)
{
    uint64_t hash = hash_begin;
    dl_iterate_phdr(hash_library, &hash);
    return strobe_exchange_acq_rel(&t->loaded, hash) != hash;
}

void strobe_slot_table_begin(struct strobe_slot_table *t, const struct strobe_slot_function *functions, uint32_t count,
                             const char *library)
{
    t->functions = functions;
    index_functions(t, count);
    find_left_alone(t, library);
    libraries_changed(t);
    strobe_store_release(&t->on, 1);
    pass_all(t, false);
}

/* glibc lists a library before it has filled in the library's slots. A pass that comes in between is repeated at the
 * next call. */
void strobe_slot_table_renew(struct strobe_slot_table *t)
{
    if (!strobe_load_acquire(&t->on))
        return;
    bool changed = libraries_changed(t);
    if (strobe_exchange_acq_rel(&t->unsettled, changed) || changed)
        pass_all(t, false);
}

void strobe_slot_table_end(struct strobe_slot_table *t)
{
    if (!strobe_load_relaxed(&t->on))
        return;
    pass_all(t, true);
    strobe_store_relaxed(&t->on, 0);
}
