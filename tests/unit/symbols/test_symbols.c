/* Names for addresses, on small programs that the test builds. The programs are not loaded, because addresses of a
 * session are looked up in files only. */
#include "engine/base/error.h"
#include "engine/trace/symbols/dsym.h"
#include "engine/trace/symbols/symbols.h"

#include "engine/trace/symbols/demangle.h"
#include "engine/trace/symbols/vdso.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const uint64_t BIAS = 0x7f0000000000u, SPAN = 0x200000;

static struct strobe_session session;

/* Makes a session with these files of the temporary directory as images, at BIAS and every SPAN bytes from there. */
static void make_session(const char *const *names, unsigned count)
{
    struct strobe_config config;
    strobe_config_default(&config);
    config.ring_slots = 1024;
    config.ring_subs = 1;
    config.stack_nodes = 64;
    config.threads_max = 4;
    config.images_max = 16;
    assert_int_equal(strobe_session_create(temp_dir_path("session"), &config, "test", 1, &session), STROBE_OK);
    for (unsigned i = 0; i < count; i++) {
        struct strobe_image_entry *e = strobe_session_add_image(&session);
        assert_non_null(e);
        snprintf(e->path, sizeof e->path, "%s", names[i][0] == '[' ? names[i] : temp_dir_path(names[i]));
        e->bias = e->start = BIAS + i * SPAN;
        e->end = e->start + SPAN;
        strobe_store_release(&e->published, 1);
    }
}

static struct strobe_symbols *open_one(const char *name, unsigned options)
{
    struct strobe_symbols *s;
    make_session(&name, 1);
    assert_int_equal(strobe_symbols_open(&session, options, &s), STROBE_OK);
    return s;
}

static void done(struct strobe_symbols *s)
{
    strobe_symbols_close(s);
    strobe_session_unmap(&session);
}

static struct strobe_symbol returned_to(struct strobe_symbols *s, uint64_t address)
{
    struct strobe_symbol out[STROBE_SYMBOLS_FRAMES_MAX];
    assert_int_equal(strobe_symbols_resolve(s, address, out, STROBE_SYMBOLS_FRAMES_MAX), 1);
    return out[0];
}

/* Resolves the function that contains the address itself, which is not a return address. */
static struct strobe_symbol one(struct strobe_symbols *s, uint64_t address)
{
    return returned_to(s, address + 1);
}

/* Returns the address of a file's symbol as nm prints it, plus BIAS. */
static uint64_t address_of(const char *file, const char *symbol)
{
    temp_dir_run("nm %s >names", file);
    size_t bytes;
    char *names = temp_dir_read("names", &bytes), wanted[128];
    snprintf(wanted, sizeof wanted, " %s\n", symbol);
    char *at = strstr(names, wanted);
    assert_non_null(at);
    while (at > names && at[-1] != '\n')
        at--;
    uint64_t address = strtoull(at, NULL, 16);
    free(names);
    return BIAS + address;
}

static void build(const char *source, const char *flags, const char *output)
{
    temp_dir_write("source.c", source, strlen(source), 0644);
    temp_dir_run("$CC %s -fPIC -shared -nostdlib -o %s source.c", flags, output);
}

/* Exported, internal, internal, exported; every function large enough to be kept apart. */
static const char *const functions =
    "int g[64]; static int __attribute__((noinline)) first(int n) { for (int i = 0; i < n; i++) g[i & 63] += i * n;\n"
    "  return g[n & 63]; }\n"
    "static int __attribute__((noinline)) second(int n) { for (int i = n; i > 0; i--) g[i & 63] ^= i + n;\n"
    "  return g[1] + first(n); }\n"
    "int outer(int n) { return first(n) * second(n + 1) + 3; }\n"
    "int other(int n) { return second(n) - first(n + 2); }\n";

