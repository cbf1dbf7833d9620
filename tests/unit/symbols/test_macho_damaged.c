/* Mach-O files that are made by hand: what of them is read, and for each way to be damaged the status, the byte and
 * what was expected there. */
#include "engine/base/error.h"
#include "engine/trace/symbols/macho_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Offsets of the file's parts, and of fields in them. */
enum {
    HEAD = 32,
    SEGMENT = HEAD, /* __TEXT with one section of code, __text */
    SECTION = SEGMENT + 72,
    SYMTAB = SECTION + 80,
    STARTS = SYMTAB + 24,
    UUID = STARTS + 16,
    COMMANDS_END = UUID + 24,
    CODE = 512,
    SYMBOLS = 1024,
    STRINGS = 1536,
    STARTS_DATA = 1792,
    FILE_BYTES = 2048,
    SYMBOL_COUNT = 2,
    TEXT = 0x10000,
};

static const uint32_t arm64 = 0x0100000c, x86_64 = 0x01000007, zero_filled = 1;

static uint8_t file[FILE_BYTES];
static struct strobe_macho macho;
static struct strobe_error error;

static void set32(size_t at, uint32_t value)
{
    memcpy(file + at, &value, 4);
}

static void set64(size_t at, uint64_t value)
{
    memcpy(file + at, &value, 8);
}

static void put_command(size_t at, uint32_t kind, uint32_t bytes)
{
    set32(at, kind);
    set32(at + 4, bytes);
}

static void put_symbol(unsigned number, uint32_t name, uint8_t type, uint8_t of_section, uint64_t address)
{
    size_t at = SYMBOLS + 16 * number;
    set32(at, name);
    file[at + 4] = type;
    file[at + 5] = of_section;
    set64(at + 8, address);
}

static void make_file(void)
{
    static const char strings[] = "\0_exported\0_inner";
    memset(file, 0, sizeof file);
    set32(0, 0xfeedfacf);
    set32(4, arm64);
    set32(16, 4);
    set32(20, COMMANDS_END - HEAD);
    put_command(SEGMENT, 0x19, 72 + 80);
    memcpy(file + SEGMENT + 8, "__TEXT", 6);
    set64(SEGMENT + 24, TEXT);
    set64(SEGMENT + 32, 0x4000);
    set64(SEGMENT + 48, FILE_BYTES);
    set32(SEGMENT + 64, 1);
    memcpy(file + SECTION, "__text", 6);
    memcpy(file + SECTION + 16, "__TEXT", 6);
    set64(SECTION + 32, TEXT + CODE);
    set64(SECTION + 40, 256);
    set32(SECTION + 48, CODE);
    set32(SECTION + 64, 0x80000400);
    put_command(SYMTAB, 2, 24);
    set32(SYMTAB + 8, SYMBOLS);
    set32(SYMTAB + 12, SYMBOL_COUNT);
    set32(SYMTAB + 16, STRINGS);
    set32(SYMTAB + 20, sizeof strings);
    put_command(STARTS, 0x26, 16);
    set32(STARTS + 8, STARTS_DATA);
    set32(STARTS + 12, 3);
    put_command(UUID, 0x1b, 24);
    memset(file + UUID + 8, 0xab, 16);
    put_symbol(0, 1, 0x0f, 1, TEXT + CODE);
    put_symbol(1, 11, 0x0e, 1, TEXT + CODE + 16);
    memcpy(file + STRINGS, strings, sizeof strings);
    memcpy(file + STARTS_DATA, "\x80\x04\x10", 3); /* 512, 16 */
}

static enum strobe_status read_slice(uint64_t bytes)
{
    const struct strobe_macho_slice slice = {0, bytes};
    strobe_error_clear(&error);
    return strobe_macho_read(file, &slice, &macho, &error);
}

