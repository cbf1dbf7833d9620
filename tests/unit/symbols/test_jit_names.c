/* Names of generated code are stored in the session, and each stack gets the names that were valid when it was taken
 * (S-57). */
#include "engine/base/error.h"
#include "engine/trace/symbols/jit_names.h"

#include "engine/trace/model/function_tree.h"
#include "engine/trace/session/reader.h"
#include "engine/trace/symbols/symbols.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static struct strobe_build build;
static struct strobe_jit_names kept;

static void begin(void)
{
    struct strobe_config config = strobe_build_config();
    strobe_build_begin(&build, temp_dir_path("session"), &config);
    strobe_build_thread(&build, 4242, "main");
    strobe_build_image(&build, "/nowhere/lib.so", 0x100000, 0x200000);
}

/* Writes a sample of a function at `leaf`, called by code at 0x100100 in the image. */
static void sample(uint64_t ticks, uint64_t leaf)
{
    uint64_t stack[] = {0x100101, leaf + 1};
    struct strobe_record r = {.ticks = ticks, .stack = strobe_build_stack(&build, stack, 2), .kind = STROBE_KIND_ASYNC};
    assert_int_equal(strobe_build_record(&build, r, NULL), STROBE_OK);
}

static void add_file(const char *name, const void *content, size_t bytes)
{
    const char *path = temp_dir_write(name, content, bytes, 0600), *session = temp_dir_path("session");
    assert_int_equal(strobe_jit_names_add(session, session, 1, &path, 1, &kept), STROBE_OK);
}

static void add_map(const char *text)
{
    add_file("map", text, strlen(text));
}

/* The innermost function of the main thread's sample `item`. */
static void expect_leaf(size_t item, const char *name)
{
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_symbol found;
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    struct strobe_error error;
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_OK);
    assert_int_equal(strobe_symbols_open(&reader->session, 0, &symbols), STROBE_OK);
    assert_in_range(item, 0, reader->threads[0].item_count - 1);
    uint32_t stack = reader->threads[0].items[item].record.stack;
    assert_int_equal(strobe_stack_frames(&reader->session.stacks, stack, frames, STROBE_STACK_DEPTH_MAX, &count),
                     STROBE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(frames[0], 0x100101);
    assert_int_equal(strobe_symbols_resolve(symbols, frames[1], &found, 1), 1);
    assert_string_equal(found.function, name);
    assert_string_equal(found.image, name[0] == '0' ? "" : "[jit]");
    assert_true(strobe_reader_check(reader, &error));
    strobe_symbols_close(symbols);
    strobe_reader_close(reader);
}

static void all_addresses_of_a_function_have_its_name(void **state)
{
    (void)state;
    begin();
    sample(1000, 0x7000);
    sample(2000, 0x703f);
    sample(3000, 0x7040);
    strobe_build_end(&build, 4000);
    add_map("7000 40 f\n");
    expect_leaf(0, "f");
    expect_leaf(1, "f");
    expect_leaf(2, "0x7041");
    assert_int_equal(kept.addresses, 3);
    assert_int_equal(kept.named, 2);
}

static void code_of_equal_names_is_one_function(void **state)
{
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_symbol a, b;
    struct strobe_error error;
    (void)state;
    begin();
    sample(1000, 0x7000);
    sample(2000, 0x9000);
    strobe_build_end(&build, 4000);
    add_map("7000 40 f\n9000 40 f\n");
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_OK);
    assert_int_equal(strobe_symbols_open(&reader->session, 0, &symbols), STROBE_OK);
    strobe_symbols_resolve(symbols, 0x7011, &a, 1);
    strobe_symbols_resolve(symbols, 0x9011, &b, 1);
    assert_int_equal(a.function_id, b.function_id);
    strobe_symbols_close(symbols);
    strobe_reader_close(reader);
}

static void the_later_line_of_a_map_holds(void **state)
{
    (void)state;
    begin();
    sample(1000, 0x7010);
    sample(2000, 0x7030);
    strobe_build_end(&build, 4000);
    add_map("7000 40 old\n7000 20 new\n9000 10 elsewhere\n");
    expect_leaf(0, "new");
    expect_leaf(1, "old");
    assert_int_equal(kept.names, 2);
}

static void an_image_is_not_named_by_a_map(void **state)
{
    (void)state;
    begin();
    sample(1000, 0x7000);
    strobe_build_end(&build, 4000);
    add_map("100000 100000 wrong\n7000 10 right\n");
    assert_int_equal(kept.addresses, 1);
    assert_int_equal(kept.names, 1);
    expect_leaf(0, "right");
}