static void a_function_is_named_with_file_and_line_where_there_is_debug_information(void **state)
{
    (void)state;
    build(functions, "-g -O1", "lib.so");
    uint64_t outer = address_of("lib.so", "outer");
    struct strobe_symbols *s = open_one("lib.so", 0);
    struct strobe_symbol found = one(s, outer + 1);
    assert_string_equal(found.function, "outer");
    assert_true(found.function_address == outer);
    assert_string_equal(found.image, temp_dir_path("lib.so"));
    assert_non_null(strstr(found.file, "source.c"));
    assert_int_equal(found.line, 5);
    const struct strobe_image_report *reports;
    assert_int_equal(strobe_symbols_images(s, &reports), 1);
    assert_int_equal(reports[0].state, STROBE_IMAGE_DEBUG);
    assert_int_equal(reports[0].addresses, 1);
    assert_int_equal(reports[0].unnamed, 0);
    done(s);
}

static void a_return_address_belongs_to_the_call_before_it(void **state)
{
    (void)state;
    build(functions, "-Os", "lib.so"); /* without padding between functions */
    uint64_t second = address_of("lib.so", "second");
    struct strobe_symbols *s = open_one("lib.so", 0);
    struct strobe_symbol out;
    assert_int_equal(strobe_symbols_resolve(s, second + 1, &out, 1), 1);
    assert_string_equal(out.function, "second");
    assert_int_equal(strobe_symbols_resolve(s, second, &out, 1), 1);
    assert_string_not_equal(out.function, "second");
    done(s);
}

/* A call at the very end of the padding returns to the begin of the next function. */
static void padding_before_a_function_takes_no_name_from_it(void **state)
{
    (void)state;
    build(functions, "-O1 -falign-functions=64", "lib.so");
    uint64_t second = address_of("lib.so", "second");
    struct strobe_symbols *s = open_one("lib.so", 0);
    struct strobe_symbol before = returned_to(s, second), in = one(s, second);
    assert_non_null(strstr(before.function, "+0x"));
    assert_string_equal(in.function, "second");
    assert_int_not_equal(before.function_id, in.function_id);
    done(s);
}

/* Two addresses are in one function of the stripped library exactly when they are in one function of the whole
 * library. So the slices of a function without a name stay in one piece. */
static void nameless_functions_are_distinguished_as_well_as_named_ones(void **state)
{
    (void)state;
    build(functions, "-O1", "lib.so");
    temp_dir_run("strip -o bare.so lib.so");
    uint64_t first = address_of("lib.so", "first"), end = address_of("lib.so", "other") + 8;
    const char *const files[] = {"lib.so", "bare.so"};
    struct strobe_symbols *s;
    make_session(files, 2);
    assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
    struct strobe_symbol whole = one(s, first), bare = one(s, first + SPAN);
    assert_string_equal(whole.function, "first");
    char expected[64];
    snprintf(expected, sizeof expected, "bare.so+0x%" PRIx64, first - BIAS);
    assert_string_equal(bare.function, expected);
    assert_true(bare.function_address == first + SPAN);
    int seen_change = 0;
    for (uint64_t a = first; a < end; a++) {
        struct strobe_symbol w = one(s, a), b = one(s, a + SPAN);
        if (strstr(w.function, "+0x"))
            continue; /* padding between functions */
        assert_int_equal(w.function_id == whole.function_id, b.function_id == bare.function_id);
        assert_true(w.function_address + SPAN == b.function_address);
        seen_change |= w.function_id != whole.function_id;
        whole = w;
        bare = b;
    }
    assert_true(seen_change);
    assert_string_equal(one(s, address_of("lib.so", "outer") + SPAN).function, "outer");
    const struct strobe_image_report *reports;
    strobe_symbols_images(s, &reports);
    assert_int_equal(reports[0].state, STROBE_IMAGE_SYMTAB);
    assert_int_equal(reports[1].state, STROBE_IMAGE_DYNSYM);
    assert_true(reports[1].unnamed > 0 && reports[1].unnamed < reports[1].addresses);
    done(s);
}

static void a_mini_symbol_table_names_internal_functions(void **state)
{
    (void)state;
    build(functions, "-O1", "lib.so");
    temp_dir_run("objcopy -S lib.so mini --keep-symbol=first --keep-symbol=second && xz -f mini && "
                 "strip -o bare.so lib.so && objcopy --add-section .gnu_debugdata=mini.xz bare.so minied.so");
    struct strobe_symbols *s = open_one("minied.so", 0);
    assert_string_equal(one(s, address_of("lib.so", "second") + 2).function, "second");
    const struct strobe_image_report *reports;
    strobe_symbols_images(s, &reports);
    assert_int_equal(reports[0].state, STROBE_IMAGE_SYMTAB);
    done(s);
}