static void a_whole_file_gives_its_range_sections_symbols_and_function_starts(void **state)
{
    (void)state;
    struct strobe_macho_symbol s;
    uint32_t at = 0;
    uint64_t address;
    make_file();
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_int_equal(macho.machine, STROBE_MACHO_ARM64);
    assert_int_equal(macho.start, TEXT);
    assert_int_equal(macho.end, TEXT + 0x4000);
    assert_int_equal(macho.section_count, 1);
    assert_true(macho.sections[0].is_code && macho.sections[0].bytes == file + CODE);
    assert_true(macho.has_uuid && macho.uuid[15] == 0xab);
    assert_false(macho.has_dwarf);
    assert_true(strobe_macho_symbol(&macho, 0, &s));
    assert_string_equal(s.name, "exported");
    assert_true(s.global);
    assert_true(strobe_macho_symbol(&macho, 1, &s));
    assert_string_equal(s.name, "inner");
    assert_false(s.global);
    assert_true(strobe_macho_next_start(&macho, &at, &address));
    assert_int_equal(address, TEXT + 512);
    assert_true(strobe_macho_next_start(&macho, &at, &address));
    assert_int_equal(address, TEXT + 528);
    assert_false(strobe_macho_next_start(&macho, &at, &address));
    set32(4, x86_64);
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_int_equal(macho.machine, STROBE_MACHO_X86_64);
    set32(4, 12);
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_int_equal(macho.machine, STROBE_MACHO_OTHER);
}

/* A change of one number of the file. */
struct damage {
    size_t at;
    uint64_t value;
    unsigned bytes; /* of the value */
    enum strobe_status status;
    const char *text;
};

static void a_damaged_number_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct damage damages[] = {
        {0, 0xfeedface, 4, STROBE_BAD_INPUT, "byte 0: expected a 64-bit Mach-O header"},
        {20, 5000, 4, STROBE_TRUNCATED, "byte 20: expected load commands of 5000 bytes within the file"},
        {16, 5, 4, STROBE_BAD_INPUT, "byte 248: expected load command 5 of 5"},
        {UUID + 4, 4, 4, STROBE_BAD_INPUT, "byte 224: expected load command 4 of 4"},
        {UUID + 4, 99, 4, STROBE_BAD_INPUT, "byte 224: expected load command 4 of 4"},
        {SEGMENT + 64, 2, 4, STROBE_BAD_INPUT, "byte 32: expected a segment and its sections within 152 bytes"},
        {SEGMENT + 32, UINT64_MAX, 8, STROBE_BAD_INPUT, "byte 32: expected a segment that ends after its begin"},
        {SECTION + 40, UINT64_MAX, 8, STROBE_BAD_INPUT, "byte 104: expected a section that ends after its begin"},
        {SECTION + 48, FILE_BYTES, 4, STROBE_TRUNCATED, "byte 104: expected section __TEXT,__text within the file"},
        {SYMTAB + 12, 99, 4, STROBE_TRUNCATED, "byte 184: expected the symbol table and its strings within the file"},
        {SYMTAB + 16, FILE_BYTES, 4, STROBE_TRUNCATED,
         "byte 184: expected the symbol table and its strings within the file"},
        {STARTS + 8, FILE_BYTES, 4, STROBE_TRUNCATED, "byte 208: expected the function starts within the file"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        make_file();
        memcpy(file + damages[i].at, &damages[i].value, damages[i].bytes);
        enum strobe_status status = read_slice(FILE_BYTES);
        if (status != damages[i].status || strcmp(error.text, damages[i].text))
            fail_msg("%zu: status %d: %s", i, status, error.text);
    }
    assert_int_equal(read_slice(HEAD - 1), STROBE_TRUNCATED);
    assert_string_equal(error.text, "byte 0: expected a 64-bit Mach-O header");
}

/* The last command has too few bytes for its kind. */
static void a_command_too_short_for_its_kind_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        const char *text;
    } kinds[] = {{0x19, "expected a segment and its sections within 12 bytes"},
                 {2, "expected a symbol table command of 24 bytes"},
                 {0x26, "expected a command of 16 bytes for function starts"},
                 {0x1b, "expected a UUID command of 24 bytes"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        make_file();
        put_command(UUID, kinds[i].kind, 12);
        set32(20, UUID + 12 - HEAD);
        assert_int_equal(read_slice(FILE_BYTES), STROBE_BAD_INPUT);
        assert_non_null(strstr(error.text, kinds[i].text));
        assert_non_null(strstr(error.text, "byte 224: "));
    }
    make_file();
    put_command(UUID, 0x99, 12); /* of no kind that counts here */
    set32(20, UUID + 12 - HEAD);
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_false(macho.has_uuid);
}