static void names_that_are_added_again_replace_the_first(void **state)
{
    (void)state;
    begin();
    sample(1000, 0x7000);
    strobe_build_end(&build, 4000);
    add_map("7000 40 first\n");
    add_map("7000 40 second\n");
    expect_leaf(0, "second");
}

/* ---- with times ---- */

struct dump {
    char at[1024];
    size_t bytes;
};

static void put(struct dump *d, const void *from, size_t bytes)
{
    assert_true(d->bytes + bytes <= sizeof d->at);
    memcpy(d->at + d->bytes, from, bytes);
    d->bytes += bytes;
}

static void begin_dump(struct dump *d, uint32_t pid)
{
    uint32_t head[] = {0x4a695444, 1, 40, 62, 0, pid, 0, 0, 0, 0};
    d->bytes = 0;
    put(d, head, sizeof head);
}

/* Ticks and CLOCK_MONOTONIC of the session are the same. */
static void put_load(struct dump *d, uint64_t ticks, uint64_t start, const char *name)
{
    uint64_t time = STROBE_BUILD_BEGIN_NS + ticks, content[] = {0, start, start, 0x40, d->bytes};
    uint32_t head[] = {0, (uint32_t)(16 + 40 + strlen(name) + 1)};
    put(d, head, sizeof head);
    put(d, &time, sizeof time);
    put(d, content, sizeof content);
    put(d, name, strlen(name) + 1);
}

static void memory_that_is_used_again_has_the_name_of_its_time(void **state)
{
    struct dump d;
    (void)state;
    begin();
    sample(500, 0x7010);
    sample(1500, 0x7010);
    sample(2500, 0x7010);
    sample(3500, 0x7010);
    strobe_build_end(&build, 4000);
    begin_dump(&d, 4242);
    put_load(&d, 1000, 0x7000, "first");
    put_load(&d, 2000, 0x7000, "second");
    put_load(&d, 3000, 0x7000, "first");
    add_file("jit.dump", d.at, d.bytes);
    assert_int_equal(kept.names, 3);
    expect_leaf(0, "first");
    expect_leaf(1, "first");
    expect_leaf(2, "second");
    expect_leaf(3, "first");
}

static void a_wait_has_the_names_of_its_end(void **state)
{
    struct dump d;
    (void)state;
    begin();
    uint64_t stack[] = {0x100101, 0x7011};
    struct strobe_record wait = {.ticks = 500,
                                 .duration = 1000,
                                 .stack = strobe_build_stack(&build, stack, 2),
                                 .kind = STROBE_KIND_POLL,
                                 .flags = STROBE_FLAG_SCOPE};
    assert_int_equal(strobe_build_record(&build, wait, NULL), STROBE_OK);
    strobe_build_end(&build, 4000);
    begin_dump(&d, 4242);
    put_load(&d, 100, 0x7000, "before");
    put_load(&d, 1000, 0x7000, "during");
    put_load(&d, 2000, 0x7000, "after");
    add_file("jit.dump", d.at, d.bytes);
    expect_leaf(0, "during");
}

static void equal_stacks_of_one_time_stay_equal(void **state)
{
    struct dump d;
    struct strobe_reader *reader;
    struct strobe_error error;
    (void)state;
    begin();
    sample(1500, 0x7010);
    sample(1600, 0x7010);
    sample(2500, 0x7010);
    sample(2600, 0x8010);
    strobe_build_end(&build, 4000);
    begin_dump(&d, 4242);
    put_load(&d, 1000, 0x7000, "first");
    put_load(&d, 2000, 0x7000, "second");
    put_load(&d, 2100, 0x8000, "alone");
    add_file("jit.dump", d.at, d.bytes);
    assert_int_equal(strobe_reader_open(temp_dir_path("session"), &reader, &error), STROBE_OK);
    const struct strobe_item *items = reader->threads[0].items;
    assert_int_equal(items[0].record.stack, items[1].record.stack);
    assert_int_not_equal(items[1].record.stack, items[2].record.stack);
    strobe_reader_close(reader);
    expect_leaf(2, "second");
    expect_leaf(3, "alone");
}

static void code_names_reach_into_no_image(void **state)
{
    struct dump d;
    (void)state;
    begin();
    sample(1500, 0x7010);
    sample(2500, 0x7010);
    strobe_build_end(&build, 4000);
    begin_dump(&d, 4242);
    put_load(&d, 1000, 0x7000, "first");
    put_load(&d, 2000, 0x7000, "second");
    for (int i = 0; i < 2; i++) { /* both ranges cover the addresses that expect_leaf resolves */
        uint64_t bytes = 0x200000;
        memcpy(d.at + 40 + 16 + 24 + i * (16 + 40 + 6), &bytes, sizeof bytes);
    }
    add_file("jit.dump", d.at, d.bytes);
    expect_leaf(0, "first");
    expect_leaf(1, "second");
}