static void a_separate_debug_file_beside_the_library_is_used(void **state)
{
    (void)state;
    build(functions, "-g -O1", "lib.so");
    temp_dir_run("objcopy --only-keep-debug lib.so apart.debug && strip -o apart.so lib.so && "
                 "objcopy --add-gnu-debuglink=apart.debug apart.so");
    struct strobe_symbols *s = open_one("apart.so", 0);
    struct strobe_symbol found = one(s, address_of("lib.so", "first") + 1);
    assert_string_equal(found.function, "first");
    assert_non_null(strstr(found.file, "source.c"));
    done(s);
}

static void inlined_frames_are_given_outermost_first_and_only_on_request(void **state)
{
    (void)state;
    static const char *const source = "int g[64];\n"
                                      "static inline __attribute__((always_inline)) int deepest(int n) {\n"
                                      "  __asm__ volatile(\".globl marked\\nmarked: nop\"); return g[n & 63]; }\n"
                                      "static inline __attribute__((always_inline)) int middle(int n) { return\n"
                                      "  deepest(n) + 1; }\n"
                                      "int outer(int n) { int s = 0; for (int i = 0; i < n; i++) s +=\n"
                                      "  middle(i); return s; }\n";
    build(source, "-g -O1", "lib.so");
    uint64_t marked = address_of("lib.so", "marked");
    temp_dir_run("objcopy --strip-symbol=marked lib.so lib2.so");
    struct strobe_symbol out[STROBE_SYMBOLS_FRAMES_MAX];

    struct strobe_symbols *s = open_one("lib2.so", STROBE_SYMBOLS_INLINES);
    assert_int_equal(strobe_symbols_resolve(s, marked + 1, out, STROBE_SYMBOLS_FRAMES_MAX), 3);
    assert_string_equal(out[0].function, "outer");
    assert_string_equal(out[1].function, "middle");
    assert_string_equal(out[2].function, "deepest");
    assert_int_equal(out[0].line, 7);
    assert_int_equal(out[1].line, 5);
    assert_int_equal(out[2].line, 3);
    assert_true(out[0].function_id != out[1].function_id && out[1].function_id != out[2].function_id);
    assert_int_equal(strobe_symbols_resolve(s, marked + 1, out, 2), 2);
    assert_string_equal(out[0].function, "outer");
    assert_string_equal(out[1].function, "deepest");
    done(s);

    s = open_one("lib2.so", 0);
    assert_string_equal(one(s, marked).function, "outer");
    done(s);
}

/* Two units inline a function of each kind: the one of external linkage is one function, the static ones are two. */
static void an_inlined_function_is_one_where_the_program_has_one(void **state)
{
    (void)state;
    static const char *const half =
        "int g%d[64];\n"
        "extern inline __attribute__((gnu_inline, always_inline)) int shared(int n) { __asm__ volatile(\"shared%d: "
        "nop\");\n"
        "  return g%d[n & 63]; }\n"
        "static inline __attribute__((always_inline)) int own(int n) { __asm__ volatile(\"own%d: nop\");\n"
        "  return g%d[n & 31]; }\n"
        "int outer%d(int n) { return shared(n) + own(n + 1); }\n";
    for (int i = 0; i < 2; i++) {
        char source[1024], name[16];
        int n = snprintf(source, sizeof source, half, i, i, i, i, i, i);
        snprintf(name, sizeof name, "half%d.c", i);
        temp_dir_write(name, source, (size_t)n, 0644);
    }
    temp_dir_run("$CC -g -O1 -fPIC -shared -nostdlib -o whole.so half0.c half1.c");
    static const char *const labels[] = {"shared0", "shared1", "own0", "own1"};
    uint64_t at[4];
    for (int i = 0; i < 4; i++)
        at[i] = address_of("whole.so", labels[i]);
    temp_dir_run("objcopy -N shared0 -N shared1 -N own0 -N own1 whole.so lib.so");
    struct strobe_symbols *s = open_one("lib.so", STROBE_SYMBOLS_INLINES);
    struct strobe_symbol out[4][STROBE_SYMBOLS_FRAMES_MAX];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(strobe_symbols_resolve(s, at[i] + 1, out[i], STROBE_SYMBOLS_FRAMES_MAX), 2);
        assert_string_equal(out[i][1].function, i < 2 ? "shared" : "own");
    }
    assert_int_equal(out[0][1].function_id, out[1][1].function_id);
    assert_int_not_equal(out[2][1].function_id, out[3][1].function_id);
    done(s);
}

