/* Tables of functions are hooked by the slots of fabricated libraries: each kind of relocation, with and without
 * packing, other hookers' values, libraries that come and go. */
#include "engine/backend/common/slots/elf_slots.h"
#include "engine/backend/common/slots/mapping.h"
#include "engine/backend/common/slots/slot_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)
enum { CALL = R_X86_64_JUMP_SLOT, DATA = R_X86_64_GLOB_DAT, POINTER = R_X86_64_64, OTHER = R_X86_64_RELATIVE };
#else
enum { CALL = R_AARCH64_JUMP_SLOT, DATA = R_AARCH64_GLOB_DAT, POINTER = R_AARCH64_ABS64, OTHER = R_AARCH64_RELATIVE };
#endif

enum { PAGE = 65536, SLOTS = 8, LIBRARIES = 8, FAR = PAGE / sizeof(void *) };

/* Page 0 has headers and tables, page 1 the slots, which the loader has made read-only. */
struct image {
    ElfW(Phdr) phdr[2];
    ElfW(Dyn) dynamic[24];
    ElfW(Sym) symbols[SLOTS + 1];
    char names[256];
    ElfW(Rela) rela[SLOTS];
    ElfW(Rel) rel[SLOTS];
    unsigned char packed[512];
    size_t names_used, packed_used;
    int dynamic_used;
};

struct library {
    struct image *image;
    void **slots;
    bool loaded;
    const char *path;
};

static struct library libraries[LIBRARIES];
static unsigned long long adds, subs;
static int protects, failing_protect;

static void fill_info(const struct library *l, struct dl_phdr_info *out)
{
    *out = (struct dl_phdr_info){.dlpi_addr = (ElfW(Addr))(uintptr_t)l->image,
                                 .dlpi_name = l->path,
                                 .dlpi_phdr = l->image->phdr,
                                 .dlpi_phnum = 2,
                                 .dlpi_adds = adds,
                                 .dlpi_subs = subs};
}

int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
    int result = 0;
    for (int i = 0; i < LIBRARIES && !result; i++) {
        struct dl_phdr_info info;
        if (!libraries[i].loaded)
            continue;
        fill_info(&libraries[i], &info);
        result = each(&info, sizeof info, ctx);
    }
    return result;
}

int mprotect(void *start, size_t bytes, int protection)
{
    if (++protects == failing_protect) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

/* ---- fabricating libraries ---- */

static uintptr_t add_name(struct image *m, const char *name)
{
    size_t at = m->names_used;
    strcpy(m->names + at, name);
    m->names_used += strlen(name) + 1;
    return at;
}

static void add_dynamic(struct image *m, long tag, uintptr_t value)
{
    m->dynamic[m->dynamic_used].d_tag = tag;
    m->dynamic[m->dynamic_used++].d_un.d_val = value;
}

static uintptr_t offset_in(const struct image *m, const void *part)
{
    return (uintptr_t)part - (uintptr_t)m;
}

static struct library *load(const char *path)
{
    int i = 0;
    while (libraries[i].loaded)
        i++;
    struct library *l = &libraries[i];
    struct image *m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(m != MAP_FAILED);
    *l = (struct library){m, (void **)(void *)((char *)m + PAGE), true, path};
    m->phdr[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_memsz = 2 * PAGE};
    m->phdr[1] = (ElfW(Phdr)){.p_type = PT_DYNAMIC, .p_vaddr = offset_in(m, m->dynamic), .p_memsz = sizeof m->dynamic};
    add_name(m, "");
    add_dynamic(m, DT_SYMTAB, offset_in(m, m->symbols));
    add_dynamic(m, DT_STRTAB, offset_in(m, m->names));
    add_dynamic(m, DT_STRSZ, sizeof m->names);
    adds++;
    return l;
}

static void unload(struct library *l)
{
    l->loaded = false;
    munmap(l->image, 2 * PAGE);
    subs++;
}

static void unload_all(void)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (libraries[i].loaded)
            unload(&libraries[i]);
    failing_protect = protects = 0;
}

