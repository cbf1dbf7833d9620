/* Symbol tables of libraries, laid out by hand before an unreadable page: a search reads nothing outside the tables.
 * Properties: R-16. */
#include "engine/backend/art/module_table.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 65536, BITS = sizeof(ElfW(Addr)) * 8, ENDLESS_S = 5 };

static char *pages; /* two ranges of PAGE bytes; the second is unreadable */

static int start(void **state)
{
    (void)state;
    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    alarm(ENDLESS_S);
    return 0;
}

static int end(void **state)
{
    (void)state;
    alarm(0);
    return munmap(pages, 2 * PAGE);
}

/* Copies the bytes to the end of the readable range. */
static void *at_the_end(const void *bytes, size_t count)
{
    return memcpy(pages + PAGE - count, bytes, count);
}

static ElfW(Sym) symbol(uint32_t name, uint16_t section)
{
    return (ElfW(Sym)){.st_name = name, .st_info = STT_FUNC, .st_shndx = section, .st_value = 0x100 + name};
}

static const char names[] = "\0first\0asked";
enum { FIRST = 1, ASKED = 7 };

static bool found(const struct strobe_module_table *t, const char *name)
{
    uint64_t value;
    return strobe_table_find(t, name, &value);
}

static void a_symbol_is_found_by_its_whole_name_where_it_is_defined(void **state)
{
    const ElfW(Sym) symbols[] = {{0}, symbol(FIRST, 1), symbol(ASKED, SHN_UNDEF)};
    const struct strobe_module_table t = {
        .symbols = (const unsigned char *)symbols, .names = names, .count = 3, .names_bytes = sizeof names};
    uint64_t value = 0;
    (void)state;
    assert_true(strobe_table_find(&t, "first", &value));
    assert_int_equal(value, 0x100 + FIRST);
    assert_false(found(&t, "fir"));
    assert_false(found(&t, "asked"));
}

static void names_end_with_their_table(void **state)
{
    const ElfW(Sym) symbols[] = {{0}, symbol(0, 1), symbol(2 * PAGE, 1)};
    const struct strobe_module_table t = {
        .symbols = (const unsigned char *)symbols, .count = 3, .names_bytes = 3, .names = at_the_end("fir", 3)};
    (void)state;
    assert_false(found(&t, "first"));
}

/* Buckets, chains, then one bucket and as many chains. */
static void symbols_that_a_table_does_not_have_are_not_looked_at(void **state)
{
    const ElfW(Sym) symbols[] = {{0}, symbol(FIRST, 1)};
    const uint32_t sysv[] = {1, 8, 5, 0, 0, 0, 0, 0, 0, 0, 0};
    const struct strobe_module_table t = {.symbols = at_the_end(symbols, sizeof symbols),
                                          .names = names,
                                          .count = 2,
                                          .names_bytes = sizeof names,
                                          .sysv_hash = (const unsigned char *)sysv,
                                          .sysv_hash_bytes = sizeof sysv};
    (void)state;
    assert_false(found(&t, "first"));
}

static void a_chain_that_is_a_ring_is_left(void **state)
{
    const ElfW(Sym) symbols[] = {{0}, symbol(FIRST, 1), symbol(FIRST, 1)};
    const uint32_t sysv[] = {1, 3, 1, 0, 2, 1};
    const struct strobe_module_table t = {.symbols = (const unsigned char *)symbols,
                                          .names = names,
                                          .count = 3,
                                          .names_bytes = sizeof names,
                                          .sysv_hash = (const unsigned char *)sysv,
                                          .sysv_hash_bytes = sizeof sysv};
    (void)state;
    assert_true(found(&t, "first"));
    assert_false(found(&t, "asked"));
}

/* The hash function that GNU hash tables are made by. */
static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    while (*name)
        h = 33 * h + (unsigned char)*name++;
    return h;
}

/* A bloom filter of one word, one bucket and one chain. The second bit of the filter is taken from the hash shifted
 * by `shift`. */
struct gnu {
    uint32_t buckets, first, blooms, shift;
    ElfW(Addr) bloom;
    uint32_t bucket, chain[1];
};

static void both_bits_of_a_filter_are_where_the_table_says(void **state)
{
    const ElfW(Sym) symbols[] = {{0}, symbol(FIRST, 1)};
    (void)state;
    for (uint32_t shift = 0; shift < 32; shift++) {
        uint32_t h = gnu_hash("first");
        const struct gnu gnu = {1, 1,      1, shift, (ElfW(Addr))1 << h % BITS | (ElfW(Addr))1 << (h >> shift) % BITS,
                                1, {h | 1}};
        struct strobe_module_table t = {.symbols = (const unsigned char *)symbols,
                                        .names = names,
                                        .count = 2,
                                        .names_bytes = sizeof names,
                                        .gnu_hash = (const unsigned char *)&gnu,
                                        .gnu_hash_bytes = offsetof(struct gnu, chain) + sizeof gnu.chain};
        assert_null(strobe_table_check_hashes(&t));
        assert_true(found(&t, "first"));
        assert_false(found(&t, "asked"));
    }
}

static void a_wild_offset_is_in_no_file(void **state)
{
    const struct strobe_elf_source file = {.fd = -1, .bytes = at_the_end("0123", 4), .size = 4};
    char bytes[8];
    (void)state;
    assert_true(strobe_elf_copy(&file, 0, bytes, 4));
    assert_false(strobe_elf_copy(&file, 1, bytes, 4));
    assert_false(strobe_elf_copy(&file, UINT64_MAX - 1, bytes, 4));
}

static void a_symbol_outside_of_its_library_is_not_found(void **state)
{
    ElfW(Sym) symbols[] = {{0}, symbol(FIRST, 1)};
    struct strobe_module m = {.bias = 0x10000, .start = 0x10000, .end = 0x20000, .searched_file = true};
    (void)state;
    m.dynamic = (struct strobe_module_table){
        .symbols = (const unsigned char *)symbols, .names = names, .count = 2, .names_bytes = sizeof names};
    assert_int_equal(strobe_module_symbol(&m, "first"), 0x10100 + FIRST);
    symbols[1].st_value = 0x10000;
    assert_int_equal(strobe_module_symbol(&m, "first"), 0);
    symbols[1].st_value = (ElfW(Addr)) - 8;
    assert_int_equal(strobe_module_symbol(&m, "first"), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)
    const struct CMUnitTest tests[] = {
        TEST(a_symbol_is_found_by_its_whole_name_where_it_is_defined),
        TEST(names_end_with_their_table),
        TEST(symbols_that_a_table_does_not_have_are_not_looked_at),
        TEST(a_chain_that_is_a_ring_is_left),
        TEST(both_bits_of_a_filter_are_where_the_table_says),
        TEST(a_wild_offset_is_in_no_file),
        TEST(a_symbol_outside_of_its_library_is_not_found),
    };
    return cmocka_run_group_tests_name("art table", tests, NULL, NULL);
}
