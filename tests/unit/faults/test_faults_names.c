/* Names of functions under faults: whichever allocation, write or open of a file fails, the command that adds names to
 * a session reports it, or its output is complete. */
#include "engine/trace/model/function_tree.h"
#include "engine/trace/session/reader.h"
#include "engine/trace/session/session_set.h"
#include "engine/trace/symbols/dsym.h"
#include "engine/trace/symbols/elf_info.h"
#include "engine/trace/symbols/jit_names.h"
#include "engine/trace/symbols/macho_elf.h"
#include "engine/trace/symbols/symbolize.h"
#include "engine/trace/symbols/symbols.h"
#include "tests/unit/faults/sweep.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char mapping_text[] = "com.example.Main -> app.Main:\n"
                                   "    # {\"id\":\"sourceFile\",\"fileName\":\"Main.java\"}\n"
                                   "    int field -> a\n"
                                   "    1:5:void start():10:14 -> run\n"
                                   "    6:9:void stop(int,com.example.Other) -> run\n"
                                   "com.example.Other -> b:\n";

static enum strobe_status symbolize(struct strobe_error *error)
{
    struct strobe_mapping *mapping;
    struct strobe_symbolized made;
    enum strobe_status status = strobe_mapping_read(temp_dir_path("mapping.txt"), &mapping, error);
    if (status == STROBE_OK)
        status = strobe_symbolize(temp_dir_path("s.strobe"), temp_dir_path("out"), mapping, 0, &made, error);
    if (status == STROBE_OK)
        assert_int_equal(made.changed, 1);
    strobe_mapping_free(mapping);
    return status;
}

static enum strobe_status add_code(struct strobe_error *error)
{
    (void)error;
    const char *paths[] = {temp_dir_path("perf.map")};
    struct strobe_jit_names added;
    return strobe_jit_names_add(temp_dir_path("s.strobe"), temp_dir_path("out"), 0, paths, 1, &added);
}

static void commands_that_add_names_meet_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"mapping", "alloc write map host", symbolize, "out"},
                                          {"code", "alloc write map", add_code, "out"}};
    static const char map[] = "21f0 40 generated one\nnot a line\n23f0 20 generated two\n23f0 20 again\n";
    sweep_write_session("s.strobe");
    temp_dir_write("mapping.txt", mapping_text, sizeof mapping_text - 1, 0600);
    temp_dir_write("perf.map", map, sizeof map - 1, 0600);
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

/* ---- a library, which a session has as an image */

static const char source[] = "int leaf(int n) { return n * 3; }\n"
                             "static int inner(int n) { return leaf(n) + 1; }\n"
                             "int outer(int n) { return inner(n) + inner(n + 1); }\n";

enum { IMAGE = 0x10000000, IMAGE_END = IMAGE + 0x100000, STEP = 16, STEPS = 64 };

/* Writes a session with samples all over the library, and its build id, but under another path. */
static void write_session_of_library(void)
{
    struct strobe_config config = strobe_build_config();
    struct strobe_elf_info info;
    static struct strobe_build build;
    temp_dir_write("source.c", source, sizeof source - 1, 0600);
    temp_dir_run(
        "mkdir -p libs/more && $CC -g -O1 -fPIC -shared -nostdlib -Wl,--build-id=sha1 -o libs/more/lib.so source.c");
    temp_dir_write("libs/readme", "text", 4, 0600);
    assert_int_equal(strobe_elf_info(temp_dir_path("libs/more/lib.so"), &info), STROBE_OK);
    strobe_build_begin(&build, temp_dir_path("lib.strobe"), &config);
    strobe_build_thread(&build, 1, "main");
    strobe_build_image(&build, "/nowhere/lib.so", IMAGE, IMAGE_END);
    struct strobe_image_entry *image = &build.session.images[0];
    image->build_id_bytes = (uint8_t)info.build_id_bytes;
    memcpy(image->build_id, info.build_id, info.build_id_bytes);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t stack[] = {IMAGE + 0x1000 + i * STEP + 1};
        const struct strobe_record r = {.ticks = i * 1000000, .stack = strobe_build_stack(&build, stack, 1)};
        strobe_build_record(&build, r, NULL);
    }
    strobe_build_end(&build, STEPS * 1000000);
}

static enum strobe_status find_images(struct strobe_error *error)
{
    const char *paths[] = {temp_dir_path("libs")};
    struct strobe_dsym_found found;
    enum strobe_status status =
        strobe_dsym(temp_dir_path("lib.strobe"), temp_dir_path("out"), paths, 1, 0, &found, error);
    if (status == STROBE_OK)
        assert_int_equal(found.found, 1);
    return status;
}