static void functions_of_equal_name_are_two_when_they_are_two_S59(void **state)
{
    (void)state;
    static const char *const halves[] = {
        "int g; static __attribute__((noinline)) int same(int n) { for (int i = 0; i < n; i++) g += i; return g; }\n"
        "int one(int n) { return same(n) + same(n + 1); }\n",
        "extern int g; static __attribute__((noinline)) int same(int n) { for (int i = n; i > 0; i--) g ^= i;\n"
        "  return g; } int two(int n) { return same(n) * same(n + 1); }\n"};
    temp_dir_write("half0.c", halves[0], strlen(halves[0]), 0644);
    temp_dir_write("half1.c", halves[1], strlen(halves[1]), 0644);
    temp_dir_run("$CC -O1 -fPIC -shared -nostdlib -o twins.so half0.c half1.c && "
                 "nm -n twins.so | grep same >same");
    size_t bytes;
    char *text = temp_dir_read("same", &bytes), *second;
    uint64_t a = strtoull(text, &second, 16), b = strtoull(strchr(second, '\n'), NULL, 16);
    free(text);
    assert_true(a != 0 && b != 0 && a != b);
    struct strobe_symbols *s = open_one("twins.so", 0);
    struct strobe_symbol x = one(s, BIAS + a), y = one(s, BIAS + b);
    assert_string_equal(x.function, "same");
    assert_string_equal(y.function, "same");
    assert_int_not_equal(x.function_id, y.function_id);
    assert_int_equal(one(s, BIAS + a + 1).function_id, x.function_id);
    assert_true(x.function_id < 2 && y.function_id < 2); /* dense from 0 */
    done(s);
}

static void an_address_used_again_after_an_unload_belongs_to_what_was_loaded_last(void **state)
{
    (void)state;
    static const char *const files[] = {"unloaded.so", "loaded.so"};
    struct strobe_symbols *s;
    make_session(files, 2);
    session.images[1].start = session.images[1].bias = BIAS;
    assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
    assert_string_equal(returned_to(s, BIAS + 0x1234).function, "loaded.so+0x1234");
    done(s);
}

static void a_function_without_a_name_gets_a_placeholder_S57(void **state)
{
    (void)state;
    build(functions, "-O1", "lib.so");
    static const char *const files[] = {"lib.so", "gone.so", "[vdso]"};
    struct strobe_symbols *s;
    make_session(files, 3);
    setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
    assert_int_equal(strobe_symbols_open(&session, STROBE_SYMBOLS_INLINES, &s), STROBE_OK);
    assert_null(getenv("DEBUGINFOD_URLS")); /* so nothing is requested over the network */
    assert_string_equal(returned_to(s, BIAS + SPAN + 0x1234).function, "gone.so+0x1234");
    struct strobe_symbol v = returned_to(s, BIAS + 2 * SPAN + 0x77);
    assert_string_equal(v.function, "[vdso]");
    assert_int_equal(returned_to(s, BIAS + 2 * SPAN + 0x99).function_id, v.function_id);
    struct strobe_symbol wild = returned_to(s, 0x1234abcd);
    assert_string_equal(wild.function, "0x1234abcd");
    assert_string_equal(wild.image, "");
    assert_string_equal(wild.file, "");
    assert_int_not_equal(wild.function_id, returned_to(s, 0x1234abce).function_id);
    assert_string_equal(returned_to(s, 0).function, "0x0");
    assert_string_equal(returned_to(s, UINT64_MAX).function, "0xffffffffffffffff");
    assert_string_equal(returned_to(s, BIAS + SPAN - 1).function, "lib.so+0x1fffff");
    const struct strobe_image_report *reports;
    assert_int_equal(strobe_symbols_images(s, &reports), 3);
    assert_int_equal(reports[1].state, STROBE_IMAGE_MISSING);
    assert_int_equal(reports[2].state, STROBE_IMAGE_NO_FILE);
    done(s);
}

