/* Hooks: words of methods and slots of libraries are replaced, the hook calls the original, and removal restores the
 * words, whichever step fails. */
#include "engine/backend/art/hooks/hook.h"
#include "engine/backend/common/slots/mapping.h"
#include "tests/support/temporary.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* The system's calls, one of which may be made to fail. */
static int protects, failing_protect;

int mprotect(void *start, size_t bytes, int protection)
{
    if (++protects == failing_protect) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

/* ---- native ---- */

static int first_function, second_function;

static void the_word_of_a_known_function_is_found_where_it_stands_once(void **state)
{
    void *method[6] = {NULL, &second_function, (void *)8, &first_function, NULL, NULL};
    uint32_t offset = 0;
    (void)state;
    assert_int_equal(strobe_hook_native_offset(method, sizeof method, &first_function, &offset), STROBE_OK);
    assert_int_equal(offset, 3 * sizeof(void *));
}

static void a_known_function_that_is_found_nowhere_or_twice_gives_no_offset(void **state)
{
    void *method[4] = {NULL, &second_function, NULL, &second_function};
    char shifted[4 * sizeof(void *)] = {0};
    uint32_t offset = 0;
    void *known = &first_function;
    (void)state;
    assert_int_equal(strobe_hook_native_offset(method, sizeof method, &first_function, &offset), STROBE_NO_ENTRY);
    assert_int_equal(strobe_hook_native_offset(method, sizeof method, &second_function, &offset), STROBE_NO_ENTRY);
    memcpy(shifted + 4, &known, sizeof known);
    assert_int_equal(strobe_hook_native_offset(shifted, sizeof known + 3, &first_function, &offset), STROBE_NO_ENTRY);
    assert_int_equal(strobe_hook_native_offset(method, sizeof(void *), NULL, &offset), STROBE_OK);
    assert_int_equal(offset, 0);
}

static void a_native_function_is_exchanged_and_put_back(void **state)
{
    void *method[4] = {(void *)1, &first_function, (void *)2, (void *)3}, *before[4];
    struct strobe_hook h = {0};
    (void)state;
    memcpy(before, method, sizeof method);
    assert_int_equal(strobe_hook_native(&h, method, sizeof(void *), &second_function), STROBE_OK);
    assert_ptr_equal(method[1], &second_function);
    assert_ptr_equal(h.original, &first_function);
    assert_int_equal(strobe_hook_native(&h, method, sizeof(void *), &second_function), STROBE_EXISTS);
    assert_int_equal(strobe_hook_remove(&h), STROBE_OK);
    assert_memory_equal(before, method, sizeof method);
    assert_ptr_equal(h.original, &first_function); /* calls in progress may still read it */
    assert_int_equal(strobe_hook_remove(&h), STROBE_OK);
    assert_memory_equal(before, method, sizeof method);
}

static void a_method_without_native_function_is_left_alone(void **state)
{
    void *method[2] = {NULL, NULL};
    struct strobe_hook h = {0};
    (void)state;
    assert_int_equal(strobe_hook_native(&h, method, 0, &second_function), STROBE_NO_ENTRY);
    assert_null(method[0]);
    assert_int_equal(h.kind, STROBE_HOOK_NONE);
}

static void a_native_hook_under_another_one_stays_until_that_is_gone(void **state)
{
    void *method[1] = {&first_function};
    struct strobe_hook ours = {0}, theirs = {0};
    (void)state;
    assert_int_equal(strobe_hook_native(&ours, method, 0, &second_function), STROBE_OK);
    assert_int_equal(strobe_hook_native(&theirs, method, 0, &second_function), STROBE_EXISTS);
    assert_int_equal(strobe_hook_native(&theirs, method, 0, &ours), STROBE_OK);
    assert_int_equal(strobe_hook_remove(&ours), STROBE_EXISTS);
    assert_ptr_equal(method[0], &ours);
    assert_int_equal(strobe_hook_remove(&theirs), STROBE_OK);
    assert_int_equal(strobe_hook_remove(&ours), STROBE_OK);
    assert_ptr_equal(method[0], &first_function);
}

/* ---- slots ---- */

static struct strobe_hook hook;
static int caught;

static void *catch_malloc(size_t bytes)
{
    __atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
    return ((void *(*)(size_t))hook.original)(bytes);
}

static void catch_free(void *p)
{
    __atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
    ((void (*)(void *))hook.original)(p);
}

static void catch_free_on_top(void *p)
{
    catch_free(p);
}

typedef gzFile opener(const char *, const char *);

/* Returns the number of calls that the hook caught while the library opened a file. */
static int caught_in(opener *opens)
{
    caught = 0;
    gzFile file = opens("/dev/null", "rb");
    int seen = caught;
    assert_non_null(file);
    gzclose(file);
    return seen;
}

/* The bytes of all libraries that the loader protects after binding, and the mappings of all files. */
static int own_memory;
struct snapshot {
    unsigned char *bytes;
    size_t count;
    char maps[1 << 16];
};

static int copy_bound(struct dl_phdr_info *info, size_t info_bytes, void *p)
{
    struct snapshot *s = p;
    (void)info_bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type != PT_GNU_RELRO)
            continue;
        s->bytes = realloc(s->bytes, s->count + h->p_memsz);
        assert_int_equal(pread(own_memory, s->bytes + s->count, h->p_memsz, (off_t)(info->dlpi_addr + h->p_vaddr)),
                         h->p_memsz);
        s->count += h->p_memsz;
    }
    return 0;
}

