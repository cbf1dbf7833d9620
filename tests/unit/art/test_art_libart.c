/* The runtime's functions: the table of their names, missing functions, and how they are called. The test uses a
 * library with all names, which it builds with the linker, and Debian's library when it is installed. Properties: R-16.
 * */
#include "engine/backend/art/libart.h"
#include "engine/base/error.h"

#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct strobe_error error;
static char *all; /* a library that defines every candidate */
static size_t all_bytes;

static bool is_for(const struct strobe_art_candidate *c, int api)
{
    return c->first <= api && api <= c->last;
}

/* Makes the library. Each function is 16 bytes, so that their addresses differ. */
static void make_library(void)
{
    if (all)
        return;
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    char *source = calloc(count, 512), *at = source;
    assert_non_null(source);
    at += sprintf(at, ".text\n");
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, ".globl %s\n.type %s, %%function\n%s: .skip 16\n.size %s, 16\n", c[i].mangled, c[i].mangled,
                      c[i].mangled, c[i].mangled);
    temp_dir_write("all.s", source, (size_t)(at - source), 0644);
    free(source);
    temp_dir_run("$CC -shared -nostdlib -Wl,-s -o all.so all.s");
    all = temp_dir_read("all.so", &all_bytes);
}

/* Changes the first character of a name in the library wherever the name occurs, so that it is not found. */
static void rename_all(char *library, const char *name)
{
    size_t n = strlen(name) + 1;
    for (size_t i = 1; i + n <= all_bytes; i++)
        if (!library[i - 1] && !memcmp(library + i, name, n))
            library[i] = '#';
}

static enum strobe_status resolve_without(int symbol, const char *but, int api, struct strobe_libart *out)
{
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    char *library = malloc(all_bytes);
    assert_non_null(library);
    memcpy(library, all, all_bytes);
    for (size_t i = 0; i < count; i++)
        if ((int)c[i].symbol == symbol && (!but || strcmp(but, c[i].mangled)))
            rename_all(library, c[i].mangled);
    const char *path = temp_dir_write("libart.so", library, all_bytes, 0644);
    free(library);
    struct strobe_module m;
    assert_int_equal(strobe_module_open_file(path, 0, &m, &error), STROBE_OK);
    enum strobe_status s = strobe_libart_resolve(&m, api, out, &error);
    strobe_module_close(&m);
    return s;
}

static void the_candidates_of_a_symbol_stand_in_a_row(void **state)
{
    (void)state;
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 ? c[i].symbol == 0 : c[i].symbol == c[i - 1].symbol || c[i].symbol == c[i - 1].symbol + 1);
        assert_true(STROBE_ART_LEVEL_FIRST <= c[i].first && c[i].first <= c[i].last);
        assert_true(c[i].last <= STROBE_ART_LEVEL_LAST);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(c[i].mangled, c[k].mangled);
    }
    assert_int_equal(c[count - 1].symbol, STROBE_ART_SYMBOLS - 1);
}

/* In a mangled name, the length of each part comes before it. This finds typing errors. */
static void lengths_in_mangled_names_are_those_of_what_follows(void **state)
{
    (void)state;
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    for (size_t i = 0; i < count; i++) {
        const char *p = c[i].mangled;
        if (strncmp(p, "_Z", 2) != 0)
            continue;
        for (p += 2; *p;) {
            if (*p < '1' || *p > '9' || p[-1] == 'S' || p[-1] == 'E') {
                p++;
                continue;
            }
            char *end;
            size_t n = strtoul(p, &end, 10);
            assert_true(strlen(end) >= n);
            for (size_t k = 0; k < n; k++)
                assert_true(end[k] == '_' || (end[k] >= '0' && end[k] <= '9' && k) || (end[k] >= 'A' && end[k] <= 'z'));
            p = end + n;
            assert_true(!*p || strchr("EINSPKRCLBLbijlxv0123456789", *p) != NULL);
        }
    }
}

static void what_is_needed_has_names_at_every_level(void **state)
{
    (void)state;
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    for (int api = STROBE_ART_LEVEL_FIRST; api <= STROBE_ART_LEVEL_LAST; api++)
        for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
            enum strobe_art_use use = strobe_art_symbol_use(s);
            if (use != STROBE_ART_NEEDED && use != STROBE_ART_SUSPEND && use != STROBE_ART_NAMES)
                continue;
            bool any = false;
            for (size_t i = 0; i < count; i++)
                any = any || ((int)c[i].symbol == s && is_for(&c[i], api));
            assert_true(any);
        }
}

static void every_symbol_and_use_has_a_name(void **state)
{
    (void)state;
    for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
        assert_non_null(strobe_art_symbol_name(s));
        assert_in_range(strobe_art_symbol_use(s), 0, STROBE_ART_USES - 1);
    }
    for (int u = 0; u < STROBE_ART_USES; u++)
        assert_non_null(strobe_art_use_name(u));
}