/* The vdso is not a file, but all processes of a kernel have the same one. Its functions have names when the build
 * ids agree. */
static void the_vdso_has_names_while_the_kernel_is_the_same(void **state)
{
    (void)state;
    int fd = strobe_vdso_open();
    if (fd < 0) {
        print_message("no vdso here\n");
        skip();
    }
    char image[65536];
    ssize_t bytes = pread(fd, image, sizeof image, 0);
    close(fd);
    assert_true(bytes > 0);
    temp_dir_write("vdso.so", image, (size_t)bytes, 0644);
    temp_dir_run("nm -D vdso.so | sed 's/@.*//' | grep ' [TW] .*clock_gettime$' | head -n 1 >vdso-names && "
                 "readelf -n vdso.so | sed -n 's/.*Build ID: //p' >vdso-id && test -s vdso-id -a -s vdso-names");
    size_t text_bytes;
    char *text = temp_dir_read("vdso-names", &text_bytes), *id = temp_dir_read("vdso-id", &text_bytes);
    uint64_t address = BIAS + strtoull(text, NULL, 16);
    static const char *const files[] = {"[vdso]"};
    for (int other = 0; other < 2; other++) {
        struct strobe_symbols *s;
        make_session(files, 1);
        struct strobe_image_entry *e = &session.images[0];
        for (e->build_id_bytes = 0; e->build_id_bytes < 20 && id[2 * e->build_id_bytes] >= '0'; e->build_id_bytes++) {
            unsigned byte;
            assert_int_equal(sscanf(id + 2 * e->build_id_bytes, "%2x", &byte), 1);
            e->build_id[e->build_id_bytes] = (uint8_t)(byte ^ (unsigned)other);
        }
        assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
        const char *name = one(s, address + 1).function;
        if (other)
            assert_string_equal(name, "[vdso]");
        else
            assert_non_null(strstr(name, "clock_gettime"));
        done(s);
    }
    free(text);
    free(id);
}

static void a_file_that_differs_from_the_recorded_one_is_not_used(void **state)
{
    (void)state;
    build(functions, "-O1 -Wl,--build-id=0x01020304", "lib.so");
    uint64_t outer = address_of("lib.so", "outer");
    static const struct {
        uint8_t id[4];
        enum strobe_image_state state;
    } cases[] = {
        {{1, 2, 3, 4}, STROBE_IMAGE_SYMTAB},
        {{1, 2, 3, 5}, STROBE_IMAGE_CHANGED},
    };
    for (int i = 0; i < 2; i++) {
        const char *name = "lib.so";
        struct strobe_symbols *s;
        make_session(&name, 1);
        memcpy(session.images[0].build_id, cases[i].id, 4);
        session.images[0].build_id_bytes = 4;
        assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
        const char *function = one(s, outer).function;
        const struct strobe_image_report *reports;
        strobe_symbols_images(s, &reports);
        assert_int_equal(reports[0].state, cases[i].state);
        assert_int_equal(strcmp(function, "outer") == 0, cases[i].state == STROBE_IMAGE_SYMTAB);
        done(s);
    }
    /* Without a build id, the file's time decides: it was written after the capture had begun. */
    const char *name = "lib.so";
    struct strobe_symbols *s;
    make_session(&name, 1);
    session.header->begin.realtime_ns = 1000000000;
    assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
    assert_non_null(strstr(one(s, outer).function, "lib.so+0x"));
    done(s);
}

/* The image of a library on a device, as the session names it, with the build id of lib.so. */
static void make_session_of_a_device(void)
{
    const char *name = "[a device's]";
    make_session(&name, 1);
    snprintf(session.images[0].path, sizeof session.images[0].path, "/data/app/lib.so");
    memcpy(session.images[0].build_id, (const uint8_t[]){1, 2, 3, 4}, 4);
    session.images[0].build_id_bytes = 4;
    strobe_session_unmap(&session);
}

