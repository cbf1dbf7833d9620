/* Names for addresses in Mach-O images, by the files of fixtures/macho: the names that dSYM bundles, symbol tables
 * and function starts give, and the choice of the right file. No damaged file does harm. */
#include "engine/base/error.h"
#include "engine/trace/symbols/dsym.h"
#include "engine/trace/symbols/macho_elf.h"
#include "engine/trace/symbols/symbols.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The load address of the library, and addresses in its code. See shop.cc, and the disassembly of the files that
 * make.sh makes. */
#define SLIDE 0x104a00000u
enum { PRICE = 0x4000, TOTAL = 0x4018, SHOP_MAIN = 0x4070, HIDDEN = 0x4088, CODE_END = 0x40e8, INTEL_CODE = 0x1000 };

static char kept[8][300];
static struct strobe_build build;
static uint8_t arm_uuid[STROBE_MACHO_UUID_BYTES], intel_uuid[STROBE_MACHO_UUID_BYTES];

/* Unlike those of temp_dir_path, these paths stay valid. */
static const char *at(unsigned slot, const char *name)
{
    snprintf(kept[slot], sizeof kept[slot], "%s", temp_dir_path(name));
    return kept[slot];
}

#define DSYM "libshop.dylib.dSYM/Contents/Resources/DWARF/libshop.dylib"

static void read_uuids(void)
{
    struct strobe_macho_file file;
    struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
    static struct strobe_macho m;
    uint32_t count;
    assert_int_equal(strobe_macho_map(temp_dir_path("universal.dylib"), &file), STROBE_OK);
    assert_int_equal(strobe_macho_slices(file.at, file.bytes, slices, &count, NULL), STROBE_OK);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(strobe_macho_read(file.at, &slices[i], &m, NULL), STROBE_OK);
        assert_true(m.has_uuid);
        memcpy(m.machine == STROBE_MACHO_ARM64 ? arm_uuid : intel_uuid, m.uuid, sizeof m.uuid);
    }
    strobe_macho_unmap(&file);
    assert_memory_not_equal(arm_uuid, intel_uuid, sizeof arm_uuid);
}

static int open_temp_dir(void **state)
{
    char folder[4096], command[5000];
    temp_dir_open(state);
    if (!getcwd(folder, sizeof folder))
        return -1;
    snprintf(command, sizeof command, "tar -xJf '%s/fixtures/macho/macho.tar.xz' -C '%s'", folder, temp_dir_path("."));
    if (system(command))
        return -1;
    read_uuids();
    return 0;
}

/* Makes a session with one image at SLIDE, and with one sample, because a session has samples. */
static void make_session(const char *image, const uint8_t *uuid)
{
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    strobe_build_thread(&build, 4242, "main");
    strobe_build_image(&build, image, SLIDE, SLIDE + 0xc000);
    struct strobe_image_entry *entry = &build.session.images[0];
    entry->bias = SLIDE;
    entry->build_id_bytes = uuid ? STROBE_MACHO_UUID_BYTES : 0;
    if (uuid)
        memcpy(entry->build_id, uuid, STROBE_MACHO_UUID_BYTES);
    uint64_t address[] = {SLIDE + SHOP_MAIN + 8};
    strobe_build_record(&build, (struct strobe_record){.ticks = 1, .stack = strobe_build_stack(&build, address, 1)},
                        NULL);
    strobe_build_end(&build, 10);
}

static struct strobe_session session;
static struct strobe_symbols *symbols;
static struct strobe_symbol found[STROBE_SYMBOLS_FRAMES_MAX];

static void open_symbols(const char *name, unsigned options)
{
    assert_int_equal(strobe_session_open(temp_dir_path(name), &session), STROBE_OK);
    assert_int_equal(strobe_symbols_open(&session, options, &symbols), STROBE_OK);
}

static int close_symbols(void **state)
{
    (void)state;
    strobe_symbols_close(symbols);
    if (session.header)
        strobe_session_unmap(&session);
    symbols = NULL;
    session = (struct strobe_session){0};
    return 0;
}