static void levels_are_those_of_the_table_and_no_others(void **state)
{
    (void)state;
    for (int api = STROBE_ART_LEVEL_FIRST; api <= STROBE_ART_LEVEL_LAST; api++) {
        const struct strobe_art_level *l = strobe_art_level(api);
        assert_non_null(l);
        assert_int_equal(l->api, api);
        assert_true(l->thread_list_before[0] && l->class_linker_before[0] && l->heap_before[0]);
        /* the object's class, two or three words, two half words, then pointers */
        assert_int_equal(l->method_bytes % 8, 0);
        assert_int_equal(l->method_bytes_32 % 4, 0);
        assert_true(l->method_dex_index + 8 <= l->method_bytes_32 && l->method_bytes_32 < l->method_bytes);
    }
    assert_null(strobe_art_level(STROBE_ART_LEVEL_FIRST - 1));
    assert_null(strobe_art_level(STROBE_ART_LEVEL_LAST + 1));
    make_library();
    struct strobe_libart a;
    assert_int_equal(resolve_without(-1, NULL, 23, &a), STROBE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "level 23 is none of 24 to 36"));
}

static void a_library_without_a_needed_symbol_is_refused_by_its_name(void **state)
{
    (void)state;
    make_library();
    for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
        if (strobe_art_symbol_use(s) != STROBE_ART_NEEDED)
            continue;
        for (int api = STROBE_ART_LEVEL_FIRST; api <= STROBE_ART_LEVEL_LAST; api++) {
            struct strobe_libart a;
            char words[128];
            assert_int_equal(resolve_without(s, NULL, api, &a), STROBE_UNSUPPORTED);
            snprintf(words, sizeof words, "libart.so (%.64s", temp_dir_path("libart.so"));
            assert_ptr_equal(strstr(error.text, words), error.text);
            snprintf(words, sizeof words, "): no %s, which nothing goes without (looked for _Z",
                     strobe_art_symbol_name(s));
            assert_non_null(strstr(error.text, words));
            assert_non_null(strstr(error.text, " in .dynsym, .symtab, .gnu_debugdata)"));
            assert_null(strchr(error.text, '\n'));
        }
    }
}

static void a_feature_without_a_symbol_is_off_and_names_it(void **state)
{
    (void)state;
    make_library();
    for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
        enum strobe_art_use use = strobe_art_symbol_use(s);
        struct strobe_libart a;
        if (use == STROBE_ART_NEEDED)
            continue;
        assert_int_equal(resolve_without(s, NULL, 30, &a), STROBE_OK);
        assert_int_equal(a.address[s], 0);
        assert_int_equal(a.missing[use], strobe_art_symbol_optional(s) ? 0 : s + 1);
        for (int u = 0; u < STROBE_ART_USES; u++)
            assert_true(strobe_libart_has(&a, u) == (u != (int)use || strobe_art_symbol_optional(s)));
    }
}

static void a_library_with_one_name_of_a_symbol_is_called_as_that_name_says(void **state)
{
    (void)state;
    make_library();
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    for (size_t i = 0; i < count; i++)
        for (int api = c[i].first; api <= c[i].last; api++) {
            struct strobe_libart a;
            assert_int_equal(resolve_without((int)c[i].symbol, c[i].mangled, api, &a), STROBE_OK);
            assert_true(a.address[c[i].symbol] != 0);
            assert_int_equal(a.shape[c[i].symbol], c[i].shape);
        }
}

static void a_runtime_updated_apart_from_the_system_is_found_by_its_later_names(void **state)
{
    (void)state;
    make_library();
    struct strobe_libart a;
    const char *later = "_ZN3art10ThreadList13RunCheckpointEPNS_7ClosureES2_bb";
    assert_int_equal(resolve_without(STROBE_ART_RUN_CHECKPOINT, later, 31, &a), STROBE_OK);
    assert_int_equal(a.shape[STROBE_ART_RUN_CHECKPOINT], STROBE_ART_SHAPE_TWO_FLAGS);
    assert_int_equal(resolve_without(STROBE_ART_RUN_CHECKPOINT, later, 30, &a), STROBE_OK);
    assert_int_equal(a.missing[STROBE_ART_ALLOC], STROBE_ART_RUN_CHECKPOINT + 1);
}

static void strings_are_those_of_the_named_library(void **state)
{
    (void)state;
    make_library();
    struct strobe_libart a;
    assert_int_equal(resolve_without(STROBE_ART_METHOD_PRETTY, "_ZN3art9ArtMethod12PrettyMethodEb", 30, &a), STROBE_OK);
    assert_true(a.libcxx);
    assert_int_equal(resolve_without(STROBE_ART_METHOD_PRETTY, "_ZN3art9ArtMethod12PrettyMethodB5cxx11Eb", 30, &a),
                     STROBE_OK);
    assert_false(a.libcxx);
}