static void a_section_whose_content_is_not_in_the_file_has_no_bytes(void **state)
{
    (void)state;
    static const uint32_t types[] = {zero_filled, 0xc, 0x12};
    for (size_t i = 0; i < 3; i++) {
        make_file();
        set32(SECTION + 64, types[i]);
        set32(SECTION + 48, FILE_BYTES);
        assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
        assert_null(macho.sections[0].bytes);
    }
    make_file();
    set64(SECTION + 40, 0);
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_null(macho.sections[0].bytes);
    make_file();
    set64(SEGMENT + 48, 0); /* a companion file has no code */
    set32(SECTION + 48, FILE_BYTES);
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_null(macho.sections[0].bytes);
}

static void only_segments_that_are_loaded_count_for_the_range(void **state)
{
    (void)state;
    static const char *const others[] = {"__PAGEZERO", "__DWARF", "__LINKEDIT"};
    for (size_t i = 0; i < 3; i++) {
        make_file();
        memcpy(file + SEGMENT + 8, others[i], strlen(others[i]));
        assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
        assert_int_equal(macho.start, 0);
        assert_int_equal(macho.end, 0);
    }
    make_file();
    memcpy(file + SEGMENT + 8, "__DWARF", 8);
    memcpy(file + SECTION + 16, "__DWARF", 8);
    memcpy(file + SECTION, "__debug_info", 12);
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_true(macho.has_dwarf);
}

static void a_symbol_that_is_no_function_or_has_no_name_is_left_out(void **state)
{
    (void)state;
    static const struct damage damages[] = {
        {SYMBOLS + 4, 0x2e, 1, STROBE_OK, "a debugger's entry"},
        {SYMBOLS + 4, 0x01, 1, STROBE_OK, "undefined"},
        {SYMBOLS + 5, 0, 1, STROBE_OK, "in no section"},
        {SYMBOLS + 5, 2, 1, STROBE_OK, "in a section that is not there"},
        {SYMBOLS, 99, 4, STROBE_OK, "a name behind the strings"},
        {SYMBOLS, 0, 4, STROBE_OK, "an empty name"},
        {SYMBOLS + 8, TEXT, 8, STROBE_OK, "before its section"},
        {SYMBOLS + 8, TEXT + CODE + 256, 8, STROBE_OK, "behind its section"},
        {SECTION + 64, 0, 4, STROBE_OK, "in a section without code"},
        {SYMTAB + 20, 5, 4, STROBE_OK, "a name without its end"},
    };
    struct strobe_macho_symbol s;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        make_file();
        memcpy(file + damages[i].at, &damages[i].value, damages[i].bytes);
        assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
        if (strobe_macho_symbol(&macho, 0, &s))
            fail_msg("%s: %s", damages[i].text, s.name);
    }
    make_file();
    memcpy(file + STRINGS + 1, "_", 2); /* nothing behind the underscore */
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_false(strobe_macho_symbol(&macho, 0, &s));
}

static void function_starts_end_at_the_first_one_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *what;
    } ends[] = {
        {"\x80\x80\x80", "a number without an end"},
        {"\0\1\1", "a distance of zero"},
    };
    for (size_t i = 0; i < 2; i++) {
        uint32_t at = 0;
        uint64_t address;
        make_file();
        memcpy(file + STARTS_DATA, ends[i].bytes, 3);
        assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
        assert_false(strobe_macho_next_start(&macho, &at, &address));
    }
    uint32_t at = 0;
    uint64_t address;
    make_file();
    set32(STARTS + 12, 10);
    memcpy(file + STARTS_DATA, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10); /* wraps around */
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_false(strobe_macho_next_start(&macho, &at, &address));
    at = 0;
    set32(STARTS + 12, 12);
    memset(file + STARTS_DATA, 0x80, 12); /* more than 64 bits */
    assert_int_equal(read_slice(FILE_BYTES), STROBE_OK);
    assert_false(strobe_macho_next_start(&macho, &at, &address));
}

static void sections_beyond_those_that_a_symbol_can_name_are_left_out(void **state)
{
    (void)state;
    enum { MANY = STROBE_MACHO_SECTIONS_MAX + 3, BYTES = HEAD + 72 + MANY * 80 };
    static uint8_t large[BYTES];
    const struct strobe_macho_slice slice = {0, BYTES};
    make_file();
    memcpy(large, file, HEAD + 72);
    const uint32_t bytes = BYTES - HEAD, count = MANY, one = 1;
    memcpy(large + 16, &one, 4);
    memcpy(large + 20, &bytes, 4);
    memcpy(large + SEGMENT + 4, &bytes, 4);
    memcpy(large + SEGMENT + 64, &count, 4);
    assert_int_equal(strobe_macho_read(large, &slice, &macho, &error), STROBE_OK);
    assert_int_equal(macho.section_count, STROBE_MACHO_SECTIONS_MAX);
}