static void a_library_of_a_device_is_found_by_its_build_id(void **state)
{
    (void)state;
    char from[300], to[300], folder[300];
    const char *const paths[] = {folder};
    struct strobe_dsym_found found;
    struct strobe_error error = {""};
    struct strobe_symbols *s;
    build(functions, "-O1 -Wl,--build-id=0x01020304", "lib.so");
    uint64_t first = address_of("lib.so", "first");
    /* The first file has exported names only, and the last one is of another build. */
    temp_dir_run("mkdir -p symbols/a symbols/b && cp lib.so symbols/b/unstripped.so && "
                 "strip -o symbols/a/stripped.so lib.so && rm lib.so");
    build(functions, "-g -O1 -Wl,--build-id=0x01020305", "symbols/b/other.so");
    snprintf(from, sizeof from, "%s", temp_dir_path("session"));
    snprintf(to, sizeof to, "%s", temp_dir_path("named"));
    snprintf(folder, sizeof folder, "%s", temp_dir_path("symbols"));
    make_session_of_a_device();
    if (strobe_dsym(from, to, paths, 1, 1, &found, &error) != STROBE_OK)
        fail_msg("%s", error.text);
    assert_true(found.images == 1 && found.found == 1 && found.with_dwarf == 0);
    assert_int_equal(strobe_session_open(to, &session), STROBE_OK);
    assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
    assert_string_equal(one(s, first).function, "first");
    done(s);
    snprintf(folder, sizeof folder, "%s", temp_dir_path("symbols/b/other.so"));
    make_session_of_a_device();
    assert_int_equal(strobe_dsym(from, to, paths, 1, 1, &found, &error), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "other.so: it is of no image of the session"));
    static const struct {
        const char *make, *path, *text;
    } others[] = {
        {"mkdir -p only && cp symbols/b/other.so only", "only", "only: its files are of no image of the session"},
        {"mkdir -p empty", "empty", "empty: expected a Mach-O file for arm64 or x86_64 with a UUID in it"},
        {"ln -sf /dev/null device", "device", "device: expected a file or a folder"},
        {"echo text >text", "text", "text: expected a Mach-O file"},
        {":", "nowhere", "nowhere: No such file or directory"},
        {"echo not-an-elf >x && (printf '\\177ELF'; cat x) >damaged", "damaged", "damaged: "},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        temp_dir_run("%s", others[i].make);
        snprintf(folder, sizeof folder, "%s", temp_dir_path(others[i].path));
        assert_int_equal(strobe_dsym(from, to, paths, 1, 1, &found, &error), STROBE_BAD_INPUT);
        if (!strstr(error.text, others[i].text))
            fail_msg("%s", error.text);
    }
}

static void each_state_of_an_image_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int at = STROBE_IMAGE_UNUSED; at <= STROBE_IMAGE_NO_FILE + 1; at++)
        for (int other = STROBE_IMAGE_UNUSED; other < at; other++)
            assert_string_not_equal(strobe_image_state_text((enum strobe_image_state)at),
                                    strobe_image_state_text((enum strobe_image_state)other));
}

static void damaged_libraries_give_placeholders_and_no_harm(void **state)
{
    (void)state;
    build(functions, "-g -O1", "lib.so");
    uint64_t first = address_of("lib.so", "first");
    srand(strobe_trial_seed("test_symbols"));
    size_t bytes;
    char *whole = temp_dir_read("lib.so", &bytes), *copy = malloc(bytes);
    assert_non_null(copy);
    for (int i = 0; i < 200; i++) {
        memcpy(copy, whole, bytes);
        for (int k = rand() % 30; k > 0; k--)
            copy[(size_t)rand() % (rand() % 4 ? bytes : 64)] = (char)rand();
        temp_dir_write("harmed.so", copy, i % 4 ? bytes : (size_t)rand() % bytes, 0755);
        struct strobe_symbols *s = open_one("harmed.so", i % 2 ? STROBE_SYMBOLS_INLINES : 0);
        struct strobe_symbol out[STROBE_SYMBOLS_FRAMES_MAX];
        for (uint64_t a = first; a < first + 128; a += 3) {
            size_t n = strobe_symbols_resolve(s, a, out, STROBE_SYMBOLS_FRAMES_MAX);
            assert_true(n >= 1 && n <= STROBE_SYMBOLS_FRAMES_MAX);
            assert_true(strlen(out[n - 1].function) > 0);
        }
        done(s);
    }
    free(copy);
    free(whole);
}