static struct snapshot *snapshot(void)
{
    struct snapshot *s = calloc(1, sizeof *s);
    char line[512];
    size_t used = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) {
        size_t bytes = strlen(line);
        if (strstr(line, ".so") && used + bytes < sizeof s->maps) {
            memcpy(s->maps + used, line, bytes);
            used += bytes;
        }
    }
    fclose(f);
    own_memory = open("/proc/self/mem", O_RDONLY);
    dl_iterate_phdr(copy_bound, s);
    close(own_memory);
    return s;
}

static void assert_unchanged_since(struct snapshot *before)
{
    struct snapshot *now = snapshot();
    assert_string_equal(before->maps, now->maps);
    assert_int_equal(before->count, now->count);
    assert_memory_equal(before->bytes, now->bytes, now->count);
    free(now->bytes);
    free(now);
    free(before->bytes);
    free(before);
}

static void calls_of_libraries_are_caught_until_the_hook_is_removed(void **state)
{
    struct snapshot *before = snapshot();
    void *(*volatile ours)(size_t) = malloc;
    (void)state;
    hook = (struct strobe_hook){0};
    assert_int_equal(caught_in(gzopen), 0);
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_OK);
    assert_true(hook.slot_count > 1);
    assert_true(caught_in(gzopen) > 0);
    caught = 0;
    free(ours(20));
    assert_int_equal(caught, 0); /* the library's slots do not affect the test's own calls */
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
    assert_int_equal(caught_in(gzopen), 0);
    assert_unchanged_since(before);
}

static void the_original_of_slots_that_were_never_called_is_the_function(void **state)
{
    (void)state;
    hook = (struct strobe_hook){0};
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_OK);
    assert_ptr_equal(hook.original, dlsym(RTLD_DEFAULT, "malloc"));
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
}

static void a_symbol_without_calls_is_no_entry(void **state)
{
    (void)state;
    hook = (struct strobe_hook){0};
    assert_int_equal(strobe_hook_slots(&hook, "no_function_of_this_name", (void *)catch_free), STROBE_NO_ENTRY);
    assert_int_equal(hook.kind, STROBE_HOOK_NONE);
}

static void whichever_protection_fails_nothing_stays_changed(void **state)
{
    struct strobe_hook whole = {0};
    (void)state;
    protects = 0;
    assert_int_equal(strobe_hook_slots(&hook, "free", (void *)catch_free), STROBE_OK);
    int needed = protects;
    whole = hook;
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
    assert_true(needed >= 2); /* the C library's own slot is read-only */
    for (int i = 1; i <= needed; i++) {
        struct snapshot *before = snapshot();
        protects = 0;
        failing_protect = i;
        assert_int_equal(strobe_hook_slots(&hook, "free", (void *)catch_free), STROBE_IO);
        assert_int_equal(errno, EACCES);
        failing_protect = 0;
        assert_int_equal(hook.kind, STROBE_HOOK_NONE);
        for (uint32_t k = 0; k < whole.slot_count; k++)
            assert_ptr_equal(*whole.slot[k].at, whole.slot[k].before);
        assert_unchanged_since(before);
    }
}