/* Symbol `number` and slot `number` are of the function `name`. */
static void add_symbol(struct library *l, int number, const char *name, void *value)
{
    l->image->symbols[number].st_name = (ElfW(Word))add_name(l->image, name);
    l->slots[number] = value;
}

static uintptr_t slot_offset(int number)
{
    return PAGE + (uintptr_t)number * sizeof(void *);
}

static ElfW(Rela) relocation(int number, unsigned long type)
{
    return (ElfW(Rela)){.r_offset = slot_offset(number), .r_info = ELF64_R_INFO((unsigned long)number, type)};
}

static void seal(struct library *l)
{
    assert_int_equal(syscall(SYS_mprotect, l->slots, PAGE, PROT_READ), 0);
}

/* A library that calls `name` through one slot. */
static struct library *load_caller(const char *path, const char *name, void *value)
{
    struct library *l = load(path);
    add_symbol(l, 1, name, value);
    l->image->rela[0] = relocation(1, CALL);
    add_dynamic(l->image, DT_JMPREL, offset_in(l->image, l->image->rela));
    add_dynamic(l->image, DT_PLTRELSZ, sizeof l->image->rela[0]);
    add_dynamic(l->image, DT_PLTREL, DT_RELA);
    seal(l);
    return l;
}

static void pack(struct image *m, int64_t value)
{
    for (bool more = true; more;) {
        unsigned char byte = value & 0x7f;
        value >>= 7;
        more = !((value == 0 && !(byte & 0x40)) || (value == -1 && byte & 0x40));
        m->packed[m->packed_used++] = (unsigned char)(byte | (more ? 0x80 : 0));
    }
}

static void begin_packed(struct image *m, int64_t count, int64_t offset)
{
    memcpy(m->packed, "APS2", 4);
    m->packed_used = 4;
    pack(m, count);
    pack(m, offset);
}

/* ---- slots ---- */

struct found {
    int count;
    struct strobe_elf_slot slot[32];
};

static void note_slot(void *ctx, const struct strobe_elf_slot *slot)
{
    struct found *f = ctx;
    f->slot[f->count++] = *slot;
}

static struct found find_slots(const struct library *l)
{
    struct found f = {0};
    struct dl_phdr_info info;
    struct strobe_elf_dynamic d;
    fill_info(l, &info);
    if (strobe_elf_dynamic(&info, &d))
        strobe_elf_slots(&d, note_slot, &f);
    return f;
}

static char first, second, third;

static struct library *load_with_symbols(void)
{
    struct library *l = load("lib.so");
    for (int i = 1; i < SLOTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        add_symbol(l, i, name, &first);
    }
    return l;
}

static void assert_slots(const struct library *l, int from, int count)
{
    struct found f = find_slots(l);
    assert_int_equal(f.count, count);
    for (int i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", from + i);
        assert_ptr_equal(f.slot[i].at, &l->slots[from + i]);
        assert_string_equal(f.slot[i].name, name);
        assert_ptr_equal(f.slot[i].value, &first);
        assert_true(f.slot[i].bound);
    }
}

static void each_kind_of_relocation_that_binds_a_function_is_a_slot(void **state)
{
    struct library *l = load_with_symbols();
    struct image *m = l->image;
    (void)state;
    m->rela[0] = relocation(1, CALL);
    m->rela[1] = relocation(2, DATA);
    m->rela[2] = relocation(3, POINTER);
    add_dynamic(m, DT_RELA, offset_in(m, m->rela));
    add_dynamic(m, DT_RELASZ, 3 * sizeof m->rela[0]);
    assert_slots(l, 1, 3);
    unload_all();
}