/* Resolves the return address behind the instruction at `offset`. Returns the number of frames. */
static size_t look_up(uint64_t offset)
{
    return strobe_symbols_resolve(symbols, SLIDE + offset + 4, found, STROBE_SYMBOLS_FRAMES_MAX);
}

static enum strobe_image_state image_state(void)
{
    const struct strobe_image_report *reports;
    assert_int_equal(strobe_symbols_images(symbols, &reports), 1);
    return reports[0].state;
}

/* ---- names */

static void debug_information_gives_inlined_functions_files_and_lines(void **state)
{
    (void)state;
    make_session(at(0, DSYM), arm_uuid);
    open_symbols("session", STROBE_SYMBOLS_INLINES);
    assert_int_equal(look_up(PRICE + 8), 2);
    assert_string_equal(found[0].function, "shop::price(int)");
    assert_int_equal(found[0].line, 14);
    assert_string_equal(found[1].function, "shop::square(int)");
    assert_int_equal(found[1].line, 9);
    assert_non_null(strstr(found[1].file, "shop.cc"));
    assert_int_equal(found[0].function_address, SLIDE + PRICE);
    assert_int_equal(look_up(TOTAL + 0x28), 1);
    assert_string_equal(found[0].function, "shop::Cart::total(int)");
    assert_int_equal(found[0].line, 26);
    assert_int_equal(look_up(SHOP_MAIN + 8), 1);
    assert_string_equal(found[0].function, "shop_main");
    assert_int_equal(found[0].line, 39);
    assert_int_equal(image_state(), STROBE_IMAGE_DEBUG);
}

static void a_symbol_table_gives_local_and_global_functions(void **state)
{
    (void)state;
    make_session(at(0, "libshop.dylib"), arm_uuid);
    open_symbols("session", STROBE_SYMBOLS_INLINES);
    static const struct {
        uint64_t offset;
        const char *name;
    } places[] = {
        {PRICE, "shop::price(int)"}, {TOTAL - 4, "shop::price(int)"}, {TOTAL, "shop::Cart::total(int)"},
        {SHOP_MAIN, "shop_main"},    {HIDDEN, "hidden(int)"},         {CODE_END - 4, "hidden(int)"},
    };
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        assert_int_equal(look_up(places[i].offset), 1);
        assert_string_equal(found[0].function, places[i].name);
        assert_string_equal(found[0].file, "");
    }
    assert_int_equal(image_state(), STROBE_IMAGE_SYMTAB);
}

static void names_as_the_linker_has_them_lack_the_underscore_of_c(void **state)
{
    (void)state;
    make_session(at(0, "libshop.dylib"), arm_uuid);
    open_symbols("session", STROBE_SYMBOLS_MANGLED);
    look_up(HIDDEN);
    assert_string_equal(found[0].function, "_ZL6hiddeni");
    look_up(SHOP_MAIN);
    assert_string_equal(found[0].function, "shop_main");
}

/* The last function has no name here; the one before must not cover it. */
static void function_starts_part_what_a_stripped_file_has_no_names_for(void **state)
{
    (void)state;
    make_session(at(0, "stripped.dylib"), arm_uuid);
    open_symbols("session", 0);
    look_up(SHOP_MAIN + 8);
    assert_string_equal(found[0].function, "shop_main");
    look_up(HIDDEN);
    assert_string_equal(found[0].function, "stripped.dylib+0x4088");
    uint32_t id = found[0].function_id;
    look_up(HIDDEN + 0x18);
    assert_int_equal(found[0].function_id, id);
}

static void addresses_outside_of_all_code_have_no_name(void **state)
{
    (void)state;
    make_session(at(0, "libshop.dylib"), arm_uuid);
    open_symbols("session", 0);
    look_up(0x8000); /* _scale is data */
    assert_string_equal(found[0].function, "libshop.dylib+0x8004");
    look_up(0x100); /* the header */
    assert_string_equal(found[0].function, "libshop.dylib+0x104");
}