static void a_removal_that_fails_can_be_tried_again(void **state)
{
    struct snapshot *before = snapshot();
    (void)state;
    assert_int_equal(strobe_hook_slots(&hook, "free", (void *)catch_free), STROBE_OK);
    protects = 0;
    failing_protect = 1;
    assert_int_equal(strobe_hook_remove(&hook), STROBE_IO);
    failing_protect = 0;
    assert_int_equal(hook.kind, STROBE_HOOK_SLOT);
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
    assert_unchanged_since(before);
}

static void slots_under_another_hook_stay_until_that_is_gone(void **state)
{
    struct snapshot *before = snapshot();
    struct strobe_hook other = {0};
    (void)state;
    hook = (struct strobe_hook){0};
    assert_int_equal(strobe_hook_slots(&hook, "free", (void *)catch_free), STROBE_OK);
    assert_int_equal(strobe_hook_slots(&hook, "free", (void *)catch_malloc), STROBE_EXISTS);
    assert_int_equal(strobe_hook_slots(&other, "free", (void *)catch_free_on_top), STROBE_OK);
    assert_ptr_equal(other.original, (void *)catch_free);
    assert_int_equal(strobe_hook_remove(&hook), STROBE_EXISTS);
    assert_int_equal(strobe_hook_remove(&other), STROBE_OK);
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
    assert_unchanged_since(before);
}

/* ---- libraries that come and go ---- */

static void copy_file(const char *from, const char *to)
{
    char bytes[1 << 16];
    ssize_t got;
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    assert_int_equal(close(out), 0);
    close(in);
}

/* A separate library for each number: a copy of the one that reads compressed files. */
static void *open_copy(int number)
{
    char path[TEMPORARY_BYTES];
    Dl_info info;
    temporary_path(path, "strobe-slots-%d-%d.so", (int)getpid(), number);
    assert_int_not_equal(dladdr((void *)gzopen, &info), 0);
    copy_file(info.dli_fname, path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    assert_non_null(library);
    return library;
}

static opener *opener_of(void *library)
{
    return (opener *)dlsym(library, "gzopen");
}

static void a_library_loaded_later_is_hooked_at_the_next_scan(void **state)
{
    struct snapshot *before = snapshot();
    (void)state;
    hook = (struct strobe_hook){0};
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_OK);
    uint32_t slots = hook.slot_count;
    void *library = open_copy(0);
    assert_int_equal(caught_in(opener_of(library)), 0);
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_OK);
    assert_int_equal(hook.slot_count, slots + 1);
    assert_true(caught_in(opener_of(library)) > 0);
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_OK);
    assert_int_equal(hook.slot_count, slots + 1);
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
    assert_int_equal(caught_in(opener_of(library)), 0);
    dlclose(library);
    assert_unchanged_since(before);
}

static void slots_of_a_library_that_is_gone_do_not_hinder_the_removal(void **state)
{
    struct snapshot *before = snapshot();
    void *library = open_copy(0);
    (void)state;
    hook = (struct strobe_hook){0};
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_OK);
    assert_true(caught_in(opener_of(library)) > 0);
    dlclose(library);
    assert_int_equal(strobe_hook_remove(&hook), STROBE_OK);
    assert_int_equal(caught_in(gzopen), 0);
    assert_unchanged_since(before);
}