static void tables_without_addends_are_read(void **state)
{
    for (int calls = 0; calls < 2; calls++) {
        struct library *l = load_with_symbols();
        struct image *m = l->image;
        m->rel[0] = (ElfW(Rel)){slot_offset(4), ELF64_R_INFO(4ul, CALL)};
        m->rel[1] = (ElfW(Rel)){slot_offset(5), ELF64_R_INFO(5ul, DATA)};
        add_dynamic(m, calls ? DT_JMPREL : DT_REL, offset_in(m, m->rel));
        add_dynamic(m, calls ? DT_PLTRELSZ : DT_RELSZ, 2 * sizeof m->rel[0]);
        if (calls)
            add_dynamic(m, DT_PLTREL, DT_REL);
        assert_slots(l, 4, 2);
        unload_all();
    }
    (void)state;
}

enum { BY_INFO = 1, BY_DELTA = 2, BY_ADDEND = 4, ADDENDS = 8 };

/* Three groups: relocations of their own, a group with one distance, a group of relative relocations. */
static void fill_packed(struct image *m, bool addends)
{
    int with = addends ? ADDENDS : 0;
    begin_packed(m, 7, (int64_t)slot_offset(0));
    pack(m, 2);
    pack(m, with);
    for (int i = 1; i <= 2; i++) {
        pack(m, sizeof(void *));
        pack(m, (int64_t)ELF64_R_INFO((unsigned long)i, i == 1 ? DATA : POINTER));
        if (addends)
            pack(m, 0);
    }
    pack(m, 2);
    pack(m, BY_DELTA);
    pack(m, sizeof(void *));
    for (int i = 3; i <= 4; i++)
        pack(m, (int64_t)ELF64_R_INFO((unsigned long)i, DATA));
    pack(m, 3);
    pack(m, BY_INFO | (addends ? ADDENDS | BY_ADDEND : 0));
    pack(m, OTHER);
    if (addends)
        pack(m, -64);
    for (int i = 0; i < 3; i++)
        pack(m, sizeof(void *));
}

static void packed_tables_are_read_with_and_without_addends(void **state)
{
    for (int addends = 0; addends < 2; addends++) {
        struct library *l = load_with_symbols();
        fill_packed(l->image, addends);
        add_dynamic(l->image, addends ? 0x60000011 : 0x6000000f, offset_in(l->image, l->image->packed));
        add_dynamic(l->image, addends ? 0x60000012 : 0x60000010, l->image->packed_used);
        assert_slots(l, 1, 4);
        unload_all();
    }
    (void)state;
}

static void a_packed_table_that_is_cut_anywhere_is_read_up_to_there(void **state)
{
    struct library *l = load_with_symbols();
    (void)state;
    fill_packed(l->image, true);
    add_dynamic(l->image, 0x60000011, offset_in(l->image, l->image->packed));
    add_dynamic(l->image, 0x60000012, 0);
    int last = 0;
    for (size_t bytes = 0; bytes <= l->image->packed_used; bytes++) {
        l->image->dynamic[l->image->dynamic_used - 1].d_un.d_val = bytes;
        int count = find_slots(l).count;
        assert_in_range(count, last, 4);
        last = count;
    }
    assert_int_equal(last, 4);
    unload_all();
}

/* Returns the slots of a library, with the packed table that the caller has filled. */
static struct found find_packed(struct library *l)
{
    add_dynamic(l->image, 0x60000011, offset_in(l->image, l->image->packed));
    add_dynamic(l->image, 0x60000012, l->image->packed_used);
    return find_slots(l);
}

static void the_offsets_of_a_packed_table_may_decrease(void **state)
{
    struct library *l = load_with_symbols();
    (void)state;
    begin_packed(l->image, 2, (int64_t)slot_offset(4));
    pack(l->image, 2);
    pack(l->image, BY_DELTA);
    pack(l->image, -(int64_t)sizeof(void *));
    for (int i = 3; i >= 2; i--)
        pack(l->image, (int64_t)ELF64_R_INFO((unsigned long)i, DATA));
    struct found f = find_packed(l);
    assert_int_equal(f.count, 2);
    assert_ptr_equal(f.slot[0].at, &l->slots[3]);
    assert_ptr_equal(f.slot[1].at, &l->slots[2]);
    unload_all();
}