/* Reads the whole session and resolves all names. Returns true when the file is a session. */
static int read_all(void)
{
    struct strobe_reader *reader;
    struct strobe_symbols *symbols;
    struct strobe_symbol found;
    struct strobe_error error;
    if (strobe_reader_open(temp_dir_path("session"), &reader, &error) != STROBE_OK)
        return 0;
    assert_int_equal(strobe_symbols_open(&reader->session, STROBE_SYMBOLS_NO_LINES, &symbols), STROBE_OK);
    for (uint32_t i = 1; i <= strobe_stack_node_count(&reader->session.stacks); i++) {
        const struct strobe_stack_node *node = strobe_stack_node_of(&reader->session.stacks, i);
        if (node)
            assert_int_equal(strobe_symbols_resolve(symbols, node->address, &found, 1), 1);
    }
    strobe_symbols_close(symbols);
    strobe_reader_close(reader);
    return 1;
}

static void damage_of_any_kind_is_survived(void **state)
{
    enum { ROUNDS = 400 };
    struct dump d;
    size_t bytes, words = 0;
    int taken = 0;
    (void)state;
    begin();
    for (uint64_t i = 0; i < 20; i++)
        sample(1000 + i * 100, 0x7010 + i % 3);
    strobe_build_end(&build, 4000);
    begin_dump(&d, 4242);
    put_load(&d, 1000, 0x7000, "first");
    put_load(&d, 2000, 0x7000, "second");
    add_file("jit.dump", d.at, d.bytes);
    srand(strobe_trial_seed("test_jit_names"));
    char *whole = temp_dir_read("session", &bytes);
    uint32_t *places = malloc(bytes);
    assert_non_null(places);
    for (size_t at = 4096; at + 4 <= bytes; at += 4) /* test_reader tests damage of the header */
        if (memcmp(whole + at, "\0\0\0", 4))
            places[words++] = (uint32_t)at;
    for (int round = 0; round < ROUNDS; round++) {
        char *copy = malloc(bytes);
        memcpy(copy, whole, bytes);
        for (int i = 0; i < 1 + round % 4; i++)
            copy[places[(size_t)rand() % words] + (size_t)rand() % 4] ^= (char)(1 << rand() % 8);
        temp_dir_write("session", copy, bytes, 0600);
        taken += read_all();
        free(copy);
    }
    assert_in_range(taken, ROUNDS / 2, ROUNDS);
    free(places);
    free(whole);
}

/* ---- finding files ---- */

/* Stores the session's names as `strobe record` does. The process of the session does not exist. */
static enum strobe_status keep_found(void)
{
    return strobe_jit_names_keep(temp_dir_path("session"), temp_dir_path("."), &kept);
}

static void begin_now(uint32_t pid)
{
    struct timespec now;
    begin();
    clock_gettime(CLOCK_REALTIME, &now);
    build.session.header->pid = pid;
    build.session.header->begin.realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    sample(1500, 0x7010);
    strobe_build_end(&build, 4000);
}

/* Returns the path of the map that a process of this id would write. The ids used are beyond the kernel's limit, so
 * no process has them. */
static const char *map_of(uint32_t pid)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", pid);
    return path;
}

static void write_map_of(uint32_t pid)
{
    FILE *out = fopen(map_of(pid), "we");
    assert_non_null(out);
    fputs("7000 40 found\n", out);
    assert_int_equal(fclose(out), 0);
}

static uint32_t invented_pid(void)
{
    return (uint32_t)getpid() + (1u << 30);
}

static void the_map_of_the_process_is_found(void **state)
{
    uint32_t pid = invented_pid();
    (void)state;
    begin_now(pid);
    assert_int_equal(keep_found(), STROBE_NO_ENTRY);
    write_map_of(pid);
    enum strobe_status status = keep_found();
    unlink(map_of(pid));
    assert_int_equal(status, STROBE_OK);
    assert_int_equal(kept.files, 1);
    expect_leaf(0, "found");
}

static void a_map_from_before_the_recording_is_not_used(void **state)
{
    uint32_t pid = invented_pid();
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    (void)state;
    begin_now(pid);
    write_map_of(pid);
    assert_int_equal(utimensat(AT_FDCWD, map_of(pid), old, 0), 0);
    enum strobe_status status = keep_found();
    unlink(map_of(pid));
    assert_int_equal(status, STROBE_NO_ENTRY);
    assert_non_null(strstr(kept.unused, "is older than the recording"));
}

