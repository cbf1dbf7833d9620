/* Names that the traced process reports for its own methods: each is stored in the session completely or not at all,
 * and is used first. */
#include "engine/store/session.h"
#include "engine/trace/symbols/symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static struct strobe_session session_with(uint32_t names_bytes)
{
    struct strobe_config c;
    struct strobe_session s;
    strobe_config_default(&c);
    c.ring_slots = c.stack_nodes = 64;
    c.ring_subs = 1;
    c.threads_max = c.images_max = 4;
    c.names_bytes = names_bytes;
    int fd = memfd_create("names", MFD_CLOEXEC);
    assert_int_equal(strobe_session_create_in(fd, &c, "test", &s), STROBE_OK);
    return s;
}

static enum strobe_status add(const struct strobe_session *s, uint64_t address, const char *text)
{
    return strobe_names_add(&s->names, address, text, strlen(text), 0);
}

static void names_come_back_in_order(void **state)
{
    struct strobe_session s = session_with(STROBE_NAMES_BYTES_MIN);
    struct strobe_named_address name;
    uint64_t at = 0;
    (void)state;
    assert_int_equal(add(&s, 0x70001000, "void Main.run()"), STROBE_OK);
    assert_int_equal(strobe_names_add(&s.names, 0x70001028, "", 0, STROBE_NAME_STALE), STROBE_OK);
    assert_int_equal(add(&s, 0x70001050, "int Cache.get(long)"), STROBE_OK);
    assert_true(strobe_names_next(&s.names, &at, &name));
    assert_int_equal(name.address, 0x70001000);
    assert_int_equal(name.bytes, 15);
    assert_memory_equal(name.text, "void Main.run()", 15);
    assert_true(strobe_names_next(&s.names, &at, &name));
    assert_int_equal(name.flags, STROBE_NAME_STALE);
    assert_int_equal(name.bytes, 0);
    assert_true(strobe_names_next(&s.names, &at, &name));
    assert_memory_equal(name.text, "int Cache.get(long)", 19);
    assert_false(strobe_names_next(&s.names, &at, &name));
    strobe_session_unmap(&s);
}

static void notes_are_no_names_and_names_are_no_notes(void **state)
{
    struct strobe_session s = session_with(STROBE_NAMES_BYTES_MIN);
    struct strobe_named_address name;
    uint64_t at = 0, note_at = 0;
    (void)state;
    assert_int_equal(strobe_names_add(&s.names, 1, "monitors: off", 13, STROBE_NAME_NOTE), STROBE_OK);
    assert_int_equal(add(&s, 0x70001000, "void Main.run()"), STROBE_OK);
    assert_int_equal(strobe_names_add(&s.names, 2, "parks: in place", 15, STROBE_NAME_NOTE), STROBE_OK);
    assert_true(strobe_names_next(&s.names, &at, &name));
    assert_int_equal(name.address, 0x70001000);
    assert_false(strobe_names_next(&s.names, &at, &name));
    assert_true(strobe_names_next_note(&s.names, &note_at, &name));
    assert_memory_equal(name.text, "monitors: off", 13);
    assert_true(strobe_names_next_note(&s.names, &note_at, &name));
    assert_int_equal(name.address, 2);
    assert_false(strobe_names_next_note(&s.names, &note_at, &name));
    strobe_session_unmap(&s);
}

static void a_session_without_a_region_has_no_names(void **state)
{
    struct strobe_session s = session_with(0);
    struct strobe_named_address name;
    uint64_t at = 0;
    (void)state;
    assert_int_equal(add(&s, 1, "x"), STROBE_UNSUPPORTED);
    assert_false(strobe_names_next(&s.names, &at, &name));
    strobe_session_unmap(&s);
}

static void a_full_region_refuses_and_counts_and_keeps_what_it_has(void **state)
{
    struct strobe_session s = session_with(STROBE_NAMES_BYTES_MIN);
    struct strobe_named_address name;
    char text[110];
    uint32_t kept = 0, found = 0;
    (void)state;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 100; i++)
        kept += strobe_names_add(&s.names, 1000 + (uint64_t)i, text, sizeof text, 0) == STROBE_OK;
    for (uint64_t at = 0; strobe_names_next(&s.names, &at, &name); found++)
        assert_int_equal(name.address, 1000 + found);
    assert_int_equal(found, kept);
    assert_int_equal(kept, (STROBE_NAMES_BYTES_MIN - 16) / 128);
    assert_int_equal(strobe_load_relaxed(&s.names.head->refused), 100 - kept);
    strobe_session_unmap(&s);
}