static void the_slice_of_a_universal_file_is_the_one_with_the_uuid(void **state)
{
    (void)state;
    make_session(at(0, "universal.dylib"), arm_uuid);
    open_symbols("session", 0);
    look_up(HIDDEN);
    assert_string_equal(found[0].function, "hidden(int)");
    close_symbols(state);
    make_session(at(0, "universal.dylib"), intel_uuid);
    open_symbols("session", 0);
    int names = 0;
    for (uint64_t offset = 0; offset < 0x8000; offset += 4) {
        look_up(offset);
        names |= strcmp(found[0].function, "shop_main") == 0;
    }
    assert_true(names);
    look_up(HIDDEN);
    assert_string_not_equal(found[0].function, "hidden(int)");
}

static void a_file_of_another_build_is_not_used(void **state)
{
    (void)state;
    make_session(at(0, "libshop.dylib"), intel_uuid);
    open_symbols("session", 0);
    look_up(SHOP_MAIN);
    assert_string_equal(found[0].function, "libshop.dylib+0x4074");
    assert_int_equal(image_state(), STROBE_IMAGE_CHANGED);
}

/* ---- finding files */

static struct strobe_error error;

static enum strobe_status find(const char *path, struct strobe_dsym_found *out)
{
    char from[300], to[300];
    snprintf(from, sizeof from, "%s", temp_dir_path("session"));
    snprintf(to, sizeof to, "%s", temp_dir_path("named"));
    error.text[0] = '\0';
    return strobe_dsym(from, to, &path, 1, 1, out, &error);
}

static void the_file_is_found_by_uuid_in_whatever_is_named(void **state)
{
    static const struct {
        const char *name;
        unsigned dwarf;
    } where[] = {
        {"libshop.dylib.dSYM", 1},
        {DSYM, 1},
        {"universal.dylib", 0},
        {".", 1},
    };
    struct strobe_dsym_found f;
    for (unsigned i = 0; i < sizeof where / sizeof *where; i++) {
        make_session("/private/var/containers/Shop.app/Shop", arm_uuid);
        if (find(at(0, where[i].name), &f) != STROBE_OK)
            fail_msg("%s", error.text);
        assert_int_equal(f.images, 1);
        assert_int_equal(f.found, 1);
        assert_int_equal(f.with_dwarf, where[i].dwarf);
        open_symbols("named", STROBE_SYMBOLS_INLINES);
        assert_int_equal(look_up(PRICE + 8), where[i].dwarf ? 2 : 1);
        assert_string_equal(found[0].function, "shop::price(int)");
        close_symbols(state);
    }
}

static void a_session_is_as_it_was_but_for_where_its_images_are(void **state)
{
    struct strobe_dsym_found f;
    struct strobe_session before;
    (void)state;
    make_session("/private/var/containers/Shop.app/Shop", arm_uuid);
    assert_int_equal(find(at(0, DSYM), &f), STROBE_OK);
    assert_int_equal(strobe_session_open(temp_dir_path("named"), &session), STROBE_OK);
    assert_int_equal(strobe_session_open(temp_dir_path("session"), &before), STROBE_OK);
    assert_string_equal(before.images[0].path, "/private/var/containers/Shop.app/Shop");
    assert_int_equal(before.mapped_bytes, session.mapped_bytes);
    memcpy(before.images[0].path, session.images[0].path, sizeof session.images[0].path);
    assert_memory_equal(before.header, session.header, session.mapped_bytes);
    strobe_session_unmap(&before);
}

static void files_of_another_session_are_refused_with_an_error_text(void **state)
{
    struct strobe_dsym_found f;
    (void)state;
    make_session("/private/var/Shop", intel_uuid);
    assert_int_equal(find(at(0, "libshop.dylib.dSYM"), &f), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "libshop.dylib.dSYM: UUID "));
    assert_non_null(strstr(error.text, " is of no image of the session"));
    temp_dir_write("text", "no Mach-O file", 14, 0644);
    assert_int_equal(find(at(0, "text"), &f), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "text: expected a Mach-O file"));
    assert_int_equal(find(at(0, "nowhere"), &f), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "nowhere: No such file or directory"));
    make_session("/private/var/Shop", NULL);
    assert_int_equal(find(at(0, "universal.dylib"), &f), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "session: expected a session with images that have UUIDs"));
}