static void the_addend_of_a_packed_group_ends_with_the_group(void **state)
{
    struct library *l = load_with_symbols();
    (void)state;
    begin_packed(l->image, 2, (int64_t)slot_offset(0));
    pack(l->image, 1);
    pack(l->image, BY_INFO | BY_ADDEND | ADDENDS);
    pack(l->image, OTHER);
    pack(l->image, 64);
    pack(l->image, sizeof(void *));
    pack(l->image, 1);
    pack(l->image, BY_INFO);
    pack(l->image, (int64_t)ELF64_R_INFO(2ul, DATA));
    pack(l->image, sizeof(void *));
    struct found f = find_packed(l);
    assert_int_equal(f.count, 1);
    assert_ptr_equal(f.slot[0].at, &l->slots[2]);
    unload_all();
}

static void a_packed_group_ends_with_its_table(void **state)
{
    struct library *l = load_with_symbols();
    (void)state;
    begin_packed(l->image, 1, (int64_t)slot_offset(0));
    pack(l->image, 2);
    pack(l->image, BY_DELTA);
    pack(l->image, sizeof(void *));
    for (int i = 1; i <= 2; i++)
        pack(l->image, (int64_t)ELF64_R_INFO((unsigned long)i, DATA));
    assert_int_equal(find_packed(l).count, 1);
    unload_all();
}

static void a_library_whose_names_do_not_end_has_no_slots(void **state)
{
    struct library *l = load_caller("a.so", "first", &first);
    (void)state;
    assert_int_equal(find_slots(l).count, 1);
    l->image->names[sizeof l->image->names - 1] = 'x';
    assert_int_equal(find_slots(l).count, 0);
    unload_all();
}

static void what_is_behind_a_function_or_outside_the_library_is_no_slot(void **state)
{
    static void *stray = &first;
    struct library *l = load_with_symbols();
    struct image *m = l->image;
    (void)state;
    m->rela[0] = relocation(1, DATA);
    m->rela[0].r_addend = 8;
    m->rela[1] = relocation(2, OTHER);
    m->rela[2] = relocation(0, CALL);
    m->rela[3] = relocation(3, DATA);
    m->rela[3].r_offset = (uintptr_t)&stray - (uintptr_t)m;
    m->rela[4] = relocation(4, DATA);
    m->rela[4].r_offset += 1;
    m->rela[5] = relocation(5, DATA);
    m->symbols[5].st_name = sizeof m->names;
    m->rela[6] = (ElfW(Rela)){.r_offset = slot_offset(6), .r_info = ELF64_R_INFO((unsigned long)FAR * 8, DATA)};
    m->rela[7] = relocation(7, DATA);
    l->slots[7] = NULL;
    add_dynamic(m, DT_RELA, offset_in(m, m->rela));
    add_dynamic(m, DT_RELASZ, 8 * sizeof m->rela[0]);
    assert_int_equal(find_slots(l).count, 0);
    unload_all();
}

/* ---- tables of functions ---- */

static char replacement;
static const struct strobe_slot_function functions[] = {
    {"first", &first, &replacement}, {"second", &second, &third}, {"missing", NULL, &third}};
static struct strobe_slot_table table;

static void begin(void)
{
    memset(&table, 0, sizeof table);
    strobe_slot_table_begin(&table, functions, 3, "libart.so");
}

static void slots_are_exchanged_and_read_only_again(void **state)
{
    struct library *a = load_caller("a.so", "first", &first), *b = load_caller("b.so", "second", &second),
                   *c = load_caller("c.so", "fourth", &first), *d = load_caller("d.so", "missing", &first);
    struct strobe_mapping m;
    (void)state;
    begin();
    assert_ptr_equal(a->slots[1], &replacement);
    assert_ptr_equal(b->slots[1], &third);
    assert_ptr_equal(c->slots[1], &first);
    assert_ptr_equal(d->slots[1], &first);
    assert_int_equal(strobe_load_relaxed(&table.exchanged), 2);
    assert_int_equal(strobe_mapping_at(a->slots, &m), STROBE_OK);
    assert_int_equal(m.protection, PROT_READ);
    strobe_slot_table_end(&table);
    assert_ptr_equal(a->slots[1], &first);
    assert_ptr_equal(b->slots[1], &second);
    assert_int_equal(strobe_mapping_at(a->slots, &m), STROBE_OK);
    assert_int_equal(m.protection, PROT_READ);
    unload_all();
}