static void a_long_name_is_cut(void **state)
{
    struct strobe_session s = session_with(1 << 16);
    struct strobe_named_address name;
    uint64_t at = 0;
    char *text = calloc(1, STROBE_NAME_BYTES_MAX + 100);
    (void)state;
    memset(text, 'y', STROBE_NAME_BYTES_MAX + 100);
    assert_int_equal(strobe_names_add(&s.names, 5, text, STROBE_NAME_BYTES_MAX + 100, 0), STROBE_OK);
    assert_true(strobe_names_next(&s.names, &at, &name));
    assert_int_equal(name.bytes, STROBE_NAME_BYTES_MAX);
    free(text);
    strobe_session_unmap(&s);
}

/* No content of the file makes a reader leave the region. */
static void damage_ends_the_names_and_nothing_else(void **state)
{
    struct strobe_session s = session_with(STROBE_NAMES_BYTES_MIN);
    uint64_t *words = (uint64_t *)(s.names.head + 1);
    (void)state;
    for (uint32_t seed = 1; seed < 20000; seed++) {
        struct strobe_named_address name;
        uint32_t steps = 0, x = seed * 2654435761u;
        strobe_store_relaxed(&s.names.head->used, x % 3 ? UINT64_MAX - x : x % 8192);
        for (int i = 0; i < 500; i++, x = x * 1664525 + 1013904223)
            words[i] = x >> 28 ? x % 64 : (uint64_t)x << 32 | x;
        for (uint64_t at = 0; strobe_names_next(&s.names, &at, &name); steps++) {
            assert_true((char *)name.text + name.bytes <= (char *)s.names.head + STROBE_NAMES_BYTES_MIN);
            assert_true(steps < STROBE_NAMES_BYTES_MIN);
        }
    }
    strobe_session_unmap(&s);
}

static void an_address_that_was_named_has_that_name_and_its_neighbours_do_not(void **state)
{
    struct strobe_session s = session_with(STROBE_NAMES_BYTES_MIN);
    struct strobe_symbols *symbols;
    struct strobe_symbol found, again, other;
    (void)state;
    add(&s, 0x70001000, "void Main.run()");
    add(&s, 0x70001028, "void Main.stop()");
    add(&s, 0x70001028, "void Late.stop()");
    assert_int_equal(strobe_symbols_open(&s, 0, &symbols), STROBE_OK);
    assert_int_equal(strobe_symbols_resolve(symbols, 0x70001000, &found, 1), 1);
    assert_string_equal(found.function, "void Main.run()");
    assert_int_equal(found.function_address, 0x70001000);
    assert_int_equal(strobe_symbols_resolve(symbols, 0x70001001, &other, 1), 1);
    assert_string_equal(other.function, "0x70001001");
    assert_int_equal(strobe_symbols_resolve(symbols, 0x70001028, &other, 1), 1);
    assert_string_equal(other.function, "void Main.stop()");
    assert_int_equal(strobe_symbols_resolve(symbols, 0x70001000, &again, 1), 1);
    assert_int_equal(again.function_id, found.function_id);
    assert_int_not_equal(other.function_id, found.function_id);
    strobe_symbols_close(symbols);
    strobe_session_unmap(&s);
}

static void a_room_for_names_that_is_too_small_or_too_large_is_refused(void **state)
{
    static const uint32_t bad[] = {1, STROBE_NAMES_BYTES_MIN - 1, STROBE_NAMES_BYTES_MAX + 1u, UINT32_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct strobe_config c;
        struct strobe_session s;
        strobe_config_default(&c);
        c.names_bytes = bad[i];
        assert_int_equal(strobe_session_create_in(memfd_create("names", 0), &c, NULL, &s), STROBE_BAD_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_back_in_order),
        cmocka_unit_test(notes_are_no_names_and_names_are_no_notes),
        cmocka_unit_test(a_session_without_a_region_has_no_names),
        cmocka_unit_test(a_full_region_refuses_and_counts_and_keeps_what_it_has),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(damage_ends_the_names_and_nothing_else),
        cmocka_unit_test(an_address_that_was_named_has_that_name_and_its_neighbours_do_not),
        cmocka_unit_test(a_room_for_names_that_is_too_small_or_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