static void a_link_in_place_of_the_map_is_not_followed(void **state)
{
    uint32_t pid = invented_pid();
    (void)state;
    begin_now(pid);
    const char *target = temp_dir_write("target", "7000 40 foreign\n", 16, 0600);
    assert_int_equal(symlink(target, map_of(pid)), 0);
    enum strobe_status status = keep_found();
    unlink(map_of(pid));
    assert_int_equal(status, STROBE_NO_ENTRY);
    assert_non_null(strstr(kept.unused, "is a link"));
}

static void a_map_of_another_user_is_not_used(void **state)
{
    uint32_t pid = invented_pid();
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    begin_now(pid);
    write_map_of(pid);
    int given = chown(map_of(pid), 65534, (gid_t)-1);
    enum strobe_status status = keep_found();
    unlink(map_of(pid));
    assert_int_equal(given, 0);
    assert_int_equal(status, STROBE_NO_ENTRY);
    assert_non_null(strstr(kept.unused, "belongs to another user"));
}

static void a_jitdump_must_be_of_the_process(void **state)
{
    uint32_t pid = invented_pid();
    struct dump d;
    char name[64];
    (void)state;
    for (uint32_t other = 0; other < 2; other++) {
        begin_now(pid);
        begin_dump(&d, pid + other);
        put_load(&d, 1000, 0x7000, "dumped");
        snprintf(name, sizeof name, "jit-%" PRIu32 ".dump", pid);
        temp_dir_write(name, d.at, d.bytes, 0600);
        assert_int_equal(keep_found(), other ? STROBE_NO_ENTRY : STROBE_OK);
        expect_leaf(0, other ? "0x7011" : "dumped");
        assert_int_equal(strstr(kept.unused, "is of another process") != NULL, other);
    }
}

static void a_jitdump_is_found_in_the_folders_of_its_writers(void **state)
{
    uint32_t pid = invented_pid();
    const char *const places[] = {"JITDUMPDIR", "HOME"};
    struct dump d;
    char path[4096], home[4096];
    (void)state;
    snprintf(home, sizeof home, "%s", getenv("HOME") ? getenv("HOME") : "");
    temp_dir_run("mkdir -p base/.debug/jit/empty base/.debug/jit/java-jit-1");
    begin_dump(&d, pid);
    put_load(&d, 1000, 0x7000, "dumped");
    snprintf(path, sizeof path, "base/.debug/jit/java-jit-1/jit-%" PRIu32 ".dump", pid);
    for (int i = 0; i < 2; i++) {
        begin_now(pid);
        temp_dir_write(path, d.at, d.bytes, 0600);
        setenv("HOME", temp_dir_path("nothing"), 1);
        assert_int_equal(keep_found(), STROBE_NO_ENTRY);
        setenv(places[i], temp_dir_path("base"), 1);
        enum strobe_status status = keep_found();
        unsetenv("JITDUMPDIR");
        setenv("HOME", home, 1);
        assert_int_equal(status, STROBE_OK);
        assert_int_equal(kept.files, 1);
        expect_leaf(0, "dumped");
    }
}

static void the_jitdump_that_the_process_mapped_comes_first(void **state)
{
    uint32_t pid = invented_pid();
    struct dump d;
    char mapped[256], name[64];
    (void)state;
    for (int other = 0; other < 2; other++) {
        begin_dump(&d, pid);
        put_load(&d, 1000, 0x7000, other ? "mapped" : "beside");
        snprintf(name, sizeof name, other ? "there/jit-%" PRIu32 ".dump" : "jit-%" PRIu32 ".dump", pid);
        temp_dir_run("mkdir -p there");
        snprintf(mapped, sizeof mapped, "%s", temp_dir_write(name, d.at, d.bytes, 0600));
    }
    struct timespec now;
    begin();
    clock_gettime(CLOCK_REALTIME, &now);
    build.session.header->pid = pid;
    build.session.header->begin.realtime_ns = (uint64_t)now.tv_sec * 1000000000u;
    strobe_build_image(&build, "no slash", 0x300000, 0x301000);
    strobe_build_image(&build, mapped, 0x400000, 0x401000);
    sample(1500, 0x7010);
    strobe_build_end(&build, 4000);
    assert_int_equal(keep_found(), STROBE_OK);
    expect_leaf(0, "mapped");
}

static void a_session_without_a_process_finds_no_file(void **state)
{
    (void)state;
    begin_now(0);
    assert_int_equal(keep_found(), STROBE_NO_ENTRY);
    assert_int_equal(kept.files, 0);
}