/* ---- universal files, whose numbers are big-endian */

static void set_big(size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        file[at + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
static uint32_t count;

static enum strobe_status find_slices(uint64_t bytes)
{
    strobe_error_clear(&error);
    return strobe_macho_slices(file, bytes, slices, &count, &error);
}

static void make_universal(uint32_t entries, int wide)
{
    memset(file, 0, sizeof file);
    set_big(0, wide ? 0xcafebabf : 0xcafebabe, 4);
    set_big(4, entries, 4);
    for (uint32_t i = 0; i < entries; i++) {
        size_t at = 8 + i * (wide ? 32u : 20u);
        set_big(at, i % 2 ? arm64 : x86_64, 4);
        set_big(at + 8, 512 + i, wide ? 8 : 4);
        set_big(at + (wide ? 16 : 12), 64, wide ? 8 : 4);
    }
}

static void slices_of_either_width_are_found_up_to_the_limit(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        make_universal(2, wide);
        assert_int_equal(find_slices(FILE_BYTES), STROBE_OK);
        assert_int_equal(count, 2);
        assert_int_equal(slices[1].offset, 513);
        assert_int_equal(slices[1].bytes, 64);
    }
    make_universal(STROBE_MACHO_SLICES_MAX + 4, 0);
    assert_int_equal(find_slices(FILE_BYTES), STROBE_OK);
    assert_int_equal(count, STROBE_MACHO_SLICES_MAX);
}

static void a_slice_of_another_machine_is_left_out(void **state)
{
    (void)state;
    make_universal(2, 0);
    set_big(8, 7, 4);
    assert_int_equal(find_slices(FILE_BYTES), STROBE_OK);
    assert_int_equal(count, 1);
    assert_int_equal(slices[0].offset, 513);
    make_file();
    set32(4, 7);
    assert_int_equal(find_slices(FILE_BYTES), STROBE_OK);
    assert_int_equal(count, 0);
}

static void slices_beyond_the_file_are_refused_with_their_place(void **state)
{
    (void)state;
    make_universal(2, 0);
    assert_int_equal(find_slices(20), STROBE_TRUNCATED);
    assert_string_equal(error.text, "byte 4: expected 2 slices, but the file ends before");
    set_big(28 + 8, FILE_BYTES, 4);
    assert_int_equal(find_slices(FILE_BYTES), STROBE_TRUNCATED);
    assert_string_equal(error.text, "byte 28: expected a slice within the file");
    make_universal(1, 1);
    set_big(8 + 16, UINT64_MAX, 8);
    assert_int_equal(find_slices(FILE_BYTES), STROBE_TRUNCATED);
}

static void a_file_of_another_kind_is_no_mach_o(void **state)
{
    (void)state;
    make_file();
    assert_int_equal(find_slices(7), STROBE_NO_ENTRY);
    make_universal(1, 0);
    set_big(4, 65, 4); /* a class file of Java */
    assert_int_equal(find_slices(FILE_BYTES), STROBE_NO_ENTRY);
    memcpy(file, "\177ELF", 4);
    assert_int_equal(find_slices(FILE_BYTES), STROBE_NO_ENTRY);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_gives_its_range_sections_symbols_and_function_starts),
        cmocka_unit_test(a_damaged_number_is_refused_with_its_place),
        cmocka_unit_test(a_command_too_short_for_its_kind_is_refused),
        cmocka_unit_test(a_section_whose_content_is_not_in_the_file_has_no_bytes),
        cmocka_unit_test(only_segments_that_are_loaded_count_for_the_range),
        cmocka_unit_test(a_symbol_that_is_no_function_or_has_no_name_is_left_out),
        cmocka_unit_test(function_starts_end_at_the_first_one_that_cannot_be),
        cmocka_unit_test(sections_beyond_those_that_a_symbol_can_name_are_left_out),
        cmocka_unit_test(slices_of_either_width_are_found_up_to_the_limit),
        cmocka_unit_test(a_slice_of_another_machine_is_left_out),
        cmocka_unit_test(slices_beyond_the_file_are_refused_with_their_place),
        cmocka_unit_test(a_file_of_another_kind_is_no_mach_o),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