/* Resolves each sample's function with inlined calls and lines. */
static enum strobe_status resolve(struct strobe_error *error)
{
    struct strobe_reader *reader;
    struct strobe_symbols *symbols = NULL;
    struct strobe_symbol at[STROBE_SYMBOLS_FRAMES_MAX];
    char text[4096] = "";
    enum strobe_status status = strobe_reader_open(temp_dir_path("found.strobe"), &reader, error);
    if (status != STROBE_OK)
        return status;
    status = strobe_symbols_open(&reader->session, STROBE_SYMBOLS_INLINES, &symbols);
    for (uint64_t i = 0; status == STROBE_OK && i < STEPS; i++) {
        uint64_t address = IMAGE + 0x1000 + i * STEP + 1;
        if (strobe_symbols_resolve(symbols, address, at, STROBE_SYMBOLS_FRAMES_MAX))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.40s\n", at[0].function);
        status = strobe_symbols_status(symbols);
    }
    strobe_symbols_close(symbols);
    strobe_reader_close(reader);
    if (status == STROBE_OK)
        temp_dir_write("out", text, strlen(text), 0600);
    return status;
}

static void names_of_a_library_meet_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"find images", "alloc write map", find_images, "out"},
                                          {"resolve", "alloc", resolve, "out"}};
    struct strobe_error error;
    write_session_of_library();
    if (find_images(&error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(rename(temp_dir_path("out"), temp_dir_path("found.strobe")), 0);
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

/* ---- Mach-O files, of fixtures/macho */

static uint8_t uuid[STROBE_MACHO_UUID_BYTES];

static void write_session_of_macho(void)
{
    static struct strobe_build build;
    static struct strobe_macho macho;
    struct strobe_config config = strobe_build_config();
    struct strobe_macho_file file;
    struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
    uint32_t count;
    char folder[4096];
    assert_non_null(getcwd(folder, sizeof folder));
    temp_dir_run("mkdir -p macho && tar -xJf '%s/fixtures/macho/macho.tar.xz' -C macho", folder);
    assert_int_equal(strobe_macho_map(temp_dir_path("macho/libshop.dylib"), &file), STROBE_OK);
    assert_int_equal(strobe_macho_slices(file.at, file.bytes, slices, &count, NULL), STROBE_OK);
    assert_int_equal(strobe_macho_read(file.at, &slices[0], &macho, NULL), STROBE_OK);
    memcpy(uuid, macho.uuid, sizeof uuid);
    strobe_macho_unmap(&file);
    strobe_build_begin(&build, temp_dir_path("lib.strobe"), &config);
    strobe_build_thread(&build, 1, "main");
    strobe_build_image(&build, "/private/var/libshop.dylib", IMAGE, IMAGE_END);
    struct strobe_image_entry *image = &build.session.images[0];
    image->build_id_bytes = sizeof uuid;
    memcpy(image->build_id, uuid, sizeof uuid);
    uint64_t stack[] = {IMAGE + 0x4010};
    strobe_build_record(&build, (struct strobe_record){.stack = strobe_build_stack(&build, stack, 1)}, NULL);
    strobe_build_end(&build, 1000000);
}

static enum strobe_status find_macho(struct strobe_error *error)
{
    const char *paths[] = {temp_dir_path("macho")};
    struct strobe_dsym_found found;
    return strobe_dsym(temp_dir_path("lib.strobe"), temp_dir_path("out"), paths, 1, 0, &found, error);
}

/* Makes the ELF file by which libdw reads a Mach-O file's functions. */
static enum strobe_status open_macho(struct strobe_error *error)
{
    int fd;
    enum strobe_status status = strobe_macho_open(temp_dir_path("macho/libshop.dylib"), uuid, &fd, error);
    assert_int_equal(status == STROBE_OK, fd >= 0);
    if (fd >= 0)
        close(fd);
    return status;
}

static void names_of_a_mach_o_file_meet_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweeps[] = {{"find Mach-O", "alloc write map", find_macho, "out"},
                                          {"open Mach-O", "alloc map host", open_macho, NULL}};
    write_session_of_macho();
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        sweep_faults(&sweeps[i]);
}

/* ---- a folder of sessions */

static enum strobe_status list_sessions(struct strobe_error *error)
{
    (void)error;
    struct strobe_session_set set;
    enum strobe_status status = strobe_session_set_list(temp_dir_path("folder"), &set);
    if (status != STROBE_OK)
        return status;
    assert_int_equal(set.count, 3);
    strobe_session_set_free(&set);
    return status;
}

static void a_folder_of_sessions_meets_each_fault(void **state)
{
    (void)state;
    static const struct sweep sweep = {"folder", "alloc", list_sessions, NULL};
    assert_int_equal(mkdir(temp_dir_path("folder"), 0700), 0);
    sweep_write_session("folder/a.strobe");
    sweep_write_session("folder/b.strobe");
    sweep_write_session("folder/c.strobe");
    temp_dir_write("folder/other", "no session", 10, 0600);
    sweep_faults(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_that_add_names_meet_each_fault),
        cmocka_unit_test(names_of_a_library_meet_each_fault),
        cmocka_unit_test(names_of_a_mach_o_file_meet_each_fault),
        cmocka_unit_test(a_folder_of_sessions_meets_each_fault),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