static void expect_refused(const char *name, const char *why)
{
    const char *path = temp_dir_path(name), *session = temp_dir_path("session");
    begin_now(7);
    enum strobe_status status = strobe_jit_names_add(session, session, 1, &path, 1, &kept);
    assert_true(status == STROBE_IO || status == STROBE_BAD_INPUT);
    if (!strstr(kept.unused, name) || !strstr(kept.unused, why))
        fail_msg("%s: %s", name, kept.unused);
    expect_leaf(0, "0x7011");
}

static void a_file_that_cannot_list_code_is_refused_with_the_reason(void **state)
{
    struct dump d;
    (void)state;
    temp_dir_run("mkdir -p folder && : >large && truncate -s 3G large && ln -sf knot knot");
    expect_refused("missing", "No such file or directory");
    expect_refused("folder", "is no regular file");
    expect_refused("large", "is larger than 2 GB");
    expect_refused("knot", "is a link");
    begin_dump(&d, 7);
    d.at[4] = 9;
    temp_dir_write("other.dump", d.at, d.bytes, 0600);
    expect_refused("other.dump", "expected a jitdump file of version 1 in this machine's byte order");
    begin_dump(&d, 7);
    memcpy(d.at, "JiTD", 4); /* the other byte order */
    temp_dir_write("swapped.dump", d.at, d.bytes, 0600);
    expect_refused("swapped.dump", "expected a jitdump file of version 1 in this machine's byte order");
    unlink(temp_dir_path("large"));
}

static void the_first_malformed_place_of_each_form_is_reported(void **state)
{
    struct dump d;
    (void)state;
    begin_now(7);
    add_map("7000 40 good\nbad\nworse\n");
    assert_int_equal(kept.bad, 2);
    assert_non_null(strstr(kept.first_bad, "map:2"));
    begin_now(7);
    begin_dump(&d, 7);
    put_load(&d, 1000, 0x7000, "good");
    size_t second = d.bytes;
    put_load(&d, 1000, 0x7000, "cut");
    memset(d.at + second + 56, 'x', d.bytes - second - 56); /* a name without its end */
    add_file("dump", d.at, d.bytes);
    assert_true(kept.bad >= 1);
    assert_non_null(strstr(kept.first_bad, "dump: byte "));
}

static void more_files_than_the_limit_are_refused(void **state)
{
    enum { MANY = 17 };
    const char *paths[MANY], *session;
    (void)state;
    begin_now(7);
    temp_dir_write("map", "7000 40 good\n", 13, 0600);
    static char path[512];
    snprintf(path, sizeof path, "%s", temp_dir_path("map"));
    for (int i = 0; i < MANY; i++)
        paths[i] = path;
    session = temp_dir_path("session");
    assert_int_equal(strobe_jit_names_add(session, session, 1, paths, MANY, &kept), STROBE_FULL);
    assert_int_equal(strobe_jit_names_add(session, session, 1, paths, MANY - 1, &kept), STROBE_OK);
    assert_int_equal(kept.files, MANY - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_addresses_of_a_function_have_its_name),
        cmocka_unit_test(code_of_equal_names_is_one_function),
        cmocka_unit_test(the_later_line_of_a_map_holds),
        cmocka_unit_test(an_image_is_not_named_by_a_map),
        cmocka_unit_test(names_that_are_added_again_replace_the_first),
        cmocka_unit_test(memory_that_is_used_again_has_the_name_of_its_time),
        cmocka_unit_test(a_wait_has_the_names_of_its_end),
        cmocka_unit_test(equal_stacks_of_one_time_stay_equal),
        cmocka_unit_test(code_names_reach_into_no_image),
        cmocka_unit_test(damage_of_any_kind_is_survived),
        cmocka_unit_test(the_map_of_the_process_is_found),
        cmocka_unit_test(a_map_from_before_the_recording_is_not_used),
        cmocka_unit_test(a_link_in_place_of_the_map_is_not_followed),
        cmocka_unit_test(a_map_of_another_user_is_not_used),
        cmocka_unit_test(a_jitdump_must_be_of_the_process),
        cmocka_unit_test(a_jitdump_is_found_in_the_folders_of_its_writers),
        cmocka_unit_test(the_jitdump_that_the_process_mapped_comes_first),
        cmocka_unit_test(a_session_without_a_process_finds_no_file),
        cmocka_unit_test(a_file_that_cannot_list_code_is_refused_with_the_reason),
        cmocka_unit_test(the_first_malformed_place_of_each_form_is_reported),
        cmocka_unit_test(more_files_than_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