static void a_library_that_is_not_loaded_is_reported(void **state)
{
    (void)state;
    struct strobe_libart a;
    assert_int_equal(strobe_libart_open("libno-such-runtime.so", 30, &a, &error), STROBE_NO_ENTRY);
    assert_string_equal(error.text, "libno-such-runtime.so: no such library is loaded");
    assert_int_equal(strobe_libart_open("libno-such-runtime.so", 30, &a, NULL), STROBE_NO_ENTRY);
}

/* Debian's library needs libraries that it does not list. They are opened first, with global visibility. */
static void debians_runtime_has_all_that_level_30_asks_for(void **state)
{
    (void)state;
    static const char *const first[] = {"liblz4.so.1",          "libz.so.1",          "liblog.so.0",
                                        "libbase.so.0",         "libsigchain.so.0",   "libnativebridge.so.0",
                                        "libnativeloader.so.0", "libziparchive.so.0", "libbacktrace.so.0",
                                        "libart.so.0"};
    glob_t found;
    char path[512];
    if (strobe_trial_valgrind()) {
        print_message("valgrind fails on this library's unwind tables\n");
        skip();
    }
    if (glob("/usr/lib/*/android/libart.so.0", 0, NULL, &found))
        skip();
    int folder = (int)(strrchr(found.gl_pathv[0], '/') - found.gl_pathv[0]);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        snprintf(path, sizeof path, "%.*s/%s", i < 2 ? 0 : folder, found.gl_pathv[0], first[i]);
        if (!dlopen(i < 2 ? first[i] : path, RTLD_NOW | RTLD_GLOBAL)) {
            print_message("%s\n", dlerror());
            skip();
        }
    }
    globfree(&found);
    struct strobe_libart a;
    assert_int_equal(strobe_libart_open(NULL, 30, &a, &error), STROBE_OK);
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    for (int s = 0; s < STROBE_ART_SYMBOLS; s++) {
        bool exported = false, asked_for = false;
        for (size_t i = 0; i < count; i++)
            asked_for |= (int)c[i].symbol == s && is_for(&c[i], 30);
        if (!asked_for)
            continue;
        for (size_t i = 0; i < count; i++)
            exported = exported || ((int)c[i].symbol == s && is_for(&c[i], 30) &&
                                    (uintptr_t)dlsym(RTLD_DEFAULT, c[i].mangled) == a.address[s]);
        if (!exported || !a.address[s])
            print_message("%s\n", strobe_art_symbol_name(s));
        assert_true(exported && a.address[s]);
    }
    assert_false(a.libcxx);
    assert_int_equal(a.shape[STROBE_ART_RESET_ALLOC_ENTRYPOINTS], STROBE_ART_SHAPE_MORE_FLAGS);
    for (int u = 0; u < STROBE_ART_USES; u++)
        assert_true(strobe_libart_has(&a, u));
    assert_null(strobe_art_current(&a)); /* no thread of this process is attached */
}

/* ---- calls: functions that note their arguments */

static struct {
    void *list, *second;
    uint64_t third;
} called;
static int a_thread;

static void *suspend_usual(void *list, uint32_t id, char reason, bool *timed_out)
{
    called.list = list;
    called.third = id;
    assert_int_equal(reason, 0);
    *timed_out = true;
    return &a_thread;
}

static void *suspend_bool(void *list, uint32_t id, bool for_debugger, bool *timed_out)
{
    assert_false(for_debugger);
    return suspend_usual(list, id, 0, timed_out);
}

static void *suspend_attempt(void *list, uint32_t id, char reason, int attempt)
{
    bool timed_out;
    assert_int_equal(attempt, 0);
    return suspend_usual(list, id, reason, &timed_out);
}

static void *suspend_short(void *list, uint32_t id, char reason)
{
    return suspend_attempt(list, id, reason, 0);
}

static void *peer_usual(void *list, void *peer, bool request, char reason, bool *timed_out)
{
    called.second = peer;
    assert_true(request);
    return suspend_usual(list, 9, reason, timed_out);
}

static void *peer_bool(void *list, void *peer, bool request, bool for_debugger, bool *timed_out)
{
    assert_false(for_debugger);
    return peer_usual(list, peer, request, 0, timed_out);
}

static void *peer_no_request(void *list, void *peer, char reason, bool *timed_out)
{
    return peer_usual(list, peer, true, reason, timed_out);
}

static void *peer_short(void *list, void *peer, char reason)
{
    bool timed_out;
    return peer_usual(list, peer, true, reason, &timed_out);
}

static bool resume_usual(void *list, void *thread, char reason)
{
    called.list = list;
    called.second = thread;
    assert_int_equal(reason, 0);
    return thread == &a_thread;
}