static void the_slot_of_another_hooker_is_left_alone(void **state)
{
    struct library *before = load_caller("a.so", "first", &third), *after = load_caller("b.so", "first", &first);
    (void)state;
    begin();
    assert_ptr_equal(before->slots[1], &third);
    assert_int_equal(syscall(SYS_mprotect, after->slots, PAGE, PROT_READ | PROT_WRITE), 0);
    after->slots[1] = &second;
    strobe_slot_table_end(&table);
    assert_ptr_equal(before->slots[1], &third);
    assert_ptr_equal(after->slots[1], &second);
    unload_all();
}

static void a_slot_that_no_call_has_bound_yet_is_exchanged(void **state)
{
    struct library *l = load_caller("a.so", "first", NULL);
    (void)state;
    assert_int_equal(syscall(SYS_mprotect, l->slots, PAGE, PROT_READ | PROT_WRITE), 0);
    l->slots[1] = (char *)l->image + 64;
    begin();
    assert_ptr_equal(l->slots[1], &replacement);
    strobe_slot_table_end(&table);
    assert_ptr_equal(l->slots[1], &first);
    unload_all();
}

static void a_table_of_calls_leaves_slots_of_data_alone(void **state)
{
    (void)state;
    struct library *l = load_caller("libcaller.so", functions[0].name, functions[0].function);
    syscall(SYS_mprotect, l->slots, PAGE, PROT_READ | PROT_WRITE);
    add_symbol(l, 2, functions[0].name, functions[0].function);
    l->image->rela[1] = relocation(2, DATA);
    add_dynamic(l->image, DT_RELA, offset_in(l->image, &l->image->rela[1]));
    add_dynamic(l->image, DT_RELASZ, sizeof l->image->rela[1]);
    seal(l);
    table = (struct strobe_slot_table){.calls_only = true};
    strobe_slot_table_begin(&table, functions, 3, "libart.so");
    assert_ptr_equal(l->slots[1], functions[0].replacement);
    assert_ptr_equal(l->slots[2], functions[0].function);
    strobe_slot_table_end(&table);
    assert_ptr_equal(l->slots[1], functions[0].function);
    table = (struct strobe_slot_table){0};
    unload_all();
}

static void add_needed(struct library *l, const char *name)
{
    add_dynamic(l->image, DT_NEEDED, add_name(l->image, name));
}

/* The needed libraries come before and after the one that needs them. */
static void the_runtime_and_all_that_it_needs_is_left_alone(void **state)
{
    struct library *c = load_caller("/x/libc.so", "first", &first), *log = load_caller("/x/name", "first", &first),
                   *art = load_caller("/y/libart.so", "first", &first), *app = load_caller("app.so", "first", &first);
    (void)state;
    add_needed(art, "liblog.so");
    add_dynamic(log->image, DT_SONAME, add_name(log->image, "liblog.so"));
    add_needed(log, "libc.so");
    add_needed(app, "libonlyapp.so");
    struct library *only = load_caller("libonlyapp.so", "first", &first);
    begin();
    assert_ptr_equal(c->slots[1], &first);
    assert_ptr_equal(art->slots[1], &first);
    assert_ptr_equal(log->slots[1], &first);
    assert_ptr_equal(app->slots[1], &replacement);
    assert_ptr_equal(only->slots[1], &replacement);
    strobe_slot_table_end(&table);
    unload_all();
}