static void cplusplus_and_rust_names_are_readable(void **state)
{
    (void)state;
    static const struct {
        const char *mangled, *readable;
    } cases[] = {
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_Z3foov.cold", "foo() [clone .cold]"},
        {"_ZN4core3fmt5Write10write_char17h0123456789abcdefE", "core::fmt::Write::write_char"},
        {"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
        {"main", NULL},
        {"_Z", NULL},
        {"_Rfoo", NULL},
        {"", NULL},
        {"_ZN4cut", NULL},
        {"_RC0", NULL}, /* a crate without a name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name = strobe_demangle(cases[i].mangled);
        if (cases[i].readable) {
            assert_non_null(name);
            assert_string_equal(name, cases[i].readable);
        } else {
            assert_null(name);
        }
        free(name);
    }
    build("int f(int) __asm__(\"_ZN3web6Server4servEi\");\n"
          "int g; int f(int n) { while (n--) g += n; return g; }\n",
          "-O1", "lib.so");
    uint64_t f = address_of("lib.so", "_ZN3web6Server4servEi");
    struct strobe_symbols *s = open_one("lib.so", 0);
    assert_string_equal(one(s, f).function, "web::Server::serv(int)");
    done(s);
    s = open_one("lib.so", STROBE_SYMBOLS_MANGLED);
    assert_string_equal(one(s, f).function, "_ZN3web6Server4servEi");
    done(s);
}

static void of_several_names_the_plain_one_is_shown(void **state)
{
    (void)state;
    build("int g; int __libc_thing(int n) { while (n--) g += n; return g; }\n"
          "int thing(int) __attribute__((alias(\"__libc_thing\")));\n"
          "int __GI___libc_thing(int) __attribute__((alias(\"__libc_thing\")));\n"
          "int athing(int) __attribute__((weak, alias(\"__libc_thing\")));\n",
          "-O1", "lib.so");
    struct strobe_symbols *s = open_one("lib.so", 0);
    assert_string_equal(one(s, address_of("lib.so", "thing")).function, "thing");
    done(s);
}

/* Hand-written code often has labels without a size. Such a label names the code behind it up to the next known
 * function. */
static void a_label_without_size_does_not_claim_nameless_functions_behind_it(void **state)
{
    (void)state;
    static const char source[] = ".text\n.globl entry\nentry: nop\n nop\n ret\n"
                                 ".type hidden,@function\nhidden: .cfi_startproc\n nop\n nop\n ret\n.cfi_endproc\n"
                                 ".size hidden, .-hidden\n.section .note.GNU-stack,\"\",@progbits\n";
    temp_dir_write("label.s", source, sizeof source - 1, 0644);
    temp_dir_run("$CC -shared -nostdlib -o label.so label.s && strip -o bare.so label.so");
    uint64_t entry = address_of("label.so", "entry"), hidden = address_of("label.so", "hidden");
    struct strobe_symbols *s = open_one("bare.so", 0);
    assert_string_equal(one(s, entry + 1).function, "entry");
    assert_true(one(s, hidden + 1).function_address == hidden);
    assert_non_null(strstr(one(s, hidden + 1).function, "bare.so+0x"));
    done(s);
}

/* Hand-written code often has neither symbols nor call frames. If its addresses were names, each sample would be
 * another function. */
static void code_between_two_known_functions_is_one_function(void **state)
{
    (void)state;
    static const char source[] = ".text\n.type one,@function\none: .cfi_startproc\n nop\n ret\n.cfi_endproc\n"
                                 "middle: nop\n nop\n nop\n ret\n"
                                 ".type two,@function\ntwo: .cfi_startproc\n nop\n ret\n.cfi_endproc\n"
                                 "last: nop\n ret\n.section .other,\"ax\",@progbits\nalone: nop\n nop\n ret\n"
                                 ".section .note.GNU-stack,\"\",@progbits\n";
    temp_dir_write("gaps.s", source, sizeof source - 1, 0644);
    temp_dir_run("$CC -shared -nostdlib -o gaps.so gaps.s && strip -o bare.so gaps.so");
    static const struct {
        const char *label;
        uint64_t last;
    } gaps[] = {{"middle", 3}, {"last", 1}, {"alone", 2}};
    struct strobe_symbols *s = open_one("bare.so", 0);
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        uint64_t begin = address_of("gaps.so", gaps[i].label);
        struct strobe_symbol first = one(s, begin), last = one(s, begin + gaps[i].last);
        char expected[64];
        snprintf(expected, sizeof expected, "bare.so+0x%" PRIx64, begin - BIAS);
        assert_string_equal(first.function, expected);
        assert_string_equal(last.function, expected);
        assert_int_equal(first.function_id, last.function_id);
        assert_true(last.function_address == begin);
    }
    assert_true(one(s, address_of("gaps.so", "two")).function_address == address_of("gaps.so", "two"));
    done(s);
}

/* Section headers are not loaded, so some tools leave them out. */
static void a_library_without_section_headers_gives_placeholders(void **state)
{
    (void)state;
    build(functions, "-O1", "lib.so");
    uint64_t first = address_of("lib.so", "first");
    size_t bytes;
    char *file = temp_dir_read("lib.so", &bytes);
    Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)file;
    head->e_shoff = head->e_shnum = head->e_shstrndx = 0;
    temp_dir_write("headless.so", file, bytes, 0755);
    struct strobe_symbols *s = open_one("headless.so", 0);
    for (uint64_t a = BIAS; a < first + 128; a += 8)
        assert_true(strlen(one(s, a).function) > 0);
    done(s);
    free(file);
}

/* Programs that are not position-independent have no bias. */
static void a_program_linked_at_fixed_addresses_is_resolved(void **state)
{
    (void)state;
    static const char *const source = "int g;\n"
                                      "__attribute__((noinline)) int work(int n) { while (n--) g += n; return g; }\n"
                                      "int main(int c, char **v) { (void)v; return work(c); }\n";
    temp_dir_write("fixed.c", source, strlen(source), 0644);
    temp_dir_run("$CC -O1 -no-pie -fno-pie -o fixed fixed.c");
    uint64_t work = address_of("fixed", "work") - BIAS;
    struct strobe_symbols *s = open_one("fixed", 0);
    session.images[0].bias = 0;
    session.images[0].start = work & ~0xffffu;
    session.images[0].end = session.images[0].start + 0x20000;
    strobe_symbols_close(s);
    assert_int_equal(strobe_symbols_open(&session, 0, &s), STROBE_OK);
    assert_string_equal(one(s, work + 1).function, "work");
    assert_string_equal(one(s, address_of("fixed", "main") - BIAS).function, "main");
    done(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_named_with_file_and_line_where_there_is_debug_information),
        cmocka_unit_test(a_return_address_belongs_to_the_call_before_it),
        cmocka_unit_test(padding_before_a_function_takes_no_name_from_it),
        cmocka_unit_test(nameless_functions_are_distinguished_as_well_as_named_ones),
        cmocka_unit_test(a_mini_symbol_table_names_internal_functions),
        cmocka_unit_test(a_separate_debug_file_beside_the_library_is_used),
        cmocka_unit_test(inlined_frames_are_given_outermost_first_and_only_on_request),
        cmocka_unit_test(an_inlined_function_is_one_where_the_program_has_one),
        cmocka_unit_test(functions_of_equal_name_are_two_when_they_are_two_S59),
        cmocka_unit_test(an_address_used_again_after_an_unload_belongs_to_what_was_loaded_last),
        cmocka_unit_test(a_function_without_a_name_gets_a_placeholder_S57),
        cmocka_unit_test(the_vdso_has_names_while_the_kernel_is_the_same),
        cmocka_unit_test(a_file_that_differs_from_the_recorded_one_is_not_used),
        cmocka_unit_test(a_library_of_a_device_is_found_by_its_build_id),
        cmocka_unit_test(each_state_of_an_image_has_a_text_of_its_own),
        cmocka_unit_test(damaged_libraries_give_placeholders_and_no_harm),
        cmocka_unit_test(cplusplus_and_rust_names_are_readable),
        cmocka_unit_test(of_several_names_the_plain_one_is_shown),
        cmocka_unit_test(a_label_without_size_does_not_claim_nameless_functions_behind_it),
        cmocka_unit_test(code_between_two_known_functions_is_one_function),
        cmocka_unit_test(a_library_without_section_headers_gives_placeholders),
        cmocka_unit_test(a_program_linked_at_fixed_addresses_is_resolved),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