static void resume_bool(void *list, void *thread, bool for_debugger)
{
    assert_false(for_debugger);
    resume_usual(list, thread, 0);
}

static size_t checkpoint_two(void *list, void *closure, void *callback, bool check, bool acquire)
{
    called.list = list;
    called.second = closure;
    assert_null(callback);
    assert_true(check);
    assert_false(acquire);
    return 7;
}

static size_t checkpoint_more(void *list, void *closure, void *callback, bool check)
{
    return checkpoint_two(list, closure, callback, check, false);
}

static size_t checkpoint_usual(void *list, void *closure, void *callback)
{
    return checkpoint_two(list, closure, callback, true, false);
}

static size_t checkpoint_alone(void *list, void *closure)
{
    return checkpoint_two(list, closure, NULL, true, false);
}

#define SHAPE(function, shape)                                                                                         \
    {                                                                                                                  \
        (uint64_t)(uintptr_t) function, STROBE_ART_SHAPE_##shape                                                       \
    }
struct shaped {
    uint64_t address;
    uint8_t shape;
};

static struct strobe_libart *with(struct strobe_libart *a, enum strobe_art_symbol symbol, struct shaped f)
{
    memset(a, 0, sizeof *a);
    memset(&called, 0, sizeof called);
    a->address[symbol] = f.address;
    a->shape[symbol] = f.shape;
    return a;
}

static void functions_are_called_in_their_shape(void **state)
{
    (void)state;
    const struct shaped suspends[] = {SHAPE(suspend_usual, USUAL), SHAPE(suspend_bool, BOOL_REASON),
                                      SHAPE(suspend_short, NO_TIMED_OUT), SHAPE(suspend_attempt, ATTEMPT)};
    const struct shaped peers[] = {SHAPE(peer_usual, USUAL), SHAPE(peer_bool, BOOL_REASON),
                                   SHAPE(peer_no_request, NO_REQUEST), SHAPE(peer_short, NO_TIMED_OUT)};
    const struct shaped resumes[] = {SHAPE(resume_usual, USUAL), SHAPE(resume_bool, BOOL_REASON)};
    const struct shaped checkpoints[] = {SHAPE(checkpoint_usual, USUAL), SHAPE(checkpoint_alone, NO_CALLBACK),
                                         SHAPE(checkpoint_more, MORE_FLAGS), SHAPE(checkpoint_two, TWO_FLAGS)};
    struct strobe_libart a;
    int list, peer;
    struct strobe_art_closure closure;
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(strobe_art_suspend(with(&a, STROBE_ART_SUSPEND_BY_ID, suspends[i]), &list, 77), &a_thread);
        assert_true(called.list == &list && called.third == 77);
        assert_ptr_equal(strobe_art_suspend_peer(with(&a, STROBE_ART_SUSPEND_BY_PEER, peers[i]), &list, &peer),
                         &a_thread);
        assert_true(called.list == &list && called.second == &peer);
        with(&a, STROBE_ART_RUN_CHECKPOINT, checkpoints[i]);
        assert_int_equal(strobe_art_run_checkpoint(&a, &list, &closure), 7);
        assert_true(called.list == &list && called.second == &closure);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_true(strobe_art_resume(with(&a, STROBE_ART_RESUME, resumes[i]), &list, &a_thread));
        assert_true(called.list == &list && called.second == &a_thread);
    }
    assert_false(strobe_art_resume(with(&a, STROBE_ART_RESUME, resumes[0]), &list, &list));
    memset(&a, 0, sizeof a);
    assert_null(strobe_art_suspend_peer(&a, &list, &peer));
}

static int end(void **state)
{
    free(all);
    return temp_dir_close(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_candidates_of_a_symbol_stand_in_a_row),
        cmocka_unit_test(lengths_in_mangled_names_are_those_of_what_follows),
        cmocka_unit_test(what_is_needed_has_names_at_every_level),
        cmocka_unit_test(every_symbol_and_use_has_a_name),
        cmocka_unit_test(levels_are_those_of_the_table_and_no_others),
        cmocka_unit_test(a_library_without_a_needed_symbol_is_refused_by_its_name),
        cmocka_unit_test(a_feature_without_a_symbol_is_off_and_names_it),
        cmocka_unit_test(a_library_with_one_name_of_a_symbol_is_called_as_that_name_says),
        cmocka_unit_test(a_runtime_updated_apart_from_the_system_is_found_by_its_later_names),
        cmocka_unit_test(strings_are_those_of_the_named_library),
        cmocka_unit_test(a_library_that_is_not_loaded_is_reported),
        cmocka_unit_test(debians_runtime_has_all_that_level_30_asks_for),
        cmocka_unit_test(functions_are_called_in_their_shape),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, end);
}