static void a_library_that_is_loaded_later_is_hooked_at_the_next_renewal(void **state)
{
    struct library *a = load_caller("a.so", "first", &first);
    (void)state;
    begin();
    struct library *b = load_caller("b.so", "first", &first);
    strobe_slot_table_renew(&table);
    assert_ptr_equal(b->slots[1], &replacement);
    assert_int_equal(strobe_load_relaxed(&table.exchanged), 2);
    strobe_slot_table_end(&table);
    assert_ptr_equal(a->slots[1], &first);
    assert_ptr_equal(b->slots[1], &first);
    struct library *c = load_caller("c.so", "first", &first);
    strobe_slot_table_renew(&table);
    assert_ptr_equal(c->slots[1], &first); /* the table has ended */
    unload_all();
}

/* glibc lists a library before it fills in the slots. */
static void a_library_whose_slots_are_filled_in_late_is_hooked_as_well(void **state)
{
    (void)state;
    begin();
    struct library *l = load_caller("a.so", "first", &third);
    strobe_slot_table_renew(&table);
    assert_ptr_equal(l->slots[1], &third);
    assert_int_equal(syscall(SYS_mprotect, l->slots, PAGE, PROT_READ | PROT_WRITE), 0);
    l->slots[1] = &first;
    strobe_slot_table_renew(&table);
    assert_ptr_equal(l->slots[1], &replacement);
    l->slots[1] = &first;
    strobe_slot_table_renew(&table); /* nothing was loaded since: no pass */
    assert_ptr_equal(l->slots[1], &first);
    strobe_slot_table_end(&table);
    unload_all();
}

static void slots_of_a_library_that_is_gone_are_not_touched(void **state)
{
    struct library *a = load_caller("a.so", "first", &first), *b = load_caller("b.so", "first", &first);
    (void)state;
    begin();
    unload(a);
    strobe_slot_table_renew(&table);
    assert_int_equal(strobe_load_relaxed(&table.exchanged), 1);
    unload(load_caller("c.so", "first", &first));
    strobe_slot_table_end(&table);
    assert_ptr_equal(b->slots[1], &first);
    unload_all();
}

static void a_slot_that_cannot_be_made_writable_is_counted_and_stays(void **state)
{
    struct library *a = load_caller("a.so", "first", &first), *b = load_caller("b.so", "first", &first);
    (void)state;
    protects = 0;
    failing_protect = 1;
    begin();
    failing_protect = 0;
    assert_ptr_equal(a->slots[1], &first);
    assert_ptr_equal(b->slots[1], &replacement);
    assert_int_equal(strobe_load_relaxed(&table.refused), 1);
    assert_int_equal(strobe_load_relaxed(&table.exchanged), 1);
    strobe_slot_table_end(&table);
    unload_all();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_relocation_that_binds_a_function_is_a_slot),
        cmocka_unit_test(tables_without_addends_are_read),
        cmocka_unit_test(packed_tables_are_read_with_and_without_addends),
        cmocka_unit_test(a_packed_table_that_is_cut_anywhere_is_read_up_to_there),
        cmocka_unit_test(the_offsets_of_a_packed_table_may_decrease),
        cmocka_unit_test(the_addend_of_a_packed_group_ends_with_the_group),
        cmocka_unit_test(a_packed_group_ends_with_its_table),
        cmocka_unit_test(a_library_whose_names_do_not_end_has_no_slots),
        cmocka_unit_test(what_is_behind_a_function_or_outside_the_library_is_no_slot),
        cmocka_unit_test(slots_are_exchanged_and_read_only_again),
        cmocka_unit_test(the_slot_of_another_hooker_is_left_alone),
        cmocka_unit_test(a_slot_that_no_call_has_bound_yet_is_exchanged),
        cmocka_unit_test(a_table_of_calls_leaves_slots_of_data_alone),
        cmocka_unit_test(the_runtime_and_all_that_it_needs_is_left_alone),
        cmocka_unit_test(a_library_that_is_loaded_later_is_hooked_at_the_next_renewal),
        cmocka_unit_test(a_library_whose_slots_are_filled_in_late_is_hooked_as_well),
        cmocka_unit_test(slots_of_a_library_that_is_gone_are_not_touched),
        cmocka_unit_test(a_slot_that_cannot_be_made_writable_is_counted_and_stays),
    };
    (void)argc, (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