static void more_slots_than_there_is_room_for_are_refused_and_left_alone(void **state)
{
    void *library[STROBE_HOOK_SLOTS_MAX + 1];
    (void)state;
    for (int i = 0; i <= STROBE_HOOK_SLOTS_MAX; i++)
        library[i] = open_copy(i);
    struct snapshot *before = snapshot();
    hook = (struct strobe_hook){0};
    assert_int_equal(strobe_hook_slots(&hook, "malloc", (void *)catch_malloc), STROBE_FULL);
    assert_int_equal(hook.kind, STROBE_HOOK_NONE);
    for (int i = 0; i <= STROBE_HOOK_SLOTS_MAX; i++)
        assert_int_equal(caught_in(opener_of(library[i])), 0);
    assert_unchanged_since(before);
    for (int i = 0; i <= STROBE_HOOK_SLOTS_MAX; i++)
        dlclose(library[i]);
}

/* ---- inline ---- */

struct fake_hooker {
    int answer, installs, removes;
};

static int fake_install(void *ctx, void *target, void *replacement, void **original, void **handle)
{
    struct fake_hooker *f = ctx;
    (void)replacement;
    f->installs++;
    *original = target;
    *handle = f;
    return f->answer;
}

static int fake_remove(void *ctx, void *handle)
{
    struct fake_hooker *f = ctx;
    assert_ptr_equal(handle, f);
    f->removes++;
    return f->answer;
}

static void an_inline_hooker_is_asked_once_and_its_refusals_are_said(void **state)
{
    struct fake_hooker f = {0};
    struct strobe_inline_hooker hooker = {.name = "fake", .install = fake_install, .remove = fake_remove, .ctx = &f};
    struct strobe_hook h = {0};
    struct strobe_hook_request r = {.hook = &h, .target = &first_function, .replacement = &second_function};
    (void)state;
    f.answer = ERANGE;
    strobe_hook_inline_all(&hooker, &r, 1);
    assert_int_equal(r.refused, ERANGE);
    assert_non_null(strstr(r.why.text, "error"));
    assert_int_equal(strobe_hook_remove(&h), STROBE_OK);
    f.answer = 0;
    strobe_hook_inline_all(&hooker, &r, 1);
    assert_int_equal(r.refused, 0);
    strobe_hook_inline_all(&hooker, &r, 1); /* it is as the caller wants it */
    assert_int_equal(r.refused, 0);
    assert_int_equal(f.installs, 2);
    r.replacement = &first_function;
    strobe_hook_inline_all(&hooker, &r, 1);
    assert_int_equal(r.refused, EEXIST);
    assert_int_equal(f.installs, 2);
    f.answer = EEXIST;
    assert_int_equal(strobe_hook_remove(&h), STROBE_EXISTS);
    f.answer = EACCES;
    assert_int_equal(strobe_hook_remove(&h), STROBE_IO);
    f.answer = 0;
    assert_int_equal(strobe_hook_remove(&h), STROBE_OK);
    assert_int_equal(strobe_hook_remove(&h), STROBE_OK);
    assert_int_equal(f.removes, 3);
}

static void fake_remove_all(void *ctx, struct strobe_inline_request *request, size_t count)
{
    struct fake_hooker *f = ctx;
    f->removes++;
    for (size_t i = 0; i < count; i++)
        request[i].refused = i == 1 ? f->answer : 0;
}