static void a_file_that_is_cut_is_refused_when_named_and_passed_over_in_a_folder(void **state)
{
    struct strobe_dsym_found f;
    size_t bytes;
    (void)state;
    char *whole = temp_dir_read("libshop.dylib", &bytes);
    make_session("/private/var/Shop", arm_uuid);
    temp_dir_write("cut.dylib", whole, 0x4100, 0644);
    free(whole);
    assert_int_equal(find(at(0, "cut.dylib"), &f), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "cut.dylib: byte "));
    assert_non_null(strstr(error.text, "within the file"));
    if (find(at(0, "."), &f) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(f.found, 1);
    assert_int_equal(f.damaged, 1);
    unlink(temp_dir_path("cut.dylib"));
}

static void a_session_that_is_there_is_not_overwritten_unasked(void **state)
{
    struct strobe_dsym_found f;
    (void)state;
    make_session("/private/var/Shop", arm_uuid);
    const char *path = at(0, DSYM), *from = at(1, "session");
    assert_int_equal(strobe_dsym(from, from, &path, 1, 0, &f, &error), STROBE_EXISTS);
    assert_int_equal(strobe_dsym(from, from, &path, 1, 1, &f, &error), STROBE_OK);
}

/* ---- damage */

/* Converts a damaged file to an ELF file and resolves names in it, as for an intact file. */
static void survive(const char *content, size_t bytes)
{
    temp_dir_write("damaged", content, bytes, 0644);
    make_session(at(0, "damaged"), arm_uuid);
    open_symbols("session", STROBE_SYMBOLS_INLINES);
    for (uint64_t offset = PRICE; offset < CODE_END; offset += 40)
        assert_true(look_up(offset) >= 1);
    close_symbols(NULL);
}

static void files_cut_anywhere_do_no_harm(void **state)
{
    size_t bytes;
    (void)state;
    char *whole = temp_dir_read(DSYM, &bytes);
    for (size_t n = 0; n < bytes; n += n < 1200 ? 61 : 997)
        survive(whole, n);
    free(whole);
}

static void files_with_flipped_bits_do_no_harm(void **state)
{
    size_t bytes;
    unsigned number = strobe_trial_seed("test_macho");
    uint64_t seed = number;
    (void)state;
    char *whole = temp_dir_read(DSYM, &bytes), *bad = malloc(bytes);
    assert_non_null(bad);
    for (int round = 0; round < 120; round++) {
        memcpy(bad, whole, bytes);
        for (int flips = 0; flips < 4; flips++) {
            size_t place = strobe_trial_random(&seed) % (round % 2 ? bytes : 1600);
            bad[place] = (char)(bad[place] ^ 1 << strobe_trial_below(&seed, 8));
        }
        survive(bad, bytes);
    }
    free(bad);
    free(whole);
}

#define TEST(f) cmocka_unit_test_teardown(f, close_symbols)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(debug_information_gives_inlined_functions_files_and_lines),
        TEST(a_symbol_table_gives_local_and_global_functions),
        TEST(names_as_the_linker_has_them_lack_the_underscore_of_c),
        TEST(function_starts_part_what_a_stripped_file_has_no_names_for),
        TEST(addresses_outside_of_all_code_have_no_name),
        TEST(the_slice_of_a_universal_file_is_the_one_with_the_uuid),
        TEST(a_file_of_another_build_is_not_used),
        TEST(the_file_is_found_by_uuid_in_whatever_is_named),
        TEST(a_session_is_as_it_was_but_for_where_its_images_are),
        TEST(files_of_another_session_are_refused_with_an_error_text),
        TEST(a_file_that_is_cut_is_refused_when_named_and_passed_over_in_a_folder),
        TEST(a_session_that_is_there_is_not_overwritten_unasked),
        TEST(files_cut_anywhere_do_no_harm),
        TEST(files_with_flipped_bits_do_no_harm),
    };
    return cmocka_run_group_tests(tests, open_temp_dir, temp_dir_close);
}