static void hooks_are_removed_at_once_and_one_that_is_refused_stays(void **state)
{
    struct fake_hooker f = {0}, single = {0};
    struct strobe_inline_hooker at_once = {
        .name = "fake", .install = fake_install, .remove_all = fake_remove_all, .ctx = &f};
    struct strobe_inline_hooker one_by_one = {
        .name = "fake", .install = fake_install, .remove = fake_remove, .ctx = &single};
    struct strobe_hook h[4] = {{0}}, *all[4] = {&h[0], &h[1], &h[2], &h[3]};
    struct strobe_hook_request r[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        r[i] = (struct strobe_hook_request){.hook = &h[i], .target = &first_function, .replacement = &second_function};
    strobe_hook_inline_all(&at_once, r, 2);
    strobe_hook_inline_all(&one_by_one, r + 2, 1);
    f.answer = EEXIST;
    strobe_hook_remove_all(all, 4); /* the last is not installed */
    assert_int_equal(f.removes, 1);
    assert_int_equal(single.removes, 1);
    assert_int_equal(h[0].kind, STROBE_HOOK_NONE);
    assert_int_equal(h[1].kind, STROBE_HOOK_INLINE);
    assert_int_equal(h[2].kind, STROBE_HOOK_NONE);
    strobe_hook_remove_all(&all[1], 1);
    assert_int_equal(h[1].kind, STROBE_HOOK_NONE);
    strobe_hook_remove_all(all, 4);
    assert_int_equal(f.removes + single.removes, 3);
}

/* ---- mappings ---- */

static void memory_is_protected_again_as_it_was(void **state)
{
    struct strobe_mapping m;
    struct strobe_unprotected u;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    munmap(pages + 2 * page, page);
    assert_int_equal(strobe_unprotect(pages + page - 2, 4, &u), STROBE_OK);
    pages[page - 1] = pages[page] = 1;
    assert_int_equal(strobe_protect_again(&u), STROBE_OK);
    assert_int_equal(strobe_mapping_at(pages, &m), STROBE_OK);
    assert_int_equal(m.protection, PROT_READ | PROT_EXEC);
    assert_true(m.start <= (uintptr_t)pages && m.end == (uintptr_t)(pages + 2 * page));
    assert_int_equal(strobe_unprotect(pages + 2 * page - 2, 4, &u), STROBE_BAD_INPUT);
    munmap(pages, 2 * page);
    assert_int_equal(strobe_unprotect(pages, 4, &u), STROBE_NO_ENTRY);
    assert_int_equal(strobe_mapping_at(NULL, &m), STROBE_NO_ENTRY);
    protects = 0;
    assert_int_equal(strobe_unprotect(&m, sizeof m, &u), STROBE_OK);
    assert_int_equal(strobe_protect_again(&u), STROBE_OK);
    assert_int_equal(protects, 0);
}

static void memory_near_code_is_in_reach_wherever_other_memory_is(void **state)
{
    enum { REACH = 64 << 20, HOLE = 128 << 10 };
    char *taken = mmap(NULL, 2 * (size_t)REACH + HOLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *place = taken + REACH, *hole = place - (REACH / 4) * 3;
    (void)state;
    assert_ptr_not_equal(taken, MAP_FAILED);
    assert_null(strobe_map_near(place, REACH, PROT_READ | PROT_WRITE));
    munmap(hole, HOLE);
    char *found = strobe_map_near(place, REACH, PROT_READ | PROT_WRITE);
    assert_true(found >= hole && found < hole + HOLE);
    found[0] = found[STROBE_NEAR_BYTES - 1] = 1;
    munmap(taken, 2 * (size_t)REACH + HOLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_word_of_a_known_function_is_found_where_it_stands_once),
        cmocka_unit_test(a_known_function_that_is_found_nowhere_or_twice_gives_no_offset),
        cmocka_unit_test(a_native_function_is_exchanged_and_put_back),
        cmocka_unit_test(a_method_without_native_function_is_left_alone),
        cmocka_unit_test(a_native_hook_under_another_one_stays_until_that_is_gone),
        cmocka_unit_test(calls_of_libraries_are_caught_until_the_hook_is_removed),
        cmocka_unit_test(the_original_of_slots_that_were_never_called_is_the_function),
        cmocka_unit_test(a_symbol_without_calls_is_no_entry),
        cmocka_unit_test(whichever_protection_fails_nothing_stays_changed),
        cmocka_unit_test(a_removal_that_fails_can_be_tried_again),
        cmocka_unit_test(slots_under_another_hook_stay_until_that_is_gone),
        cmocka_unit_test(a_library_loaded_later_is_hooked_at_the_next_scan),
        cmocka_unit_test(slots_of_a_library_that_is_gone_do_not_hinder_the_removal),
        cmocka_unit_test(more_slots_than_there_is_room_for_are_refused_and_left_alone),
        cmocka_unit_test(an_inline_hooker_is_asked_once_and_its_refusals_are_said),
        cmocka_unit_test(hooks_are_removed_at_once_and_one_that_is_refused_stays),
        cmocka_unit_test(memory_is_protected_again_as_it_was),
        cmocka_unit_test(memory_near_code_is_in_reach_wherever_other_memory_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
